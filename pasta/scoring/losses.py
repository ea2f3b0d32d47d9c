"""The three terms of the scoring loss, for many models at once.

Predictions, targets and masks are (..., batch): every model on the leading axes has a batch and a
loss of its own. The mask (1 or 0) leaves out the padding of shorter batches. Equations are those of
the first version of doi:10.48550/arXiv.2411.02470.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from pasta.errors import PastaError
from pasta.scoring.settings import LossParams

Pairs = Literal["all", "neighbours"]


def similarity_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Eq. 10: one minus the cosine of the angle between predictions and targets."""
    return 1 - functional.cosine_similarity(predicted * mask, target * mask, dim=-1)


def squared_error_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Eq. 11: the mean squared difference."""
    return ((predicted - target) ** 2 * mask).sum(-1) / mask.sum(-1)


def all_pairs_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Eq. 12: the mean of ``max(0, -(p_i - p_j)(m_i - m_j))`` over all ordered pairs.

    The number of pairs is the square of the batch: a sample with itself and ties count as pairs
    that are in order.
    """
    rise = predicted[..., None, :] - predicted[..., :, None]
    better = (target[..., :, None] - target[..., None, :]) * mask[..., :, None] * mask[..., None, :]
    return (rise * better).relu().sum((-2, -1)) / mask.sum(-1) ** 2


def neighbours_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """The released second version: margin ranking with margin 0 over neighbours in the batch.

    The mean of ``max(0, -(p_i - p_(i+1)) sign(m_i - m_(i+1)))``; a batch of one has no neighbours
    and no loss.
    """
    both = mask[..., 1:] * mask[..., :-1]
    order = target.diff(dim=-1).sign() * both
    return (-predicted.diff(dim=-1) * order).relu().sum(-1) / both.sum(-1).clamp(min=1)


def scoring_loss(
    predicted: Tensor, target: Tensor, mask: Tensor, weights: LossParams, pairs: Pairs
) -> Tensor:
    """Eq. 3: the weighted sum of the three terms; a term of weight zero is not computed."""
    ranking = all_pairs_loss if pairs == "all" else neighbours_loss
    terms = (
        (weights.similarity, similarity_loss),
        (weights.squared_error, squared_error_loss),
        (weights.ranking, ranking),
    )
    parts = [weight * term(predicted, target, mask) for weight, term in terms if weight]
    if not parts:
        raise PastaError("all weights of the scoring loss are zero, expected at least one above")
    return torch.stack(parts).sum(0)
