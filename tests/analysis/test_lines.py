"""Lines, the mixed model of single ratings, and the difference of two dependent correlations."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize

from analysis.correlation_difference import correlation_difference
from analysis.crossed_model import crossed_slope
from analysis.lines import compare_lines, deming, fit_line, line_test, split_and_interaction


def test_without_clusters_errors_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = 1 + 2 * x + rng.normal(size=50)
    expected = sm.OLS(y, sm.add_constant(x)).fit()
    found = fit_line(x, y)
    assert found["estimate"].tolist() == pytest.approx(list(expected.params))
    assert found["error"].tolist() == pytest.approx(list(expected.bse))
    assert found["p"].tolist() == pytest.approx(list(expected.pvalues))


def test_errors_of_two_kinds_of_clusters_are_the_sandwich_of_cameron_gelbach_and_miller() -> None:
    rng = np.random.default_rng(1)
    units, raters = np.repeat(np.arange(12), 6), np.tile(np.arange(6), 12)
    x = rng.normal(size=12)[units]
    y = x + rng.normal(size=12)[units] + rng.normal(size=6)[raters] + rng.normal(size=72)
    design = sm.add_constant(x)
    bread = np.linalg.inv(design.T @ design)
    residual = y - design @ bread @ design.T @ y

    def meat(codes: np.ndarray) -> np.ndarray:
        groups = np.unique(codes)
        sums = [(design[codes == one] * residual[codes == one, None]).sum(0) for one in groups]
        scale = len(groups) / (len(groups) - 1) * 71 / 70
        return np.asarray(scale * sum(np.outer(one, one) for one in sums))

    both = meat(units) + meat(raters) - meat(units * 6 + raters)
    expected = np.sqrt(np.diag(bread @ both @ bread))
    found = fit_line(x, y, clusters=[units, raters])
    assert found["error"].tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_the_joint_test_of_a_line_finds_what_each_coefficient_alone_hides() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(10, 1, 80)
    y = x + 0.5 + rng.normal(size=80)  # the slope is right, the place is not
    found = line_test(x, y).set_index("term")["p"]
    assert found["both"] < 0.001 < found["slope"]


def test_homogeneity_of_slopes_is_the_interaction_of_an_analysis_of_covariance() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=60), "g": np.repeat(list("abc"), 20)})
    frame["y"] = frame["x"] * frame["g"].map({"a": 1.0, "b": 1.5, "c": 0.2}) + rng.normal(size=60)
    full = sm.OLS.from_formula("y ~ x * g", frame).fit()
    small = sm.OLS.from_formula("y ~ x + g", frame).fit()
    statistic, p, _ = full.compare_f_test(small)
    found = compare_lines(frame["x"], frame["y"], frame["g"]).set_index("term")
    assert found.loc["slopes", "statistic"] == pytest.approx(statistic)
    assert found.loc["slopes", "p"] == pytest.approx(p)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 4.0])
def test_deming_is_orthogonal_distance_regression_with_known_errors(ratio: float) -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=60)
    x, y = truth + 0.4 * rng.normal(size=60), 2 * truth + 0.4 * np.sqrt(ratio) * rng.normal(size=60)

    def distance(line: np.ndarray) -> float:
        """Least squares over the true places as well, each error in its own measure."""
        rest = y - line[0] - line[1] * x
        return float((rest**2).sum() / (ratio + line[1] ** 2))

    expected = minimize(distance, [0.0, 1.5], method="Nelder-Mead", options={"xatol": 1e-9}).x
    assert deming(x, y, ratio=ratio)["estimate"].tolist() == pytest.approx(expected, rel=1e-4)


def test_least_squares_is_too_flat_where_x_has_errors_and_deming_is_not() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=4_000)
    x, y = truth + 0.7 * rng.normal(size=4_000), truth + 0.7 * rng.normal(size=4_000)
    slopes = [one["estimate"].iloc[1] for one in (fit_line(x, y), deming(x, y))]
    assert slopes[0] == pytest.approx(1 / 1.49, abs=0.05) and slopes[1] == pytest.approx(
        1, abs=0.05
    )


def test_the_crossed_model_gives_the_numbers_of_statsmodels() -> None:
    rng = np.random.default_rng(6)
    units, raters = np.repeat(np.arange(15), 8), np.tile(np.arange(8), 15)
    x = rng.normal(size=15)
    y = 5 + 0.5 * x[units] + rng.normal(0, 0.6, 15)[units] + rng.normal(0, 0.8, 8)[raters]
    y += rng.normal(size=120)
    frame = pd.DataFrame({"y": y, "x": x[units], "unit": units, "rater": raters})
    parts = {"unit": "0 + C(unit)", "rater": "0 + C(rater)"}
    model = sm.MixedLM.from_formula("y ~ x", groups=np.ones(120), vc_formula=parts, data=frame)
    expected = model.fit(reml=True)
    found = crossed_slope(x[units], y, units, raters).set_index("quantity")
    assert found.loc["slope", "estimate"] == pytest.approx(expected.params["x"], rel=1e-3)
    limits = expected.conf_int().loc["x"]
    slope = [float(found["low"]["slope"]), float(found["high"]["slope"])]
    assert slope == pytest.approx(list(limits), rel=1e-2)
    total = expected.vcomp.sum() + expected.scale
    shares = dict(zip(model.exog_vc.names, expected.vcomp / total, strict=True))
    for name in ("unit", "rater"):
        assert found.loc[f"share_of_{name}s", "estimate"] == pytest.approx(shares[name], abs=0.01)


def test_a_difference_of_correlations_needs_more_than_one_of_them_to_be_significant() -> None:
    rng = np.random.default_rng(11)
    rating = rng.normal(size=60)
    one, other = rating + 2.0 * rng.normal(size=60), rating + 2.5 * rng.normal(size=60)
    found = correlation_difference(one, other, rating).set_index("quantity")
    assert found.loc["first", "estimate"] == pytest.approx(np.corrcoef(one, rating)[0, 1])
    assert found["low"]["difference"] < 0 < found["high"]["difference"]


def test_resamples_in_which_a_variable_is_constant_have_no_correlation() -> None:
    known = [0.0, 0, 0, 0, 0, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = correlation_difference(known, np.arange(7.0), np.arange(7.0) ** 2, resamples=500)
    known_row, full, difference = found.to_dict("records")
    assert np.isnan(known_row["low"]) and np.isnan(difference["low"])  # in a third of the draws
    assert 0 < full["low"] < full["estimate"] < full["high"] <= 1 + 1e-9


def test_equal_correlations_differ_significantly_in_about_one_study_of_twenty() -> None:
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(30), 2)
        rating = rng.normal(size=30)[groups] + rng.normal(size=60)
        one, other = (rating + rng.normal(size=30)[groups] + rng.normal(size=60) for _ in range(2))
        found = correlation_difference(one, other, rating, clusters=groups, resamples=400)
        alarms += found["p"].iloc[2] < 0.05
    assert alarms <= 20


def test_a_split_hides_and_a_continuous_interaction_shows_a_change_of_slope() -> None:
    rng = np.random.default_rng(8)
    x, z = rng.normal(size=300), rng.normal(size=300)
    y = x + 0.3 * x * z + rng.normal(size=300)
    found = split_and_interaction(x, y, z).set_index("term")
    assert found.loc["interaction", "estimate"] == pytest.approx(0.3 * z.std(ddof=1), abs=0.12)
    assert found["p"]["interaction"] < found["p"]["difference"]


@pytest.mark.parametrize("x", [[1.0, 2.0], [1.0, 1.0, 1.0], [np.nan] * 5])
def test_too_little_for_a_line_is_said(x: list[float]) -> None:
    y = np.arange(len(x), dtype=float)
    groups = np.arange(len(x)) % 2
    tables = [
        *(fit_line(x, y), deming(x, y), split_and_interaction(x, y, y)),
        crossed_slope(x, y, groups, groups),
    ]
    for table in tables:
        assert table["estimate"].isna().all() and (table["note"] != "").all()
    for tests in (line_test(x, y), compare_lines(x, y, groups)):
        assert tests["p"].isna().all() and (tests["note"] != "").all()


@pytest.mark.filterwarnings("error")
def test_a_variance_below_zero_is_a_missing_error_with_a_note_and_no_warning() -> None:
    rng = np.random.default_rng(0)
    clusters = [np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)]
    found = fit_line(rng.normal(size=9), rng.normal(size=9), clusters=clusters).set_index("term")
    assert found.loc["slope", ["error", "low", "high", "p"]].isna().all()
    assert found.loc["slope", "note"] == "too few clusters: no error"
    assert found.loc[["intercept"], "error"].notna().all()
