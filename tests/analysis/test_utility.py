"""Utility: by hand, against a loop, recovered where it is planted, and 1 where nothing is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.resampling import cluster_counts
from analysis.utility import (
    equivalence_power,
    equivalence_table,
    item_table,
    learning_table,
    people_for_equivalence,
    person_utility,
    ratio_of_means,
    right_shares,
    session_means,
    time_table,
    utility_area,
    utility_table,
)
from analysis.variance import anova
from tests.analysis.trials import EXAMPLES, draw_trials

PLANTED = {"none": 0.6, "good": 0.75, "bad": 0.5, "same": 0.6}


def test_utility_of_answers_by_hand() -> None:
    """Two people a condition, two tests a session: 3/4 and 1 of the maps, 1/2 and 3/4 without."""
    trials = pd.DataFrame(
        {
            "participant": list("aaaabbbbccccdddd"),
            "condition": ["map"] * 8 + ["none"] * 8,
            "session": [1, 1, 2, 2] * 4,
            "right": [1, 1, 1, 1, 0, 1, 1, 1] + [0, 1, 1, 1, 1, 0, 0, 1],
        }
    )
    found = utility_table(trials, "none", examples={1: 5, 2: 15}, resamples=100)
    own = found[found["condition"] == "map"]
    assert own["estimate"].tolist() == pytest.approx([1.5, 4 / 3, (1.5 + 4 / 3) / 2])
    assert own["k"].tolist()[:2] == [5, 15]
    assert own["accuracy"].tolist()[:2] == [0.75, 1.0]


def test_the_area_of_a_flat_curve_is_its_height_whatever_its_width() -> None:
    for places in ([5, 10, 15], [1, 2, 30], [0, 100]):
        curve = np.full((1, len(places)), 1.7)
        assert utility_area(curve, places) == pytest.approx([1.7])


def test_intervals_equal_those_of_a_loop_over_people_on_the_same_draws() -> None:
    trials = draw_trials({"none": 0.6, "map": 0.7}, 6, 3)
    shares = right_shares(trials)
    own = shares.right[shares.conditions == "map"]
    counts = next(cluster_counts(len(own), 40, 7))
    fast = session_means(own, np.asarray(counts, np.float64))
    people = trials[trials["condition"] == "map"]
    names = sorted(people["participant"].unique())
    for draw, line in zip(counts, fast, strict=True):
        picked = [name for name, times in zip(names, draw, strict=True) for _ in range(int(times))]
        parts = [people[people["participant"] == name] for name in picked]
        slow = pd.concat(parts).groupby("session")["right"].mean()
        assert line == pytest.approx(slow.to_numpy(np.float64))


def test_planted_utilities_are_covered_and_others_are_not_found() -> None:
    """50 studies of 30 people a condition."""
    covered = []
    for seed in range(50):
        trials = draw_trials(PLANTED, 30, seed)
        found = utility_table(trials, "none", examples=EXAMPLES, resamples=1_000, seed=seed)
        areas = found[found["k"].isna()].set_index("condition")
        for name, level in PLANTED.items():
            if name != "none":
                truth = level / PLANTED["none"]
                low, high = areas.loc[name, ["low", "high"]].to_numpy(np.float64)
                covered.append(bool(low <= truth <= high))
    assert np.mean(covered) >= 0.9


def test_without_planted_utilities_the_variance_analysis_rarely_rejects() -> None:
    """At most 8 % of 100 studies; 5 % are expected."""
    rejected = []
    for seed in range(100):
        trials = draw_trials(dict.fromkeys(["none", *"abcdefg"], 0.6), 30, 1000 + seed)
        people = person_utility(trials, "none", EXAMPLES)
        p = float(anova(people["utility"], people["condition"])["p"].iloc[0])
        rejected.append(p < 0.05)
    assert np.mean(rejected) <= 0.08


def test_people_shuffled_between_conditions_have_a_utility_of_about_one() -> None:
    trials = draw_trials({"none": 0.5, "map": 0.8}, 150, 0)
    people = trials["participant"].unique()
    names = np.random.default_rng(1).permutation(["none", "map"] * 150)
    shuffled = trials.assign(
        condition=trials["participant"].map(dict(zip(people, names, strict=True)))
    )
    found = utility_table(shuffled, "none", examples=EXAMPLES, resamples=500)
    area = found[found["k"].isna() & (found["condition"] == "map")].iloc[0]
    assert area["low"] < 1 < area["high"]
    assert area["estimate"] == pytest.approx(1, abs=0.08)


def test_the_order_of_rows_and_names_of_people_do_not_matter() -> None:
    trials = draw_trials({"none": 0.6, "map": 0.7}, 8, 5)
    mixed = trials.sample(frac=1, random_state=0)
    one, other = (utility_table(one, "none", resamples=50) for one in (trials, mixed))
    pd.testing.assert_frame_equal(one, other)


def test_a_participant_in_two_conditions_is_an_error() -> None:
    trials = pd.DataFrame({"participant": ["a", "a"], "condition": ["x", "y"], "right": [1, 0]})
    with pytest.raises(ValueError, match="'a' is in more than one condition"):
        utility_table(trials, "x")


def test_without_a_baseline_there_is_no_number() -> None:
    found = utility_table(draw_trials({"map": 0.7}, 4, 0), "none", resamples=10)
    assert found["estimate"].isna().all()
    assert "nobody is in the baseline" in found["note"].iloc[0]


def test_equal_people_are_equivalent_and_different_ones_are_not() -> None:
    trials = draw_trials({"none": 0.6, "same": 0.6, "better": 0.8}, 200, 2)
    found = equivalence_table(trials, "none", 0.1, EXAMPLES).set_index("condition")
    assert found.loc["same", "verdict"] == "equivalent"
    assert found.loc["better", "verdict"] == "better"


@pytest.mark.parametrize(("people", "variation"), [(20, 0.15), (41, 0.15), (100, 0.3)])
def test_the_power_of_equivalence_is_the_share_of_equal_studies_that_show_it(
    people: int, variation: float
) -> None:
    rng = np.random.default_rng(people)
    x, y = rng.normal(0.6, 0.6 * variation, (2, 600, people))
    shown = [ratio_of_means(*pair, 0.1)["p_equivalence"] < 0.05 for pair in zip(x, y, strict=True)]  # type: ignore[operator]
    chance = equivalence_power(people, variation, 0.1)
    error = np.sqrt(chance * (1 - chance) / len(shown))
    assert np.mean(shown) == pytest.approx(chance, abs=3.5 * error + 0.01)


def test_the_people_needed_are_the_fewest_with_the_power() -> None:
    enough = int(people_for_equivalence(0.2, 0.1))
    assert equivalence_power(enough, 0.2, 0.1) >= 0.8 > equivalence_power(enough - 1, 0.2, 0.1)
    assert np.isnan(people_for_equivalence(0.0, 0.1))
    trials = draw_trials({"none": 0.6, "map": 0.6}, 20, 1)
    found = equivalence_table(trials, "none").iloc[0]
    shares = person_utility(trials, "none").groupby("condition")["accuracy"]
    variation = np.sqrt(shares.var(ddof=1).mean()) / shares.mean()["none"]
    assert found["people"] == 20
    assert found["needed"] == people_for_equivalence(float(variation), 0.1)


def test_fiellers_interval_holds_the_ratios_that_are_not_rejected() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(0.7, 0.1, 30), rng.normal(0.6, 0.1, 25)
    found = ratio_of_means(x, y, 0.1)
    for end in ("low", "high"):
        again = ratio_of_means(x, y * float(str(found[end])), 0.1)
        assert again["p"] == pytest.approx(0.05, abs=1e-6)


def test_an_interval_of_a_handful_of_people_is_there_or_the_reason_why_not() -> None:
    with_ends = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, y = (rng.integers(low, 22, rng.integers(2, 7)) / 21 for low in (0, 3))
        found = ratio_of_means(x, y, 0.1)
        low, high, ratio = (float(str(found[name])) for name in ("low", "high", "estimate"))
        assert (low < ratio < high) if not found["note"] else np.isnan(low + high)
        with_ends += not found["note"]
    assert 100 < with_ends < 300  # both happen


def test_learning_items_and_times_of_answers_by_hand() -> None:
    trials = pd.DataFrame(
        {
            "participant": list("aabb"),
            "condition": ["map", "map", "none", "none"],
            "session": [1, 2, 1, 2],
            "item": list("xyxy"),
            "right": [0, 1, 1, 1],
            "seconds": [2.0, 8.0, 2.0, 2.0],
        }
    )
    learned = learning_table(trials, "none").set_index(["condition", "quantity"])["estimate"]
    assert learned["map", "slope"] == 1 and learned["none", "slope"] == 0
    items = item_table(trials).set_index("item")["estimate"]
    assert items.to_dict() == {"x": 0.5, "y": 1.0}
    times = time_table(trials, "none").set_index(["condition", "quantity"])["estimate"]
    assert times["map", "seconds"] == pytest.approx(4) and times["map", "ratio"] == pytest.approx(2)
