"""Binomial intervals are those of scipy.stats, without loading it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.resampling import coin_quantile, wilson_interval


@pytest.mark.parametrize("n", [1, 2, 7, 40, 333])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilson_interval_equals_that_of_scipy(n: int, level: float) -> None:
    for count in {0, 1, n // 2, n}:
        expected = stats.binomtest(count, n).proportion_ci(level, method="wilson")
        found = wilson_interval(count, n, level)
        assert found == pytest.approx((expected.low, expected.high), abs=1e-15)


def test_no_observation_has_no_interval() -> None:
    assert np.isnan(wilson_interval(0, 0)).all()


@pytest.mark.parametrize("probability", [0.005, 0.025, 0.05, 0.3])
def test_quantiles_of_coins_equal_those_of_scipy(probability: float) -> None:
    numbers = range(1, 120)
    expected = [float(stats.binom.ppf(probability, n, 0.5)) for n in numbers]
    assert [coin_quantile(probability, n) for n in numbers] == expected
