"""What every dataset gives for one image, drawn or real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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
