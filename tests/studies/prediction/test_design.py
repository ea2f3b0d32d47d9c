"""Who sees what: balance, replacement, clear errors."""

from __future__ import annotations

import numpy as np
import pytest

from pasta.errors import PastaError
from pasta.studies.prediction.design import describe_power, make_plan, seats, sequences
from pasta.studies.prediction.settings import CONDITIONS
from tests.studies.prediction.small import DESIGN, make_images


def test_a_participant_has_the_sessions_of_the_design() -> None:
    plan = make_plan(make_images(), seats("small", CONDITIONS, 16), DESIGN, 0, "small")
    counts = plan.groupby(["participant_id", "session", "phase"]).size().unstack()
    assert (counts["training"] == 5).all() and (counts["test"] == 7).all()
    assert (counts["catch"] == 1).all() and len(counts) == 16 * 3


def test_nobody_sees_an_image_twice_but_for_the_catch_trial_of_the_same_session() -> None:
    plan = make_plan(make_images(), seats("small", CONDITIONS, 80), DESIGN, 0, "small")
    for _, own in plan.groupby("participant_id"):
        main = own[own["phase"] != "catch"]
        assert main["image_id"].is_unique
        seen = main[main["phase"] == "training"].groupby("session")["image_id"].agg(set)
        caught = own[own["phase"] == "catch"]
        assert all(i in seen[s] for i, s in zip(caught["image_id"], caught["session"], strict=True))


def test_the_model_is_right_half_of_the_time_and_names_each_class_half_of_the_time() -> None:
    images = make_images()
    right = images.set_index("image_id")["right"]
    plan = make_plan(images, seats("small", CONDITIONS, 240), DESIGN, 0, "small")
    asked = plan[plan["phase"] == "test"]
    each = asked.assign(right=asked["image_id"].map(right)).groupby("participant_id")
    assert set(each["right"].sum()) <= {10, 11}
    assert asked["image_id"].map(right).mean() == pytest.approx(0.5, abs=0.02)
    assert (asked["shown"] == "snow").mean() == pytest.approx(0.5, abs=0.02)


def test_the_classes_of_the_examples_do_not_tell_those_of_the_test() -> None:
    plan = sequences(make_images(), DESIGN, 200, 0, "small")
    pairs = [
        [(own[own["phase"] == phase]["shown"] == "snow").mean() for phase in ("training", "test")]
        for one in plan
        for _, own in one.groupby("session")
    ]
    assert abs(np.corrcoef(np.transpose(pairs))[0, 1]) < 0.12


def test_conditions_see_the_same_images_equally_often() -> None:
    plan = make_plan(make_images(), seats("small", CONDITIONS, 240), DESIGN, 0, "small")
    asked = plan[plan["phase"] == "test"]
    counts = asked.groupby(["image_id", "condition"]).size().unstack()
    assert (counts.nunique(axis=1) == 1).all()
    assert counts["baseline"].max() - counts["baseline"].min() <= 1


def test_those_who_were_left_out_are_replaced_in_their_condition() -> None:
    kept = {"baseline": 3, "control": 1}
    people = seats("small", ["baseline", "control"], 6, kept, first=10)
    assert people["condition"].tolist() == ["control", "control"]
    assert people["place"].tolist() == [1, 2]
    assert people["participant_id"].tolist() == ["small-0010", "small-0011"]


def test_too_few_images_are_an_error_that_says_what_to_change() -> None:
    few = make_images().groupby("phase").head(10)
    with pytest.raises(PastaError, match=r"15 training images are needed .* prediction.pool"):
        make_plan(few, seats("small", CONDITIONS, 8), DESIGN, 0, "small")


def test_the_power_of_the_papers_design_is_recomputed() -> None:
    first, second = describe_power(CONDITIONS, 240)
    assert "80.7" in first and "f = 0.248" in second
    assert "needs two conditions" in describe_power(["baseline"], 240)[0]
