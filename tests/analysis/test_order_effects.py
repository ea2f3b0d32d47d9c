"""Order effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.order_effects import EFFECTS, order_effects
from tests.analysis.simulated import Study, one, simulate


def _study(seed: int = 0, samples: int = 60) -> pd.DataFrame:
    """Six raters, everybody rates everything, all stars 3."""
    rng = np.random.default_rng(seed)
    rows = []
    for who in range(6):
        for place, sample in enumerate(rng.permutation(samples)):
            rows += [(f"s{sample}", f"a{who}", question, who, place) for question in ("Q1", "Q2")]
    columns = ["unit", "rater", "item", "who", "place"]
    frame = pd.DataFrame(rows, columns=columns)
    times = pd.Timestamp("2024-05-01", tz="UTC") + pd.to_timedelta(frame["place"] * 30, unit="s")
    return frame.assign(rating=3, submitted_at=times)


def _effect(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    return one(order_effects(frame), effect=name)


def test_speed_of_a_rater_who_gets_faster_is_found_exactly() -> None:
    frame = _study()
    gaps = 60 * np.exp(-0.01 * np.arange(60))
    times = np.concatenate([[0.0], np.cumsum(gaps[1:])])
    start = pd.Timestamp("2024-05-01", tz="UTC")
    frame["submitted_at"] = start + pd.to_timedelta(times[frame["place"]], unit="s")
    assert _effect(frame, "speed")["estimate"] == pytest.approx(-1.0, abs=1e-3)  # per 100 samples


def test_straight_lining_that_begins_halfway_is_found() -> None:
    frame = _study()
    late = frame["place"] >= 30
    frame["rating"] = np.where(late | (frame["item"] == "Q1"), 3, 4)
    row = _effect(frame, "same_answer")
    assert row["estimate"] > 1 and row["p"] < 0.05


def test_a_long_break_is_no_slow_answer() -> None:
    frame = _study()
    frame.loc[frame["place"] >= 50, "submitted_at"] += pd.Timedelta(days=1)
    assert _effect(frame, "speed")["estimate"] == pytest.approx(0, abs=1e-9)


def test_rounding_is_no_effect() -> None:
    """Raters of constant pace, each a step above the one before: slopes of 1e-16 had p = 0.03."""
    frame = _study().assign(rating=lambda table: 1 + table["who"] % 5)
    seconds = pd.to_timedelta(frame["place"] * 31.7, unit="s")
    frame["submitted_at"] = pd.Timestamp("2024-05-01", tz="UTC") + seconds
    found = order_effects(frame).set_index("effect")
    assert found["p"].isna().all()
    assert (found["estimate"].drop("carry_over") == 0).all()
    assert found["estimate"].isna()["carry_over"]


def test_carry_over_of_half_a_star_is_found() -> None:
    rng = np.random.default_rng(1)
    frame = _study(samples=300)
    excess = np.zeros((6, 300))
    for place in range(1, 300):
        excess[:, place] = 0.5 * excess[:, place - 1] + rng.normal(0, 0.9, 6)
    stars = 3 + excess[frame["who"], frame["place"]]
    row = _effect(frame.assign(rating=np.clip(np.round(stars), 1, 5).astype(int)), "carry_over")
    assert row["low"] > 0.2 and row["high"] < 0.6  # rounding and the others' votes weaken it


def test_rows_in_any_order_and_time_as_text_give_the_same() -> None:
    ratings, _, _ = simulate(Study(samples=60), 0)
    base = order_effects(ratings)
    text = ratings.assign(submitted_at=ratings["submitted_at"].map(lambda time: time.isoformat()))
    mixed = order_effects(text.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(base, mixed)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("no column", "submitted_at is not in the ratings"),
        ("no times", "no vote has a time"),
        ("nonsense", "no vote has a time"),
        ("few", "no rater has"),
        ("one rater", "no rater has"),
        ("one moment", "no rater has"),
        ("no votes", "no vote has a time"),
    ],
)
def test_missing_times_or_votes_are_said(change: str, says: str) -> None:
    ratings, _, _ = simulate(Study(samples=60), 0)
    same = ratings["submitted_at"].iloc[0]
    frame = {
        "no column": ratings.drop(columns="submitted_at"),
        "no times": ratings.assign(submitted_at=None),
        "nonsense": ratings.assign(submitted_at="yesterday"),
        "few": ratings[ratings["unit"] < "s0005"],
        "one rater": ratings[ratings["rater"] == "a00"],
        "one moment": ratings.assign(submitted_at=same),
        "no votes": ratings.head(0),
    }[change]
    found = order_effects(frame)
    assert found["effect"].tolist() == list(EFFECTS)
    about_others = found[found["effect"].isin(["drift", "fatigue", "carry_over"])]
    assert about_others["estimate"].isna().all()
    assert about_others["note"].str.contains(says).all()
    assert found[["low", "high", "p"]].isna().all(axis=None)
