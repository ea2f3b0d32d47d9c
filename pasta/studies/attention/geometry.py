"""Regions that people drew: what is wrong with a polygon, and the pixels that it covers.

Coordinates are pixels of the image as it is stored: (0, 0) is the upper left corner of the first
pixel, whose centre is (0.5, 0.5).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.errors import GEOSException
from shapely.geometry import MultiPolygon, Polygon, box
from shapely.geometry.base import BaseGeometry

Mask = NDArray[np.bool_]
BORDER = 2.0  # pixels beyond the image that a hand may reach; what is outside is cut off


def problem(text: str, size: tuple[int, int]) -> str:
    """What is wrong with a region written as WKT, or as JSON corners; empty if nothing is.

    >>> problem("POLYGON ((1 1, 8 1, 8 8, 1 1))", (10, 10))
    ''
    >>> problem("POLYGON ((1 1, 8 8, 8 1, 1 8, 1 1))", (10, 10))
    'it crosses itself near (4.5, 4.5)'
    """
    try:
        found = parse(text)
    except (GEOSException, ValueError, TypeError) as error:
        words = str(error).lower()
        if "closed" in words or "linestring" in words or "linearring" in words:
            return "it is not closed: its last point is not its first"
        return "it is no polygon as WKT"
    return problem_of(found, size)


def parse(text: str) -> BaseGeometry:
    """A region from WKT, or from its corners as JSON, which need not be closed.

    >>> parse("[[0, 0], [4, 0], [4, 4]]").area
    8.0
    """
    with np.errstate(invalid="ignore"):  # coordinates that are no numbers are told by `problem`
        if text.lstrip().startswith("["):
            return Polygon(np.asarray(json.loads(text), np.float64).reshape(-1, 2))
        return shapely.from_wkt(text)


def problem_of(found: BaseGeometry | None, size: tuple[int, int]) -> str:
    """What is wrong with a geometry in an image of a height and a width."""
    if not isinstance(found, Polygon | MultiPolygon):
        return "it is no polygon as WKT"
    if found.is_empty:
        return "it has no points"
    if not np.isfinite(shapely.get_coordinates(found)).all():
        return "a coordinate is not a number"
    return _wrong_shape(found) or _wrong_place(found, size)


def _wrong_shape(found: BaseGeometry) -> str:
    if found.area == 0 and found.convex_hull.area == 0:
        return "it covers nothing"
    if not found.is_valid:
        why = shapely.is_valid_reason(found)
        place = why[why.index("[") + 1 : -1].split() if "[" in why else []
        near = f" near ({', '.join(f'{float(one):g}' for one in place)})" if place else ""
        return f"it crosses itself{near}" if "ntersection" in why else why[0].lower() + why[1:]
    return ""


def _wrong_place(found: BaseGeometry, size: tuple[int, int]) -> str:
    height, width = size
    left, top, right, bottom = found.bounds
    if right <= 0 or bottom <= 0 or left >= width or top >= height:
        return "it lies outside the image"
    if min(left, top) < -BORDER or right > width + BORDER or bottom > height + BORDER:
        return f"it reaches beyond the image of {width} x {height} pixels"
    return ""


def polygon(points: Sequence[Sequence[float]]) -> str:
    """A polygon as WKT from its corners; the last one need not be the first again.

    >>> polygon([[0, 0], [4, 0], [4, 4]])
    'POLYGON ((0 0, 4 0, 4 4, 0 0))'
    """
    return str(shapely.to_wkt(Polygon(points), rounding_precision=3))


def rectangle(left: float, top: float, right: float, bottom: float) -> str:
    """A box as WKT."""
    return str(shapely.to_wkt(box(left, top, right, bottom), rounding_precision=3))


def fill(regions: Iterable[str], size: tuple[int, int]) -> Mask:
    """The pixels (height, width) whose centre lies in one of the regions."""
    height, width = size
    covered = np.zeros(size, bool)
    for text in regions:
        found = parse(text)
        left, top, right, bottom = found.bounds
        columns = slice(max(0, int(left)), min(width, int(np.ceil(right)) + 1))
        rows = slice(max(0, int(top)), min(height, int(np.ceil(bottom)) + 1))
        x, y = np.meshgrid(
            np.arange(columns.start, columns.stop) + 0.5, np.arange(rows.start, rows.stop) + 0.5
        )
        if x.size:
            shapely.prepare(found)
            covered[rows, columns] |= shapely.contains_xy(found, x, y)
    return covered
