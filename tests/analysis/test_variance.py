"""Variance analysis: certified and published values, statsmodels, power."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from analysis.variance import anova, anova_power, eta_squared, smallest_effect, tukey

# NIST Statistical Reference Datasets, SiRstv: resistivity by five instruments
# (https://www.itl.nist.gov/div898/strd/anova/SiRstv.html)
SIRSTV = [
    [196.3052, 196.1240, 196.1890, 196.2569, 196.3403],
    [196.3042, 196.3825, 196.1669, 196.3257, 196.0422],
    [196.1303, 196.2005, 196.2889, 196.0343, 196.1811],
    [196.2795, 196.1748, 196.1494, 196.1485, 195.9885],
    [196.2119, 196.1051, 196.1850, 196.0052, 196.2090],
]
# Dobson 1983, An Introduction to Statistical Modelling: dried weights of plants (PlantGrowth in R,
# whose TukeyHSD(aov(weight ~ group)) gives the values below)
PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
VALUES = [value for part in PLANTS.values() for value in part]
GROUPS = np.repeat(list(PLANTS), 10)


def test_f_and_eta_squared_are_the_certified_ones() -> None:
    found = anova(np.ravel(SIRSTV), np.repeat(list("abcde"), 5)).iloc[0]
    assert (found["df1"], found["df2"]) == (4, 20)
    assert found["f"] == pytest.approx(1.18046237440255, rel=1e-8)
    assert found["estimate"] == pytest.approx(0.190999039051129, rel=1e-8)


def test_all_pairs_are_those_that_r_prints() -> None:
    found = tukey(VALUES, GROUPS).set_index(["first", "second"])
    printed = {
        ("ctrl", "trt1"): (0.371, -0.3202161, 1.0622161, 0.3908711),
        ("ctrl", "trt2"): (-0.494, -1.1852161, 0.1972161, 0.1979960),
        ("trt1", "trt2"): (-0.865, -1.5562161, -0.1737839, 0.0120064),
    }
    for pair, values in printed.items():
        row = found.xs(pair)[["estimate", "low", "high", "p"]].to_numpy(np.float64)
        assert row == pytest.approx(values, abs=2e-5)


def test_the_variance_analysis_and_the_pairs_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    y, groups = rng.normal(size=60), rng.choice(list("abcd"), 60)
    table = anova_lm(ols("y ~ C(g)", pd.DataFrame({"y": y, "g": groups})).fit())
    found = anova(y, groups).iloc[0]
    assert found["f"] == pytest.approx(table["F"].iloc[0])
    assert found["p"] == pytest.approx(table["PR(>F)"].iloc[0])
    sums = table["sum_sq"]
    assert found["estimate"] == pytest.approx(sums.iloc[0] / sums.sum())
    theirs = pairwise_tukeyhsd(y, groups)
    assert tukey(y, groups)["p"].to_numpy() == pytest.approx(theirs.pvalues)
    assert tukey(y, groups)["estimate"].to_numpy() == pytest.approx(-theirs.meandiffs)


def test_the_interval_of_eta_squared_puts_f_at_the_tails() -> None:
    found = anova(VALUES, GROUPS).iloc[0]
    for end, tail in (("low", 0.975), ("high", 0.025)):
        share = found[end]
        spread = share / (1 - share) * found["n"]
        assert stats.ncf.cdf(found["f"], 2, 27, spread) == pytest.approx(tail, abs=1e-4)


def test_the_printed_f_of_the_meta_predictor_has_the_printed_effect() -> None:
    """https://hal.science/hal-03473101, section 4.1."""
    assert eta_squared(4.58, 7, 234) == pytest.approx(0.121, abs=6e-4)
    assert eta_squared(3.12, 7, 232) == pytest.approx(0.086, abs=6e-4)


def test_power_is_that_of_the_noncentral_f_and_the_smallest_effect_has_it() -> None:
    n, k, f = 240, 8, 0.25
    critical = stats.f.ppf(0.95, k - 1, n - k)
    assert anova_power(k, n, f) == pytest.approx(stats.ncf.sf(critical, k - 1, n - k, f**2 * n))
    assert anova_power(k, n, f) >= 0.8  # as the paper says of its design
    assert anova_power(k, n, smallest_effect(k, n)) == pytest.approx(0.8, abs=1e-6)
    assert anova_power(4, 6, smallest_effect(4, 6)) == pytest.approx(0.8, abs=1e-6)
    assert smallest_effect(4, 6) > 2  # beyond what a solver looks for by itself


def test_one_group_and_equal_values_give_reasons_and_no_numbers() -> None:
    for values, groups in (([1, 2, 3], "aaa"), ([1, 1, 2, 2], "aabb")):
        found = anova(values, list(groups)).iloc[0]
        assert np.isnan(found["f"]) and found["note"]
        assert tukey(values, list(groups)).empty
