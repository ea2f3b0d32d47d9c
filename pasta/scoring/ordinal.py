"""``ordinal``: a scorer that learns from every vote.

A cumulative-link model (:mod:`pasta.scoring.ordinal_likelihood`) of all votes on all questions,
whose weights are shared between questions (:mod:`pasta.scoring.ordinal_fit`).

**No single penalty is chosen.** The best one differs between questions and the validation set is
small, so the best on it is often not the best elsewhere. Instead the models of all penalties are
averaged for each question, with weights ``exp(evidence * log likelihood of the validation votes)``
(pseudo-Bayesian averaging, Yao et al. 2018, doi:10.1214/17-BA1091). ``evidence`` is below 1, since
votes on one image or one technique are far from independent. Averaged are the weights and the
thresholds, so the result is one model of the same kind.

**Beside it stand small networks** (:mod:`pasta.scoring.ordinal_ensemble`), for what is not linear.
The predicted distribution is the linear model's and the networks' mean one, the latter with the
weight ``share``. Each makes up for the other: the networks find more, and are too sure of it.

**The stars.** Least squared error wants the expected label. The expected vote is not that: a mode
is further out than a mean, and ties go to the smallest star. The line of labels on mean votes,
found in the training set for each question, corrects it (for labels that are means it changes
nothing). Such predictions vary less than labels do: with a correlation ``r`` their deviation is
``r`` times that of the labels, and quadratic kappa, which compares the deviations, suffers. Moving
all predictions away from the mean by a factor ``1 + d`` costs only ``d^2 r^2`` of the labels'
variance. So ``d`` is such that the squared error grows by the share ``expansion``, but never more
than to the labels' deviation, nor to three times their own ::

    d = min(sqrt(expansion * (1 - r^2) / r^2), 1 / r - 1)

with ``r^2`` the ratio of the variances on the validation set. An expansion of 0 gives the least
squared error.

**The intervals** are split-conformal on the validation set, see :mod:`pasta.scoring.conformal`,
which defines what coverage means. The averaging has seen the same votes; it has few effective
degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.params.ordinal import OrdinalParams
from pasta.scoring.base import SCORERS, STARS, Floats, Predicted, Rated
from pasta.scoring.conformal import LEAST, MOST, calibrate, interval, needed_stretch, sides
from pasta.scoring.networks import check_features
from pasta.scoring.ordinal_ensemble import Ensemble, train_ensembles
from pasta.scoring.ordinal_fit import Standard, Weights, fit, pose, standardise
from pasta.scoring.ordinal_likelihood import Doubles, distribution, negative_log_likelihood
from pasta.threads import one_thread_each

_SLOPE_PRIOR = 1.0  # squared stars: with few votes labels follow mean votes one to one
_WIDEST = 3.0  # times: predictions that hardly vary are noise, which nobody wants enlarged
_ARRAYS = ("centre", "scale", "weights", "thresholds", "intercept", "slope", "stretch")
_ENSEMBLE = tuple(field.name for field in fields(Ensemble))


@dataclass(frozen=True)
class FittedOrdinal:
    """A trained ordinal scorer."""

    centre: Doubles  # of the features
    scale: Doubles
    weights: Doubles  # features x questions
    thresholds: Doubles  # questions x 4
    intercept: Doubles  # of the stars on the expected vote, by question
    slope: Doubles
    stretch: Doubles  # of the intervals, by question
    coverage: float
    converged: bool = True  # whether all fits ended before they ran out of iterations
    share: float = 0.0  # of the networks in the distribution
    ensemble: Ensemble | None = None

    def predict(self, features: Floats) -> Predicted:
        """Stars, the distribution of a vote, and intervals of the label."""
        check_features(features, len(self.centre))
        model = Mixture(
            Standard(self.centre, self.scale),
            Weights(self.weights, self.thresholds, self.converged),
            self.share,
            self.ensemble,
        )
        chances = model.chances(features)
        stars = _stars(chances, self.intercept, self.slope)
        low, high = interval(stars, *sides(stars, chances, self.coverage), self.stretch)
        answers = (part.astype(np.float32) for part in (stars, chances, low, high))
        return Predicted(*answers)

    def state(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
        """Arrays and plain settings from which ``load`` makes it again."""
        about = {"coverage": self.coverage, "converged": self.converged, "share": self.share}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        if self.ensemble is not None:
            arrays |= {name: getattr(self.ensemble, name) for name in _ENSEMBLE}
        return arrays, about


@dataclass(frozen=True)
class Mixture:
    """The linear model and the networks."""

    standard: Standard
    linear: Weights
    share: float
    ensemble: Ensemble | None

    def chances(self, features: Floats) -> Doubles:
        """The distribution of a vote, samples x questions x 5."""
        inputs = self.standard(features)
        found = distribution(inputs @ self.linear.weights, self.linear.thresholds)
        if self.ensemble is None:
            return found
        return (1 - self.share) * found + self.share * self.ensemble.chances(inputs)


class OrdinalScorer:
    """Trains on the votes; only the networks depend on the seed."""

    def fit(
        self, train: Rated, validation: Rated, settings: OrdinalParams, seed: int
    ) -> FittedOrdinal:
        """Train all penalties and networks, average them, and calibrate stars and intervals."""
        return self.fit_many([train], [validation], settings, [seed])[0]

    def fit_many(
        self,
        train_sets: Sequence[Rated],
        validation_sets: Sequence[Rated],
        settings: OrdinalParams,
        seeds: Sequence[int],
    ) -> list[FittedOrdinal]:
        """What :meth:`fit` gives for each set and seed, up to rounding, in one run."""
        _check(train_sets, validation_sets, seeds)
        pairs = list(zip(train_sets, validation_sets, strict=True))
        standards = [standardise(train.features) for train in train_sets]
        linear = _linear_models(pairs, standards, settings)
        ensembles: Sequence[Ensemble | None] = [None] * len(pairs)
        if settings.share > 0:
            ensembles = _ensembles(train_sets, settings, seeds)
        return [
            _calibrated(*pair, Mixture(standard, model, settings.share, ensemble), settings)
            for pair, standard, model, ensemble in zip(
                pairs, standards, linear, ensembles, strict=True
            )
        ]

    def load(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> FittedOrdinal:
        """A trained scorer from what ``state`` returned."""
        wanted = (*_ARRAYS, *_ENSEMBLE) if about.get("share", 0.0) > 0 else _ARRAYS
        missing = [name for name in wanted if name not in arrays]
        if missing or "coverage" not in about:
            raise PastaError(f"{(*missing, 'coverage')[0]!r} of the ordinal scorer is missing")
        share = float(about.get("share", 0.0))
        return FittedOrdinal(
            **{name: np.asarray(arrays[name], dtype=np.float64) for name in _ARRAYS},
            coverage=float(about["coverage"]),
            converged=bool(about.get("converged", True)),
            share=share,
            ensemble=Ensemble(**{name: np.asarray(arrays[name]) for name in _ENSEMBLE})
            if share > 0
            else None,
        )


def _check(train: Sequence[Rated], validation: Sequence[Rated], seeds: Sequence[int]) -> None:
    """Stop at sets that do not belong together, or from which nothing can be learned."""
    if not len(train) == len(validation) == len(seeds) > 0:
        sizes = f"{len(train)}, {len(validation)} and {len(seeds)}"
        raise PastaError(f"expected as many training sets as validation sets and seeds: {sizes}")
    for one in (*train, *validation):
        check_features(one.features, train[0].features.shape[1])
    if not all(one.counts.any() for one in train):
        raise PastaError("there are no votes to learn from")


def _linear_models(
    pairs: Sequence[tuple[Rated, Rated]], standards: Sequence[Standard], settings: OrdinalParams
) -> list[Weights]:
    """The averaged linear model of each set, sets side by side.

    The products are too small to be shared between cores: doing so takes several times longer.
    A process that works beside others has been given a single thread.
    """
    import scipy.optimize  # noqa: F401 (its own library can be limited only when it is there)
    import torch
    from threadpoolctl import threadpool_limits

    def one(pair: tuple[Rated, Rated], standard: Standard) -> Weights:
        return _average(*pair, standard, settings)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return list(pool.map(one, pairs, standards))


def _ensembles(
    train: Sequence[Rated], settings: OrdinalParams, seeds: Sequence[int]
) -> list[Ensemble]:
    """The networks of each set, a stack of sets for each thread."""
    import torch

    stacks = np.array_split(np.arange(len(train)), min(torch.get_num_threads(), len(train)))

    def one(rows: NDArray[np.int64]) -> list[Ensemble]:
        return train_ensembles([train[row] for row in rows], settings, [seeds[row] for row in rows])

    return list(chain.from_iterable(one_thread_each(one, stacks)))


def _calibrated(
    train: Rated, validation: Rated, model: Mixture, settings: OrdinalParams
) -> FittedOrdinal:
    """The scorer with its stars and intervals."""
    intercept, slope = label_line(train)
    centre = intercept + slope * (model.chances(train.features) @ STARS).mean(axis=0)
    chances = model.chances(validation.features)
    factor = expansion_factor(
        intercept + slope * (chances @ STARS) - centre,
        validation.labels - centre,
        settings.expansion,
    )
    intercept, slope = centre + factor * (intercept - centre), factor * slope
    stars = _stars(chances, intercept, slope)
    labels = validation.labels.astype(np.float64)
    needed = needed_stretch(labels, stars, *sides(stars, chances, settings.coverage))
    return FittedOrdinal(
        model.standard.centre,
        model.standard.scale,
        model.linear.weights,
        model.linear.thresholds,
        intercept,
        slope,
        calibrate(needed, settings.coverage),
        settings.coverage,
        model.linear.converged,
        model.share,
        model.ensemble,
    )


def label_line(rated: Rated) -> tuple[Doubles, Doubles]:
    """Intercept and slope of labels on mean votes, by question."""
    number = rated.counts.sum(axis=2)
    known = (number > 0) & ~np.isnan(rated.labels)
    size = np.maximum(known.sum(axis=0), 1)
    votes = np.where(known, rated.counts @ STARS / np.maximum(number, 1), 0.0)
    labels = np.where(known, rated.labels, 0.0).astype(np.float64)
    mean_vote, mean_label = votes.sum(axis=0) / size, labels.sum(axis=0) / size
    apart = (votes - mean_vote) * known
    together = (apart * (labels - mean_label)).sum(axis=0)
    slope = (together + _SLOPE_PRIOR) / ((apart**2).sum(axis=0) + _SLOPE_PRIOR)
    return mean_label - slope * mean_vote, slope


def expansion_factor(predicted: Doubles, labels: NDArray[Any], expansion: float) -> float:
    """By how much to move predictions away from the mean prediction of the training set.

    Predictions and labels (samples x questions) are given relative to it. One factor for all
    questions: a validation set is too small for one each.
    """
    known = ~np.isnan(labels)
    ours, theirs = float((predicted[known] ** 2).sum()), float((labels[known] ** 2).sum())
    if not 0 < ours < theirs:
        return 1.0
    share = ours / theirs
    more = min(np.sqrt(expansion * (1 - share) / share), share**-0.5 - 1)
    return float(min(1 + more, _WIDEST))


def _average(
    train: Rated, validation: Rated, standard: Standard, settings: OrdinalParams
) -> Weights:
    """The mean of the models of all penalties, weighted by the validation votes."""
    problem = pose(standard(train.features), train.counts)
    features, votes = standard(validation.features), validation.counts.astype(np.float64)
    models, evidence = [], []
    for sharing in settings.sharing:
        model = None
        for strength in sorted(settings.strengths, reverse=True):
            model = fit(problem, strength, sharing, settings.iterations, settings.tolerance, model)
            models.append(model)
            evidence.append(_log_likelihoods(features, votes, model))
    logarithms = settings.evidence * np.array(evidence)  # models x questions
    weights = np.exp(logarithms - logarithms.max(axis=0))
    weights /= weights.sum(axis=0)
    return Weights(
        np.einsum("mq,mfq->fq", weights, np.array([model.weights for model in models])),
        np.einsum("mq,mqc->qc", weights, np.array([model.thresholds for model in models])),
        all(model.converged for model in models),
    )


def _log_likelihoods(features: Doubles, votes: Doubles, model: Weights) -> Doubles:
    latent = features @ model.weights
    return np.array(
        [
            -negative_log_likelihood(
                latent[:, [question]], model.thresholds[[question]], votes[:, [question]]
            ).value
            for question in range(latent.shape[1])
        ]
    )


def _stars(chances: Doubles, intercept: Doubles, slope: Doubles) -> Doubles:
    result: Doubles = np.clip(intercept + slope * (chances @ STARS), LEAST, MOST)
    return result


SCORERS.register(
    "ordinal",
    title="Ordinal (all votes, shared between questions)",
    doi="10.1111/j.2517-6161.1980.tb01109.x",
)(OrdinalScorer())
