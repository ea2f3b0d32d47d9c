"""What a scorer learns from and what it answers.

A scorer sees features of explanations (an embedding, with or without the predicted label) and the
votes on them, and predicts stars. All questions are learned in one call, because a scorer may
share between them; samples without votes on a question are left out for that question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta.compute import device_of, to_numpy
from pasta.errors import PastaError
from pasta.registry import Registry
from pasta.scoring.settings import Inputs

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


class Answer(NamedTuple):
    """The same as tensors, on the device of the scorer."""

    stars: Tensor
    distribution: Tensor | None = None
    low: Tensor | None = None
    high: Tensor | None = None


class Fitted(nn.Module, ABC):
    """A trained scorer: its buffers are what it has learned, beside a few plain settings."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> None:
        super().__init__()
        self.about = dict(about)
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(np.array(array)))

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features it looks at."""

    @abstractmethod
    def forward(self, features: Tensor) -> Answer:
        """Answers for all questions, on the device of the features."""

    def predict(self, features: Floats) -> Predicted:
        """Answers for all questions it was trained on, in their order."""
        check_features(features, self.width)
        with torch.inference_mode():
            given = torch.from_numpy(np.array(features, np.float32)).to(device_of(self))
            stars, *more = self(given)
        others = (None if part is None else to_numpy(part.float()) for part in more)
        return Predicted(to_numpy(stars.float()), *others)

    def follow(self, where: torch.device) -> Self:
        """The scorer on another device; Apple's have no double precision."""
        return (self.float() if where.type == "mps" else self).to(where)

    def state(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
        """Arrays and plain settings, from which the class makes it again."""
        return {name: to_numpy(array) for name, array in self.state_dict().items()}, self.about


class Scorer:
    """How one kind of scorer is trained; ``settings`` is its section of the parameters.

    A kind of scorer defines either ``fit`` or ``fit_many``.
    """

    model: type[Fitted]  # what comes out of training

    def fit(self, train: Rated, validation: Rated, settings: Any, seed: int) -> Fitted:
        """Train, deterministically for (data, settings, seed)."""
        return self.fit_many([train], [validation], settings, [seed])[0]

    def fit_many(
        self,
        train: Sequence[Rated],
        validation: Sequence[Rated],
        settings: Any,
        seeds: Sequence[int],
    ) -> Sequence[Fitted]:
        """What :meth:`fit` gives for each set and seed, up to rounding."""
        parts = zip(train, validation, seeds, strict=True)
        return [self.fit(one, other, settings, seed) for one, other, seed in parts]

    def load(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> Fitted:
        """A trained scorer from what ``state`` returned."""
        return self.model(arrays, about)


SCORERS: Registry[Scorer] = Registry("scorer")  # metadata: title, doi or source


@dataclass(frozen=True)
class Scaling:
    """How a scorer centres and scales features before it learns from them."""

    centre: Floats
    spread: Floats

    def __call__(self, features: Floats) -> Floats:
        """Scaled features."""
        return np.asarray((features - self.centre) / self.spread, np.float32)

    def fold(self, weight: NDArray[Any], bias: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """A first layer for features as they come, from one for scaled features.

        Weights are inputs x outputs.
        """
        own = weight / self.spread[:, None]
        return own, bias - self.centre @ own


def scaling_of(features: Floats, inputs: Inputs) -> Scaling:
    """What the setting ``inputs`` asks for: nothing, or mean 0 and deviation 1 in ``features``.

    A feature that does not vary is only centred.
    """
    width = features.shape[1]
    if inputs == "raw":
        return Scaling(np.zeros(width, np.float32), np.ones(width, np.float32))
    plain = features.astype(np.float64)
    centre, spread = plain.mean(axis=0), plain.std(axis=0)
    spread = np.where(spread > 1e-6 * np.maximum(np.abs(centre), 1e-6), spread, 1)
    return Scaling(centre.astype(np.float32), spread.astype(np.float32))


def check_features(features: NDArray[Any], width: int) -> None:
    """Stop at features of another width or without a value."""
    if features.ndim != 2 or features.shape[1] != width:
        raise PastaError(f"the features are {features.shape}, expected (samples, {width})")
    bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(bad):
        raise PastaError(
            f"{len(bad)} of {len(features)} samples have features that are NaN or infinite, "
            f"the first in row {bad[0]}: leave them out"
        )


def check_sets(train: Sequence[Rated], validation: Sequence[Rated], seeds: Sequence[int]) -> None:
    """Stop at sets that do not belong together."""
    if not len(train) == len(validation) == len(seeds) > 0:
        sizes = f"{len(train)}, {len(validation)} and {len(seeds)}"
        raise PastaError(f"expected as many training sets as validation sets and seeds: {sizes}")
    for one in (*train, *validation):
        check_features(one.features, train[0].features.shape[1])


def check_labels(sets: Sequence[Rated], part: str) -> None:
    """Stop at a question that no sample has votes on."""
    for number, one in enumerate(sets):
        without = np.flatnonzero(np.isnan(one.labels).all(axis=0))
        if len(without):
            raise PastaError(
                f"question {without[0] + 1} of {one.labels.shape[1]} has no votes in the {part} "
                f"set {number + 1} of {len(sets)}: leave it out or collect votes"
            )
