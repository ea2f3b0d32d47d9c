"""Profiles of raters find what was planted, and name nobody without a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.raters import rater_profiles, raters_to_look_at
from tests.analysis.simulated import one, study


def timed(frame: pd.DataFrame, seconds: dict[str, float] | None = None) -> pd.DataFrame:
    """Submit each sample about 30 s after the one before, or as ``seconds`` says."""
    rng = np.random.default_rng(1)
    start = pd.Timestamp("2024-05-01", tz="UTC")
    when = pd.Series(pd.NaT, index=frame.index, dtype="datetime64[us, UTC]")
    for rater, votes in frame.groupby("rater"):
        usual = (seconds or {}).get(str(rater), 30.0)
        names = votes["unit"].unique()
        ends = np.cumsum(usual * rng.uniform(0.5, 1.5, len(names)))
        clock = dict(zip(names, ends, strict=True))
        late = votes["unit"].map(clock).to_numpy(float)
        when.loc[votes.index] = start + pd.to_timedelta(late, unit="s").round("ms")
    return frame.assign(submitted_at=when)


def profile(frame: pd.DataFrame, rater: str, measure: str) -> dict[str, Any]:
    profiles = rater_profiles(frame, resamples=200)
    return one(profiles, rater=rater, measure=measure)


def test_severity_equals_a_loop_over_votes() -> None:
    frame = study(samples=40)
    row = profile(frame, "p2", "severity")
    apart = []
    for _, votes in frame.groupby(["unit", "item"]):
        mine = votes.loc[votes["rater"] == "p2", "rating"]
        if len(mine):
            others = votes.loc[votes["rater"] != "p2", "rating"]
            apart.append(mine.iloc[0] - others.mean())
    assert (row["n"], row["estimate"]) == (len(apart), pytest.approx(np.mean(apart)))
    assert row["low"] < row["estimate"] < row["high"]


def test_a_planted_severity_is_covered_and_none_is_seldom_an_alarm() -> None:
    covered = alarms = others = 0
    for seed in range(50):
        frame = study(samples=60, raters=6, questions=2, seed=seed)
        frame["rating"] = frame["rating"].clip(2, 4).astype(float) + 10
        frame.loc[frame["rater"] == "p0", "rating"] -= 1  # exactly one star lower
        profiles = rater_profiles(frame, categories=range(9, 17), resamples=10)
        severity = profiles[profiles["measure"] == "severity"]
        severe = one(severity, rater="p0")
        covered += severe["low"] <= -1 <= severe["high"]
        # the others are compared with p0 too: about a fifth of a star above zero
        even = severity[severity["rater"] != "p0"]
        alarms += int(((even["low"] > 0.2) | (even["high"] < 0.2)).sum())
        others += len(even)
    assert covered >= 45
    assert alarms / others <= 0.08


def test_spread_straight_lining_and_favourite_equal_plain_counts() -> None:
    frame = study(samples=60)
    profiles = rater_profiles(frame, resamples=200)
    own = profiles[profiles["rater"] == "p4"]
    mine = frame[frame["rater"] == "p4"]
    assert one(own, measure="spread")["estimate"] == pytest.approx(mine["rating"].std())
    ratings = mine.groupby("unit")["rating"]
    flat = ratings.max() == ratings.min()
    assert one(own, measure="straight_lining")["estimate"] == pytest.approx(flat.mean())
    share = mine["rating"].value_counts(normalize=True).max()
    assert one(own, measure="favourite_share")["estimate"] == pytest.approx(share)


def test_seconds_are_the_median_from_sample_to_sample() -> None:
    frame = timed(study(samples=60))
    row = profile(frame, "p1", "seconds")
    ends = frame[frame["rater"] == "p1"].groupby("unit")["submitted_at"].max()
    gaps = ends.sort_values().diff().dropna().dt.total_seconds()
    assert (row["n"], row["estimate"]) == (len(gaps), pytest.approx(gaps.median()))
    assert row["low"] < row["estimate"] < row["high"]


def test_without_times_the_speed_is_missing_and_the_rest_is_there() -> None:
    profiles = rater_profiles(study(samples=30), resamples=20)
    speed = profiles["measure"] == "seconds"
    assert profiles.loc[speed, "estimate"].isna().all()
    assert (profiles.loc[speed, "note"] == "no times of two units").all()
    assert profiles.loc[~speed, "estimate"].notna().all()


def planted() -> pd.DataFrame:
    """Twelve raters: p0 is severe, p1 clicks at random, p2 always repeats, p3 is fast."""
    frame = study(samples=300, raters=12, noise=0.5)
    rng = np.random.default_rng(0)
    who = frame["rater"]
    frame.loc[who == "p0", "rating"] = (frame.loc[who == "p0", "rating"] - 2).clip(1, 5)
    frame.loc[who == "p1", "rating"] = rng.integers(1, 6, (who == "p1").sum())
    first = frame.groupby(["unit", "rater"])["rating"].transform("first")
    frame.loc[who == "p2", "rating"] = first[who == "p2"]
    return timed(frame, {"p3": 8.0})


def test_those_who_rate_strangely_are_named_with_the_reason_and_nobody_else() -> None:
    named = raters_to_look_at(rater_profiles(planted(), resamples=300))
    reasons = named.groupby("rater")["measure"].agg(set).to_dict()
    assert set(reasons) == {"p0", "p1", "p2", "p3"}
    assert "severity" in reasons["p0"]
    assert "agreement" in reasons["p1"]
    assert "straight_lining" in reasons["p2"]
    assert reasons["p3"] == {"seconds"}
    texts = " ".join(named["reason"])
    assert "lower than others on the same units" in texts
    assert "beyond chance" in texts


def test_where_hardly_anybody_agrees_nobody_is_named_for_it() -> None:
    frame = study(samples=60, raters=12)
    rng = np.random.default_rng(0)
    frame["rating"] = rng.integers(1, 6, len(frame))
    named = raters_to_look_at(rater_profiles(frame, resamples=100))
    assert not named["reason"].str.contains("beyond chance").any()


def test_an_even_study_names_nobody() -> None:
    for seed in range(5):
        frame = timed(study(samples=100, seed=seed))
        assert raters_to_look_at(rater_profiles(frame, resamples=100)).empty
