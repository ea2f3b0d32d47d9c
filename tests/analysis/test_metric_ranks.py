"""Ranks by many metrics against slow loops, what is missing, and both readings of ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.metric_ranks import (
    Ties,
    average_ranks,
    cell_ranks,
    middle_ranks,
    missing_values,
    pooled_ranks,
    rank_spread,
    read_scores,
    weighted_over_criteria,
)
from tests.analysis.benchmarked import CELLS, METRICS, arranged, score_frame
from tests.analysis.simulated import one

DIRECTION = METRICS.set_index("metric")["direction"]


def slow_ranks(frame: pd.DataFrame) -> dict[tuple[str, ...], float]:
    """Literal loops: median of each cell, metric and method, and how many are better or equal."""
    found: dict[tuple[str, ...], float] = {}
    good = frame[frame["status"] == "ok"].dropna(subset=["value"])
    for (dataset, model, metric), part in good.groupby([*CELLS, "metric"]):
        sign = float(DIRECTION[str(metric)])
        medians = {
            str(method): float(np.median(list(own["value"]))) * sign
            for method, own in part.groupby("method")
        }
        for method, median in medians.items():
            if len(medians) < 2:
                continue
            better = sum(other > median for other in medians.values())
            equal = sum(other == median for other in medians.values())
            found[str(dataset), str(model), str(metric), method] = better + (equal + 1) / 2
    return found


@pytest.mark.parametrize("decimals", [6, 0])  # without decimals there are many ties
def test_ranks_equal_those_of_slow_loops(decimals: int) -> None:
    frame = score_frame(decimals=decimals, only=2)
    frame.loc[::11, "status"] = "nan"
    ranks = cell_ranks(arranged(frame))
    expected = slow_ranks(frame)
    keys = ranks[[*CELLS, "metric", "method"]].itertuples(index=False, name=None)
    assert ranks["rank"].tolist() == [expected[key] for key in keys]
    assert len(ranks) == (3 + 5) * 2 * 6
    assert (ranks.groupby([*CELLS, "metric"])["rank"].sum().isin([6, 15])).all()


def test_the_order_of_rows_and_of_metrics_changes_nothing() -> None:
    frame = score_frame()
    usual = average_ranks(cell_ranks(arranged(frame)), ["dataset"])
    mixed = frame.sample(frac=1, random_state=1)
    again = average_ranks(cell_ranks(arranged(mixed, METRICS[::-1])), ["dataset"])
    pd.testing.assert_frame_equal(usual, again)


def test_a_metric_without_a_value_ranks_nothing_and_is_counted() -> None:
    frame = score_frame()
    lost = (frame["method"] == "f2") & (frame["metric"] == "a1") & (frame["dataset"] == "d0")
    frame.loc[lost, "status"] = "nan_map"
    ranks = cell_ranks(arranged(frame))
    gone = ranks[(ranks["method"] == "f2") & (ranks["metric"] == "a1") & (ranks["dataset"] == "d0")]
    assert gone["rank"].isna().all()
    assert (gone["note"] == "no value in this cell: not ranked").all()
    others = ranks[(ranks["metric"] == "a1") & (ranks["dataset"] == "d0")].dropna(subset=["rank"])
    assert (others["ranked"] == 4).all()
    assert sorted(others[others["model"] == "cnn"]["rank"]) == [1, 2, 3, 4]
    row = one(missing_values(ranks, ["method"]))
    assert (row["method"], row["metric"], row["missing"], row["n"]) == ("f2", "a1", 2, 4)
    average = one(average_ranks(ranks), criterion="a", method="f2")
    assert (average["n"], average["missing"]) == (10, 2)
    assert average["note"] == "2 without a value"


def test_by_order_a_method_without_a_value_wins_where_higher_is_better() -> None:
    """As measured on the released code: medians .5, nan, .2, .5 give 3, 1, 4, 2."""
    frame = pd.DataFrame({"dataset": "d", "model": "m", "method": list("wxyz"), "metric": "a1"})
    frame = frame.assign(observation=0, value=[0.5, np.nan, 0.2, 0.5])
    scores = read_scores(frame, METRICS.iloc[:1], CELLS)
    assert cell_ranks(scores, ties="order")["rank"].tolist() == [3, 1, 4, 2]
    assert cell_ranks(scores)["rank"].tolist()[::2] == [1.5, 3]
    down = read_scores(frame, METRICS.iloc[:1].assign(direction=-1), CELLS)
    assert cell_ranks(down, ties="order")["rank"].tolist() == [2, 4, 1, 3]


def test_across_models_equals_a_literal_copy_of_the_procedure() -> None:
    frame = score_frame(only=2, observations=9)
    found = pooled_ranks(arranged(frame), "model")
    for (dataset, metric), part in found.groupby(["dataset", "metric"]):
        here = frame[(frame["dataset"] == dataset) & (frame["metric"] == metric)]
        scaled: dict[str, list[float]] = {f"f{number}": [] for number in range(5)}
        for _, own in here.groupby("model"):
            values = own["value"].to_numpy()
            low, high = np.quantile(values, 0.025), np.quantile(values, 0.975)
            values = np.clip(values, low, high)
            values = (values - values.min()) / (values.max() - values.min() + 1e-10)
            for method, value in zip(own["method"], values, strict=True):
                scaled[method].append(value)
        order = np.argsort([np.median(scaled[f"f{number}"]) for number in range(5)])
        order = order[::-1] if DIRECTION[str(metric)] > 0 else order
        assert part.set_index("method")["rank"].loc[[f"f{i}" for i in order]].tolist() == [
            1, 2, 3, 4, 5
        ]  # fmt: skip
        assert part.set_index("method")["n"].tolist() == [18, 18, 18, 9, 9]


def test_averages_and_spread_equal_slow_loops() -> None:
    ranks = cell_ranks(arranged(score_frame()))
    table = average_ranks(ranks, ["model"], ddof=0)
    spread = rank_spread(ranks, ["model", "method"], ddof=0)
    for row in table.to_dict("records"):
        keys = ("model", "criterion", "method")
        here = ranks[(ranks[list(keys)] == [row[key] for key in keys]).all(axis=1)]
        assert row["estimate"] == pytest.approx(np.mean(list(here["rank"])))
        sds = [np.std(list(part["rank"])) for _, part in here.groupby("dataset")]
        if row["criterion"] == "c":
            assert np.isnan(one(spread, **{key: row[key] for key in keys})["estimate"])
            continue
        assert row["sd"] == pytest.approx(np.mean(sds))
        found = one(spread, **{key: row[key] for key in keys})
        assert found["estimate"] == pytest.approx(np.mean(sds))
    assert (table["expected"] == 3).all()
    for _, part in table.groupby(["model", "criterion"]):
        assert sorted(part["place"]) == sorted(part["estimate"].rank())
        assert part["estimate"].mean() == pytest.approx(3)


def test_weights_of_metrics_and_of_criteria_are_used() -> None:
    ranks = cell_ranks(arranged(score_frame()))
    weights = {"a1": 1.0, "a2": 0.0, "a3": 0.0, "b1": 0.5, "b2": 0.5, "c1": 1.0}
    table = average_ranks(ranks, weights=weights)
    alone = average_ranks(ranks[ranks["metric"] == "a1"])
    for row in alone.to_dict("records"):
        found = one(table, criterion="a", method=row["method"])
        assert found["estimate"] == pytest.approx(row["estimate"])
    with pytest.raises(ValueError, match="weights lacks a metric"):
        average_ranks(ranks, weights={"a1": 1.0})
    parts = pd.DataFrame({"criterion": ["a", "b"], "metrics": [3, 2], "estimate": [1.0, 2.0]})
    weighted = weighted_over_criteria(parts, weights={"a": 1, "b": 3})
    assert one(weighted, criterion="weighted")["estimate"] == 1.75
    unknown = weighted_over_criteria(parts.assign(estimate=[1.0, np.nan]))
    assert np.isnan(one(unknown, criterion="weighted")["estimate"])


def test_a_planted_order_is_found_again() -> None:
    table = average_ranks(cell_ranks(arranged(score_frame(pull=3.0))))
    for _, part in table.groupby("criterion"):
        assert part["method"].tolist() == ["f0", "f1", "f2", "f3", "f4"]
        assert part["estimate"].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("ties", ["middle", "order"])
def test_one_observation_is_ranked(ties: Ties) -> None:
    ranks = cell_ranks(arranged(score_frame(observations=1)), ties=ties)
    assert (ranks["n"] == 1).all()
    assert ranks["rank"].notna().all()


def test_one_method_has_no_rank_and_one_metric_no_spread() -> None:
    ranks = cell_ranks(arranged(score_frame(methods=1)))
    assert ranks["rank"].isna().all()
    assert (ranks["note"] == "no other method has a value: not ranked").all()
    table = average_ranks(ranks)
    assert table["estimate"].isna().all()
    assert (table["note"] == "no rank").all()
    single = score_frame()
    single = single[single["metric"] == "c1"]
    ranks = cell_ranks(arranged(single, METRICS[METRICS["metric"] == "c1"]))
    assert (average_ranks(ranks)["note"] == "one metric: no spread").all()
    assert average_ranks(ranks)["sd"].isna().all()
    assert rank_spread(ranks)["estimate"].isna().all()


def test_metrics_of_the_table_without_any_row_are_no_ranks() -> None:
    frame = score_frame()
    ranks = cell_ranks(arranged(frame[frame["metric"] != "b2"]))
    assert ranks[ranks["metric"] == "b2"]["rank"].isna().all()
    assert one(missing_values(ranks))["metric"] == "b2"


def test_names_of_observations_may_be_anything() -> None:
    frame = score_frame()
    usual = cell_ranks(arranged(frame))
    named = frame.assign(observation="image_" + frame["observation"].astype(str))
    pd.testing.assert_frame_equal(usual, cell_ranks(arranged(named)))
    scores = arranged(named[(named["dataset"] == "d1") | (named["observation"] < "image_3")])
    assert scores.sizes.tolist() == [3, 7]
    assert np.isnan(scores.array[0, ..., 3:]).all()


def test_no_rows_make_empty_tables() -> None:
    scores = arranged(score_frame().iloc[:0])
    ranks = cell_ranks(scores)
    assert ranks.empty
    assert average_ranks(ranks).empty
    assert rank_spread(ranks).empty
    assert missing_values(ranks).empty


def test_infinite_values_count_as_missing() -> None:
    frame = score_frame(observations=3)
    frame.loc[frame["observation"] == 0, "value"] = np.inf
    assert (cell_ranks(arranged(frame))["n"] == 2).all()


def test_what_is_wrong_is_named() -> None:
    frame = score_frame()
    with pytest.raises(ValueError, match="have no column model"):
        arranged(frame.drop(columns="model"))
    with pytest.raises(ValueError, match="metrics without criterion and direction: c1"):
        arranged(frame, METRICS[METRICS["metric"] != "c1"])
    with pytest.raises(ValueError, match="direction 1 or -1"):
        arranged(frame, METRICS.assign(direction=0))
    with pytest.raises(ValueError, match=r"several values of .*'d0'.*'f0'"):
        arranged(pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(ValueError, match="must not be missing"):
        arranged(frame.assign(method=np.nan))
    with pytest.raises(ValueError, match="methods lacks a method"):
        read_scores(frame, METRICS, CELLS, methods=["f0"])
    with pytest.raises(ValueError, match="blocks must be columns of cells"):
        read_scores(frame, METRICS, ["dataset", "model"], blocks=["fold"])


def test_middle_ranks_keep_the_sum_of_ranks() -> None:
    values = np.random.default_rng(0).integers(0, 4, (50, 9)).astype(float)
    assert middle_ranks(values).sum(axis=1).tolist() == [45.0] * 50
