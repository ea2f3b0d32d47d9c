"""People needed for a reliable order: recovery, the literal formula, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.precision import people_needed
from tests.analysis.simulated import one


def crossed(
    people: int, items: int, signal: float, noise: float, seed: int = 0, level: float = 3.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = rng.normal(size=items) * signal
    own = rng.normal(size=people) * level
    values = true + own[:, None] + rng.normal(size=(people, items)) * noise
    who, what = np.indices(values.shape)
    return values.ravel(), who.ravel(), what.ravel()


def test_crossed_answers_equal_the_mean_squares_of_a_two_way_analysis() -> None:
    values, people, items = crossed(15, 8, 1.0, 2.0)
    table = np.empty((15, 8))
    table[people, items] = values
    left = table - table.mean(0) - table.mean(1, keepdims=True) + table.mean()
    noise = (left**2).sum() / (14 * 7)
    between = 15 * ((table.mean(0) - table.mean()) ** 2).sum() / 7
    found = people_needed(values, people, items, resamples=20)
    reliability = (between - noise) / between
    assert one(found, quantity="reliability")["estimate"] == pytest.approx(reliability)
    needed = 9 * noise / ((between - noise) / 15)
    assert one(found, quantity="people")["estimate"] == pytest.approx(needed)


def test_people_of_their_own_for_each_item_are_counted_over_all_items() -> None:
    rng = np.random.default_rng(1)
    items = np.repeat(np.arange(6), 40)
    values = rng.normal(size=6)[items] + rng.normal(size=240) * 2
    row = one(people_needed(values, np.arange(240), items, resamples=20), quantity="people")
    assert not row["paired"]
    assert row["n"] == 240
    groups = pd.Series(values).groupby(items)
    noise = groups.var(ddof=1).mean()
    signal = groups.mean().var(ddof=1) - noise / 40
    assert row["estimate"] == pytest.approx(9 * 6 * noise / signal)


def test_the_interval_holds_the_truth() -> None:
    """Items are fixed: the truth is the reliability of means over people for these items."""
    held = 0
    for seed in range(40):
        values, people, items = crossed(30, 10, 1.0, 2.0, seed=seed)
        true = np.random.default_rng(seed).normal(size=10)
        row = one(people_needed(values, people, items, resamples=200), quantity="people")
        held += row["low"] <= 9 * 4 / true.var(ddof=1) <= row["high"]
    assert held >= 34


def test_the_level_of_a_person_does_not_count() -> None:
    values, people, items = crossed(20, 5, 1.0, 1.0)
    shifted = values + np.random.default_rng(3).normal(size=20)[people] * 50
    one_way = people_needed(values, people, items, resamples=30)
    other = people_needed(shifted, people, items, resamples=30)
    pd.testing.assert_frame_equal(one_way, other)


def test_the_order_of_rows_does_not_count() -> None:
    values, people, items = crossed(20, 5, 1.0, 1.0)
    order = np.random.default_rng(0).permutation(len(values))
    first = people_needed(values, people, items, resamples=30)
    second = people_needed(values[order], people[order], items[order], resamples=30)
    pd.testing.assert_frame_equal(first, second)


def test_items_that_do_not_differ_need_endless_people() -> None:
    values, people, items = crossed(10, 4, 0.0, 1.0, seed=2)
    centred = values - pd.Series(values).groupby(items).transform("mean").to_numpy()
    row = one(people_needed(centred, people, items, resamples=50), quantity="people")
    assert row["estimate"] == np.inf
    assert row["note"] == "items do not differ more than by chance"


@pytest.mark.parametrize(
    ("people", "items", "note"),
    [
        ([0, 1, 2], [0, 0, 0], "fewer than two items"),
        ([0, 1, 2], [0, 1, 2], "fewer than two people on an item"),
        ([], [], "fewer than two items"),
    ],
)
def test_too_little_is_said_and_no_number(people: list[int], items: list[int], note: str) -> None:
    found = people_needed(np.arange(len(people), dtype=float), people, items)
    assert found["estimate"].isna().all()
    assert set(found["note"]) == {note}
