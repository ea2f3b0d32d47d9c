"""Measures side by side: places, exact tests over groups, three scopes over items."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.joins import (
    ALL,
    GIVEN_GROUPS,
    WITHIN_CLUSTERS,
    correlate_groups,
    correlate_items,
    correlate_rivals,
    group_places,
)
from tests.analysis.simulated import one

MEANS = pd.DataFrame(
    {"a": [1.0, 2, 3, 5, 4], "b": [1.0, 2, 4, 3, 5], "c": [np.nan, 2, 2, 1, np.nan]},
    index=list("vwxyz"),
)


def test_places_count_only_what_has_the_measure_and_share_ties() -> None:
    table = group_places(MEANS)
    assert one(table, measure="a", group="y")["place"] == 1
    assert {one(table, measure="c", group=name)["place"] for name in "wx"} == {1.5}
    assert set(table.loc[table["measure"] == "c", "group"]) == set("wxy")
    assert one(table, measure="c", group="y")["n"] == 3


def test_p_of_groups_is_the_share_of_all_pairings() -> None:
    found = one(correlate_groups(MEANS), first="a", second="b", method="spearman")
    x, y = MEANS["a"].to_numpy(), MEANS["b"].to_numpy()
    observed = stats.spearmanr(x, y).statistic
    every = [stats.spearmanr(x[list(order)], y).statistic for order in permutations(range(5))]
    extreme = np.mean(np.abs(every) >= abs(observed) - 1e-9)
    assert found["estimate"] == pytest.approx(observed)
    assert found["p"] == pytest.approx(extreme)
    assert found["n"] == 5


def test_groups_without_a_measure_are_left_out_of_its_pairs_only() -> None:
    table = correlate_groups(MEANS)
    assert one(table, first="a", second="c", method="pearson")["n"] == 3
    assert len(table) == 6


def items(
    pull: float, between: float, seed: int = 0
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Two measures that share ``pull`` within images, and ``between`` across them."""
    rng = np.random.default_rng(seed)
    image, method = np.divmod(np.arange(300), 10)
    shared, level = rng.normal(size=300), rng.normal(size=30)[image]
    frame = pd.DataFrame(
        {
            "first": pull * shared + between * level + rng.normal(size=300),
            "second": pull * shared - between * level + rng.normal(size=300),
        }
    )
    return frame, image, method


def test_scopes_part_what_differs_between_images_from_what_differs_within() -> None:
    frame, image, method = items(pull=1.5, between=3.0)
    table = correlate_items(frame, image, method, resamples=100)
    assert one(table, scope=ALL)["estimate"] < -0.2
    assert one(table, scope=WITHIN_CLUSTERS)["low"] > 0.3
    ranks = frame.rank()
    for scope, strata in ((WITHIN_CLUSTERS, image), (GIVEN_GROUPS, method)):
        left = ranks - ranks.groupby(strata).transform("mean")
        expected = stats.pearsonr(left["first"], left["second"]).statistic
        assert one(table, scope=scope)["estimate"] == pytest.approx(expected)


def test_without_a_relation_intervals_hold_zero() -> None:
    held = 0
    for seed in range(40):
        frame, image, method = items(pull=0.0, between=1.0, seed=seed)
        row = one(correlate_items(frame, image, method, resamples=60), scope=WITHIN_CLUSTERS)
        held += row["low"] <= 0 <= row["high"]
    assert held >= 36


def test_one_measure_alone_has_no_pairs() -> None:
    alone = pd.DataFrame({"a": [1.0, 2, 3]})
    assert correlate_groups(alone).empty
    assert correlate_items(alone, [0, 0, 1], [0, 1, 0]).empty


def test_a_measure_is_held_against_the_strongest_of_each_kind_turned_if_it_must_be() -> None:
    rng = np.random.default_rng(2)
    stars = rng.normal(size=120)
    measures = pd.DataFrame(
        {
            "stars": stars,
            "mine": stars + rng.normal(size=120),
            "outline": stars + 2 * rng.normal(size=120),
            "noise": rng.normal(size=120),
            "against": -stars + 1.5 * rng.normal(size=120),
        }
    )
    images = np.arange(120) // 4
    rivals = {"outline": ["outline"], "metrics": ["noise", "against"]}
    table = correlate_rivals(measures, "mine", rivals, ["stars"], clusters=images, resamples=200)
    r = measures.corr()["stars"]
    assert one(table, kind="metrics")["rival"] == "against"
    for kind, rival in (("outline", r["outline"]), ("metrics", -r["against"])):
        row = one(table, kind=kind)
        assert (row["champion"], row["rival_estimate"]) == pytest.approx((r["mine"], rival))
        assert row["estimate"] == pytest.approx(r["mine"] - rival)
        assert row["clusters"] == 30 and row["low"] < row["estimate"] < row["high"]


def test_a_handful_of_methods_gives_a_difference_without_an_interval() -> None:
    table = correlate_rivals(MEANS, "a", {"b": ["b"], "c": ["c"]}, ["b", "c"])
    assert table["low"].isna().all() and table["p"].isna().all()
    assert "no interval" in one(table, target="b", kind="b")["note"]
    assert "fewer than four" in one(table, target="c", kind="b")["note"]
    assert correlate_rivals(MEANS, "a", {}, []).columns.tolist() == table.columns.tolist()
