"""The PASTA-score's own networks: linear (first version) and with hidden layers (second)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.params.scoring import ScorerParams
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.networks import Network, Output, check_features, load_network

if TYPE_CHECKING:
    from pasta.scoring.training import Trained, Watch

_DOI = "10.48550/arXiv.2411.02470"


@dataclass(frozen=True)
class NeuralScorer:
    """Networks trained with the similarity, squared error and ranking losses."""

    output: Output
    pairs: Literal["all", "neighbours"]

    def fit(self, train: Rated, validation: Rated, settings: ScorerParams, seed: int) -> Network:
        """One network for each question, all trained at once."""
        return self.fit_many([train], [validation], settings, [seed])[0]

    def fit_many(
        self,
        train_sets: Sequence[Rated],
        validation_sets: Sequence[Rated],
        settings: ScorerParams,
        seeds: Sequence[int],
        watch: Watch | None = None,
    ) -> list[Network]:
        """What :meth:`fit` gives for each set and seed, up to rounding, in one run."""
        return self.train_many(train_sets, validation_sets, settings, seeds, watch).networks

    def train_many(
        self,
        train_sets: Sequence[Rated],
        validation_sets: Sequence[Rated],
        settings: ScorerParams,
        seeds: Sequence[int],
        watch: Watch | None = None,
    ) -> Trained:
        """The same with the course of training."""
        from pasta.scoring.training import train_many

        if not len(train_sets) == len(validation_sets) == len(seeds) > 0:
            sizes = f"{len(train_sets)}, {len(validation_sets)} and {len(seeds)}"
            raise PastaError(
                f"expected as many training sets as validation sets and seeds: {sizes}"
            )
        width = train_sets[0].features.shape[1]
        for one in (*train_sets, *validation_sets):
            check_features(one.features, width)
        check_votes(train_sets, "training")
        check_votes(validation_sets, "validation")
        return train_many(
            train_sets, validation_sets, settings, seeds, self.output, self.pairs, watch
        )

    def load(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> Network:
        """A trained scorer from what ``state`` returned."""
        return load_network(arrays, about)


def check_votes(sets: Sequence[Rated], part: str) -> None:
    """Stop at a question that no sample has votes on."""
    for number, one in enumerate(sets):
        without = np.flatnonzero(np.isnan(one.labels).all(axis=0))
        if len(without):
            raise PastaError(
                f"question {without[0] + 1} of {one.labels.shape[1]} has no votes in the {part} "
                f"set {number + 1} of {len(sets)}: leave it out or collect votes"
            )


SCORERS.register("pasta-linear", title="PASTA, linear (first version)", doi=_DOI)(
    NeuralScorer(Output(), "all")
)
# With ReLU at the output, a network that starts below zero for all samples never learns. This is
# how it was published; beside it stands the same without.
SCORERS.register("pasta-mlp", title="PASTA, MLP (second version)", doi=_DOI)(
    NeuralScorer(Output(relu=True, unit=True), "neighbours")
)
SCORERS.register("pasta-mlp-open", title="PASTA, MLP without ReLU at the output", doi=_DOI)(
    NeuralScorer(Output(unit=True), "neighbours")
)
