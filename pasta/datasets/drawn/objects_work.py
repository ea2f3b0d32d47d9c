"""What lies on a desk."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import Colour, ellipse, rectangle
from pasta.datasets.drawn.objects_kit import (
    Mark,
    Sketch,
    block,
    body,
    detail,
    disc,
    each,
    glaze,
    line,
    scratch,
    soft,
)

_DEVICES: tuple[Colour, ...] = ((44, 46, 52), (186, 190, 196), (226, 226, 224), (84, 90, 104))
_SCREENS: tuple[Colour, ...] = ((70, 130, 190), (96, 160, 130), (206, 150, 90), (120, 100, 170))


def _keys(x0: float, x1: float, y0: float, y1: float, columns: int, rows: int) -> list[Mark]:
    """Rows of keys in slight perspective."""
    wide, high = (x1 - x0) / columns, (y1 - y0) / rows
    return [
        detail(rectangle(x, y, x + wide * 0.72, y + high * 0.68), "white", 0.9 if row % 2 else 0.8)
        for row in range(rows)
        for y in [y0 + row * high]
        for x in np.linspace(x0, x1 - wide, columns) + 0.1 * wide * row
    ]


def _screen(x0: float, y0: float, x1: float, y1: float) -> list[Mark]:
    """A lit screen with a window or landscape on it."""
    wide, high = x1 - x0, y1 - y0
    return [
        detail(rectangle(x0, y0, x1, y1), "accent"),
        detail(rectangle(x0, y0, x1, y0 + high * 0.14), "accent", 0.7),
        detail(
            rectangle(x0 + wide * 0.08, y0 + high * 0.26, x0 + wide * 0.46, y0 + high * 0.8),
            "white",
        ),
        *(
            scratch(
                [(x0 + wide * 0.54, y0 + high * s), (x0 + wide * 0.9, y0 + high * s)],
                high * 0.06,
                "white",
                0.95,
            )
            for s in (0.32, 0.5, 0.68)
        ),
        glaze([(x1 - wide * 0.3, y0), (x1, y0), (x1, y0 + high * 0.6)], "white", 0.25),
    ]


def _book(x: float, y: float, width: float, paint: str, tone: float) -> tuple[Mark, ...]:
    return (
        body(rectangle(x, y, x + width, y + 0.17), paint, tone),
        detail(rectangle(x + width - 0.05, y + 0.03, x + width, y + 0.14), "cream"),
        detail(rectangle(x + 0.08, y + 0.06, x + width * 0.5, y + 0.11), "yellow"),
    )


def _hand(angle: float, length: float) -> list[tuple[float, float]]:
    return [(0.5, 0.5), (0.5 + length * float(np.sin(angle)), 0.5 - length * float(np.cos(angle)))]


WORK: tuple[Sketch, ...] = (
    Sketch(
        "laptop",
        1.0,
        0.72,
        "table",
        0.34,
        each(
            block(0.12, 0.0, 0.88, 0.52, corner=0.03),
            _screen(0.17, 0.05, 0.83, 0.46),
            body([(0.12, 0.5), (0.88, 0.5), (1.0, 0.68), (0.0, 0.68)], "main", 1.1),
            body(rectangle(0.0, 0.68, 1.0, 0.72), "main", 0.7, flat=True),
            detail([(0.17, 0.52), (0.83, 0.52), (0.88, 0.6), (0.12, 0.6)], "dark", 1.3),
            _keys(0.17, 0.84, 0.525, 0.6, 10, 2),
            detail([(0.42, 0.62), (0.58, 0.62), (0.6, 0.67), (0.4, 0.67)], "main", 0.8),
        ),
        _DEVICES,
        _SCREENS,
    ),
    Sketch(
        "tv",
        1.0,
        0.72,
        "table",
        0.36,
        each(
            body([(0.4, 0.56), (0.6, 0.56), (0.62, 0.68), (0.38, 0.68)], "dark", 1.3),
            body(ellipse(0.5, 0.69, 0.24, 0.03), "dark", 1.5),
            body(rectangle(0.0, 0.0, 1.0, 0.6), "dark", flat=True),
            detail(rectangle(0.04, 0.04, 0.96, 0.54), "accent", 1.1),
            detail(
                [
                    (0.04, 0.54),
                    (0.04, 0.4),
                    (0.3, 0.2),
                    (0.5, 0.38),
                    (0.68, 0.26),
                    (0.96, 0.44),
                    (0.96, 0.54),
                ],
                "green",
                0.9,
            ),
            detail(ellipse(0.76, 0.15, 0.06), "yellow"),
            glaze([(0.04, 0.04), (0.34, 0.04), (0.04, 0.44)], "white", 0.25),
        ),
        _DEVICES,
        _SCREENS,
    ),
    Sketch(
        "keyboard",
        1.0,
        0.38,
        "table",
        0.34,
        each(
            body([(0.06, 0.02), (0.94, 0.02), (1.0, 0.34), (0.0, 0.34)], "dark", 1.25, flat=True),
            body(rectangle(0.0, 0.33, 1.0, 0.38), "dark", 0.8, flat=True),
            _keys(0.08, 0.9, 0.05, 0.26, 9, 3),
            detail(rectangle(0.28, 0.27, 0.68, 0.31), "white", 0.85),
        ),
    ),
    Sketch(
        "mouse",
        0.66,
        1.0,
        "table",
        0.13,
        each(
            line([(0.33, 0.24), (0.36, 0.1), (0.5, 0.03)], 0.05, "dark", 1.4),
            soft(
                [(0.1, 0.16), (0.56, 0.16), (0.68, 0.6), (0.52, 1.02), (0.14, 1.02), (-0.02, 0.6)]
            ),
            scratch([(0.33, 0.2), (0.33, 0.5)], 0.03, "dark"),
            scratch([(0.06, 0.5), (0.6, 0.5)], 0.025, "dark", 1.4),
            detail(ellipse(0.33, 0.34, 0.05, 0.09), "accent"),
        ),
        _DEVICES,
    ),
    Sketch(
        "remote",
        0.34,
        1.0,
        "table",
        0.2,
        each(
            soft([(0.0, -0.02), (0.34, -0.02), (0.34, 1.02), (0.0, 1.02)], "dark", 1.3),
            detail(ellipse(0.09, 0.1, 0.04), "red"),
            detail(ellipse(0.17, 0.28, 0.1), "metal"),
            detail(ellipse(0.17, 0.28, 0.045), "dark"),
            [
                detail(ellipse(x, y, 0.03), "white", 0.9)
                for x in (0.08, 0.17, 0.26)
                for y in (0.5, 0.62, 0.74, 0.86)
            ],
        ),
    ),
    Sketch(
        "cell phone",
        0.5,
        1.0,
        "table",
        0.2,
        each(
            body(rectangle(0.0, 0.0, 0.5, 1.0), "dark", flat=True),
            detail(rectangle(0.04, 0.09, 0.46, 0.87), "accent", 1.1),
            [
                detail(rectangle(x, y, x + 0.08, y + 0.08), paint)
                for x, paint in ((0.08, "white"), (0.21, "yellow"), (0.34, "red"))
                for y in (0.16, 0.3, 0.44)
            ],
            detail(ellipse(0.25, 0.93, 0.035), "metal"),
            glaze([(0.04, 0.87), (0.04, 0.6), (0.46, 0.3), (0.46, 0.87)], "white", 0.2),
        ),
        _DEVICES,
        _SCREENS,
    ),
    Sketch(
        "book",
        1.0,
        0.54,
        "table",
        0.24,
        each(
            _book(0.04, 0.37, 0.92, "main", 1.0),
            _book(0.0, 0.185, 0.84, "accent", 0.9),
            _book(0.12, 0.0, 0.8, "main", 0.7),
        ),
    ),
    Sketch(
        "clock",
        1.0,
        1.0,
        "wall",
        0.2,
        each(
            disc(0.5, 0.5, 0.5),
            detail(ellipse(0.5, 0.5, 0.42), "white"),
            [
                detail(
                    ellipse(0.5 + 0.34 * float(np.sin(t)), 0.5 - 0.34 * float(np.cos(t)), 0.028),
                    "dark",
                )
                for t in np.arange(12) * np.pi / 6
            ],
            scratch(_hand(-0.9, 0.22), 0.06),
            scratch(_hand(1.1, 0.3), 0.04),
            detail(ellipse(0.5, 0.5, 0.04), "red"),
        ),
        ((60, 56, 58), (150, 100, 60), (190, 60, 54), (70, 100, 140), (200, 164, 84)),
    ),
    Sketch(
        "scissors",
        0.6,
        1.0,
        "table",
        0.2,
        each(
            body([(0.3, 0.58), (0.1, 0.02), (0.16, 0.0), (0.37, 0.55)], "metal", 1.1, flat=True),
            body([(0.3, 0.58), (0.5, 0.02), (0.44, 0.0), (0.23, 0.55)], "metal", 0.9, flat=True),
            [
                line(
                    np.concatenate(
                        [ellipse(x, 0.83, 0.11, 0.14), ellipse(x, 0.83, 0.11, 0.14)[:2]]
                    ),
                    0.06,
                )
                for x in (0.15, 0.45)
            ],
            line([(0.27, 0.56), (0.42, 0.7)], 0.06),
            line([(0.33, 0.56), (0.18, 0.7)], 0.06),
            disc(0.3, 0.54, 0.035, "dark"),
        ),
    ),
)
