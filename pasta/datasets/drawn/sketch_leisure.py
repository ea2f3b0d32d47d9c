"""Sketches of people and sports gear."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import Points, ellipse, limb, mirror, polygon, rectangle
from pasta.datasets.drawn.sketch import (
    Mark,
    at,
    body,
    closed,
    detail,
    disc,
    dot,
    line,
    on_floor,
    on_table,
    on_wall,
    scratch,
    sketch,
    soft,
)


def _strings(x: float, y: float, rx: float, ry: float, count: int) -> list[Mark]:
    """Make the net of a racket: lines across an ellipse, both ways."""
    shares = np.linspace(-0.8, 0.8, count)
    reach = np.sqrt(1 - shares**2)
    upright = [
        line([(x + s * rx, y - r * ry), (x + s * rx, y + r * ry)], 0.009, "white")
        for s, r in zip(shares, reach, strict=True)
    ]
    level = [
        line([(x - r * rx, y + s * ry), (x + r * rx, y + s * ry)], 0.009, "white")
        for s, r in zip(shares, reach, strict=True)
    ]
    return upright + level


def _board(x: float, width: float, nose: float) -> Points:
    """Return an upright board with rounded ends; ``nose`` is how pointed the upper one is."""
    right = np.array([(1 - nose, 0.04), (1, 0.26), (1, 0.76), (0.7, 0.97)])
    outline = [(0.0, 0.0), *right, (0.0, 1.0), *mirror(right)[::-1]]
    return np.array(outline) * (width / 2, 1) + (x, 0)


def _ski(x: float) -> tuple[Mark, ...]:
    return (
        soft(polygon("-0.05,0.04 0,-0.02 0.05,0.04 0.045,1.0 -0.045,1.0") + (x, 0)),
        detail(rectangle(x - 0.04, 0.2, x + 0.04, 0.3), "accent"),
        detail(rectangle(x - 0.045, 0.52, x + 0.045, 0.66), "dark"),
    )


_PENTAGON = np.stack([np.sin(np.arange(5) * 1.2566), -np.cos(np.arange(5) * 1.2566)], 1)
_BALL_SPOKES = [((0.5, 0.5) + p * 0.17, (0.5, 0.5) + p * 0.36) for p in _PENTAGON]


LEISURE = (
    sketch(
        "sports ball",
        on_floor(1.0, 1.0, 0.2),
        disc(0.5, 0.5, 0.49),
        detail(_PENTAGON * 0.19 + 0.5, "accent", 0.6),
        [scratch([a, b], 0.025, "dark") for a, b in _BALL_SPOKES],
        [detail(_PENTAGON * (0.11, 0.11) + b, "accent", 0.6) for _, b in _BALL_SPOKES],
        colours=((240, 240, 238), (244, 236, 214), (238, 200, 90)),
        accents=((40, 40, 46), (40, 80, 160), (190, 50, 50)),
    ),
    sketch(
        "tennis racket",
        on_floor(0.5, 1.0, 0.42),
        _strings(0.25, 0.28, 0.2, 0.25, 6),
        line(closed(ellipse(0.25, 0.28, 0.22, 0.26)), 0.045),
        line("0.16,0.5 0.25,0.66 0.34,0.5", 0.04, "main", 0.85),
        body(limb(0.25, 0.64, 0.25, 0.95, 0.05, 0.08), "dark", 1.2),
        scratch([(0.21, 0.76), (0.29, 0.74)], 0.015, "accent"),
        scratch([(0.21, 0.84), (0.29, 0.82)], 0.015, "accent"),
    ),
    sketch(
        "baseball bat",
        on_floor(0.2, 1.0, 0.42),
        body(limb(0.1, 0.08, 0.1, 0.5, 0.16, 0.12)),
        body(limb(0.1, 0.5, 0.1, 0.94, 0.12, 0.05)),
        body(limb(0.1, 0.7, 0.1, 0.92, 0.065), "accent", 0.7),
        body(ellipse(0.1, 0.96, 0.075, 0.035)),
        scratch([(0.07, 0.1), (0.08, 0.5)], 0.02, "main", 1.2),
        colours=((206, 158, 98), (178, 120, 70), (70, 66, 68), (190, 60, 50)),
    ),
    sketch(
        "baseball glove",
        on_floor(1.0, 0.98, 0.2),
        [
            body(limb(0.5, 0.6, x, y, 0.3, 0.19))
            for x, y in ((0.24, 0.14), (0.44, 0.1), (0.64, 0.12), (0.82, 0.24))
        ],
        body(limb(0.4, 0.78, 0.11, 0.5, 0.3, 0.18)),
        soft("0.16,0.52 0.86,0.4 0.92,0.8 0.7,1.02 0.3,1.02"),
        detail(ellipse(0.5, 0.62, 0.24, 0.18), "main", 0.66),
        disc(0.5, 0.56, 0.15, "white"),
        scratch("0.42,0.46 0.46,0.56 0.42,0.66", 0.02, "red"),
        scratch([(0.14, 0.4), (0.3, 0.34)], 0.03, "cream", 0.8),
        colours=((156, 92, 46), (128, 72, 40), (190, 124, 66)),
    ),
    sketch(
        "skis",
        on_floor(0.44, 1.0, 0.48),
        _ski(0.12),
        _ski(0.3),
        line([(0.03, 0.2), (0.03, 0.98)], 0.014, "metal"),
        line([(0.41, 0.2), (0.41, 0.98)], 0.014, "metal"),
        body(limb(0.03, 0.16, 0.03, 0.25, 0.035), "dark"),
        body(limb(0.41, 0.16, 0.41, 0.25, 0.035), "dark"),
        at("0.03,0.92 0.41,0.92", disc, 0.03, "dark"),
    ),
    sketch(
        "snowboard",
        on_floor(0.32, 1.0, 0.46),
        soft(_board(0.16, 0.32, 0.2)),
        detail(ellipse(0.16, 0.5, 0.11, 0.12), "accent"),
        detail("0.04,0.9 0.28,0.8 0.28,0.86 0.06,0.96", "accent"),
        detail("0.04,0.2 0.28,0.1 0.27,0.16 0.04,0.26", "accent"),
        [detail(rectangle(0.07, y, 0.25, y + 0.09), "dark") for y in (0.28, 0.64)],
        [scratch([(0.08, y), (0.24, y)], 0.02, "metal") for y in (0.325, 0.685)],
    ),
    sketch(
        "surfboard",
        on_floor(0.3, 1.0, 0.52),
        soft(_board(0.15, 0.32, 0.75)),
        scratch([(0.15, 0.06), (0.15, 0.95)], 0.016, "white"),
        detail("0.01,0.4 0.29,0.3 0.29,0.4 0.01,0.5", "accent"),
        detail("0.01,0.55 0.29,0.45 0.29,0.49 0.01,0.59", "white"),
        detail("0.12,0.84 0.18,0.84 0.15,0.94", "dark"),
    ),
    sketch(
        "skateboard",
        on_floor(1.0, 0.3, 0.4),
        line("0.02,0.03 0.12,0.13 0.88,0.13 0.98,0.03", 0.07),
        scratch("0.03,0.02 0.13,0.11 0.87,0.11 0.97,0.02", 0.02, "dark"),
        body(rectangle(0.18, 0.15, 0.3, 0.2), "metal"),
        body(rectangle(0.7, 0.15, 0.82, 0.2), "metal"),
        [disc(x, 0.225, 0.07, "accent") for x in (0.19, 0.3, 0.7, 0.81)],
        [detail(ellipse(x, 0.225, 0.025), "white") for x in (0.19, 0.3, 0.7, 0.81)],
    ),
    sketch(
        "frisbee",
        on_table(1.0, 0.4, 0.18),
        body(ellipse(0.5, 0.23, 0.5, 0.17), "main", 0.75),
        body(ellipse(0.5, 0.17, 0.49, 0.17)),
        scratch(closed(ellipse(0.5, 0.17, 0.34, 0.105)), 0.02, "main", 0.75),
        detail(ellipse(0.5, 0.17, 0.17, 0.05), "accent"),
    ),
    sketch(
        "kite",
        on_wall(0.7, 1.0, 0.36),
        line("0.32,0.6 0.4,0.7 0.3,0.8 0.42,0.9 0.34,0.99", 0.016, "white"),
        [
            body(polygon("-0.06,-0.04 0.06,0.04 0.06,-0.04 -0.06,0.04") + (x, y), "accent")
            for x, y in ((0.39, 0.7), (0.33, 0.8), (0.41, 0.9))
        ],
        body("0.35,0.0 0.7,0.24 0.33,0.64 0.0,0.22", flat=True),
        detail("0.35,0.0 0.7,0.24 0.345,0.23", "accent"),
        detail("0.345,0.23 0.33,0.64 0.0,0.22", "accent", 0.85),
        scratch([(0.35, 0.0), (0.33, 0.64)], 0.014, "dark"),
        scratch([(0.0, 0.22), (0.7, 0.24)], 0.014, "dark"),
    ),
    sketch(
        "bench",
        on_floor(1.0, 0.52, 0.46),
        [body(rectangle(x, 0.1, x + 0.05, 0.52), "dark", 1.3) for x in (0.1, 0.85)],
        [body(rectangle(x, 0.34, x + 0.05, 0.5), "dark", 1.1) for x in (0.02, 0.93)],
        [body(rectangle(0.02, y, 0.98, y + 0.075)) for y in (0.0, 0.1)],
        body("0.04,0.27 0.96,0.27 1.0,0.36 0.0,0.36", "main", 1.05),
        scratch([(0.02, 0.315), (0.98, 0.315)], 0.01, "dark"),
        colours=((158, 106, 62), (126, 84, 52), (96, 128, 96), (180, 140, 96)),
    ),
    sketch(
        "umbrella",
        on_floor(1.0, 0.96, 0.36),
        line("0.5,0.1 0.5,0.84 0.54,0.93 0.62,0.9 0.62,0.84", 0.034, "wood", 0.7),
        body(
            "0.0,0.48 0.06,0.26 0.22,0.1 0.5,0.03 0.78,0.1 0.94,0.26 1.0,0.48 0.86,0.42 0.74,0.47 "
            "0.62,0.42 0.5,0.47 0.38,0.42 0.26,0.47 0.14,0.42",
            flat=True,
        ),
        detail(
            "0.26,0.47 0.32,0.22 0.5,0.04 0.68,0.22 0.74,0.47 0.62,0.42 0.5,0.47 0.38,0.42",
            "accent",
        ),
        scratch([(0.5, 0.04), (0.5, 0.46)], 0.012, "dark"),
        line([(0.5, 0.0), (0.5, 0.05)], 0.03, "dark"),
    ),
    sketch(
        "person",
        on_floor(0.4, 1.0, 0.5),
        body(limb(0.15, 0.52, 0.13, 0.93, 0.13, 0.09), "accent", 0.6),
        body(limb(0.25, 0.52, 0.27, 0.93, 0.13, 0.09), "accent", 0.65),
        body(limb(0.08, 0.965, 0.15, 0.965, 0.06), "dark", flat=True),
        body(limb(0.23, 0.965, 0.31, 0.965, 0.06), "dark", flat=True),
        body(limb(0.07, 0.26, 0.045, 0.5, 0.08, 0.06), "main", 0.85),
        body(limb(0.33, 0.26, 0.355, 0.5, 0.08, 0.06), "main", 0.85),
        at("0.045,0.53 0.355,0.53", disc, 0.034, "skin"),
        body(rectangle(0.165, 0.13, 0.235, 0.22), "skin", 0.85),
        soft("0.03,0.19 0.37,0.19 0.32,0.42 0.32,0.58 0.08,0.58 0.08,0.42"),
        body(ellipse(0.2, 0.07, 0.08, 0.07), "hair", flat=True),
        body(ellipse(0.2, 0.095, 0.068, 0.08), "skin"),
        detail("0.13,0.08 0.14,0.03 0.26,0.03 0.27,0.08 0.2,0.06", "hair"),
        at("0.175,0.1 0.225,0.1", dot, 0.01, "dark"),
        scratch([(0.18, 0.14), (0.22, 0.14)], 0.01, "red", 0.8),
    ),
    sketch(
        "handbag",
        on_floor(0.92, 1.0, 0.2),
        line("0.22,0.5 0.24,0.16 0.38,0.04 0.54,0.04 0.68,0.16 0.7,0.5", 0.055, "main", 0.7),
        soft("0.08,0.4 0.84,0.4 0.96,1.02 -0.04,1.02"),
        soft("0.1,0.4 0.82,0.4 0.74,0.68 0.18,0.68", "main", 0.85),
        disc(0.46, 0.66, 0.06, "yellow"),
        scratch([(0.08, 0.9), (0.84, 0.9)], 0.02, "main", 0.7),
    ),
    sketch(
        "tie",
        on_wall(0.34, 1.0, 0.34),
        body("0.12,0.14 0.22,0.14 0.34,0.82 0.17,1.0 0.0,0.82"),
        [
            detail(
                polygon("0.11,0.26 0.23,0.2 0.235,0.25 0.1,0.31")
                + n * polygon("-0.02,0.15 0.02,0.15 0.02,0.15 -0.02,0.15"),
                "accent",
            )
            for n in range(4)
        ],
        body("0.07,0.0 0.27,0.0 0.23,0.16 0.11,0.16", "main", 0.85),
    ),
)
