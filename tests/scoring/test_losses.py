"""Losses equal literal loops in float64, and autograd finds their slopes everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.scoring import neural as losses
from pasta.scoring.settings import LossParams

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
Literal_ = Callable[[list[float], list[float]], float]


def cosine_in_loops(p: list[float], m: list[float]) -> float:
    """Eq. 10."""
    product = sum(a * b for a, b in zip(p, m, strict=True))
    return 1 - product / math.sqrt(sum(a * a for a in p)) / math.sqrt(sum(b * b for b in m))


def squares_in_loops(p: list[float], m: list[float]) -> float:
    """Eq. 11."""
    return sum((a - b) ** 2 for a, b in zip(p, m, strict=True)) / len(p)


def pairs_in_loops(p: list[float], m: list[float]) -> float:
    """Eq. 12."""
    places = range(len(p))
    wrong = [max(0.0, -(p[i] - p[j]) * (m[i] - m[j])) for i in places for j in places]
    return sum(wrong) / len(wrong)


def neighbours_in_loops(p: list[float], m: list[float]) -> float:
    """Margin ranking of P2's release."""
    total = 0.0
    for i in range(len(p) - 1):
        order = (m[i] > m[i + 1]) - (m[i] < m[i + 1])
        total += max(0.0, -order * (p[i] - p[i + 1]))
    return total / (len(p) - 1)


CASES = [
    (losses.similarity_loss, cosine_in_loops),
    (losses.squared_error_loss, squares_in_loops),
    (losses.all_pairs_loss, pairs_in_loops),
    (losses.neighbours_loss, neighbours_in_loops),
]
each = pytest.mark.parametrize(("loss", "literal"), CASES)


def batch(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
    """Predictions, targets and a mask that leaves half of the second model's batch out."""
    rng = torch.Generator().manual_seed(0)
    predicted = 3 + torch.randn(*shape, generator=rng, dtype=torch.float64)
    mask = torch.ones(shape, dtype=torch.float64)
    mask[1, ..., shape[-1] // 2 :] = 0
    return predicted, torch.randint(1, 6, shape, generator=rng).double(), mask


@each
def test_values_equal_the_formulas_without_the_padding(loss: Loss, literal: Literal_) -> None:
    parts = batch(2, 3, 17)
    values = loss(*parts)
    assert values.shape == (2, 3)
    for value, p, m, there in zip(
        values.flatten(), *(part.flatten(0, 1) for part in parts), strict=True
    ):
        expected = literal(p[there > 0].tolist(), m[there > 0].tolist())
        assert float(value) == pytest.approx(expected, abs=1e-12)


@each
def test_slopes_are_derivatives_and_padding_has_none(loss: Loss, literal: Literal_) -> None:
    predicted, target, mask = batch(2, 2, 11)
    inputs: Any = (predicted.requires_grad_(), target, mask)
    assert torch.autograd.gradcheck(loss, inputs)
    (slope,) = torch.autograd.grad(loss(*inputs).sum(), predicted)
    assert not slope[mask == 0].any()


def test_the_sum_is_weighted() -> None:
    predicted, target, mask = batch(2, 3, 17)
    weights = LossParams(similarity=1.0, squared_error=0.01, ranking=0.1)
    p, m = predicted[0, 2].tolist(), target[0, 2].tolist()
    for pairs, ranking in (("all", pairs_in_loops), ("neighbours", neighbours_in_loops)):
        value = losses.scoring_loss(predicted, target, mask, weights, pairs)  # type: ignore[arg-type]
        expected = cosine_in_loops(p, m) + 0.01 * squares_in_loops(p, m) + 0.1 * ranking(p, m)
        assert float(value[0, 2]) == pytest.approx(expected, abs=1e-12)
    nothing = LossParams(similarity=0.0, squared_error=0.0, ranking=0.0)
    with pytest.raises(PastaError, match="all weights"):
        losses.scoring_loss(predicted, target, mask, nothing, "all")


def test_the_order_of_samples_does_not_matter_to_all_pairs() -> None:
    predicted, target, mask = batch(3, 40)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    again = losses.all_pairs_loss(predicted[:, order], target[:, order], mask[:, order])
    torch.testing.assert_close(again, losses.all_pairs_loss(predicted, target, mask))


def test_right_order_costs_nothing_and_equal_predictions_are_not_pushed() -> None:
    target, mask = torch.tensor([[1.0, 2, 3, 5]]), torch.ones(1, 4)
    for loss in (losses.all_pairs_loss, losses.neighbours_loss):
        for given in (target * 0.1 + 7, torch.full((1, 4), 2.0)):
            given.requires_grad_()
            value = loss(given, target, mask)
            assert not value.any()
            assert not torch.autograd.grad(value.sum(), given)[0].any()


@each
@pytest.mark.parametrize("size", [3, 1])
def test_all_zero_predictions_and_batches_of_one_give_numbers(
    loss: Loss, literal: Literal_, size: int
) -> None:
    target = torch.tensor([[1.0, 2, 3]])[:, :size]
    given = torch.zeros(1, size, requires_grad=True)
    value = loss(given, target, torch.ones(1, size))
    assert torch.isfinite(value).all()
    assert torch.isfinite(torch.autograd.grad(value.sum(), given)[0]).all()
