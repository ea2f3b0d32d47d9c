"""The networks of the ordinal scorer against literal formulas, and what must not change them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pasta.errors import PastaError
from pasta.scoring import ordinal
from pasta.scoring.base import Predicted, Rated
from pasta.scoring.ordinal import (
    MEMBER_ARRAYS,
    Doubles,
    Member,
    OrdinalScorer,
    batches,
    mean_chances,
    standardise,
    train_ensembles,
)
from pasta.seeds import generator
from tests.scoring.ordinal_votes import draw_rated, modes, planted_weights, settings, star_chances
from tests.scoring.test_ordinal_fit import literal_negative_log_likelihood

Arrays = dict[str, Any]


def _drawn(seed: int, samples: int = 90) -> Rated:
    return draw_rated(seed, samples, planted_weights(seed, 4, 2))


def _assert_close(one: Arrays, other: Arrays, tolerance: float) -> None:
    assert set(one) == set(MEMBER_ARRAYS)
    for name in MEMBER_ARRAYS:
        np.testing.assert_allclose(one[name], other[name], atol=tolerance)


def _chances(arrays: Arrays, features: Doubles) -> Any:
    parts = [torch.from_numpy(arrays[name]) for name in MEMBER_ARRAYS]
    return mean_chances(torch.from_numpy(features), parts).numpy()


def test_a_members_loss_is_the_literal_likelihood_and_autograd_finds_its_slopes() -> None:
    rated, random = _drawn(1, 5), generator(1, "test", "member")
    member = Member(rated, 3, random).double()
    member.second.data = torch.from_numpy(random.standard_normal((3, 2)))
    features = torch.from_numpy(random.standard_normal((5, 4)))
    counts = torch.from_numpy(rated.counts.astype(np.float64))
    found = member(features, counts)
    first, bias, second, free = (part.detach().numpy() for part in member.parameters())
    latent = np.maximum(features.numpy() @ first + bias, 0) @ second
    cuts = np.column_stack([free[:, 0], np.exp(free[:, 1:])]).cumsum(axis=1)
    expected = literal_negative_log_likelihood(latent, cuts, counts.numpy())
    assert found.item() == pytest.approx(expected, rel=1e-12)

    def loss(*weights: torch.Tensor) -> torch.Tensor:
        named = dict(zip(dict(member.named_parameters()), weights, strict=True))
        given: torch.Tensor = torch.func.functional_call(member, named, (features, counts))
        return given

    assert torch.autograd.gradcheck(loss, tuple(member.parameters()))


def test_chances_are_the_mean_of_the_members() -> None:
    random = generator(2, "test", "chances")
    first, bias, second = (
        random.standard_normal(shape).astype(np.float32) for shape in ((3, 4, 5), (3, 5), (3, 5, 2))
    )
    cuts = np.sort(random.standard_normal((3, 2, 4)), axis=2)
    features = random.standard_normal((6, 4))
    found = _chances(dict(zip(MEMBER_ARRAYS, (first, bias, second, cuts), strict=True)), features)
    single = [
        star_chances(np.maximum(features @ first[m] + bias[m], 0) @ second[m], cuts[m])
        for m in range(3)
    ]
    np.testing.assert_allclose(found, np.mean(single, axis=0), rtol=1e-12)


def test_stacking_of_sets_and_members_changes_nothing_but_rounding() -> None:
    sets = [_drawn(3, 90), _drawn(4, 61)]
    together = train_ensembles(sets, settings(), [5, 6])
    for one, seed, stacked in zip(sets, (5, 6), together, strict=True):
        alone = train_ensembles([one], settings(), [seed])[0]
        _assert_close(alone, stacked, 2e-4)
        fewer = train_ensembles([one], settings(members=2), [seed])[0]
        _assert_close(fewer, {name: array[:2] for name, array in stacked.items()}, 2e-4)
    start = train_ensembles(sets, settings(steps=1), [5, 6])[0]  # what was learned is far more
    assert np.abs(start["member_second"] - together[0]["member_second"]).max() > 0.05


def test_same_seed_same_networks_and_another_seed_others() -> None:
    rated = _drawn(7)
    first, again, other = (train_ensembles([rated], settings(), [seed])[0] for seed in (1, 1, 2))
    _assert_close(first, again, 0)
    assert np.abs(first["member_first"] - other["member_first"]).max() > 0.1


def test_order_of_samples_does_not_matter_if_the_batches_hold_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rated = _drawn(8)
    expected = train_ensembles([rated], settings(), [1])[0]
    order = generator(8, "test", "order").permutation(len(rated))
    rows = np.argsort(order)[batches(len(rated), settings(), 1)]
    monkeypatch.setattr(ordinal, "batches", lambda *_: rows)
    _assert_close(train_ensembles([rated.at(order)], settings(), [1])[0], expected, 2e-4)


def test_batches_go_through_all_samples_before_they_repeat() -> None:
    rows = batches(50, settings(steps=7, batch_size=20), 0)
    assert rows.shape == (7, 20)
    for start in (0, 50):
        np.testing.assert_array_equal(np.sort(rows.ravel()[start : start + 50]), np.arange(50))
    assert (rows.ravel()[:50] != rows.ravel()[50:100]).any()


def test_a_question_without_votes_keeps_the_shares_it_started_from() -> None:
    rated = _drawn(9)
    rated.counts[:, 1] = 0
    members = train_ensembles([rated], settings(), [1])[0]
    found = _chances(members, standardise(rated.features)(rated.features))
    np.testing.assert_allclose(found[:, 1], 0.2, atol=1e-6)
    assert np.ptp(found[:, 0, 4]) > 0.1


def _bent(seed: int, samples: int) -> Rated:
    """Votes that follow the size of a feature, whatever its sign: nothing linear helps."""
    rated = draw_rated(seed, samples, np.zeros((4, 2)))
    latent = 3 * (np.abs(rated.features[:, [0, 1]]) - 0.8).astype(np.float64)
    cuts = np.tile([-1.5, -0.5, 0.5, 1.5], (2, 1))
    chances = star_chances(latent, cuts)
    counts = generator(seed, "test", "bent").multinomial(5, chances).astype(np.int64)
    return Rated(rated.features, counts, modes(counts))


def test_networks_find_what_a_linear_model_cannot() -> None:
    train, validation, test = _bent(10, 500), _bent(11, 150), _bent(12, 300)
    errors = []
    for share in (0.0, 0.5):
        wanted = settings(
            share=share, hidden=32, steps=200, expansion=0.0, strengths=(0.01,), tolerance=1e-4
        )
        fitted = OrdinalScorer().fit(train, validation, wanted, 0)
        found = fitted.predict(test.features)
        errors.append(((found.stars - test.labels) ** 2).mean(axis=0))
        assert found.distribution is not None
        np.testing.assert_allclose(found.distribution.sum(axis=2), 1, atol=1e-5)
    assert (errors[1] < 0.7 * errors[0]).all()


def _assert_same(one: Predicted, other: Predicted, tolerance: float) -> None:
    for name in ("stars", "distribution", "low", "high"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance)


def test_fit_many_gives_what_fit_gives() -> None:
    trains, validations = [_drawn(13, 80), _drawn(15, 70)], [_drawn(14, 40), _drawn(16, 50)]
    scorer, wanted = OrdinalScorer(), settings(share=0.5)
    together = scorer.fit_many(trains, validations, wanted, [1, 2])
    for train, validation, seed, found in zip(trains, validations, (1, 2), together, strict=True):
        alone = scorer.fit(train, validation, wanted, seed)
        _assert_same(found.predict(train.features), alone.predict(train.features), 1e-3)
    with pytest.raises(PastaError, match="2, 1 and 2"):
        scorer.fit_many(trains, validations[:1], wanted, [1, 2])


def test_networks_survive_the_state_exactly() -> None:
    train, validation = _drawn(17), _drawn(18, 50)
    scorer = OrdinalScorer()
    fitted = scorer.fit(train, validation, settings(share=0.4), 3)
    arrays, about = fitted.state()
    assert about["share"] == 0.4
    again = scorer.load(arrays, about)
    _assert_same(again.predict(train.features), fitted.predict(train.features), 0)
    rest = {name: array for name, array in arrays.items() if name != "member_second"}
    with pytest.raises(PastaError, match="member_second"):
        scorer.load(rest, about)
