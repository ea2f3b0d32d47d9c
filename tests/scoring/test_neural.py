"""Losses equal literal loops in float64, and stacked training equals plain training one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.scoring import neural
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.neural import Member, Network, NeuralScorer, Table, perceptron
from pasta.scoring.settings import LossParams, ScorerParams
from pasta.seeds import generator
from tests.scoring.planted import SECOND_LOSS, planted, settings

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
    (neural.similarity_loss, cosine_in_loops),
    (neural.squared_error_loss, squares_in_loops),
    (neural.all_pairs_loss, pairs_in_loops),
    (neural.neighbours_loss, neighbours_in_loops),
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
        value = neural.scoring_loss(predicted, target, mask, weights, pairs)  # type: ignore[arg-type]
        expected = cosine_in_loops(p, m) + 0.01 * squares_in_loops(p, m) + 0.1 * ranking(p, m)
        assert float(value[0, 2]) == pytest.approx(expected, abs=1e-12)
    nothing = LossParams(similarity=0.0, squared_error=0.0, ranking=0.0)
    with pytest.raises(PastaError, match="all weights"):
        neural.scoring_loss(predicted, target, mask, nothing, "all")


def test_the_order_of_samples_does_not_matter_to_all_pairs() -> None:
    predicted, target, mask = batch(3, 40)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    again = neural.all_pairs_loss(predicted[:, order], target[:, order], mask[:, order])
    torch.testing.assert_close(again, neural.all_pairs_loss(predicted, target, mask))


def test_right_order_costs_nothing_and_equal_predictions_are_not_pushed() -> None:
    target, mask = torch.tensor([[1.0, 2, 3, 5]]), torch.ones(1, 4)
    for loss in (neural.all_pairs_loss, neural.neighbours_loss):
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


FIRST = settings(batch_size=32, epochs=12, evaluate_every=3)
SECOND = settings(
    hidden=(9, 5),
    batch_size=32,
    epochs=12,
    evaluate_every=5,
    learning_rate=0.003,
    weight_decay=0.01,
    loss=SECOND_LOSS,
)
both = pytest.mark.parametrize(("name", "own"), [("pasta-linear", FIRST), ("pasta-mlp", SECOND)])


def scorer(name: str) -> NeuralScorer:
    found = SCORERS[name]
    assert isinstance(found, NeuralScorer)
    return found


def without(one: Rated, share: float, seed: int) -> Rated:
    """The same with votes missing on single questions."""
    gone = np.random.default_rng(seed).random(one.labels.shape) < share
    return Rated(one.features, one.counts, np.where(gone, np.float32(np.nan), one.labels))


def question(one: Rated, number: int) -> Rated:
    part = slice(number, number + 1)
    return Rated(one.features, one.counts[:, part], one.labels[:, part])


def plain_loss(p: Tensor, m: Tensor, own: ScorerParams, name: str) -> Tensor:
    """The loss as one would write it with autograd."""
    if name == "pasta-linear":
        ranking = (-(p[:, None] - p) * (m[:, None] - m)).clamp(min=0).mean()
    else:
        order = (m[:-1] - m[1:]).sign()
        ranking = torch.nn.functional.margin_ranking_loss(p[:-1], p[1:], order, reduction="sum")
        ranking = ranking / max(len(order), 1)
    similarity = 1 - torch.cosine_similarity(p, m, dim=0)
    squares = torch.nn.functional.mse_loss(p, m)
    weights = own.loss
    return (
        weights.similarity * similarity
        + weights.squared_error * squares
        + weights.ranking * ranking
    )


def plain_training(
    train: Rated, validation: Rated, own: ScorerParams, seed: int, name: str
) -> tuple[list[float], list[Tensor]]:
    """One network and question in plain PyTorch: kappas and the best weights."""
    unit = name == "pasta-mlp"
    network = perceptron((train.features.shape[1], *own.hidden, 1), seed)
    network = network.append(torch.nn.ReLU()) if unit else network
    adam = torch.optim.Adam(network.parameters(), own.learning_rate, weight_decay=own.weight_decay)
    rows = np.flatnonzero(~np.isnan(train.labels[:, 0]))
    targets = torch.tensor((train.labels[:, 0] - 1) / 4 if unit else train.labels[:, 0])
    features, order = torch.tensor(train.features), generator(seed, "batches")
    kappas: list[float] = []
    best: list[Tensor] = []
    for epoch in range(1, own.epochs + 1):
        shuffled = order.permutation(rows)
        for start in range(0, len(rows), own.batch_size):
            pick = torch.tensor(shuffled[start : start + own.batch_size])
            loss = plain_loss(network(features[pick]), targets[pick], own, name)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        if epoch % own.evaluate_every == 0 or epoch == own.epochs:
            with torch.no_grad():
                given = network(torch.tensor(validation.features)).numpy()
            stars = 1 + 4 * given.clip(0, 1) if unit else given.clip(1, 5)
            kappa = float(quadratic_kappa(star_counts(validation.labels[:, 0], stars)))
            if not kappas or kappa > max(kappas):
                best = [one.detach().clone() for one in network.parameters()]
            kappas.append(kappa)
    return kappas, best


@both
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_stack_equals_plain_pytorch_one_by_one(
    name: str, own: ScorerParams, share: float
) -> None:
    sizes = (150, 97, 128)  # batches end differently, and one set has fewer of them
    train = [without(planted(size, 6, 2, seed), share, seed) for seed, size in enumerate(sizes)]
    validation = [planted(60, 6, 2, seed) for seed in range(3)]
    seeds = [5, 6, 7]
    found = scorer(name).fit_many(train, validation, own, seeds)
    for member, number in np.ndindex(3, 2):
        parts = question(train[member], number), question(validation[member], number)
        kappas, best = plain_training(*parts, own, seeds[member], name)
        assert_weights(found[member], number, best, 2e-5)
        looks = [*range(own.evaluate_every, own.epochs, own.evaluate_every), own.epochs]
        notes = found[member].about["notes"]
        assert notes["validation_qwk"][number] == pytest.approx(max(kappas), abs=1e-6)
        assert notes["best_epoch"][number] == looks[int(np.argmax(kappas))]


def assert_weights(network: Network, number: int, best: list[Tensor], tolerance: float) -> None:
    for layer in range(network.about["layers"]):
        weight, bias = network.get_buffer(f"weight_{layer}"), network.get_buffer(f"bias_{layer}")
        torch.testing.assert_close(weight[number].T, best[2 * layer], rtol=0, atol=tolerance)
        torch.testing.assert_close(bias[number], best[2 * layer + 1], rtol=0, atol=tolerance)


@both
def test_fitting_many_equals_fitting_each(name: str, own: ScorerParams) -> None:
    train = [planted(90, 6, 3, 0), planted(120, 6, 3, 1)]
    validation = [planted(40, 6, 3, 2), planted(50, 6, 3, 3)]
    together = scorer(name).fit_many(train, validation, own, [0, 1])
    for member, network in enumerate(together):
        alone = scorer(name).fit(train[member], validation[member], own, member)
        assert alone.about["notes"]["best_epoch"] == network.about["notes"]["best_epoch"]
        for name_, array in alone.state()[0].items():
            np.testing.assert_allclose(array, network.state()[0][name_], atol=1e-5)


def test_equal_calls_give_equal_bits() -> None:
    train, validation = planted(100, 6, 2), planted(40, 6, 2, 1)
    first, again = (scorer("pasta-linear").fit(train, validation, FIRST, 3) for _ in range(2))
    assert torch.equal(first.get_buffer("weight_0"), again.get_buffer("weight_0"))


def test_the_order_of_samples_within_a_batch_changes_nothing_but_rounding() -> None:
    train, validation = planted(100, 6, 2), planted(40, 6, 2, 1)
    own = settings(batch_size=100, epochs=20)
    order = np.random.default_rng(0).permutation(100)
    first = scorer("pasta-linear").fit(train, validation, own, 3)
    again = scorer("pasta-linear").fit(train.at(order), validation, own, 3)
    one, other = (found.get_buffer("weight_0") for found in (first, again))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def test_an_epoch_shows_every_sample_once_and_pads_what_is_shorter() -> None:
    sets = [planted(7, 3, 1, 0), planted(5, 3, 1, 1)]
    members = [Member(one, one, (0,), 0) for one in sets]
    rows = [np.arange(7), np.arange(5)]
    batches = list(Table(members, False, torch.device("cpu")).batches(rows, 4))
    assert [batch.mask[:, 0].sum(1).tolist() for batch in batches] == [[4, 4], [3, 1]]
    for number, one in enumerate(sets):
        seen = [batch.features[number][batch.mask[number, 0] > 0] for batch in batches]
        torch.testing.assert_close(torch.cat(seen), torch.from_numpy(one.features))
        given = [batch.targets[number, 0][batch.mask[number, 0] > 0] for batch in batches]
        torch.testing.assert_close(torch.cat(given), torch.from_numpy(one.labels[:, 0]))


def test_undefined_kappas_keep_the_last_weights_and_say_so() -> None:
    train, one_star = planted(100, 6, 1), planted(40, 6, 1, 1)
    one_star = Rated(one_star.features * 0, one_star.counts, np.full((40, 1), 1, np.float32))
    own = settings(epochs=7, learning_rate=1e-6)
    found = scorer("pasta-linear").fit(train, one_star, own, 0)
    assert found.about["notes"] == {"best_epoch": [7], "validation_qwk": [None]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.full((30, 2), np.nan, np.float32)}, "question 1 of 2 has no votes"),
        ({"features": np.full((30, 6), np.nan, np.float32)}, "30 of 30 samples.*NaN"),
        ({"features": np.zeros((30, 5), np.float32)}, r"\(30, 5\), expected \(samples, 6\)"),
    ],
)
def test_sets_that_cannot_be_learned_are_refused(change: dict[str, Any], message: str) -> None:
    good = planted(30, 6, 2)
    bad = Rated(**{**vars(good), **change})
    with pytest.raises(PastaError, match=message):
        scorer("pasta-linear").fit_many([good, good], [good, bad], FIRST, [0, 1])
    with pytest.raises(PastaError, match="as many training sets"):
        scorer("pasta-linear").fit_many([good], [good, good], FIRST, [0])
