"""The networks of the ordinal scorer against literal formulas, and what must not change them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from pasta.errors import PastaError
from pasta.scoring import ordinal_ensemble
from pasta.scoring.base import Predicted, Rated
from pasta.scoring.ordinal import OrdinalScorer
from pasta.scoring.ordinal_ensemble import Ensemble, Layers, batches, slopes, train_ensembles
from pasta.scoring.ordinal_fit import standardise
from pasta.scoring.ordinal_likelihood import (
    Doubles,
    distribution,
    negative_log_likelihood,
    thresholds_of,
)
from pasta.seeds import generator
from tests.scoring.ordinal_votes import draw_rated, modes, planted_weights, settings

torch.set_num_threads(1)


def _drawn(seed: int, samples: int = 90) -> Rated:
    return draw_rated(seed, samples, planted_weights(seed, 4, 2))


def _assert_close(one: Ensemble, other: Ensemble, tolerance: float) -> None:
    for name in one.__dataclass_fields__:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance)


def _literal_loss(layers: list[Doubles], features: Doubles, counts: Doubles) -> float:
    """The likelihood of every set's every member, one after the other, divided by 3 and 7."""
    first, bias, second, free = layers
    sets, members, hidden, _ = second.shape
    total = 0.0
    for one in range(sets):
        for member in range(members):
            own = slice(member * hidden, (member + 1) * hidden)
            units = np.maximum(features[one] @ first[one][:, own] + bias[one][:, own], 0)
            latent, cuts = units @ second[one, member], thresholds_of(free[one, member])
            total += negative_log_likelihood(latent, cuts, counts[one]).value / (3.0, 7.0)[one]
    return total


def test_slopes_equal_differences_of_the_literal_likelihood() -> None:
    random = generator(1, "test", "slopes")
    shapes = [(2, 4, 6), (2, 1, 6), (2, 3, 2, 3), (2, 3, 3, 4)]  # 3 members of 2 units
    layers = [random.standard_normal(shape) for shape in shapes]
    features = random.standard_normal((2, 5, 4))
    counts = random.integers(0, 4, (2, 5, 3, 5)).astype(np.float64)
    counts[0, 1, 2] = 0  # nobody answered
    found = slopes(
        Layers(*(torch.from_numpy(layer) for layer in layers)),
        torch.from_numpy(features),
        torch.from_numpy(counts),
        torch.tensor([3.0, 7.0], dtype=torch.float64)[:, None, None, None],
    )
    for number, slope in enumerate(found.all()):
        for place in np.ndindex(*shapes[number]):
            sides = []
            for step in (1e-6, -1e-6):
                moved = [layer.copy() for layer in layers]
                moved[number][place] += step
                sides.append(_literal_loss(moved, features, counts))
            expected = (sides[0] - sides[1]) / 2e-6
            assert float(slope[place]) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_chances_are_the_mean_of_the_members() -> None:
    random = generator(2, "test", "chances")
    first, bias, second = (
        random.standard_normal(shape).astype(np.float32) for shape in ((3, 4, 5), (3, 5), (3, 5, 2))
    )
    cuts = np.sort(random.standard_normal((3, 2, 4)), axis=2)
    features = random.standard_normal((6, 4))
    found = Ensemble(first, bias, second, cuts).chances(features)
    single = [
        distribution(np.maximum(features @ first[m] + bias[m], 0) @ second[m], cuts[m])
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
        front = Ensemble(*(getattr(stacked, name)[:2] for name in stacked.__dataclass_fields__))
        _assert_close(fewer, front, 2e-4)
    start = train_ensembles(sets, settings(steps=1), [5, 6])[0]  # what was learned is far more
    assert np.abs(start.member_second - together[0].member_second).max() > 0.05


def test_same_seed_same_networks_and_another_seed_others() -> None:
    rated = _drawn(7)
    first, again, other = (train_ensembles([rated], settings(), [seed])[0] for seed in (1, 1, 2))
    _assert_close(first, again, 0)
    assert np.abs(first.member_first - other.member_first).max() > 0.1


def test_order_of_samples_does_not_matter_if_the_batches_hold_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rated = _drawn(8)
    expected = train_ensembles([rated], settings(), [1])[0]
    order = generator(8, "test", "order").permutation(len(rated))
    rows = np.argsort(order)[batches(len(rated), settings(), 1)]
    monkeypatch.setattr(ordinal_ensemble, "batches", lambda *_: rows)
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
    found = members.chances(standardise(rated.features)(rated.features))
    np.testing.assert_allclose(found[:, 1], 0.2, atol=1e-6)
    assert np.ptp(found[:, 0, 4]) > 0.1


def _bent(seed: int, samples: int) -> Rated:
    """Votes that follow the size of a feature, whatever its sign: nothing linear helps."""
    rated = draw_rated(seed, samples, np.zeros((4, 2)))
    latent = 3 * (np.abs(rated.features[:, [0, 1]]) - 0.8).astype(np.float64)
    cuts = np.tile([-1.5, -0.5, 0.5, 1.5], (2, 1))
    chances = distribution(latent, cuts)
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


def test_predicting_does_not_import_torch() -> None:
    program = (
        "import sys, numpy as np\n"
        "from pasta.scoring.ordinal_ensemble import Ensemble\n"
        "import pasta.scoring.ordinal\n"
        "z = np.zeros((1, 2, 3), np.float32)\n"
        "Ensemble(z, z[:, 0], z.transpose(0, 2, 1), np.array([[[-1., 0, 1, 2]] * 2]))"
        ".chances(np.ones((4, 2)))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
