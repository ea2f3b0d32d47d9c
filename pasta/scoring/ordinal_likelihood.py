"""The cumulative-link (ordered logit) model of votes, and its likelihood.

With the logistic function ``s`` the chance that a vote is at most ``k`` stars is
``s(threshold_k - latent)`` (McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x). For a star
between two thresholds ``a < b`` ::

    s(b - latent) - s(a - latent) = s(b - latent) * s(latent - a) * (1 - exp(a - b))

so the logarithm of the likelihood is a sum over thresholds, in which a vote for a star only meets
the two thresholds beside it, and a term of the gaps alone. That is exact where the difference of
two sigmoids is not, concave, and needs four sigmoids for five stars.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

CUTS = 4  # thresholds between five stars


@dataclass(frozen=True)
class Votes:
    """Counts of votes as the likelihood wants them, once for many points."""

    above: Doubles  # samples x questions x 4: votes for the star above each threshold
    beside: Doubles  # for the stars on both sides of it
    between: Doubles  # questions x 3: for stars between two thresholds


@dataclass(frozen=True)
class Likelihood:
    """Negative logarithm of the likelihood and its derivatives."""

    value: float
    latent: Doubles  # samples x questions
    thresholds: Doubles  # questions x 4


def gather(counts: Doubles) -> Votes:
    """From counts, samples x questions x 5."""
    above = np.ascontiguousarray(counts[..., 1:])
    return Votes(above, counts[..., :-1] + above, counts[..., 1:-1].sum(axis=0))


def negative_log_likelihood(latent: Doubles, thresholds: Doubles, counts: Doubles) -> Likelihood:
    """Of vote counts (samples x questions x 5), without the multinomial constant.

    ``latent`` is samples x questions, ``thresholds`` questions x 4 and ascending. A sample without
    votes on a question says nothing about it.
    """
    return likelihood_of(gather(counts), latent, thresholds)


def likelihood_of(votes: Votes, latent: Doubles, thresholds: Doubles) -> Likelihood:
    """:func:`negative_log_likelihood`; in place, as fetching memory takes as long as the sums."""
    away = thresholds - latent[..., None]
    # log s(x) = min(x, 0) - log(1 + exp(-|x|)), and log s(-x) = log s(x) - x
    small = np.abs(away)
    np.exp(np.negative(small, out=small), out=small)
    log_below = np.minimum(away, 0)
    scratch = np.log1p(small)
    log_below -= scratch
    gaps = np.diff(thresholds, axis=1)
    value = -float(
        np.multiply(votes.beside, log_below, out=log_below).sum()
        - np.multiply(votes.above, away, out=scratch).sum()
        + (votes.between * np.log(-np.expm1(-gaps))).sum()
    )
    # s(-away) is the derivative of log s(away)
    below = np.add(small, 1, out=scratch)
    np.copyto(small, 1.0, where=away < 0)
    up = np.divide(small, below, out=small)
    # minus the derivative by ``away``
    slope = np.subtract(votes.above, np.multiply(votes.beside, up, out=up), out=up)
    at_thresholds = slope.sum(axis=0)
    pull = votes.between / np.expm1(gaps)
    at_thresholds[:, 1:] -= pull
    at_thresholds[:, :-1] += pull
    first, second, third, fourth = np.moveaxis(slope, 2, 0)  # a sum of four is quicker by hand
    return Likelihood(value, -(first + second + third + fourth), at_thresholds)


def distribution(latent: Doubles, thresholds: Doubles) -> Doubles:
    """The chance of each star, samples x questions x 5."""
    from scipy.special import expit

    up_to = expit(thresholds - latent[..., None])
    beyond = expit(latent[..., None] - thresholds)
    gaps = np.diff(thresholds, axis=1)
    middle = up_to[..., 1:] * beyond[..., :-1] * -np.expm1(-gaps)
    return np.concatenate([up_to[..., :1], middle, beyond[..., -1:]], axis=-1)


def thresholds_of(free: Doubles) -> Doubles:
    """Ascending thresholds from the first one and the logarithms of the gaps, by question."""
    steps = np.concatenate([free[:, :1], np.exp(free[:, 1:])], axis=1)
    result: Doubles = steps.cumsum(axis=1)
    return result


def to_free(gradient: Doubles, free: Doubles) -> Doubles:
    """The derivative by the free numbers, from the one by the thresholds."""
    tail = gradient[:, ::-1].cumsum(axis=1)[:, ::-1]
    result: Doubles = tail.copy()
    result[:, 1:] *= np.exp(free[:, 1:])
    return result


def free_of_shares(shares: Doubles) -> Doubles:
    """The free numbers with which, at latent 0, stars have the given chances (all positive)."""
    up_to = shares.cumsum(axis=1)[:, :-1]
    cuts = np.log(up_to / (1 - up_to))
    return np.concatenate([cuts[:, :1], np.log(np.diff(cuts, axis=1))], axis=1)
