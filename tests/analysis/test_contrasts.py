"""Intervals, equivalence and power of differences, independent or clustered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from analysis.contrasts import (
    Contrast,
    clustered_correlation,
    clustered_difference,
    clustered_mean,
    contrast_row,
    omega_squared,
    one_mean,
    slope,
    welch,
    wilson_interval,
    without_means,
)

# Intervals, equivalence and power of differences


FIRST = [3.1, 2.9, 3.6, 3.3, 2.7, 3.0, 3.4]
SECOND = [3.2, 2.8, 3.1, 3.5, 3.0]


def test_equivalence_agrees_with_statsmodels() -> None:
    peer = ttost_ind(FIRST, SECOND, -0.5, 0.5, usevar="unequal")[0]
    found = contrast_row(welch(FIRST, SECOND), 0.5)
    assert found["p_equivalence"] == pytest.approx(peer)


def test_difference_agrees_with_scipys_welch_test() -> None:
    peer = stats.ttest_ind(FIRST, SECOND, equal_var=False)
    interval = peer.confidence_interval()
    found = contrast_row(welch(FIRST, SECOND), 0.5)
    assert found["p"] == pytest.approx(peer.pvalue)
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(
    ("n", "ratio", "effect"),
    [
        # statsmodels 0.15.0: TTestIndPower().solve_power(nobs1=n, ratio=ratio, alpha=.05, power=.8)
        (20, 1.5, 0.8253839204275004),
        (10, 0.5, 1.6603065246547015),
        # Cohen 1988, table 2.4.1: 64 in each group find d = 0.5 with 80 % power
        (64, 1.0, 0.499069177194551),
    ],
)
def test_smallest_effect_agrees_with_power_tables(n: int, ratio: float, effect: float) -> None:
    error = float(np.sqrt(1 / n + 1 / (n * ratio)))
    contrast = Contrast(n, 0.0, error, n + n * ratio - 2)
    assert contrast_row(contrast)["smallest_effect"] == pytest.approx(effect, rel=1e-6)


@pytest.mark.parametrize("df", [1, 1.5, 2, 5, 14, 100, 10_000])
def test_smallest_effect_exists_for_all_degrees_of_freedom(df: float) -> None:
    """The power at the answer, from scipy's noncentral t distribution where it has both tails."""
    found = float(str(contrast_row(Contrast(3, 0.0, 1.0, df))["smallest_effect"]))
    cut = float(stats.t.ppf(0.975, df))
    below = float(np.nan_to_num(stats.nct.cdf(-cut, df, found)))
    assert stats.nct.sf(cut, df, found) + below == pytest.approx(0.8, abs=1e-6)
    assert 2.8 < found < 17


@pytest.mark.parametrize("margin", [0.05, 0.3, 0.5, 1.0])
def test_equivalence_holds_exactly_when_the_90_percent_interval_is_within_the_margin(
    margin: float,
) -> None:
    contrast = welch(FIRST, SECOND)
    reach = float(stats.t.ppf(0.95, contrast.df)) * contrast.error
    inside = -margin < contrast.estimate - reach and contrast.estimate + reach < margin
    assert (float(str(contrast_row(contrast, margin)["p_equivalence"])) < 0.05) == inside


def test_slope_agrees_with_scipys_regression() -> None:
    ages = [19.0, 22, 25, 31, 28, 37, 24]
    peer = stats.linregress(ages, FIRST)
    found = slope(FIRST, ages)
    assert (found.estimate, found.error) == pytest.approx((peer.slope, peer.stderr))


def test_omega_squared_agrees_with_scipys_analysis_of_variance() -> None:
    groups = ["a", "a", "a", "b", "b", "c", "c"]
    values = np.array(FIRST)
    split = [values[np.array(groups) == name] for name in "abc"]
    assert omega_squared(FIRST, groups)["p"] == pytest.approx(stats.f_oneway(*split).pvalue)


def test_omega_squared_interval_inverts_the_noncentral_f_distribution() -> None:
    """At each end of the interval the observed F sits exactly at that tail."""
    values, groups = [1.0, 2, 3, 5, 6, 7, 8, 9, 11], ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    found = {name: float(str(value)) for name, value in omega_squared(values, groups).items()
             if name != "note"}  # fmt: skip
    ratio = stats.f_oneway(values[:3], values[3:6], values[6:]).statistic
    assert found["estimate"] == pytest.approx(2 * (ratio - 1) / (2 * (ratio - 1) + 9))
    for end, tail in (("low", 0.975), ("high", 0.025)):
        noncentrality = 9 * found[end] / (1 - found[end])
        assert stats.ncf.cdf(ratio, 2, 6, noncentrality) == pytest.approx(tail, abs=1e-4)


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_omega_squared_lies_in_its_own_interval(effect: float) -> None:
    """Twenty groups of seven: the sample's eta squared lies outside in 88 % without an effect."""
    groups, random = np.arange(140) % 20, np.random.default_rng(1)
    for _ in range(100):
        found = omega_squared(random.normal(size=140) + effect * (groups % 2), groups)
        assert float(str(found["low"])) <= float(str(found["estimate"]))
        assert float(str(found["estimate"])) <= float(str(found["high"]))


