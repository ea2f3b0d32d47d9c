"""Taking part: one state machine for every kind of study.

Where a person stands follows from what is stored: the answers, the seat, and which items of the
seat count already. So a closed tab, a killed server and the back button all lead to the same page.

After consent a person gets a seat. Who does not use it for a while loses it when somebody else
needs one; the items that were finished count, and the next person does the others.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Literal

import sqlalchemy as sa

from pasta.errors import PastaError
from pasta.studies.app.database import (
    ANSWERS,
    EVENTS,
    HOLDINGS,
    PEOPLE,
    PLACES,
    Database,
    now,
    stamp,
)
from pasta.studies.app.design import Design, Seat, Step
from pasta.studies.app.fields import check_answer

_RECENT = 30  # answers that a person's speed is taken from
_RENEWALS = 8  # a lease is renewed on reading when this part of it has passed

Json = dict[str, Any]
End = Literal["done", "declined", "withdrawn", "full", "ended"]
Problem = Literal["already_answered", "other_step", "place_lost", "not_found"]

# What a request reads of a person, and the renewal of a lease: made once, for every answer asks.
_WHO: sa.BindParameter[str] = sa.bindparam("who")
_KNOWN = sa.select(PEOPLE.c.person).where(PEOPLE.c.person == _WHO)
_HELD = sa.select(HOLDINGS.c.seat, HOLDINGS.c.seen_at).where(HOLDINGS.c.person == _WHO)
_HAPPENED = sa.select(EVENTS.c.kind).where(EVENTS.c.person == _WHO)
_ANSWERED = (
    sa.select(
        ANSWERS.c.item,
        ANSWERS.c.step,
        ANSWERS.c.attempt,
        ANSWERS.c.wrong,
        ANSWERS.c.key,
        ANSWERS.c.seconds,
    )
    .where(ANSWERS.c.person == _WHO)
    .order_by(ANSWERS.c.id)
)
_COUNTED = sa.select(PLACES.c.item, PLACES.c.seat, PLACES.c.person).where(
    sa.or_(PLACES.c.person == _WHO, PLACES.c.seat == sa.bindparam("of_seat"))
)
_RENEW = HOLDINGS.update().where(HOLDINGS.c.person == _WHO).values(seen_at=sa.bindparam("seen_now"))

_FOR_GOOD: tuple[End, ...] = ("withdrawn", "ended", "declined")  # whatever else is stored


class RefusedError(PastaError):
    """An answer that comes too late, twice, or to another page; nothing was stored."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


@dataclass(frozen=True)
class Now:
    """The step that a person is at, or how it ended."""

    end: End | None
    step: Step | None = None
    item: str = ""
    attempt: int = 1
    wrong: int | None = None  # parts that were wrong in the attempt before

    @property
    def id(self) -> str:
        """What the page says when it sends an answer."""
        if self.step is None:
            return self.end or ""
        return step_id(self.item, self.step.id, self.attempt)

    def is_at(self, item: str, step: Step) -> bool:
        """Whether this is the step of an item."""
        return self.item == item and self.step is step


@dataclass
class Record:
    """What is stored of one person, while a request is answered."""

    person: str
    seat: Seat | None = None
    seen_at: str = ""
    events: set[str] = field(default_factory=set)
    answered: dict[tuple[str, str], tuple[int, int | None]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)  # of steps of the study proper
    counted: dict[str, str] = field(default_factory=dict)  # who counts, by item of the seat
    own: set[str] = field(default_factory=set)  # items that count for this person, in any seat

    def note(self, item: str, step: str, attempt: int, wrong: int | None) -> None:
        """Take an answer into account."""
        if attempt >= self.answered.get((item, step), (0, None))[0]:
            self.answered[item, step] = (attempt, wrong)


@dataclass(frozen=True)
class Stand:
    """Where a person stands, and how far that is."""

    person: str
    now: Now
    done: int
    of: int
    minutes_left: int | None
    following: Step | None = None  # a step that may come next


