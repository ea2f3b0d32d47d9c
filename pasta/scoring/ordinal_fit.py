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

from pasta.scoring.ordinal_likelihood import (
    CUTS,
    Doubles,
    Votes,
    free_of_shares,
    gather,
    likelihood_of,
    thresholds_of,
    to_free,
)

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

    def __call__(self, features: np.typing.NDArray[np.floating]) -> Doubles:
        result: Doubles = (np.asarray(features, dtype=np.float64) - self.centre) / self.scale
        return result


@dataclass(frozen=True)
class Problem:
    """What does not change with the penalty."""

    scores: Doubles  # samples x axes: standardised features on their principal axes
    axes: Doubles  # features x axes
    variances: Doubles  # of the scores
    counts: Doubles  # samples x questions x 5, float
    gathered: Votes  # the same
    correlation: Doubles  # questions x questions
    votes: float  # of a question, on average


@dataclass(frozen=True)
class Weights:
    """A fitted model, on standardised features."""

    weights: Doubles  # features x questions
    thresholds: Doubles  # questions x 4
    converged: bool


def standardise(features: np.typing.NDArray[np.floating]) -> Standard:
    """Mean 0; deviation 1 divided by the root of the number of features that vary at all.

    So a sample has length about 1, and a strength of the penalty means the same for few features
    and for many. A feature that does not vary is never divided by its rounding error.
    """
    values = np.asarray(features, dtype=np.float64)
    centre, deviation = values.mean(axis=0), values.std(axis=0)
    varies = deviation > 1e-6 * np.maximum(np.abs(centre), 1e-6)
    scale = np.where(varies, deviation, np.inf) * np.sqrt(max(int(varies.sum()), 1))
    return Standard(centre, scale)


def pose(standardised: Doubles, counts: np.typing.NDArray[np.integer]) -> Problem:
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
        gather(votes),
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
    from scipy.optimize import minimize

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
    """Value and gradient in the optimiser's coordinates.

    These are the weights on the principal axes, unmixed by the root of ``R`` and scaled by their
    rough curvature, then the thresholds' free numbers.
    """

    def __init__(self, problem: Problem, strength: float, sharing: float) -> None:
        questions = problem.counts.shape[1]
        self.problem, self.strength = problem, strength
        mixed = (1 - sharing) * np.eye(questions) + sharing * problem.correlation
        values, vectors = np.linalg.eigh(mixed)
        self.mix = vectors * np.sqrt(np.maximum(values, 1e-9))  # R = mix mix'
        curvature = _CURVATURE * np.outer(problem.variances, np.maximum(values, 1e-9))
        self.scale = 1 / np.sqrt(curvature + strength)
        total = problem.counts.sum(axis=0)
        prior = np.full((1, questions, CUTS + 1), PRIOR_VOTES / (CUTS + 1))
        self.prior = gather(prior)
        shares = (total + prior[0]) / (total + prior[0]).sum(axis=1, keepdims=True)
        self.free = free_of_shares(shares)

    def begin(self, start: Weights | None) -> Doubles:
        """Coordinates of a fitted model, or of one without weights."""
        if start is None:
            return np.concatenate([np.zeros(self.scale.size), self.free.ravel()])
        cuts = start.thresholds
        free = np.concatenate([cuts[:, :1], np.log(np.diff(cuts, axis=1))], axis=1)
        inner = (self.problem.axes.T @ start.weights) @ np.linalg.inv(self.mix).T / self.scale
        return np.concatenate([inner.ravel(), free.ravel()])

    def __call__(self, point: Doubles) -> tuple[float, Doubles]:
        inner, free = self._parts(point)
        cuts = thresholds_of(free)
        latent = self.problem.scores @ (inner @ self.mix.T)
        fitted = likelihood_of(self.problem.gathered, latent, cuts)
        prior = likelihood_of(self.prior, np.zeros((1, len(cuts))), cuts)
        value = (fitted.value + prior.value) / self.problem.votes
        value += 0.5 * self.strength * float((inner**2).sum())
        at_cuts = to_free(fitted.thresholds + prior.thresholds, free) / self.problem.votes
        at_inner = self.problem.scores.T @ fitted.latent @ self.mix / self.problem.votes
        at_inner = (at_inner + self.strength * inner) * self.scale
        return value, np.concatenate([at_inner.ravel(), at_cuts.ravel()])

    def weights(self, point: Doubles, converged: bool) -> Weights:
        """The model at a point."""
        inner, free = self._parts(point)
        return Weights(self.problem.axes @ (inner @ self.mix.T), thresholds_of(free), converged)

    def _parts(self, point: Doubles) -> tuple[Doubles, Doubles]:
        inner = point[: self.scale.size].reshape(self.scale.shape) * self.scale
        return inner, point[self.scale.size :].reshape(-1, CUTS)
