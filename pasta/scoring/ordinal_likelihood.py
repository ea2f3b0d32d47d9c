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
class Likelihood:
    """Negative logarithm of the likelihood and its derivatives."""

    value: float
    latent: Doubles  # samples x questions
    thresholds: Doubles  # questions x 4


def negative_log_likelihood(latent: Doubles, thresholds: Doubles, counts: Doubles) -> Likelihood:
    """Of vote counts (samples x questions x 5), without the multinomial constant.

    ``latent`` is samples x questions, ``thresholds`` questions x 4 and ascending. A sample without
    votes on a question says nothing about it.
    """
    below, above = counts[..., :-1], counts[..., 1:]
    away = thresholds - latent[..., None]
    # log s(x) = min(x, 0) - log(1 + exp(-|x|)), and log s(-x) = log s(x) - x
    small = np.exp(-np.abs(away))
    log_below = np.minimum(away, 0) - np.log1p(small)
    gaps = np.diff(thresholds, axis=1)
    between = counts[..., 1:-1].sum(axis=0)  # questions x 3
    value = -float(
        ((below + above) * log_below).sum()
        - (above * away).sum()
        + (between * np.log(-np.expm1(-gaps))).sum()
    )
    # s(-away) is the derivative of log s(away)
    up = np.where(away >= 0, small, 1.0) / (1 + small)
    slope = above - (below + above) * up  # minus the derivative by ``away``
    at_thresholds = slope.sum(axis=0)
    pull = between / np.expm1(gaps)
    at_thresholds[:, 1:] -= pull
    at_thresholds[:, :-1] += pull
    return Likelihood(value, -slope.sum(axis=2), at_thresholds)


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
