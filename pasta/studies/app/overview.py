"""Numbers for who runs the study: progress, speed, who to look at, and every answer again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from statistics import median
from typing import Any

import sqlalchemy as sa

from pasta.studies.app.database import (
    EVENTS,
    HOLDINGS,
    PEOPLE,
    PLACES,
    Database,
    parse_stamp,
    stamp,
)
from pasta.studies.app.design import Design, Json
from pasta.studies.app.exporting import Given, given_answers
from pasta.studies.app.taking_part import step_id

ENOUGH = 10  # values from which a habit can be seen
STRAIGHT = 0.9  # share of the most frequent value from which somebody is looked at
IN_A_ROW = 15
FAST = 0.33  # of everybody's median time
_SHORTEST = timedelta(minutes=1)  # of a study before its end can be guessed

Row = Any  # of a query


def overview(design: Design, database: Database, moment: datetime) -> Json:
    """The dashboard's numbers as they are now."""
    with database.reading() as connection:
        people = list(connection.scalars(sa.select(PEOPLE.c.person)))
        events: dict[str, set[str]] = {}
        for person, kind in connection.execute(sa.select(EVENTS.c.person, EVENTS.c.kind)):
            events.setdefault(person, set()).add(kind)
        holdings = {row.person: row for row in connection.execute(sa.select(HOLDINGS))}
        places = connection.execute(sa.select(PLACES)).all()
        answers = given_answers(design, connection)
    limit = stamp(moment - timedelta(hours=design.settings.expires_hours))
    persons = [
        _person(design, person, answers[person], events.get(person, set()), holdings.get(person))
        for person in people
        if person in answers
    ]
    _add_flags(persons)
    taken = list(holdings.values())
    finished = [row for row in taken if row.finished_at is not None]
    expired = [row for row in taken if row.finished_at is None and row.seen_at < limit]
    done = Counter(row.item for row in places)
    counts = {kind: sum(kind in one for one in events.values()) for kind in _KINDS}
    return {
        "study": {"kind": design.settings.kind, "title": design.settings.title},
        "answers": sum(map(len, answers.values())),
        "people": {
            "invited": len(people),
            "started": len(answers),
            "active": len(taken) - len(finished) - len(expired),
            **counts,
        },
        "places": {
            "all": len(design.seats),
            "taken": len(taken),
            "finished": len(finished),
            "expired": len(expired),
        },
        "expected_end": expected_end(design, answers, places, moment),
        "conditions": _conditions(design, [row.seat for row in taken], finished),
        "items": [
            {"id": name, "wanted": wanted, "answered": done.get(item, 0)}
            for item, wanted in design.wanted.items()
            if (name := _name(design, item)) is not None
        ],
        "persons": persons,
        "screening": _screening(persons),
    }


_IDS = ("sample_id", "image_id", "text_id")
_KINDS = ("finished", "withdrawn", "ended", "declined")
_STATES = ("withdrawn", "ended", "declined", "finished", "lost")  # the one that counts first


def expected_end(
    design: Design, answers: Mapping[str, Sequence[Given]], places: Sequence[Row], moment: datetime
) -> str | None:
    """When the last place will be filled if people go on as they have so far."""
    wanted, done = sum(design.wanted.values()), len(places)
    times = [row.at for own in answers.values() for row in own]
    if not times or not done:
        return None
    if done >= wanted:
        return str(max(times))
    start = parse_stamp(min(times))
    passed = max(moment - start, _SHORTEST)
    return stamp(moment + passed * ((wanted - done) / done))


def replay(design: Design, database: Database, person: str) -> Json | None:
    """Every answer of a person with its page, in order; None if there is nobody of this name."""
    with database.reading() as connection:
        known = sa.select(PEOPLE.c.person).where(PEOPLE.c.person == person)
        if connection.scalar(known) is None:
            return None
        answers = given_answers(design, connection, person).get(person, [])

    def address(name: str) -> str:
        return f"/admin/pictures/{name}"

    shown = [
        {
            "at": one.at,
            "seconds": one.seconds,
            "step": {
                "id": step_id(one.item, one.step.id, one.attempt),
                "kind": one.step.kind,
                **design.page(one.step.page, address),
            },
            "answer": one.answer,
            "expected": None if one.step.kind == "consent" else one.step.expected,
            "about": one.step.about,
        }
        for one in answers
    ]
    return {"person": person, "answers": shown}


