"""Aeroplanes, bicycles, buses, cars, motorbikes and trains.

A car or a bus is a side swept along a slanting direction, which gives every view up to the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pasta.datasets.drawn.canvas import (
    INK,
    WHITE,
    Canvas,
    Coat,
    Colour,
    Points,
    Rng,
    chance,
    choose,
    complete,
    darken,
    ellipse,
    limb,
    mirror,
    mix,
    palette,
    parallelogram,
    polygon,
    random_colour,
    rectangle,
    shade,
    shrink,
    smooth,
    varnish,
)

Front = Callable[[Canvas, Coat], None]
GLASS: Colour = (92, 116, 134)
LAMP: Colour = (250, 240, 200)
RUBBER: Colour = (38, 38, 42)
STEEL: Colour = (168, 170, 174)


@dataclass(frozen=True)
class Shape:
    """The side of a vehicle that faces right, from lower left clockwise to lower right."""

    outline: str
    windows: tuple[ArrayLike, ...]
    doors: tuple[str, ...]
    wheels: tuple[float, ...]
    radius: float
    screen: int  # which edge of the outline is the windscreen, or -1
    nose: int  # which edge is the front
    mirror: tuple[float, float]


CARS: tuple[Shape, ...] = (
    Shape(  # saloon
        "-0.5,0.1 -0.5,0.27 -0.46,0.31 -0.3,0.33 -0.18,0.47 0.08,0.48 0.23,0.335 0.44,0.29 "
        "0.5,0.24 0.5,0.1",
        ("-0.26,0.335 -0.16,0.445 -0.04,0.45 -0.04,0.335",
         "-0.01,0.335 -0.01,0.45 0.07,0.45 0.18,0.335"),
        ("-0.25,0.14 -0.27,0.325 -0.04,0.325 -0.04,0.13",
         "-0.02,0.13 -0.02,0.325 0.19,0.325 0.19,0.16"),
        (-0.31, 0.31), 0.1, 5, 8, (0.19, 0.36),
    ),
    Shape(  # hatchback
        "-0.46,0.1 -0.47,0.32 -0.38,0.52 0.06,0.53 0.24,0.36 0.42,0.31 0.47,0.25 0.47,0.1",
        ("-0.37,0.36 -0.33,0.49 -0.1,0.5 -0.1,0.36", "-0.07,0.36 -0.07,0.5 0.05,0.5 0.19,0.36"),
        ("-0.3,0.14 -0.32,0.35 -0.1,0.35 -0.1,0.13", "-0.08,0.13 -0.08,0.35 0.2,0.35 0.2,0.16"),
        (-0.29, 0.3), 0.105, 3, 6, (0.2, 0.385),
    ),
    Shape(  # estate
        "-0.5,0.12 -0.5,0.36 -0.46,0.54 0.12,0.54 0.25,0.38 0.46,0.35 0.5,0.3 0.5,0.12",
        ("-0.46,0.39 -0.42,0.51 -0.25,0.51 -0.25,0.39",
         "-0.22,0.39 -0.22,0.51 -0.02,0.51 -0.02,0.39",
         "0.01,0.39 0.01,0.51 0.1,0.51 0.2,0.39"),
        ("-0.2,0.15 -0.23,0.38 -0.03,0.38 -0.03,0.15", "-0.01,0.15 -0.01,0.38 0.2,0.38 0.2,0.18"),
        (-0.32, 0.32), 0.12, 3, 6, (0.22, 0.42),
    ),
)  # fmt: skip
_PANES = np.linspace(-0.46, 0.2, 6)[:-1].tolist()
BUS = Shape(
    "-0.5,0.07 -0.5,0.48 -0.48,0.52 0.47,0.52 0.5,0.48 0.5,0.07",
    tuple(polygon("0,0.3 0,0.46 0.11,0.46 0.11,0.3") + (x, 0) for x in _PANES),
    ("0.26,0.09 0.26,0.45 0.34,0.45 0.34,0.09", "0.36,0.09 0.36,0.45 0.44,0.45 0.44,0.09"),
    (-0.3, 0.18), 0.075, -1, 4, (0.49, 0.4),
)  # fmt: skip


def draw_wheel(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """Draw a tyre on a steel rim."""
    canvas.fill(ellipse(x, y, radius), RUBBER, "wheel")
    canvas.decorate(ellipse(x, y, radius * 0.66), shade(STEEL, 0.7))
    canvas.decorate(ellipse(x, y + radius * 0.06, radius * 0.56), STEEL)
    canvas.decorate(ellipse(x, y, radius * 0.18), shade(STEEL, 0.45))


def draw_pane(canvas: Canvas, outline: ArrayLike) -> None:
    """Draw a pane that reflects the sky along one diagonal."""
    pane = polygon(outline)
    canvas.fill(pane, GLASS, "window")
    canvas.decorate(shrink(pane, 0.82), shade(GLASS, 1.2))
    low, high = pane.min(0), pane.max(0)
    width, height = high - low
    bar = low + polygon("0.3,0.15 0.45,0.15 0.68,0.85 0.53,0.85") * (width, height)
    canvas.gloss(bar, 0.35)


def draw_headlight(canvas: Canvas, x: float, y: float, rx: float, ry: float) -> None:
    """Draw a headlight."""
    canvas.fill(ellipse(x, y, rx * 1.2, ry * 1.2), (90, 90, 94), "headlight")
    canvas.fill(ellipse(x, y, rx, ry), LAMP, canvas.latest())
    canvas.decorate(ellipse(x, y + ry * 0.2, rx * 0.5, ry * 0.5), (255, 255, 246))


def draw_plate(canvas: Canvas, x: float, y: float, width: float, height: float) -> None:
    """Draw a licence plate with a line of text."""
    outline = rectangle(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    canvas.fill(outline, (240, 238, 226), "license_plate")
    canvas.stroke([(x - width * 0.36, y), (x + width * 0.36, y)], INK, height * 0.3)


def draw_car_front(canvas: Canvas, paint: Coat) -> None:
    """Draw grille, headlights and licence plate on the unit square."""
    canvas.decorate(rectangle(0.3, 0.45, 0.7, 0.8), shade(INK, 1.6))
    canvas.decorate(rectangle(0.0, 0.0, 1.0, 0.14), shade(paint.colour, 0.5))
    for x in (0.15, 0.85):
        draw_headlight(canvas, x, 0.64, 0.12, 0.2)
    draw_plate(canvas, 0.5, 0.26, 0.36, 0.2)


def draw_bus_front(canvas: Canvas, paint: Coat) -> None:
    """Draw windscreen, destination sign, headlights and licence plate on the unit square."""
    draw_pane(canvas, rectangle(0.06, 0.42, 0.94, 0.84))
    canvas.decorate(rectangle(0.2, 0.88, 0.8, 0.97), INK)
    canvas.decorate(rectangle(0.26, 0.9, 0.74, 0.95), (244, 186, 74))
    canvas.decorate(rectangle(0.0, 0.0, 1.0, 0.07), shade(paint.colour, 0.5))
    for x in (0.16, 0.84):
        draw_headlight(canvas, x, 0.24, 0.1, 0.07)
    draw_plate(canvas, 0.5, 0.15, 0.3, 0.09)


def draw_front_and_roof(
    canvas: Canvas, shape: Shape, paint: Coat, depth: tuple[float, float], part: int, front: Front
) -> None:
    """Draw roof, windscreen and front of a vehicle that is turned to the front."""
    corners = polygon(shape.outline)
    slant = np.asarray(depth)
    for edge in range(1, len(corners) - 1):
        first, second = corners[edge], corners[edge + 1]
        face = np.array([first, second, second + slant, first + slant])
        run = second - first
        canvas.fill(face, paint.lit if abs(run[0]) > abs(run[1]) else paint.dim, part)
        if edge == shape.screen:
            draw_pane(canvas, shrink(face, 0.86))
    top, bottom = corners[shape.nose], corners[shape.nose + 1]
    with canvas.placed(parallelogram(bottom, slant, top - bottom)):
        front(canvas, paint)


def draw_side(canvas: Canvas, shape: Shape, paint: Coat, part: int, band: Colour | None) -> None:
    """Draw the side, lit from above, with its doors, windows and wheels."""
    corners = polygon(shape.outline)
    canvas.fill(corners, paint.plain, part)
    low, high = corners[:, 1].min(), corners[:, 1].max()
    left, right = corners[:, 0].min(), corners[:, 0].max()
    canvas.tint(rectangle(left, low, right, low + (high - low) * 0.24), INK, 0.25)
    waist = low + (high - low) * 0.46
    if band is not None:
        canvas.decorate(rectangle(left, waist - 0.05, right, waist), band)
    canvas.gloss(rectangle(left + 0.01, waist, right - 0.03, waist + 0.02), 0.25)
    for corners_of_door in shape.doors:
        door = polygon(corners_of_door)
        canvas.mark(door, "door")
        canvas.tint(door, INK, 0.08)
        canvas.stroke([*door, door[0]], darken(paint.colour), 0.008)
        knob = door.max(0) - (0.03, 0.05)
        canvas.stroke([knob - (0.03, 0), knob], STEEL, 0.012)
    for window in shape.windows:
        draw_pane(canvas, window)
    for x in shape.wheels:
        canvas.fill(ellipse(x, shape.radius, shape.radius * 1.16), shade(INK, 0.8), part)
        draw_wheel(canvas, x, shape.radius, shape.radius)


def _draw_from_side(
    canvas: Canvas, rng: Rng, shape: Shape, paint: Coat, front: Front, band: Colour | None
) -> None:
    turned = chance(rng, 0.6)
    depth = (rng.uniform(0.2, 0.34), rng.uniform(0.03, 0.06)) if turned else (0.03, 0.02)
    squeeze = 1 - depth[0]
    part = canvas.instance("bodywork")
    canvas.shadow(1.05)
    slim = np.array([[squeeze, 0, -depth[0] / 2], [0, 1, 0]])
    with canvas.placed(slim):
        inner = (depth[0] / squeeze, depth[1])
        for x in shape.wheels[-1:]:
            far_wheel = ellipse(x + inner[0] * 0.92, shape.radius + inner[1] * 0.5, shape.radius)
            canvas.fill(far_wheel, RUBBER, "wheel")
        draw_front_and_roof(canvas, shape, paint, inner, part, front if turned else _draw_bumper)
        draw_side(canvas, shape, paint, part, band)
        x, y = shape.mirror
        canvas.fill(ellipse(x, y, 0.035, 0.028), darken(paint.colour), "mirror")
    if not turned:
        corner = polygon(shape.outline)[shape.nose]
        draw_headlight(canvas, corner[0] - 0.03, corner[1] - 0.03, 0.026, 0.03)
        draw_plate(canvas, corner[0] - 0.03, 0.15, 0.075, 0.045)


def _draw_bumper(canvas: Canvas, paint: Coat) -> None:
    canvas.decorate(rectangle(0.0, 0.0, 1.0, 0.3), shade(paint.colour, 0.5))


def _draw_from_front(canvas: Canvas, paint: Coat, tall: float, hood: float, front: Front) -> None:
    """Draw a vehicle from the front; ``hood`` is the share of its height below the windscreen."""
    canvas.shadow(0.9)
    part = canvas.instance("bodywork")
    for sign in (-1, 1):
        canvas.fill(rectangle(sign * 0.33 - 0.07, 0, sign * 0.33 + 0.07, 0.2), RUBBER, "wheel")
    waist = tall * hood
    if hood < 1:
        cabin = np.array([(-0.38, waist - 0.02), (-0.27, tall), (0.27, tall), (0.38, waist - 0.02)])
        canvas.fill(cabin, paint.plain, part)
        draw_pane(canvas, cabin * (0.86, 1) + ((0, 0.02), (0, -0.04), (0, -0.04), (0, 0.02)))
    face = complete([(0.38, waist), (0.44, waist - 0.05), (0.43, 0.07)])
    canvas.fill(face, paint.plain, part)
    canvas.gloss(rectangle(-0.38, waist - 0.06, 0.38, waist - 0.02), 0.15)
    with canvas.placed(
        parallelogram(np.array([-0.43, 0.07]), np.array([0.86, 0]), np.array([0, waist - 0.09]))
    ):
        front(canvas, paint)
    height, long = (waist + 0.05, 0.05) if hood < 1 else (tall * 0.7, 0.09)
    for sign in (-1, 1):
        edge = darken(paint.colour)
        canvas.stroke([(sign * 0.36, height - 0.02), (sign * 0.45, height)], edge, 0.03, part)
        canvas.fill(ellipse(sign * 0.47, height, 0.055, long), edge, "mirror")
        canvas.decorate(ellipse(sign * 0.47, height, 0.035, long * 0.65), STEEL)


def draw_car(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a car from the side, from a corner or from the front."""
    paint = varnish(canvas, rng, colour)
    if chance(rng, 0.25):
        _draw_from_front(canvas, paint, rng.uniform(0.6, 0.7), 0.6, draw_car_front)
    else:
        _draw_from_side(canvas, rng, choose(rng, CARS), paint, draw_car_front, None)


