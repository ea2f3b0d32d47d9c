"""Small drawings as data: a sketch is a box, a place to stand and a list of marks.

Outlines are made once, when the module is loaded; drawing a sketch only moves and fills them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pasta.datasets.drawn.canvas import Canvas, Colour, Points, Rng, ellipse, polygon, shade, smooth
from pasta.datasets.drawn.surface import palette

Kind = Literal["fill", "line", "detail", "scratch", "glaze"]

INKS: dict[str, Colour] = {
    "dark": (38, 38, 44),
    "white": (240, 239, 234),
    "metal": (176, 182, 190),
    "wood": (150, 103, 62),
    "glass": (158, 196, 214),
    "red": (206, 52, 44),
    "green": (72, 132, 62),
    "yellow": (240, 200, 70),
    "cream": (246, 228, 188),
    "crust": (204, 148, 84),
    "pink": (232, 150, 160),
}
SKINS = palette("eec6a6 d6a47e a4704e 684632")
HAIRS = palette("28201c 5c3c26 c49e60 8c8884")
VIVID = palette("c83c34 3868ac e8b03c 468c60 825496 e2763a 409ca8 d2608c 606c7c e8e2d6")
ENAMEL = palette("eeeeec ced2d6 d6dece ba4c44")
SUNWARD = np.array([-0.028, -0.04])  # every volume is lit from the upper left, as is the room


@dataclass(frozen=True)
class Mark:
    """One filled outline or line; ``inner`` are the lighter layers that give it volume."""

    kind: Kind
    points: Points
    paint: str = "main"
    tone: float = 1.0
    width: float = 0.0
    strength: float = 0.3
    inner: tuple[tuple[Points, float], ...] = ()


class Stand(NamedTuple):
    """Where a sketch stands or hangs, and its box, whose longer side is 1."""

    place: Literal["floor", "table", "wall"]
    width: float
    height: float
    size: float  # of the longer side against the picture, when it is one of the small things


on_floor, on_table, on_wall = (
    partial(Stand, "floor"),
    partial(Stand, "table"),
    partial(Stand, "wall"),
)


@dataclass(frozen=True)
class Sketch:
    """How to draw a concept inside its box, whose upper left corner is (0, 0)."""

    concept: str
    stand: Stand
    marks: tuple[Mark, ...]
    colours: tuple[Colour, ...]
    accents: tuple[Colour, ...]
    mirrors: bool  # lettering must not be read backwards


def sketch(
    concept: str,
    stand: Stand,
    *marks: Mark | Iterable[Mark],
    colours: tuple[Colour, ...] = VIVID,
    accents: tuple[Colour, ...] = VIVID,
    mirrors: bool = True,
) -> Sketch:
    """Make a sketch of marks and lists of marks, in drawing order."""
    return Sketch(concept, stand, flatten(*marks), colours, accents, mirrors)


def body(points: ArrayLike, paint: str = "main", tone: float = 1.0, *, flat: bool = False) -> Mark:
    """Make a solid part; unless flat it gets lighter towards the light."""
    outline = polygon(points)
    if flat:
        return Mark("fill", outline, paint, tone)
    low, high = outline.min(0), outline.max(0)
    centre, extent = (low + high) / 2, (high - low)
    layers = tuple(
        ((outline - centre) * size + centre + SUNWARD * step * extent, tone * lift)
        for size, step, lift in ((0.86, 1.0, 1.0), (0.55, 3.5, 1.1))
    )
    return Mark("fill", outline, paint, tone * 0.84, inner=layers)


def soft(points: ArrayLike, paint: str = "main", tone: float = 1.0, *, flat: bool = False) -> Mark:
    """Make a solid part with rounded corners."""
    return body(smooth(points), paint, tone, flat=flat)


def block(x0: float, y0: float, x1: float, y1: float, *, corner: float = 0.06) -> Mark:
    """Make a box with slightly rounded corners."""
    corners = [(x0 + corner, y0), (x1 - corner, y0), (x1, y0 + corner), (x1, y1 - corner)]
    corners += [(x1 - corner, y1), (x0 + corner, y1), (x0, y1 - corner), (x0, y0 + corner)]
    return body(smooth(corners, 1))


def disc(x: float, y: float, r: float, paint: str = "main", tone: float = 1.0) -> Mark:
    """Make a ball."""
    return body(ellipse(x, y, r), paint, tone)


def dot(x: float, y: float, r: float, paint: str = "dark", tone: float = 1.0) -> Mark:
    """Make a round patch inside the object."""
    return detail(ellipse(x, y, r), paint, tone)


def line(points: ArrayLike, width: float, paint: str = "main", tone: float = 1.0) -> Mark:
    """Make a bar, wire or leg that belongs to the object."""
    return Mark("line", polygon(points), paint, tone, width)


def detail(points: ArrayLike, paint: str, tone: float = 1.0) -> Mark:
    """Make a patch of colour inside the object."""
    return Mark("detail", polygon(points), paint, tone)


def scratch(points: ArrayLike, width: float, paint: str = "dark", tone: float = 1.0) -> Mark:
    """Make a line inside the object."""
    return Mark("scratch", polygon(points), paint, tone, width)


def glaze(points: ArrayLike, paint: str = "white", strength: float = 0.3) -> Mark:
    """Make a transparent reflection or shadow inside the object."""
    return Mark("glaze", polygon(points), paint, strength=strength)


def flatten(*groups: Mark | Iterable[Mark]) -> tuple[Mark, ...]:
    """Flatten marks and lists of marks, in drawing order."""
    return tuple(
        mark for group in groups for mark in ((group,) if isinstance(group, Mark) else group)
    )


def at(
    places: ArrayLike, make: Callable[..., Mark | Iterable[Mark]], *args: object, **options: object
) -> tuple[Mark, ...]:
    """Repeat a mark at several places; ``make`` takes x and y first."""
    return flatten(*(make(x, y, *args, **options) for x, y in polygon(places)))


def wheel(x: float, y: float, r: float, *, hub: float = 0.45) -> tuple[Mark, ...]:
    """Make a tyre with a metal hub."""
    return (
        body(ellipse(x, y, r), "dark", flat=True),
        detail(ellipse(x, y, r * hub), "metal"),
        detail(ellipse(x, y, r * hub * 0.35), "dark", 1.5),
    )


def closed(outline: Points) -> Points:
    """Repeat the first corners at the end, so that a line along the outline has no gap."""
    return np.concatenate([outline, outline[:2]])


def around(
    x: float, y: float, rx: float, ry: float, count: int, start: float = 0.3
) -> list[tuple[float, float]]:
    """Return places on an ellipse, e.g. of toppings."""
    turns = start + np.arange(count) * 2 * np.pi / count
    return [(x + rx * float(np.cos(t)), y + ry * float(np.sin(t))) for t in turns]


def crumbs(places: list[tuple[float, float]], r: float, *paints: str) -> list[Mark]:
    """Make small round patches; the paints alternate."""
    return [detail(ellipse(x, y, r), paints[n % len(paints)]) for n, (x, y) in enumerate(places)]


def draw_sketch(canvas: Canvas, sketch: Sketch, rng: Rng) -> None:
    """Draw the sketch in its own box; the caller places the canvas."""
    main, accent, skin, hair = rng.random(4)
    inks = INKS | {
        "main": _vary(pick(sketch.colours, main), rng),
        "accent": pick(sketch.accents, accent),
        "skin": pick(SKINS, skin),
        "hair": pick(HAIRS, hair),
    }
    number = canvas.instance(sketch.concept)
    for mark in sketch.marks:
        _draw_mark(canvas, mark, inks[mark.paint], number)


def pick(colours: tuple[Colour, ...], share: float) -> Colour:
    """Return the colour at a fraction 0-1 of a palette."""
    return colours[int(share * len(colours))]


def _vary(colour: Colour, rng: Rng) -> Colour:
    red, green, blue = np.clip(np.array(colour) + rng.integers(-14, 15, 3), 0, 255).tolist()
    return red, green, blue


def _draw_mark(canvas: Canvas, mark: Mark, ink: Colour, number: int) -> None:
    colour = shade(ink, mark.tone)
    if mark.kind == "fill":
        canvas.fill(mark.points, colour, number)
        for points, tone in mark.inner:
            canvas.decorate(points, shade(ink, tone))
    elif mark.kind == "line":
        canvas.stroke(mark.points, colour, mark.width, number)
    elif mark.kind == "detail":
        canvas.decorate(mark.points, colour)
    elif mark.kind == "scratch":
        canvas.stroke(mark.points, colour, mark.width)
    else:
        canvas.tint(mark.points, colour, mark.strength)
