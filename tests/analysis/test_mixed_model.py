"""The random-intercept model against statsmodels, and what a value explains beyond groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from analysis.mixed_model import _random_intercept, explained_beyond
from tests.analysis.simulated import one


def grouped(seed: int, slope: float, groups: int = 15) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(groups), rng.integers(5, 30, groups))
    x = rng.normal(size=len(codes)) + rng.normal(size=groups)[codes]
    y = 0.8 * rng.normal(size=groups)[codes] + slope * x + rng.normal(size=len(codes))
    return x, y, codes


@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_the_random_intercept_model_equals_statsmodels(slope: float) -> None:
    x, y, codes = grouped(1, slope)
    design = np.column_stack([np.ones(len(x)), x])
    ours = _random_intercept(y, design, codes)
    peer = MixedLM(y, design, groups=codes).fit(reml=False)
    assert ours.log_likelihood == pytest.approx(peer.llf, abs=1e-4)
    assert ours.log_likelihood >= peer.llf - 1e-6  # the same maximum, found at least as well
    assert ours.coefficients == pytest.approx(peer.fe_params, abs=1e-4)
    assert ours.within == pytest.approx(peer.scale, rel=1e-3)
    assert ours.between == pytest.approx(peer.cov_re.item(), rel=5e-3)
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(peer.bse_fe, rel=1e-2)


def test_groups_without_a_difference_have_no_variance() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(20), 5)
    y = rng.normal(size=100)
    y -= (np.bincount(codes, y) / 5)[codes]
    fit = _random_intercept(y, np.ones((100, 1)), codes)
    assert fit.between == 0
    assert fit.within == pytest.approx((y**2).mean())


def test_shares_of_variance_are_those_planted() -> None:
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(200), 40)
    x = rng.normal(size=8_000)
    y = rng.normal(size=200)[codes] + 0.5 * x + rng.normal(size=8_000)
    table = explained_beyond(x, y, codes).set_index("quantity")["estimate"]
    assert table["slope"] == pytest.approx(0.5, abs=0.03)
    assert table["share_of_rest"] == pytest.approx(0.25 / 1.25, abs=0.02)
    assert table["share_of_all"] == pytest.approx(0.25 / 2.25, abs=0.02)
    assert table["share_of_groups"] == pytest.approx(1 / 2.25, abs=0.06)


def test_a_metric_that_only_tells_groups_apart_explains_nothing_beyond_them() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(30), 20)
    height = rng.normal(size=30)[codes]
    x, y = height + 0.3 * rng.normal(size=600), height + rng.normal(size=600)
    table = explained_beyond(x, y, codes)
    assert stats.pearsonr(x, y).statistic > 0.5
    assert one(table, quantity="slope")["p"] > 0.05
    assert one(table, quantity="share_of_rest")["low"] == 0
    assert one(table, quantity="share_of_rest")["high"] < 0.03


def test_the_slopes_interval_covers_and_its_test_keeps_its_level() -> None:
    covered = alarms = 0
    for seed in range(100):
        x, y, codes = grouped(seed, 0.0)
        row = explained_beyond(x, y, codes).iloc[0]
        covered += row["low"] <= 0 <= row["high"]
        alarms += row["p"] < 0.05
    assert covered >= 90
    assert alarms <= 8


@pytest.mark.parametrize(
    ("x", "y", "groups", "reason"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], ["a"] * 4, "fewer than two groups"),
        ([1, 2, 3], [1, 2, 3], list("aab"), "fewer than three units"),
        ([1] * 4 + [2] * 4, [1, 2, 3, 4] * 2, list("aaaabbbb"), "the value is constant"),
        ([1, 2, 3, 4] * 2, [1] * 4 + [2] * 4, list("aaaabbbb"), "the rating is constant"),
        ([np.nan] * 4, [1, 2, 3, 4], list("aabb"), "fewer than two groups"),
    ],
)
def test_too_little_for_a_model_gives_the_reason(
    x: list[float], y: list[float], groups: list[str], reason: str
) -> None:
    table = explained_beyond(x, y, groups)
    assert table["estimate"].isna().all()
    assert table["note"].str.contains(reason).all()
