"""Distributions of normalised values against a literal loop, and their extremes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.metric_ranks import read_scores
from analysis.score_distributions import QUANTILES, score_distributions

METRICS = pd.DataFrame(
    {"metric": ["up", "down"], "criterion": ["good", "small"], "direction": [1, -1]}
)


def made_up(seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows = [
        {
            "data": data,
            "method": method,
            "metric": metric,
            "observation": number,
            "value": random.normal() * (1 + 9 * (data == "e")),
        }
        for data in "de"
        for method in "xyz"
        for metric in ("up", "down")
        for number in range(7)
    ]
    frame = pd.DataFrame(rows)
    frame.loc[random.choice(len(frame), 9, replace=False), "value"] = np.nan
    return frame


def test_quantiles_are_those_of_a_literal_loop() -> None:
    frame = made_up()
    found = score_distributions(read_scores(frame, METRICS, ["data"]))
    known = frame.dropna(subset="value")
    for row in found.to_dict("records"):
        values: list[float] = []
        for data in "de":
            cell = known[(known["data"] == data) & (known["metric"] == row["metric"])]
            least, most = cell["value"].min(), cell["value"].max()
            for value in cell.loc[cell["method"] == row["method"], "value"]:
                share = (value - least) / (most - least)
                values.append(share if row["metric"] == "up" else 1 - share)
        assert row["n"] == len(values)
        for name, level in QUANTILES.items():
            assert row[name] == pytest.approx(np.quantile(values, level))
    assert len(found) == 6


def test_units_do_not_matter_and_a_cell_of_equal_values_says_nothing() -> None:
    frame = made_up()
    plain = score_distributions(read_scores(frame, METRICS, ["data"]))
    other = frame.assign(value=3 * frame["value"] - 100)
    scaled = score_distributions(read_scores(other, METRICS, ["data"]))
    pd.testing.assert_frame_equal(plain, scaled)
    flat = frame.assign(value=frame["value"].where(frame["metric"] == "up", 4.0))
    left = score_distributions(read_scores(flat, METRICS, ["data"]))
    assert set(left["metric"]) == {"up"}
    none = frame.assign(value=np.nan)
    assert score_distributions(read_scores(none, METRICS, ["data"])).empty
