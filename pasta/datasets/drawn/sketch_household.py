"""Sketches of furniture, household machines and what lies on a desk."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import ellipse, limb, polygon, rectangle
from pasta.datasets.drawn.sketch import (
    ENAMEL,
    Mark,
    at,
    block,
    body,
    closed,
    detail,
    disc,
    dot,
    glaze,
    line,
    on_floor,
    on_table,
    on_wall,
    scratch,
    sketch,
    soft,
)
from pasta.datasets.drawn.surface import palette

LEAF_TIPS = "0.0,0.32 0.76,0.3 0.1,0.08 0.66,0.08 0.38,-0.04 0.02,0.5 0.74,0.52"
_WOODS = palette("98683e 744c2e be9260 e0d6c4")


def _legs(top: float, bottom: float, width: float, *places: float) -> list[Mark]:
    return [body(rectangle(x, top, x + width, bottom), "main", 0.75) for x in places]


def _knobs(y: float, r: float, *places: float) -> list[Mark]:
    return [detail(ellipse(x, y, r), "dark", 1.2) for x in places]


_DEVICES = palette("2c2e34 babec4 e2e2e0 545a68")
_SCREENS = palette("4682be 60a082 ce965a 7864aa")


def _keys(x0: float, x1: float, y0: float, y1: float, columns: int, rows: int) -> list[Mark]:
    """Make rows of keys in slight perspective."""
    wide, high = (x1 - x0) / columns, (y1 - y0) / rows
    return [
        detail(rectangle(x, y, x + wide * 0.72, y + high * 0.68), "white", 0.9 if row % 2 else 0.8)
        for row in range(rows)
        for y in [y0 + row * high]
        for x in np.linspace(x0, x1 - wide, columns) + 0.1 * wide * row
    ]


def _screen(x0: float, y0: float, x1: float, y1: float) -> list[Mark]:
    """Make a lit screen with a window and lines of text."""
    wide, high = x1 - x0, y1 - y0
    text = (high * 0.06, "white", 0.95)
    return [
        detail(rectangle(x0, y0, x1, y1), "accent"),
        detail(rectangle(x0, y0, x1, y0 + high * 0.14), "accent", 0.7),
        detail(rectangle(0.08, 0.26, 0.46, 0.8) * (wide, high) + (x0, y0), "white"),
        *(
            scratch(polygon([(0.54, s), (0.9, s)]) * (wide, high) + (x0, y0), *text)
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


def _on_dial(angle: float, length: float) -> tuple[float, float]:
    return 0.5 + length * float(np.sin(angle)), 0.5 - length * float(np.cos(angle))


HOUSEHOLD = (
    sketch(
        "chair",
        on_floor(0.6, 1.0, 0.34),
        _legs(0.55, 0.92, 0.06, 0.12, 0.46),
        _legs(0.6, 1.0, 0.07, 0.0, 0.53),
        _legs(0.02, 0.58, 0.06, 0.08, 0.48),
        [body(rectangle(0.1, y, 0.52, y + 0.09)) for y in (0.02, 0.18, 0.34)],
        soft("0.06,0.5 0.54,0.5 0.62,0.66 -0.02,0.66", "accent"),
        colours=_WOODS,
    ),
    sketch(
        "couch",
        on_floor(1.0, 0.5, 0.58),
        [body(rectangle(x, 0.44, x + 0.05, 0.5), "wood", 0.7) for x in (0.08, 0.87)],
        soft("0.08,0.02 0.92,0.02 0.94,0.36 0.06,0.36", "main", 0.9),
        scratch([(0.5, 0.04), (0.5, 0.28)], 0.012, "main", 0.6),
        soft("0.12,0.24 0.5,0.24 0.5,0.38 0.12,0.38", "main", 1.1),
        soft("0.5,0.24 0.88,0.24 0.88,0.38 0.5,0.38", "main", 1.1),
        soft("0.1,0.34 0.9,0.34 0.9,0.48 0.1,0.48"),
        soft("0.0,0.16 0.15,0.16 0.15,0.48 0.0,0.48"),
        soft("0.85,0.16 1.0,0.16 1.0,0.48 0.85,0.48"),
        soft("0.2,0.12 0.36,0.08 0.4,0.24 0.22,0.28", "accent"),
    ),
    sketch(
        "bed",
        on_floor(1.0, 0.56, 0.6),
        body(rectangle(0.0, 0.0, 0.06, 0.56), "wood", 0.8),
        body(rectangle(0.94, 0.2, 1.0, 0.56), "wood", 0.8),
        body(rectangle(0.04, 0.4, 0.96, 0.5), "wood"),
        soft("0.04,0.24 0.96,0.24 0.96,0.42 0.04,0.42", "white"),
        soft("0.08,0.12 0.28,0.1 0.3,0.26 0.08,0.28", "white", 1.05),
        soft("0.3,0.18 0.96,0.2 0.98,0.46 0.28,0.46"),
        detail("0.32,0.22 0.42,0.22 0.4,0.44 0.3,0.44", "accent"),
        scratch([(0.56, 0.24), (0.54, 0.44)], 0.01, "main", 0.75),
        scratch([(0.76, 0.24), (0.75, 0.44)], 0.01, "main", 0.75),
    ),
    sketch(
        "dining table",
        on_floor(1.0, 0.54, 0.6),
        _legs(0.1, 0.44, 0.05, 0.18, 0.77),
        _legs(0.14, 0.54, 0.07, 0.05, 0.88),
        body("0.12,0.0 0.88,0.0 1.0,0.15 0.0,0.15", "main", 1.1),
        body(rectangle(0.0, 0.15, 1.0, 0.2), "main", 0.8, flat=True),
        detail("0.42,0.0 0.58,0.0 0.62,0.15 0.38,0.15", "accent", 1.05),
        body("0.38,0.15 0.62,0.15 0.62,0.27 0.5,0.31 0.38,0.27", "accent", 0.9, flat=True),
        [detail(ellipse(x, 0.075, 0.085, 0.032), "white") for x in (0.25, 0.75)],
        [detail(ellipse(x, 0.075, 0.05, 0.018), "white", 0.86) for x in (0.25, 0.75)],
        colours=_WOODS,
    ),
    sketch(
        "toilet",
        on_floor(0.76, 1.0, 0.38),
        soft("0.28,0.6 0.66,0.6 0.58,0.8 0.68,1.02 0.24,1.02 0.34,0.8"),
        soft("0.42,0.1 0.76,0.1 0.76,0.56 0.42,0.56"),
        body(rectangle(0.4, 0.06, 0.76, 0.14), "main", 1.03),
        detail(ellipse(0.5, 0.2, 0.04, 0.02), "metal", 0.8),
        soft("0.0,0.5 0.72,0.5 0.7,0.66 0.52,0.8 0.2,0.78"),
        body(ellipse(0.34, 0.52, 0.33, 0.085), "main", 1.05),
        detail(ellipse(0.33, 0.52, 0.24, 0.05), "glass", 0.8),
        colours=ENAMEL[:3],
    ),
    sketch(
        "sink",
        on_floor(1.0, 0.92, 0.36),
        soft("0.38,0.5 0.62,0.5 0.58,0.7 0.66,0.94 0.34,0.94 0.42,0.7", "main", 0.92),
        line("0.5,0.28 0.5,0.07 0.58,0.05 0.64,0.12 0.64,0.2", 0.06, "metal"),
        at("0.34,0.2 0.78,0.2", disc, 0.055, "metal"),
        soft("0.0,0.26 1.0,0.26 0.92,0.52 0.7,0.64 0.3,0.64 0.08,0.52"),
        body(ellipse(0.5, 0.31, 0.48, 0.09), "main", 1.05),
        detail(ellipse(0.5, 0.32, 0.4, 0.06), "glass", 0.85),
        detail(ellipse(0.5, 0.33, 0.04, 0.014), "dark"),
        colours=ENAMEL[:3],
    ),
    sketch(
        "potted plant",
        on_floor(0.76, 1.0, 0.32),
        [
            soft(
                [(0.38, 0.68), (x * 0.6 + 0.1, y + 0.2), (x, y), (x * 0.6 + 0.2, y + 0.12)],
                "green",
                0.85 + 0.1 * (n % 4),
                flat=True,
            )
            for n, (x, y) in enumerate(polygon(LEAF_TIPS))
        ],
        soft("0.14,0.62 0.62,0.62 0.56,1.02 0.2,1.02"),
        body(rectangle(0.14, 0.6, 0.62, 0.7), "main", 1.08),
        colours=((190, 104, 66), (206, 196, 180), (92, 110, 132), (168, 84, 60)),
    ),
    sketch(
        "vase",
        on_floor(0.6, 1.0, 0.32),
        soft(
            "0.18,0.0 0.42,0.0 0.38,0.2 0.64,0.4 0.6,0.72 0.42,1.02 0.18,1.02 0.0,0.72 -0.04,0.4 "
            "0.22,0.2"
        ),
        detail("0.06,0.44 0.54,0.44 0.56,0.52 0.04,0.52", "accent"),
        [detail(ellipse(x, 0.6, 0.045), "accent", 1.1) for x in (0.12, 0.24, 0.36, 0.48)],
        scratch([(0.08, 0.7), (0.52, 0.7)], 0.025, "accent"),
        body(ellipse(0.3, 0.06, 0.13, 0.035), "main", 1.1),
        detail(ellipse(0.3, 0.06, 0.1, 0.02), "dark"),
        glaze(ellipse(0.18, 0.46, 0.04, 0.14), "white", 0.45),
    ),
    sketch(
        "refrigerator",
        on_floor(0.56, 1.0, 0.52),
        [body(rectangle(x, 0.96, x + 0.08, 1.0), "main", 0.75) for x in (0.04, 0.44)],
        body(rectangle(0.0, 0.0, 0.56, 0.97)),
        scratch([(0.0, 0.36), (0.56, 0.36)], 0.018, "dark", 1.4),
        detail(rectangle(0.06, 0.14, 0.1, 0.3), "dark", 1.8),
        detail(rectangle(0.06, 0.44, 0.1, 0.68), "dark", 1.8),
        detail(rectangle(0.3, 0.1, 0.42, 0.2), "accent"),
        detail(rectangle(0.34, 0.46, 0.46, 0.58), "yellow"),
        dot(0.22, 0.5, 0.03, "red"),
        glaze("0.4,0.0 0.5,0.0 0.3,0.97 0.2,0.97", "white", 0.25),
        colours=ENAMEL,
    ),
    sketch(
        "oven",
        on_floor(0.9, 1.0, 0.42),
        body(rectangle(0.0, 0.06, 0.9, 0.98)),
        body(rectangle(0.0, 0.04, 0.9, 0.1), "dark"),
        [body(ellipse(x, 0.035, 0.14, 0.03), "dark", 1.7) for x in (0.22, 0.68)],
        _knobs(0.18, 0.045, 0.12, 0.28, 0.62, 0.78),
        detail(rectangle(0.38, 0.14, 0.52, 0.22), "green"),
        detail(rectangle(0.06, 0.28, 0.84, 0.9), "main", 0.88),
        detail(rectangle(0.14, 0.42, 0.76, 0.78), "dark"),
        detail(rectangle(0.18, 0.62, 0.72, 0.74), "crust", 0.8),
        scratch([(0.14, 0.34), (0.76, 0.34)], 0.04, "metal", 0.8),
        glaze("0.2,0.78 0.36,0.42 0.48,0.42 0.32,0.78", "white", 0.2),
        colours=ENAMEL,
    ),
    sketch(
        "microwave",
        on_table(1.0, 0.6, 0.3),
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
        glaze("0.12,0.5 0.24,0.1 0.36,0.1 0.24,0.5", "white", 0.25),
        colours=ENAMEL,
    ),
    sketch(
        "toaster",
        on_table(1.0, 0.8, 0.22),
        [soft(polygon("0,0.0 0.28,0.0 0.28,0.34 0,0.34") + (x, 0), "crust") for x in (0.18, 0.5)],
        soft("0.02,0.2 0.94,0.2 0.96,0.78 0.0,0.78"),
        body(rectangle(0.04, 0.72, 0.92, 0.8), "dark"),
        detail(rectangle(0.14, 0.24, 0.82, 0.29), "dark"),
        body(rectangle(0.9, 0.38, 1.0, 0.46), "dark"),
        _knobs(0.6, 0.05, 0.78),
        glaze("0.12,0.7 0.12,0.34 0.24,0.34 0.24,0.7", "white", 0.5),
        colours=((190, 194, 200), (196, 60, 52), (110, 160, 170), (60, 60, 66)),
    ),
    sketch(
        "teddy bear",
        on_floor(0.84, 1.0, 0.26),
        at("0.2,0.12 0.64,0.12", disc, 0.11),
        at("0.2,0.12 0.64,0.12", dot, 0.055, "cream"),
        body(limb(0.22, 0.52, 0.08, 0.66, 0.17)),
        body(limb(0.62, 0.52, 0.76, 0.66, 0.17)),
        body(ellipse(0.42, 0.68, 0.27, 0.28)),
        detail(ellipse(0.42, 0.7, 0.15, 0.17), "cream"),
        at("0.19,0.88 0.65,0.88", disc, 0.12),
        at("0.19,0.88 0.65,0.88", dot, 0.06, "cream"),
        body(ellipse(0.42, 0.28, 0.27, 0.23)),
        detail(ellipse(0.42, 0.35, 0.12, 0.09), "cream"),
        _knobs(0.24, 0.03, 0.31, 0.53),
        detail(ellipse(0.42, 0.31, 0.04, 0.03), "dark"),
        detail("0.3,0.5 0.54,0.58 0.54,0.5 0.3,0.58", "red"),
        colours=((176, 120, 68), (206, 160, 104), (136, 88, 52), (214, 190, 160)),
    ),
    sketch(
        "hair drier",
        on_table(1.0, 0.84, 0.2),
        body(limb(0.44, 0.36, 0.36, 0.76, 0.18, 0.15), "main", 0.85),
        soft("0.12,0.04 0.6,0.06 0.72,0.14 0.72,0.36 0.6,0.42 0.12,0.46"),
        body("0.7,0.12 1.0,0.07 1.0,0.42 0.7,0.38", "dark", 1.4),
        disc(0.19, 0.25, 0.19, "dark", 1.4),
        dot(0.19, 0.25, 0.11, "metal", 0.8),
        detail(rectangle(0.38, 0.5, 0.44, 0.6), "accent"),
    ),
    sketch(
        "toothbrush",
        on_table(0.24, 1.0, 0.24),
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
    sketch(
        "laptop",
        on_table(1.0, 0.72, 0.34),
        block(0.12, 0.0, 0.88, 0.52, corner=0.03),
        _screen(0.17, 0.05, 0.83, 0.46),
        body("0.12,0.5 0.88,0.5 1.0,0.68 0.0,0.68", "main", 1.1),
        body(rectangle(0.0, 0.68, 1.0, 0.72), "main", 0.7, flat=True),
        detail("0.17,0.52 0.83,0.52 0.88,0.6 0.12,0.6", "dark", 1.3),
        _keys(0.17, 0.84, 0.525, 0.6, 10, 2),
        detail("0.42,0.62 0.58,0.62 0.6,0.67 0.4,0.67", "main", 0.8),
        colours=_DEVICES,
        accents=_SCREENS,
    ),
    sketch(
        "tv",
        on_table(1.0, 0.72, 0.36),
        body("0.4,0.56 0.6,0.56 0.62,0.68 0.38,0.68", "dark", 1.3),
        body(ellipse(0.5, 0.69, 0.24, 0.03), "dark", 1.5),
        body(rectangle(0.0, 0.0, 1.0, 0.6), "dark", flat=True),
        detail(rectangle(0.04, 0.04, 0.96, 0.54), "accent", 1.1),
        detail("0.04,0.54 0.04,0.4 0.3,0.2 0.5,0.38 0.68,0.26 0.96,0.44 0.96,0.54", "green", 0.9),
        dot(0.76, 0.15, 0.06, "yellow"),
        glaze("0.04,0.04 0.34,0.04 0.04,0.44", "white", 0.25),
        colours=_DEVICES,
        accents=_SCREENS,
    ),
    sketch(
        "keyboard",
        on_table(1.0, 0.38, 0.34),
        body("0.06,0.02 0.94,0.02 1.0,0.34 0.0,0.34", "dark", 1.25, flat=True),
        body(rectangle(0.0, 0.33, 1.0, 0.38), "dark", 0.8, flat=True),
        _keys(0.08, 0.9, 0.05, 0.26, 9, 3),
        detail(rectangle(0.28, 0.27, 0.68, 0.31), "white", 0.85),
    ),
    sketch(
        "mouse",
        on_table(0.66, 1.0, 0.13),
        line("0.33,0.24 0.36,0.1 0.5,0.03", 0.05, "dark", 1.4),
        soft("0.1,0.16 0.56,0.16 0.68,0.6 0.52,1.02 0.14,1.02 -0.02,0.6"),
        scratch([(0.33, 0.2), (0.33, 0.5)], 0.03, "dark"),
        scratch([(0.06, 0.5), (0.6, 0.5)], 0.025, "dark", 1.4),
        detail(ellipse(0.33, 0.34, 0.05, 0.09), "accent"),
        colours=_DEVICES,
    ),
    sketch(
        "remote",
        on_table(0.34, 1.0, 0.2),
        soft("0.0,-0.02 0.34,-0.02 0.34,1.02 0.0,1.02", "dark", 1.3),
        dot(0.09, 0.1, 0.04, "red"),
        dot(0.17, 0.28, 0.1, "metal"),
        dot(0.17, 0.28, 0.045, "dark"),
        [
            detail(ellipse(x, y, 0.03), "white", 0.9)
            for x in (0.08, 0.17, 0.26)
            for y in (0.5, 0.62, 0.74, 0.86)
        ],
    ),
    sketch(
        "cell phone",
        on_table(0.5, 1.0, 0.2),
        body(rectangle(0.0, 0.0, 0.5, 1.0), "dark", flat=True),
        detail(rectangle(0.04, 0.09, 0.46, 0.87), "accent", 1.1),
        [
            detail(rectangle(x, y, x + 0.08, y + 0.08), paint)
            for x, paint in ((0.08, "white"), (0.21, "yellow"), (0.34, "red"))
            for y in (0.16, 0.3, 0.44)
        ],
        dot(0.25, 0.93, 0.035, "metal"),
        glaze("0.04,0.87 0.04,0.6 0.46,0.3 0.46,0.87", "white", 0.2),
        colours=_DEVICES,
        accents=_SCREENS,
    ),
    sketch(
        "book",
        on_table(1.0, 0.54, 0.24),
        _book(0.04, 0.37, 0.92, "main", 1.0),
        _book(0.0, 0.185, 0.84, "accent", 0.9),
        _book(0.12, 0.0, 0.8, "main", 0.7),
    ),
    sketch(
        "clock",
        on_wall(1.0, 1.0, 0.2),
        disc(0.5, 0.5, 0.5),
        dot(0.5, 0.5, 0.42, "white"),
        [dot(*_on_dial(t, 0.34), 0.028) for t in np.arange(12) * np.pi / 6],
        scratch([(0.5, 0.5), _on_dial(-0.9, 0.22)], 0.06),
        scratch([(0.5, 0.5), _on_dial(1.1, 0.3)], 0.04),
        dot(0.5, 0.5, 0.04, "red"),
        colours=((60, 56, 58), (150, 100, 60), (190, 60, 54), (70, 100, 140), (200, 164, 84)),
    ),
    sketch(
        "scissors",
        on_table(0.6, 1.0, 0.2),
        body("0.3,0.58 0.1,0.02 0.16,0.0 0.37,0.55", "metal", 1.1, flat=True),
        body("0.3,0.58 0.5,0.02 0.44,0.0 0.23,0.55", "metal", 0.9, flat=True),
        [line(closed(ellipse(x, 0.83, 0.11, 0.14)), 0.06) for x in (0.15, 0.45)],
        line([(0.27, 0.56), (0.42, 0.7)], 0.06),
        line([(0.33, 0.56), (0.18, 0.7)], 0.06),
        disc(0.3, 0.54, 0.035, "dark"),
    ),
)
