"""Distances, levels, outside numbers, correlations and groups against slow loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.metric_ranks import cell_ranks
from analysis.rank_comparisons import (
    compare_method_groups,
    distance_weights,
    level_agreement,
    level_distances,
    method_correlations,
    metric_distances,
    outside_correlation,
    random_distance,
)
from tests.analysis.benchmarked import arranged, score_frame
from tests.analysis.simulated import one


@pytest.fixture(scope="module")
def ranks() -> pd.DataFrame:
    return cell_ranks(arranged(score_frame(datasets=3, models=("cnn1", "cnn2", "former"), only=2)))


def test_metric_distances_equal_slow_loops(ranks: pd.DataFrame) -> None:
    table = metric_distances(ranks)
    assert len(table) == 3 + 1
    for first, second in combinations(["a1", "a2", "a3"], 2):
        apart, chance = [], []
        for _, part in ranks.groupby(["dataset", "model", "method"]):
            own = part.set_index("metric")
            apart.append(abs(own["rank"][first] - own["rank"][second]))
            n = own["ranked"][first]
            chance.append((n**2 - 1) / (3 * n))
        row = one(table, first=first, second=second)
        assert row["n"] == len(apart) == 3 * (3 + 3 + 5)
        assert row["estimate"] == pytest.approx(np.mean(apart))
        assert row["random"] == pytest.approx(np.mean(chance))
        assert row["low"] < row["estimate"] < row["high"]
    assert len(metric_distances(ranks, ["model"], within_criterion=False)) == 3 * 15


def test_a_copied_metric_is_at_no_distance_and_loses_weight(ranks: pd.DataFrame) -> None:
    copy = ranks[ranks["metric"] == "a1"].assign(metric="a4")
    table = metric_distances(pd.concat([ranks, copy], ignore_index=True))
    assert one(table, first="a1", second="a4")["estimate"] == 0
    weights = distance_weights(table)
    part = weights[weights["criterion"] == "a"].set_index("metric")["estimate"]
    assert part.sum() == pytest.approx(1)
    assert part["a1"] == pytest.approx(part["a4"])
    assert part["a1"] < min(part["a2"], part["a3"])


def test_a_metric_without_ranks_has_no_distance_and_no_weight(ranks: pd.DataFrame) -> None:
    lost = ranks.assign(rank=ranks["rank"].where(ranks["metric"] != "b1"))
    table = metric_distances(lost)
    row = one(table, criterion="b")
    assert np.isnan(row["estimate"])
    weights = distance_weights(table)
    assert weights[weights["criterion"] == "b"]["estimate"].isna().all()
    gone = metric_distances(lost[(lost["metric"] != "b1") | (lost["dataset"] == "d0")], ["dataset"])
    row = one(gone, criterion="b", dataset="d1")
    assert row["note"] == "one of the two metrics ranks nothing"


def test_random_distance_equals_enumeration() -> None:
    pairs = [abs(i - j) for i in range(1, 4) for j in range(1, 8)]
    assert random_distance(3, 7) == pytest.approx(np.mean(pairs))


def test_level_distances_equal_slow_loops(ranks: pd.DataFrame) -> None:
    plain = level_distances(ranks, "model", common=False)
    fair = level_distances(ranks, "model")
    assert set(fair["method"]) == {"f0", "f1", "f2"}  # the others are there for one model alone
    for method in ("f0", "f1", "f2"):
        far, near = [], []
        for _, part in ranks.groupby(["dataset", "metric"]):
            sides = [
                part[(part["model"] == model) & part["method"].isin(["f0", "f1", "f2"])]
                for model in ("cnn1", "former")
            ]
            given = [side.set_index("method")["rank"] for side in sides]
            far.append(abs(given[0][method] - given[1][method]))
            again = [one_side.rank() for one_side in given]
            near.append(abs(again[0][method] - again[1][method]))
        keys = {"method": method, "first": "cnn1", "second": "former"}
        assert one(plain, **keys)["estimate"] == pytest.approx(np.mean(far))
        assert one(fair, **keys)["estimate"] == pytest.approx(np.mean(near))
        assert one(fair, **keys)["random"] == pytest.approx(8 / 9)
        assert one(fair, **keys)["n"] == 18


def test_level_agreement_is_the_mean_of_scipys_tau(ranks: pd.DataFrame) -> None:
    table = level_agreement(ranks, "model")
    taus = []
    for _, part in ranks[ranks["criterion"] == "a"].groupby(["dataset", "metric"]):
        given = [part[part["model"] == m].set_index("method")["rank"] for m in ("cnn1", "former")]
        given[1] = given[1][given[0].index]
        taus.append(stats.kendalltau(*given).statistic)
    row = one(table, criterion="a", first="cnn1", second="former")
    assert row["estimate"] == pytest.approx(np.mean(taus))
    assert row["n"] == 9
    same = level_agreement(ranks.assign(rank=ranks["method"].str[1].astype(float)), "model")
    assert (same["estimate"] == 1).all()


def test_outside_correlation_is_the_mean_of_pearsons(ranks: pd.DataFrame) -> None:
    cells = ranks[["dataset", "model"]].drop_duplicates()
    outside = cells.assign(value=np.random.default_rng(3).random(len(cells)))
    row = one(outside_correlation(ranks, outside, "model", permutations=200), criterion="a")
    expected = []
    means = ranks[ranks["criterion"] == "a"].groupby(["dataset", "method", "model"])["rank"].mean()
    for dataset in ("d0", "d1", "d2"):
        numbers = outside[outside["dataset"] == dataset].set_index("model")["value"]
        for method in ("f0", "f1", "f2"):
            given = means[dataset][method]
            expected.append(stats.pearsonr(given, numbers[given.index]).statistic)
    assert row["estimate"] == pytest.approx(np.mean(expected))
    assert (row["n"], row["units"], row["levels"]) == (9, 3, 3)
    assert row["note"] == "three levels: each correlation is of three pairs"


def test_the_permutation_test_of_outside_numbers_keeps_its_level_and_finds_a_plant() -> None:
    rng = np.random.default_rng(5)
    models, datasets = [f"m{number}" for number in range(5)], range(3)
    base = pd.MultiIndex.from_product([datasets, models, list("xyz")])
    names = base.to_frame(index=False, name=["data", "model", "method"])
    alarms = 0
    for study in range(40):
        outside = pd.MultiIndex.from_product([datasets, models]).to_frame(index=False)
        outside = outside.set_axis(["data", "model"], axis=1).assign(value=rng.random(15))
        shared = np.repeat(rng.normal(size=15), 3)  # all methods suffer from the same model
        frame = names.assign(rank=shared + 0.1 * rng.normal(size=45), criterion="a", metric="m")
        found = outside_correlation(frame, outside, "model", permutations=99, seed=study)
        alarms += one(found, criterion="a")["p"] < 0.05
        if study == 0:
            planted = frame.merge(outside, on=["data", "model"])
            planted["rank"] = -planted.pop("value") + 0.01 * rng.normal(size=45)
            found = outside_correlation(planted, outside, "model", permutations=999)
            assert one(found, criterion="a")["p"] < 0.01
            assert one(found, criterion="a")["estimate"] < -0.9
    assert alarms <= 6


def test_two_levels_have_no_correlation(ranks: pd.DataFrame) -> None:
    two = ranks[ranks["model"] != "cnn2"]
    outside = two[["dataset", "model"]].drop_duplicates().assign(value=range(6))
    found = outside_correlation(two, outside, "model")
    assert found["estimate"].isna().all()
    assert (found["note"] == "fewer than three levels with different values").all()


def test_method_correlations_are_pearsons(ranks: pd.DataFrame) -> None:
    table = method_correlations(ranks, resamples=50)
    assert len(table) == 10
    means = ranks.groupby(["dataset", "model", "criterion", "method"])["rank"].mean().unstack()  # noqa: PD010
    there = means[["f0", "f4"]].dropna()
    row = one(table, first="f0", second="f4")
    assert row["estimate"] == pytest.approx(stats.pearsonr(there["f0"], there["f4"]).statistic)
    assert (row["n"], row["clusters"]) == (9, 3)


def test_groups_are_compared_where_both_are(ranks: pd.DataFrame) -> None:
    groups = {"f0": "old", "f1": "old", "f2": "old", "f3": "new", "f4": "new"}
    table = compare_method_groups(ranks, groups)
    here = ranks[(ranks["model"] == "former") & (ranks["criterion"] == "a")]
    grouped = here.assign(group=here["method"].map(groups)).groupby("group")["rank"].mean()
    row = one(table, criterion="a", quantity="average rank")
    assert row["estimate"] == pytest.approx(grouped["new"] - grouped["old"])
    assert (row["n"], row["methods"]) == (15, 5)
    assert row["p_permutation"] >= 0.1  # ten arrangements of two among five


def test_a_planted_difference_of_groups_is_found() -> None:
    frame = score_frame(methods=10, datasets=4, pull=1.0)
    groups = {f"f{number}": "good" if number < 5 else "bad" for number in range(10)}
    row = one(compare_method_groups(cell_ranks(arranged(frame)), groups), criterion="a",
              quantity="average rank")  # fmt: skip
    assert row["comparison"] == "bad - good"
    assert row["estimate"] > 4
    assert row["p"] < 0.01
    assert row["p_permutation"] < 0.01


def test_a_group_of_one_method_has_no_permutation_test(ranks: pd.DataFrame) -> None:
    table = compare_method_groups(ranks, {"f0": "old", "f3": "new", "f4": "new"})
    assert table["p_permutation"].isna().all()
    row = one(table, criterion="a", quantity="average rank")
    assert np.isfinite(row["estimate"])
    assert row["note"] != ""


def test_one_group_is_compared_with_nothing(ranks: pd.DataFrame) -> None:
    assert compare_method_groups(ranks, {"f0": "old", "f1": "old"}).empty
    apart = ranks[(ranks["model"] == "former") | (ranks["method"] == "f0")]
    apart = apart[(apart["model"] != "former") | (apart["method"] == "f4")]
    table = compare_method_groups(apart, {"f0": "old", "f4": "new"})
    assert table["estimate"].isna().all()
    assert (table["n"] == 0).all()
