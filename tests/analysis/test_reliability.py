"""Kappa, Fleiss' kappa, Krippendorff's alpha and ICC against published values and peers."""

from __future__ import annotations

from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from analysis.kappa import bootstrap_kappa, draw_once, kappa_from_sums, sum_by_cluster
from analysis.reliability import fleiss_kappa, icc, krippendorff_alpha
from analysis.resampling import cluster_counts, percentile_interval
from analysis.votes import LIKERT, category_codes
from tests.analysis.golden import ANXIETY, JUDGES, OBSERVERS, SAS_TABLE, SKIN, diagnoses, pairs_of
from tests.analysis.simulated import one

# Quadratic kappa against SAS' data, R, statsmodels and scikit-learn, and its bootstrap


FIRST, SECOND = ANXIETY[0], ANXIETY[1]


def kappa(a: np.ndarray, b: np.ndarray, categories: tuple[int, ...] = LIKERT) -> float:
    """Of two columns of ratings on a scale."""
    codes = [category_codes(column, categories)[None] for column in (a, b)]
    clusters = np.zeros(codes[0].shape[1], np.intp)
    return float(kappa_from_sums(sum_by_cluster(codes[0], codes[1], clusters).sum(0))[0])


def noisy(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(1, 6, n)
    return a, np.clip(a + rng.integers(-1, 2, n), 1, 5)


def test_r_irr_kappa2_drops_the_unused_category() -> None:
    """R, irr::kappa2(anxiety[, 2:3], "squared")."""
    assert kappa(FIRST, SECOND, (1, 2, 3, 4, 6)) == pytest.approx(0.2520325, abs=1e-6)


def test_a_single_pair_of_ratings_has_no_kappa() -> None:
    assert np.isnan(kappa(np.array([1]), np.array([5])))
    assert kappa(np.array([1, 5]), np.array([1, 5])) == 1


def test_leaving_out_an_unused_category_changes_kappa() -> None:
    whole = kappa(FIRST, SECOND, (1, 2, 3, 4, 5, 6))
    observed = kappa(FIRST, SECOND, (1, 2, 3, 4, 6))
    trapped = cohen_kappa_score(FIRST, SECOND, weights="quadratic")
    labelled = cohen_kappa_score(FIRST, SECOND, weights="quadratic", labels=[1, 2, 3, 4, 5, 6])
    assert (observed, whole) == pytest.approx((trapped, labelled))
    assert abs(whole - observed) > 0.01


@pytest.mark.parametrize("table", [SKIN, SAS_TABLE], ids=["skin", "sas"])
def test_published_tables_give_the_kappa_of_statsmodels(table: np.ndarray) -> None:
    scale = tuple(range(1, len(table) + 1))
    expected = cohens_kappa(table, wt="quadratic").kappa
    assert kappa(*pairs_of(table), scale) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", ["single", "double"])
def test_every_resample_equals_scikit_learn_on_the_drawn_rows(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "double":
        monkeypatch.setattr("analysis.kappa._EXACT_IN_FLOAT32", 0)
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, (3, 60)), rng.integers(0, 5, (3, 60))
    clusters = rng.permutation(np.repeat(np.arange(20), 3))
    fast = bootstrap_kappa(sum_by_cluster(a, b, clusters), resamples=7, seed=4)
    counts = np.concatenate(list(cluster_counts(20, 7, 4))).astype(int)
    for resample, times in enumerate(counts):
        rows = np.repeat(np.arange(60), times[clusters])
        slow = [
            cohen_kappa_score(a[j, rows], b[j, rows], weights="quadratic", labels=list(range(5)))
            for j in range(3)
        ]
        assert fast[resample] == pytest.approx(slow, abs=1e-12)


def test_blocks_of_columns_and_kept_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(-1, 5, (7, 30)), rng.integers(-1, 5, (7, 30))
    sums = sum_by_cluster(a, b, np.arange(30))
    base = bootstrap_kappa(sums, 50, 1)
    monkeypatch.setattr("analysis.kappa._COLUMNS_AT_ONCE", 2)
    assert np.array_equal(bootstrap_kappa(sums, 50, 1, draw_once(30, 50, 1)), base, equal_nan=True)


def test_the_bootstrap_interval_is_close_to_the_asymptotic_one_for_many_pairs() -> None:
    a, b = noisy(2_000)
    table = np.zeros((5, 5))
    np.add.at(table, (a - 1, b - 1), 1)
    peer = cohens_kappa(table, wt="quadratic")
    sums = sum_by_cluster(a[None] - 1, b[None] - 1, np.arange(2_000))
    low, high = percentile_interval(bootstrap_kappa(sums, 4_000, 0))
    assert (low[0], high[0]) == pytest.approx((peer.kappa_low, peer.kappa_upp), abs=0.004)


ratings = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


@settings(max_examples=60, deadline=None)
@given(ratings)
def test_kappa_is_symmetric_blind_to_order_and_to_reversing_the_scale(
    pairs: list[tuple[int, int]],
) -> None:
    a, b = np.array(pairs).T
    plain = kappa(a, b)
    assert [kappa(b[::-1], a[::-1]), kappa(6 - a, 6 - b)] == pytest.approx([plain] * 2, nan_ok=True)
    assert np.isnan(plain) or plain <= 1 + 1e-12
    assert np.isnan(plain) == (len({*a, *b}) == 1)


def test_missing_ratings_are_left_out() -> None:
    a, b = np.array([1, 2, np.nan, 4, 5]), np.array([1, 3, 2, np.nan, 4])
    both = np.array([0, 1, 4])
    assert kappa(a, b) == pytest.approx(kappa(a[both], b[both]))
    assert np.isnan(kappa(np.array([np.nan]), np.array([1.0])))


def test_a_rating_outside_of_the_scale_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="7"):
        category_codes([1, 7], LIKERT)


