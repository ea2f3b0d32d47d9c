"""Correlations equal scipy's; clustered intervals equal a loop and cover at the nominal rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis import correlation
from analysis.correlation import (
    Method,
    _bootstrap_correlations,
    closest_columns,
    correlate_columns,
    correlation_table,
)
from analysis.resampling import cluster_counts, holm
from tests.analysis.simulated import one


def clustered(
    groups: int, size: int, rho: float, alike: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal pairs with correlation ``rho``; a share ``alike`` of the variance is the cluster's."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky([[1, rho], [rho, 1]]).T
    shared = np.repeat(rng.normal(size=(groups, 2)) @ root, size, axis=0)
    own = rng.normal(size=(groups * size, 2)) @ root
    x, y = (np.sqrt(alike) * shared + np.sqrt(1 - alike) * own).T
    return x, y, np.repeat(np.arange(groups), size)


def frames(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = np.clip(np.rint(3 + 0.8 * x[:, :2] + rng.normal(size=(n, 2))), 1, 5)
    return pd.DataFrame(x, columns=["a", "b", "c"]), pd.DataFrame(y, columns=["Q1", "Q2"])


def by_scipy(x: np.ndarray, y: np.ndarray, method: str) -> tuple[float, float]:
    if method == "spearman":
        ranked = stats.spearmanr(x, y)
        return float(ranked.statistic), float(ranked.pvalue)
    plain = stats.pearsonr(x, y)
    return float(plain.statistic), float(plain.pvalue)


def alone(x: ArrayLike, y: ArrayLike, method: Method, **options: Any) -> dict[str, Any]:
    """Two columns: the only row of their table."""
    left, right = pd.DataFrame({"x": x}), pd.DataFrame({"y": y})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(correlation, "METHODS", (method,))
        table = correlation_table(left, right, **options)
    (row,) = table.to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_estimates_p_and_fisher_interval_equal_scipy() -> None:
    values, ratings = frames()
    table = correlation_table(values, ratings, resamples=20)
    for row in table.to_dict("records"):
        x, y = values[row["value"]].to_numpy(), ratings[row["rating"]].to_numpy()
        if row["method"] == "pearson":
            limits = stats.pearsonr(x, y).confidence_interval()
            assert (row["fisher_low"], row["fisher_high"]) == pytest.approx(limits)
        assert (row["estimate"], row["p"]) == pytest.approx(by_scipy(x, y, row["method"]))
    assert len(table) == 3 * 2 * 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.floats(-1e6, 1e6).map(lambda v: round(v, 3))),
        min_size=3,
        max_size=30,
    )
)
def test_spearman_equals_scipy_with_any_ties(pairs: list[tuple[int, float]]) -> None:
    x, y = np.array(pairs, float).T
    row = alone(x, y, "spearman", resamples=5)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(row["estimate"])
        assert "constant" in row["note"]
    else:
        assert row["estimate"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


@pytest.mark.parametrize("ranks", [False, True])
def test_every_resample_equals_scipy_on_the_drawn_rows(ranks: bool) -> None:
    values, ratings = frames(40)
    x, y = values.to_numpy(), ratings.to_numpy()
    clusters = np.arange(40) // 4
    fast = _bootstrap_correlations(x, y, clusters, ranks=ranks, resamples=6, seed=2)
    counts = np.concatenate(list(cluster_counts(10, 6, 2))).astype(int)
    method = "spearman" if ranks else "pearson"
    for resample, times in enumerate(counts):
        rows = np.repeat(np.arange(40), times[clusters])
        slow = [[by_scipy(x[rows, i], y[rows, j], method)[0] for j in range(2)] for i in range(3)]
        assert fast[resample] == pytest.approx(np.array(slow))


@pytest.mark.parametrize("ranks", [False, True])
def test_chunks_of_resamples_change_nothing(ranks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(60, 3)), rng.integers(1, 6, (60, 2)).astype(float)
    x[:, 2] = 1  # never varies
    strata, images = rng.integers(0, 4, 60), np.arange(60) // 5

    def drawn() -> np.ndarray:
        return _bootstrap_correlations(
            x, y, images, ranks=ranks, strata=strata, resamples=20, seed=1
        )

    whole = drawn()
    monkeypatch.setattr(correlation, "_CHUNK_NUMBERS", 100)
    np.testing.assert_allclose(drawn(), whole, atol=1e-13)
    assert np.isnan(whole[:, 2]).all() and np.isfinite(whole[:, :2]).all()


def partial_by_dummies(
    x: np.ndarray, y: np.ndarray, strata: np.ndarray, ranks: bool
) -> tuple[float, float]:
    """Correlate the residuals of regressions on one dummy for each stratum; with its p."""
    if ranks:
        x, y = stats.rankdata(x), stats.rankdata(y)
    dummies = (strata[:, None] == np.unique(strata)).astype(float)
    left, right = (v - dummies @ np.linalg.lstsq(dummies, v, rcond=None)[0] for v in (x, y))
    r = float(left @ right / np.sqrt((left @ left) * (right @ right)))
    freedom = len(x) - dummies.shape[1] - 1
    t = r * np.sqrt(freedom / (1 - r**2))
    return r, float(2 * stats.t.sf(abs(t), freedom))


@pytest.mark.parametrize("ranks", [False, True])
def test_correlation_within_strata_equals_regression_on_dummies(ranks: bool) -> None:
    values, ratings = frames(80)
    strata = np.random.default_rng(1).integers(0, 5, 80)
    x, y = values["a"].to_numpy() + strata, ratings["Q1"].to_numpy() - strata
    row = alone(x, y, "spearman" if ranks else "pearson", strata=strata, resamples=20)
    assert (row["estimate"], row["p"]) == pytest.approx(partial_by_dummies(x, y, strata, ranks))


@pytest.mark.parametrize("ranks", [False, True])
def test_strata_means_are_taken_anew_in_each_resample(ranks: bool) -> None:
    values, ratings = frames(60)
    strata = np.random.default_rng(1).permutation(np.arange(60) % 4)
    x, y, clusters = values["a"].to_numpy(), ratings["Q1"].to_numpy(), np.arange(60) // 3
    fast = _bootstrap_correlations(
        x[:, None], y[:, None], clusters, ranks=ranks, strata=strata, resamples=5, seed=1
    )
    counts = np.concatenate(list(cluster_counts(20, 5, 1))).astype(int)
    for resample, times in enumerate(counts):
        rows = np.repeat(np.arange(60), times[clusters])
        slow = partial_by_dummies(x[rows], y[rows], strata[rows], ranks)[0]
        assert fast[resample, 0, 0] == pytest.approx(slow)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_the_clustered_interval_covers_at_the_nominal_rate_and_fishers_does_not(
    method: Method,
) -> None:
    rho, studies = 0.5, 200
    # Spearman's correlation of a normal pair
    truth = rho if method == "pearson" else 6 / np.pi * np.arcsin(rho / 2)
    covered = fisher = 0
    for seed in range(studies):
        x, y, clusters = clustered(40, 6, rho, 0.6, seed)
        row = alone(x, y, method, clusters=clusters, resamples=200)
        covered += row["low"] <= truth <= row["high"]
        fisher += row["fisher_low"] <= truth <= row["fisher_high"]
    assert 0.91 <= covered / studies <= 0.985
    assert fisher / studies < 0.88


def test_without_an_effect_the_clustered_test_keeps_its_level() -> None:
    alarms = naive = 0
    for seed in range(200):
        x, y, clusters = clustered(40, 6, 0.0, 0.6, seed)
        row = alone(x, y, "pearson", clusters=clusters, resamples=200)
        alarms += row["p_clustered"] < 0.05
        naive += row["p"] < 0.05
    assert alarms / 200 <= 0.08
    assert naive / 200 > 0.12


def test_missing_values_are_left_out_pair_by_pair() -> None:
    values, ratings = frames()
    values.loc[:9, "a"] = np.nan
    ratings.loc[50:, "Q2"] = np.nan
    table = correlation_table(values, ratings, resamples=20)
    table = table[table["method"] == "spearman"]
    row = one(table, value="a", rating="Q2")
    assert row["n"] == 40
    assert one(table, value="b", rating="Q1")["n"] == 60
    single = alone(values["a"], ratings["Q2"], "spearman", resamples=20)
    assert (row["estimate"], row["low"]) == pytest.approx((single["estimate"], single["low"]))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize(
    ("x", "y", "reason", "n"),
    [
        ([1.0, 2], [1.0, 2], "fewer than 3 units", 2),
        ([], [], "fewer than 3 units", 0),
        ([1.0, 2, np.nan], [1.0, 2, 3], "fewer than 3 units", 2),
        ([1.0, 2, 3, 4], [4.0] * 4, "the rating is constant", 4),
        ([0.1] * 7, [1.0, 2, 3, 4, 5, 4, 3], "the value is constant", 7),
    ],
)
def test_too_little_to_correlate_gives_n_and_the_reason(
    method: Method, x: list[float], y: list[float], reason: str, n: int
) -> None:
    row = alone(x, y, method)
    assert (row["n"], row["note"]) == (n, reason)
    for name in ("estimate", "low", "high", "fisher_low", "p", "p_clustered"):
        assert np.isnan(row[name])


def test_one_cluster_has_an_estimate_but_no_clustered_interval() -> None:
    row = alone([1.0, 2, 3, 5], [2.0, 1, 4, 4], "pearson", clusters=["i"] * 4)
    assert np.isfinite(row["estimate"])
    assert np.isnan(row["low"])
    assert "one cluster" in row["note"]


def test_holm_equals_statsmodels_and_skips_what_is_missing() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.9])
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    gaps = holm([0.01, np.nan, 0.04])
    assert gaps == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)


def test_questions_are_correlated_in_pairs() -> None:
    labels = pd.concat(frames(), axis=1)[["Q1", "Q2", "a"]]
    table = correlate_columns(labels, resamples=20)
    pairs = list(zip(table["first"], table["second"], strict=True))
    assert sorted(set(pairs)) == [("Q1", "Q2"), ("Q1", "a"), ("Q2", "a")]
    assert len(table) == 6


# Which column is the closest


def _followers(
    rng: np.random.Generator, images: int, strengths: Sequence[float]
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Ratings of eight samples of each image, and columns that follow them more or less."""
    image = np.repeat(np.arange(images), 8)
    quality = 0.7 * (rng.normal(size=images)[image] + rng.normal(size=len(image)))
    rating = np.clip(np.rint(3 + quality + 0.5 * rng.normal(size=len(image))), 1, 5)
    columns = {
        f"column {place}": strength * quality
        + 0.4 * rng.normal(size=images)[image]
        + rng.normal(size=len(image))
        for place, strength in enumerate(strengths)
    }
    return pd.DataFrame(columns), pd.DataFrame({"rating": rating}), image


