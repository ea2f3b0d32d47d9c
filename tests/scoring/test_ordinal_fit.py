"""The ordinal model and its fit against literal formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.scoring.base import Rated
from pasta.scoring.ordinal import (
    PRIOR_VOTES,
    Doubles,
    Objective,
    Problem,
    Weights,
    distribution,
    fit,
    free_of_shares,
    negative_log_likelihood,
    pose,
    question_correlation,
    standardise,
    thresholds_of,
)
from pasta.seeds import generator
from tests.scoring.ordinal_votes import CUTS, draw_rated, planted_weights


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
