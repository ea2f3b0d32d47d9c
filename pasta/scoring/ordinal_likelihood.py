"""The cumulative-link (ordered logit) model of votes, and its likelihood.

With the logistic function ``s`` the chance that a vote is at most ``k`` stars is
``s(threshold_k - latent)`` (McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x). For a star
between two thresholds ``a < b`` ::

    s(b - latent) - s(a - latent) = s(b - latent) * s(latent - a) * (1 - exp(a - b))

so the logarithm of the likelihood is a sum over thresholds, in which a vote for a star only meets
the two thresholds beside it, and a term of the gaps alone. That is exact where the difference of
two sigmoids is not, and concave.

``latent`` is samples x questions, ``thresholds`` questions x 4 and ascending.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

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
