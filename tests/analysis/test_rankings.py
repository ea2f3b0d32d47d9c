"""Positions, orders of groups and critical differences against scipy, R and published numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from choix import ilsr_pairwise_dense
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.rankings import (
    _count_wins,
    _pairs_by_holm,
    _rank_by_wins,
    concordance,
    critical_difference,
    kendall_w,
    mean_positions,
    nemenyi,
    position_differences,
    rank_groups,
    rater_means,
    share_of_favourites,
)
from analysis.votes import mirror_ratings
from tests.analysis.golden import ROUNDING_TIMES
from tests.analysis.simulated import Study, one, simulate

# Mean positions, Kendall's W and Friedman's test against scipy, R and pairs of people


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
    return pd.DataFrame(rows, columns=["rater", "group", "item", "position"])


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
    q7 = table[table["group"] == "Q7"]
    assert q7["item"].tolist()[0] == "Expectedness"
    assert q7["estimate"].is_monotonic_increasing
    assert q7["estimate"].sum() == pytest.approx(15)  # positions 1 to 5 once each
    given_ = frame[(frame["group"] == "Q7") & (frame["item"] == "Complexity")]["position"]
    row = q7[q7["item"] == "Complexity"].iloc[0]
    limits = stats.t.interval(0.95, 14, given_.mean(), stats.sem(given_))
    assert (row["low"], row["high"]) == pytest.approx(limits)
    assert row["sd"] == pytest.approx(given_.std())
    assert table["low"].min() >= 1
    assert table["high"].max() <= 5


def test_concordance_and_differences_find_the_planted_order_only() -> None:
    frame = rankings()
    table = concordance(frame, resamples=500)
    assert one(table, group="Q7")["p_permutation"] < 0.01
    assert one(table, group="Q8")["p_permutation"] > 0.05
    apart = position_differences(frame)
    row = one(apart, group="Q7", first="Expectedness", second="Objectivity")
    assert row["estimate"] < -2
    assert row["p_holm"] < 0.01
    assert (apart[apart["group"] == "Q8"]["p_holm"] > 0.05).all()
    assert len(apart) == 2 * 10


def test_an_incomplete_ranking_is_left_out_and_counted() -> None:
    frame = rankings()
    lost = (frame["rater"] == "p3") & (frame["group"] == "Q7")
    frame = frame.drop(frame[lost].index[0])
    row = one(concordance(frame, resamples=0), group="Q7")
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


# Ranks by Bradley and Terry's model


# Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore
BASEBALL = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ],
    float,
)


def test_baseball_agrees_with_the_published_fit() -> None:
    """American League 1987: Agresti 2002, doi:10.1002/0471249688, table 10.10; R's BradleyTerry2
    (doi:10.18637/jss.v048.i09) prints these strengths against Baltimore."""
    published = [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0]
    strength = ilsr_pairwise_dense(BASEBALL)
    assert strength - strength[-1] == pytest.approx(published, abs=5e-5)
    assert _rank_by_wins(BASEBALL).tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 5], [0, 0]],
        [[0, 0], [0, 0]],
        [[0, 1, 0], [1, 0, 1], [0, 0, 0]],  # the last never wins
    ],
)
def test_without_finite_strengths_there_is_no_rank(wins: list[list[float]]) -> None:
    assert np.isnan(_rank_by_wins(np.array(wins, float))).all()


def test_a_way_back_through_others_is_enough() -> None:
    """A round of three wins: nobody is stronger."""
    round_ = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert sorted(_rank_by_wins(round_)) == [1, 2, 3]


def test_wins_are_those_of_every_two_votes_of_a_block() -> None:
    """Oracle: loops over all pairs of votes of a rater on an item."""
    rng = np.random.default_rng(1)
    rater, item = np.repeat([0, 0, 3, 3], 9), np.repeat([0, 2, 0, 2], 9)
    group, place = rng.integers(0, 3, 36), rng.integers(0, 5, 36)
    expected = np.zeros((3, 3))
    for i in range(36):
        for j in range(36):
            alike = rater[i] == rater[j] and item[i] == item[j]
            if alike and group[i] != group[j]:
                won = (np.sign(place[i] - place[j]) + 1) / 2
                expected[group[i], group[j]] += won / 9
    assert _count_wins(rater, item, group, place) == pytest.approx(expected)


# Critical differences and groups


# Demšar 2006, https://jmlr.org/papers/v7/demsar06a.html, table 6. The last two of "voting" are
# printed as 0.975 but ranked 2 and 3.
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.9750],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)


def test_mean_ranks_and_critical_difference_agree_with_demsars_example() -> None:
    found = critical_difference(DEMSAR).set_index("item")
    ranks = found["estimate"].reindex(DEMSAR.columns).to_numpy()
    assert ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found["critical_difference"].iloc[0] == pytest.approx(1.25, abs=0.005)
    plain = 12 * 14 / (4 * 5) * (float((ranks**2).sum()) - 4 * 25 / 4)
    assert plain == pytest.approx(9.28, abs=0.005)  # the paper's, without correction for ties
    assert found["groups"].tolist() == ["a"] * 4


def test_chi_square_agrees_with_scipy_also_with_ties() -> None:
    found = critical_difference(DEMSAR).iloc[0]
    peer = stats.friedmanchisquare(*DEMSAR.to_numpy().T)
    assert (found["chi_square"], found["p"]) == pytest.approx((peer.statistic, peer.pvalue))


@pytest.mark.parametrize(("items", "quantile"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_quantiles_agree_with_demsars_table_5(items: int, quantile: float) -> None:
    scale = np.sqrt(items * (items + 1) / (6 * 30))
    found = critical_difference(pd.DataFrame([range(items)] * 30))["critical_difference"]
    assert found.to_numpy() / scale == pytest.approx([quantile] * items, abs=1e-3)


@pytest.mark.parametrize(
    ("blocks", "letters"),
    [
        (2, ["a", "a", "a", "a"]),  # a critical difference of 3.3
        (4, ["a", "ab", "ab", "b"]),  # 2.3
        (14, ["a", "ab", "bc", "c"]),  # 1.25
        (25, ["", "", "", ""]),  # 0.94: everybody differs from both neighbours
    ],
)
def test_letters_mark_the_longest_runs_without_a_difference(
    blocks: int, letters: list[str]
) -> None:
    """Blocks that all agree: mean ranks of 1, 2, 3 and 4."""
    found = critical_difference(pd.DataFrame([[4, 3, 2, 1]] * blocks, columns=list("wxyz")))
    assert found["item"].tolist() == list("wxyz")
    assert found["groups"].tolist() == letters


def test_pairs_are_corrected_together() -> None:
    p = np.array([[1, 0.02, 0.5], [0.02, 1, 0.01], [0.5, 0.01, 1]])
    found = _pairs_by_holm(p)
    assert found[1, 2] and found[0, 1] and not found[0, 2]  # 0.03, 0.04 and 0.5 after Holm
    assert not _pairs_by_holm(np.full((3, 3), np.nan)).any()


def test_incomplete_blocks_count_with_the_items_they_have() -> None:
    scores = DEMSAR.copy()
    scores.iloc[0, 0] = np.nan
    found = critical_difference(scores)
    assert (found["n"] == 14).all() and found["note"].str.contains("blocks miss items").all()
    assert found["critical_difference"].iloc[0] == pytest.approx(1.25, abs=0.05)  # with ties
    scores.iloc[0, :3] = np.nan
    found = critical_difference(scores)
    assert (found["n"] == 13).all() and found["note"].str.contains("1 blocks with fewer").all()


@pytest.mark.parametrize("scores", [DEMSAR.head(1), DEMSAR.head(0), DEMSAR[["C4.5"]]])
def test_too_little_to_rank_is_a_note(scores: pd.DataFrame) -> None:
    found = critical_difference(scores)
    assert len(found) == scores.shape[1]
    assert found["estimate"].isna().all() and (found["note"] != "").all()


def test_all_tied_is_a_note() -> None:
    found = critical_difference(pd.DataFrame(np.ones((5, 3)), columns=list("abc")))
    assert found["p"].isna().all() and found["note"].str.contains("tied").all()


def test_nemenyi_agrees_with_demsars_example() -> None:
    """Section 3.2.2 tests the classifiers of table 6 at 5 %: the critical difference is 1.25.

    C4.5 against C4.5+m+cf and against C4.5+m differ by 1.18 and 1.14, which is not enough.
    """
    found = nemenyi(DEMSAR)
    widest = one(found, first="C4.5", second="C4.5+m+cf")
    assert widest["estimate"] == pytest.approx(3.143 - 1.964, abs=1e-3)
    assert widest["high"] - widest["estimate"] == pytest.approx(1.25, abs=0.005)
    assert one(found, first="C4.5", second="C4.5+m")["estimate"] == pytest.approx(1.143, abs=1e-3)
    assert len(found) == 6 and (found["p"] > 0.05).all() and (found["n"] == 14).all()


def test_nemenyi_calls_different_what_is_further_apart_than_the_critical_difference() -> None:
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal([2, 1.3, 0.6, 0], 1, (40, 4)), columns=list("abcd"))
    found = nemenyi(scores)
    apart = (found["low"] > 0) | (found["high"] < 0)
    assert apart.any() and not apart.all()
    assert (apart == (found["p"] < 0.05)).all()
    assert one(found, first="a", second="d")["estimate"] < 0  # the first is better
    one_block = nemenyi(scores.head(1))
    assert one_block["p"].isna().all() and (one_block["note"] != "").all()


# Groups of units by their ratings


def rated(table: dict[str, list[int]]) -> tuple[pd.DataFrame, pd.Series]:
    """One unit for each group, one rating of each rater."""
    rows = [
        {"unit": name, "rater": f"a{who}", "item": "Q1", "rating": value}
        for name, values in table.items()
        for who, value in enumerate(values)
    ]
    return pd.DataFrame(rows), pd.Series(list(table), index=list(table))


def test_favourites_are_counted_and_ties_share_the_last_place() -> None:
    means = rater_means(*rated({"w": [5, 1], "x": [4, 5], "y": [4, 2], "z": [1, 4]}))
    assert means.to_numpy().tolist() == [[5, 4, 4, 1], [1, 5, 2, 4]]
    found = share_of_favourites(means, 2).set_index("item")
    assert found["count"].to_dict() == {"w": 1.0, "x": 1.5, "y": 0.5, "z": 1.0}
    assert (found["n"] == 2).all()
    assert share_of_favourites(means, 4)["note"].str.contains("all are favourites").all()


def test_items_of_the_other_direction_are_mirrored() -> None:
    ratings, groups = rated({"w": [5, 5], "x": [1, 2]})
    assert mirror_ratings(ratings, {"Q1": -1})["rating"].tolist() == [1, 1, 5, 4]
    assert mirror_ratings(ratings, {"Q1": -1}, range(1, 8))["rating"].tolist() == [3, 3, 7, 6]
    means = rater_means(ratings, groups, {"Q1": -1})
    assert share_of_favourites(means, 1)["item"].iloc[0] == "x"


def test_orders_by_both_models_agree_with_what_was_planted_and_turn_with_the_ratings() -> None:
    ratings, _, shown = simulate(Study(samples=90, technique=0.5), 5)
    groups = shown.set_index("unit")["method"]
    found = rank_groups(ratings, groups)
    assert found["group"].iloc[0] == "m5" and found["rank_bradley_terry"].iloc[0] == 1
    assert stats.spearmanr(found["rank"], found["rank_bradley_terry"]).statistic > 0.9
    assert found["estimate"].sum() == pytest.approx(0, abs=1e-9)
    assert ((found["rank_low"] <= found["rank"]) & (found["rank"] <= found["rank_high"])).all()
    back = rank_groups(ratings, groups, {"Q1": -1, "Q2": -1})
    assert back["group"].tolist() == found["group"].tolist()[::-1]


@pytest.mark.parametrize("what", ["one rating", "no votes", "one group", "one rater"])
def test_thin_studies_are_ranked_with_a_note(what: str) -> None:
    ratings, _, shown = simulate(Study(samples=60), 7)
    groups = shown.set_index("unit")["method"]
    if what == "one rating":
        ratings = ratings.assign(rating=2)
    elif what == "no votes":
        ratings = ratings.head(0)
    elif what == "one rater":
        ratings = ratings[ratings["rater"] == "a00"]
    else:
        groups[:] = "only"
    found = rank_groups(ratings, groups)
    assert (found["note"] != "").all()
    assert what == "one rater" or found["estimate"].isna().all()
