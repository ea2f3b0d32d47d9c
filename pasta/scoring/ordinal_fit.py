"""Fitting the ordinal model: one convex problem in all questions at once.

Minimised over weights ``W`` (features x questions) and thresholds is ::

    - log likelihood / votes of a question + strength / 2 * trace(W R^-1 W')

where ``R = (1 - sharing) * identity + sharing * C`` and ``C`` is the correlation of the mean votes
between questions: questions that are answered alike get weights that are alike, opposite ones get
opposite weights (a multi-task ridge, Evgeniou & Pontil 2004, doi:10.1145/1014052.1014067).

The features are rotated to their principal axes, which changes nothing but makes the problem well
conditioned: then about twenty L-BFGS steps are enough, whatever the number of features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from pasta.scoring.ordinal_likelihood import (
    CUTS,
    free_of,
    free_of_shares,
    negative_log_likelihood,
    thresholds_of,
)

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
