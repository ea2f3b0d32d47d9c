"""Whole ways through the three studies in Chromium, from the link to the completion code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from pasta.studies.app.database import open_database
from pasta.studies.app.design import load_design
from pasta.studies.app.exporting import export_tables
from tests.studies.app.browser import (
    DESKTOP,
    PHONE,
    WORDS,
    Json,
    Person,
    chromium,
    invited,
    serious,
    stored,
    window,
)
from tests.studies.app.browser_ratings import SAMPLES, ratings_study
from tests.studies.app.made import attention_study, prediction_study
from tests.studies.app.serving import served

STUDIES: dict[str, Callable[[Path], Path]] = {
    "ratings": ratings_study,
    "prediction": prediction_study,
    "attention": attention_study,
}
START = ["consent", "demographics", "instructions"]
WAYS = {
    "ratings": [*START, "check", *["before", "stars"] * 2, "rankings", "done"],
    "prediction": [
        *START,
        *["check"] * 3,  # the practice twice, for one answer was wrong, and the quiz
        *[*["training"] * 5, *["choice"] * 8] * 3,
        "done",
    ],
    "attention": [*START, *["regions"] * 3, "words", "goodness", "done"],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def exported(folder: Path) -> dict[str, list[Json]]:
    """What the study's importer gets."""
    database = open_database(folder)
    try:
        tables = export_tables(load_design(folder), database).tables
        return {name: list(rows) for name, rows in tables.items()}
    finally:
        database.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_is_answered_on_desktop_and_phone_and_arrives_as_given(
    kind: str, browser: Browser, tmp_path: Path
) -> None:
    folder = STUDIES[kind](tmp_path / kind)
    findings: list[str] = []
    look: Callable[[Page], None] = lambda page: findings.extend(serious(page))  # noqa: E731
    sent: list[Json] = []
    with served(folder) as server:
        devices: dict[str, dict[str, Any]] = {"desktop": DESKTOP, "phone": PHONE}
        for name, device in devices.items():
            with window(browser, **device) as context:
                person = Person(context.new_page(), folder, name == "phone", look)
                person.open(invited(server))
                person.walk()
                assert person.kinds == WAYS[kind]
                sent += person.sent
    rows = stored(folder)
    assert findings == []
    assert [row["answer"] for row in rows] == [one["answer"] for one in sent]
    assert [row["key"] for row in rows] == [one["key"] for one in sent]
    assert all(0 < row["seconds"] < 60 for row in rows)
    CHECKS[kind](exported(folder))


def _ratings(tables: dict[str, list[Json]]) -> None:
    votes = tables["votes"]
    assert {row["sample_id"] for row in votes} == set(SAMPLES)
    assert len(votes) == 2 * 2 * 6
    assert not any(row["simulated"] for row in votes)
    assert {row["text"] for row in tables["descriptions"]} == {WORDS}
    sides = [[row[name] for name in ("x0", "y0", "x1", "y1")] for row in tables["boxes"]]
    assert np.allclose(sides, [[0.25, 0.25, 0.75, 0.5]] * 4, atol=0.01)
    orders: dict[tuple[str, str], list[int]] = {}
    for row in tables["rankings"]:
        orders.setdefault((row["annotator_id"], row["question"]), []).append(row["position"])
    assert len(orders) == 2 * 3
    assert all(sorted(order) == list(range(1, len(order) + 1)) for order in orders.values())


def _prediction(tables: dict[str, list[Json]]) -> None:
    people = tables["participants"]
    assert [row["practice_tries"] for row in people] == [2, 2]
    assert [row["quiz_right"] for row in people] == [3, 3]
    trials = [row for row in tables["trials"] if row["phase"] in ("test", "catch")]
    assert len(trials) == 2 * 3 * 8
    assert {row["answer"] for row in trials} == {"husky", "wolf"}


def _attention(tables: dict[str, list[Json]]) -> None:
    assert [row["words"] for row in tables["words"]] == ["1 3 4", "1 3 4"]
    assert [row["rating"] for row in tables["goodness"]] == [7, 7]
    shapes = [row["shape"] for row in tables["regions"]]
    assert shapes == ["polygon", "box"] * 6
    assert {(row["age"], row["country"]) for row in tables["people"]} == {(34, "Côte d’Ivoire")}


CHECKS = {"ratings": _ratings, "prediction": _prediction, "attention": _attention}
