"""Aeroplanes: airliners and propeller planes from the side, and airliners from the front."""

from __future__ import annotations

import math

import numpy as np

from pasta.datasets.drawn.canvas import (
    Canvas,
    Colour,
    Points,
    ellipse,
    limb,
    rectangle,
    shade,
    smooth,
)
from pasta.datasets.drawn.stage import INK, Coat, gloss, mirrored, shadow, solid, varnish
from pasta.datasets.drawn.surface import chance, mixed
from pasta.datasets.drawn.vehicles import STEEL, glass, wheel

HULL = ((-0.5, 0.36), (-0.3, 0.42), (0.3, 0.42), (0.42, 0.39), (0.5, 0.32), (0.46, 0.26),
        (0.36, 0.23), (-0.2, 0.23), (-0.36, 0.28))  # fmt: skip


def aeroplane(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """An aeroplane on its wheels."""
    paint = varnish(canvas, rng, mixed(colour, (236, 236, 238), 0.25))
    metal = varnish(canvas, rng, mixed(colour, (190, 194, 200), 0.65))
    view = rng.random()
    if view < 0.25:
        _ahead(canvas, paint, metal)
    else:
        _aside(canvas, rng, paint, metal, propeller=view > 0.7)


def _gear(canvas: Canvas, x: float, top: float, radius: float) -> None:
    canvas.stroke([(x, top), (x, radius)], shade(STEEL, 0.6), 0.022)
    wheel(canvas, x, radius, radius)


def _aside(
    canvas: Canvas, rng: np.random.Generator, paint: Coat, metal: Coat, *, propeller: bool
) -> None:
    shadow(canvas, 1.0)
    sweep = rng.uniform(0.1, 0.2)
    rise = rng.uniform(0.2, 0.28)
    canvas.fill(
        [(0.12, 0.4), (-0.06, 0.4), (-0.1 - sweep, 0.4 + rise), (-0.02 - sweep, 0.4 + rise)],
        metal.dim,
        "artifact wing",
    )
    stern = canvas.instance("stern")
    fin = [(-0.5, 0.36), (-0.56, 0.66), (-0.45, 0.66), (-0.27, 0.41)]
    canvas.fill(fin, paint.dim, stern)
    middle = np.mean(fin, axis=0)
    canvas.decorate(middle + (np.array(fin) - middle) * 0.75, paint.lit)
    for x in (0.34, -0.04):
        _gear(canvas, x, 0.25, 0.055)
    hull = smooth(HULL)
    solid(canvas, hull, paint, "body")
    canvas.tint(smooth(np.array(HULL)[[0, 4, 5, 6, 7, 8]], 1), INK, 0.12)
    stripe = shade(paint.colour, 0.5)
    canvas.decorate(limb(-0.4, 0.325, 0.4, 0.3, 0.02), stripe)
    tailplane = [(-0.4, 0.36), (-0.3, 0.36), (-0.5, 0.27), (-0.57, 0.27)]
    canvas.fill(tailplane, metal.plain, stern)
    for x in np.linspace(-0.28, 0.3, 5 if propeller else 9).tolist():
        pane = ellipse(x, 0.362, 0.03 if propeller else 0.019, 0.027)
        canvas.fill(pane, (58, 74, 92), "window")
        gloss(canvas, ellipse(x - 0.004, 0.368, 0.007), 0.5)
    glass(canvas, [(0.36, 0.35), (0.36, 0.395), (0.42, 0.382), (0.46, 0.35)])
    if chance(rng, 0.6):
        door = rectangle(0.32, 0.27, 0.35, 0.36)
        canvas.mark(door, "door")
        canvas.stroke([*door, door[0]], stripe, 0.007)
    wing = [(0.16, 0.29), (-0.1, 0.29), (-0.14 - sweep, 0.12), (-0.03 - sweep, 0.12)]
    if propeller:
        _nose_engine(canvas, rng, metal)
    else:
        _jet(canvas, -0.02, 0.19, metal)
    canvas.fill(wing, metal.plain, "artifact wing")
    canvas.decorate(np.array(wing) * (1, 0.94) + (0, 0.026), metal.lit)
    canvas.stroke([wing[1], wing[2]], shade(metal.colour, 0.5), 0.014)


def _jet(canvas: Canvas, x: float, y: float, metal: Coat) -> None:
    pod = smooth(
        [
            (x - 0.12, y + 0.03),
            (x + 0.08, y + 0.06),
            (x + 0.12, y),
            (x + 0.08, y - 0.06),
            (x - 0.12, y - 0.03),
        ]
    )
    solid(canvas, pod, metal, "engine")
    canvas.decorate(ellipse(x + 0.095, y, 0.02, 0.045), INK)
    canvas.decorate(ellipse(x + 0.1, y, 0.008, 0.02), STEEL)


def _nose_engine(canvas: Canvas, rng: np.random.Generator, metal: Coat) -> None:
    """A piston engine in the nose, with its propeller."""
    cowl = smooth([(0.4, 0.4), (0.5, 0.38), (0.53, 0.32), (0.5, 0.26), (0.4, 0.24)], 1)
    solid(canvas, cowl, metal, "engine")
    turn = rng.uniform(-0.4, 0.4)
    canvas.fill(ellipse(0.54, 0.32, 0.03, 0.028), shade(metal.colour, 0.6), len(canvas.concepts))
    for angle in (math.pi / 2 + turn, -math.pi / 2 + turn):
        tip = (0.545 + math.cos(angle) * 0.05, 0.32 + math.sin(angle) * 0.17)
        canvas.fill(limb(0.545, 0.32, *tip, 0.022, 0.03), (70, 62, 60))


def _ahead(canvas: Canvas, paint: Coat, metal: Coat) -> None:
    shadow(canvas, 0.9)
    stern = canvas.instance("stern")
    canvas.fill([(-0.025, 0.4), (-0.015, 0.74), (0.015, 0.74), (0.025, 0.4)], paint.dim, stern)
    tailplane = np.array([(0.0, 0.46), (0.0, 0.5), (0.24, 0.53), (0.24, 0.515)])
    wing: Points = np.array([(0.04, 0.24), (0.04, 0.31), (0.52, 0.4), (0.53, 0.385), (0.3, 0.3)])
    for turned in (mirrored, np.array):
        canvas.fill(turned(tailplane), metal.dim, stern)
        canvas.fill(turned(wing), metal.plain, "artifact wing")
        canvas.decorate(turned(wing[[1, 2, 3]]), metal.lit)
    for x in (-0.16, 0.16):
        _gear(canvas, x, 0.28, 0.05)
    _gear(canvas, 0, 0.2, 0.045)
    for x in (-0.25, 0.25):
        solid(canvas, ellipse(x, 0.235, 0.075), metal, "engine")
        canvas.decorate(ellipse(x, 0.235, 0.054), INK)
        canvas.decorate(ellipse(x, 0.235, 0.018), STEEL)
    solid(canvas, ellipse(0, 0.33, 0.135, 0.14), paint, "body")
    for side in (-1, 1):
        pane = np.array([(0.005, 0.38), (0.005, 0.42), (0.06, 0.41), (0.09, 0.37)]) * (side, 1)
        glass(canvas, pane)
    canvas.decorate(ellipse(0, 0.29, 0.035, 0.03), shade(paint.colour, 0.6))
