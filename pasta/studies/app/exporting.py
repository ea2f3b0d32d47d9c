"""Out of the database: the tables of a study as CSV files, as its importer takes them.

Only what counts is exported: answers of people who have not withdrawn, to items that they have
answered as a whole. ``python -m pasta.studies.app.exporting FOLDER`` writes an export beside the
earlier ones; the server does this every hour, in a process of its own.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, cast

import sqlalchemy as sa

from pasta.errors import PastaError
from pasta.registry import did_you_mean
from pasta.studies.app.database import ANSWERS, EVENTS, PEOPLE, PLACES, Database, now, open_database
from pasta.studies.app.design import EXPORTS, Design, Json, Settings, Step, load_design

URL = "PASTA_STUDY_DATABASE"  # the address of a database, for processes that the server starts
STUDY = "study.json"  # which version of the protocol answers follow
KINDS = ("attention", "prediction", "ratings")
_KEPT = 48  # exports of the server

Rows = list[dict[str, object]]


@dataclass(frozen=True)
class Given:
    """One answer that counts."""

    person: str
    seat: int
    item: str
    step: Step
    attempt: int
    answer: Json
    wrong: int | None
    seconds: float | None
    at: str


@dataclass(frozen=True)
class Person:
    """Somebody whose answers count."""

    name: str
    condition: str  # of the seat that the person sat on last; empty where there are none
    age: int | None = None
    sex: str | None = None
    country: str | None = None
    ended: bool = False  # could not go on after a check
    answers: tuple[Given, ...] = ()  # to items that count, in the order of time
    checks: tuple[Given, ...] = ()  # every attempt of every step that has a right answer


class Hook(Protocol):
    """What a study says about itself: the module ``app`` in its package."""

    def tables(self, people: Sequence[Person]) -> Mapping[str, Rows]:
        """The tables of the study by name, as rows with the columns of the tables."""
        ...


@dataclass(frozen=True)
class Exported:
    """What an export holds: the tables by name, and who is in it."""

    tables: Mapping[str, Rows]
    people: tuple[str, ...]
    withdrawn: tuple[str, ...] = ()
    settings: Settings | None = field(default=None, repr=False)


def hook_of(kind: str) -> Hook:
    """The module ``app`` of a study."""
    if kind not in KINDS:
        raise PastaError(f"there is no study {kind!r}. {did_you_mean(kind, list(KINDS))}")
    return cast(Hook, importlib.import_module(f"pasta.studies.{kind}.app"))


def export_tables(design: Design, database: Database) -> Exported:
    """The tables of a study as they are now."""
    with database.reading() as connection:
        people, withdrawn = counting_people(design, connection)
    tables = hook_of(design.settings.kind).tables(people)
    names = tuple(one.name for one in people)
    return Exported(tables, names, withdrawn, design.settings)


def counting_people(
    design: Design, connection: sa.Connection
) -> tuple[list[Person], tuple[str, ...]]:
    """Everybody with an answer that counts or who was sent away by a check; and who withdrew."""
    events: dict[str, set[str]] = {}
    seats: dict[str, int] = {}
    for person, kind, seat in connection.execute(
        sa.select(EVENTS.c.person, EVENTS.c.kind, EVENTS.c.seat).order_by(EVENTS.c.id)
    ):
        events.setdefault(person, set()).add(kind)
        if kind == "took":
            seats[person] = seat
    withdrawn = {person for person, kinds in events.items() if "withdrawn" in kinds}
    counted = {
        (item, person): seat
        for item, seat, person in connection.execute(
            sa.select(PLACES.c.item, PLACES.c.seat, PLACES.c.person)
        )
        if person not in withdrawn
    }
    answers = given_answers(design, connection)
    conditions = {seat.number: seat.condition for seat in design.seats}
    found = []
    for person in connection.scalars(sa.select(PEOPLE.c.person).order_by(PEOPLE.c.person)):
        own = answers.get(person, [])
        counts = tuple(one for one in own if counted.get((one.item, person)) == one.seat)
        ended = "ended" in events.get(person, ())
        if person in withdrawn or not (counts or ended):
            continue
        stated = next((one.answer for one in own if one.step.kind == "demographics"), {})
        found.append(
            Person(
                person,
                conditions.get(seats.get(person, 0), ""),
                **{name: stated.get(name) for name in ("age", "sex", "country")},
                ended=ended,
                answers=counts,
                checks=tuple(one for one in own if one.step.kind == "check"),
            )
        )
    return found, tuple(sorted(withdrawn))


def given_answers(
    design: Design, connection: sa.Connection, person: str | None = None
) -> dict[str, list[Given]]:
    """Every answer to a step that the study still has, by person; of one person if named."""
    rows = sa.select(ANSWERS).order_by(ANSWERS.c.id)
    found: dict[str, list[Given]] = {}
    for row in connection.execute(rows if person is None else rows.filter_by(person=person)):
        step = design.steps.get((row.item, row.step))
        if step is not None:
            given = Given(
                row.person,
                row.seat,
                row.item,
                step,
                row.attempt,
                json.loads(row.answer),
                row.wrong,
                row.seconds,
                row.at,
            )
            found.setdefault(row.person, []).append(given)
    return found


def write_export(exported: Exported, out: Path) -> None:
    """Write a new folder with a CSV file for each table that has rows; whole or not at all."""
    if out.exists():
        raise PastaError(f"{out}: exists already; choose another place or remove it")
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    temporary.mkdir(parents=True)
    try:
        for name, rows in exported.tables.items():
            if rows:
                _write(temporary / f"{name}.csv", csv_text(rows))
        if exported.settings is not None and exported.settings.protocol:
            about = json.dumps({"protocol": exported.settings.protocol}, indent=2) + "\n"
            _write(temporary / STUDY, about)
        temporary.rename(out)
    except OSError as error:
        raise PastaError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def csv_text(rows: Rows) -> str:
    """Rows as CSV: minimal quotes, plain line ends, nothing for what is missing.

    >>> print(csv_text([{"name": "a, b", "age": None, "simulated": False}]), end="")
    name,age,simulated
    "a, b",,false
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def next_export(design: Design, database: Database, moment: datetime) -> Path | None:
    """Leave an export in the study's folder, and no more than the newest of them; None if empty."""
    exported = export_tables(design, database)
    if not any(exported.tables.values()):
        return None
    folder = design.folder / EXPORTS
    out = folder / moment.strftime("%Y-%m-%dT%H%M%SZ")
    if not out.exists():
        write_export(exported, out)
    for old in sorted(one for one in folder.iterdir() if one.is_dir())[:-_KEPT]:
        shutil.rmtree(old)
    return out


def main() -> None:
    """Write an export of the study in the folder that is named."""
    folder = Path(sys.argv[1])
    database = open_database(folder, os.environ.get(URL))
    try:
        next_export(load_design(folder), database, now())
    finally:
        database.close()


if __name__ == "__main__":
    main()
