"""Records, items and sources: the interface of every dataset, drawn or read from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class Box(NamedTuple):
    """A rectangle in fractions of the image: 0-1 from left to right and from top to bottom."""

    x0: float
    y0: float
    x1: float
    y1: float


def box_of_part(mask: NDArray[np.bool_], points: NDArray[Any] | None = None) -> Box:
    """Return the box around a part of a volume, seen along its depth, or of a cloud, from above.

    Parameters
    ----------
    mask
        The voxels (depth, height, width) or points (points,) of the part.
    points
        Coordinates (points, 3) of a cloud, within distance 1 of the origin.
    """
    if points is None:
        rows, columns = np.flatnonzero(mask.any((0, 2))), np.flatnonzero(mask.any((0, 1)))
        height, width = mask.shape[1:]
        x0, y0, x1, y1 = columns[0] / width, rows[0] / height, columns[-1] + 1, rows[-1] + 1
        return Box(float(x0), float(y0), float(x1 / width), float(y1 / height))
    seen = (np.clip(points[mask][:, :2].astype(np.float64), -1, 1) + 1) / 2
    (x0, y0), (x1, y1) = seen.min(0) * 0.999, seen.max(0) * 0.999 + 0.001  # a point has a box, too
    return Box(float(x0), float(y0), float(x1), float(y1))


@dataclass(frozen=True)
class Region:
    """One visible instance of a concept, e.g. the left of two eyes."""

    concept: str
    box: Box


@dataclass(frozen=True)
class Record:
    """One input at model size, the concept each place shows, and the visible instances.

    The names are those of images: volumes have voxels (depth, height, width) and clouds points.

    ``parts`` is 0 where no concept is seen and otherwise one more than the concept's place in the
    dataset's vocabulary, so that one byte a pixel holds an exact, occlusion-aware annotation.
    """

    label: str
    image: NDArray[Any]  # (size, size, 3); volumes (size, size, size, 1), clouds (points, 3)
    parts: NDArray[np.uint8]  # (size, size); volumes (size, size, size), clouds (points,)
    regions: tuple[Region, ...]
    source: str  # a file name relative to the dataset's root, or "drawn"
    width: int  # of the original, in pixels, voxels or points
    height: int


class Item(NamedTuple):
    """One image before it is loaded. ``image_id`` is unique in its dataset and has no slash."""

    image_id: str
    split: Split
    label: str


class Source(Protocol):
    """A dataset that lists its items and loads each alone, in any order or process."""

    def items(self) -> Sequence[Item]:
        """List every image, in a fixed order."""

    def load(self, item: Item, size: int) -> Record:
        """Load one image at model size with its part-index array and visible instances."""
