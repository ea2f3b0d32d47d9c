"""What a score answers: ratings of single explanations, and of a whole method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasta.scoring.base import Floats
from pasta.seeds import generator

RESAMPLES = 10_000


@dataclass(frozen=True)
class Score:
    """The predicted rating of one explanation."""

    question: str
    score: float  # stars, 1-5; NaN if there is nothing to rate, see status
    distribution: Floats | None  # chances that one person gives 1, 2, 3, 4, 5 stars
    low: float | None  # 90 % interval of the aggregated rating
    high: float | None
    familiar: bool  # whether it looks like what the scorer has learned from
    status: str  # ok, constant (a map that shows nothing) or zero (no concept matters)

    def __float__(self) -> float:
        return self.score


@dataclass(frozen=True)
class Scores:
    """The predicted ratings of a batch; each field has one row for each explanation."""

    question: str
    score: Floats
    distribution: Floats | None
    low: Floats | None
    high: Floats | None
    familiar: NDArray[np.bool_]
    status: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, row: int) -> Score:
        return Score(
            self.question,
            float(self.score[row]),
            None if self.distribution is None else self.distribution[row],
            None if self.low is None else float(self.low[row]),
            None if self.high is None else float(self.high[row]),
            bool(self.familiar[row]),
            self.status[row],
        )

    def __iter__(self) -> Iterator[Score]:
        return (self[row] for row in range(len(self)))


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