def _closest_set(values: pd.DataFrame, ratings: pd.DataFrame, images: np.ndarray) -> set[str]:
    found = closest_columns(values, ratings, clusters=images, resamples=300, seed=0)
    return set(found.loc[found["p_closest"] >= 0.05, "value"])


def test_the_set_contains_the_closest_column_in_at_least_95_of_100_studies() -> None:
    strengths = [0.5, -0.6, 0.5, 0.55, 0.3, 0.0]  # the second is the closest, by its size
    found = [_closest_set(*_followers(np.random.default_rng(n), 25, strengths)) for n in range(100)]
    assert sum("column 1" in names for names in found) >= 95
    assert sum("column 5" in names for names in found) <= 20  # and it is a choice, not everything


def test_with_200_samples_more_the_column_in_front_was_in_the_set_before() -> None:
    strengths = [0.5, 0.48, 0.5, 0.52, 0.2, 0.0]
    kept = flips = 0
    for seed in range(60):
        values, ratings, images = _followers(np.random.default_rng(seed), 75, strengths)
        before = images < 50  # 400 samples, then 600
        first = closest_columns(values[before], ratings[before], clusters=images[before],
                                resamples=300, seed=0)  # fmt: skip
        then = closest_columns(values, ratings, clusters=images, resamples=300, seed=0)
        ahead = then["value"][then["estimate"].abs().argmax()]
        flips += ahead != first["value"][first["estimate"].abs().argmax()]
        kept += ahead in set(first.loc[first["p_closest"] >= 0.05, "value"])
    assert kept >= 58 and flips >= 10  # a single name would have changed often


def test_a_column_with_two_names_is_the_closest_under_both_and_gaps_are_left_out() -> None:
    values, ratings, images = _followers(np.random.default_rng(0), 30, [1.5, 0.1, 0.0])
    values["again"] = values["column 0"]
    values["nothing"] = np.nan
    values.loc[:40, "column 1"] = np.nan
    found = closest_columns(values, ratings, clusters=images, resamples=200, seed=0)
    p = found.set_index("value")["p_closest"]
    assert p["again"] == p["column 0"] > 0.5 and np.isnan(p["nothing"]) and p["column 1"] < 0.05
    table = correlation_table(values, ratings, clusters=images, resamples=20, seed=0)
    ranks = table[table["method"] == "spearman"].set_index("value")["estimate"]
    pd.testing.assert_series_equal(found.set_index("value")["estimate"], ranks)
