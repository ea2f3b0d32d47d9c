"""Cars and buses: a side swept along a slanting direction gives every view from side to front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pasta.datasets.drawn.canvas import Canvas, Colour, ellipse, rectangle, shade
from pasta.datasets.drawn.stage import INK, Coat, darker, gloss, shadow, varnish
from pasta.datasets.drawn.surface import chance, mixed

Corners = tuple[tuple[float, float], ...]
Front = Callable[[Canvas, Coat], None]
GLASS: Colour = (92, 116, 134)
LAMP: Colour = (250, 240, 200)
RUBBER: Colour = (38, 38, 42)
STEEL: Colour = (168, 170, 174)


@dataclass(frozen=True)
class Shape:
    """The side of a vehicle that faces right, from lower left clockwise to lower right."""

    outline: Corners
    windows: tuple[Corners, ...]
    doors: tuple[Corners, ...]
    wheels: tuple[float, ...]
    radius: float
    screen: int  # which edge of the outline is the windscreen, or -1
    nose: int  # which edge is the front
    mirror: tuple[float, float]


CARS: tuple[Shape, ...] = (
    Shape(  # saloon
        ((-0.5, 0.1), (-0.5, 0.27), (-0.46, 0.31), (-0.3, 0.33), (-0.18, 0.47), (0.08, 0.48),
         (0.23, 0.335), (0.44, 0.29), (0.5, 0.24), (0.5, 0.1)),
        (((-0.26, 0.335), (-0.16, 0.445), (-0.04, 0.45), (-0.04, 0.335)),
         ((-0.01, 0.335), (-0.01, 0.45), (0.07, 0.45), (0.18, 0.335))),
        (((-0.25, 0.14), (-0.27, 0.325), (-0.04, 0.325), (-0.04, 0.13)),
         ((-0.02, 0.13), (-0.02, 0.325), (0.19, 0.325), (0.19, 0.16))),
        (-0.31, 0.31), 0.1, 5, 8, (0.19, 0.36),
    ),
    Shape(  # hatchback
        ((-0.46, 0.1), (-0.47, 0.32), (-0.38, 0.52), (0.06, 0.53), (0.24, 0.36), (0.42, 0.31),
         (0.47, 0.25), (0.47, 0.1)),
        (((-0.37, 0.36), (-0.33, 0.49), (-0.1, 0.5), (-0.1, 0.36)),
         ((-0.07, 0.36), (-0.07, 0.5), (0.05, 0.5), (0.19, 0.36))),
        (((-0.3, 0.14), (-0.32, 0.35), (-0.1, 0.35), (-0.1, 0.13)),
         ((-0.08, 0.13), (-0.08, 0.35), (0.2, 0.35), (0.2, 0.16))),
        (-0.29, 0.3), 0.105, 3, 6, (0.2, 0.385),
    ),
    Shape(  # estate
        ((-0.5, 0.12), (-0.5, 0.36), (-0.46, 0.54), (0.12, 0.54), (0.25, 0.38), (0.46, 0.35),
         (0.5, 0.3), (0.5, 0.12)),
        (((-0.46, 0.39), (-0.42, 0.51), (-0.25, 0.51), (-0.25, 0.39)),
         ((-0.22, 0.39), (-0.22, 0.51), (-0.02, 0.51), (-0.02, 0.39)),
         ((0.01, 0.39), (0.01, 0.51), (0.1, 0.51), (0.2, 0.39))),
        (((-0.2, 0.15), (-0.23, 0.38), (-0.03, 0.38), (-0.03, 0.15)),
         ((-0.01, 0.15), (-0.01, 0.38), (0.2, 0.38), (0.2, 0.18))),
        (-0.32, 0.32), 0.12, 3, 6, (0.22, 0.42),
    ),
)  # fmt: skip
_PANES = np.linspace(-0.46, 0.2, 6)[:-1].tolist()
BUS = Shape(
    ((-0.5, 0.07), (-0.5, 0.48), (-0.48, 0.52), (0.47, 0.52), (0.5, 0.48), (0.5, 0.07)),
    tuple(((x, 0.3), (x, 0.46), (x + 0.11, 0.46), (x + 0.11, 0.3)) for x in _PANES),
    (((0.26, 0.09), (0.26, 0.45), (0.34, 0.45), (0.34, 0.09)),
     ((0.36, 0.09), (0.36, 0.45), (0.44, 0.45), (0.44, 0.09))),
    (-0.3, 0.18), 0.075, -1, 4, (0.49, 0.4),
)  # fmt: skip


def wheel(canvas: Canvas, x: float, y: float, radius: float, concept: str | int = "wheel") -> None:
    """A tyre on a steel rim."""
    canvas.fill(ellipse(x, y, radius), RUBBER, concept)
    canvas.decorate(ellipse(x, y, radius * 0.66), shade(STEEL, 0.7))
    canvas.decorate(ellipse(x, y + radius * 0.06, radius * 0.56), STEEL)
    canvas.decorate(ellipse(x, y, radius * 0.18), shade(STEEL, 0.45))


def glass(canvas: Canvas, outline: ArrayLike) -> None:
    """A pane that reflects the sky along one diagonal."""
    pane = np.asarray(outline, dtype=np.float64)
    canvas.fill(pane, GLASS, "window")
    middle = pane.mean(0)
    canvas.decorate(middle + (pane - middle) * 0.82, shade(GLASS, 1.2))
    low, high = pane.min(0), pane.max(0)
    width, height = high - low
    bar = low + np.array([(0.3, 0.15), (0.45, 0.15), (0.68, 0.85), (0.53, 0.85)]) * (width, height)
    gloss(canvas, bar, 0.35)


def lamp(canvas: Canvas, x: float, y: float, rx: float, ry: float) -> None:
    """A headlight."""
    canvas.fill(ellipse(x, y, rx * 1.2, ry * 1.2), (90, 90, 94), "headlight")
    canvas.fill(ellipse(x, y, rx, ry), LAMP, len(canvas.concepts))
    canvas.decorate(ellipse(x, y + ry * 0.2, rx * 0.5, ry * 0.5), (255, 255, 246))


def plate(canvas: Canvas, x: float, y: float, width: float, height: float) -> None:
    """A licence plate with something written on it."""
    outline = rectangle(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    canvas.fill(outline, (240, 238, 226), "license_plate")
    canvas.stroke([(x - width * 0.36, y), (x + width * 0.36, y)], INK, height * 0.3)


@contextmanager
def panel(canvas: Canvas, corner: np.ndarray, along: np.ndarray, up: np.ndarray) -> Iterator[None]:
    """Draw inside a parallelogram as if it were the unit square."""
    with canvas.placed(np.column_stack([along, up, corner])):
        yield


def car_front(canvas: Canvas, paint: Coat) -> None:
    """Grille, headlights and licence plate on the unit square."""
    canvas.decorate(rectangle(0.3, 0.45, 0.7, 0.8), shade(INK, 1.6))
    canvas.decorate(rectangle(0.0, 0.0, 1.0, 0.14), shade(paint.colour, 0.5))
    for x in (0.15, 0.85):
        lamp(canvas, x, 0.64, 0.12, 0.2)
    plate(canvas, 0.5, 0.26, 0.36, 0.2)


def bus_front(canvas: Canvas, paint: Coat) -> None:
    """A broad windscreen, a destination sign, headlights and licence plate on the unit square."""
    glass(canvas, rectangle(0.06, 0.42, 0.94, 0.84))
    canvas.decorate(rectangle(0.2, 0.88, 0.8, 0.97), INK)
    canvas.decorate(rectangle(0.26, 0.9, 0.74, 0.95), (244, 186, 74))
    canvas.decorate(rectangle(0.0, 0.0, 1.0, 0.07), shade(paint.colour, 0.5))
    for x in (0.16, 0.84):
        lamp(canvas, x, 0.24, 0.1, 0.07)
    plate(canvas, 0.5, 0.15, 0.3, 0.09)


def swept(
    canvas: Canvas, shape: Shape, paint: Coat, depth: tuple[float, float], part: int, front: Front
) -> None:
    """The roof, the windscreen and the front of a vehicle turned towards us."""
    corners = np.asarray(shape.outline)
    slant = np.asarray(depth)
    for edge in range(1, len(corners) - 1):
        first, second = corners[edge], corners[edge + 1]
        face = np.array([first, second, second + slant, first + slant])
        run = second - first
        canvas.fill(face, paint.lit if abs(run[0]) > abs(run[1]) else paint.dim, part)
        if edge == shape.screen:
            middle = face.mean(0)
            glass(canvas, middle + (face - middle) * 0.86)
    top, bottom = corners[shape.nose], corners[shape.nose + 1]
    with panel(canvas, bottom, slant, top - bottom):
        front(canvas, paint)


def side(canvas: Canvas, shape: Shape, paint: Coat, part: int, band: Colour | None) -> None:
    """The side itself: lit from above, with its doors, windows and wheels."""
    corners = np.asarray(shape.outline)
    canvas.fill(corners, paint.plain, part)
    low, high = corners[:, 1].min(), corners[:, 1].max()
    left, right = corners[:, 0].min(), corners[:, 0].max()
    canvas.tint(rectangle(left, low, right, low + (high - low) * 0.24), INK, 0.25)
    waist = low + (high - low) * 0.46
    if band is not None:
        canvas.decorate(rectangle(left, waist - 0.05, right, waist), band)
    gloss(canvas, rectangle(left + 0.01, waist, right - 0.03, waist + 0.02), 0.25)
    for corners_of_door in shape.doors:
        door = np.asarray(corners_of_door)
        canvas.mark(door, "door")
        canvas.tint(door, INK, 0.08)
        canvas.stroke([*door, door[0]], darker(paint.colour), 0.008)
        knob = door.max(0) - (0.03, 0.05)
        canvas.stroke([knob - (0.03, 0), knob], STEEL, 0.012)
    for window in shape.windows:
        glass(canvas, window)
    for x in shape.wheels:
        canvas.fill(ellipse(x, shape.radius, shape.radius * 1.16), shade(INK, 0.8), part)
        wheel(canvas, x, shape.radius, shape.radius)


def _aside(
    canvas: Canvas,
    rng: np.random.Generator,
    shape: Shape,
    paint: Coat,
    front: Front,
    band: Colour | None,
) -> None:
    turned = chance(rng, 0.6)
    depth = (rng.uniform(0.2, 0.34), rng.uniform(0.03, 0.06)) if turned else (0.03, 0.02)
    squeeze = 1 - depth[0]
    part = canvas.instance("bodywork")
    shadow(canvas, 1.05)
    slim = np.array([[squeeze, 0, -depth[0] / 2], [0, 1, 0]])
    with canvas.placed(slim):
        inner = (depth[0] / squeeze, depth[1])
        for x in shape.wheels[-1:]:
            far_wheel = ellipse(x + inner[0] * 0.92, shape.radius + inner[1] * 0.5, shape.radius)
            canvas.fill(far_wheel, RUBBER, "wheel")
        swept(canvas, shape, paint, inner, part, front if turned else _lamp_only)
        side(canvas, shape, paint, part, band)
        x, y = shape.mirror
        canvas.fill(ellipse(x, y, 0.035, 0.028), darker(paint.colour), "mirror")
    if not turned:
        corner = np.asarray(shape.outline)[shape.nose]
        lamp(canvas, corner[0] - 0.03, corner[1] - 0.03, 0.026, 0.03)
        plate(canvas, corner[0] - 0.03, 0.15, 0.075, 0.045)


def _lamp_only(canvas: Canvas, paint: Coat) -> None:
    canvas.decorate(rectangle(0.0, 0.0, 1.0, 0.3), shade(paint.colour, 0.5))


def _ahead(canvas: Canvas, paint: Coat, tall: float, hood: float, front: Front) -> None:
    """A vehicle seen from the front; ``hood`` is how much of its height is below the windscreen."""
    shadow(canvas, 0.9)
    part = canvas.instance("bodywork")
    for sign in (-1, 1):
        canvas.fill(rectangle(sign * 0.33 - 0.07, 0, sign * 0.33 + 0.07, 0.2), RUBBER, "wheel")
    waist = tall * hood
    if hood < 1:
        cabin = np.array([(-0.38, waist - 0.02), (-0.27, tall), (0.27, tall), (0.38, waist - 0.02)])
        canvas.fill(cabin, paint.plain, part)
        glass(canvas, cabin * (0.86, 1) + ((0, 0.02), (0, -0.04), (0, -0.04), (0, 0.02)))
    face = [
        (-0.43, 0.07),
        (-0.44, waist - 0.05),
        (-0.38, waist),
        (0.38, waist),
        (0.44, waist - 0.05),
        (0.43, 0.07),
    ]
    canvas.fill(face, paint.plain, part)
    gloss(canvas, rectangle(-0.38, waist - 0.06, 0.38, waist - 0.02), 0.15)
    with panel(canvas, np.array([-0.43, 0.07]), np.array([0.86, 0]), np.array([0, waist - 0.09])):
        front(canvas, paint)
    height, long = (waist + 0.05, 0.05) if hood < 1 else (tall * 0.7, 0.09)
    for sign in (-1, 1):
        edge = darker(paint.colour)
        canvas.stroke([(sign * 0.36, height - 0.02), (sign * 0.45, height)], edge, 0.03, part)
        canvas.fill(ellipse(sign * 0.47, height, 0.055, long), edge, "mirror")
        canvas.decorate(ellipse(sign * 0.47, height, 0.035, long * 0.65), STEEL)


def car(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A car from the side, from a corner or from the front."""
    paint = varnish(canvas, rng, colour)
    if chance(rng, 0.25):
        _ahead(canvas, paint, rng.uniform(0.6, 0.7), 0.6, car_front)
    else:
        _aside(canvas, rng, CARS[int(rng.integers(len(CARS)))], paint, car_front, None)


def bus(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A bus from the side, from a corner or from the front."""
    paint = varnish(canvas, rng, colour)
    if chance(rng, 0.25):
        _ahead(canvas, paint, rng.uniform(0.88, 1.0), 1.0, bus_front)
    else:
        _aside(canvas, rng, BUS, paint, bus_front, mixed(colour, (250, 246, 236), 0.7))
