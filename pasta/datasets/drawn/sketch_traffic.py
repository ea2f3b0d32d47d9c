"""Sketches of vehicles, street furniture and luggage."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import ellipse, limb, rectangle
from pasta.datasets.drawn.sketch import (
    Mark,
    at,
    block,
    body,
    detail,
    disc,
    dot,
    glaze,
    line,
    on_floor,
    scratch,
    sketch,
    soft,
    wheel,
)


def _panes(x0: float, x1: float, y0: float, y1: float, count: int) -> list[Mark]:
    """Make a row of windows, each with a reflection."""
    step = (x1 - x0) / count
    wide, marks = step * 0.8, []
    for x in (x0 + n * step for n in range(count)):
        shine = [(x, y0), (x + wide * 0.6, y0), (x + wide * 0.15, y1), (x, y1)]
        marks.append(detail(rectangle(x, y0, x + wide, y1), "glass", 0.72))
        marks.append(detail(shine, "glass", 1.05))
    return marks


def _spokes(x: float, y: float, r: float) -> list[Mark]:
    """Make an open bicycle wheel."""
    turns = np.arange(4) * np.pi / 4
    spans = [(r * float(np.cos(t)), r * float(np.sin(t))) for t in turns]
    rim = np.concatenate([ellipse(x, y, r), ellipse(x, y, r)[:1]])
    return [
        *(line([(x - a, y - b), (x + a, y + b)], 0.01, "metal") for a, b in spans),
        line(rim, 0.034, "dark"),
        disc(x, y, 0.03, "metal"),
    ]


_EIGHTHS = np.arange(8) * np.pi / 4 + 0.3927
_OCTAGON = 0.5 + 0.5 * np.column_stack([np.cos(_EIGHTHS), np.sin(_EIGHTHS)])


TRAFFIC = (
    sketch(
        "car",
        on_floor(1.0, 0.44, 0.5),
        soft("0.2,0.2 0.32,0.0 0.68,0.0 0.84,0.2", "main", 0.95),
        soft("0.0,0.2 0.2,0.14 0.84,0.15 1.0,0.22 1.0,0.38 0.0,0.38"),
        detail("0.29,0.17 0.37,0.05 0.5,0.05 0.5,0.17", "glass", 0.8),
        detail("0.53,0.17 0.53,0.05 0.64,0.05 0.74,0.17", "glass", 0.8),
        glaze("0.33,0.17 0.42,0.05 0.46,0.05 0.38,0.17"),
        scratch([(0.515, 0.06), (0.515, 0.34)], 0.01, "main", 0.6),
        scratch([(0.04, 0.27), (0.97, 0.27)], 0.012, "main", 0.7),
        detail(ellipse(0.045, 0.245, 0.035, 0.03), "yellow", 1.1),
        detail(rectangle(0.95, 0.22, 0.99, 0.28), "red"),
        at("0.22,0.345 0.77,0.345", wheel, 0.095),
    ),
    sketch(
        "bus",
        on_floor(1.0, 0.56, 0.55),
        block(0.0, 0.0, 1.0, 0.5),
        detail(rectangle(0.0, 0.34, 1.0, 0.39), "white"),
        _panes(0.18, 0.96, 0.08, 0.28, 5),
        detail(rectangle(0.03, 0.06, 0.14, 0.3), "glass", 0.8),
        detail(rectangle(0.04, 0.02, 0.24, 0.055), "dark"),
        scratch([(0.06, 0.038), (0.2, 0.038)], 0.02, "yellow"),
        dot(0.03, 0.43, 0.025, "yellow", 1.1),
        at("0.24,0.475 0.78,0.475", wheel, 0.082),
    ),
    sketch(
        "train",
        on_floor(1.0, 0.62, 0.58),
        body(rectangle(0.0, 0.55, 1.0, 0.62), "dark", 1.4, flat=True),
        soft("0.0,0.5 0.04,0.3 0.18,0.06 0.34,0.03 1.0,0.03 1.0,0.56 0.02,0.56"),
        detail("0.1,0.26 0.2,0.1 0.28,0.1 0.28,0.26", "dark", 1.4),
        detail("0.13,0.25 0.21,0.12 0.24,0.12 0.18,0.25", "glass"),
        detail("0.03,0.36 1.0,0.36 1.0,0.42 0.02,0.43", "accent"),
        _panes(0.36, 0.99, 0.12, 0.27, 4),
        scratch([(0.33, 0.06), (0.33, 0.54)], 0.012, "dark"),
        dot(0.05, 0.47, 0.028, "yellow", 1.1),
        [mark for x in (0.16, 0.27, 0.42, 0.62, 0.73, 0.9) for mark in wheel(x, 0.57, 0.045)],
        colours=((196, 52, 46), (232, 230, 224), (52, 92, 156), (224, 160, 50), (70, 120, 90)),
    ),
    sketch(
        "truck",
        on_floor(1.0, 0.58, 0.55),
        body(rectangle(0.1, 0.42, 0.98, 0.5), "dark", flat=True),
        body(rectangle(0.34, 0.0, 1.0, 0.46), "accent", 1.05),
        scratch([(0.56, 0.02), (0.56, 0.44)], 0.008, "dark"),
        scratch([(0.78, 0.02), (0.78, 0.44)], 0.008, "dark"),
        soft("0.0,0.26 0.06,0.08 0.31,0.06 0.31,0.5 0.0,0.5"),
        detail("0.05,0.25 0.09,0.12 0.25,0.12 0.25,0.25", "glass", 0.85),
        dot(0.03, 0.38, 0.025, "yellow", 1.1),
        at("0.15,0.49 0.66,0.49 0.85,0.49", wheel, 0.085),
    ),
    sketch(
        "airplane",
        on_floor(1.0, 0.5, 0.6),
        body("0.78,0.24 0.9,0.0 0.99,0.0 0.95,0.27", "accent"),
        body("0.5,0.24 0.64,0.06 0.72,0.07 0.66,0.26", "main", 0.75),
        line([(0.2, 0.36), (0.2, 0.46)], 0.02, "dark", 1.5),
        line([(0.55, 0.36), (0.55, 0.46)], 0.02, "dark", 1.5),
        soft("0.0,0.3 0.1,0.2 0.3,0.18 0.8,0.2 0.99,0.22 0.9,0.32 0.7,0.39 0.1,0.39"),
        [detail(ellipse(x, 0.265, 0.014, 0.018), "dark", 1.6) for x in np.arange(0.2, 0.84, 0.062)],
        detail("0.05,0.27 0.1,0.22 0.15,0.22 0.13,0.28", "glass", 0.7),
        body("0.36,0.32 0.52,0.32 0.74,0.48 0.66,0.49", "main", 0.85),
        body(limb(0.44, 0.42, 0.53, 0.42, 0.07), "accent"),
        at("0.2,0.465 0.55,0.465", disc, 0.034, "dark"),
        colours=((236, 236, 236), (206, 214, 222), (240, 226, 190)),
    ),
    sketch(
        "boat",
        on_floor(1.0, 1.0, 0.5),
        line([(0.46, 0.02), (0.46, 0.8)], 0.03, "wood", 0.7),
        body("0.5,0.04 0.92,0.62 0.5,0.68", "white", flat=True),
        detail("0.5,0.2 0.6,0.66 0.5,0.68", "white", 0.88),
        body("0.42,0.12 0.42,0.66 0.1,0.62", "accent", 1.1, flat=True),
        scratch([(0.5, 0.3), (0.66, 0.3)], 0.02, "accent"),
        soft("0.0,0.72 1.0,0.72 0.96,0.84 0.84,1.0 0.18,1.0 0.06,0.86"),
        detail("0.08,0.79 0.93,0.79 0.92,0.83 0.09,0.83", "white"),
    ),
    sketch(
        "bicycle",
        on_floor(1.0, 0.64, 0.5),
        _spokes(0.21, 0.43, 0.19),
        _spokes(0.79, 0.43, 0.19),
        line("0.21,0.43 0.36,0.17 0.68,0.17 0.47,0.44 0.21,0.43", 0.034),
        line([(0.33, 0.1), (0.47, 0.44)], 0.034),
        line([(0.79, 0.43), (0.66, 0.06)], 0.034),
        line("0.6,0.04 0.66,0.04 0.74,0.08", 0.034, "dark"),
        body(limb(0.27, 0.09, 0.39, 0.09, 0.05), "dark", flat=True),
        disc(0.47, 0.44, 0.05, "metal"),
    ),
    sketch(
        "motorcycle",
        on_floor(1.0, 0.66, 0.5),
        at("0.2,0.46 0.8,0.46", wheel, 0.19, hub=0.55),
        line([(0.8, 0.46), (0.66, 0.08)], 0.045, "metal"),
        line([(0.2, 0.46), (0.45, 0.4)], 0.05, "metal", 0.8),
        body(limb(0.14, 0.54, 0.5, 0.52, 0.06), "metal"),
        soft("0.34,0.3 0.64,0.3 0.64,0.54 0.38,0.54", "metal", 0.6),
        soft("0.38,0.2 0.7,0.1 0.74,0.26 0.46,0.34"),
        body(limb(0.14, 0.24, 0.42, 0.26, 0.09), "dark"),
        disc(0.73, 0.15, 0.06, "yellow"),
        line([(0.56, 0.04), (0.68, 0.06)], 0.035, "dark"),
    ),
    sketch(
        "traffic light",
        on_floor(0.42, 1.0, 0.4),
        body(rectangle(0.18, 0.5, 0.24, 1.0), "metal", 0.6),
        soft("0.02,0.0 0.4,0.0 0.4,0.62 0.02,0.62", "dark", 1.2),
        disc(0.21, 0.12, 0.085, "red"),
        disc(0.21, 0.31, 0.085, "yellow"),
        disc(0.21, 0.5, 0.085, "green", 1.4),
    ),
    sketch(
        "stop sign",
        on_floor(0.62, 1.0, 0.42),
        body(rectangle(0.28, 0.5, 0.34, 1.0), "metal", 0.8),
        body(_OCTAGON * 0.62, "white", flat=True),
        body(_OCTAGON * 0.54 + 0.04, "red", flat=True),
        [detail(rectangle(x, 0.24, x + 0.07, 0.38), "white") for x in (0.11, 0.22, 0.33, 0.44)],
        detail(rectangle(0.352, 0.28, 0.377, 0.34), "red"),
        detail(rectangle(0.14, 0.27, 0.18, 0.29), "red"),
        detail(rectangle(0.46, 0.265, 0.49, 0.295), "red"),
        detail(rectangle(0.465, 0.33, 0.51, 0.38), "red"),
        detail(rectangle(0.22, 0.28, 0.24, 0.38), "red"),
        detail(rectangle(0.27, 0.28, 0.29, 0.38), "red"),
        detail(rectangle(0.11, 0.325, 0.15, 0.35), "red"),
        mirrors=False,
    ),
    sketch(
        "parking meter",
        on_floor(0.36, 1.0, 0.4),
        body(rectangle(0.15, 0.36, 0.21, 0.97), "metal", 0.7),
        body(rectangle(0.06, 0.94, 0.3, 1.0), "metal", 0.5),
        soft("0.02,0.16 0.08,-0.02 0.28,-0.02 0.34,0.16 0.32,0.48 0.04,0.48"),
        detail(ellipse(0.18, 0.15, 0.11, 0.09), "white"),
        scratch([(0.18, 0.18), (0.23, 0.1)], 0.02, "red"),
        detail(rectangle(0.13, 0.3, 0.23, 0.36), "dark"),
        colours=((96, 104, 116), (70, 100, 140), (120, 130, 120)),
    ),
    sketch(
        "fire hydrant",
        on_floor(0.66, 1.0, 0.26),
        body(rectangle(0.08, 0.9, 0.58, 1.0), "main", 0.8),
        body(limb(0.08, 0.52, 0.58, 0.52, 0.15), "main", 0.85),
        soft("0.16,0.28 0.5,0.28 0.5,0.95 0.16,0.95"),
        body(ellipse(0.33, 0.25, 0.22, 0.14)),
        body(rectangle(0.08, 0.26, 0.58, 0.33), "main", 0.9),
        body(rectangle(0.28, 0.02, 0.38, 0.14), "main", 0.9),
        disc(0.33, 0.55, 0.09, "metal"),
        colours=((208, 52, 40), (224, 180, 50), (210, 80, 50)),
    ),
    sketch(
        "suitcase",
        on_floor(0.66, 1.0, 0.28),
        line("0.22,0.3 0.22,0.03 0.44,0.03 0.44,0.3", 0.04, "dark", 1.3),
        soft("-0.02,0.24 0.68,0.24 0.68,0.96 -0.02,0.96"),
        [scratch([(x, 0.3), (x, 0.9)], 0.03, "main", 0.78) for x in (0.15, 0.33, 0.51)],
        detail(rectangle(0.23, 0.36, 0.43, 0.44), "accent"),
        at("0.12,0.96 0.54,0.96", disc, 0.04, "dark"),
    ),
    sketch(
        "backpack",
        on_floor(0.8, 1.0, 0.26),
        line("0.28,0.12 0.32,0.03 0.48,0.03 0.52,0.12", 0.05, "dark", 1.4),
        body(limb(0.08, 0.5, 0.08, 0.84, 0.14), "main", 0.75),
        body(limb(0.72, 0.5, 0.72, 0.84, 0.14), "main", 0.75),
        soft("0.1,0.4 0.16,0.08 0.64,0.08 0.7,0.4 0.76,1.0 0.04,1.0"),
        scratch("0.16,0.36 0.4,0.42 0.64,0.36", 0.035, "dark", 1.3),
        soft("0.16,0.56 0.64,0.56 0.66,0.94 0.14,0.94", "accent", 0.95),
        scratch([(0.22, 0.66), (0.58, 0.66)], 0.025, "dark"),
    ),
)
