"""Counting what a study has."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.suites.dataset import dataset_tables
from tests.analysis.rows import one

IMAGES = pd.DataFrame(
    {
        "dataset": ["d", "d", "d", "e"],
        "image_id": ["0", "1", "2", "0"],
        "split": ["train", "train", "test", "test"],
        "label": ["cat", "dog", "cat", "arch"],
    }
)
EXPLANATIONS = pd.DataFrame(
    {
        "sample_id": ["d/2/lime/r", "d/2/cam/r", "e/0/lime/r", "e/0/cam/r"],
        "dataset": ["d", "d", "e", "e"],
        "image_id": ["2", "2", "0", "0"],
        "method": ["lime", "cam", "lime", "cam"],
        "backbone": "r",
        "kind": "saliency",
        "status": ["ok", "zero", "ok", "ok"],
    }
)
PERTURBED = pd.DataFrame(
    {
        "sample_id": ["d/2/lime/r"] * 2 + ["e/0/lime/r"] * 2,
        "strength": ["light", "strong"] * 2,
        "perturbation": ["blur", "blur", "crop", "blur"],
        "magnitude": 0.1,
        "changed": [False, True, False, False],
        "status": ["ok", "nan", "ok", "ok"],
    }
)
VOTES = pd.DataFrame(
    [
        ("d/2/lime/r", "a", "Q1", 1), ("d/2/lime/r", "b", "Q1", 5), ("e/0/lime/r", "a", "Q1", 1),
        ("d/2/lime/r", "a", "Q2", 4), ("d/2/cam/r", "b", "Q1", 2),
    ],
    columns=["sample_id", "annotator_id", "question", "rating"],
)  # fmt: skip
PEOPLE = pd.DataFrame({"annotator_id": ["a", "b"], "sex": ["female", None], "age": [20, 61]})


def test_counts_are_those_made_by_hand() -> None:
    tables = dataset_tables(IMAGES, EXPLANATIONS, PERTURBED, VOTES, PEOPLE, published={"lime/r"})
    assert one(tables["splits"], dataset="d", split="train")["n"] == 2
    assert one(tables["classes"], dataset="d", label="cat")["n"] == 2
    cam = one(tables["techniques"], technique="cam/r")
    assert (cam["n"], cam["ok"], cam["zero"], cam["rated"], cam["extra"]) == (2, 1, 1, 1, True)
    assert not one(tables["techniques"], technique="lime/r")["extra"]
    strong = one(tables["strengths"], strength="strong")
    assert (strong["n"], strong["changed"], strong["nan"]) == (2, 0.5, 1)
    assert one(tables["perturbations"], strength="strong", perturbation="blur")["n"] == 2
    first = one(tables["questions"], question="Q1")
    assert (first["n"], first["samples"], first["annotators"]) == (4, 3, 2)
    assert first["mean"] == pytest.approx(9 / 4)
    assert one(tables["stars"], question="Q1", rating=1)["share"] == 0.5
    assert one(tables["stars"], question="Q1", rating=3)["n"] == 0
    assert tables["missing"].empty


def test_people_and_samples_meet_once_however_many_questions_were_asked() -> None:
    plan = dataset_tables(IMAGES, EXPLANATIONS, None, VOTES)["plan"]
    each = one(plan, of="sample")
    assert (each["levels"], each["least"], each["most"]) == (3, 1, 2)
    assert one(plan, of="pair of annotators")["most"] == 1
    assert one(plan, of="image")["most"] == 2


def test_those_who_did_not_say_are_counted_and_come_last() -> None:
    people = dataset_tables(votes=VOTES, annotators=PEOPLE)["people"]
    sex = people[people["factor"] == "sex"]
    assert sex["group"].tolist() == ["female", "not stated"] and sex["votes"].tolist() == [3, 2]
    ages = people.loc[people["factor"] == "age_group", "group"].tolist()
    assert ages == ["under 25", "60 and over"]
    assert "country" not in set(people["factor"])


def test_nothing_given_is_nothing_counted_with_reasons() -> None:
    tables = dataset_tables()
    assert all(tables[name].empty for name in tables if name != "missing")
    sections = set(tables["missing"]["section"])
    assert {"splits", "techniques", "strengths", "questions", "people"} <= sections


def test_without_the_papers_list_nothing_is_called_an_extra() -> None:
    assert dataset_tables(explanations=EXPLANATIONS)["techniques"]["extra"].isna().all()
