"""Losses equal literal loops in float64, and their slopes are their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from pasta.params.scoring import LossParams
from pasta.scoring import losses
from pasta.scoring.losses import Term

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


def batch(*shape: int) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(0)
    predicted = 3 + torch.randn(*shape, generator=rng, dtype=torch.float64)
    return predicted, torch.randint(1, 6, shape, generator=rng).double()


@each
def test_values_equal_the_formulas(loss: Callable[..., Term], literal: Literal_) -> None:
    predicted, target = batch(2, 3, 17)
    values, _ = loss(predicted, target)
    assert values.shape == (2, 3)
    for value, p, m in zip(
        values.flatten(), predicted.flatten(0, 1), target.flatten(0, 1), strict=True
    ):
        assert float(value) == pytest.approx(literal(p.tolist(), m.tolist()), abs=1e-12)


@each
def test_masked_samples_count_for_nothing(loss: Callable[..., Term], literal: Literal_) -> None:
    predicted, target = batch(2, 3, 17)
    mask = (torch.arange(17) < torch.tensor([17, 9])[:, None, None]).double()
    values, slopes = loss(predicted, target, mask)
    shorter_value, shorter_slope = loss(predicted[1, :, :9], target[1, :, :9])
    whole_value, whole_slope = loss(predicted[0], target[0])
    torch.testing.assert_close(values, torch.stack([whole_value, shorter_value]))
    torch.testing.assert_close(slopes[1, :, :9], shorter_slope)
    torch.testing.assert_close(slopes[0], whole_slope)
    assert not slopes[1, :, 9:].any()


class Differentiable(torch.autograd.Function):
    """A term as autograd sees it, so that gradcheck compares its slope with differences."""

    @staticmethod
    def forward(ctx: Any, predicted: Tensor, target: Tensor, mask: Tensor, loss: Any) -> Tensor:
        value, slope = loss(predicted, target, mask)
        ctx.save_for_backward(slope)
        return value  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return upstream.unsqueeze(-1) * ctx.saved_tensors[0], None, None, None


@each
@pytest.mark.parametrize("masked", [False, True])
def test_slopes_are_derivatives(loss: Callable[..., Term], literal: Literal_, masked: bool) -> None:
    predicted, target = batch(2, 2, 11)
    mask = (torch.arange(11) < torch.tensor([11, 6])[:, None, None]).double() if masked else None
    inputs: Any = (predicted.requires_grad_(), target, mask, loss)
    assert torch.autograd.gradcheck(Differentiable.apply, inputs)


def test_the_sum_is_weighted() -> None:
    predicted, target = batch(2, 3, 17)
    weights = LossParams(similarity=1.0, squared_error=0.01, ranking=0.1)
    for pairs, ranking in (("all", pairs_in_loops), ("neighbours", neighbours_in_loops)):
        value, _ = losses.scoring_loss(predicted, target, weights, pairs)  # type: ignore[arg-type]
        p, m = predicted[1, 2].tolist(), target[1, 2].tolist()
        expected = cosine_in_loops(p, m) + 0.01 * squares_in_loops(p, m) + 0.1 * ranking(p, m)
        assert float(value[1, 2]) == pytest.approx(expected, abs=1e-12)


def test_the_order_of_samples_does_not_matter_to_all_pairs() -> None:
    predicted, target = batch(3, 40)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    value, slope = losses.all_pairs_loss(predicted, target)
    again, moved = losses.all_pairs_loss(predicted[:, order], target[:, order])
    torch.testing.assert_close(again, value)
    torch.testing.assert_close(moved, slope[:, order])


def test_right_order_costs_nothing_and_equal_predictions_are_not_pushed() -> None:
    target = torch.tensor([[1.0, 2, 3, 5]])
    for loss in (losses.all_pairs_loss, losses.neighbours_loss):
        value, slope = loss(target * 0.1 + 7, target)
        assert not value.any()
        assert not slope.any()
        value, slope = loss(torch.full((1, 4), 2.0), target)
        assert not value.any()
        assert not slope.any()


def test_all_zero_predictions_and_batches_of_one_give_numbers() -> None:
    target = torch.tensor([[1.0, 2, 3]])
    for loss, _ in CASES:
        for size in (3, 1):
            value, slope = loss(torch.zeros(1, size), target[:, :size])
            assert torch.isfinite(value).all()
            assert torch.isfinite(slope).all()
