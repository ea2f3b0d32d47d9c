"""People and what they wear and carry."""

from __future__ import annotations

from pasta.datasets.drawn.canvas import ellipse, limb, rectangle
from pasta.datasets.drawn.objects_kit import (
    Sketch,
    body,
    detail,
    disc,
    each,
    line,
    scratch,
    soft,
)

PEOPLE: tuple[Sketch, ...] = (
    Sketch(
        "person",
        0.4,
        1.0,
        "floor",
        0.5,
        each(
            body(limb(0.15, 0.52, 0.13, 0.93, 0.13, 0.09), "accent", 0.6),
            body(limb(0.25, 0.52, 0.27, 0.93, 0.13, 0.09), "accent", 0.65),
            body(limb(0.08, 0.965, 0.15, 0.965, 0.06), "dark", flat=True),
            body(limb(0.23, 0.965, 0.31, 0.965, 0.06), "dark", flat=True),
            body(limb(0.07, 0.26, 0.045, 0.5, 0.08, 0.06), "main", 0.85),
            body(limb(0.33, 0.26, 0.355, 0.5, 0.08, 0.06), "main", 0.85),
            disc(0.045, 0.53, 0.034, "skin"),
            disc(0.355, 0.53, 0.034, "skin"),
            body(rectangle(0.165, 0.13, 0.235, 0.22), "skin", 0.85),
            soft(
                [(0.03, 0.19), (0.37, 0.19), (0.32, 0.42), (0.32, 0.58), (0.08, 0.58), (0.08, 0.42)]
            ),
            body(ellipse(0.2, 0.07, 0.08, 0.07), "hair", flat=True),
            body(ellipse(0.2, 0.095, 0.068, 0.08), "skin"),
            detail([(0.13, 0.08), (0.14, 0.03), (0.26, 0.03), (0.27, 0.08), (0.2, 0.06)], "hair"),
            detail(ellipse(0.175, 0.1, 0.01), "dark"),
            detail(ellipse(0.225, 0.1, 0.01), "dark"),
            scratch([(0.18, 0.14), (0.22, 0.14)], 0.01, "red", 0.8),
        ),
    ),
    Sketch(
        "handbag",
        0.92,
        1.0,
        "floor",
        0.2,
        each(
            line(
                [(0.22, 0.5), (0.24, 0.16), (0.38, 0.04), (0.54, 0.04), (0.68, 0.16), (0.7, 0.5)],
                0.055,
                "main",
                0.7,
            ),
            soft([(0.08, 0.4), (0.84, 0.4), (0.96, 1.02), (-0.04, 1.02)]),
            soft([(0.1, 0.4), (0.82, 0.4), (0.74, 0.68), (0.18, 0.68)], "main", 0.85),
            disc(0.46, 0.66, 0.06, "yellow"),
            scratch([(0.08, 0.9), (0.84, 0.9)], 0.02, "main", 0.7),
        ),
    ),
    Sketch(
        "tie",
        0.34,
        1.0,
        "wall",
        0.34,
        each(
            body([(0.12, 0.14), (0.22, 0.14), (0.34, 0.82), (0.17, 1.0), (0.0, 0.82)]),
            [
                detail(
                    [
                        (0.11 - 0.02 * n, 0.26 + 0.15 * n),
                        (0.23 + 0.02 * n, 0.2 + 0.15 * n),
                        (0.235 + 0.02 * n, 0.25 + 0.15 * n),
                        (0.1 - 0.02 * n, 0.31 + 0.15 * n),
                    ],
                    "accent",
                )
                for n in range(4)
            ],
            body([(0.07, 0.0), (0.27, 0.0), (0.23, 0.16), (0.11, 0.16)], "main", 0.85),
        ),
    ),
)
