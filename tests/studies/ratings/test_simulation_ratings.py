"""Drawing of stars and times: the formula, and what a vote does and does not depend on."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pasta.contracts import check
from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.simulation.raters import annotators_table, draw_raters, rate
from tests.studies.ratings.simulation_study import (
    annotator_names,
    parameters,
    plan_for,
    synthetic_qualities,
)

PARAMS = parameters()
QUALITIES = synthetic_qualities(0, samples=40)
PLAN = plan_for(QUALITIES["sample_id"], 0, annotators=7)
RATERS = draw_raters(annotator_names(7), PARAMS.raters, 0)
KEY = list(rating_tables.VOTES.key)


def test_stars_follow_the_formula_vote_by_vote() -> None:
    votes = rate(QUALITIES, RATERS, PLAN, PARAMS, seed=3)
    assert len(votes) == len(PLAN) * len(QUESTIONS)
    samples = {row["sample_id"]: row for row in QUALITIES.to_dict("records")}
    rater = {row["annotator_id"]: row for row in RATERS.to_dict("records")}
    order = sorted(samples)
    noise = {
        name: generator(3, "simulation", "votes", name).standard_normal((len(order), 6))
        for name in rater
    }
    for vote in votes.to_dict("records"):
        name, question = vote["annotator_id"], vote["question"]
        who, sample, place = rater[name], samples[vote["sample_id"]], QUESTIONS.index(question)
        side = 0.5 if sample["kind"] == "saliency" else -0.5
        planted = -PARAMS.saliency_calm if place >= 4 else PARAMS.saliency_preference
        spread = who["noise"] * getattr(PARAMS.questions, question).noise
        latent = (
            who["scale"] * (sample[question] + side * planted)
            + who["leniency"]
            + spread * noise[name][order.index(vote["sample_id"]), place]
        )
        assert vote["rating"] == 1 + sum(latent >= threshold for threshold in PARAMS.thresholds)


def test_votes_fulfil_their_contract() -> None:
    annotators = annotators_table(RATERS)
    check(annotators, rating_tables.ANNOTATORS)
    votes = rate(QUALITIES, RATERS, PLAN, PARAMS, seed=0)
    check(votes, rating_tables.VOTES, {"annotators": annotators})
    assert votes["simulated"].all() and annotators["simulated"].all()
    assert votes["submitted_at"].notna().all()
    assert votes[KEY].equals(votes[KEY].sort_values(KEY, ignore_index=True))


def test_the_same_seed_gives_the_same_votes_and_another_seed_others() -> None:
    first = rate(QUALITIES, RATERS, PLAN, PARAMS, seed=1)
    pd.testing.assert_frame_equal(first, rate(QUALITIES, RATERS, PLAN, PARAMS, seed=1))
    other = rate(QUALITIES, RATERS, PLAN, PARAMS, seed=2)
    assert (first["rating"] != other["rating"]).mean() > 0.2


def test_votes_do_not_depend_on_the_order_of_any_rows() -> None:
    qualities, raters, plan = (
        frame.sample(frac=1, random_state=5) for frame in (QUALITIES, RATERS, PLAN)
    )
    expected = rate(QUALITIES, RATERS, PLAN, PARAMS, seed=1)
    pd.testing.assert_frame_equal(rate(qualities, raters, plan, PARAMS, seed=1), expected)


def test_a_vote_does_not_depend_on_the_rest_of_the_plan() -> None:
    whole = rate(QUALITIES, RATERS, PLAN, PARAMS, seed=1).set_index(KEY)["rating"]
    half = rate(QUALITIES, RATERS, PLAN.iloc[::2], PARAMS, seed=1).set_index(KEY)["rating"]
    pd.testing.assert_series_equal(half, whole.loc[half.index])


def test_a_rater_does_not_depend_on_the_others() -> None:
    alone = draw_raters(["rater-03"], PARAMS.raters, 0)
    among = RATERS[RATERS["annotator_id"] == "rater-03"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, among)


def test_a_question_without_quality_is_not_asked() -> None:
    qualities = QUALITIES.copy()
    qualities.loc[0, "Q5"] = np.nan
    votes = rate(qualities, RATERS, PLAN, PARAMS, seed=0)
    asked = votes[votes["sample_id"] == qualities.loc[0, "sample_id"]]
    assert set(asked["question"]) == set(QUESTIONS) - {"Q5"}
    assert len(votes) == len(PLAN) * len(QUESTIONS) - len(asked) // 5


def test_without_noise_and_differences_the_stars_are_the_quality_cut_at_the_thresholds() -> None:
    params = parameters(
        dict.fromkeys(PARAMS.raters.model_dump(), 0.0), saliency_preference=0.0, saliency_calm=0.0
    )
    raters = draw_raters(annotator_names(7), params.raters, 0)
    votes = rate(QUALITIES, raters, PLAN, params, seed=0)
    quality = {row["sample_id"]: row for row in QUALITIES.to_dict("records")}
    cut = [-math.inf, *params.thresholds, math.inf]
    for vote in votes.to_dict("records"):
        value, stars = quality[vote["sample_id"]][vote["question"]], vote["rating"]
        assert cut[stars - 1] <= value < cut[stars]


def test_annotators_work_in_the_order_of_their_plan_on_working_days() -> None:
    qualities = synthetic_qualities(0, samples=400)
    plan = plan_for(qualities["sample_id"], 0, annotators=6)
    plan["position"] = -plan["position"]  # backwards
    raters = draw_raters(annotator_names(6), PARAMS.raters, 0)
    votes = rate(qualities, raters, plan, PARAMS, seed=0)
    handed_in = votes.groupby(["annotator_id", "sample_id"])["submitted_at"].agg(["min", "max"])
    assert (handed_in["min"] == handed_in["max"]).all()  # one form for one sample
    joined = plan.join(handed_in["min"], on=["annotator_id", "sample_id"])
    for _, mine in joined.sort_values("position").groupby("annotator_id"):
        assert mine["min"].is_monotonic_increasing
    times = votes["submitted_at"].dt
    assert set(times.day_of_week) <= set(range(5))
    assert votes["submitted_at"].min() >= pd.Timestamp("2025-01-06T09:00Z")
    assert len(set(times.date)) > 1
    assert times.hour.between(9, 14).all()


def test_demographics_that_were_not_stated_are_missing_and_still_known_as_truth() -> None:
    params = parameters({**PARAMS.raters.model_dump(), "unstated": 1.0})
    raters = draw_raters(annotator_names(5), params.raters, 0)
    table = annotators_table(raters)
    check(table, rating_tables.ANNOTATORS)
    assert table[["age", "sex", "country"]].isna().all(axis=None)
    assert raters[["age", "sex", "country"]].notna().all(axis=None)


@pytest.mark.parametrize("column", ["sample_id", "annotator_id"])
def test_a_plan_of_strangers_is_refused(column: str) -> None:
    stranger = PLAN.assign(**{column: "coco/9/lime/nobody"})
    with pytest.raises(PastaError, match="nobody"):
        rate(QUALITIES, RATERS, stranger, PARAMS, seed=0)
