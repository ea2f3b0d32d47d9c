"""``ordinal``: a scorer that learns from every vote.

A cumulative-link model of all votes on all questions, whose weights are shared between questions.
``latent`` is samples x questions, ``thresholds`` questions x 4 and ascending.

**Likelihood.** With the logistic function ``s`` the chance that a vote is at most ``k`` stars is
``s(threshold_k - latent)`` (McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x). For a star
between two thresholds ``a < b`` ::

    s(b - latent) - s(a - latent) = s(b - latent) * s(latent - a) * (1 - exp(a - b))

so the log likelihood is a sum over thresholds, in which a vote for a star only meets the two
thresholds beside it, and a term of the gaps alone. That is exact where the difference of two
sigmoids is not, and concave.

**Fit.** Minimised over weights ``W`` (features x questions) and thresholds is ::

    - log likelihood / votes of a question + strength / 2 * trace(W R^-1 W')

where ``R = (1 - sharing) * identity + sharing * C`` and ``C`` is the correlation of the mean votes
between questions: questions that are answered alike get weights that are alike (a multi-task ridge,
Evgeniou & Pontil 2004, doi:10.1145/1014052.1014067). The features are rotated to their principal
axes, so that about twenty L-BFGS steps are enough.

**No single penalty is chosen.** The best one differs between questions and the validation set is
small, so the best on it is often not the best elsewhere. Instead the models of all penalties are
averaged for each question, with weights ``exp(evidence * log likelihood of the validation votes)``
(pseudo-Bayesian averaging, Yao et al. 2018, doi:10.1214/17-BA1091). ``evidence`` is below 1, since
votes on one image or one technique are far from independent. Averaged are the weights and the
thresholds, so the result is one model of the same kind.

**Beside it stand small networks**, for what is not linear. A member has one hidden layer (ReLU)
that all questions share, a latent number for each question and ordered thresholds; it learns from
the counts of votes by their likelihood. Members differ in their first layer and their answers are
averaged (Lakshminarayanan et al. 2017, doi:10.48550/arXiv.1612.01474). Training takes a fixed
number of steps: stopping by the likelihood of validation votes would come much earlier, when the
order of expected votes still improves. All members of all sets are trained in one run; each set
takes the same number of samples for every step, so stacking changes nothing but rounding. The
predicted distribution is the linear model's and the networks' mean one, the latter with the weight
``share``: the networks find more, and are too sure of it.

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
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from pasta import compute
from pasta.errors import PastaError
from pasta.scoring.base import SCORERS, STARS, Answer, Fitted, Rated, Scorer, check_sets
from pasta.scoring.conformal import LEAST, MOST, calibrate, interval, needed_stretch, sides
from pasta.scoring.neural import Stack, can_fuse, descend
from pasta.scoring.settings import OrdinalParams
from pasta.seeds import generator

CUTS = 4  # thresholds between five stars


def negative_log_likelihood(latent: Tensor, thresholds: Tensor, counts: Tensor) -> Tensor:
    """Of vote counts (samples x questions x 5) by question, without the multinomial constant.

    A sample without votes on a question says nothing about it.
    """
    away = thresholds - latent[..., None]
    above, beside = counts[..., 1:], counts[..., 1:] + counts[..., :-1]
    # log s(-x) = log s(x) - x
    of_votes = (beside * logsigmoid(away) - above * away).sum((0, 2))
    of_gaps = counts[..., 1:-1].sum(0) * _log_of_rest(thresholds)
    return -(of_votes + of_gaps.sum(1))


def distribution(latent: Tensor, thresholds: Tensor) -> Tensor:
    """The chance of each star, samples x questions x 5; further axes may stand in front."""
    away = thresholds - latent[..., None]
    up_to, beyond = away.sigmoid(), (-away).sigmoid()
    middle = up_to[..., 1:] * beyond[..., :-1] * _log_of_rest(thresholds).exp()
    return torch.cat([up_to[..., :1], middle, beyond[..., -1:]], dim=-1)


def _log_of_rest(thresholds: Tensor) -> Tensor:
    """log(1 - exp(a - b)) of each gap."""
    return (-torch.expm1(-thresholds.diff(dim=-1))).log()


def thresholds_of(free: Tensor) -> Tensor:
    """Ascending thresholds from the first one and the logarithms of the gaps (last axis)."""
    return torch.cat([free[..., :1], free[..., 1:].exp()], dim=-1).cumsum(-1)


def free_of(thresholds: Tensor) -> Tensor:
    """The free numbers of :func:`thresholds_of`."""
    return torch.cat([thresholds[..., :1], thresholds.diff(dim=-1).log()], dim=-1)


def free_of_shares(shares: Tensor) -> Tensor:
    """The free numbers with which, at latent 0, stars have the given chances (all positive)."""
    return free_of(shares.cumsum(-1)[..., :-1].logit())


Doubles = NDArray[np.float64]

# One vote, spread over the stars, is added to each question at the average features: so a star
# that nobody gave has a finite threshold, and a question that nobody answered says "any star".
PRIOR_VOTES = 1.0
_CURVATURE = 0.2  # of a vote's log likelihood by the latent, roughly; only steers the optimiser
_RANK = 1e-10  # axes with less than this share of the largest variance are rounding


@dataclass(frozen=True)
class Standard:
    """How features are centred and scaled."""

    centre: Doubles
    scale: Doubles

    def __call__(self, features: NDArray[np.floating]) -> Doubles:
        result: Doubles = (np.asarray(features, dtype=np.float64) - self.centre) / self.scale
        return result


@dataclass(frozen=True)
class Problem:
    """What does not change with the penalty."""

    scores: Doubles  # samples x axes: standardised features on their principal axes
    axes: Doubles  # features x axes
    variances: Doubles  # of the scores
    counts: Doubles  # samples x questions x 5, float
    correlation: Doubles  # questions x questions
    votes: float  # of a question, on average


@dataclass(frozen=True)
class Weights:
    """A fitted model, on standardised features."""

    weights: Doubles  # features x questions
    thresholds: Doubles  # questions x 4
    converged: bool


def standardise(features: NDArray[np.floating]) -> Standard:
    """Mean 0; deviation 1 divided by the root of the number of features that vary at all.

    So a sample has length about 1, and a strength of the penalty means the same for few features
    and for many. A feature that does not vary is never divided by its rounding error.
    """
    values = np.asarray(features, dtype=np.float64)
    centre, deviation = values.mean(axis=0), values.std(axis=0)
    varies = deviation > 1e-6 * np.maximum(np.abs(centre), 1e-6)
    scale = np.where(varies, deviation, np.inf) * np.sqrt(max(int(varies.sum()), 1))
    return Standard(centre, scale)


def pose(standardised: Doubles, counts: NDArray[np.integer]) -> Problem:
    """Prepare standardised features and votes for fitting."""
    variances, axes = np.linalg.eigh(standardised.T @ standardised / len(standardised))
    kept = variances > max(float(variances.max(initial=0.0)), 1e-12) * _RANK
    variances, axes = variances[kept], axes[:, kept]
    votes = counts.astype(np.float64)
    return Problem(
        standardised @ axes,
        axes,
        variances,
        votes,
        question_correlation(votes),
        max(float(votes.sum()) / votes.shape[1], 1.0),
    )


def question_correlation(counts: Doubles) -> Doubles:
    """Correlation of the mean votes between questions, over samples with votes on both.

    Ten imaginary samples without any correlation are added, so that a few samples cannot make two
    questions look the same; negative eigenvalues, which missing votes can cause, are cut.
    """
    number = counts.sum(axis=2)
    rated = (number > 0).astype(np.float64)
    mean = counts @ np.arange(1.0, 6.0) / np.maximum(number, 1)
    centred = (mean - (mean * rated).sum(axis=0) / np.maximum(rated.sum(axis=0), 1)) * rated
    together = centred.T @ centred
    first = (centred**2).T @ rated  # of the row's question, where both have votes
    lengths = np.sqrt(first * first.T)
    r = np.divide(together, lengths, out=np.zeros_like(together), where=lengths > 0)
    common = rated.T @ rated
    r *= common / (common + 10)
    np.fill_diagonal(r, 1.0)
    values, vectors = np.linalg.eigh(r)
    whole = (vectors * np.maximum(values, 0.0)) @ vectors.T
    deviation = np.sqrt(np.diag(whole))
    result: Doubles = whole / np.outer(deviation, deviation)
    return result


def fit(
    problem: Problem,
    strength: float,
    sharing: float,
    iterations: int,
    tolerance: float,
    start: Weights | None = None,
) -> Weights:
    """Minimise the penalised negative log likelihood; ``start`` saves steps, not more."""
    objective = Objective(problem, strength, sharing)
    found = minimize(
        objective,
        objective.begin(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "gtol": tolerance, "ftol": 0.0, "maxcor": 20},
    )
    return objective.weights(found.x, float(np.abs(found.jac).max(initial=0.0)) <= tolerance)


class Objective:
    """The objective and its gradient in the optimiser's coordinates.

    These are the weights on the principal axes, unmixed by the root of ``R`` and scaled by their
    rough curvature, then the thresholds' free numbers.
    """

    def __init__(self, problem: Problem, strength: float, sharing: float) -> None:
        questions = problem.counts.shape[1]
        self.problem, self.strength = problem, strength
        mixed = (1 - sharing) * np.eye(questions) + sharing * problem.correlation
        values, vectors = np.linalg.eigh(mixed)
        values = np.maximum(values, 1e-9)
        curvature = _CURVATURE * np.outer(problem.variances, values)
        self.mix = torch.from_numpy(vectors * np.sqrt(values))  # R = mix mix'
        self.scale = torch.from_numpy(1 / np.sqrt(curvature + strength))
        self.scores = torch.from_numpy(problem.scores)
        self.counts = torch.from_numpy(problem.counts)

    def begin(self, start: Weights | None) -> Doubles:
        """Coordinates of a fitted model, or of one without weights."""
        if start is None:
            inner, free = torch.zeros_like(self.scale), free_of_shares(vote_shares(self.counts))
        else:
            mixed = torch.from_numpy(self.problem.axes.T @ start.weights)
            inner = torch.linalg.solve(self.mix, mixed.T).T / self.scale
            free = free_of(torch.from_numpy(start.thresholds))
        return torch.cat([inner.flatten(), free.flatten()]).numpy()

    def __call__(self, point: Doubles) -> tuple[float, Doubles]:
        given = torch.tensor(point, requires_grad=True)
        value = self.value(given)
        (gradient,) = torch.autograd.grad(value, given)
        return value.item(), gradient.numpy()

    def value(self, point: Tensor) -> Tensor:
        """The penalised negative log likelihood."""
        inner, free = self._parts(point)
        cuts = thresholds_of(free)
        found = negative_log_likelihood(self.scores @ inner @ self.mix.T, cuts, self.counts)
        prior = torch.full((1, len(cuts), CUTS + 1), PRIOR_VOTES / (CUTS + 1), dtype=cuts.dtype)
        found = found + negative_log_likelihood(torch.zeros_like(cuts[None, :, 0]), cuts, prior)
        return found.sum() / self.problem.votes + 0.5 * self.strength * (inner**2).sum()

    def weights(self, point: Doubles, converged: bool) -> Weights:
        """The model at a point."""
        inner, free = self._parts(torch.from_numpy(point))
        mixed = (inner @ self.mix.T).numpy()
        return Weights(self.problem.axes @ mixed, thresholds_of(free).numpy(), converged)

    def _parts(self, point: Tensor) -> tuple[Tensor, Tensor]:
        inner = point[: self.scale.numel()].view_as(self.scale) * self.scale
        return inner, point[self.scale.numel() :].view(-1, CUTS)


def vote_shares(counts: Tensor) -> Tensor:
    """The shares of the stars among all votes on each question and the one that is added."""
    total = counts.sum(0) + PRIOR_VOTES / (CUTS + 1)
    return total / total.sum(1, keepdim=True)


MEMBER_ARRAYS = ("member_first", "member_bias", "member_second", "member_thresholds")
_SPREAD = 2.0  # deviation of a hidden unit before its ReLU, at the start
_BIAS = 0.1  # deviation of its bias


class Member(nn.Module):
    """A network with a random first layer and no second one: at first all give the vote shares."""

    def __init__(self, rated: Rated, hidden: int, random: np.random.Generator) -> None:
        super().__init__()
        width, questions = rated.features.shape[1], rated.counts.shape[1]
        first = random.standard_normal((width, hidden)) * (_SPREAD / np.sqrt(width))
        bias = random.standard_normal(hidden) * _BIAS
        shares = vote_shares(torch.from_numpy(rated.counts.astype(np.float64)))
        self.first = nn.Parameter(torch.from_numpy(first).float())
        self.bias = nn.Parameter(torch.from_numpy(bias).float())
        self.second = nn.Parameter(torch.zeros(hidden, questions))
        self.free = nn.Parameter(free_of_shares(shares).float())

    def forward(self, features: Tensor, counts: Tensor) -> Tensor:
        """The negative log likelihood of votes."""
        latent = (features @ self.first + self.bias).relu() @ self.second
        return negative_log_likelihood(latent, thresholds_of(self.free), counts).sum()


def optimiser_of(stack: Stack, settings: OrdinalParams) -> torch.optim.Optimizer:
    """AdamW; thresholds and biases do not decay."""
    decays = {"first": settings.weight_decay, "second": settings.weight_decay}
    groups = [
        {"params": [weight], "weight_decay": decays.get(name, 0.0)}
        for name, weight in stack.weights.items()
    ]
    where = next(iter(stack.weights.values())).device
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=can_fuse(where))


def train_ensembles(
    train: Sequence[Rated], settings: OrdinalParams, seeds: Sequence[int]
) -> list[dict[str, NDArray[Any]]]:
    """The arrays of each set's and seed's members, for standardised features."""
    where = compute.device()
    standards = [standardise(one.features) for one in train]
    # Adam moves all weights alike, whatever their inputs: these should have deviation 1
    widths = [np.sqrt(max(int(np.isfinite(one.scale).sum()), 1)) for one in standards]
    features = np.concatenate(
        [
            standard(one.features) * width
            for one, standard, width in zip(train, standards, widths, strict=True)
        ]
    )
    counts = np.concatenate([one.counts for one in train])
    members = [
        Member(one, settings.hidden, generator(seed, "ordinal member", number))
        for one, seed in zip(train, seeds, strict=True)
        for number in range(settings.members)
    ]
    starts = np.cumsum([0, *map(len, train)])
    orders = [
        start + batches(len(one), settings, seed)
        for start, one, seed in zip(starts, train, seeds, strict=False)
    ]
    rows = torch.from_numpy(np.stack(orders, axis=1)).to(where)  # steps x sets x samples
    rows = rows.repeat_interleave(settings.members, dim=1)
    votes = [max(one.counts.sum() / one.counts.shape[1], 1.0) / len(one) for one in train]
    scale = settings.batch_size * torch.tensor(votes, dtype=torch.float32, device=where)
    scale = scale.repeat_interleave(settings.members)
    seen = torch.from_numpy(features.astype(np.float32)).to(where)
    given = torch.from_numpy(counts.astype(np.float32)).to(where)
    stack = Stack(members, where)
    optimiser = optimiser_of(stack, settings)
    for step in rows:
        descend(stack(seen[step], given[step]) / scale, optimiser)
    every = {name: compute.to_numpy(value) for name, value in stack.weights.items()}
    bounds = range(0, len(members), settings.members)
    return [
        _arrays({name: value[start : start + settings.members] for name, value in every.items()}, w)
        for start, w in zip(bounds, widths, strict=True)
    ]


def batches(samples: int, settings: OrdinalParams, seed: int) -> NDArray[np.int64]:
    """Rows of every step, steps x batch size: all samples in a new order, again and again."""
    random = generator(seed, "ordinal batches")
    rows = settings.steps * settings.batch_size
    orders = [random.permutation(samples) for _ in range(-(-rows // samples))]
    return np.concatenate(orders)[:rows].reshape(settings.steps, settings.batch_size)


def _arrays(weights: Mapping[str, NDArray[Any]], width: float) -> dict[str, NDArray[Any]]:
    """One set's members; ``width`` is what its features were multiplied by."""
    cuts = thresholds_of(torch.from_numpy(weights["free"].astype(np.float64))).numpy()
    first = (weights["first"] * width).astype(np.float32)
    parts = (first, weights["bias"], weights["second"], cuts)
    return dict(zip(MEMBER_ARRAYS, parts, strict=True))


