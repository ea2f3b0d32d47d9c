"""Sketches of animals. The four-legged ones share one build; heads and coats differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pasta.datasets.drawn.canvas import ellipse, limb, polygon
from pasta.datasets.drawn.sketch import (
    Mark,
    at,
    body,
    detail,
    disc,
    dot,
    flatten,
    line,
    on_floor,
    on_table,
    scratch,
    sketch,
    soft,
)
from pasta.datasets.drawn.surface import palette


@dataclass(frozen=True)
class Build:
    """Proportions of an animal seen from the side, facing left."""

    front: float  # where the shoulder is
    back: float  # where the hip is
    line_of_back: float  # height of the back
    depth: float  # of the trunk
    ground: float
    leg: float  # thickness


def legs(build: Build, tone: float, shift: float) -> list[Mark]:
    """Make two legs, front and back."""
    top, low = build.line_of_back + build.depth * 0.6, build.ground - build.leg * 0.4
    places = (build.front + shift, build.back + shift)
    widths = (build.leg * 1.3, build.leg * 0.8)
    return [body(limb(x, top, x, low, *widths), "main", tone) for x in places]


def trunk(build: Build) -> list[Mark]:
    """Make far legs, trunk and near legs."""
    middle, half = (build.front + build.back) / 2, (build.back - build.front) / 2
    left, right = middle - (half + build.depth * 0.45), middle + (half + build.depth * 0.45)
    top, low = build.line_of_back, build.line_of_back + build.depth
    back = [(left, top + 0.02), (middle, top - 0.01), (right, top + 0.02)]
    outline = [*back, (right, low - 0.04), (middle, low + 0.02), (left, low - 0.02)]
    return [*legs(build, 0.72, build.leg * 0.9), soft(outline), *legs(build, 0.95, 0.0)]


def eye(x: float, y: float, r: float = 0.016) -> Mark:
    """Make a small dark eye."""
    return detail(ellipse(x, y, r), "dark")


def _spot(x: float, y: float, r: float, paint: str, tone: float) -> Mark:
    """Make a patch on a coat; its angle depends on its place."""
    return detail(ellipse(x, y, r, r * 0.8, angle=x * 9), paint, tone)


def _stripes(x0: float, x1: float, y0: float, y1: float, count: int) -> list[Mark]:
    places = np.linspace(x0, x1, count)
    return [scratch([(x, y0), (x - 0.015, (y0 + y1) / 2), (x, y1)], 0.024, "dark") for x in places]


RIB, NEXT_RIB = "0.56,0.56 0.64,0.64", "-0.03,0.12 0.01,0.1"
CURLS = "0.36,0.22 0.5,0.15 0.66,0.15 0.8,0.22 0.87,0.36 0.78,0.48 0.62,0.5 0.46,0.5 0.34,0.4"
GIRAFFE_SPOTS = (
    "0.24,0.18 0.29,0.26 0.26,0.32 0.34,0.36 0.32,0.43 0.39,0.47 0.36,0.55 0.46,0.52 0.55,0.5 "
    "0.64,0.51 0.5,0.59 0.6,0.59 0.69,0.57 0.36,0.7 0.66,0.7"
)
_HORSE = Build(0.38, 0.82, 0.32, 0.24, 1.0, 0.075)
_ELEPHANT = Build(0.42, 0.8, 0.1, 0.4, 0.8, 0.14)
_BROWNS = palette("80502e 5c3a26 aa7446 cebca0 46403e")


def _horse_head(mane: str) -> list[Mark]:
    return [
        soft("0.24,0.08 0.36,0.1 0.52,0.36 0.4,0.52 0.28,0.44"),
        soft("0.0,0.3 0.06,0.24 0.24,0.04 0.36,0.08 0.32,0.24 0.1,0.38"),
        body("0.26,0.08 0.28,0.0 0.33,0.08"),
        body("0.32,0.05 0.37,0.08 0.56,0.34 0.48,0.37", mane, flat=True),
        eye(0.2, 0.15),
        detail(ellipse(0.05, 0.3, 0.012), "dark"),
    ]


def _horse_marks(tail: str) -> tuple[Mark, ...]:
    return flatten(
        body(limb(0.92, 0.38, 0.96, 0.72, 0.05, 0.07), tail, 0.9), trunk(_HORSE), _horse_head(tail)
    )


_FURS = palette("ce8c4a 605a58 e2d6c4 7c5436 383434")


ANIMALS = (
    sketch("horse", on_floor(1.0, 1.0, 0.5), _horse_marks("hair"), colours=_BROWNS),
    sketch(
        "zebra",
        on_floor(1.0, 1.0, 0.5),
        _horse_marks("dark"),
        _stripes(0.34, 0.88, 0.34, 0.55, 9),
        _stripes(0.3, 0.42, 0.14, 0.32, 3),
        [
            scratch([(x - 0.04, y), (x + 0.04, y)], 0.022, "dark")
            for x in (0.38, 0.82)
            for y in (0.62, 0.7, 0.78, 0.86)
        ],
        dot(0.04, 0.3, 0.04, "dark"),
        scratch([(0.12, 0.18), (0.17, 0.3)], 0.02, "dark"),
        scratch([(0.24, 0.1), (0.26, 0.24)], 0.02, "dark"),
        colours=((240, 238, 232), (228, 222, 210)),
    ),
    sketch(
        "giraffe",
        on_floor(0.8, 1.0, 0.62),
        line([(0.74, 0.5), (0.77, 0.66)], 0.02, "wood", 0.7),
        trunk(Build(0.36, 0.66, 0.46, 0.17, 1.0, 0.055)),
        soft("0.15,0.06 0.25,0.04 0.46,0.48 0.34,0.6 0.28,0.5"),
        soft("0.0,0.16 0.14,0.02 0.28,0.03 0.26,0.14 0.06,0.2"),
        line([(0.19, 0.06), (0.18, 0.0)], 0.022, "wood", 0.6),
        line([(0.23, 0.06), (0.24, 0.0)], 0.022, "wood", 0.6),
        body(limb(0.26, 0.08, 0.31, 0.06, 0.03)),
        eye(0.15, 0.075, 0.014),
        at(GIRAFFE_SPOTS, _spot, 0.03, "wood", 0.75),
        colours=((236, 190, 104), (226, 176, 88)),
    ),
    sketch(
        "elephant",
        on_floor(1.0, 0.8, 0.56),
        line([(0.93, 0.26), (0.97, 0.48)], 0.025),
        trunk(_ELEPHANT),
        soft("0.1,0.12 0.26,0.02 0.42,0.08 0.42,0.4 0.24,0.46 0.12,0.36"),
        line("0.19,0.34 0.13,0.5 0.12,0.64 0.06,0.7", 0.09, "main", 0.92),
        line("0.2,0.42 0.12,0.5 0.05,0.47", 0.035, "white"),
        soft("0.32,0.08 0.52,0.04 0.58,0.24 0.46,0.48 0.34,0.36", "main", 0.9),
        detail(ellipse(0.44, 0.24, 0.06, 0.12), "pink", 0.85),
        eye(0.22, 0.2, 0.018),
        [detail(ellipse(x, 0.785, 0.02, 0.012), "white") for x in (0.38, 0.45, 0.76, 0.83)],
        colours=((138, 140, 148), (122, 120, 122), (156, 148, 144)),
    ),
    sketch(
        "bear",
        on_floor(1.0, 0.74, 0.52),
        trunk(Build(0.4, 0.8, 0.14, 0.38, 0.74, 0.15)),
        disc(0.9, 0.22, 0.05),
        soft("0.06,0.24 0.16,0.1 0.42,0.06 0.46,0.42 0.2,0.46 0.08,0.38"),
        at("0.18,0.09 0.33,0.07", disc, 0.055),
        body(ellipse(0.1, 0.36, 0.1, 0.075), "main", 1.25),
        detail(ellipse(0.035, 0.33, 0.03, 0.025), "dark"),
        at("0.15,0.23 0.24,0.21", eye),
        colours=((110, 74, 46), (74, 54, 42), (52, 48, 48), (232, 228, 218)),
    ),
    sketch(
        "cow",
        on_floor(1.0, 0.74, 0.52),
        line([(0.94, 0.2), (0.97, 0.46)], 0.022),
        disc(0.97, 0.48, 0.03, "dark"),
        trunk(Build(0.36, 0.82, 0.14, 0.28, 0.74, 0.075)),
        body(ellipse(0.72, 0.45, 0.075, 0.055), "pink"),
        detail(ellipse(0.48, 0.24, 0.1, 0.075), "accent", 0.6),
        detail(ellipse(0.72, 0.2, 0.09, 0.055), "accent", 0.6),
        detail(ellipse(0.84, 0.32, 0.05, 0.07), "accent", 0.6),
        detail(ellipse(0.6, 0.36, 0.05, 0.03), "accent", 0.6),
        line("0.13,0.12 0.1,0.04 0.14,0.02", 0.028, "cream"),
        line("0.25,0.12 0.29,0.04 0.25,0.02", 0.028, "cream"),
        body(limb(0.28, 0.17, 0.35, 0.19, 0.06), "accent", 0.6),
        soft("0.08,0.1 0.3,0.1 0.32,0.26 0.22,0.42 0.06,0.4"),
        body(ellipse(0.12, 0.37, 0.1, 0.065), "pink"),
        at("0.14,0.2 0.24,0.2", eye),
        at("0.09,0.36 0.15,0.36", eye, 0.012),
        colours=((240, 236, 226), (226, 206, 176), (176, 112, 66)),
        accents=((60, 52, 50), (140, 84, 52)),
    ),
    sketch(
        "sheep",
        on_floor(1.0, 0.78, 0.42),
        legs(Build(0.4, 0.76, 0.2, 0.4, 0.78, 0.07), 0.4, 0.06),
        at(CURLS, disc, 0.13),
        body(ellipse(0.6, 0.33, 0.3, 0.2)),
        at("0.46,0.26 0.6,0.2 0.74,0.3 0.56,0.38 0.7,0.44", _spot, 0.04, "main", 0.9),
        legs(Build(0.4, 0.76, 0.3, 0.36, 0.78, 0.07), 0.35, 0.0),
        soft("0.06,0.22 0.3,0.16 0.34,0.34 0.18,0.52 0.06,0.48", "accent", 0.55),
        body(limb(0.3, 0.24, 0.38, 0.3, 0.07), "accent", 0.5),
        disc(0.22, 0.17, 0.09),
        dot(0.15, 0.3, 0.022, "white"),
        eye(0.148, 0.302, 0.012),
        colours=((238, 234, 222), (222, 212, 192), (200, 194, 186)),
        accents=((92, 84, 80), (200, 180, 160)),
    ),
    sketch(
        "dog",
        on_floor(1.0, 0.9, 0.34),
        line("0.86,0.42 0.95,0.26 0.94,0.16", 0.07, "main", 0.9),
        trunk(Build(0.44, 0.8, 0.36, 0.24, 0.9, 0.08)),
        soft("0.28,0.2 0.46,0.16 0.6,0.4 0.44,0.6 0.32,0.5"),
        body(ellipse(0.32, 0.2, 0.18, 0.16)),
        body(limb(0.22, 0.27, 0.08, 0.29, 0.19, 0.13), "main", 1.1),
        detail(ellipse(0.035, 0.25, 0.035, 0.028), "dark"),
        eye(0.22, 0.16, 0.022),
        soft("0.36,0.02 0.5,0.1 0.5,0.36 0.4,0.38", "main", 0.65),
        scratch([(0.42, 0.4), (0.34, 0.5)], 0.05, "red"),
        colours=_FURS,
    ),
    sketch(
        "cat",
        on_floor(0.86, 1.0, 0.3),
        line("0.6,0.92 0.8,0.86 0.8,0.6 0.72,0.5", 0.07, "main", 0.85),
        soft("0.22,0.44 0.5,0.44 0.72,0.76 0.66,1.02 0.14,1.02 0.1,0.8"),
        [scratch(polygon(RIB) + n * polygon(NEXT_RIB), 0.03, "main", 0.65) for n in range(3)],
        detail(ellipse(0.32, 0.68, 0.1, 0.15), "white", 0.96),
        body(limb(0.26, 0.74, 0.25, 0.95, 0.1)),
        body(limb(0.4, 0.74, 0.42, 0.95, 0.1)),
        body("0.1,0.24 0.09,0.0 0.3,0.12"),
        body("0.58,0.24 0.59,0.0 0.38,0.12"),
        detail("0.13,0.15 0.125,0.07 0.21,0.12", "pink"),
        detail("0.55,0.15 0.555,0.07 0.47,0.12", "pink"),
        body(ellipse(0.34, 0.3, 0.26, 0.22)),
        [detail(ellipse(x, 0.28, 0.055, 0.05), "yellow", 0.95) for x in (0.24, 0.44)],
        [detail(ellipse(x, 0.28, 0.018, 0.045), "dark") for x in (0.24, 0.44)],
        detail("0.31,0.36 0.37,0.36 0.34,0.4", "pink"),
        [
            scratch([(0.34 + s * 0.08, 0.39), (0.34 + s * 0.22, 0.36 + d)], 0.009, "white")
            for s in (-1, 1)
            for d in (0.0, 0.05)
        ],
        colours=_FURS,
    ),
    sketch(
        "bird",
        on_table(1.0, 0.8, 0.2),
        line("0.44,0.6 0.42,0.78 0.36,0.78", 0.025, "crust"),
        line("0.54,0.6 0.54,0.78 0.48,0.78", 0.025, "crust"),
        body("0.66,0.4 1.0,0.5 0.98,0.62 0.66,0.56", "main", 0.75),
        soft("0.16,0.2 0.4,0.1 0.76,0.36 0.78,0.56 0.46,0.7 0.24,0.54"),
        detail(ellipse(0.38, 0.52, 0.14, 0.1), "accent"),
        disc(0.28, 0.2, 0.19),
        body("0.13,0.16 0.0,0.22 0.13,0.26", "yellow"),
        dot(0.22, 0.16, 0.035, "white"),
        eye(0.215, 0.16, 0.022),
        soft("0.44,0.3 0.68,0.34 0.92,0.54 0.6,0.56", "main", 0.72),
        scratch([(0.56, 0.48), (0.82, 0.52)], 0.02, "main", 1.1),
    ),
)
