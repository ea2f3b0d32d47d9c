"""Ranks over incomplete blocks against Friedman's test, a worked example and all permutations."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.incomplete_blocks import incomplete_mean_ranks, skillings_mack
from analysis.rankings import critical_difference

NAN = np.nan
# Times of four methods of assembly; the example of the R package Skillings.Mack, which finds 15.493
ASSEMBLY = pd.DataFrame(
    [
        [3.2, 4.1, 3.8, 4.2], [3.1, 3.9, 3.4, 4.0], [4.3, 3.5, 4.6, 4.8], [3.5, 3.6, 3.9, 4.0],
        [3.6, 4.2, 3.7, 3.9], [4.5, 4.7, 3.7, NAN], [NAN, 4.2, 3.4, NAN], [4.3, 4.6, 4.4, 4.9],
        [3.5, NAN, 3.7, 3.9],
    ],
    columns=list("ABCD"),
)  # fmt: skip


def design(blocks: int, seen: int, items: int, effect: float, seed: int) -> pd.DataFrame:
    """Blocks that have some of the items each, which differ by equal steps."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(blocks, items)) + random.normal(size=(blocks, 1)) * 3
    scores -= effect * np.arange(items)
    for row in scores:
        row[random.permutation(items)[seen:]] = NAN
    return pd.DataFrame(scores, columns=[f"item-{number}" for number in range(items)])


def test_the_statistic_of_the_worked_example() -> None:
    found = skillings_mack(ASSEMBLY).iloc[0]
    assert found["estimate"] == pytest.approx(15.493, abs=5e-4)
    assert (found["n"], found["df"]) == (9, 3)


@pytest.mark.parametrize("ties", [False, True])
def test_whole_blocks_give_friedmans_test_and_plain_mean_ranks(ties: bool) -> None:
    scores = design(12, 5, 5, 0.4, seed=1)
    scores = scores.round() if ties else scores
    peer = stats.friedmanchisquare(*(-scores).to_numpy().T)
    found = skillings_mack(scores).iloc[0]
    assert (found["estimate"], found["p"]) == pytest.approx((peer.statistic, peer.pvalue))
    ranks = stats.rankdata(-scores, axis=1)
    means = incomplete_mean_ranks(scores)
    assert means is not None and means.mean == pytest.approx(ranks.mean(axis=0))


def test_mean_ranks_and_their_covariance_agree_with_all_orders_counted_out() -> None:
    blocks = [(0, 1, 2), (1, 2, 3), (0, 3), (0, 2, 3)]
    drawn = []
    for orders in product(*(permutations(range(len(block))) for block in blocks)):
        scores = np.full((len(blocks), 4), NAN)
        for row, block, order in zip(scores, blocks, orders, strict=True):
            row[list(block)] = order
        found = incomplete_mean_ranks(pd.DataFrame(scores))
        assert found is not None
        drawn.append(found.mean)
    assert found is not None
    assert np.mean(drawn, axis=0) == pytest.approx(np.full(4, 2.5))
    assert np.cov(np.array(drawn).T, bias=True) == pytest.approx(found.covariance)


def test_p_values_are_even_where_nothing_differs() -> None:
    p = [skillings_mack(design(30, 4, 8, 0.0, seed))["p"].item() for seed in range(400)]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert np.mean(np.array(p) < 0.05) < 0.08


def test_the_planted_order_is_found_from_blocks_none_of_which_has_all_items() -> None:
    scores = design(300, 6, 12, 0.3, seed=3)
    found = critical_difference(scores)
    assert found["item"].tolist() == scores.columns.tolist()
    assert (found["test"] == "Skillings-Mack").all() and (found["n"] == 300).all()
    assert found["p"].iloc[0] < 1e-10
    assert found["groups"].iloc[0] != found["groups"].iloc[-1]
    assert found["note"].str.contains("blocks miss items").all()


def test_false_alarms_among_pairs_stay_below_their_level() -> None:
    """In the family of all pairs, where no item differs."""
    alarms = 0
    for seed in range(200):
        groups = critical_difference(design(40, 5, 8, 0.0, seed))["groups"]
        alarms += not set.intersection(*map(set, groups))
    assert alarms / 200 < 0.09  # 0.05 and two standard errors


def test_the_order_of_rows_and_the_scale_of_a_block_change_nothing() -> None:
    scores = design(20, 4, 6, 0.5, seed=5)
    other = scores.sample(frac=1, random_state=0) * 7 + 100
    pd.testing.assert_frame_equal(critical_difference(scores), critical_difference(other))


def test_items_that_never_meet_have_no_common_order() -> None:
    apart = pd.DataFrame([[1, 2, NAN, NAN], [NAN, NAN, 2, 1]], columns=list("abcd"))
    assert incomplete_mean_ranks(apart) is None
    assert skillings_mack(apart)["note"].str.contains("never meet").all()
    found = critical_difference(apart)
    assert found["estimate"].isna().all() and found["note"].str.contains("never meet").all()
