"""Bootstrap, leaving out and the number of observations against slow loops and plants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.metric_ranks import Scores, average_ranks, cell_ranks, middle_ranks
from analysis.rank_stability import (
    _draws,
    _Resampler,
    bootstrap_average_ranks,
    critical_differences,
    half_of_observations,
    leave_one_out,
    observations_needed,
    stable_order,
)
from tests.analysis.benchmarked import arranged, score_frame
from tests.analysis.simulated import one


def test_averages_of_a_resample_equal_those_of_repeated_rows() -> None:
    """Oracle: build the frame of the resample and rank it the ordinary way."""
    frame = score_frame(only=2, observations=6)
    lost = (frame["method"] == "f1") & (frame["metric"] == "a2") & (frame["observation"] < 3)
    frame.loc[lost, "value"] = np.nan
    frame.loc[(frame["method"] == "f0") & (frame["metric"] == "b1"), "status"] = "nan"
    scores = arranged(frame)
    counts = _draws(scores, 4, seed=1)
    found = _Resampler(scores, ["model"]).averages(counts)
    keys = _Resampler(scores, ["model"]).keys
    for resample in range(4):
        parts = []
        for block, dataset in enumerate(["d0", "d1"]):
            drawn = np.repeat(np.arange(6), counts[block][resample])
            for number, observation in enumerate(drawn):
                rows = frame["dataset"] == dataset
                part = frame[rows & (frame["observation"] == observation)]
                parts.append(part.assign(observation=number))
        usual = average_ranks(cell_ranks(arranged(pd.concat(parts))), ["model"])
        for group, (model, criterion) in enumerate(keys):
            for place, method in enumerate(scores.methods):
                row = usual[(usual["model"] == model) & (usual["criterion"] == criterion)]
                row = row[row["method"] == method]
                expected = row["estimate"].iloc[0] if len(row) else np.nan
                assert found[resample, group, place] == pytest.approx(expected, nan_ok=True)


def test_the_size_of_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = arranged(score_frame())
    usual = bootstrap_average_ranks(scores, resamples=30)
    monkeypatch.setattr("analysis.rank_stability._CHUNK_NUMBERS", 1)
    pd.testing.assert_frame_equal(usual, bootstrap_average_ranks(scores, resamples=30))


def test_estimates_are_those_of_average_ranks_whatever_the_order_of_rows() -> None:
    frame = score_frame(only=1)
    table = bootstrap_average_ranks(arranged(frame), ["model"], resamples=50)
    usual = average_ranks(cell_ranks(arranged(frame)), ["model"])
    keys = ["model", "criterion", "method"]
    both = table.merge(usual, on=keys, suffixes=("", "_usual"))
    assert len(both) == len(usual) == len(table)
    assert both["estimate"].to_numpy() == pytest.approx(both["estimate_usual"].to_numpy())
    assert both["place"].tolist() == both["place_usual"].tolist()
    assert (both["low"] <= both["estimate"]).all()
    assert (both["estimate"] <= both["high"]).all()
    mixed = bootstrap_average_ranks(
        arranged(frame.sample(frac=1, random_state=2)), ["model"], resamples=50
    )
    pd.testing.assert_frame_equal(table, mixed)


def test_intervals_hold_the_true_average_ranks() -> None:
    """300 truths: the ranks of medians of the population, with images that all methods share."""
    rng = np.random.default_rng(1)
    metrics = pd.DataFrame({"metric": range(4), "criterion": "c", "direction": 1})
    covered = []
    for study in range(40):
        truth = 0.6 * rng.normal(size=(4, 6))
        noise = rng.normal(size=(4, 6, 20)) + rng.normal(size=(4, 1, 20))
        scores = Scores(
            (truth[..., None] + noise)[None],
            np.ones((1, 6), bool),
            pd.DataFrame({"data": ["d"]}),
            metrics,
            tuple("uvwxyz"),
            np.zeros(1, np.intp),
            np.array([20]),
        )
        table = bootstrap_average_ranks(scores, resamples=200, seed=study).set_index("method")
        true = pd.Series(middle_ranks(truth).mean(axis=0), list("uvwxyz"))
        inside = (table["low"] <= true[table.index] + 1e-9) & (
            true[table.index] <= table["high"] + 1e-9
        )
        covered += inside.tolist()
    assert np.mean(covered) >= 0.9


def test_a_clear_order_is_certain_and_noise_is_not() -> None:
    clear = bootstrap_average_ranks(arranged(score_frame(pull=5.0)), resamples=100)
    assert (clear["low"] == clear["high"]).all()
    assert clear[clear["method"] == "f0"]["first"].tolist() == [1.0] * 3
    noise = bootstrap_average_ranks(arranged(score_frame()), resamples=100)
    assert (noise["high"] - noise["low"] > 1).all()


def test_one_observation_has_no_interval_and_one_method_no_rank() -> None:
    table = bootstrap_average_ranks(arranged(score_frame(observations=1)))
    assert table["estimate"].notna().all()
    assert table[["low", "high", "first"]].isna().all(axis=None)
    assert (table["note"] == "one observation: no interval").all()
    scores = arranged(score_frame(methods=1))
    assert bootstrap_average_ranks(scores).empty
    order = stable_order(scores, sizes=[2], resamples=5)
    assert order["estimate"].isna().all()
    assert (order["note"] == "fewer than two methods: no order").all()
    halves = half_of_observations(arranged(score_frame(observations=1)))
    assert halves["estimate"].isna().all()
    assert (halves["note"] == "one observation cannot be halved").all()


def test_no_rows_make_empty_tables() -> None:
    scores = arranged(score_frame().iloc[:0])
    assert bootstrap_average_ranks(scores).empty
    assert half_of_observations(scores).empty
    assert stable_order(scores, sizes=[2]).empty
    assert leave_one_out(cell_ranks(scores), "metric").empty
    assert critical_differences(cell_ranks(scores)).empty


def test_blocks_may_have_different_numbers_of_observations() -> None:
    frame = score_frame()
    scores = arranged(frame[(frame["dataset"] == "d1") | (frame["observation"] < 3)])
    table = bootstrap_average_ranks(scores, resamples=20)
    usual = average_ranks(cell_ranks(scores))
    both = table.merge(usual, on=["criterion", "method"])
    assert both["estimate_x"].to_numpy() == pytest.approx(both["estimate_y"].to_numpy())
    assert (table["n"] == 3).all()


def test_leaving_out_equals_averages_of_what_is_left() -> None:
    ranks = cell_ranks(arranged(score_frame(datasets=3)))
    for column, level in (("metric", "a2"), ("dataset", "d1")):
        table = leave_one_out(ranks, column)
        less = average_ranks(ranks[ranks[column] != level])
        full = average_ranks(ranks)
        here = table[(table["level"] == level) & (table["criterion"] == "a")]
        assert len(here) == 5
        taus = []
        for row in here.to_dict("records"):
            after = one(less, criterion="a", method=row["method"])
            before = one(full, criterion="a", method=row["method"])
            assert row["estimate"] == pytest.approx(after["estimate"])
            assert row["change"] == pytest.approx(after["estimate"] - before["estimate"])
            assert row["place_change"] == after["place"] - before["place"]
            taus.append((after["estimate"], before["estimate"]))
        assert here["tau"].iloc[0] == pytest.approx(
            stats.kendalltau(*zip(*taus, strict=True)).statistic
        )
    touched = leave_one_out(ranks, "metric")
    assert set(touched[touched["level"] == "b1"]["criterion"]) == {"b"}
    only = touched[touched["level"] == "c1"]
    assert only["estimate"].isna().all()
    assert (only["note"] == "nothing is left").all()


def test_half_of_the_observations_moves_noise_and_leaves_a_clear_order() -> None:
    clear = half_of_observations(arranged(score_frame(pull=5.0, observations=8)), resamples=20)
    assert (clear["largest"] == 0).all()
    assert (clear["n"] == 4).all()
    noise = half_of_observations(arranged(score_frame(observations=8)), resamples=20)
    assert (noise["estimate"] > 0.1).all()
    assert (noise["largest"] >= noise["estimate"]).all()


def test_more_observations_make_the_order_stable() -> None:
    scores = arranged(score_frame(pull=0.4, observations=30))
    table = stable_order(scores, sizes=[1, 4, 30, 60], resamples=60)
    for _, part in table.groupby("criterion"):
        assert part["n"].tolist() == [1, 4, 30, 60]
        assert part["estimate"].is_monotonic_increasing
        assert part["note"].tolist()[-1] == "more than there are: a forecast"
    needed = observations_needed(table, 0.85)
    assert (needed["estimate"] >= 0.85).all()
    for row in needed.to_dict("records"):
        smaller = table[(table["criterion"] == row["criterion"]) & (table["n"] < row["n"])]
        assert (smaller["estimate"] < 0.85).all()
    none = observations_needed(table, 1.01)
    assert none["n"].isna().all()
    assert (none["note"] == "no number that was tried is enough").all()


def test_a_dip_after_a_good_number_is_not_stable() -> None:
    table = pd.DataFrame({"criterion": "a", "methods": 5, "n": [2, 4, 8], "observations": 8})
    table = table.assign(estimate=[0.95, 0.5, 0.92], low=0.0, high=1.0)
    assert one(observations_needed(table), criterion="a")["n"] == 8


def test_critical_differences_rank_averages_within_cells() -> None:
    ranks = cell_ranks(arranged(score_frame(datasets=6, pull=2.0, only=1)))
    table = critical_differences(ranks)
    part = table[table["criterion"] == "a"]
    assert part["item"].tolist() == ["f0", "f1", "f2", "f3"]
    assert (part["n"] == 12).all()
    assert part["note"].tolist() == ["1 methods that are not in all blocks left out"] * 4
    assert (part["p"] < 0.001).all()
    by_data = critical_differences(ranks, block=["dataset"])
    assert (by_data["n"] == 6).all()
    assert len(by_data) == 3 * 5
