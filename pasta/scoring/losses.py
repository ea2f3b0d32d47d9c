"""The three terms of the scoring loss with their slopes, for many models at once.

Predictions and targets are (..., batch): every model on the leading axes has a batch of its own,
and gets a loss of its own. A mask (1 or 0) leaves out the padding of shorter batches. Each term
returns its value (...) and its slope in the predictions (..., batch) in closed form: batches are
small, and most of the time of a step would be autograd's bookkeeping.
Equations are those of the first version of doi:10.48550/arXiv.2411.02470.
"""

from __future__ import annotations

from functools import lru_cache
from threading import get_ident
from typing import Literal

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.params.scoring import LossParams

Pairs = Literal["all", "neighbours"]
Term = tuple[Tensor, Tensor]

_SMALLEST_LENGTH = 1e-8
_PAIRS_AT_ONCE = 2**17  # a matrix of pairs that stays in the cache


def similarity_loss(predicted: Tensor, target: Tensor, mask: Tensor | None = None) -> Term:
    """Eq. 10: one minus the cosine of the angle between predictions and targets."""
    if mask is not None:
        predicted, target = predicted * mask, target * mask
    squared = (predicted * predicted).sum(-1, keepdim=True)
    lengths = (squared * (target * target).sum(-1, keepdim=True)).sqrt_()
    lengths.clamp_(min=_SMALLEST_LENGTH)
    cosine = (predicted * target).sum(-1, keepdim=True) / lengths
    along = cosine / squared.clamp_(min=_SMALLEST_LENGTH**2)
    return 1 - cosine.squeeze(-1), predicted * along - target / lengths


def squared_error_loss(predicted: Tensor, target: Tensor, mask: Tensor | None = None) -> Term:
    """Eq. 11: the mean squared difference."""
    difference = predicted - target
    number: Tensor | int = predicted.shape[-1]
    if mask is not None:
        difference = difference * mask
        number = mask.sum(-1, keepdim=True)
    slope = difference * (2 / number)
    return (difference * slope).sum(-1) / 2, slope


def all_pairs_loss(predicted: Tensor, target: Tensor, mask: Tensor | None = None) -> Term:
    """Eq. 12: the mean of ``max(0, -(p_i - p_j)(m_i - m_j))`` over all ordered pairs.

    The number of pairs is the square of the batch: a sample with itself and ties count as pairs
    that are in order. The loss is piecewise linear in the predictions and zero at zero, so its
    value is the product of predictions and slope.
    """
    size = predicted.shape[-1]
    number: Tensor | int = size
    if mask is not None:
        number = mask.sum(-1, keepdim=True)
        mask = mask.expand_as(predicted)
    tensors = (predicted, target) if mask is None else (predicted, target, mask)
    if predicted.numel() * size <= _PAIRS_AT_ONCE:
        rise = _rise(*tensors)
    else:
        few = max(1, _PAIRS_AT_ONCE // size**2)
        pieces = (torch.split(one.reshape(-1, size), few) for one in tensors)
        rise = torch.cat([_rise(*piece) for piece in zip(*pieces, strict=True)])
    slope = rise.view(predicted.shape) * (-2 / number**2)
    return (slope * predicted).sum(-1), slope


def _rise(predicted: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """How far each sample should rise: the sum of ``m_i - m_j`` over all j in wrong order."""
    shape = (*predicted.shape, predicted.shape[-1])
    owner = (get_ident(), torch.is_inference_mode_enabled())
    better, behind = _scratch(shape, predicted.dtype, owner)
    torch.sub(target.unsqueeze(-1), target.unsqueeze(-2), out=better)
    torch.sub(predicted.unsqueeze(-2), predicted.unsqueeze(-1), out=behind)
    if mask is not None:
        better.mul_(mask.unsqueeze(-1)).mul_(mask.unsqueeze(-2))
    # the backward pass of ReLU: the first where the second is above zero, in one sweep
    behind.mul_(better)
    torch.ops.aten.threshold_backward.grad_input(better, behind, 0, grad_input=better)
    return better.sum(-1)


@lru_cache(maxsize=8)
def _scratch(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    owner: tuple[int, bool],  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Two matrices of pairs to work in: fetching fresh memory takes longer than the sums."""
    return torch.empty(shape, dtype=dtype), torch.empty(shape, dtype=dtype)


def neighbours_loss(predicted: Tensor, target: Tensor, mask: Tensor | None = None) -> Term:
    """The released second version: margin ranking with margin 0 over neighbours in the batch.

    The mean of ``max(0, -(p_i - p_(i+1)) sign(m_i - m_(i+1)))``; a batch of one has no neighbours
    and no loss.
    """
    order = target.diff(dim=-1).sign_()
    number: Tensor | int = max(order.shape[-1], 1)
    if mask is not None:
        both = mask[..., 1:] * mask[..., :-1]
        order = order * both
        number = both.sum(-1, keepdim=True).clamp_(min=1)
    rise = predicted.diff(dim=-1)
    wrong = (rise * order).sign_().clamp_(max=0)  # -1 where the order is wrong, else 0
    slope_of_rise = order * wrong / number
    slope = torch.nn.functional.pad(slope_of_rise, (1, 0))
    slope[..., :-1] -= slope_of_rise
    return (slope_of_rise * rise).sum(-1), slope


def scoring_loss(
    predicted: Tensor,
    target: Tensor,
    weights: LossParams,
    pairs: Pairs,
    mask: Tensor | None = None,
) -> Term:
    """Eq. 3: the weighted sum of the three terms; a term of weight zero is not computed."""
    ranking = all_pairs_loss if pairs == "all" else neighbours_loss
    terms = (
        (weights.similarity, similarity_loss),
        (weights.squared_error, squared_error_loss),
        (weights.ranking, ranking),
    )
    parts = [(weight, *term(predicted, target, mask)) for weight, term in terms if weight]
    if not parts:
        raise PastaError("all weights of the scoring loss are zero, expected at least one above")
    (weight, value, slope), *others = parts
    value, slope = value * weight, slope * weight
    for weight, own_value, own_slope in others:
        value.add_(own_value, alpha=weight)
        slope.add_(own_slope, alpha=weight)
    return value, slope
