"""The ordinal scorer: likelihood, fit and networks against literal formulas, and what it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.errors import PastaError
from pasta.scoring import ordinal
from pasta.scoring.base import STARS, Fitted, Floats, Predicted, Rated
from pasta.scoring.ordinal import (
    MEMBER_ARRAYS,
    PRIOR_VOTES,
    Doubles,
    Member,
    Objective,
    OrdinalScorer,
    Problem,
    Weights,
    batches,
    distribution,
    expansion_factor,
    fit,
    free_of_shares,
    label_line,
    mean_chances,
    negative_log_likelihood,
    pose,
    question_correlation,
    standardise,
    thresholds_of,
    train_ensembles,
)
from pasta.seeds import generator
from tests.scoring.ordinal_votes import (
    CUTS,
    draw_rated,
    modes,
    planted_weights,
    settings,
    star_chances,
)


def literal_chances(latent: float, cuts: Doubles) -> list[float]:
    """Differences of logistic functions, star by star."""
    up_to = [1 / (1 + np.exp(-(cut - latent))) for cut in cuts] + [1.0]
    return [high - low for low, high in zip([0.0, *up_to[:-1]], up_to, strict=True)]


def literal_negative_log_likelihood(latent: Doubles, cuts: Doubles, counts: Doubles) -> float:
    total = 0.0
    for sample, question, star in np.ndindex(counts.shape):
        chance = literal_chances(float(latent[sample, question]), cuts[question])[star]
        total -= counts[sample, question, star] * np.log(chance)
    return total


def numeric_gradient(function: Callable[[Doubles], float], point: Doubles) -> Doubles:
    """Central differences."""
    gradient = np.zeros(point.size)
    for place in range(point.size):
        step = np.zeros(point.size)
        step[place] = 1e-5
        gradient[place] = (function(point + step) - function(point - step)) / 2e-5
    return gradient


def _votes(seed: int, samples: int = 7, questions: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    random = generator(seed, "test", "votes")
    latent = random.standard_normal((samples, questions)) * 2
    cuts = np.sort(random.standard_normal((questions, 4)) * 2, axis=1)
    counts = random.integers(0, 4, (samples, questions, 5)).astype(np.float64)
    counts[0, 1] = 0  # nobody answered
    return torch.from_numpy(latent), torch.from_numpy(cuts), torch.from_numpy(counts)


def _problem(seed: int = 0, samples: int = 40, features: int = 5, questions: int = 3) -> Problem:
    rated = draw_rated(seed, samples, planted_weights(seed, features, questions))
    return pose(standardise(rated.features)(rated.features), rated.counts)


def test_likelihood_equals_literal_loop() -> None:
    latent, cuts, counts = _votes(1)
    found = negative_log_likelihood(latent, cuts, counts)
    for question in range(3):
        own = [part[:, [question]].numpy() for part in (latent, counts)]
        expected = literal_negative_log_likelihood(own[0], cuts[[question]].numpy(), own[1])
        assert float(found[question]) == pytest.approx(expected, rel=1e-12)


def test_distribution_equals_literal_differences_and_sums_to_one() -> None:
    latent, cuts, _ = _votes(2)
    found = distribution(latent, cuts)
    for sample, question in np.ndindex(*latent.shape):
        expected = literal_chances(float(latent[sample, question]), cuts[question].numpy())
        np.testing.assert_allclose(found[sample, question], expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.sum(2), 1, rtol=1e-14)


def test_likelihood_stays_finite_where_sigmoids_are_0_or_1() -> None:
    latent = torch.tensor([[-900.0], [900.0]], dtype=torch.float64, requires_grad=True)
    counts = torch.ones(2, 1, 5, dtype=torch.float64)
    found = negative_log_likelihood(latent, torch.from_numpy(CUTS)[None], counts)
    assert found.isfinite().all()
    (slope,) = torch.autograd.grad(found.sum(), latent)
    np.testing.assert_allclose(slope, [[-4.0], [4.0]])  # one for each threshold on the way


def test_free_numbers_give_ascending_thresholds_and_the_shares_they_came_from() -> None:
    shares = torch.from_numpy(generator(4, "test", "shares").dirichlet(np.ones(5), 6))
    cuts = thresholds_of(free_of_shares(shares))
    assert (cuts.diff(dim=1) > 0).all()
    found = distribution(torch.zeros(1, 6, dtype=torch.float64), cuts)[0]
    np.testing.assert_allclose(found, shares, rtol=1e-9)


@pytest.mark.parametrize("sharing", [0.0, 0.9])
def test_objective_gradient_equals_differences(sharing: float) -> None:
    objective = Objective(_problem(), 0.3, sharing)
    point = objective.begin(None)
    point = point + 0.3 * generator(6, "test", "point").standard_normal(point.size)
    expected = numeric_gradient(lambda place: objective(place)[0], point)
    np.testing.assert_allclose(objective(point)[1], expected, rtol=1e-5, atol=1e-8)


def test_fit_minimises_the_literal_objective() -> None:
    """Rotation, mixing and scaling only help the optimiser: the plain formula has its minimum."""
    strength, sharing = 0.05, 0.7
    rated = draw_rated(7, 30, planted_weights(7, 4, 3))
    features = standardise(rated.features)(rated.features)
    problem = pose(features, rated.counts)
    found = fit(problem, strength, sharing, 2000, 1e-9)
    counts = rated.counts.astype(np.float64)
    precision = np.linalg.inv((1 - sharing) * np.eye(3) + sharing * question_correlation(counts))

    def literal(point: Doubles) -> float:
        weights, cuts = point[:12].reshape(4, 3), point[12:].reshape(3, 4)
        likelihood = literal_negative_log_likelihood(features @ weights, cuts, counts)
        prior = np.full((1, 3, 5), PRIOR_VOTES / 5)
        likelihood += literal_negative_log_likelihood(np.zeros((1, 3)), cuts, prior)
        penalty = float(np.trace(weights @ precision @ weights.T))
        return float(likelihood / (counts.sum() / 3) + strength / 2 * penalty)

    optimum = np.concatenate([found.weights.ravel(), found.thresholds.ravel()])
    np.testing.assert_allclose(numeric_gradient(literal, optimum), 0, atol=2e-8)


def test_start_of_a_fit_does_not_change_its_end() -> None:
    problem = _problem(8)
    far = fit(problem, 10.0, 0.0, 1000, 1e-6)
    cold, warm = (fit(problem, 0.01, 0.5, 1000, 1e-6, start) for start in (None, far))
    assert cold.converged
    assert warm.converged
    np.testing.assert_allclose(cold.weights, warm.weights, atol=1e-4)
    np.testing.assert_allclose(cold.thresholds, warm.thresholds, atol=1e-4)


def test_planted_weights_and_thresholds_are_recovered() -> None:
    planted = planted_weights(9, 8, 3)
    rated = draw_rated(9, 4000, planted)
    standard = standardise(rated.features)
    found = fit(pose(standard(rated.features), rated.counts), 1e-7, 0.5, 500, 1e-7)
    np.testing.assert_allclose(found.weights / standard.scale[:, None], planted, atol=0.08)
    shift = standard.centre @ planted  # the features were centred, the thresholds move with them
    np.testing.assert_allclose(found.thresholds, CUTS - shift[:, None], atol=0.08)


def test_correlation_finds_like_opposite_and_unrelated_questions() -> None:
    random = generator(10, "test", "correlation")
    stars = random.integers(0, 5, 4000)
    other = random.integers(0, 5, 4000)
    counts = np.stack([np.eye(5)[stars], np.eye(5)[4 - stars], np.eye(5)[other]], axis=1)
    counts[:2000, 1] = 0  # missing votes neither help nor harm
    found = question_correlation(counts)
    np.testing.assert_allclose(found, [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], atol=0.05)
    assert np.linalg.eigvalsh(found).min() > -1e-12


def test_sharing_helps_a_question_with_few_votes() -> None:
    gains = []
    for seed in range(6):
        common = planted_weights(seed, 20, 1)
        rated = draw_rated(seed, 900, np.repeat(common, 3, axis=1))
        train, test = rated.at(np.arange(400)), rated.at(np.arange(400, 900))
        train.counts[25:, 0] = 0
        standard = standardise(train.features)
        problem = pose(standard(train.features), train.counts)
        likelihood = []
        for sharing in (0.0, 0.9):
            best = np.inf
            for strength in (1e-1, 1e-2, 1e-3, 1e-4):
                model = fit(problem, strength, sharing, 300, 1e-5)
                latent = torch.from_numpy(standard(test.features) @ model.weights[:, :1])
                votes = torch.from_numpy(test.counts.astype(np.float64)[:, :1])
                cuts = torch.from_numpy(model.thresholds[:1])
                best = min(best, float(negative_log_likelihood(latent, cuts, votes)))
            likelihood.append(best / test.counts[:, 0].sum())
        gains.append(likelihood[0] - likelihood[1])
    assert min(gains) > 0.02  # nats for each vote, even against the best strength without sharing


def test_unvoted_samples_teach_nothing() -> None:
    """They only take part in standardising the features, so here they are mirror images."""
    rated = draw_rated(15, 120, planted_weights(15, 3, 2))
    whole = Rated(
        np.concatenate([rated.features, -rated.features]),
        np.concatenate([rated.counts, rated.counts]),
        np.concatenate([rated.labels, rated.labels]),
    )
    features = standardise(whole.features)(whole.features)
    half = whole.counts.copy()
    half[120:] = 0
    padded = fit(pose(features, half), 0.01, 0.5, 500, 1e-8)
    alone = fit(pose(features[:120], rated.counts), 0.01, 0.5, 500, 1e-8)
    np.testing.assert_allclose(padded.weights, alone.weights, atol=1e-5)


def test_weights_say_whether_the_fit_has_ended() -> None:
    problem = _problem(24)
    stopped: Weights = fit(problem, 1e-3, 0.0, 1, 1e-9)
    assert not stopped.converged
    assert fit(problem, 1e-3, 0.0, 1000, 1e-6).converged


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
    for missing in ("member_second", "thresholds"):
        rest = {name: array for name, array in arrays.items() if name != missing}
        with pytest.raises(PastaError, match=missing):
            scorer.load(rest, about)


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