def mean_chances(standardised: Tensor, arrays: Sequence[Tensor]) -> Tensor:
    """The members' mean chance of each star, samples x questions x 5."""
    return member_chances(standardised, arrays).mean(0)


def member_chances(standardised: Tensor, arrays: Sequence[Tensor]) -> Tensor:
    """Each member's chance of each star, members x samples x questions x 5."""
    first, bias, second, cuts = (array.to(standardised.dtype) for array in arrays)
    latent = (standardised @ first + bias[:, None]).relu() @ second  # members x samples x questions
    return distribution(latent, cuts[:, None])


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
        wanted = (*linear, *MEMBER_ARRAYS) if about.get("share") else linear
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
        networks = mean_chances(inputs, [self.get_buffer(name) for name in MEMBER_ARRAYS])
        return torch.lerp(found, networks, share)

    def member_stars(self, features: NDArray[np.floating]) -> Doubles:
        """The mean vote by the linear model and by each network, samples x models x questions.

        How far these differ says where the scorer is not sure.
        """
        given = torch.from_numpy(np.asarray(features, np.float64)).to(self.centre)
        with torch.inference_mode():
            inputs = (given - self.centre) / self.scale
            found = distribution(inputs @ self.weights, self.thresholds)[None]
            if self.about["share"]:
                arrays = [self.get_buffer(name) for name in MEMBER_ARRAYS]
                found = torch.cat([found, member_chances(inputs, arrays)])
            stars: Doubles = compute.to_numpy(expected(found).double()).swapaxes(0, 1)
        return stars

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
    train: Rated, validation: Rated, networks: Mapping[str, NDArray[Any]], settings: OrdinalParams
) -> FittedOrdinal:
    """The linear model beside the networks, with stars and intervals."""
    standard = standardise(train.features)
    linear = _average(train, validation, standard, settings)
    about = {"coverage": settings.coverage, "converged": linear.converged, "share": settings.share}
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
