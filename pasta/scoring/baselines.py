"""Scorers to compare with: four of scikit-learn's, and two that do not look at the features.

Table 17 of the first version of doi:10.48550/arXiv.2411.02470 compares ridge, lasso, support
vectors and a perceptron with 100 hidden units. What was learned is kept in plain arrays, and all
but the support vectors are a :class:`Network`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR
from torch import Tensor

from pasta.scoring.base import (
    SCORERS,
    STARS,
    Answer,
    Fitted,
    Floats,
    Rated,
    Scorer,
    check_features,
    check_labels,
    scaling_of,
)
from pasta.scoring.evaluation import round_stars
from pasta.scoring.neural import Network, network
from pasta.scoring.settings import (
    HiddenLayerParams,
    Inputs,
    PenaltyParams,
    SupportVectorParams,
)
from pasta.seeds import generator

_SOURCE = "10.48550/arXiv.2411.02470"
_LARGEST_SEED = 2**32

Layers = list[tuple[NDArray[Any], NDArray[Any]]]  # weight and bias of each layer, one question
FitOne = Callable[[Floats, Floats, Any, int], Layers]


@dataclass(frozen=True)
class NetworkBaseline(Scorer):
    """A scorer that ends as a network: each question is fitted alone, on the samples with votes."""

    fit_one: FitOne
    model = Network

    def fit(self, train: Rated, validation: Rated, settings: Any, seed: int) -> Network:  # noqa: ARG002
        """Train; nothing is chosen on the validation set."""
        questions = []
        for features, labels in _by_question(train):
            scaling = scaling_of(features, _inputs(settings))
            first, *others = self.fit_one(scaling(features), labels, settings, seed)
            questions.append([scaling.fold(*first), *others])
        return network(
            [
                (np.stack([weight for weight, _ in layer]), np.stack([bias for _, bias in layer]))
                for layer in zip(*questions, strict=True)
            ]
        )


def _inputs(settings: Any) -> Inputs:
    """What the settings say; constants have none."""
    return "raw" if settings is None else settings.inputs


def _by_question(train: Rated) -> list[tuple[Floats, Floats]]:
    """Features and labels of the samples with votes on each question."""
    check_features(train.features, train.features.shape[1])
    check_labels([train], "training")
    given = ~np.isnan(train.labels.T)
    return [
        (train.features[rows], labels[rows])
        for rows, labels in zip(given, train.labels.T, strict=True)
    ]


def _ridge(features: Floats, labels: Floats, settings: PenaltyParams, seed: int) -> Layers:  # noqa: ARG001
    return _linear(Ridge(alpha=settings.alpha), features, labels)


def _lasso(features: Floats, labels: Floats, settings: PenaltyParams, seed: int) -> Layers:  # noqa: ARG001
    return _linear(Lasso(alpha=settings.alpha), features, labels)


def _linear(model: Any, features: Floats, labels: Floats) -> Layers:
    model.fit(features.astype(np.float64), labels)
    return [(model.coef_[:, None], np.array([model.intercept_]))]


def _perceptron(features: Floats, labels: Floats, settings: HiddenLayerParams, seed: int) -> Layers:
    model = MLPRegressor(
        hidden_layer_sizes=(settings.hidden,),
        max_iter=settings.epochs,
        random_state=int(generator(seed, "mlp-100").integers(_LARGEST_SEED)),
    )
    with warnings.catch_warnings():  # the number of epochs is a setting, not a failure
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features, labels)
    return list(zip(model.coefs_, model.intercepts_, strict=True))


def _always(features: Floats, star: float) -> Layers:
    return [(np.zeros((features.shape[1], 1)), np.array([star]))]


def _constant(features: Floats, labels: Floats, settings: Any, seed: int) -> Layers:  # noqa: ARG001
    """The most frequent star; of equally frequent ones the smallest."""
    counts = np.bincount(round_stars(labels), minlength=len(STARS) + 1)
    return _always(features, float(counts.argmax()))


def _mean(features: Floats, labels: Floats, settings: Any, seed: int) -> Layers:  # noqa: ARG001
    return _always(features, float(labels.mean(dtype=np.float64)))


class SupportVectors(Fitted):
    """``b + sum_i a_i exp(-gamma |x - s_i|^2)`` for each question.

    Buffers: ``centre`` and ``spread`` of the features, which give x; the support ``vectors`` of any
    question (vectors x features), their ``duals`` (questions x vectors, zero where a vector is none
    of the question's), ``intercepts`` and ``gammas`` of the questions.
    """

    centre: Tensor
    spread: Tensor
    vectors: Tensor
    duals: Tensor
    intercepts: Tensor
    gammas: Tensor

    @property
    def width(self) -> int:
        """How many features it looks at."""
        return int(self.vectors.shape[1])

    def forward(self, features: Tensor) -> Answer:
        """Stars for all questions."""
        exact = "donot_use_mm_for_euclid_dist"
        scaled = (features - self.centre) / self.spread
        squared = torch.cdist(scaled, self.vectors, compute_mode=exact) ** 2
        kernels = (-self.gammas[:, None, None] * squared).exp()  # questions x samples x vectors
        stars = torch.einsum("qnv,qv->nq", kernels, self.duals) + self.intercepts
        return Answer(stars.clamp(1, 5))


class SupportVectorScorer(Scorer):
    """Support vector regression with a radial kernel."""

    model = SupportVectors

    def fit(
        self,
        train: Rated,
        validation: Rated,  # noqa: ARG002
        settings: SupportVectorParams,
        seed: int,  # noqa: ARG002
    ) -> SupportVectors:
        """Train; nothing is chosen on the validation set."""
        duals = np.zeros((train.labels.shape[1], len(train)), np.float32)
        intercepts, gammas = [], []
        rows = [np.flatnonzero(given) for given in ~np.isnan(train.labels.T)]
        scaling = scaling_of(train.features, settings.inputs)
        scaled = Rated(scaling(train.features), train.counts, train.labels)
        for question, (features, labels) in enumerate(_by_question(scaled)):
            gamma = 1 / max(features.shape[1] * float(features.var(dtype=np.float64)), 1e-12)
            model = SVR(C=settings.cost, epsilon=settings.epsilon, gamma=gamma).fit(
                features, labels
            )
            duals[question, rows[question][model.support_]] = model.dual_coef_[0]
            intercepts.append(model.intercept_[0])
            gammas.append(gamma)
        used = duals.any(axis=0)
        arrays = {
            "centre": scaling.centre,
            "spread": scaling.spread,
            "vectors": scaled.features[used],
            "duals": duals[:, used],
            "intercepts": np.array(intercepts, np.float32),
            "gammas": np.array(gammas, np.float32),
        }
        return SupportVectors(arrays, {})


_BASELINES: dict[str, tuple[str, FitOne]] = {
    "ridge": ("Ridge regression", _ridge),
    "lasso": ("Lasso regression", _lasso),
    "mlp-100": ("Perceptron with one hidden layer", _perceptron),
    "handcrafted": ("Handcrafted features, ridge regression", _ridge),
    "constant": ("The most frequent star", _constant),
    "global-mean": ("The mean of all labels", _mean),
}
for _key, (_title, _fit) in _BASELINES.items():
    SCORERS.register(_key, title=_title, source=_SOURCE)(NetworkBaseline(_fit))
SCORERS.register("svm", title="Support vector regression", source=_SOURCE)(SupportVectorScorer())
