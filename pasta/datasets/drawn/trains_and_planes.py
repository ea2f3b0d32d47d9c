"""Aeroplanes and trains."""

from __future__ import annotations

import math

import numpy as np

from pasta.datasets.drawn.canvas import (
    INK,
    WHITE,
    Canvas,
    Coat,
    Colour,
    Points,
    Rng,
    ellipse,
    limb,
    mirror,
    parallelogram,
    polygon,
    rectangle,
    shade,
    shrink,
    smooth,
)
from pasta.datasets.drawn.road_vehicles import STEEL, draw_headlight, draw_pane, draw_wheel
from pasta.datasets.drawn.surface import chance, mix, varnish

HULL = polygon(
    "-0.5,0.36 -0.3,0.42 0.3,0.42 0.42,0.39 0.5,0.32 0.46,0.26 0.36,0.23 -0.2,0.23 -0.36,0.28"
)


def draw_aeroplane(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw an aeroplane on its wheels."""
    paint = varnish(canvas, rng, mix(colour, (236, 236, 238), 0.25))
    metal = varnish(canvas, rng, mix(colour, (190, 194, 200), 0.65))
    view = rng.random()
    if view < 0.25:
        _draw_plane_from_front(canvas, paint, metal)
    else:
        _draw_plane_from_side(canvas, rng, paint, metal, propeller=view > 0.7)


def _draw_gear(canvas: Canvas, x: float, top: float, radius: float) -> None:
    canvas.stroke([(x, top), (x, radius)], shade(STEEL, 0.6), 0.022)
    draw_wheel(canvas, x, radius, radius)


def _draw_plane_from_side(
    canvas: Canvas, rng: Rng, paint: Coat, metal: Coat, *, propeller: bool
) -> None:
    canvas.shadow(1.0)
    sweep = rng.uniform(0.1, 0.2)
    rise = rng.uniform(0.2, 0.28)
    wing = [(0.12, 0.4), (-0.06, 0.4), (-0.1 - sweep, 0.4 + rise), (-0.02 - sweep, 0.4 + rise)]
    canvas.fill(wing, metal.dim, "artifact wing")
    stern = canvas.instance("stern")
    fin = polygon("-0.5,0.36 -0.56,0.66 -0.45,0.66 -0.27,0.41")
    canvas.fill(fin, paint.dim, stern)
    canvas.decorate(shrink(fin, 0.75), paint.lit)
    for x in (0.34, -0.04):
        _draw_gear(canvas, x, 0.25, 0.055)
    canvas.solid(smooth(HULL), paint, "body")
    canvas.tint(smooth(HULL[[0, 4, 5, 6, 7, 8]], 1), INK, 0.12)
    stripe = shade(paint.colour, 0.5)
    canvas.decorate(limb(-0.4, 0.325, 0.4, 0.3, 0.02), stripe)
    tailplane = polygon("-0.4,0.36 -0.3,0.36 -0.5,0.27 -0.57,0.27")
    canvas.fill(tailplane, metal.plain, stern)
    for x in np.linspace(-0.28, 0.3, 5 if propeller else 9).tolist():
        pane = ellipse(x, 0.362, 0.03 if propeller else 0.019, 0.027)
        canvas.fill(pane, (58, 74, 92), "window")
        canvas.gloss(ellipse(x - 0.004, 0.368, 0.007), 0.5)
    draw_pane(canvas, "0.36,0.35 0.36,0.395 0.42,0.382 0.46,0.35")
    if chance(rng, 0.6):
        door = rectangle(0.32, 0.27, 0.35, 0.36)
        canvas.mark(door, "door")
        canvas.stroke([*door, door[0]], stripe, 0.007)
    wing = [(0.16, 0.29), (-0.1, 0.29), (-0.14 - sweep, 0.12), (-0.03 - sweep, 0.12)]
    if propeller:
        _draw_nose_engine(canvas, rng, metal)
    else:
        _draw_jet(canvas, -0.02, 0.19, metal)
    canvas.fill(wing, metal.plain, "artifact wing")
    canvas.decorate(np.array(wing) * (1, 0.94) + (0, 0.026), metal.lit)
    canvas.stroke([wing[1], wing[2]], shade(metal.colour, 0.5), 0.014)


def _draw_jet(canvas: Canvas, x: float, y: float, metal: Coat) -> None:
    pod = smooth(polygon("-0.12,0.03 0.08,0.06 0.12,0 0.08,-0.06 -0.12,-0.03") + (x, y))
    canvas.solid(pod, metal, "engine")
    canvas.decorate(ellipse(x + 0.095, y, 0.02, 0.045), INK)
    canvas.decorate(ellipse(x + 0.1, y, 0.008, 0.02), STEEL)


def _draw_nose_engine(canvas: Canvas, rng: Rng, metal: Coat) -> None:
    """Draw a piston engine in the nose, with its propeller."""
    cowl = smooth("0.4,0.4 0.5,0.38 0.53,0.32 0.5,0.26 0.4,0.24", 1)
    canvas.solid(cowl, metal, "engine")
    turn = rng.uniform(-0.4, 0.4)
    canvas.fill(ellipse(0.54, 0.32, 0.03, 0.028), shade(metal.colour, 0.6), canvas.latest())
    for angle in (math.pi / 2 + turn, -math.pi / 2 + turn):
        tip = (0.545 + math.cos(angle) * 0.05, 0.32 + math.sin(angle) * 0.17)
        canvas.fill(limb(0.545, 0.32, *tip, 0.022, 0.03), (70, 62, 60))


def _draw_plane_from_front(canvas: Canvas, paint: Coat, metal: Coat) -> None:
    canvas.shadow(0.9)
    stern = canvas.instance("stern")
    canvas.fill("-0.025,0.4 -0.015,0.74 0.015,0.74 0.025,0.4", paint.dim, stern)
    tailplane = polygon("0.0,0.46 0.0,0.5 0.24,0.53 0.24,0.515")
    wing: Points = polygon("0.04,0.24 0.04,0.31 0.52,0.4 0.53,0.385 0.3,0.3")
    for turned in (mirror, np.array):
        canvas.fill(turned(tailplane), metal.dim, stern)
        canvas.fill(turned(wing), metal.plain, "artifact wing")
        canvas.decorate(turned(wing[[1, 2, 3]]), metal.lit)
    for x in (-0.16, 0.16):
        _draw_gear(canvas, x, 0.28, 0.05)
    _draw_gear(canvas, 0, 0.2, 0.045)
    for x in (-0.25, 0.25):
        canvas.solid(ellipse(x, 0.235, 0.075), metal, "engine")
        canvas.decorate(ellipse(x, 0.235, 0.054), INK)
        canvas.decorate(ellipse(x, 0.235, 0.018), STEEL)
    canvas.solid(ellipse(0, 0.33, 0.135, 0.14), paint, "body")
    for side in (-1, 1):
        draw_pane(canvas, polygon("0.005,0.38 0.005,0.42 0.06,0.41 0.09,0.37") * (side, 1))
    canvas.decorate(ellipse(0, 0.29, 0.035, 0.03), shade(paint.colour, 0.6))


NOSE = "-0.02,0.08 -0.02,0.44 0.3,0.44 0.4,0.38 0.48,0.2 0.48,0.08"
CAB = "-0.02,0.08 -0.02,0.44 0.44,0.44 0.47,0.4 0.47,0.08"


def draw_train(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a train from the side, or from the front with its coaches behind."""
    paint = varnish(canvas, rng, colour)
    wagon = varnish(canvas, rng, mix(colour, (232, 222, 200), rng.uniform(0.0, 0.6)))
    if chance(rng, 0.35):
        _draw_train_from_front(canvas, rng, paint, wagon)
        return
    _draw_rails(canvas)
    _draw_coach(canvas, wagon, -0.52, -0.05, 0.42)
    if chance(rng, 0.45):
        _draw_steam_engine(canvas, rng, paint)
    else:
        _draw_electric_engine(canvas, paint, slanted=chance(rng, 0.6))


def _draw_rails(canvas: Canvas) -> None:
    canvas.shadow(1.1)
    for x in np.linspace(-0.56, 0.56, 12).tolist():
        canvas.fill(rectangle(x - 0.025, -0.03, x + 0.025, 0.0), (104, 82, 66))
    canvas.stroke([(-0.62, 0.0), (0.62, 0.0)], shade(STEEL, 0.75), 0.016, None)


def _draw_coach(canvas: Canvas, paint: Coat, left: float, right: float, top: float) -> None:
    part = canvas.instance("coach")
    canvas.fill(rectangle(right - 0.01, 0.1, right + 0.05, 0.14), INK)
    for x in (left + 0.07, left + 0.17, right - 0.17, right - 0.07):
        draw_wheel(canvas, x, 0.045, 0.045)
    roof = [(left, top - 0.02), (left + 0.04, top), (right - 0.04, top), (right, top - 0.02)]
    body = smooth([(left, 0.08), *roof, (right, 0.08)], 1)
    canvas.fill(body, paint.plain, part)
    canvas.decorate(rectangle(left + 0.02, top - 0.035, right - 0.02, top - 0.005), paint.lit)
    canvas.tint(rectangle(left, 0.08, right, 0.13), INK, 0.3)
    door = rectangle(left + 0.02, 0.11, left + 0.09, top - 0.07)
    canvas.fill(door, paint.dim, "door")
    for x in np.linspace(left + 0.11, right - 0.1, 4).tolist():
        draw_pane(canvas, rectangle(x, top * 0.56, x + 0.068, top * 0.84))
    canvas.decorate(rectangle(left + 0.11, 0.17, right - 0.02, 0.195), shade(paint.colour, 0.55))


def _draw_electric_engine(canvas: Canvas, paint: Coat, *, slanted: bool) -> None:
    part = canvas.instance("locomotive")
    for x in (0.06, 0.16, 0.3, 0.4):
        draw_wheel(canvas, x, 0.045, 0.045)
    canvas.fill(smooth(NOSE, 1) if slanted else CAB, paint.plain, part)
    canvas.decorate(rectangle(-0.005, 0.415, 0.28, 0.435), paint.lit)
    canvas.tint(rectangle(-0.01, 0.08, 0.46, 0.13), INK, 0.3)
    band = rectangle(-0.01, 0.2, 0.45 if slanted else 0.468, 0.24)
    canvas.decorate(band, mix(paint.colour, WHITE, 0.65))
    if slanted:
        draw_pane(canvas, "0.28,0.3 0.28,0.4 0.35,0.39 0.415,0.3")
    else:
        draw_pane(canvas, rectangle(0.36, 0.28, 0.45, 0.39))
    draw_pane(canvas, rectangle(0.14, 0.29, 0.22, 0.38))
    canvas.fill(rectangle(0.03, 0.11, 0.1, 0.37), paint.dim, "door")
    draw_headlight(canvas, 0.44, 0.17, 0.024, 0.024)
    canvas.stroke("0.08,0.44 0.14,0.52 0.08,0.58", INK, 0.016)
    canvas.stroke([(0.02, 0.585), (0.2, 0.585)], INK, 0.016)


def _draw_steam_engine(canvas: Canvas, rng: Rng, paint: Coat) -> None:
    for number in range(int(rng.integers(3, 6))):
        x = 0.33 - number * 0.09
        canvas.tint(ellipse(x, 0.64 + number * 0.045, 0.06 + 0.016 * number), (246, 244, 242), 0.6)
    part = canvas.instance("locomotive")
    canvas.fill("0.3,0.4 0.28,0.56 0.39,0.56 0.37,0.4", (52, 50, 54), part)
    canvas.fill(ellipse(0.17, 0.42, 0.045, 0.06), (206, 168, 84), part)
    canvas.solid(rectangle(0.08, 0.2, 0.44, 0.42), paint, part)
    for x in (0.18, 0.28, 0.38):
        canvas.stroke([(x, 0.2), (x, 0.42)], (206, 168, 84), 0.014)
    canvas.fill(ellipse(0.44, 0.31, 0.03, 0.112), (58, 56, 60), part)
    canvas.fill(rectangle(-0.04, 0.1, 0.13, 0.48), paint.plain, part)
    canvas.fill(rectangle(-0.06, 0.47, 0.15, 0.51), paint.dim, part)
    draw_pane(canvas, rectangle(0.0, 0.33, 0.09, 0.44))
    canvas.fill(rectangle(-0.04, 0.11, 0.46, 0.17), (60, 54, 54), part)
    canvas.fill("0.42,0.15 0.54,0.02 0.42,0.02", (92, 62, 52), part)
    for x, radius in ((0.04, 0.085), (0.2, 0.085), (0.34, 0.06)):
        draw_wheel(canvas, x, radius, radius)
    canvas.stroke([(0.04, 0.07), (0.2, 0.07)], STEEL, 0.022)
    draw_headlight(canvas, 0.45, 0.43, 0.035, 0.035)


def _draw_train_from_front(canvas: Canvas, rng: Rng, paint: Coat, wagon: Coat) -> None:
    """Draw the front of a locomotive; its coaches shrink towards the horizon on one side."""
    canvas.shadow(0.8, 0.1)
    for x, reach in ((-0.42, 0.62), (-0.02, 0.72)):
        canvas.stroke([(x - 0.06, -0.06), (reach, 0.2)], shade(STEEL, 0.75), 0.018, None)
    part = canvas.instance("coach")
    near, away = np.array([(0.08, 0.07), (0.08, 0.78)]), np.array([(0.56, 0.22), (0.56, 0.6)])
    canvas.fill([near[0], near[1], away[1], away[0]], wagon.dim, part)
    canvas.fill([near[1], (-0.1, 0.82), (0.5, 0.63), away[1]], wagon.lit, part)
    for start in (0.16, 0.36, 0.56, 0.76):
        with canvas.placed(parallelogram(near[0], away[0] - near[0], near[1] - near[0])):
            lift, squeeze = 0.56 - start * 0.02, 1 - start * 0.42
            low, high = lift * squeeze + start * 0.02, 0.84 * squeeze + start * 0.02
            draw_pane(canvas, rectangle(start, low, start + 0.13, high))
    engine = canvas.instance("locomotive")
    face = smooth("-0.46,0.05 -0.47,0.66 -0.36,0.84 0.0,0.84 0.12,0.66 0.11,0.05", 1)
    canvas.fill(face, paint.plain, engine)
    canvas.decorate(rectangle(-0.45, 0.3, 0.1, 0.37), mix(paint.colour, WHITE, 0.65))
    canvas.tint(rectangle(-0.45, 0.05, 0.1, 0.14), INK, 0.35)
    for left in (-0.4, -0.16):
        draw_pane(canvas, polygon("0,0.44 0.02,0.68 0.19,0.68 0.21,0.44") + (left, 0))
    for x in (-0.36, 0.02):
        draw_headlight(canvas, x, 0.22, 0.045, 0.045)
    if chance(rng, 0.6):
        draw_headlight(canvas, -0.17, 0.76, 0.035, 0.035)
    canvas.fill(limb(-0.34, 0.04, 0.0, 0.04, 0.05), (70, 66, 68), engine)
    canvas.gloss(limb(-0.38, 0.4, 0.04, 0.4, 0.012), 0.4)
