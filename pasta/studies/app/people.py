"""Inviting people: personal links, or one public link that only so many can use."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from pasta.errors import PastaError
from pasta.studies.app.access import Signer
from pasta.studies.app.database import LINKS, PEOPLE, Database, now, stamp

_INVITED = "invited"  # the list of those with a personal link
_LONGEST_NAME = 40


def invite(database: Database, signer: Signer, count: int) -> list[tuple[str, str]]:
    """Invite so many more people; returns each one's name and token."""
    if count < 1:
        raise PastaError(f"cannot invite {count} people")

    def change(connection: sa.Connection) -> list[str]:
        first = 1 + _highest_slot(connection, _INVITED)
        return [_add(connection, _INVITED, slot) for slot in range(first, first + count)]

    people = database.write(change)
    return [(person, signer.sign("person", person)) for person in people]


def open_link(database: Database, signer: Signer, name: str, cap: int) -> str:
    """Make a public link that at most ``cap`` people can use, or give it another cap."""
    if cap < 1:
        raise PastaError(f"a link for {cap} people is of no use")
    if not name or len(name) > _LONGEST_NAME or name == _INVITED:
        raise PastaError(f"a link cannot be called {name!r}")

    def change(connection: sa.Connection) -> None:
        known = connection.execute(LINKS.update().where(LINKS.c.link == name).values(cap=cap))
        if not known.rowcount:
            connection.execute(LINKS.insert().values(link=name, cap=cap, at=stamp(now())))

    database.write(change)
    return signer.sign("link", name)


def join(database: Database, link: str) -> str | None:
    """A new person by a public link; None if so many have come already."""

    def change(connection: sa.Connection) -> str | None:
        cap = connection.scalar(sa.select(LINKS.c.cap).where(LINKS.c.link == link))
        slot = 1 + _highest_slot(connection, link)
        return _add(connection, link, slot) if cap is not None and slot <= cap else None

    return database.write(change)


def _add(connection: sa.Connection, link: str, slot: int) -> str:
    """Add somebody at a number of a link; the database refuses a number that is taken."""
    person = f"p{secrets.token_hex(5)}"
    values = {"person": person, "link": link, "slot": slot, "at": stamp(now())}
    connection.execute(PEOPLE.insert().values(values))
    return person


def _highest_slot(connection: sa.Connection, link: str) -> int:
    highest = sa.select(sa.func.max(PEOPLE.c.slot)).where(PEOPLE.c.link == link)
    return int(connection.scalar(highest) or 0)
