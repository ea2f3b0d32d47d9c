"""What one eats and drinks from."""

from __future__ import annotations

from pasta.datasets.drawn.canvas import ellipse, limb, rectangle
from pasta.datasets.drawn.objects_kit import (
    Mark,
    Sketch,
    around,
    body,
    crumbs,
    detail,
    each,
    glaze,
    line,
    scratch,
    soft,
)

_STEEL = ((186, 190, 198), (204, 206, 210), (214, 190, 120))


def _handle(width: float, top: float) -> tuple[Mark, ...]:
    """The lower half of a piece of cutlery."""
    middle = width / 2
    return (
        body(limb(middle, top, middle, 0.95, 0.06, 0.09)),
        scratch([(middle - 0.01, top + 0.12), (middle - 0.01, 0.9)], 0.015, "white"),
    )


TABLEWARE: tuple[Sketch, ...] = (
    Sketch(
        "bottle",
        0.32,
        1.0,
        "table",
        0.24,
        each(
            soft(
                [
                    (0.11, 0.05),
                    (0.21, 0.05),
                    (0.21, 0.32),
                    (0.31, 0.45),
                    (0.31, 0.99),
                    (0.01, 0.99),
                    (0.01, 0.45),
                    (0.11, 0.32),
                ]
            ),
            body(rectangle(0.1, 0.0, 0.22, 0.09), "accent", flat=True),
            detail(rectangle(0.02, 0.58, 0.3, 0.82), "cream"),
            detail(rectangle(0.02, 0.64, 0.3, 0.7), "accent"),
            glaze(rectangle(0.06, 0.45, 0.1, 0.95), "white", 0.5),
        ),
        ((40, 92, 60), (92, 52, 34), (60, 116, 160), (130, 30, 44), (196, 214, 200)),
    ),
    Sketch(
        "wine glass",
        0.48,
        1.0,
        "table",
        0.24,
        each(
            body(ellipse(0.24, 0.95, 0.18, 0.045), "glass", 1.1),
            line([(0.24, 0.5), (0.24, 0.94)], 0.045, "glass", 1.15),
            soft(
                [(0.04, 0.02), (0.44, 0.02), (0.5, 0.34), (0.3, 0.56), (0.18, 0.56), (-0.02, 0.34)],
                "glass",
                1.15,
            ),
            detail(
                [(0.05, 0.24), (0.43, 0.24), (0.42, 0.36), (0.31, 0.5), (0.17, 0.5), (0.06, 0.36)],
                "main",
            ),
            detail(ellipse(0.24, 0.24, 0.19, 0.035), "main", 1.25),
            detail(ellipse(0.24, 0.05, 0.17, 0.025), "white"),
            glaze(rectangle(0.1, 0.1, 0.15, 0.42), "white", 0.6),
        ),
        ((142, 22, 44), (160, 40, 60), (232, 206, 110), (232, 140, 130)),
    ),
    Sketch(
        "cup",
        1.0,
        0.86,
        "table",
        0.15,
        each(
            line(ellipse(0.78, 0.42, 0.17, 0.2), 0.075, "main", 0.85),
            soft([(0.04, 0.04), (0.78, 0.04), (0.76, 0.6), (0.62, 0.86), (0.2, 0.86), (0.06, 0.6)]),
            body(ellipse(0.41, 0.1, 0.37, 0.1), "main", 1.15, flat=True),
            detail(ellipse(0.41, 0.12, 0.31, 0.07), "dark", 1.7),
            detail(rectangle(0.07, 0.46, 0.75, 0.54), "accent"),
        ),
    ),
    Sketch(
        "fork",
        0.24,
        1.0,
        "table",
        0.2,
        each(
            _handle(0.24, 0.45),
            [line([(x, 0.02), (x, 0.26)], 0.034) for x in (0.035, 0.09, 0.15, 0.205)],
            soft([(0.01, 0.2), (0.23, 0.2), (0.24, 0.34), (0.15, 0.46), (0.09, 0.46), (0.0, 0.34)]),
        ),
        _STEEL,
    ),
    Sketch(
        "knife",
        0.2,
        1.0,
        "table",
        0.2,
        each(
            body(
                [(0.06, 0.58), (0.05, 0.1), (0.09, 0.01), (0.15, 0.12), (0.17, 0.58)], "metal", 1.12
            ),
            scratch([(0.075, 0.1), (0.08, 0.56)], 0.015, "white"),
            body(limb(0.11, 0.6, 0.11, 0.93, 0.1, 0.13), "accent", 0.7),
            detail(ellipse(0.11, 0.7, 0.018), "metal"),
            detail(ellipse(0.11, 0.85, 0.018), "metal"),
        ),
    ),
    Sketch(
        "spoon",
        0.26,
        1.0,
        "table",
        0.2,
        each(
            _handle(0.26, 0.36),
            body(ellipse(0.13, 0.2, 0.125, 0.19)),
            detail(ellipse(0.14, 0.21, 0.075, 0.13), "main", 0.78),
        ),
        _STEEL,
    ),
    Sketch(
        "bowl",
        1.0,
        0.55,
        "table",
        0.2,
        each(
            soft([(0.0, 0.1), (1.0, 0.1), (0.94, 0.36), (0.68, 0.54), (0.32, 0.54), (0.06, 0.36)]),
            body(ellipse(0.5, 0.13, 0.46, 0.12), "main", 1.15, flat=True),
            detail(ellipse(0.5, 0.14, 0.4, 0.09), "crust"),
            crumbs(around(0.5, 0.14, 0.26, 0.05, 7), 0.045, "green", "red", "yellow"),
            scratch([(0.1, 0.34), (0.5, 0.42), (0.9, 0.34)], 0.035, "accent"),
        ),
    ),
)
