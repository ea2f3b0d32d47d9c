"""What a scorer learns from and what it answers.

A scorer sees features of explanations (an embedding, with or without the predicted label) and the
votes on them, and predicts stars. All questions are learned in one call, because a scorer may
share between them; samples without votes on a question are left out for that question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pasta.registry import Registry

Floats = NDArray[np.float32]
STARS = np.arange(1, 6)


@dataclass(frozen=True)
class Rated:
    """Explanations with their features and votes."""

    features: Floats  # samples x features
    counts: NDArray[np.int64]  # samples x questions x 5: how many gave each star; may be all zero
    labels: Floats  # samples x questions: the aggregate to learn, 1-5; NaN without votes

    def __len__(self) -> int:
        return len(self.features)

    def at(self, rows: NDArray[Any]) -> Rated:
        """Some of the samples."""
        return Rated(self.features[rows], self.counts[rows], self.labels[rows])


@dataclass(frozen=True)
class Predicted:
    """A scorer's answer: stars are on the scale 1-5, not rounded."""

    stars: Floats  # samples x questions
    distribution: Floats | None = None  # samples x questions x 5, of one vote
    low: Floats | None = None  # samples x questions, 90 % interval of the label
    high: Floats | None = None


class Fitted(Protocol):
    """A trained scorer."""

    def predict(self, features: Floats) -> Predicted:
        """Answers for all questions it was trained on, in their order."""

    def state(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
        """Arrays and plain settings from which the scorer's ``load`` makes it again."""


class Scorer(Protocol):
    """How one kind of scorer is trained; ``settings`` is its section of the parameters."""

    def fit(self, train: Rated, validation: Rated, settings: Any, seed: int) -> Fitted:
        """Train, deterministically for (data, settings, seed)."""

    def load(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> Fitted:
        """A trained scorer from what ``state`` returned."""


SCORERS: Registry[Scorer] = Registry("scorer")  # metadata: title, doi or source
Progress = Callable[[str], None]
