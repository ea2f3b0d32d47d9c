"""Sketches of food and tableware."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import Points, ellipse, limb, rectangle
from pasta.datasets.drawn.sketch import (
    Mark,
    around,
    at,
    body,
    crumbs,
    detail,
    disc,
    dot,
    glaze,
    line,
    on_table,
    scratch,
    sketch,
    soft,
)


def _crescent(x: float, y: float, outer: float, thickness: float) -> Points:
    """Return a banana: two arcs that meet in points."""
    turns = np.linspace(0.12 * np.pi, 0.88 * np.pi, 15)
    below = np.stack([x + outer * np.cos(turns), y + outer * np.sin(turns)], 1)
    inner = outer - thickness * np.sin((turns - turns[0]) / (turns[-1] - turns[0]) * np.pi)
    above = np.stack([x + inner * np.cos(turns), y + inner * np.sin(turns)], 1)
    return np.concatenate([below, above[::-1]])


_STEEL = ((186, 190, 198), (204, 206, 210), (214, 190, 120))


def _handle(width: float, top: float) -> tuple[Mark, ...]:
    """Make the lower half of a piece of cutlery."""
    middle = width / 2
    return (
        body(limb(middle, top, middle, 0.95, 0.06, 0.09)),
        scratch([(middle - 0.01, top + 0.12), (middle - 0.01, 0.9)], 0.015, "white"),
    )


FOOD = (
    sketch(
        "banana",
        on_table(1.0, 0.6, 0.18),
        body(_crescent(0.5, 0.02, 0.52, 0.26), tone=0.84, flat=True),
        scratch(_crescent(0.5, 0.02, 0.44, 0.0)[3:12], 0.07, "main", 1.05),
        body(limb(0.05, 0.2, 0.05, 0.12, 0.07), "wood", 0.8, flat=True),
        body(limb(0.95, 0.22, 0.96, 0.17, 0.06), "dark", flat=True),
        colours=((244, 208, 66), (232, 214, 90), (206, 204, 70)),
    ),
    sketch(
        "apple",
        on_table(0.96, 1.0, 0.13),
        line([(0.48, 0.28), (0.52, 0.03)], 0.06, "wood", 0.7),
        body(ellipse(0.68, 0.12, 0.17, 0.07, angle=-0.4), "green"),
        soft("0.48,0.27 0.8,0.12 1.02,0.44 0.82,0.96 0.48,0.94 0.14,0.96 -0.06,0.44 0.16,0.12"),
        glaze(ellipse(0.28, 0.42, 0.09, 0.14, angle=0.4), "white", 0.5),
        colours=((198, 36, 40), (214, 70, 50), (120, 172, 56), (220, 180, 70)),
    ),
    sketch(
        "orange",
        on_table(1.0, 1.0, 0.13),
        disc(0.5, 0.52, 0.47),
        crumbs(around(0.52, 0.6, 0.26, 0.2, 9), 0.02, "crust"),
        detail(ellipse(0.5, 0.14, 0.08, 0.04), "green"),
        disc(0.64, 0.08, 0.07, "green"),
        colours=((242, 140, 30), (248, 156, 48), (232, 122, 30)),
    ),
    sketch(
        "broccoli",
        on_table(1.0, 1.0, 0.15),
        soft("0.36,0.5 0.64,0.5 0.62,0.99 0.38,0.99", "green", 1.7),
        at("0.2,0.46 0.8,0.46 0.24,0.26 0.76,0.26 0.5,0.2 0.5,0.46", disc, 0.19),
        crumbs(around(0.5, 0.33, 0.34, 0.2, 11), 0.035, "green"),
        colours=((64, 128, 52), (44, 104, 50), (84, 142, 60)),
    ),
    sketch(
        "carrot",
        on_table(1.0, 0.4, 0.18),
        [
            body(limb(0.76, 0.2, x, y, 0.05, 0.09), "green", 1.1)
            for x, y in ((0.92, 0.06), (0.95, 0.2), (0.92, 0.34))
        ],
        soft("0.0,0.24 0.7,0.04 0.82,0.1 0.82,0.32 0.7,0.38"),
        [scratch([(x, 0.16), (x + 0.02, 0.24)], 0.02, "main", 0.7) for x in (0.3, 0.45, 0.6, 0.7)],
        colours=((238, 124, 36), (228, 108, 44)),
    ),
    sketch(
        "sandwich",
        on_table(1.0, 0.66, 0.22),
        soft("0.02,0.48 0.98,0.48 0.98,0.66 0.02,0.66", "crust", 1.1),
        soft("0.0,0.4 1.0,0.4 0.96,0.54 0.04,0.54", "red"),
        soft("0.04,0.36 0.9,0.36 1.0,0.46 0.7,0.54 0.4,0.46", "yellow"),
        soft(
            "0.0,0.3 0.25,0.36 0.5,0.3 0.75,0.36 1.0,0.3 0.96,0.46 0.6,0.4 0.3,0.46 0.04,0.44",
            "green",
            1.4,
        ),
        soft("0.02,0.34 0.04,0.1 0.3,0.0 0.7,0.0 0.96,0.1 0.98,0.34", "crust"),
        crumbs(around(0.5, 0.13, 0.28, 0.06, 8), 0.02, "cream"),
    ),
    sketch(
        "hot dog",
        on_table(1.0, 0.5, 0.22),
        body(limb(0.2, 0.3, 0.8, 0.3, 0.38), "crust"),
        body(limb(0.11, 0.2, 0.89, 0.2, 0.2)),
        body(limb(0.2, 0.38, 0.8, 0.38, 0.2), "crust", 1.15),
        scratch([(0.12 + 0.076 * n, 0.16 + 0.07 * (n % 2)) for n in range(11)], 0.04, "yellow"),
        colours=((176, 66, 42), (196, 84, 52)),
    ),
    sketch(
        "pizza",
        on_table(1.0, 0.62, 0.3),
        body(ellipse(0.5, 0.34, 0.5, 0.27), "crust", 0.8, flat=True),
        body(ellipse(0.5, 0.29, 0.49, 0.27), "crust", 1.1),
        detail(ellipse(0.5, 0.28, 0.42, 0.215), "red", 0.95),
        detail(ellipse(0.5, 0.28, 0.395, 0.195), "yellow", 1.05),
        [
            detail(ellipse(x, y, 0.072, 0.046), "red", 0.85)
            for x, y in (*around(0.5, 0.28, 0.27, 0.13, 6), (0.5, 0.28))
        ],
        crumbs(around(0.5, 0.28, 0.15, 0.08, 5, 0.9), 0.026, "green"),
        [scratch([(0.5, 0.28), p], 0.012, "crust", 0.8) for p in around(0.5, 0.28, 0.43, 0.22, 8)],
    ),
    sketch(
        "donut",
        on_table(1.0, 0.76, 0.17),
        body(ellipse(0.5, 0.42, 0.49, 0.34), "crust"),
        body(ellipse(0.5, 0.34, 0.46, 0.29)),
        [
            detail(
                limb(x, y, x + 0.04, y + 0.03 * (-1) ** n, 0.03),
                ("white", "yellow", "accent")[n % 3],
            )
            for n, (x, y) in enumerate(around(0.48, 0.33, 0.33, 0.2, 13))
        ],
        detail(ellipse(0.5, 0.34, 0.16, 0.095), "crust", 0.6),
        detail(ellipse(0.5, 0.37, 0.13, 0.06), "dark", 1.4),
        colours=((236, 140, 170), (110, 64, 40), (240, 226, 200), (140, 190, 210)),
    ),
    sketch(
        "cake",
        on_table(1.0, 0.98, 0.3),
        body(ellipse(0.5, 0.88, 0.5, 0.1), "white", 0.9),
        soft("0.08,0.44 0.92,0.44 0.92,0.92 0.08,0.92", "crust", 1.05),
        detail(rectangle(0.1, 0.66, 0.9, 0.72), "cream"),
        body(ellipse(0.5, 0.44, 0.43, 0.12), "main", 1.1),
        [
            body(limb(x, 0.46, x, 0.53 + 0.07 * (n % 2), 0.12))
            for n, x in enumerate((0.13, 0.255, 0.38, 0.5, 0.62, 0.745, 0.87))
        ],
        [
            line([(x, 0.42), (x, 0.18)], 0.045, ("accent", "white")[n % 2])
            for n, x in enumerate((0.28, 0.43, 0.58, 0.73))
        ],
        [body(ellipse(x, 0.1, 0.032, 0.07), "yellow") for x in (0.28, 0.43, 0.58, 0.73)],
        colours=((240, 170, 190), (104, 60, 40), (246, 238, 220), (190, 220, 190)),
    ),
    sketch(
        "bottle",
        on_table(0.32, 1.0, 0.24),
        soft("0.11,0.05 0.21,0.05 0.21,0.32 0.31,0.45 0.31,0.99 0.01,0.99 0.01,0.45 0.11,0.32"),
        body(rectangle(0.1, 0.0, 0.22, 0.09), "accent", flat=True),
        detail(rectangle(0.02, 0.58, 0.3, 0.82), "cream"),
        detail(rectangle(0.02, 0.64, 0.3, 0.7), "accent"),
        glaze(rectangle(0.06, 0.45, 0.1, 0.95), "white", 0.5),
        colours=((40, 92, 60), (92, 52, 34), (60, 116, 160), (130, 30, 44), (196, 214, 200)),
    ),
    sketch(
        "wine glass",
        on_table(0.48, 1.0, 0.24),
        body(ellipse(0.24, 0.95, 0.18, 0.045), "glass", 1.1),
        line([(0.24, 0.5), (0.24, 0.94)], 0.045, "glass", 1.15),
        soft("0.04,0.02 0.44,0.02 0.5,0.34 0.3,0.56 0.18,0.56 -0.02,0.34", "glass", 1.15),
        detail("0.05,0.24 0.43,0.24 0.42,0.36 0.31,0.5 0.17,0.5 0.06,0.36", "main"),
        detail(ellipse(0.24, 0.24, 0.19, 0.035), "main", 1.25),
        detail(ellipse(0.24, 0.05, 0.17, 0.025), "white"),
        glaze(rectangle(0.1, 0.1, 0.15, 0.42), "white", 0.6),
        colours=((142, 22, 44), (160, 40, 60), (232, 206, 110), (232, 140, 130)),
    ),
    sketch(
        "cup",
        on_table(1.0, 0.86, 0.15),
        line(ellipse(0.78, 0.42, 0.17, 0.2), 0.075, "main", 0.85),
        soft("0.04,0.04 0.78,0.04 0.76,0.6 0.62,0.86 0.2,0.86 0.06,0.6"),
        body(ellipse(0.41, 0.1, 0.37, 0.1), "main", 1.15, flat=True),
        detail(ellipse(0.41, 0.12, 0.31, 0.07), "dark", 1.7),
        detail(rectangle(0.07, 0.46, 0.75, 0.54), "accent"),
    ),
    sketch(
        "fork",
        on_table(0.24, 1.0, 0.2),
        _handle(0.24, 0.45),
        [line([(x, 0.02), (x, 0.26)], 0.034) for x in (0.035, 0.09, 0.15, 0.205)],
        soft("0.01,0.2 0.23,0.2 0.24,0.34 0.15,0.46 0.09,0.46 0.0,0.34"),
        colours=_STEEL,
    ),
    sketch(
        "knife",
        on_table(0.2, 1.0, 0.2),
        body("0.06,0.58 0.05,0.1 0.09,0.01 0.15,0.12 0.17,0.58", "metal", 1.12),
        scratch([(0.075, 0.1), (0.08, 0.56)], 0.015, "white"),
        body(limb(0.11, 0.6, 0.11, 0.93, 0.1, 0.13), "accent", 0.7),
        at("0.11,0.7 0.11,0.85", dot, 0.018, "metal"),
    ),
    sketch(
        "spoon",
        on_table(0.26, 1.0, 0.2),
        _handle(0.26, 0.36),
        body(ellipse(0.13, 0.2, 0.125, 0.19)),
        detail(ellipse(0.14, 0.21, 0.075, 0.13), "main", 0.78),
        colours=_STEEL,
    ),
    sketch(
        "bowl",
        on_table(1.0, 0.55, 0.2),
        soft("0.0,0.1 1.0,0.1 0.94,0.36 0.68,0.54 0.32,0.54 0.06,0.36"),
        body(ellipse(0.5, 0.13, 0.46, 0.12), "main", 1.15, flat=True),
        detail(ellipse(0.5, 0.14, 0.4, 0.09), "crust"),
        crumbs(around(0.5, 0.14, 0.26, 0.05, 7), 0.045, "green", "red", "yellow"),
        scratch("0.1,0.34 0.5,0.42 0.9,0.34", 0.035, "accent"),
    ),
)
