"""A building without a style: its proportions, materials, walls, roof, steps and balcony.

All of it is drawn from one distribution, whatever the label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pasta.datasets.drawn.canvas import Canvas, Colour, ellipse, rectangle, shade
from pasta.datasets.drawn.facades import BLACK, Bay, Stone, column
from pasta.datasets.drawn.surface import chance, mixed, random_colour, texture

STONES: tuple[Colour, ...] = (
    (214, 190, 150),
    (196, 176, 156),
    (222, 208, 186),
    (188, 150, 118),
    (176, 168, 160),
    (202, 164, 128),
    (226, 196, 168),
    (168, 122, 98),
)
DOORS: tuple[Colour, ...] = ((98, 64, 42), (72, 56, 46), (66, 88, 74), (120, 60, 48))


ROOFS: tuple[Colour, ...] = ((150, 84, 62), (96, 102, 112), (128, 108, 88))


@dataclass(frozen=True)
class Plan:
    """The building before anybody decides on its style."""

    ground: float
    storey: float  # the cornice between the storeys
    roof: float
    left: float
    right: float
    portal: Bay
    sides: tuple[Bay, ...]
    upper: Bay
    upper_sides: tuple[Bay, ...]
    plain_sides: bool  # the plan decides on plain windows, lest their number tell the style
    plain_upper_sides: bool
    columns: bool
    balcony: bool
    steps: int


def draw_plan(rng: np.random.Generator) -> Plan:
    """Choose the proportions of a building."""
    ground, roof = float(rng.uniform(0.86, 0.92)), float(rng.uniform(0.17, 0.24))
    storey = ground - float(rng.uniform(0.43, 0.48))
    left, right = float(rng.uniform(0.0, 0.07)), float(rng.uniform(0.93, 1.0))
    x, half = float(rng.uniform(0.47, 0.53)), float(rng.uniform(0.11, 0.145))
    room = storey - roof
    side, height = float(rng.uniform(0.06, 0.072)), float(rng.uniform(0.17, 0.21))
    places = ((left + x - 1.4 * half) / 2 - 0.005, (right + x + 1.4 * half) / 2 + 0.005)
    return Plan(
        ground,
        storey,
        roof,
        left,
        right,
        portal=Bay(x, ground, half, float(rng.uniform(0.3, 0.335)), door=chance(rng, 0.6)),
        sides=tuple(Bay(place, ground - 0.1, side, height) for place in places),
        upper=Bay(x, storey - 0.035, float(rng.uniform(0.09, 0.11)), room * 0.74),
        upper_sides=tuple(Bay(place, storey - 0.04, side * 0.8, room * 0.58) for place in places),
        plain_sides=chance(rng, 0.5),
        plain_upper_sides=chance(rng, 0.6),
        columns=chance(rng, 0.5),
        balcony=chance(rng, 0.4),
        steps=int(rng.integers(0, 4)),
    )


def draw_stone(canvas: Canvas, rng: np.random.Generator, hint: Colour, bias: float) -> Stone:
    """Choose the materials of a building; ``bias`` pulls the stone towards a hint."""
    colour = mixed(random_colour(rng, STONES), hint, bias)
    trim = mixed(colour, random_colour(rng, STONES), 0.5)
    return Stone(
        wall=texture(rng, canvas.pixels, shade(colour, 1.04), contrast=0.24, cells=9, grain=0.035),
        colour=colour,
        trim=shade(trim, 1.14),
        second=shade(random_colour(rng, STONES), float(rng.uniform(0.65, 1.0))),
        gloom=random_colour(rng, ((40, 36, 44), (52, 44, 40), (34, 44, 56))),
        door=random_colour(rng, DOORS),
        lobes=int(rng.choice([5, 7])),
        wedges=int(rng.choice([9, 11, 13])),
        spokes=int(rng.choice([4, 6, 8])),
    )


def draw_walls(canvas: Canvas, rng: np.random.Generator, plan: Plan, stone: Stone) -> None:
    _crown(canvas, rng, plan, stone)
    canvas.fill(rectangle(plan.left, plan.roof, plan.right, plan.ground), stone.wall)
    _masonry(canvas, rng, plan, stone)
    if plan.columns:  # straight ones, so that not every column is a twisted one
        for x in (plan.left + 0.03, plan.right - 0.03):
            shaft = Bay(x, plan.ground, 0.028, plan.ground - plan.roof)
            column(canvas, shaft, stone, twisted=False)
    for y, reach in ((plan.storey, 0.01), (plan.roof, 0.025)):
        canvas.tint(rectangle(plan.left, y, plan.right, y + 0.05), BLACK, 0.3)
        canvas.fill(
            rectangle(plan.left - reach, y - 0.02, plan.right + reach, y + 0.012),
            shade(stone.trim, 1.05),
        )
        canvas.decorate(
            rectangle(plan.left - reach, y, plan.right + reach, y + 0.012), shade(stone.trim, 0.76)
        )
    canvas.fill(
        rectangle(plan.left, plan.ground - 0.05, plan.right, plan.ground), shade(stone.trim, 0.82)
    )
    for step in range(plan.steps):
        x, half, y = plan.portal.x, plan.portal.half * (1.9 - 0.15 * step), plan.ground
        tread = rectangle(x - half, y + 0.012 * (2 - step), x + half, y + 0.012 * (3 - step))
        canvas.fill(tread, shade(stone.trim, 0.78 + 0.1 * step))


def _crown(canvas: Canvas, rng: np.random.Generator, plan: Plan, stone: Stone) -> None:
    """What rises above the cornice: nothing, a tiled roof, a tower, a dome or a balustrade."""
    kind, tiles = int(rng.integers(5)), random_colour(rng, ROOFS)
    left, right, y = plan.left, plan.right, plan.roof
    if kind == 1:
        slope = [
            (left - 0.03, y),
            (left + 0.1, y - 0.09),
            (right - 0.1, y - 0.09),
            (right + 0.03, y),
        ]
        canvas.fill(slope, tiles)
        for share in np.linspace(0.02, 0.98, 14):
            foot, ridge = left + (right - left) * share, left + 0.1 + (right - left - 0.2) * share
            canvas.stroke([(foot, y), (ridge, y - 0.09)], shade(tiles, 0.8), 0.008)
    elif kind == 2:
        x = float(rng.choice([left + 0.14, right - 0.14]))
        canvas.fill(rectangle(x - 0.1, y - 0.24, x + 0.1, y), shade(stone.colour, 0.9))
        canvas.decorate(rectangle(x + 0.03, y - 0.24, x + 0.1, y), shade(stone.colour, 0.75))
        canvas.decorate(rectangle(x - 0.035, y - 0.17, x + 0.02, y - 0.07), stone.gloom)
        canvas.fill([(x - 0.12, y - 0.24), (x, y - 0.36), (x + 0.12, y - 0.24)], tiles)
    elif kind == 3:
        x = (left + right) / 2
        canvas.fill(rectangle(x - 0.17, y - 0.05, x + 0.17, y), shade(stone.colour, 0.9))
        canvas.fill(ellipse(x, y - 0.04, 0.17, 0.13), shade(tiles, 0.9))
        canvas.decorate(ellipse(x - 0.04, y - 0.06, 0.09, 0.1), shade(tiles, 1.1))
        canvas.fill(rectangle(x - 0.17, y - 0.05, x + 0.17, y), stone.colour)
    elif kind == 4:
        for x in np.linspace(left + 0.02, right - 0.02, 18):
            canvas.fill(rectangle(x - 0.012, y - 0.055, x + 0.012, y), shade(stone.trim, 0.95))
        canvas.fill(rectangle(left, y - 0.065, right, y - 0.045), stone.trim)


def _masonry(canvas: Canvas, rng: np.random.Generator, plan: Plan, stone: Stone) -> None:
    """Courses of ashlar or brick, or none for stucco."""
    kind = int(rng.integers(3))
    if kind == 0:
        return
    course = (0.0, 0.05, 0.03)[kind]
    joint = shade(stone.colour, 0.8)
    for row, y in enumerate(np.arange(plan.roof, plan.ground, course)):
        canvas.stroke([(plan.left, y), (plan.right, y)], joint, 0.004)
        for x in np.arange(plan.left + course * (1 + row % 2), plan.right, course * 3.2):
            canvas.stroke([(x, y), (x, y + course)], joint, 0.004)


def draw_balcony(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    left, right, y = bay.x - bay.half * 1.4, bay.x + bay.half * 1.4, bay.base
    canvas.fill(rectangle(left, y, right, y + 0.014), shade(stone.trim, 1.1))
    for x in np.linspace(left, right, 9):
        canvas.stroke([(x, y), (x, y - 0.035)], (50, 48, 52), 0.006, None)
    canvas.stroke([(left, y - 0.035), (right, y - 0.035)], (50, 48, 52), 0.008, None)
