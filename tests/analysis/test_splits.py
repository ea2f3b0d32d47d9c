"""The corrected resampled t test, against its formula and where two learners are equally good."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.splits import corrected_t_test


def test_the_test_is_the_formula_of_nadeau_and_bengio() -> None:
    values = np.array([0.03, 0.05, -0.01, 0.08, 0.02, 0.04, 0.06, 0.01, 0.03, 0.05])
    found = corrected_t_test(values, 15 / 70)
    t = values.mean() / np.sqrt((1 / 10 + 15 / 70) * values.var(ddof=1))
    assert found is not None
    assert found["p"] == pytest.approx(2 * stats.t.sf(t, 9), rel=1e-12)
    error = values.mean() / t
    ends = stats.t.interval(0.95, 9, values.mean(), error)
    assert (found["low"], found["high"]) == pytest.approx(ends, rel=1e-12)
    # By hand: variance (0.0190 - 10 * 0.036^2) / 9 = 0.00067111, error sqrt(0.314286 of it)
    assert found["estimate"] == pytest.approx(0.036) and error == pytest.approx(0.014523, abs=1e-6)


def test_without_a_correction_it_is_the_plain_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 12)
    found = corrected_t_test(values, 0)
    assert found is not None
    assert found["p"] == pytest.approx(float(stats.ttest_1samp(values, 0).pvalue), rel=1e-12)


@pytest.mark.parametrize("values", [[], [0.2], [0.2, 0.2, 0.2]])
def test_nothing_is_said_of_one_split_or_without_any_spread(values: list[float]) -> None:
    assert corrected_t_test(values, 0.2) is None


def _differences(rng: np.random.Generator, splits: int, train: int, test: int) -> np.ndarray:
    """Differences of the squared errors of regressions on one or other of two equal inputs."""
    size = train + 2 * test
    inputs = rng.normal(size=(2, size))
    target = inputs.sum(0) + rng.normal(size=size)
    found = np.empty(splits)
    for number in range(splits):
        order = rng.permutation(size)
        fit, new = order[:train], order[-test:]
        errors = []
        for values in inputs:
            slope, level = np.polyfit(values[fit], target[fit], 1)
            errors.append(((target[new] - level - slope * values[new]) ** 2).mean())
        found[number] = errors[0] - errors[1]
    return found


def test_equal_learners_seldom_differ_and_the_plain_test_says_they_often_do() -> None:
    rng = np.random.default_rng(3)
    runs = [_differences(rng, 10, 70, 15) for _ in range(300)]
    corrected = [corrected_t_test(run, 15 / 70) for run in runs]
    plain = [corrected_t_test(run, 0.0) for run in runs]
    alarms = np.mean([one is not None and one["p"] < 0.05 for one in corrected])
    plain_alarms = np.mean([one is not None and one["p"] < 0.05 for one in plain])
    assert alarms <= 0.075  # 5 % and two standard errors of 300 runs
    assert plain_alarms > 0.12
