"""Where a person stands follows from what is stored: places expire, pages come once, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pasta.studies.app.access import Signer
from pasta.studies.app.database import Database, open_database
from pasta.studies.app.design import Design, load_design
from pasta.studies.app.exporting import export_tables
from pasta.studies.app.overview import overview
from pasta.studies.app.people import invite
from pasta.studies.app.taking_part import RefusedError, Stand, TakingPart
from tests.studies.app.made import plain_study, prediction_study


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def pass_hours(self, hours: float) -> None:
        """Let time go by."""
        self.time += timedelta(hours=hours)


class Study:
    """A study with its clock and people."""

    def __init__(self, folder: Path) -> None:
        self.design: Design = load_design(folder)
        self.database: Database = open_database(folder)
        self.clock = Clock()
        self.people = TakingPart(self.design, self.database, self.clock)
        self._keys = 0

    def invite(self, count: int) -> list[str]:
        """Names of new people."""
        return [person for person, _ in invite(self.database, Signer("k" * 40), count)]

    def send(self, person: str, step: str, content: object, seconds: float = 2.0) -> Stand:
        """An answer with a key of its own."""
        self._keys += 1
        return self.people.answer(person, step, f"key-{self._keys:06d}", seconds, content)[0]

    def start(self, person: str) -> Stand:
        """Agree and read the instructions."""
        self.send(person, "|consent|1", {"agreed": True})
        stand = self.people.stand(person)
        return stand if stand.now.end else self.send(person, "|instructions|1", {})

    def rate(self, person: str, times: int = 1) -> Stand:
        """Rate so many items, whichever come next."""
        stand = self.people.stand(person)
        for _ in range(times):
            stand = self.send(person, stand.now.id, {"rating": 5})
        return stand

    def rows(self) -> list[tuple[object, object]]:
        """Who counts for which sample."""
        exported = export_tables(self.design, self.database).tables["goodness"]
        return [(row["sample_id"], row["annotator_id"]) for row in exported]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    made = Study(plain_study(tmp_path / "study", seats=1))
    yield made
    made.database.close()


def test_pages_come_in_order_and_a_new_visit_goes_on_at_the_same_page(study: Study) -> None:
    (ann,) = study.invite(1)
    assert study.people.stand(ann).now.id == "|consent|1"
    assert study.start(ann).now.id == "i0|goodness|1"
    assert study.rate(ann).now.id == "i1|goodness|1"
    assert TakingPart(study.design, study.database).stand(ann).now.id == "i1|goodness|1"
    end = study.rate(ann, 2)
    assert end.now.end == "done" and (end.done, end.of) == (3, 3)


def test_who_does_not_agree_takes_no_place(study: Study) -> None:
    ann, bob = study.invite(2)
    assert study.send(ann, "|consent|1", {"agreed": False}).now.end == "declined"
    assert study.people.stand(ann).now.end == "declined"
    assert study.start(bob).now.step is not None


def test_an_idle_place_is_given_again_and_what_was_finished_counts(study: Study) -> None:
    ann, bob = study.invite(2)
    study.start(ann)
    study.rate(ann)
    assert study.start(bob).now.end == "full"
    study.clock.pass_hours(23)
    assert study.people.stand(bob).now.end == "full"
    study.clock.pass_hours(2)
    assert study.people.stand(ann).now.id == "i1|goodness|1"  # nobody wanted it; it is hers again
    study.clock.pass_hours(25)
    stand = study.people.stand(bob)
    assert stand.now.id == "|instructions|1"
    stand = study.send(bob, "|instructions|1", {})
    assert stand.now.id == "i1|goodness|1" and stand.of == 2
    with pytest.raises(RefusedError) as late:
        study.send(ann, "i1|goodness|1", {"rating": 1})
    assert late.value.problem == "place_lost"
    assert study.people.stand(ann).now.end == "full"
    study.rate(bob, 2)
    assert study.rows() == sorted(
        [("made/0/plain/none", ann), ("made/1/plain/none", bob), ("made/2/plain/none", bob)],
        key=lambda row: (row[1], row[0]),
    )


def test_nobody_does_an_item_twice_even_on_another_seat(tmp_path: Path) -> None:
    study = Study(plain_study(tmp_path / "study", seats=2))
    ann, bob, eve = study.invite(3)
    study.start(ann)
    study.rate(ann)
    study.start(bob)
    study.clock.pass_hours(25)
    study.people.stand(bob)
    assert study.start(eve).now.step is not None  # takes Ann's seat, for Bob has just come
    study.clock.pass_hours(25)
    stand = study.people.stand(ann)  # takes Bob's or Eve's
    assert stand.now.id == "i1|goodness|1"
    assert study.rate(ann, 2).now.end == "done"
    both = study.rows()
    assert len(set(both)) == len(both)
    study.database.close()


def test_a_finished_place_never_expires(study: Study) -> None:
    ann, bob = study.invite(2)
    study.start(ann)
    study.rate(ann, 3)
    study.clock.pass_hours(1000)
    assert study.start(bob).now.end == "full"
    assert study.people.stand(ann).now.end == "done"


def test_an_unfinished_participant_of_one_condition_counts_not_at_all(tmp_path: Path) -> None:
    study = Study(prediction_study(tmp_path / "study", participants=1))
    ann, bob = study.invite(2)
    for person in (ann, bob):
        study.send(person, "|consent|1", {"agreed": True})
        study.clock.pass_hours(25)
        stand = study.people.stand(person)
        if stand.now.end is None:
            study.send(person, stand.now.id, {"age": None, "sex": None, "country": None})
            study.send(person, "|instructions|1", {})
            study.send(person, study.people.stand(person).now.id, practice(study, True))
    tables = export_tables(study.design, study.database).tables
    assert not tables["participants"] and not tables["trials"]
    study.database.close()


def test_who_fails_the_practice_three_times_is_sent_away_and_the_place_is_free(
    tmp_path: Path,
) -> None:
    study = Study(prediction_study(tmp_path / "study", participants=1))
    ann, bob = study.invite(2)
    study.send(ann, "|consent|1", {"agreed": True})
    study.send(ann, "|demographics|1", {"age": 40, "sex": None, "country": None})
    stand = study.send(ann, "|instructions|1", {})
    for attempt in (1, 2, 3):
        assert (stand.now.attempt, stand.now.wrong) == (attempt, None if attempt == 1 else 5)
        stand = study.send(ann, stand.now.id, practice(study, False))
    assert stand.now.end == "ended" and study.people.stand(ann).now.end == "ended"
    study.send(bob, "|consent|1", {"agreed": True})
    assert study.people.stand(bob).now.end is None
    tables = export_tables(study.design, study.database).tables
    (gone,) = tables["participants"]
    assert gone["practice_tries"] == 3 and gone["practice_passed"] is False
    assert {row["phase"] for row in tables["trials"]} == {"practice"}
    screening = overview(study.design, study.database, study.clock())["screening"]
    assert screening == [{"stage": "practice", "in": 1, "out": 1}]
    study.database.close()


def practice(study: Study, right: bool) -> dict[str, str]:
    """Answers to the practice, all right or all wrong."""
    step = study.design.items["p0001"].steps[0]
    other = {"husky": "wolf", "wolf": "husky"}
    expected = step.expected or {}
    return {name: answer if right else other[answer] for name, answer in expected.items()}


def test_the_reservoir_holds_the_examples_of_the_session_and_tests_show_no_explanation(
    tmp_path: Path,
) -> None:
    design = load_design(prediction_study(tmp_path / "study", participants=2))
    for item in design.items.values():
        trials = [step for step in item.steps if step.kind in ("training", "choice")]
        assert len(trials) == 3 * (5 + 7 + 1)
        for step in trials:
            page = design.page(step.page, lambda name: name)
            seen = page["reservoir"]
            if step.kind == "training":
                assert len(seen) == page["number"] - 1 and page["example"]["shown"]
                continue
            assert len(seen) == 5 and set(page) == {
                "session", "number", "of", "reservoir", "picture", "classes",
            }  # fmt: skip
            images = [one["picture"]["src"] for one in seen]
            assert (page["picture"]["src"] in images) == (step.about["phase"] == "catch")


def test_the_overview_says_who_to_look_at(tmp_path: Path) -> None:
    study = Study(plain_study(tmp_path / "study", seats=4, items=20))
    people = study.invite(4)
    for place, person in enumerate(people):
        stand = study.start(person)
        while stand.now.end is None:
            rating = (
                7 if place == 0 else 1 + len(stand.now.id + str(stand.done)) % 3 + stand.done % 5
            )
            stand = study.send(person, stand.now.id, {"rating": rating}, 1.0 if place == 1 else 9.0)
        study.clock.pass_hours(1)
    found = overview(study.design, study.database, study.clock())
    flags = {one["person"]: one["flags"] for one in found["persons"]}
    assert flags == dict(zip(people, [["straight-lining"], ["fast"], [], []], strict=True))
    assert found["places"] == {"all": 4, "taken": 4, "finished": 4, "expired": 0}
    assert found["people"]["finished"] == 4 and found["people"]["active"] == 0
    assert all(one["answered"] == one["wanted"] == 4 for one in found["items"])
    study.database.close()


def test_the_expected_end_follows_from_the_speed_so_far(study: Study) -> None:
    (ann,) = study.invite(1)
    study.start(ann)
    study.clock.pass_hours(1)
    study.rate(ann)
    now = study.clock()
    found = overview(study.design, study.database, now)["expected_end"]
    assert found == (now + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_page_that_the_study_no_longer_has_is_left_out_of_exports(study: Study) -> None:
    (ann,) = study.invite(1)
    study.start(ann)
    study.rate(ann, 3)
    smaller = replace(study.design, items={"i0": study.design.items["i0"]})
    rows = export_tables(smaller, study.database).tables["goodness"]
    assert [row["sample_id"] for row in rows] == ["made/0/plain/none"]
