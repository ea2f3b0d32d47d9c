"""Stacked training equals plain training, one network at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.params.scoring import ScorerParams
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.neural import NeuralScorer
from pasta.scoring.stacking import first_weights, plan
from pasta.seeds import generator
from tests.scoring.planted import SECOND_LOSS, planted, settings

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
) -> tuple[list[float], list[float], list[Tensor]]:
    """One network and question in plain PyTorch: losses, kappas and the best weights."""
    unit = name == "pasta-mlp"
    modules: list[torch.nn.Module] = []
    for layer in first_weights((train.features.shape[1], *own.hidden, 1), seed):
        linear = torch.nn.Linear(len(layer) - 1, layer.shape[1])
        linear.weight.data, linear.bias.data = torch.tensor(layer[:-1].T), torch.tensor(layer[-1])
        modules += [linear, torch.nn.ReLU()]
    network = torch.nn.Sequential(*(modules if unit else modules[:-1]))
    adam = torch.optim.Adam(network.parameters(), own.learning_rate, weight_decay=own.weight_decay)
    rows = np.flatnonzero(~np.isnan(train.labels[:, 0]))
    targets = torch.tensor((train.labels[:, 0] - 1) / 4 if unit else train.labels[:, 0])
    features, order = torch.tensor(train.features), generator(seed, "batches")
    losses: list[float] = []
    kappas: list[float] = []
    best: list[Tensor] = []
    for epoch in range(1, own.epochs + 1):
        total = 0.0
        shuffled = order.permutation(rows)
        for start in range(0, len(rows), own.batch_size):
            pick = torch.tensor(shuffled[start : start + own.batch_size])
            loss = plain_loss(network(features[pick])[:, 0], targets[pick], own, name)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            total += loss.item() * len(pick)
        losses.append(total / len(rows))
        if epoch % own.evaluate_every == 0 or epoch == own.epochs:
            with torch.no_grad():
                given = network(torch.tensor(validation.features))[:, 0].numpy()
            stars = 1 + 4 * given.clip(0, 1) if unit else given.clip(1, 5)
            kappa = float(quadratic_kappa(star_counts(validation.labels[:, 0], stars)))
            if not kappas or kappa > max(kappas):
                best = [one.detach().clone() for one in network.parameters()]
            kappas.append(kappa)
    return losses, kappas, best


@both
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_stack_equals_plain_pytorch_one_by_one(
    name: str, own: ScorerParams, share: float
) -> None:
    sizes = (150, 97, 128)  # batches end differently, and one set has fewer of them
    train = [without(planted(size, 6, 2, seed), share, seed) for seed, size in enumerate(sizes)]
    validation = [planted(60, 6, 2, seed) for seed in range(3)]
    seeds = [5, 6, 7]
    found = scorer(name).train_many(train, validation, own, seeds)
    for member in range(3):
        for number in range(2):
            losses, kappas, best = plain_training(
                question(train[member], number),
                question(validation[member], number),
                own,
                seeds[member],
                name,
            )
            np.testing.assert_allclose(found.losses[:, member, number], losses, rtol=1e-4)
            np.testing.assert_allclose(found.kappas[:, member, number], kappas, atol=1e-6)
            network = found.networks[member]
            for layer, (weight, bias) in enumerate(
                zip(network.weights, network.biases, strict=True)
            ):
                np.testing.assert_allclose(weight[number].T, best[2 * layer], atol=2e-5)
                np.testing.assert_allclose(bias[number], best[2 * layer + 1], atol=2e-5)


@both
def test_fitting_many_equals_fitting_each(name: str, own: ScorerParams) -> None:
    train = [planted(90, 6, 3, 0), planted(120, 6, 3, 1)]
    validation = [planted(40, 6, 3, 2), planted(50, 6, 3, 3)]
    together = scorer(name).fit_many(train, validation, own, [0, 1])
    for member, network in enumerate(together):
        alone = scorer(name).fit(train[member], validation[member], own, member)
        assert alone.notes["best_epoch"] == network.notes["best_epoch"]
        for one, other in zip(alone.weights, network.weights, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_equal_calls_give_equal_bits() -> None:
    train, validation = planted(100, 6, 2), planted(40, 6, 2, 1)
    first, again = (scorer("pasta-linear").fit(train, validation, FIRST, 3) for _ in range(2))
    assert np.array_equal(first.weights[0], again.weights[0])


def test_the_order_of_samples_within_a_batch_changes_nothing_but_rounding() -> None:
    train, validation = planted(100, 6, 2), planted(40, 6, 2, 1)
    own = settings(batch_size=100, epochs=20)
    order = np.random.default_rng(0).permutation(100)
    first = scorer("pasta-linear").fit(train, validation, own, 3)
    again = scorer("pasta-linear").fit(train.at(order), validation, own, 3)
    np.testing.assert_allclose(first.weights[0], again.weights[0], atol=1e-5)


def test_a_plan_shows_every_sample_once_and_lets_small_groups_wait() -> None:
    batches = plan([7, 6, 3], 3)
    assert [batch.groups for batch in batches] == [3, 2, 1]
    assert [batch.columns for batch in batches] == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert all(batch.mask is None for batch in batches)
    masked = plan([7, 5], 4)
    assert masked[0].mask is None
    assert masked[1].mask is not None
    assert masked[1].mask[:, 0].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_the_best_look_is_kept() -> None:
    train, validation = planted(100, 6, 1), planted(40, 6, 1, 1)
    found = scorer("pasta-linear").train_many([train], [validation], FIRST, [0])
    assert found.kappas.shape == (4, 1, 1)
    kappas = found.kappas[:, 0, 0]
    assert found.networks[0].notes["best_epoch"] == [3 * (int(kappas.argmax()) + 1)]
    assert found.networks[0].notes["validation_qwk"] == [kappas.max()]
    stars = found.networks[0].predict(validation.features).stars
    again = quadratic_kappa(star_counts(validation.labels[:, 0], stars[:, 0]))
    assert float(again) == pytest.approx(kappas.max())


def test_undefined_kappas_keep_the_last_weights_and_say_so() -> None:
    train, one_star = planted(100, 6, 1), planted(40, 6, 1, 1)
    one_star = Rated(one_star.features * 0, one_star.counts, np.full((40, 1), 1, np.float32))
    own = settings(epochs=7, learning_rate=1e-6)
    found = scorer("pasta-linear").fit(train, one_star, own, 0)
    assert found.notes == {"best_epoch": [7], "validation_qwk": [None]}


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
