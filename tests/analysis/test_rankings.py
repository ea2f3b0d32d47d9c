"""Mean positions, Kendall's W and Friedman's test against scipy, R and pairs of people."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.rankings import concordance, kendall_w, mean_positions, position_differences
from tests.analysis.golden import ROUNDING_TIMES
from tests.analysis.rows import one

ITEMS = ("Expectedness", "Trustworthy", "Complexity", "Robustness", "Objectivity")


def rankings(people: int = 15, pull: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Q7 with a planted order of the items, the stronger the larger ``pull``, and Q8 without."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        for question, strength in (("Q7", pull), ("Q8", 0.0)):
            taste = strength * np.arange(len(ITEMS)) + rng.normal(size=len(ITEMS))
            places = stats.rankdata(taste).astype(int)
            rows += [(f"p{person}", question, *pair) for pair in zip(ITEMS, places, strict=True)]
    return pd.DataFrame(rows, columns=["annotator_id", "question", "item", "position"])


def test_rounding_first_base_equals_rs_friedman_test() -> None:
    row = kendall_w(ROUNDING_TIMES).iloc[0]
    assert row["friedman"] == pytest.approx(11.143, abs=5e-4)
    assert row["p"] == pytest.approx(0.003805, abs=5e-7)
    assert row["p_permutation"] == pytest.approx(row["p"], abs=0.003)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.permutations(range(1, 6)), min_size=2, max_size=10))
def test_w_is_the_mean_correlation_of_pairs_of_people(people: list[list[int]]) -> None:
    row = kendall_w(people, resamples=0).iloc[0]
    pairs = [stats.spearmanr(left, right).statistic for left, right in combinations(people, 2)]
    assert row["mean_correlation"] == pytest.approx(np.mean(pairs), abs=1e-12)
    assert 0 <= row["estimate"] <= 1 + 1e-12
    if len(people) > 2:
        assert row["friedman"] == pytest.approx(
            stats.friedmanchisquare(*np.array(people).T).statistic, abs=1e-9
        )


def test_friedman_with_ties_equals_scipy() -> None:
    ratings = np.random.default_rng(2).integers(1, 4, (12, 4))
    row = kendall_w(ratings, resamples=0).iloc[0]
    peer = stats.friedmanchisquare(*ratings.T)
    assert (row["friedman"], row["p"]) == pytest.approx((peer.statistic, peer.pvalue))


def test_all_alike_is_one_and_two_opposites_are_zero() -> None:
    same = kendall_w([[1, 2, 3, 4]] * 5).iloc[0]
    assert (same["estimate"], same["low"], same["high"]) == pytest.approx((1, 1, 1))
    assert kendall_w([[1, 2, 3], [3, 2, 1]])["estimate"][0] == 0


def test_the_interval_of_w_covers_what_a_large_crowd_shows() -> None:
    heights, people, studies = np.arange(5) * 0.3, 15, 300
    crowd = heights + np.random.default_rng(0).normal(size=(20_000, 5))
    mean = kendall_w(crowd, resamples=0)["mean_correlation"][0]
    truth = (1 + (people - 1) * mean) / people  # W depends on the number of people
    covered = 0
    for seed in range(studies):
        taste = heights + np.random.default_rng([1, seed]).normal(size=(people, 5))
        row = kendall_w(taste, resamples=0).iloc[0]
        covered += row["low"] <= truth <= row["high"]
    assert 0.915 <= covered / studies <= 0.98


def test_without_a_common_order_the_test_keeps_its_level() -> None:
    rng = np.random.default_rng(7)
    alarms = sum(
        kendall_w(rng.permuted(np.tile(np.arange(6), (15, 1)), axis=1), resamples=200)[
            "p_permutation"
        ][0]
        < 0.05
        for _ in range(200)
    )
    assert alarms <= 16


def test_mean_positions_are_sorted_and_have_t_intervals() -> None:
    frame = rankings()
    table = mean_positions(frame)
    q7 = table[table["question"] == "Q7"]
    assert q7["item"].tolist()[0] == "Expectedness"
    assert q7["estimate"].is_monotonic_increasing
    assert q7["estimate"].sum() == pytest.approx(15)  # positions 1 to 5 once each
    given_ = frame[(frame["question"] == "Q7") & (frame["item"] == "Complexity")]["position"]
    row = q7[q7["item"] == "Complexity"].iloc[0]
    limits = stats.t.interval(0.95, 14, given_.mean(), stats.sem(given_))
    assert (row["low"], row["high"]) == pytest.approx(limits)
    assert row["sd"] == pytest.approx(given_.std())
    assert table["low"].min() >= 1
    assert table["high"].max() <= 5


def test_concordance_and_differences_find_the_planted_order_only() -> None:
    frame = rankings()
    table = concordance(frame, resamples=500)
    assert one(table, question="Q7")["p_permutation"] < 0.01
    assert one(table, question="Q8")["p_permutation"] > 0.05
    apart = position_differences(frame)
    row = one(apart, question="Q7", first="Expectedness", second="Objectivity")
    assert row["estimate"] < -2
    assert row["p_holm"] < 0.01
    assert (apart[apart["question"] == "Q8"]["p_holm"] > 0.05).all()
    assert len(apart) == 2 * 10


def test_an_incomplete_ranking_is_left_out_and_counted() -> None:
    frame = rankings()
    lost = (frame["annotator_id"] == "p3") & (frame["question"] == "Q7")
    frame = frame.drop(frame[lost].index[0])
    row = one(concordance(frame, resamples=0), question="Q7")
    assert row["n"] == 14
    assert row["note"] == "1 incomplete rankings left out"


def test_one_person_or_none_has_a_reason_and_no_concordance() -> None:
    frame = rankings(people=1)
    table = concordance(frame)
    assert table["estimate"].isna().all()
    assert (table["note"] == "fewer than two people").all()
    assert mean_positions(frame)["low"].isna().all()
    nobody = frame.iloc[:0]
    assert mean_positions(nobody).empty
    assert concordance(nobody).empty
    assert position_differences(nobody).empty
