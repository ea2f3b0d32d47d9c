"""Stacked training equals plain training, one network at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.neural import Member, Network, NeuralScorer, Table, perceptron
from pasta.scoring.settings import ScorerParams
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
    members = [Member(one, one, 0, 0) for one in sets]
    rows = [np.arange(7), np.arange(5)]
    batches = list(Table(members, False, torch.device("cpu")).batches(rows, 4))
    assert [batch.mask.sum(1).tolist() for batch in batches] == [[4, 4], [3, 1]]
    for number, one in enumerate(sets):
        seen = [batch.features[number][batch.mask[number] > 0] for batch in batches]
        torch.testing.assert_close(torch.cat(seen), torch.from_numpy(one.features))
        given = [batch.targets[number][batch.mask[number] > 0] for batch in batches]
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
