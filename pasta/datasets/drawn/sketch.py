"""Small drawings as data: ``sketches.yaml`` holds a box, a place to stand and marks for each.

Outlines are made once, when the file is read; drawing a sketch only moves and fills them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pasta.config import parse_yaml
from pasta.datasets.drawn.canvas import (
    Canvas,
    Colour,
    Points,
    Rng,
    ellipse,
    limb,
    palette,
    polygon,
    rectangle,
    shade,
    smooth,
)

FILE = Path(__file__).with_name("sketches.yaml")
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
VIVID = "c83c34 3868ac e8b03c 468c60 825496 e2763a 409ca8 d2608c 606c7c e8e2d6"
PAINTS = {*INKS, "main", "accent", "skin", "hair"}
USUAL_PAINT = {"scratch": "dark", "glaze": "white"}  # of the other kinds: main
SUNWARD = np.array([-0.028, -0.04])  # every volume is lit from the upper left, as is the room


@dataclass(frozen=True)
class Mark:
    """One filled outline or line; ``inner`` are the lighter layers that give it volume."""

    kind: str
    points: Points
    paint: str
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


@dataclass(frozen=True)
class Sketch:
    """How to draw a concept inside its box, whose upper left corner is (0, 0)."""

    concept: str
    stand: Stand
    marks: tuple[Mark, ...]
    colours: tuple[Colour, ...]
    accents: tuple[Colour, ...]
    mirrors: bool  # lettering must not be read backwards


@cache
def read_sketches() -> dict[str, Sketch]:
    """Read the sketch of every concept."""
    content = parse_yaml(FILE, FILE.read_text(encoding="utf-8"))
    return {concept: _read_sketch(concept, entry) for concept, entry in content.items()}


def _read_sketch(concept: str, entry: dict[str, Any]) -> Sketch:
    place, *sizes = entry["stand"].split()
    marks = [
        mark
        for line in entry["marks"]
        for header, shapes in line.items()
        for mark in _read_marks(header, shapes)
    ]
    colours, accents = (palette(entry.get(key, VIVID)) for key in ("colours", "accents"))
    stand = Stand(place, *map(float, sizes))
    return Sketch(concept, stand, tuple(marks), colours, accents, entry.get("mirrors", True))


def _read_marks(header: str, shapes: str) -> list[Mark]:
    kind, *words = header.split()
    paint = next((word for word in words if word in PAINTS), USUAL_PAINT.get(kind, "main"))
    flat = "flat" in words
    numbers = [float(word) for word in words if word != "flat" and word not in PAINTS]
    outlines = _read_shapes(shapes)
    if kind == "soft":
        kind, outlines = "body", [smooth(points) for points in outlines]
    if kind in ("line", "scratch"):
        width, tone = (*numbers, 1.0)[:2]
        return [Mark(kind, points, paint, tone, width) for points in outlines]
    if kind == "glaze":
        return [Mark(kind, points, paint, strength=(*numbers, 0.3)[0]) for points in outlines]
    tone = (*numbers, 1.0)[0]
    if kind == "detail" or flat:
        return [Mark(kind, points, paint, tone) for points in outlines]
    return [_make_solid(points, paint, tone) for points in outlines]


def _make_solid(outline: Points, paint: str, tone: float) -> Mark:
    """Make a solid part that gets lighter towards the light."""
    low, high = outline.min(0), outline.max(0)
    centre, extent = (low + high) / 2, (high - low)
    layers = tuple(
        ((outline - centre) * size + centre + SUNWARD * step * extent, tone * lift)
        for size, step, lift in ((0.86, 1.0, 1.0), (0.55, 3.5, 1.1))
    )
    return Mark("body", outline, paint, tone * 0.84, inner=layers)


def _read_shapes(text: str) -> list[Points]:
    head, _, places = text.rpartition("at ")
    outlines = [polygon(place) for place in places.split(";")]
    if not head:
        return outlines
    name, *sizes = head.split()
    return [SHAPES[name](*outline.ravel().tolist(), *map(float, sizes)) for outline in outlines]


def _oval(x: float, y: float, rx: float, ry: float | None = None, angle: float = 0.0) -> Points:
    return ellipse(x, y, rx, ry, angle=angle)


def _ring(x: float, y: float, rx: float, ry: float) -> Points:
    """Return an ellipse that repeats its first corners, so that a line along it has no gap."""
    outline = ellipse(x, y, rx, ry)
    return np.concatenate([outline, outline[:2]])


def _block(x0: float, y0: float, x1: float, y1: float, corner: float) -> Points:
    corners = [(x0 + corner, y0), (x1 - corner, y0), (x1, y0 + corner), (x1, y1 - corner)]
    corners += [(x1 - corner, y1), (x0 + corner, y1), (x0, y1 - corner), (x0, y0 + corner)]
    return smooth(corners, 1)


SHAPES: dict[str, Callable[..., Points]] = {
    "ellipse": _oval,
    "ring": _ring,
    "limb": limb,
    "box": rectangle,
    "block": _block,
}


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
    if mark.kind == "body":
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
