"""Large animals. The four-legged ones share one build, told apart by heads and coats."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import Colour, ellipse, limb
from pasta.datasets.drawn.objects_anatomy import Build, eye, spots, trunk
from pasta.datasets.drawn.objects_kit import (
    Mark,
    Sketch,
    body,
    detail,
    disc,
    each,
    line,
    scratch,
    soft,
)


def _stripes(x0: float, x1: float, y0: float, y1: float, count: int) -> list[Mark]:
    places = np.linspace(x0, x1, count)
    return [scratch([(x, y0), (x - 0.015, (y0 + y1) / 2), (x, y1)], 0.024, "dark") for x in places]


_HORSE = Build(0.38, 0.82, 0.32, 0.24, 1.0, 0.075)
_ELEPHANT = Build(0.42, 0.8, 0.1, 0.4, 0.8, 0.14)
_BROWNS: tuple[Colour, ...] = (
    (128, 80, 46),
    (92, 58, 38),
    (170, 116, 70),
    (206, 188, 160),
    (70, 64, 62),
)


def _horse_head(mane: str) -> list[Mark]:
    return [
        soft([(0.24, 0.08), (0.36, 0.1), (0.52, 0.36), (0.4, 0.52), (0.28, 0.44)]),
        soft([(0.0, 0.3), (0.06, 0.24), (0.24, 0.04), (0.36, 0.08), (0.32, 0.24), (0.1, 0.38)]),
        body([(0.26, 0.08), (0.28, 0.0), (0.33, 0.08)]),
        body([(0.32, 0.05), (0.37, 0.08), (0.56, 0.34), (0.48, 0.37)], mane, flat=True),
        eye(0.2, 0.15),
        detail(ellipse(0.05, 0.3, 0.012), "dark"),
    ]


def _horse_marks(tail: str) -> tuple[Mark, ...]:
    return each(
        body(limb(0.92, 0.38, 0.96, 0.72, 0.05, 0.07), tail, 0.9), trunk(_HORSE), _horse_head(tail)
    )


ANIMALS: tuple[Sketch, ...] = (
    Sketch("horse", 1.0, 1.0, "floor", 0.5, _horse_marks("hair"), _BROWNS),
    Sketch(
        "zebra",
        1.0,
        1.0,
        "floor",
        0.5,
        each(
            _horse_marks("dark"),
            _stripes(0.34, 0.88, 0.34, 0.55, 9),
            _stripes(0.3, 0.42, 0.14, 0.32, 3),
            [
                scratch([(x - 0.04, y), (x + 0.04, y)], 0.022, "dark")
                for x in (0.38, 0.82)
                for y in (0.62, 0.7, 0.78, 0.86)
            ],
            detail(ellipse(0.04, 0.3, 0.04), "dark"),
            scratch([(0.12, 0.18), (0.17, 0.3)], 0.02, "dark"),
            scratch([(0.24, 0.1), (0.26, 0.24)], 0.02, "dark"),
        ),
        ((240, 238, 232), (228, 222, 210)),
    ),
    Sketch(
        "giraffe",
        0.8,
        1.0,
        "floor",
        0.62,
        each(
            line([(0.74, 0.5), (0.77, 0.66)], 0.02, "wood", 0.7),
            trunk(Build(0.36, 0.66, 0.46, 0.17, 1.0, 0.055)),
            soft([(0.15, 0.06), (0.25, 0.04), (0.46, 0.48), (0.34, 0.6), (0.28, 0.5)]),
            soft([(0.0, 0.16), (0.14, 0.02), (0.28, 0.03), (0.26, 0.14), (0.06, 0.2)]),
            line([(0.19, 0.06), (0.18, 0.0)], 0.022, "wood", 0.6),
            line([(0.23, 0.06), (0.24, 0.0)], 0.022, "wood", 0.6),
            body(limb(0.26, 0.08, 0.31, 0.06, 0.03)),
            eye(0.15, 0.075, 0.014),
            spots(
                [
                    (0.24, 0.18),
                    (0.29, 0.26),
                    (0.26, 0.32),
                    (0.34, 0.36),
                    (0.32, 0.43),
                    (0.39, 0.47),
                    (0.36, 0.55),
                    (0.46, 0.52),
                    (0.55, 0.5),
                    (0.64, 0.51),
                    (0.5, 0.59),
                    (0.6, 0.59),
                    (0.69, 0.57),
                    (0.36, 0.7),
                    (0.66, 0.7),
                ],
                0.03,
                "wood",
                0.75,
            ),
        ),
        ((236, 190, 104), (226, 176, 88)),
    ),
    Sketch(
        "elephant",
        1.0,
        0.8,
        "floor",
        0.56,
        each(
            line([(0.93, 0.26), (0.97, 0.48)], 0.025),
            trunk(_ELEPHANT),
            soft(
                [(0.1, 0.12), (0.26, 0.02), (0.42, 0.08), (0.42, 0.4), (0.24, 0.46), (0.12, 0.36)]
            ),
            line([(0.19, 0.34), (0.13, 0.5), (0.12, 0.64), (0.06, 0.7)], 0.09, "main", 0.92),
            line([(0.2, 0.42), (0.12, 0.5), (0.05, 0.47)], 0.035, "white"),
            soft(
                [(0.32, 0.08), (0.52, 0.04), (0.58, 0.24), (0.46, 0.48), (0.34, 0.36)], "main", 0.9
            ),
            detail(ellipse(0.44, 0.24, 0.06, 0.12), "pink", 0.85),
            eye(0.22, 0.2, 0.018),
            [detail(ellipse(x, 0.785, 0.02, 0.012), "white") for x in (0.38, 0.45, 0.76, 0.83)],
        ),
        ((138, 140, 148), (122, 120, 122), (156, 148, 144)),
    ),
    Sketch(
        "bear",
        1.0,
        0.74,
        "floor",
        0.52,
        each(
            trunk(Build(0.4, 0.8, 0.14, 0.38, 0.74, 0.15)),
            disc(0.9, 0.22, 0.05),
            soft(
                [(0.06, 0.24), (0.16, 0.1), (0.42, 0.06), (0.46, 0.42), (0.2, 0.46), (0.08, 0.38)]
            ),
            disc(0.18, 0.09, 0.055),
            disc(0.33, 0.07, 0.055),
            body(ellipse(0.1, 0.36, 0.1, 0.075), "main", 1.25),
            detail(ellipse(0.035, 0.33, 0.03, 0.025), "dark"),
            eye(0.15, 0.23),
            eye(0.24, 0.21),
        ),
        ((110, 74, 46), (74, 54, 42), (52, 48, 48), (232, 228, 218)),
    ),
    Sketch(
        "cow",
        1.0,
        0.74,
        "floor",
        0.52,
        each(
            line([(0.94, 0.2), (0.97, 0.46)], 0.022),
            disc(0.97, 0.48, 0.03, "dark"),
            trunk(Build(0.36, 0.82, 0.14, 0.28, 0.74, 0.075)),
            body(ellipse(0.72, 0.45, 0.075, 0.055), "pink"),
            [
                detail(smooth_patch, "accent", 0.6)
                for smooth_patch in (
                    ellipse(0.48, 0.24, 0.1, 0.075),
                    ellipse(0.72, 0.2, 0.09, 0.055),
                    ellipse(0.84, 0.32, 0.05, 0.07),
                    ellipse(0.6, 0.36, 0.05, 0.03),
                )
            ],
            line([(0.13, 0.12), (0.1, 0.04), (0.14, 0.02)], 0.028, "cream"),
            line([(0.25, 0.12), (0.29, 0.04), (0.25, 0.02)], 0.028, "cream"),
            body(limb(0.28, 0.17, 0.35, 0.19, 0.06), "accent", 0.6),
            soft([(0.08, 0.1), (0.3, 0.1), (0.32, 0.26), (0.22, 0.42), (0.06, 0.4)]),
            body(ellipse(0.12, 0.37, 0.1, 0.065), "pink"),
            eye(0.14, 0.2),
            eye(0.24, 0.2),
            eye(0.09, 0.36, 0.012),
            eye(0.15, 0.36, 0.012),
        ),
        ((240, 236, 226), (226, 206, 176), (176, 112, 66)),
        ((60, 52, 50), (140, 84, 52)),
    ),
)
