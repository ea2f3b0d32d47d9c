"""Ranks of values. `scipy.stats` has them too, but takes half a second to load."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def middle_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of their ranks. No value may be missing."""
    _, place, number = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(number)
    return np.asarray((last - (number - 1) / 2)[place])


def lowest_ranks(values: ArrayLike) -> NDArray[np.intp]:
    """Ranks from 1; equal values all have the lowest of their ranks. No value may be missing."""
    _, place, number = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(number) - number + 1)[place])
