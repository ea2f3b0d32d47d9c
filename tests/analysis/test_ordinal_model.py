"""The model of all votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.ordinal_model import meta_regression, ordinal_model
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate


def test_equal_errors_give_ordinary_least_squares() -> None:
    """With the same error for every annotator the second stage is least squares."""
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(12), rng.normal(size=12)])
    effects = design @ [0.5, 1.0] + rng.normal(size=12)
    slopes, covariance, tau2 = meta_regression(effects, 0.01 * np.eye(12), design)
    expected, squares, _, _ = np.linalg.lstsq(design, effects, rcond=None)
    variance = float(squares[0]) / 10
    assert slopes == pytest.approx(expected)
    assert tau2 + 0.01 == pytest.approx(variance, rel=1e-3)
    assert covariance == pytest.approx(variance * np.linalg.inv(design.T @ design), rel=1e-3)


def test_the_reference_annotator_does_not_matter() -> None:
    """Coefficients relative to one annotator or another differ by a shift and its covariance."""
    ratings, people, shown = simulate(Study(sex=0.5), 0)
    renamed = {"a00": "z00"}
    base = ordinal_model(ratings, people, shown)
    other = ordinal_model(
        ratings.replace({"annotator_id": renamed}), people.replace({"annotator_id": renamed}), shown
    )
    columns = ["estimate", "low", "high"]
    pd.testing.assert_frame_equal(base[columns], other[columns], rtol=1e-4)


def test_mirrored_stars_turn_every_sign() -> None:
    ratings, people, shown = simulate(Study(sex=0.5, kind=0.3), 1)
    base = ordinal_model(ratings, people, shown).set_index("term")
    mirrored = ordinal_model(ratings.assign(rating=6 - ratings["rating"]), people, shown)
    terms = ["question", "kind", "sex", "age"]
    found = mirrored.set_index("term").loc[terms, "estimate"]
    assert found.to_numpy() == pytest.approx(-base.loc[terms, "estimate"].to_numpy(), abs=1e-5)


def test_spread_between_annotators_is_recovered() -> None:
    study = Study(annotators=30, samples=150, leniency=0.6)
    models = [ordinal_model(*simulate(study, seed)[:2]) for seed in range(8)]
    found = [one(model, term="annotator")["estimate"] for model in models]
    assert np.mean(found) == pytest.approx(0.8 * 0.6, abs=0.06)


def test_annotator_who_uses_one_star_is_left_out_with_a_note() -> None:
    ratings, people, shown = simulate(Study(), 2)
    steady = ratings["annotator_id"] == "a05"
    ratings = ratings.assign(rating=ratings["rating"].mask(steady, 5))
    sex = one(ordinal_model(ratings, people, shown), term="sex")
    assert sex["n"] == 13 and "1 annotators who used one star only left out" in sex["note"]


def test_unknown_kinds_are_counted_and_no_kinds_are_said() -> None:
    ratings, people, shown = simulate(Study(), 3)
    kind = one(ordinal_model(ratings, people, shown.iloc[10:]), term="kind")
    assert kind["n"] == len(ratings) - 100
    assert "100 votes on samples of unknown kind" in kind["note"]
    none = ordinal_model(ratings, people)
    assert "kind" not in set(none["term"])
    assert none["note"].str.contains("no kinds of explanation").any()


def test_two_stars_are_enough() -> None:
    ratings, people, shown = simulate(Study(), 4)
    ratings = ratings.assign(rating=np.where(ratings["rating"] > 3, 5, 1))
    sex = one(ordinal_model(ratings, people, shown), term="sex")
    assert all(np.isfinite(sex[name]) for name in ("estimate", "low", "high"))


def test_terms_that_say_the_same_are_named_and_not_estimated_twice() -> None:
    ratings, people, shown = simulate(Study(sex=0.5), 6)
    people["age"] = np.where(people["sex"] == "female", 30, 40)
    both = ordinal_model(ratings, people, shown)
    alone = ordinal_model(ratings, people.drop(columns="age"), shown)
    sexes = [one(model, term="sex")["estimate"] for model in (both, alone)]
    assert sexes[0] == pytest.approx(sexes[1])
    age = one(both, term="age")
    assert np.isnan(age["estimate"]) and "cannot be told apart" in age["note"]
