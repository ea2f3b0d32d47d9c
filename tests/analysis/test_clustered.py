"""Errors of votes that share samples and annotators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.contrasts import (
    cluster_variance,
    clustered_correlation,
    clustered_difference,
    clustered_mean,
    codes_of,
    without_means,
)

FIRST, SECOND = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
VALUES = np.array([1.0, 2, 4, 2, 3, 5, 1, 2, 3, 3, 4, 5])


def test_mean_with_two_kinds_of_clusters_agrees_with_statsmodels() -> None:
    """statsmodels 0.15.0: OLS on a constant, cov_type="cluster" with two groups."""
    assert clustered_mean(VALUES, FIRST, SECOND).error == pytest.approx(0.7615552, rel=1e-6)


def test_mean_of_independent_values_has_the_usual_error() -> None:
    found = clustered_mean(VALUES, np.arange(12))
    assert found.error == pytest.approx(stats.sem(VALUES)) and found.df == 11


def test_difference_of_independent_values_is_close_to_welch() -> None:
    rng = np.random.default_rng(0)
    values, second = rng.normal(size=2000), np.arange(2000) % 3 == 0
    found = clustered_difference(values, second, np.arange(2000))
    peer = stats.ttest_ind(values[second], values[~second], equal_var=False)
    assert found.estimate / found.error == pytest.approx(peer.statistic, rel=2e-3)


def test_degrees_of_freedom_of_separate_clusters_are_welchs() -> None:
    """One value for each cluster, five clusters against nine."""
    rng = np.random.default_rng(5)
    values, first = rng.normal(size=14), np.arange(14) < 5
    peer = stats.ttest_ind(values[first], values[~first], equal_var=False)
    assert clustered_difference(values, first, np.arange(14)).df == pytest.approx(peer.df, rel=0.05)


def test_group_with_one_cluster_has_no_interval() -> None:
    found = clustered_difference(VALUES, FIRST == 0, FIRST, np.arange(12))
    assert np.isnan(found.error) and found.note


def test_correlation_of_independent_normal_pairs_is_close_to_fishers_interval() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    y = 0.5 * x + rng.normal(size=3000)
    found = clustered_correlation(x, y, np.arange(3000))
    peer = stats.pearsonr(x, y)
    interval = peer.confidence_interval()
    assert found["estimate"] == pytest.approx(peer.statistic)
    assert found["low"] == pytest.approx(interval.low, abs=0.005)
    assert found["high"] == pytest.approx(interval.high, abs=0.005)


def test_spearman_agrees_with_scipy_with_ties() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(1, 6, 200), rng.integers(1, 6, 200)
    found = clustered_correlation(x, y, np.arange(200), method="spearman")
    assert found["estimate"] == pytest.approx(stats.spearmanr(x, y).statistic)


def test_copying_every_vote_within_its_cluster_adds_no_certainty() -> None:
    rng = np.random.default_rng(3)
    x, y, clusters = rng.normal(size=60), rng.normal(size=60), np.arange(60)
    once = clustered_correlation(x, y, clusters)
    copied = clustered_correlation(np.tile(x, 4), np.tile(y, 4), np.tile(clusters, 4))
    for name in ("estimate", "low", "high", "p"):
        assert copied[name] == pytest.approx(once[name])


def test_order_of_votes_does_not_matter() -> None:
    order = np.random.default_rng(4).permutation(12)
    shuffled = clustered_mean(VALUES[order], codes_of(FIRST[order]), codes_of(SECOND[order]))
    assert shuffled == pytest.approx(clustered_mean(VALUES, FIRST, SECOND))


def test_taking_out_two_kinds_of_means_leaves_the_additive_residuals() -> None:
    """On a full table the residual is x_ij - row mean - column mean + mean."""
    table = VALUES.reshape(4, 3)
    expected = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    assert without_means(VALUES, FIRST, SECOND) == pytest.approx(expected.ravel())


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1.0, 2.0], [1.0, 2.0]), ([1.0, 1, 1], [1.0, 2, 3])]
)
def test_no_correlation_without_spread(x: list[float], y: list[float]) -> None:
    found = clustered_correlation(x, y, np.arange(len(x)))
    assert np.isnan(found["estimate"]) and found["note"]  # type: ignore[call-overload]


def test_one_cluster_has_no_error() -> None:
    variance, df = cluster_variance(np.ones(3), np.zeros(3, np.intp))
    assert np.isnan(variance) and df == 0