# Fleiss' kappa, Krippendorff's alpha and the intraclass correlations against published values


def test_fleiss_diagnoses() -> None:
    row = fleiss_kappa(diagnoses(), (1, 2, 3, 4, 5)).iloc[0]
    assert row["estimate"] == pytest.approx(0.430, abs=5e-4)  # Fleiss 1971
    assert row["estimate"] == pytest.approx(0.4302445, abs=5e-8)  # R, irr::kappam.fleiss
    assert -ndtri(row["p"] / 2) == pytest.approx(17.65183, abs=5e-6)  # R, irr::kappam.fleiss
    assert row["low"] < row["estimate"] < row["high"]
    assert row["n"] == 30


def test_fleiss_equals_statsmodels_and_ignores_unused_categories() -> None:
    ratings = np.random.default_rng(0).integers(1, 4, (40, 5))
    peer = statsmodels_fleiss(aggregate_raters(ratings)[0])
    for categories in [(1, 2, 3), (1, 2, 3, 4, 5), (3, 1, 2)]:
        assert fleiss_kappa(ratings, categories)["estimate"][0] == pytest.approx(peer)


def test_fleiss_with_missing_ratings_says_that_there_is_no_test() -> None:
    ratings = diagnoses()
    ratings[0, 1:] = np.nan
    ratings[1, 0] = np.nan
    row = fleiss_kappa(ratings).iloc[0]
    assert row["n"] == 29
    assert np.isnan(row["p"])
    assert "different numbers" in row["note"]
    assert "1 subjects" in row["note"]


def test_krippendorffs_example_with_missing_data() -> None:
    row = krippendorff_alpha(OBSERVERS.T).iloc[0]
    peer = krippendorff.alpha(OBSERVERS, level_of_measurement="ordinal")
    assert row["estimate"] == pytest.approx(0.815, abs=5e-4)
    assert row["estimate"] == pytest.approx(peer)
    assert row["n"] == 11


def alpha_from_pairs(ratings: np.ndarray) -> float:
    """Ordinal alpha from every ordered pair of ratings, term by term."""
    units = [column[np.isfinite(column)] for column in ratings.T]
    units = [unit for unit in units if len(unit) > 1]
    every = np.concatenate(units)
    values, counts = np.unique(every, return_counts=True)
    number = dict(zip(values, counts, strict=True))

    def distance(c: float, k: float) -> float:
        between = sum(number[value] for value in values if min(c, k) <= value <= max(c, k))
        return float((between - (number[c] + number[k]) / 2) ** 2) if c != k else 0.0

    found = sum(
        distance(c, k) / (len(unit) - 1) for unit in units for c, k in permutations(unit, 2)
    )
    chance = sum(distance(c, k) for c in every for k in every)
    return float(1 - (len(every) - 1) * found / chance)


def test_ordinal_alpha_equals_the_sum_over_all_pairs() -> None:
    rng = np.random.default_rng(5)
    ratings = rng.integers(1, 6, (4, 15)).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    expected = alpha_from_pairs(ratings)
    assert krippendorff_alpha(ratings.T)["estimate"][0] == pytest.approx(expected)
    scale = (1, 2, 3, 4, 5, 6, 7)
    assert krippendorff_alpha(ratings.T, scale)["estimate"][0] == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(1, 5), min_size=3, max_size=3), min_size=2, max_size=12))
def test_alpha_does_not_care_who_rated_and_is_one_only_for_equal_ratings(
    units: list[list[int]],
) -> None:
    ratings = np.array(units, float).T
    alpha = krippendorff_alpha(ratings.T, resamples=10)["estimate"][0]
    shuffled = np.random.default_rng(0).permuted(ratings, axis=0)
    other = krippendorff_alpha(shuffled.T, resamples=10)["estimate"][0]
    assert other == pytest.approx(alpha, nan_ok=True)
    equal = (ratings == ratings[0]).all()
    one_value = len(np.unique(ratings)) == 1
    assert np.isnan(alpha) == one_value
    assert one_value or (alpha == pytest.approx(1)) == equal


SHROUT_FLEISS = {
    # form: printed in the paper, and low, high from R's psych::ICC
    "ICC1": (0.17, -0.133, 0.723),
    "ICC1k": (0.44, -0.884, 0.912),
}


def test_shrout_and_fleiss_intraclass_correlations() -> None:
    table = icc(JUDGES)
    for form, (estimate, low, high) in SHROUT_FLEISS.items():
        row = one(table, form=form)
        assert row["estimate"] == pytest.approx(estimate, abs=5e-3)
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=6e-4)
    assert table["p"].tolist() == pytest.approx([stats.f_oneway(*JUDGES).pvalue] * 2)


def test_icc1_with_missing_ratings_recovers_the_planted_share() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(0, 1, (2_000, 1)) + rng.normal(0, 1, (2_000, 8))
    ratings[rng.random(ratings.shape) < 0.5] = np.nan
    row = one(icc(ratings), form="ICC1")
    assert row["low"] < 0.5 < row["high"]
    assert row["high"] - row["low"] < 0.1
    assert "unequal" in row["note"]


@pytest.mark.parametrize(
    "ratings", [np.empty((0, 3)), np.full((4, 3), np.nan), [[1.0, np.nan]], np.full((4, 3), 2.0)]
)
def test_nothing_to_compare_gives_a_reason_and_no_number(ratings: np.ndarray) -> None:
    matrix = np.asarray(ratings, float)
    frames = [fleiss_kappa(matrix), krippendorff_alpha(matrix), icc(matrix)]
    for frame in frames:
        assert frame["estimate"].isna().all()
        assert (frame["note"] != "").all()
