"""What a score answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


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