def draw_bus(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a bus from the side, from a corner or from the front."""
    paint = varnish(canvas, rng, colour)
    if chance(rng, 0.25):
        _draw_from_front(canvas, paint, rng.uniform(0.88, 1.0), 1.0, draw_bus_front)
    else:
        _draw_from_side(canvas, rng, BUS, paint, draw_bus_front, mix(colour, (250, 246, 236), 0.7))


HANDLEBARS = (
    "-0.015,0.09 0.06,0.1 0.1,0.06 0.06,0.02",
    "-0.015,0.09 0.05,0.13 -0.02,0.17 -0.1,0.16",
    "0.05,0.09 -0.015,0.09 -0.09,0.11",
)
LEATHER = palette("302c2c 744830 543e34")


def _draw_spoked_wheel(canvas: Canvas, x: float, radius: float, turn: float) -> None:
    """Draw an open wheel; all of its disc counts as wheel."""
    circle = ellipse(x, radius, radius * 0.94)
    canvas.mark(ellipse(x, radius, radius), "wheel")
    for number in range(7):
        angle = turn + math.pi * number / 7
        dx, dy = math.cos(angle) * radius * 0.9, math.sin(angle) * radius * 0.9
        canvas.stroke([(x - dx, radius - dy), (x + dx, radius + dy)], (190, 192, 196), 0.006)
    canvas.stroke([*circle, circle[0], circle[1]], RUBBER, 0.038)
    rim = ellipse(x, radius, radius * 0.83)
    canvas.stroke([*rim, rim[0], rim[1]], STEEL, 0.012)
    canvas.decorate(ellipse(x, radius, 0.025), STEEL)


def draw_bicycle(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a diamond or step-through frame between two thin wheels."""
    radius = rng.uniform(0.2, 0.23)
    rear, front = (-0.29, radius), (0.29, radius)
    crank, seat, post = (-0.04, radius * 0.95), (-0.13, 0.5), (0.2, 0.52)
    canvas.shadow(0.95)
    for x, _ in (rear, front):
        _draw_spoked_wheel(canvas, x, radius, rng.uniform(0, 1))
    low = chance(rng, 0.3)
    top = (-0.09, 0.36) if low else seat
    tubes = [(rear, crank), (rear, seat), (crank, seat), (crank, post), (top, post)]
    fork = [(post, (0.23, 0.4)), ((0.23, 0.4), front)]
    for start, end in tubes + fork:
        canvas.stroke([start, end], shade(colour, 0.6), 0.042)
        canvas.stroke([start, end], colour, 0.028)
    canvas.fill(ellipse(*crank, 0.068), shade(STEEL, 0.5), "chain_wheel")
    canvas.decorate(ellipse(*crank, 0.05), STEEL)
    canvas.decorate(ellipse(*crank, 0.02), INK)
    canvas.stroke([(rear[0], radius + 0.03), (crank[0], crank[1] + 0.062)], INK, 0.01)
    canvas.stroke([(rear[0], radius - 0.03), (crank[0], crank[1] - 0.062)], INK, 0.01)
    _draw_pedals(canvas, crank, rng.uniform(0, math.pi))
    canvas.stroke([seat, (-0.145, 0.57)], STEEL, 0.022)
    leather = random_colour(rng, LEATHER)
    saddle = smooth("-0.26,0.58 -0.25,0.64 -0.14,0.62 -0.02,0.605 -0.02,0.58 -0.14,0.565")
    canvas.fill(saddle, leather, "saddle")
    canvas.gloss(saddle * (0.7, 0.4) + (-0.042, 0.372), 0.2)
    _draw_handlebar(canvas, rng, post, leather)
    if chance(rng, 0.75):
        draw_headlight(canvas, 0.27, 0.53, 0.034, 0.036)
    if chance(rng, 0.35):
        canvas.stroke([(-0.42, 0.47), (-0.18, 0.47)], INK, 0.018)
        canvas.stroke([(-0.36, 0.47), rear], INK, 0.012)


def _draw_pedals(canvas: Canvas, crank: tuple[float, float], angle: float) -> None:
    for turn in (angle, angle + math.pi):
        x, y = crank[0] + math.cos(turn) * 0.1, crank[1] + math.sin(turn) * 0.1
        canvas.stroke([crank, (x, y)], shade(STEEL, 0.7), 0.02)
        canvas.stroke([(x - 0.035, y), (x + 0.035, y)], INK, 0.026)


def _draw_handlebar(canvas: Canvas, rng: Rng, post: tuple[float, float], grip: Colour) -> None:
    bars = canvas.instance("handlebar")
    x, y = post
    canvas.stroke([(x, y), (x - 0.015, y + 0.09)], STEEL, 0.026, bars)
    path = polygon(choose(rng, HANDLEBARS)) + post
    canvas.stroke(path, shade(STEEL, 0.85), 0.03, bars)
    canvas.stroke(path[-2:], grip, 0.042, bars)


def draw_motorbike(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw fat tyres, an engine block, a tank and a long saddle."""
    paint = varnish(canvas, rng, colour)
    radius = rng.uniform(0.18, 0.2)
    canvas.shadow(1.0)
    for x in (-0.31, 0.32):
        draw_wheel(canvas, x, radius, radius)
        canvas.decorate(ellipse(x, radius, radius * 0.4), shade(INK, 1.8))
        canvas.decorate(ellipse(x, radius, radius * 0.14), STEEL)
    body = canvas.instance("body")
    canvas.stroke([(-0.31, radius), (-0.02, 0.24), (0.12, 0.46)], (60, 60, 66), 0.05, body)
    for offset in (0.0, 0.03):
        fork = [(0.32 - offset, radius), (0.185 - offset, 0.55)]
        canvas.stroke(fork, shade(STEEL, 0.7 + 8 * offset), 0.026, body)
    guard = ellipse(-0.31, radius, radius * 1.14)[2:13]
    canvas.stroke(guard, paint.colour, 0.04, body)
    guard = ellipse(0.32, radius, radius * 1.12)[3:13]
    canvas.stroke(guard, paint.colour, 0.035, body)
    _draw_motor(canvas)
    canvas.fill(limb(-0.02, 0.16, -0.42, 0.17, 0.045, 0.07), shade(STEEL, 0.75), body)
    canvas.gloss(limb(-0.06, 0.17, -0.38, 0.185, 0.012), 0.5)
    rump = smooth("-0.06,0.46 -0.42,0.52 -0.46,0.46 -0.24,0.36 -0.04,0.36")
    canvas.solid(rump, paint, body)
    tank = smooth("-0.08,0.4 -0.06,0.5 0.04,0.57 0.17,0.56 0.2,0.44 0.06,0.38")
    canvas.solid(tank, paint, body)
    saddle = smooth("-0.04,0.47 -0.06,0.52 -0.2,0.49 -0.38,0.56 -0.45,0.53 -0.24,0.44")
    canvas.fill(saddle, random_colour(rng, LEATHER), "saddle")
    canvas.gloss(saddle * (0.7, 0.35) + (-0.07, 0.335), 0.2)
    if chance(rng, 0.35):
        fairing = smooth("0.12,0.5 0.2,0.68 0.32,0.6 0.34,0.42 0.2,0.36")
        canvas.solid(fairing, paint, body)
    draw_headlight(canvas, 0.275, 0.53, 0.05, 0.055)
    bars = canvas.instance("handlebar")
    canvas.stroke("0.19,0.54 0.16,0.66 0.06,0.69", shade(STEEL, 0.8), 0.03, bars)
    canvas.stroke([(0.1, 0.68), (0.03, 0.7)], INK, 0.045, bars)
    if chance(rng, 0.6):
        canvas.stroke([(0.16, 0.66), (0.13, 0.74)], STEEL, 0.015)
        canvas.fill(ellipse(0.12, 0.76, 0.045, 0.035), shade(STEEL, 0.6), "mirror")
    if chance(rng, 0.5):
        draw_plate(canvas, -0.46, 0.39, 0.07, 0.055)
    canvas.decorate(ellipse(-0.46, 0.475, 0.02), shade(LAMP, 0.8))


def _draw_motor(canvas: Canvas) -> None:
    """Draw the engine block with its cooling fins."""
    block = smooth("-0.1,0.16 -0.12,0.38 0.14,0.4 0.17,0.2 0.08,0.12", 1)
    canvas.fill(block, (96, 98, 104), "engine")
    for y in np.linspace(0.27, 0.36, 4).tolist():
        canvas.stroke([(-0.07, y), (0.11, y)], (182, 184, 188), 0.012)
    canvas.decorate(ellipse(0.02, 0.19, 0.055), (150, 152, 156))
    canvas.decorate(ellipse(0.02, 0.19, 0.03), (112, 114, 118))


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
