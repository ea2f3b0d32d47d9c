"""Household machines and small things of a home."""

from __future__ import annotations

from pasta.datasets.drawn.canvas import ellipse, limb, rectangle
from pasta.datasets.drawn.objects_kit import (
    ENAMEL,
    Mark,
    Sketch,
    body,
    detail,
    disc,
    each,
    glaze,
    scratch,
    soft,
)


def _knobs(y: float, r: float, *places: float) -> list[Mark]:
    return [detail(ellipse(x, y, r), "dark", 1.2) for x in places]


HOME: tuple[Sketch, ...] = (
    Sketch(
        "refrigerator",
        0.56,
        1.0,
        "floor",
        0.52,
        each(
            [body(rectangle(x, 0.96, x + 0.08, 1.0), "main", 0.75) for x in (0.04, 0.44)],
            body(rectangle(0.0, 0.0, 0.56, 0.97)),
            scratch([(0.0, 0.36), (0.56, 0.36)], 0.018, "dark", 1.4),
            detail(rectangle(0.06, 0.14, 0.1, 0.3), "dark", 1.8),
            detail(rectangle(0.06, 0.44, 0.1, 0.68), "dark", 1.8),
            detail(rectangle(0.3, 0.1, 0.42, 0.2), "accent"),
            detail(rectangle(0.34, 0.46, 0.46, 0.58), "yellow"),
            detail(ellipse(0.22, 0.5, 0.03), "red"),
            glaze([(0.4, 0.0), (0.5, 0.0), (0.3, 0.97), (0.2, 0.97)], "white", 0.25),
        ),
        ENAMEL,
    ),
    Sketch(
        "oven",
        0.9,
        1.0,
        "floor",
        0.42,
        each(
            body(rectangle(0.0, 0.06, 0.9, 0.98)),
            body(rectangle(0.0, 0.04, 0.9, 0.1), "dark"),
            [body(ellipse(x, 0.035, 0.14, 0.03), "dark", 1.7) for x in (0.22, 0.68)],
            _knobs(0.18, 0.045, 0.12, 0.28, 0.62, 0.78),
            detail(rectangle(0.38, 0.14, 0.52, 0.22), "green"),
            detail(rectangle(0.06, 0.28, 0.84, 0.9), "main", 0.88),
            detail(rectangle(0.14, 0.42, 0.76, 0.78), "dark"),
            detail(rectangle(0.18, 0.62, 0.72, 0.74), "crust", 0.8),
            scratch([(0.14, 0.34), (0.76, 0.34)], 0.04, "metal", 0.8),
            glaze([(0.2, 0.78), (0.36, 0.42), (0.48, 0.42), (0.32, 0.78)], "white", 0.2),
        ),
        ENAMEL,
    ),
    Sketch(
        "microwave",
        1.0,
        0.6,
        "table",
        0.3,
        each(
            body(rectangle(0.0, 0.02, 1.0, 0.58)),
            detail(rectangle(0.05, 0.09, 0.68, 0.51), "dark"),
            detail(ellipse(0.36, 0.4, 0.2, 0.05), "yellow", 0.7),
            detail(rectangle(0.76, 0.08, 0.95, 0.18), "green"),
            [
                detail(rectangle(x, y, x + 0.05, y + 0.05), "dark", 1.8)
                for x in (0.76, 0.83, 0.9)
                for y in (0.24, 0.33, 0.42)
            ],
            scratch([(0.71, 0.1), (0.71, 0.5)], 0.025, "metal", 0.8),
            glaze([(0.12, 0.5), (0.24, 0.1), (0.36, 0.1), (0.24, 0.5)], "white", 0.25),
        ),
        ENAMEL,
    ),
    Sketch(
        "toaster",
        1.0,
        0.8,
        "table",
        0.22,
        each(
            [
                soft([(x, 0.0), (x + 0.28, 0.0), (x + 0.28, 0.34), (x, 0.34)], "crust")
                for x in (0.18, 0.5)
            ],
            soft([(0.02, 0.2), (0.94, 0.2), (0.96, 0.78), (0.0, 0.78)]),
            body(rectangle(0.04, 0.72, 0.92, 0.8), "dark"),
            detail(rectangle(0.14, 0.24, 0.82, 0.29), "dark"),
            body(rectangle(0.9, 0.38, 1.0, 0.46), "dark"),
            _knobs(0.6, 0.05, 0.78),
            glaze([(0.12, 0.7), (0.12, 0.34), (0.24, 0.34), (0.24, 0.7)], "white", 0.5),
        ),
        ((190, 194, 200), (196, 60, 52), (110, 160, 170), (60, 60, 66)),
    ),
    Sketch(
        "teddy bear",
        0.84,
        1.0,
        "floor",
        0.26,
        each(
            disc(0.2, 0.12, 0.11),
            disc(0.64, 0.12, 0.11),
            detail(ellipse(0.2, 0.12, 0.055), "cream"),
            detail(ellipse(0.64, 0.12, 0.055), "cream"),
            body(limb(0.22, 0.52, 0.08, 0.66, 0.17)),
            body(limb(0.62, 0.52, 0.76, 0.66, 0.17)),
            body(ellipse(0.42, 0.68, 0.27, 0.28)),
            detail(ellipse(0.42, 0.7, 0.15, 0.17), "cream"),
            disc(0.19, 0.88, 0.12),
            disc(0.65, 0.88, 0.12),
            detail(ellipse(0.19, 0.88, 0.06), "cream"),
            detail(ellipse(0.65, 0.88, 0.06), "cream"),
            body(ellipse(0.42, 0.28, 0.27, 0.23)),
            detail(ellipse(0.42, 0.35, 0.12, 0.09), "cream"),
            _knobs(0.24, 0.03, 0.31, 0.53),
            detail(ellipse(0.42, 0.31, 0.04, 0.03), "dark"),
            detail([(0.3, 0.5), (0.54, 0.58), (0.54, 0.5), (0.3, 0.58)], "red"),
        ),
        ((176, 120, 68), (206, 160, 104), (136, 88, 52), (214, 190, 160)),
    ),
    Sketch(
        "hair drier",
        1.0,
        0.84,
        "table",
        0.2,
        each(
            body(limb(0.44, 0.36, 0.36, 0.76, 0.18, 0.15), "main", 0.85),
            soft(
                [(0.12, 0.04), (0.6, 0.06), (0.72, 0.14), (0.72, 0.36), (0.6, 0.42), (0.12, 0.46)]
            ),
            body([(0.7, 0.12), (1.0, 0.07), (1.0, 0.42), (0.7, 0.38)], "dark", 1.4),
            disc(0.19, 0.25, 0.19, "dark", 1.4),
            detail(ellipse(0.19, 0.25, 0.11), "metal", 0.8),
            detail(rectangle(0.38, 0.5, 0.44, 0.6), "accent"),
        ),
    ),
    Sketch(
        "toothbrush",
        0.24,
        1.0,
        "table",
        0.24,
        each(
            body(limb(0.07, 0.05, 0.07, 0.95, 0.06, 0.1)),
            [
                body(
                    rectangle(0.09, 0.02 + 0.05 * n, 0.24, 0.06 + 0.05 * n),
                    ("white", "accent")[n % 2],
                    flat=True,
                )
                for n in range(5)
            ],
            scratch([(0.07, 0.55), (0.07, 0.9)], 0.04, "accent"),
        ),
    ),
)
