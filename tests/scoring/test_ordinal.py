"""The ordinal scorer where the answer is known, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.scoring.base import SCORERS, STARS, Fitted, Floats, Predicted, Rated
from pasta.scoring.ordinal import PRIOR_VOTES, OrdinalScorer, expansion_factor, label_line
from pasta.seeds import generator
from tests.scoring.ordinal_votes import draw_rated, modes, planted_weights, settings


def _parts(rated: Rated, train: int, validation: int) -> tuple[Rated, Rated, Rated]:
    rows = np.arange(len(rated))
    split = np.split(rows, [train, train + validation])
    return rated.at(split[0]), rated.at(split[1]), rated.at(split[2])


def _arrays(found: Predicted) -> list[Floats]:
    parts = [found.stars, found.distribution, found.low, found.high]
    return [part for part in parts if part is not None]


def test_without_informative_features_the_vote_shares_are_predicted() -> None:
    rated = draw_rated(11, 600, np.zeros((3, 2)))
    blank = Rated(np.ones_like(rated.features), rated.counts, rated.labels)
    train, validation, test = _parts(blank, 400, 100)
    found = OrdinalScorer().fit(train, validation, settings(), 0).predict(test.features)
    shares = train.counts.sum(axis=0) + PRIOR_VOTES / 5
    shares = shares / shares.sum(axis=1, keepdims=True)
    assert found.distribution is not None
    np.testing.assert_allclose(found.distribution[0], shares, atol=1e-5)
    np.testing.assert_allclose(found.stars, np.tile(train.labels.mean(axis=0), (100, 1)), atol=1e-3)


def test_separable_stars_are_told_apart() -> None:
    random = generator(12, "test", "separable")
    stars = random.integers(1, 6, 300)
    noise = random.standard_normal((300, 4))
    features = np.column_stack([stars, noise]).astype(np.float32)
    counts = 5 * np.eye(5, dtype=np.int64)[stars - 1][:, None]
    train, validation, test = _parts(Rated(features, counts, modes(counts)), 150, 100)
    fitted = OrdinalScorer().fit(train, validation, settings(evidence=1.0), 0)
    found = fitted.predict(test.features)
    np.testing.assert_array_equal(np.rint(found.stars), test.labels)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low).mean() < 1
    assert fitted.get_buffer("weights").isfinite().all()


@pytest.mark.parametrize("star", [1, 3, 5])
def test_votes_that_are_all_the_same_star_are_predicted(star: int) -> None:
    rated = draw_rated(13, 260, planted_weights(13, 3, 2))
    counts = np.zeros_like(rated.counts)
    counts[..., star - 1] = 5
    train, validation, test = _parts(Rated(rated.features, counts, modes(counts)), 100, 60)
    found = OrdinalScorer().fit(train, validation, settings(), 0).predict(test.features)
    assert found.distribution is not None
    assert (found.distribution[..., star - 1] > 0.98).all()
    np.testing.assert_allclose(found.stars, star, atol=0.05)


def test_missing_votes_and_a_question_without_any_leave_the_others_sound() -> None:
    rated = draw_rated(14, 500, planted_weights(14, 4, 3))
    rated.counts[::2, 1] = 0
    rated.counts[:, 2] = 0
    rated = Rated(rated.features, rated.counts, modes(rated.counts))
    train, validation, test = _parts(rated, 300, 100)
    found = OrdinalScorer().fit(train, validation, settings(), 0).predict(test.features)
    assert all(np.isfinite(part).all() for part in _arrays(found))
    assert found.distribution is not None
    assert found.low is not None
    assert found.high is not None
    np.testing.assert_allclose(found.distribution[:, 2], 0.2, atol=1e-4)
    assert (found.low[:, 2] == 1).all()
    assert (found.high[:, 2] == 5).all()
    for question in (0, 1):
        known = ~np.isnan(test.labels[:, question])
        pair = found.stars[known, question], test.labels[known, question]
        assert np.corrcoef(*pair)[0, 1] > 0.6


def test_more_features_than_samples_are_no_problem() -> None:
    weights = np.zeros((200, 2))
    weights[:3] = 1.5
    train, validation, test = _parts(draw_rated(16, 700, weights), 60, 140)
    fitted = OrdinalScorer().fit(train, validation, settings(), 0)
    found = fitted.predict(test.features)
    assert all(np.isfinite(part).all() for part in _arrays(found))
    for question in range(2):
        pair = found.stars[:, question], test.labels[:, question]
        assert np.corrcoef(*pair)[0, 1] > 0.15


def _fit_of(train: Rated, validation: Rated) -> Fitted:
    return OrdinalScorer().fit(train, validation, settings(tolerance=1e-9, iterations=3000), 0)


def test_order_of_samples_features_and_questions_changes_nothing() -> None:
    rated = draw_rated(17, 300, planted_weights(17, 5, 3), residual=0.5)
    train, validation, test = _parts(rated, 150, 80)
    expected = _fit_of(train, validation).predict(test.features)
    random = generator(17, "test", "order")
    columns, questions = random.permutation(5), random.permutation(3)

    def shuffled(part: Rated, rows: NDArray[np.int64]) -> Rated:
        part = part.at(rows)
        return Rated(
            part.features[:, columns], part.counts[:, questions], part.labels[:, questions]
        )

    fitted = _fit_of(
        shuffled(train, random.permutation(150)), shuffled(validation, random.permutation(80))
    )
    found = fitted.predict(test.features[:, columns])
    for ours, theirs in zip(_arrays(found), _arrays(expected), strict=True):
        np.testing.assert_allclose(ours, theirs[:, questions], atol=2e-4)


def test_scale_of_features_changes_nothing_and_prediction_goes_sample_by_sample() -> None:
    train, validation, test = _parts(draw_rated(18, 260, planted_weights(18, 5, 2)), 120, 80)
    scale = np.array([1, 10, 100, 0.1, 0.01], np.float32)
    expected = _fit_of(train, validation).predict(test.features)
    scaled = [
        Rated(part.features * scale, part.counts, part.labels) for part in (train, validation)
    ]
    found = _fit_of(*scaled).predict(test.features * scale)
    single = [_fit_of(train, validation).predict(row[None]) for row in test.features[:5]]
    for ours, theirs in zip(_arrays(found), _arrays(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-4)
    for row, one in enumerate(single):
        for ours, theirs in zip(_arrays(one), _arrays(expected), strict=True):
            np.testing.assert_allclose(ours[0], theirs[row], rtol=1e-6)


def test_random_votes_are_not_learned() -> None:
    rated = draw_rated(19, 1500, np.zeros((30, 2)))
    train, validation, test = _parts(rated, 400, 100)
    found = OrdinalScorer().fit(train, validation, settings(), 0).predict(test.features)
    constant = ((test.labels - train.labels.mean(axis=0)) ** 2).mean()
    assert ((test.labels - found.stars) ** 2).mean() < 1.1 * constant
    for question in range(2):
        pair = found.stars[:, question], test.labels[:, question]
        assert abs(np.corrcoef(*pair)[0, 1]) < 0.12


def test_labels_that_are_mean_votes_are_the_expected_votes() -> None:
    rated = draw_rated(20, 50, planted_weights(20, 3, 2))
    means = (rated.counts @ STARS / 5).astype(np.float32)
    intercept, slope = label_line(Rated(rated.features, rated.counts, means))
    np.testing.assert_allclose(slope, 1, atol=1e-6)
    np.testing.assert_allclose(intercept, 0, atol=1e-6)


def test_expansion_costs_the_share_of_the_error_it_may() -> None:
    random = generator(21, "test", "expansion")
    predicted = random.standard_normal((200_000, 1))
    labels = predicted + 1.5 * random.standard_normal(predicted.shape)
    factor = expansion_factor(predicted, labels, 0.03)
    before, after = (((labels - scale * predicted) ** 2).mean() for scale in (1.0, factor))
    assert after / before == pytest.approx(1.03, abs=0.005)
    assert expansion_factor(predicted, labels, 0.0) == 1
    unlimited = expansion_factor(predicted, labels, 1e9)
    assert (unlimited * predicted).std() == pytest.approx(labels.std(), rel=0.01)
    assert expansion_factor(predicted, np.full_like(predicted, np.nan), 0.03) == 1
    assert expansion_factor(np.zeros_like(predicted), labels, 0.03) == 1
    assert expansion_factor(1e-9 * predicted, labels, 0.03) == 3  # rounding is not blown up


def test_trained_scorer_survives_its_state_exactly() -> None:
    train, validation, test = _parts(draw_rated(22, 200, planted_weights(22, 4, 2)), 100, 50)
    scorer = SCORERS["ordinal"]
    fitted = scorer.fit(train, validation, settings(), 0)
    again = scorer.load(*fitted.state())
    for ours, theirs in zip(
        _arrays(again.predict(test.features)), _arrays(fitted.predict(test.features)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == np.float32
    arrays, about = fitted.state()
    with pytest.raises(PastaError, match="thresholds"):
        scorer.load({name: arrays[name] for name in arrays if name != "thresholds"}, about)


def test_wrong_features_and_missing_votes_are_named() -> None:
    rated = draw_rated(23, 60, planted_weights(23, 4, 2))
    train, validation, test = _parts(rated, 30, 20)
    fitted = OrdinalScorer().fit(train, validation, settings(), 0)
    with pytest.raises(PastaError, match=r"expected .*4"):
        fitted.predict(test.features[:, :3])
    spoilt = test.features.copy()
    spoilt[4, 1] = np.nan
    with pytest.raises(PastaError, match="4"):
        fitted.predict(spoilt)
    nobody = Rated(train.features, np.zeros_like(train.counts), np.full_like(train.labels, np.nan))
    with pytest.raises(PastaError, match="no votes"):
        OrdinalScorer().fit(nobody, validation, settings(), 0)
