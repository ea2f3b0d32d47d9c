"""Binomial intervals are those of scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.contrasts import wilson_interval


@pytest.mark.parametrize("n", [1, 2, 7, 40, 333])
def test_wilson_interval_equals_that_of_scipy(n: int) -> None:
    for count in {0, 1, n // 2, n}:
        expected = stats.binomtest(count, n).proportion_ci(method="wilson")
        assert wilson_interval(count, n) == pytest.approx((expected.low, expected.high), abs=1e-15)


def test_no_observation_has_no_interval() -> None:
    assert np.isnan(wilson_interval(0, 0)).all()
