"""The database of a study: SQLite in its folder, or PostgreSQL by URL.

What people answered is only ever added. Who holds which seat is a lease and changes; that a seat
has one person, that an item of a seat counts once and that nobody answers an item twice are
constraints of the database, so they hold however many people come at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from pasta.errors import PastaError
from pasta.studies.app.design import DATABASE

_TRIES = 100
_WAIT = 30  # seconds for another process that writes
_WRITES = "pasta_writes"
# PostgreSQL: serialization failure and deadlock; the transaction is tried again.
_AGAIN = ("40001", "40P01")

Result = TypeVar("Result")
METADATA = sa.MetaData()
_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

# Links that many people can use; a personal link needs no row.
LINKS = sa.Table(
    "links",
    METADATA,
    sa.Column("link", sa.Text, primary_key=True),
    sa.Column("cap", sa.Integer, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
)
# Everybody who was invited or came by a public link, each at one of its numbers.
PEOPLE = sa.Table(
    "people",
    METADATA,
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("link", sa.Text, nullable=False),
    sa.Column("slot", sa.Integer, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.UniqueConstraint("link", "slot"),
)
ANSWERS = sa.Table(
    "answers",
    METADATA,
    sa.Column("id", _NUMBER, primary_key=True, autoincrement=True),
    sa.Column("person", sa.Text, sa.ForeignKey("people.person"), nullable=False),
    sa.Column("seat", sa.Integer, nullable=False),  # 0 before a seat is taken
    sa.Column("item", sa.Text, nullable=False),  # empty for the steps before the study proper
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("key", sa.Text, nullable=False),  # made by the page, so that a repetition is known
    sa.Column("answer", sa.Text, nullable=False),  # JSON
    sa.Column("wrong", sa.Integer),
    sa.Column("seconds", sa.Float),
    sa.Column("at", sa.Text, nullable=False),
    sa.UniqueConstraint("person", "item", "step", "attempt"),
    sa.UniqueConstraint("person", "key"),
)
# What happened besides: seats taken, lost and given back, consent withdrawn. Only ever added.
EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("id", _NUMBER, primary_key=True, autoincrement=True),
    sa.Column("person", sa.Text, sa.ForeignKey("people.person"), nullable=False, index=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("seat", sa.Integer),
    sa.Column("at", sa.Text, nullable=False),
)
# Who has which seat now.
HOLDINGS = sa.Table(
    "holdings",
    METADATA,
    sa.Column("seat", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("person", sa.Text, sa.ForeignKey("people.person"), nullable=False, unique=True),
    sa.Column("taken_at", sa.Text, nullable=False),
    sa.Column("seen_at", sa.Text, nullable=False),
    sa.Column("finished_at", sa.Text),
)
# Whose answers count for an item of a seat.
PLACES = sa.Table(
    "places",
    METADATA,
    # The seat first: every request asks for those of one seat.
    sa.Column("seat", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("item", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, sa.ForeignKey("people.person"), nullable=False, index=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.UniqueConstraint("item", "person"),
)


class Database:
    """Reading and writing of one study's answers.

    A transaction that was committed is on the disk: SQLite flushes its log at every commit, and
    PostgreSQL does by default.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"
        # SQLite has one writer; waiting in line is quicker than its polling for the lock.
        self._line = threading.Lock() if self.is_sqlite else nullcontext()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that sees one state of the database."""
        with self.engine.connect() as connection:
            yield connection

    def write(self, change: Callable[[sa.Connection], Result]) -> Result:
        """Make a change in one transaction; where two get in each other's way, try again."""
        for attempt in range(_TRIES):
            try:
                with self._line, self.engine.connect() as connection:
                    writing = connection.execution_options(**{_WRITES: True})
                    with writing.begin():
                        return change(writing)
            except IntegrityError:
                if attempt == _TRIES - 1:
                    raise
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _AGAIN or attempt == _TRIES - 1:
                    raise
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def open_database(folder: Path, url: str | None = None) -> Database:
    """The database of a study's folder, with its tables; ``url`` names one elsewhere."""
    try:
        address = sa.make_url(url or f"sqlite:///{(folder / DATABASE).absolute()}")
    except SQLAlchemyError as error:
        raise PastaError(f"this is no address of a database: {error}") from None
    if address.drivername in ("postgresql", "postgres"):
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() not in ("sqlite", "postgresql"):
        found = address.get_backend_name()
        raise PastaError(f"the database is {found}, expected a postgresql:// or sqlite:/// address")
    try:
        if address.get_backend_name() == "sqlite":
            engine = sa.create_engine(address, connect_args={"timeout": _WAIT}, pool_size=10)
            _prepare_sqlite(engine)
        else:
            engine = sa.create_engine(address, pool_size=10, max_overflow=10, pool_pre_ping=True)
        _create(engine)
    except OperationalError as error:
        shown = address.render_as_string(hide_password=True)
        raise PastaError(f"{shown}: cannot be opened: {error.orig}") from None
    return Database(engine)


def _create(engine: sa.Engine) -> None:
    """Make the tables that are missing; another process may be doing the same."""
    try:
        METADATA.create_all(engine)
    except DBAPIError:
        METADATA.create_all(engine)


def _prepare_sqlite(engine: sa.Engine) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin below
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def now() -> datetime:
    """The time of an answer."""
    return datetime.now(UTC)


def stamp(time: datetime) -> str:
    """A time as it is stored: in UTC, always equally long, so that its order is that of texts."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_stamp(text: str) -> datetime:
    """A stored time."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
