"""The score of a whole method: the mean over its explanations, and its place among others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasta.seeds import generator

RESAMPLES = 10_000


class Summary(NamedTuple):
    """Mean score of the explanations that have one."""

    n: int
    mean: float  # NaN if there are none
    ci95: tuple[float, float] | None  # of the mean over other images; None for fewer than two


def summarise(scores: NDArray[Any], seed: int = 0) -> Summary:
    """Mean with a percentile bootstrap interval over explanations (10,000 resamples).

    The interval tells how much the mean would vary with other images. It does not know that the
    scorer itself errs: for that see the intervals of the single scores.
    """
    known = np.asarray(scores, np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return Summary(0, math.nan, None)
    if len(known) == 1:
        return Summary(1, float(known[0]), None)
    rng = generator(seed, "score", "bootstrap")
    rows = max(1, 2_000_000 // len(known))
    means: list[NDArray[Any]] = []
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), len(known))
        means.append(known[rng.integers(len(known), size=size)].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return Summary(len(known), float(known.mean()), (float(low), float(high)))


def place_among(mean: float, techniques: Mapping[str, float]) -> int | None:
    """1 if no technique's mean is higher, 2 if one is, and so on; None without a mean."""
    if math.isnan(mean) or not techniques:
        return None
    return 1 + sum(other > mean for other in techniques.values())
