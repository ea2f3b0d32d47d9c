"""Geometry of arches, pediments and twisted columns.

An arch is the line of its intrados from the left springing over the crown to the right one, for
an opening of half-span 1 at the springing, which lies on y = 0; y points down, so crowns are
negative. Nothing here draws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from pasta.datasets.drawn.canvas import Points

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