class TakingPart:
    """The people of one study and their answers."""

    def __init__(
        self, design: Design, database: Database, clock: Callable[[], datetime] = now
    ) -> None:
        self.design, self.database, self.clock = design, database, clock
        self._expiry = timedelta(hours=design.settings.expires_hours)
        self._seats = {seat.number: seat for seat in design.seats}

    def stand(self, person: str) -> Stand:
        """Where a person stands; who has agreed and has no seat gets one if there is any."""
        with self.database.reading() as connection:
            record = self._load(connection, person)
        renew = stamp(self.clock() - self._expiry / _RENEWALS)
        if self._needs_seat(record) or (record.seat is not None and record.seen_at < renew):
            record = self.database.write(lambda connection: self._arrive(connection, person))
        return self._stand(record)

    def answer(
        self, person: str, step: str, key: str, seconds: float | None, content: object
    ) -> tuple[Stand, bool]:
        """Store an answer; returns where the person stands then, and whether it was known already.

        Raises
        ------
        InvalidAnswerError
            If the answer is not what the step asks for.
        RefusedError
            If it is too late, or belongs to another page.
        """
        item, name, attempt = read_step_id(step)
        known = self.design.steps.get((item, name))
        checked = {} if known is None else check_answer(known.fields, content)

        def change(connection: sa.Connection) -> tuple[Record, bool]:
            record = self._load(connection, person, lock=True)
            if key in record.keys:
                return record, True
            current = self._now(record)
            if current.step is None or current.id != step:
                raise RefusedError(self._why(record, current, item, name, attempt))
            wrong = current.step.wrong(checked)
            row = {
                "person": person,
                "seat": 0 if not item or record.seat is None else record.seat.number,
                "item": item,
                "step": name,
                "attempt": attempt,
                "key": key,
                "answer": json.dumps(checked, ensure_ascii=False),
                "wrong": wrong,
                "seconds": seconds,
                "at": stamp(self.clock()),
            }
            connection.execute(ANSWERS.insert(), row)
            record.note(item, name, attempt, wrong)
            if item and seconds is not None:
                record.seconds.append(seconds)
            self._follow(connection, record, item)
            return record, False

        record, repeated = self.database.write(change)
        return self._stand(record), repeated

    def withdraw(self, person: str) -> Stand:
        """Take consent back: the person's answers are in no later export, the places are free."""

        def change(connection: sa.Connection) -> Record:
            record = self._load(connection, person, lock=True)
            if "withdrawn" not in record.events:
                self._event(connection, record, "withdrawn")
                connection.execute(PLACES.delete().where(PLACES.c.person == person))
                self._release(connection, record)
            return record

        return self._stand(self.database.write(change))

    # Steps

    def _now(self, record: Record) -> Now:
        for end in _FOR_GOOD:
            if end in record.events:
                return Now(end)
        for step in self.design.intro:
            found = _at(record, "", step)
            if found is not None:
                return found
            if step.kind == "consent" and "finished" in record.events:
                return Now("done")
            if step.kind == "consent" and record.seat is None:
                return Now("full")
        for item in self._open(record):
            for step in self.design.items[item].steps:
                found = _at(record, item, step)
                if found is not None:
                    return found
        return Now("done")

    def _open(self, record: Record) -> Iterator[str]:
        """The items of the person's seat that nobody has done, nor this person elsewhere."""
        for item in record.seat.items if record.seat else ():
            if item not in record.counted and item not in record.own:
                yield item

    def _why(self, record: Record, current: Now, item: str, step: str, attempt: int) -> Problem:
        """Why an answer to a step is refused."""
        if attempt <= record.answered.get((item, step), (0, None))[0]:
            return "already_answered"
        if item and current.end not in ("withdrawn", "ended", "declined"):
            lost = record.seat is None or item not in record.seat.items
            if lost or record.counted.get(item, record.person) != record.person:
                return "place_lost"
        return "other_step"

    def _stand(self, record: Record) -> Stand:
        current = self._now(record)
        done, left, following = 0, 0, None
        for item in record.seat.items if record.seat else ():
            steps = self.design.items[item].steps
            if item in record.own:
                done += len(steps)
            elif item not in record.counted:  # by somebody else
                for step in steps:
                    if (item, step.id) in record.answered and _at(record, item, step) is None:
                        done += 1
                        continue
                    left += 1
                    if following is None and not current.is_at(item, step):
                        following = step
        minutes = None
        if len(record.seconds) >= 3 and left:
            minutes = max(1, round(median(record.seconds[-_RECENT:]) * left / 60))
        return Stand(record.person, current, done, done + left, minutes, following)

    # Storage

    def _load(self, connection: sa.Connection, person: str, lock: bool = False) -> Record:
        who = {"who": person}
        # One change of a person's record at a time; SQLite has only one anyway.
        known, held = (
            connection.execute(query.with_for_update() if lock else query, who).first()
            for query in (_KNOWN, _HELD)
        )
        if known is None:
            raise RefusedError("not_found")
        record = Record(person)
        if held is not None:
            record.seat, record.seen_at = self._seats.get(held.seat), held.seen_at
        record.events = set(connection.scalars(_HAPPENED, who))
        for item, step, attempt, wrong, key, seconds in connection.execute(_ANSWERED, who):
            record.note(item, step, attempt, wrong)
            record.keys.add(key)
            if item and seconds is not None:
                record.seconds.append(seconds)
        number = None if record.seat is None else record.seat.number
        for item, seat, whose in connection.execute(_COUNTED, {**who, "of_seat": number}):
            if seat == number:
                record.counted[item] = whose
            if whose == person:
                record.own.add(item)
        return record

    def _follow(self, connection: sa.Connection, record: Record, item: str) -> None:
        """What an answer brings about: a seat is taken, kept, given back or finished."""
        time = stamp(self.clock())
        if item and self._settled(record, item) and record.seat is not None:
            place = {"item": item, "seat": record.seat.number, "person": record.person, "at": time}
            connection.execute(PLACES.insert(), place)
            record.counted[item] = record.person
            record.own.add(item)
        current = self._now(record)
        if current.end == "full":
            self._take(connection, record)
        elif current.end == "done":
            self._finish(connection, record)
        elif current.end in ("ended", "declined"):
            if current.end not in record.events:
                self._event(connection, record, current.end)
            self._release(connection, record)
        elif record.seat is not None:
            self._renew(connection, record, time)

    def _settled(self, record: Record, item: str) -> bool:
        return all(_at(record, item, step) is None for step in self.design.items[item].steps)

    def _finish(self, connection: sa.Connection, record: Record) -> None:
        """Nothing is left for this person; a seat with items that only others can do goes on."""
        if record.seat is None or "finished" in record.events:
            return
        self._event(connection, record, "finished")
        if all(item in record.counted for item in record.seat.items):
            mine = HOLDINGS.c.person == record.person
            time = stamp(self.clock())
            connection.execute(HOLDINGS.update().where(mine).values(seen_at=time, finished_at=time))
        else:
            connection.execute(HOLDINGS.delete().where(HOLDINGS.c.person == record.person))

    def _release(self, connection: sa.Connection, record: Record) -> None:
        connection.execute(HOLDINGS.delete().where(HOLDINGS.c.person == record.person))
        record.seat, record.counted = None, {}

    def _event(self, connection: sa.Connection, record: Record, kind: str) -> None:
        seat = None if record.seat is None else record.seat.number
        values = {"person": record.person, "kind": kind, "seat": seat, "at": stamp(self.clock())}
        connection.execute(EVENTS.insert().values(values))
        record.events.add(kind)

    # Seats

    def _needs_seat(self, record: Record) -> bool:
        return self._now(record).end == "full"

    def _arrive(self, connection: sa.Connection, person: str) -> Record:
        record = self._load(connection, person, lock=True)
        if self._needs_seat(record):
            self._take(connection, record)
        elif record.seat is not None and "finished" not in record.events:
            self._renew(connection, record, stamp(self.clock()))
        return record

    def _renew(self, connection: sa.Connection, record: Record, time: str) -> None:
        connection.execute(_RENEW, {"who": record.person, "seen_now": time})
        record.seen_at = time

    def _take(self, connection: sa.Connection, record: Record) -> None:
        """Take the best seat there is, if any: free before idle, rare conditions first.

        Somebody else may take it at the same moment. Then the database refuses one of the two,
        and that transaction is done again.
        """
        moment = self.clock()
        limit = stamp(moment - self._expiry)
        rows = {row.seat: row for row in connection.execute(sa.select(HOLDINGS))}
        idle = {
            number
            for number, row in rows.items()
            if row.finished_at is None and row.seen_at < limit
        }
        filled: dict[int, set[str]] = {}
        for item, number in connection.execute(sa.select(PLACES.c.item, PLACES.c.seat)):
            filled.setdefault(number, set()).add(item)
        busy = rows.keys() - idle
        taken = Counter(self._seats[one].condition for one in busy if one in self._seats)

        def has_work(seat: Seat) -> bool:
            done = filled.get(seat.number, set()) | record.own
            return seat.number not in busy and any(item not in done for item in seat.items)

        def rank(seat: Seat) -> tuple[bool, int, bytes]:
            chance = hashlib.sha256(f"{record.person} {seat.number}".encode()).digest()
            return seat.number in idle, taken[seat.condition], chance

        best = min(filter(has_work, self.design.seats), key=rank, default=None)
        if best is None:
            return
        if best.number in idle:
            self._expire(connection, best.number, rows[best.number].person, limit)
        time = stamp(moment)
        values = {"seat": best.number, "person": record.person, "taken_at": time, "seen_at": time}
        connection.execute(HOLDINGS.insert().values(values))
        record.seat, record.seen_at = best, time
        counted = sa.select(PLACES.c.item, PLACES.c.person).where(PLACES.c.seat == best.number)
        record.counted = {row.item: row.person for row in connection.execute(counted)}
        self._event(connection, record, "took")

    def _expire(self, connection: sa.Connection, seat: int, person: str, limit: str) -> None:
        still = (HOLDINGS.c.seat == seat) & (HOLDINGS.c.person == person)
        gone = HOLDINGS.delete().where(still & (HOLDINGS.c.seen_at < limit))
        if connection.execute(gone).rowcount:
            values = {"person": person, "kind": "lost", "seat": seat, "at": stamp(self.clock())}
            connection.execute(EVENTS.insert().values(values))


def step_id(item: str, step: str, attempt: int) -> str:
    """The name of a page."""
    return f"{item}|{step}|{attempt}"


def read_step_id(text: str) -> tuple[str, str, int]:
    """Item, step and attempt of a page's name; an unknown one for what is no such name.

    >>> read_step_id("i7|stars|1")
    ('i7', 'stars', 1)
    """
    parts = text.split("|")
    if len(parts) != 3 or not (parts[2].isascii() and parts[2].isdecimal() and len(parts[2]) < 4):
        return "", "", 0
    return parts[0], parts[1], int(parts[2])


def _at(record: Record, item: str, step: Step) -> Now | None:
    """The step if it is still to be answered, or the end if it ended there; None to go on."""
    attempt, wrong = record.answered.get((item, step.id), (0, None))
    if attempt and (step.expected is None or wrong == 0):
        return None
    if attempt >= step.tries:
        if not step.stop:
            return None
        return Now("declined" if step.kind == "consent" else "ended")
    return Now(None, step, item, attempt + 1, wrong)