def _person(
    design: Design, person: str, answers: Sequence[Given], kinds: set[str], holding: Row | None
) -> Json:
    seats = {seat.number: seat for seat in design.seats}
    number = holding.seat if holding is not None else max(one.seat for one in answers)
    seat = seats.get(number)
    own = [one for one in answers if one.item]
    seconds = [one.seconds for one in own if one.seconds is not None]
    values = habits(own)
    states = [kind for kind in _STATES if kind in kinds]
    return {
        "person": person,
        "condition": "" if seat is None else seat.condition,
        "state": "active" if holding is not None and not states else (states or ["waiting"])[0],
        "done": len({(one.item, one.step.id) for one in own}),
        "of": 0 if seat is None else design.steps_of(seat),
        "median_seconds": round(median(seconds), 1) if seconds else None,
        "last_at": answers[-1].at,
        "straight_lining": None if len(values) < ENOUGH else round(most_frequent(values), 3),
        "same_in_a_row": longest_run(values),
        "checks": _checks(answers),
        "catch": _catch(own),
        "flags": [],
    }


def habits(answers: Sequence[Given]) -> list[object]:
    """The stars, ratings and choices of some answers, one after the other."""
    return [
        one.answer[name]
        for one in answers
        if one.step.kind != "check"
        for name, field in one.step.fields.items()
        if field["type"] in ("whole", "choice") and one.answer.get(name) is not None
    ]


def most_frequent(values: Sequence[object]) -> float:
    """The share of the most frequent value.

    >>> most_frequent([3, 3, 3, 5])
    0.75
    """
    return Counter(values).most_common(1)[0][1] / len(values) if values else 0.0


def longest_run(values: Sequence[object]) -> int:
    """How often the same value was given one after the other.

    >>> longest_run([1, 2, 2, 2, 1])
    3
    """
    return max((len(list(same)) for _, same in groupby(values)), default=0)


def _checks(answers: Sequence[Given]) -> list[Json]:
    tries: dict[str, list[int | None]] = {}
    for one in answers:
        if one.step.kind == "check":
            tries.setdefault(one.step.id, []).append(one.wrong)
    return [
        {"id": name, "tries": len(wrong), "passed": wrong[-1] == 0, "first": wrong[0] == 0}
        for name, wrong in tries.items()
    ]


def _catch(answers: Sequence[Given]) -> Json | None:
    caught = [
        one.answer.get("class") == one.step.about.get("shown")
        for one in answers
        if one.step.about.get("phase") == "catch"
    ]
    return {"right": sum(caught), "of": len(caught)} if caught else None


def _add_flags(persons: Sequence[Json]) -> None:
    """Mark those to look at; people are compared with each other."""
    speeds = [one["median_seconds"] for one in persons if one["median_seconds"] is not None]
    usual = median(speeds) if len(speeds) >= 3 else None
    for one in persons:
        flags = one["flags"]
        if usual and one["median_seconds"] is not None and one["median_seconds"] < FAST * usual:
            flags.append("fast")
        if (one["straight_lining"] or 0) >= STRAIGHT or one["same_in_a_row"] >= IN_A_ROW:
            flags.append("straight-lining")
        if any(not check["first"] for check in one["checks"]):
            flags.append("failed a check")
        if one["catch"] is not None and one["catch"]["right"] < one["catch"]["of"]:
            flags.append("failed a catch trial")


def _screening(persons: Sequence[Json]) -> list[Json]:
    """The flow through the checks: how many came to each, and how many failed it.

    A check counts at the first try, and one wrong catch trial is enough; who failed at one stage is
    not counted at the next, as in the screening of the study. Nor is who has withdrawn.
    """
    stages: dict[str, list[bool]] = {}
    for one in persons:
        if one["state"] == "withdrawn":
            continue
        passed = {check["id"]: check["first"] for check in one["checks"]}
        if one["catch"] is not None:
            passed["catch"] = one["catch"]["right"] == one["catch"]["of"]
        for stage, well in passed.items():
            stages.setdefault(stage, []).append(well)
            if not well:
                break
    return [
        {"stage": name, "in": len(passed), "out": len(passed) - sum(passed)}
        for name, passed in stages.items()
    ]


def _conditions(design: Design, taken: Sequence[int], finished: Sequence[Row]) -> list[Json]:
    conditions = {seat.number: seat.condition for seat in design.seats}
    places = Counter(conditions.values())
    now_taken = Counter(conditions.get(number, "") for number in taken)
    now_finished = Counter(conditions.get(row.seat, "") for row in finished)
    return [
        {
            "name": name,
            "places": number,
            "taken": now_taken.get(name, 0),
            "finished": now_finished.get(name, 0),
        }
        for name, number in places.items()
    ]


def _name(design: Design, item: str) -> str | None:
    """What an item is about, in the words of the study; None for what is asked once a seat."""
    about = design.items[item].steps[0].about
    return next((str(about[key]) for key in _IDS if key in about and "phase" not in about), None)
