"""Records, items and sources: the interface of every dataset, drawn or read from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

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


@dataclass(frozen=True)
class Region:
    """One visible instance of a concept, e.g. the left of two eyes."""

    concept: str
    box: Box


@dataclass(frozen=True)
class Record:
    """One image at model size, the concept each pixel shows, and the visible instances.

    ``parts`` is 0 where no concept is seen and otherwise one more than the concept's place in the
    dataset's vocabulary, so that one byte a pixel holds an exact, occlusion-aware annotation.
    """

    label: str
    image: NDArray[np.uint8]  # (size, size, 3)
    parts: NDArray[np.uint8]  # (size, size)
    regions: tuple[Region, ...]
    source: str  # a file name relative to the dataset's root, or "drawn"
    width: int  # of the original
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