@pytest.mark.parametrize("few", [[3.0], [2.9, 3.0], [2.0, 3.0, 3.0, 3.0]], ids=len)
def test_a_group_of_few_raters_pools_the_spread_and_says_so(few: list[float]) -> None:
    found = welch(few, SECOND)
    peer = stats.ttest_ind(few, SECOND).confidence_interval(0.95) if len(few) > 1 else None
    row = contrast_row(found)
    if peer is None:
        assert found.error == pytest.approx(np.std(SECOND, ddof=1) * np.sqrt(1 + 1 / 5))
    else:
        assert (row["low"], row["high"]) == pytest.approx((peer.low, peer.high))
    assert "fewer than 5 raters" in found.note


def test_intervals_of_tiny_groups_hold_what_they_promise_on_a_coarse_scale() -> None:
    """Welch's interval of two against twenty excludes a true 0 in 27 % of studies."""
    random, missed = np.random.default_rng(2), 0
    for _ in range(400):
        drawn = random.choice([1.0, 2, 3, 4, 5], 22, p=[0.05, 0.15, 0.3, 0.35, 0.15])
        row = contrast_row(welch(drawn[:2], drawn[2:]))
        missed += not float(str(row["low"])) <= 0 <= float(str(row["high"]))
    assert missed / 400 <= 0.08


@pytest.mark.parametrize(
    "contrast",
    [
        welch([], SECOND),
        welch([1.0], [2.0]),
        welch([1.0, 1.0], [2.0, 2.0]),
        one_mean([]),
        one_mean([2.0]),
        slope([1.0, 2.0], [1.0, 2.0]),
        slope([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]),
        Contrast(3, np.nan, 1.0, 2.0),
    ],
)
def test_too_little_for_an_interval_gives_a_note_instead(contrast: Contrast) -> None:
    row = contrast_row(contrast, 0.25)
    for name in ("low", "high", "p", "p_equivalence", "smallest_effect"):
        assert np.isnan(row[name])  # type: ignore[call-overload]
    assert row["note"]


# Errors of votes that share samples and raters


ROW, COLUMN = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
VALUES = np.array([1.0, 2, 4, 2, 3, 5, 1, 2, 3, 3, 4, 5])


def test_mean_with_two_kinds_of_clusters_agrees_with_statsmodels() -> None:
    """statsmodels 0.15.0: OLS on a constant, cov_type="cluster" with two groups."""
    assert clustered_mean(VALUES, ROW, COLUMN).error == pytest.approx(0.7615552, rel=1e-6)


def test_degrees_of_freedom_of_separate_clusters_are_welchs() -> None:
    """One value for each cluster, five clusters against nine."""
    rng = np.random.default_rng(5)
    values, first = rng.normal(size=14), np.arange(14) < 5
    peer = stats.ttest_ind(values[first], values[~first], equal_var=False)
    assert clustered_difference(values, first, np.arange(14)).df == pytest.approx(peer.df, rel=0.05)


def test_group_with_one_cluster_has_no_interval() -> None:
    found = clustered_difference(VALUES, ROW == 0, ROW, np.arange(12))
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


def test_taking_out_two_kinds_of_means_leaves_the_additive_residuals() -> None:
    """On a full table the residual is x_ij - row mean - column mean + mean."""
    table = VALUES.reshape(4, 3)
    expected = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    assert without_means(VALUES, ROW, COLUMN) == pytest.approx(expected.ravel())


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1.0, 2.0], [1.0, 2.0]), ([1.0, 1, 1], [1.0, 2, 3])]
)
def test_no_correlation_without_spread(x: list[float], y: list[float]) -> None:
    found = clustered_correlation(x, y, np.arange(len(x)))
    assert np.isnan(found["estimate"]) and found["note"]  # type: ignore[call-overload]


def test_one_cluster_has_no_error() -> None:
    found = clustered_mean(np.array([1.0, 2, 3]), np.zeros(3, np.intp))
    assert np.isnan(found.error) and found.df == 0 and found.note


# Binomial intervals are those of scipy.stats


@pytest.mark.parametrize("n", [1, 2, 7, 40, 333])
def test_wilson_interval_equals_that_of_scipy(n: int) -> None:
    for count in {0, 1, n // 2, n}:
        expected = stats.binomtest(count, n).proportion_ci(method="wilson")
        assert wilson_interval(count, n) == pytest.approx((expected.low, expected.high), abs=1e-15)


def test_no_observation_has_no_interval() -> None:
    assert np.isnan(wilson_interval(0, 0)).all()
