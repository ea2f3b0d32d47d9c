"""Intervals, equivalence and power of differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from analysis.contrasts import (
    Contrast,
    contrast_row,
    errors_to_detect,
    eta_squared,
    one_mean,
    slope,
    welch,
)

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
    error = np.sqrt(1 / n + 1 / (n * ratio))
    assert error * errors_to_detect(n + n * ratio - 2) == pytest.approx(effect, rel=1e-6)


def test_smallest_effect_is_found_four_times_out_of_five() -> None:
    rng = np.random.default_rng(3)
    effect = np.sqrt(1 / 7 + 1 / 8) * errors_to_detect(13)
    first, second = rng.normal(effect, 1, (20_000, 7)), rng.normal(0, 1, (20_000, 8))
    p = stats.ttest_ind(first, second, axis=1).pvalue
    assert np.mean(p < 0.05) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("df", [1, 1.5, 2, 5, 14, 100, 10_000])
def test_smallest_effect_exists_for_all_degrees_of_freedom(df: float) -> None:
    """The power at the answer, from scipy's noncentral t distribution where it has both tails."""
    found = errors_to_detect(df)
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


def test_eta_squared_agrees_with_scipys_analysis_of_variance() -> None:
    groups = ["a", "a", "a", "b", "b", "c", "c"]
    values = np.array(FIRST)
    split = [values[np.array(groups) == name] for name in "abc"]
    assert eta_squared(FIRST, groups)["p"] == pytest.approx(stats.f_oneway(*split).pvalue)


def test_eta_squared_interval_inverts_the_noncentral_f_distribution() -> None:
    """At each end of the interval the observed F sits exactly at that tail."""
    values, groups = [1.0, 2, 3, 5, 6, 7, 8, 9, 11], ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    found = {name: float(str(value)) for name, value in eta_squared(values, groups).items()
             if name != "note"}  # fmt: skip
    share = found["estimate"]
    ratio = share / 2 / ((1 - share) / 6)
    for end, tail in (("low", 0.975), ("high", 0.025)):
        noncentrality = 9 * found[end] / (1 - found[end])
        assert stats.ncf.cdf(ratio, 2, 6, noncentrality) == pytest.approx(tail, abs=1e-4)


def test_one_annotator_in_a_group_borrows_the_spread_of_the_others_and_says_so() -> None:
    found = welch([3.0], SECOND)
    expected = np.std(SECOND, ddof=1) * np.sqrt(1 + 1 / 5)
    assert found.error == pytest.approx(expected) and "one annotator" in found.note


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
