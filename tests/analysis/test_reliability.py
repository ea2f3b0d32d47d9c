"""Fleiss' kappa, Krippendorff's alpha and the intraclass correlations against published values."""

from __future__ import annotations

from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from analysis.reliability import fleiss_kappa, icc, krippendorff_alpha
from tests.analysis.golden import JUDGES, OBSERVERS, diagnoses
from tests.analysis.rows import one


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


def test_raters_who_differ_by_a_constant_do_not_agree_in_level() -> None:
    targets = np.array([1.0, 2, 3, 4, 5])
    table = icc(np.column_stack([targets, targets + 3]))
    assert one(table, form="ICC1")["estimate"] < 0.5
    assert one(icc(np.column_stack([targets] * 2)), form="ICC1")["estimate"] == 1


@pytest.mark.parametrize(
    "ratings", [np.empty((0, 3)), np.full((4, 3), np.nan), [[1.0, np.nan]], np.full((4, 3), 2.0)]
)
def test_nothing_to_compare_gives_a_reason_and_no_number(ratings: np.ndarray) -> None:
    matrix = np.asarray(ratings, float)
    frames = [fleiss_kappa(matrix), krippendorff_alpha(matrix), icc(matrix)]
    for frame in frames:
        assert frame["estimate"].isna().all()
        assert (frame["note"] != "").all()
