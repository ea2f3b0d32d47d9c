"""Street furniture and luggage."""

from __future__ import annotations

import numpy as np

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

_OCTAGON = [
    (0.5 + 0.5 * np.cos(t), 0.5 + 0.5 * np.sin(t)) for t in np.arange(8) * np.pi / 4 + 0.3927
]

TRAVEL: tuple[Sketch, ...] = (
    Sketch(
        "traffic light",
        0.42,
        1.0,
        "floor",
        0.4,
        each(
            body(rectangle(0.18, 0.5, 0.24, 1.0), "metal", 0.6),
            soft([(0.02, 0.0), (0.4, 0.0), (0.4, 0.62), (0.02, 0.62)], "dark", 1.2),
            disc(0.21, 0.12, 0.085, "red"),
            disc(0.21, 0.31, 0.085, "yellow"),
            disc(0.21, 0.5, 0.085, "green", 1.4),
        ),
    ),
    Sketch(
        "stop sign",
        0.62,
        1.0,
        "floor",
        0.42,
        each(
            body(rectangle(0.28, 0.5, 0.34, 1.0), "metal", 0.8),
            body(np.array(_OCTAGON) * 0.62, "white", flat=True),
            body(np.array(_OCTAGON) * 0.54 + 0.04, "red", flat=True),
            [detail(rectangle(x, 0.24, x + 0.07, 0.38), "white") for x in (0.11, 0.22, 0.33, 0.44)],
            [detail(rectangle(x, 0.28, x + 0.025, 0.34), "red") for x in (0.352,)],
            detail(rectangle(0.14, 0.27, 0.18, 0.29), "red"),
            detail(rectangle(0.46, 0.265, 0.49, 0.295), "red"),
            detail(rectangle(0.465, 0.33, 0.51, 0.38), "red"),
            detail(rectangle(0.22, 0.28, 0.24, 0.38), "red"),
            detail(rectangle(0.27, 0.28, 0.29, 0.38), "red"),
            detail(rectangle(0.11, 0.325, 0.15, 0.35), "red"),
        ),
        mirrors=False,
    ),
    Sketch(
        "parking meter",
        0.36,
        1.0,
        "floor",
        0.4,
        each(
            body(rectangle(0.15, 0.36, 0.21, 0.97), "metal", 0.7),
            body(rectangle(0.06, 0.94, 0.3, 1.0), "metal", 0.5),
            soft(
                [
                    (0.02, 0.16),
                    (0.08, -0.02),
                    (0.28, -0.02),
                    (0.34, 0.16),
                    (0.32, 0.48),
                    (0.04, 0.48),
                ]
            ),
            detail(ellipse(0.18, 0.15, 0.11, 0.09), "white"),
            scratch([(0.18, 0.18), (0.23, 0.1)], 0.02, "red"),
            detail(rectangle(0.13, 0.3, 0.23, 0.36), "dark"),
        ),
        ((96, 104, 116), (70, 100, 140), (120, 130, 120)),
    ),
    Sketch(
        "fire hydrant",
        0.66,
        1.0,
        "floor",
        0.26,
        each(
            body(rectangle(0.08, 0.9, 0.58, 1.0), "main", 0.8),
            body(limb(0.08, 0.52, 0.58, 0.52, 0.15), "main", 0.85),
            soft([(0.16, 0.28), (0.5, 0.28), (0.5, 0.95), (0.16, 0.95)]),
            body(ellipse(0.33, 0.25, 0.22, 0.14)),
            body(rectangle(0.08, 0.26, 0.58, 0.33), "main", 0.9),
            body(rectangle(0.28, 0.02, 0.38, 0.14), "main", 0.9),
            disc(0.33, 0.55, 0.09, "metal"),
        ),
        ((208, 52, 40), (224, 180, 50), (210, 80, 50)),
    ),
    Sketch(
        "suitcase",
        0.66,
        1.0,
        "floor",
        0.28,
        each(
            line([(0.22, 0.3), (0.22, 0.03), (0.44, 0.03), (0.44, 0.3)], 0.04, "dark", 1.3),
            soft([(-0.02, 0.24), (0.68, 0.24), (0.68, 0.96), (-0.02, 0.96)]),
            [scratch([(x, 0.3), (x, 0.9)], 0.03, "main", 0.78) for x in (0.15, 0.33, 0.51)],
            detail(rectangle(0.23, 0.36, 0.43, 0.44), "accent"),
            disc(0.12, 0.96, 0.04, "dark"),
            disc(0.54, 0.96, 0.04, "dark"),
        ),
    ),
    Sketch(
        "backpack",
        0.8,
        1.0,
        "floor",
        0.26,
        each(
            line([(0.28, 0.12), (0.32, 0.03), (0.48, 0.03), (0.52, 0.12)], 0.05, "dark", 1.4),
            body(limb(0.08, 0.5, 0.08, 0.84, 0.14), "main", 0.75),
            body(limb(0.72, 0.5, 0.72, 0.84, 0.14), "main", 0.75),
            soft([(0.1, 0.4), (0.16, 0.08), (0.64, 0.08), (0.7, 0.4), (0.76, 1.0), (0.04, 1.0)]),
            scratch([(0.16, 0.36), (0.4, 0.42), (0.64, 0.36)], 0.035, "dark", 1.3),
            soft([(0.16, 0.56), (0.64, 0.56), (0.66, 0.94), (0.14, 0.94)], "accent", 0.95),
            scratch([(0.22, 0.66), (0.58, 0.66)], 0.025, "dark"),
        ),
    ),
)
