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
is further out than a mean, and ties go to one side. The line of labels on mean votes,
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
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.errors import PastaError
from pasta.scoring.base import SCORERS, STARS, Answer, Fitted, Rated, Scorer, check_sets
from pasta.scoring.conformal import LEAST, MOST, calibrate, interval, needed_stretch, sides
from pasta.scoring.ordinal_ensemble import ARRAYS as ENSEMBLE
from pasta.scoring.ordinal_ensemble import mean_chances, train_ensembles
from pasta.scoring.ordinal_fit import Doubles, Standard, Weights, fit, pose, standardise
from pasta.scoring.ordinal_likelihood import distribution, negative_log_likelihood
from pasta.scoring.settings import OrdinalParams

_SLOPE_PRIOR = 1.0  # squared stars: with few votes labels follow mean votes one to one
_WIDEST = 3.0  # times: predictions that hardly vary are noise, which nobody wants enlarged


class FittedOrdinal(Fitted):
    """A trained ordinal scorer.

    Buffers: ``centre`` and ``scale`` of the features, ``weights`` (features x questions) and
    ``thresholds`` (questions x 4) of the linear model, ``intercept`` and ``slope`` of the stars on
    the expected vote, ``stretch`` of the intervals, and those of the networks. ``about``:
    ``coverage`` of the intervals, ``converged`` (whether all fits ended before they ran out of
    iterations) and the ``share`` of the networks in the distribution.
    """

    centre: Tensor
    scale: Tensor
    weights: Tensor
    thresholds: Tensor
    intercept: Tensor
    slope: Tensor
    stretch: Tensor

    def __init__(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> None:
        linear = ("centre", "scale", "weights", "thresholds", "intercept", "slope", "stretch")
        wanted = (*linear, *ENSEMBLE) if about.get("share") else linear
        for names, there in ((("coverage", "converged", "share"), about), (wanted, arrays)):
            missing = [name for name in names if name not in there]
            if missing:
                raise PastaError(f"{missing[0]!r} of the ordinal scorer is missing")
        super().__init__(arrays, about)

    @property
    def width(self) -> int:
        """How many features it looks at."""
        return len(self.centre)

    def chances(self, features: Tensor) -> Tensor:
        """The distribution of a vote, samples x questions x 5."""
        inputs = (features.to(self.centre.dtype) - self.centre) / self.scale
        found = distribution(inputs @ self.weights, self.thresholds)
        share = self.about["share"]
        if not share:
            return found
        networks = mean_chances(inputs, [self.get_buffer(name) for name in ENSEMBLE])
        return torch.lerp(found, networks, share)

    def forward(self, features: Tensor) -> Answer:
        """Stars, the distribution of a vote, and intervals of the label."""
        chances = self.chances(features)
        stars = (self.intercept + self.slope * expected(chances)).clamp(LEAST, MOST)
        around = sides(stars, chances, self.about["coverage"])
        return Answer(stars, chances, *interval(stars, *around, self.stretch))


class OrdinalScorer(Scorer):
    """Trains on the votes; only the networks depend on the seed."""

    model = FittedOrdinal

    def fit_many(
        self,
        train: Sequence[Rated],
        validation: Sequence[Rated],
        settings: OrdinalParams,
        seeds: Sequence[int],
    ) -> list[FittedOrdinal]:
        """Train all penalties and networks, average them, and calibrate stars and intervals."""
        check_sets(train, validation, seeds)
        if not all(one.counts.any() for one in train):
            raise PastaError("there are no votes to learn from")
        networks: list[dict[str, NDArray[Any]]] = [{} for _ in train]
        if settings.share > 0:
            networks = train_ensembles(train, settings, seeds)
        return [
            _fitted(*parts, settings) for parts in zip(train, validation, networks, strict=True)
        ]


def expected(chances: Tensor) -> Tensor:
    """The mean vote of distributions."""
    return chances @ torch.arange(1, 6, dtype=chances.dtype, device=chances.device)


def _fitted(
    train: Rated,
    validation: Rated,
    networks: Mapping[str, NDArray[Any]],
    settings: OrdinalParams,
) -> FittedOrdinal:
    """The linear model beside the networks, with stars and intervals."""
    standard = standardise(train.features)
    linear = _average(train, validation, standard, settings)
    about = {
        "coverage": settings.coverage,
        "converged": linear.converged,
        "share": settings.share,
    }
    arrays = {
        "centre": standard.centre,
        "scale": standard.scale,
        "weights": linear.weights,
        "thresholds": linear.thresholds,
        **networks,
    }
    blank = np.zeros(linear.weights.shape[1])
    model = FittedOrdinal({**arrays, "intercept": blank, "slope": blank, "stretch": blank}, about)
    intercept, slope = label_line(train)
    centre = intercept + slope * _expected(model, train).mean(axis=0)
    factor = expansion_factor(
        intercept + slope * _expected(model, validation) - centre,
        validation.labels - centre,
        settings.expansion,
    )
    line = {"intercept": centre + factor * (intercept - centre), "slope": factor * slope}
    model = FittedOrdinal({**arrays, **line, "stretch": blank}, about)
    answer = model(torch.from_numpy(validation.features))
    around = sides(answer.stars, answer.distribution, settings.coverage)
    labels = torch.from_numpy(validation.labels.astype(np.float64))
    needed = needed_stretch(labels, answer.stars, *around)
    stretch = calibrate(needed, settings.coverage).numpy()
    return FittedOrdinal({**arrays, **line, "stretch": stretch}, about)


def _expected(model: FittedOrdinal, rated: Rated) -> Doubles:
    found: Doubles = expected(model.chances(torch.from_numpy(rated.features))).numpy()
    return found


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
    """By question."""
    latent = torch.from_numpy(features @ model.weights)
    cuts, counts = torch.from_numpy(model.thresholds), torch.from_numpy(votes)
    found: Doubles = -negative_log_likelihood(latent, cuts, counts).numpy()
    return found


SCORERS.register(
    "ordinal",
    title="Ordinal (all votes, shared between questions)",
    doi="10.1111/j.2517-6161.1980.tb01109.x",
)(OrdinalScorer())
