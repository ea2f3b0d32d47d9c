"""Measured properties of explanations, and the qualities that follow from them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pasta.datasets.stored import class_parts
from pasta.seeds import generator
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.simulation.quality import (
    LIMIT,
    distance,
    overlap,
    qualities,
    spread,
    standardised,
)
from tests.studies.ratings.simulation_study import parameters

INSIDE = np.array([[True, True, False, False, False, False, False, False]])


@pytest.mark.parametrize(
    ("attribution", "expected"),
    [
        ([1, 1, 1, 1, 1, 1, 1, 1], 0.0),  # flat
        ([3, 1, 0, 0, 0, 0, 0, 0], 1.0),  # all inside
        ([0, 0, 0, 2, 0, 0, 0, 1], -1.0),  # all outside
        ([1, 0, 1, 0, 0, 0, 0, 0], 1 / 3),  # half inside, a quarter by chance
        ([1, 0, 1, -9, 0, 0, -9, 0], 1 / 3),  # what speaks against does not count
        ([-1, -1, -1, 0, 0, 0, 0, 0], 0.0),  # nothing speaks for the class
    ],
)
def test_overlap_is_corrected_for_chance(attribution: list[float], expected: float) -> None:
    assert overlap(np.array([attribution], float), INSIDE)[0] == pytest.approx(expected)


def test_overlap_of_an_image_without_parts_is_missing() -> None:
    assert np.isnan(overlap(np.ones((1, 8)), np.zeros((1, 8), bool))).all()


def test_spread_is_the_effective_share_of_places() -> None:
    values = np.array([[1, 1, 1, 1], [0, 5, 0, 0], [2, -2, 0, 0]], float)
    np.testing.assert_allclose(spread(values), [1, 1 / 4, 1 / 2])


def test_spread_and_distance_equal_their_formulas_written_out() -> None:
    random = generator(0, "test")
    first, second = random.standard_normal((2, 5, 30))
    for row, other, found, far in zip(
        first, second, spread(first), distance(first, second), strict=True
    ):
        shares = [abs(value) / sum(map(abs, row)) for value in row]
        assert found == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)) / 30)
        assert far == pytest.approx(min(1 - np.corrcoef(row, other)[0, 1], 1))


def test_distance_is_zero_for_the_same_picture_and_one_for_unrelated_or_opposed_ones() -> None:
    picture = np.array([[0, 1, 2, 3]], float)
    assert distance(picture, 5 * picture + 1)[0] == pytest.approx(0)
    assert distance(picture, -picture)[0] == 1
    assert distance(picture, np.array([[1, -1, -1, 1]], float))[0] == pytest.approx(1)
    assert distance(picture, np.ones((1, 4)))[0] == 1


def test_parts_of_a_class_are_those_seen_more_often_with_it() -> None:
    presence = pd.DataFrame(
        {"head": [1, 1, 1, 0], "wheel": [0, 0, 0, 1], "horn": [0, 0, 0, 0]},
        index=pd.Index(["a", "b", "c", "d"], name="image_id"),
    ).astype(bool)
    images = pd.DataFrame({"image_id": list("abcd"), "label": ["cat", "cat", "dog", "car"]})
    assert class_parts(presence, images).to_dict("index") == {
        "cat": {"head": True, "wheel": False, "horn": False},
        "dog": {"head": True, "wheel": False, "horn": False},
        "car": {"head": False, "wheel": True, "horn": False},
    }


def measured(samples: int = 300) -> pd.DataFrame:
    random = generator(0, "test", "properties")
    kind = np.where(np.arange(samples) % 4 == 0, "concept", "saliency")
    shift = np.where(kind == "concept", 0.3, 0.0)
    return pd.DataFrame(
        {
            "sample_id": [f"coco/{place:04d}/lime/vit_b_16" for place in range(samples)],
            "kind": kind,
            "status": "ok",
            "overlap": random.uniform(-1, 1, samples) + shift,
            "spread": random.uniform(0, 1, samples) + shift,
            "correct": (random.random(samples) < 0.9).astype(float),
            "light": random.uniform(0, 0.3, samples),
            "strong": random.uniform(0.3, 1, samples),
        }
    )


def test_kinds_have_equal_scores_but_may_really_change_differently() -> None:
    properties = measured()
    properties.loc[properties["kind"] == "concept", "strong"] = 1.0
    scores = standardised(properties)
    means = scores.groupby(properties["kind"]).mean()
    np.testing.assert_allclose(means[["overlap", "spread", "correct"]], 0, atol=1e-12)
    assert means["strong"]["concept"] > means["strong"]["saliency"]
    np.testing.assert_allclose(scores[["light", "strong"]].to_numpy().std(), 1)


def test_qualities_follow_the_planted_weights() -> None:
    params = parameters()
    properties = measured(4000)
    found = qualities(properties, params, seed=0)
    scores = standardised(properties)
    design = np.column_stack([np.ones(len(scores)), scores.to_numpy()])
    for question in QUESTIONS:
        weights = getattr(params.questions, question)
        fitted = np.linalg.lstsq(design, found[question].to_numpy(), rcond=None)[0]
        light, strong = weights.change * (question == "Q5"), weights.change * (question == "Q6")
        by_name = {"overlap": weights.overlap, "spread": -weights.focus, "correct": weights.correct}
        planted = [by_name.get(str(name), 0) for name in scores.columns[:3]]
        expected = [weights.mean, *planted, light, strong]
        np.testing.assert_allclose(fitted, expected, atol=0.08)
        residual = (found[question] - design @ fitted).std()
        assert residual == pytest.approx(weights.residual, rel=0.05)


def test_questions_of_a_group_share_their_residual() -> None:
    content = parameters().model_dump()
    for weights in content["questions"].values():
        weights.update(overlap=0.0, correct=0.0, focus=0.0, change=0.0)
    params = type(parameters()).model_validate(content)
    related = qualities(measured(4000), params, seed=0)[list(QUESTIONS)].corr()
    assert related.loc["Q1", "Q4"] == pytest.approx(params.shared, abs=0.05)
    assert related.loc["Q5", "Q6"] == pytest.approx(params.shared, abs=0.05)
    assert related.loc["Q1", "Q5"] == pytest.approx(0, abs=0.05)


def test_an_empty_picture_has_the_lowest_quality_and_its_change_as_it_is() -> None:
    properties = measured()
    properties.loc[7, "status"] = "zero"
    properties.loc[7, "overlap"] = properties.loc[7, "spread"] = np.nan
    properties.loc[7, "light"], properties.loc[7, "strong"] = 0.0, 1.0
    found = qualities(properties, parameters(), seed=0)
    for question in QUESTIONS[:4]:
        mean = getattr(parameters().questions, question).mean
        assert found.loc[7, question] == found[question].min() == pytest.approx(mean - LIMIT)
    assert found.loc[7, ["Q5", "Q6"]].notna().all()
    assert found.notna().all(axis=None)


def test_an_unknown_overlap_is_average_and_an_unknown_change_gives_no_quality() -> None:
    properties = measured()
    properties.loc[3, ["overlap", "strong"]] = np.nan
    assert standardised(properties).loc[3, "overlap"] == 0
    found = qualities(properties, parameters(), seed=0)
    assert found.loc[3, list(QUESTIONS[:5])].notna().all()
    assert np.isnan(float(found["Q6"][3]))
    assert found["Q6"].drop(3).notna().all()


def test_qualities_do_not_depend_on_the_order_of_samples_but_on_the_seed() -> None:
    first = qualities(measured(), parameters(), seed=0)
    mixed = qualities(measured().sample(frac=1, random_state=3), parameters(), seed=0)
    pd.testing.assert_frame_equal(first, mixed)
    assert not first.equals(qualities(measured(), parameters(), seed=1))
