"""Arches, pediments, columns and the walls of a monument.

An arch is the line of its intrados from the left springing over the crown to the right one, for
an opening of half-span 1 at the springing, which lies on y = 0; y points down, so crowns are
negative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image

from pasta.datasets.drawn.canvas import (
    Canvas,
    Colour,
    Points,
    Rng,
    chance,
    ellipse,
    limb,
    mix,
    palette,
    pose,
    random_colour,
    rectangle,
    shade,
    smooth,
    texture,
)

STEPS = 33  # points along an arch, odd so that one is the crown


def arc(x: float, y: float, radius: float, start: float, stop: float, steps: int) -> Points:
    """Return points on a circle; angles run clockwise from the right, as y points down."""
    turns = np.linspace(start, stop, steps)
    return np.stack([x + radius * np.cos(turns), y + radius * np.sin(turns)], 1)


def rounded() -> Points:
    """Return a semicircle."""
    return arc(0.0, 0.0, 1.0, -math.pi, 0.0, STEPS)


def horseshoe(beyond: float = 0.6) -> Points:
    """Return a circle that goes on below its middle by the angle ``beyond``."""
    radius = 1 / math.cos(beyond)
    return arc(0.0, -radius * math.sin(beyond), radius, -math.pi - beyond, beyond, STEPS)


def pointed(sharpness: float = 0.6) -> Points:
    """Return two arcs with centres ``sharpness`` beyond the middle: 0 is round, 1 equilateral."""
    radius, half = 1 + sharpness, STEPS // 2 + 1
    crown = math.acos(sharpness / radius)
    left = arc(sharpness, 0.0, radius, -math.pi, -math.pi + crown, half)
    return np.concatenate([left, left[-2::-1] * (-1, 1)])


def ogee() -> Points:
    """Return two S-curves: convex above the springing, then concave up to the tip."""
    tip, share = 1.6, np.linspace(0.0, 1.0, STEPS // 2 + 1)[:, None]
    knots = np.array([(-1.0, 0.0), (-1.0, -0.6 * tip), (-0.12, -0.48 * tip), (0.0, -tip)])
    weights = [(1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3]
    left = np.hstack(weights) @ knots
    return np.concatenate([left, left[-2::-1] * (-1, 1)])


def lobed(lobes: int = 5) -> Points:
    """Return a semicircle scalloped into outward lobes that meet in cusps."""
    edges = np.linspace(-math.pi, 0.0, lobes + 1)
    bulges = [_bulge(start, stop, 0.86, 9) for start, stop in itertools.pairwise(edges)]
    outline = np.concatenate(bulges)
    scaled: Points = outline / abs(outline[0, 0])
    return scaled


def _bulge(start: float, stop: float, ring: float, steps: int) -> Points:
    """Return one lobe: an outward arc over the chord between two places on a ring."""
    first = np.array([math.cos(start), math.sin(start)]) * ring
    last = np.array([math.cos(stop), math.sin(stop)]) * ring
    middle, half = (first + last) / 2, float(np.linalg.norm(last - first)) / 2
    heading = math.atan2(first[1] - middle[1], first[0] - middle[0])
    return arc(middle[0], middle[1], half, heading, heading + math.pi, steps)


def trefoil() -> Points:
    """Return three lobes: two at the sides and a higher one in the middle."""
    radius, below, crown_y = 0.62, 0.5, -1.02
    middle = (radius * math.cos(below) - 1, -radius * math.sin(below))  # so that it springs at -1
    side = arc(*middle, radius, -math.pi - below, -math.pi * 0.42, 11)
    rise, reach = side[-1, 1] - crown_y, float(np.hypot(side[-1, 0], side[-1, 1] - crown_y))
    start = -math.pi - math.asin(rise / reach)
    crown = arc(0.0, crown_y, reach, start, -math.pi - start, 11)
    return np.concatenate([side, crown[1:-1], side[::-1] * (-1, 1)])


def flat() -> Points:
    """Return a straight arch: level below, held up by wedge-shaped stones."""
    across = np.linspace(-1.0, 1.0, STEPS)
    return np.stack([across, np.zeros(STEPS)], 1)


ARCHES: dict[str, Callable[[], Points]] = {
    "horseshoe-arch": horseshoe,
    "lobed-arch": lobed,
    "pointed-arch": pointed,
    "ogee-arch": ogee,
    "trefoil-arch": trefoil,
    "rounded-arch": rounded,
}


def opening(arch: Points, depth: float) -> Points:
    """Return the hole below an arch: its intrados and two jambs ``depth`` long."""
    left, right = arch[0], arch[-1]
    return np.concatenate([[(left[0], depth)], arch, [(right[0], depth)]])


def ring(arch: Points, thickness: float, *, even: bool = False) -> Points:
    """Return the extrados: the intrados moved outwards, or with ``even`` onto one circle."""
    centre = np.array([0.0, arch[:, 1].min() * 0.45])
    away = arch - centre
    length = np.linalg.norm(away, axis=1, keepdims=True)
    reach = np.full_like(length, length.max() + thickness) if even else length + thickness
    moved: Points = centre + away / length * reach
    return moved


def voussoirs(inner: Points, outer: Points, count: int) -> list[Points]:
    """Return the wedge stones between intrados and extrados, from left to right."""
    edges = np.linspace(0, len(inner) - 1, count + 1).round().astype(int)
    return [
        np.concatenate([inner[a : b + 1], outer[a : b + 1][::-1]])
        for a, b in itertools.pairwise(edges)
    ]


def triangular_pediment(rise: float) -> Points:
    """Return a low gable over a base from -1 to 1."""
    return np.array([(-1.0, 0.0), (0.0, -rise), (1.0, 0.0)])


def segmental_pediment(rise: float) -> Points:
    """Return a circle segment over a base from -1 to 1."""
    radius = (1 + rise**2) / (2 * rise)
    half = math.asin(1 / radius)
    return arc(0.0, radius - rise, radius, -math.pi / 2 - half, -math.pi / 2 + half, 17)


def broken_pediment(*, curved: bool, gap: float = 0.3) -> list[Points]:
    """Return the two halves of a pediment without its crown, ``gap`` to either side."""
    whole = segmental_pediment(0.55) if curved else triangular_pediment(0.55)
    across = np.linspace(-1.0, -gap, 9)
    height = np.interp(across, whole[:, 0], whole[:, 1])
    left = np.concatenate([np.stack([across, height], 1), [(-gap, 0.0)]])
    return [left, left * (-1, 1)]


def solomonic(turns: int) -> Points:
    """Return the outline of a twisted shaft of half-width 1 from y = 0 (top) to y = 1."""
    swing, down = 0.3, np.linspace(0.0, 1.0, 41)
    wave = swing * np.sin(down * turns * 2 * math.pi)
    girth = (1 - swing) * (0.86 + 0.14 * down)
    left, right = np.stack([wave - girth, down], 1), np.stack([wave + girth, down], 1)
    return np.concatenate([left, right[::-1]])


BLACK: Colour = (14, 12, 18)


@dataclass(frozen=True)
class Stone:
    """The materials of one building."""

    wall: Image.Image
    colour: Colour
    trim: Colour
    second: Colour  # every other voussoir
    gloom: Colour  # inside an opening
    door: Colour
    lobes: int
    wedges: int
    spokes: int


@dataclass(frozen=True)
class Bay:
    """A place on the facade where an element may stand."""

    x: float
    base: float
    half: float
    height: float
    door: bool = False


def draw_opening(canvas: Canvas, name: str, bay: Bay, stone: Stone) -> None:
    """Draw the opening called ``name``; an empty name is a plain window without a concept."""
    openings = {
        "": draw_window,
        "porthole": draw_porthole,
        "serliana": draw_serliana,
        "flat-arch": draw_flat_arch,
        "lintelled-doorway": draw_doorway,
    }
    openings.get(name, partial(_draw_arched, name))(canvas, bay, stone)


def _draw_arched(name: str, canvas: Canvas, bay: Bay, stone: Stone) -> None:
    arch = lobed(stone.lobes) if name == "lobed-arch" else ARCHES[name]()
    half = bay.half / max(1.0, float(arch[:, 0].max()) * 0.92)
    spring = bay.base - max(bay.height + arch[:, 1].min() * half, 0.3 * half)
    depth = (bay.base - spring) / half
    outer = ring(arch, 0.3, even=name == "lobed-arch")
    number = canvas.instance(name)
    with canvas.placed(pose(bay.x, spring, half)):
        hood = ring(arch, 0.4, even=name == "lobed-arch")
        canvas.fill(hood[hood[:, 1] < 0.12], shade(stone.trim, 0.72), number)
        _draw_jambs(canvas, depth, stone, number)
        for index, wedge in enumerate(voussoirs(arch, outer, stone.wedges)):
            hue = stone.trim if index % 2 else stone.second
            canvas.fill(wedge, hue, number)
        _draw_hole(canvas, opening(arch, depth), depth, stone, number, bay.door)
        for side in (-1.15, 1.15):
            impost = rectangle(side - 0.22, -0.07, side + 0.22, 0.07)
            canvas.fill(impost, shade(stone.trim, 1.1), number)


def _draw_jambs(canvas: Canvas, depth: float, stone: Stone, number: int) -> None:
    for side in (-1.0, 1.0):
        canvas.fill(rectangle(side, 0.0, side * 1.3, depth), shade(stone.trim, 0.94), number)
        canvas.decorate(rectangle(side * 1.0, 0.0, side * 1.1, depth), shade(stone.trim, 0.75))


def _draw_hole(
    canvas: Canvas, outline: Points, depth: float, stone: Stone, number: int, door: bool
) -> None:
    """Draw an opening with a lit reveal, and a door or a dark inside."""
    canvas.fill(outline, shade(stone.trim, 0.5), number)
    middle = np.array([0.0, depth])
    inside = (outline - middle) * (0.86, 0.94) + middle + (0.06, 0.0)
    canvas.decorate(inside, stone.gloom)
    if not door:
        return
    canvas.decorate(rectangle(-0.72, max(0.1, depth * 0.1), 0.84, depth), stone.door)
    for left in (-0.62, 0.14):
        for top, low in ((0.2, 0.5), (0.58, 0.92)):
            panel = rectangle(left, depth * top, left + 0.6, depth * low)
            canvas.decorate(panel, shade(stone.door, 0.74))
    canvas.stroke([(0.06, depth * 0.1), (0.06, depth)], BLACK, 0.04)


def draw_window(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    """Draw a plain framed window without a concept."""
    top = bay.base - bay.height
    left, right, edge = bay.x - bay.half * 0.85, bay.x + bay.half * 0.85, bay.half * 0.2
    canvas.fill(rectangle(left - edge, top - edge, right + edge, bay.base), stone.trim)
    canvas.fill(rectangle(left, top, right, bay.base), shade(stone.gloom, 1.3))
    canvas.decorate(rectangle(left, top, right, top + edge), BLACK)
    glass = [(left, bay.base), (left, top + edge), (right - edge, top + edge)]
    canvas.tint(glass, (190, 214, 232), 0.22)
    middle, across = bay.x, top + bay.height * 0.4
    canvas.stroke([(middle, top), (middle, bay.base)], shade(stone.trim, 0.9), edge * 0.5)
    canvas.stroke([(left, across), (right, across)], shade(stone.trim, 0.9), edge * 0.5)
    low, high = bay.base - edge * 0.6, bay.base + edge * 0.5
    sill = rectangle(left - 2 * edge, low, right + 2 * edge, high)
    canvas.fill(sill, shade(stone.trim, 1.08))


def draw_doorway(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    """Draw a square-headed doorway under one long lintel."""
    number, depth = canvas.instance("lintelled-doorway"), bay.height / bay.half
    with canvas.placed(pose(bay.x, bay.base - bay.height, bay.half)):
        canvas.fill(rectangle(-1.32, -0.02, 1.32, depth), shade(stone.trim, 0.94), number)
        canvas.decorate(rectangle(-1.1, 0.0, 1.1, depth), shade(stone.trim, 0.78))
        canvas.fill(rectangle(-1.4, -0.36, 1.4, 0.0), stone.trim, number)
        canvas.fill(rectangle(-1.5, -0.46, 1.5, -0.3), shade(stone.trim, 1.12), number)
        canvas.decorate(rectangle(-1.4, -0.3, 1.4, -0.23), shade(stone.trim, 0.68))
        _draw_hole(canvas, rectangle(-1.0, 0.0, 1.0, depth), depth, stone, number, bay.door)


def draw_flat_arch(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    """Draw a level arch of wedge stones whose joints all point at one centre."""
    number, depth = canvas.instance("flat-arch"), bay.height / bay.half
    inner = flat()
    outer = inner * (1.42, 1.0) + (0.0, -0.6)
    with canvas.placed(pose(bay.x, bay.base - bay.height + bay.half * 0.3, bay.half)):
        _draw_jambs(canvas, depth - 0.3, stone, number)
        for index, wedge in enumerate(voussoirs(inner, outer, stone.wedges)):
            canvas.fill(wedge, stone.trim if index % 2 else stone.second, number)
        wide = 0.12 + 1 / stone.wedges
        keystone = [(-wide * 0.7, 0.06), (-wide, -0.72), (wide, -0.72), (wide * 0.7, 0.06)]
        hole = rectangle(-1.0, 0.0, 1.0, depth - 0.3)
        _draw_hole(canvas, hole, depth - 0.3, stone, number, bay.door)
        canvas.fill(keystone, shade(stone.trim, 1.1), number)


def draw_serliana(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    """Draw a round-arched opening between two lower square-headed ones, on slim columns."""
    number, half = canvas.instance("serliana"), bay.half * 0.62
    arch = rounded()
    depth = max(bay.height / half - 1.3, 1.0)
    with canvas.placed(pose(bay.x, bay.base - depth * half, half)):
        canvas.fill(rectangle(-2.5, -0.3, 2.5, depth), stone.trim, number)
        canvas.fill(opening(ring(arch, 0.3), 0.0), shade(stone.trim, 1.06), number)
        for wedge in voussoirs(arch, ring(arch, 0.3), stone.wedges)[::2]:
            canvas.decorate(wedge, stone.second)
        for left in (-2.1, 1.2):
            canvas.decorate(rectangle(left, 0.0, left + 0.9, depth), stone.gloom)
            canvas.decorate(rectangle(left, 0.0, left + 0.9, 0.12), BLACK)
        for left in (-2.6, 1.0):
            canvas.fill(rectangle(left, -0.38, left + 1.6, -0.12), shade(stone.trim, 1.1), number)
        canvas.fill(opening(arch, depth), stone.gloom, number)
        canvas.decorate(opening(arch * 0.8 + (0.1, 0.0), depth), shade(stone.gloom, 0.7))
        for x in (-1.1, 1.1, -2.25, 2.25):
            canvas.fill(rectangle(x - 0.15, 0.0, x + 0.15, depth), shade(stone.trim, 1.12), number)
            canvas.decorate(rectangle(x + 0.03, 0.0, x + 0.15, depth), shade(stone.trim, 0.82))
        canvas.fill(rectangle(-2.6, depth - 0.14, 2.6, depth), shade(stone.trim, 0.9), number)


def draw_porthole(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    """Draw a round window with a moulded ring and spokes."""
    number, radius = canvas.instance("porthole"), min(bay.half, bay.height / 2) * 1.15
    turns = np.arange(stone.spokes) * 2 * np.pi / stone.spokes
    with canvas.placed(pose(bay.x, bay.base - bay.height / 2, radius)):
        canvas.fill(ellipse(0.03, 0.05, 1.02), shade(stone.trim, 0.6), number)
        canvas.fill(ellipse(0.0, 0.0, 1.0), stone.trim, number)
        canvas.decorate(ellipse(0.0, 0.0, 0.84), shade(stone.trim, 0.7))
        canvas.decorate(ellipse(0.03, 0.04, 0.74), stone.gloom)
        for turn in turns:
            tip = (0.74 * float(np.cos(turn)), 0.74 * float(np.sin(turn)))
            canvas.stroke([(0.0, 0.0), tip], shade(stone.trim, 0.9), 0.09)
        canvas.decorate(ellipse(0.0, 0.0, 0.22), stone.trim)


def draw_pediment(
    canvas: Canvas, name: str, x: float, base: float, half: float, stone: Stone
) -> None:
    """Draw a pediment resting on its cornice: triangular, segmental or broken."""
    number = canvas.instance(name)
    pieces = {
        "triangular-pediment": [triangular_pediment(0.55)],
        "segmental-pediment": [segmental_pediment(0.5)],
        "broken-pediment": broken_pediment(curved=stone.wedges % 4 == 1),
    }[name]
    with canvas.placed(pose(x, base, half)):
        canvas.tint(rectangle(-1.0, 0.0, 1.0, 0.3), BLACK, 0.35)
        for piece in pieces:
            middle = np.array([piece[:, 0].mean() * 1.05, -0.06])
            canvas.fill(piece * (1.06, 1.14), shade(stone.trim, 1.1), number)
            canvas.decorate((piece - middle) * 0.78 + middle, shade(stone.trim, 0.6))
            inner = (piece - middle) * 0.66 + middle + (0.02, 0.03)
            canvas.decorate(inner, shade(stone.trim, 0.86))
        if name == "broken-pediment":
            canvas.fill(rectangle(-0.13, -0.36, 0.13, 0.0), shade(stone.trim, 0.95), number)
            urn = smooth("-0.2,-0.72 0.2,-0.72 0.12,-0.34 -0.12,-0.34")
            canvas.fill(urn, shade(stone.trim, 1.1), number)
        canvas.fill(rectangle(-1.1, -0.06, 1.1, 0.1), shade(stone.trim, 1.05), number)
        canvas.decorate(rectangle(-1.1, 0.05, 1.1, 0.1), shade(stone.trim, 0.72))


def draw_column(canvas: Canvas, bay: Bay, stone: Stone, *, twisted: bool) -> None:
    """Draw a column with capital and base; only a twisted one is a concept."""
    number = canvas.instance("solomonic-column") if twisted else None
    height = bay.height / bay.half
    with canvas.placed(pose(bay.x, bay.base - bay.height, bay.half)):
        shaft = solomonic(4) if twisted else rectangle(-0.62, 0.0, 0.62, 1.0)
        stretch = (1.0, height - 1.1)
        canvas.tint(rectangle(0.3, 0.6, 1.5, height), BLACK, 0.25)
        canvas.fill(shaft * stretch + (0.0, 0.6), shade(stone.trim, 1.08), number)
        shaded = (shaft * (0.5, 1.0) + (0.36, 0.0)) * stretch + (0.0, 0.6)
        canvas.decorate(shaded, shade(stone.trim, 0.8))
        if twisted:
            for y in np.linspace(0.6, height - 1.0, 9)[:-1]:
                slant = [(-0.8, y + 0.34), (0.0, y + 0.2), (0.8, y - 0.06)]
                canvas.stroke(slant, shade(stone.trim, 0.52), 0.14)
        canvas.fill("-1.1,0.0 1.1,0.0 0.7,0.65 -0.7,0.65", stone.trim, number)
        canvas.decorate(rectangle(-1.1, 0.0, 1.1, 0.2), shade(stone.trim, 1.16))
        canvas.fill(rectangle(-1.1, height - 0.55, 1.1, height), shade(stone.trim, 0.9), number)
        canvas.decorate(rectangle(-1.1, height - 0.55, 1.1, height - 0.35), shade(stone.trim, 1.1))


def draw_pinnacle(canvas: Canvas, bay: Bay, stone: Stone) -> None:
    """Draw a slender spire with crockets and a finial on a gabled shaft."""
    number, height = canvas.instance("pinnacle-gothic"), bay.height / bay.half
    with canvas.placed(pose(bay.x, bay.base - bay.height, bay.half)):
        foot = height * 0.6
        canvas.fill(rectangle(-0.8, foot, 0.8, height), stone.trim, number)
        canvas.decorate(rectangle(0.2, foot, 0.8, height), shade(stone.trim, 0.78))
        canvas.decorate(rectangle(-0.35, foot + 0.8, 0.15, height - 0.3), shade(stone.trim, 0.55))
        canvas.fill([(-0.78, foot), (0.0, 0.3), (0.78, foot)], shade(stone.trim, 1.1), number)
        canvas.decorate([(0.1, foot), (0.0, 0.3), (0.78, foot)], shade(stone.trim, 0.8))
        for share in (0.3, 0.55, 0.8):
            for side in (-1, 1):
                knob = ellipse(side * (0.78 * share + 0.1), 0.3 + (foot - 0.3) * share, 0.24)
                canvas.fill(knob, shade(stone.trim, 1.0 if side < 0 else 0.75), number)
        canvas.fill(limb(0.0, 0.1, 0.0, 0.5, 0.36, 0.2), shade(stone.trim, 1.1), number)
        canvas.fill(limb(-0.3, 0.42, 0.3, 0.42, 0.2), shade(stone.trim, 1.05), number)
        canvas.fill([(-1.0, foot + 0.3), (0.0, foot - 1.0), (1.0, foot + 0.3)], stone.trim, number)


STONES = palette("d6be96 c4b09c ded0ba bc9676 b0a8a0 caa480 e2c4a8 a87a62")
DOORS = palette("62402a 48382e 42584a 783c30")


ROOFS = palette("96543e 606670 806c58")


@dataclass(frozen=True)
class Plan:
    """The proportions of a building, independent of its style."""

    ground: float
    storey: float  # the cornice between the storeys
    roof: float
    left: float
    right: float
    portal: Bay
    sides: tuple[Bay, ...]
    upper: Bay
    upper_sides: tuple[Bay, ...]
    plain_sides: bool  # by the plan, so that the number of plain windows says nothing of the style
    plain_upper_sides: bool
    columns: bool
    balcony: bool
    steps: int


def choose_plan(rng: Rng) -> Plan:
    """Choose the proportions of a building."""
    ground, roof = rng.uniform(0.86, 0.92), rng.uniform(0.17, 0.24)
    storey = ground - rng.uniform(0.43, 0.48)
    left, right = rng.uniform(0.0, 0.07), rng.uniform(0.93, 1.0)
    x, half = rng.uniform(0.47, 0.53), rng.uniform(0.11, 0.145)
    room = storey - roof
    side, height = rng.uniform(0.06, 0.072), rng.uniform(0.17, 0.21)
    places = ((left + x - 1.4 * half) / 2 - 0.005, (right + x + 1.4 * half) / 2 + 0.005)
    return Plan(
        ground,
        storey,
        roof,
        left,
        right,
        portal=Bay(x, ground, half, rng.uniform(0.3, 0.335), door=chance(rng, 0.6)),
        sides=tuple(Bay(place, ground - 0.1, side, height) for place in places),
        upper=Bay(x, storey - 0.035, rng.uniform(0.09, 0.11), room * 0.74),
        upper_sides=tuple(Bay(place, storey - 0.04, side * 0.8, room * 0.58) for place in places),
        plain_sides=chance(rng, 0.5),
        plain_upper_sides=chance(rng, 0.6),
        columns=chance(rng, 0.5),
        balcony=chance(rng, 0.4),
        steps=int(rng.integers(0, 4)),
    )


def choose_stone(canvas: Canvas, rng: Rng, hint: Colour, bias: float) -> Stone:
    """Choose the materials of a building; ``bias`` pulls the stone towards a hint."""
    colour = mix(random_colour(rng, STONES), hint, bias)
    trim = mix(colour, random_colour(rng, STONES), 0.5)
    return Stone(
        wall=texture(rng, canvas.pixels, shade(colour, 1.04), contrast=0.24, cells=9, grain=0.035),
        colour=colour,
        trim=shade(trim, 1.14),
        second=shade(random_colour(rng, STONES), rng.uniform(0.65, 1.0)),
        gloom=random_colour(rng, ((40, 36, 44), (52, 44, 40), (34, 44, 56))),
        door=random_colour(rng, DOORS),
        lobes=int(rng.choice([5, 7])),
        wedges=int(rng.choice([9, 11, 13])),
        spokes=int(rng.choice([4, 6, 8])),
    )


def draw_walls(canvas: Canvas, rng: Rng, plan: Plan, stone: Stone) -> None:
    _draw_roof(canvas, rng, plan, stone)
    canvas.fill(rectangle(plan.left, plan.roof, plan.right, plan.ground), stone.wall)
    _draw_masonry(canvas, rng, plan, stone)
    if plan.columns:  # straight ones, so that not every column is a twisted one
        for x in (plan.left + 0.03, plan.right - 0.03):
            shaft = Bay(x, plan.ground, 0.028, plan.ground - plan.roof)
            draw_column(canvas, shaft, stone, twisted=False)
    for y, reach in ((plan.storey, 0.01), (plan.roof, 0.025)):
        canvas.tint(rectangle(plan.left, y, plan.right, y + 0.05), BLACK, 0.3)
        left, right = plan.left - reach, plan.right + reach
        canvas.fill(rectangle(left, y - 0.02, right, y + 0.012), shade(stone.trim, 1.05))
        canvas.decorate(rectangle(left, y, right, y + 0.012), shade(stone.trim, 0.76))
    plinth = rectangle(plan.left, plan.ground - 0.05, plan.right, plan.ground)
    canvas.fill(plinth, shade(stone.trim, 0.82))
    for step in range(plan.steps):
        x, half, y = plan.portal.x, plan.portal.half * (1.9 - 0.15 * step), plan.ground
        tread = rectangle(x - half, y + 0.012 * (2 - step), x + half, y + 0.012 * (3 - step))
        canvas.fill(tread, shade(stone.trim, 0.78 + 0.1 * step))


def _draw_roof(canvas: Canvas, rng: Rng, plan: Plan, stone: Stone) -> None:
    """Draw what is above the cornice: nothing, tiles, a tower, a dome or a balustrade."""
    kind, tiles = int(rng.integers(5)), random_colour(rng, ROOFS)
    left, right, y = plan.left, plan.right, plan.roof
    if kind == 1:
        ridge = [(left + 0.1, y - 0.09), (right - 0.1, y - 0.09)]
        canvas.fill([(left - 0.03, y), *ridge, (right + 0.03, y)], tiles)
        for share in np.linspace(0.02, 0.98, 14):
            foot, head = left + (right - left) * share, left + 0.1 + (right - left - 0.2) * share
            canvas.stroke([(foot, y), (head, y - 0.09)], shade(tiles, 0.8), 0.008)
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


def _draw_masonry(canvas: Canvas, rng: Rng, plan: Plan, stone: Stone) -> None:
    """Draw courses of ashlar or brick, or none for stucco."""
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
