"""What travels between the parts of a rating study.

A file is read into a :class:`Submission`: text as it was found, each row with its place. Checking
turns it into :class:`Annotations`, typed and checked, or into a list of :class:`Finding`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from pasta import tables
from pasta.contracts import Table

PARTS: Mapping[str, Table] = {
    table.name: table
    for table in (
        tables.VOTES,
        tables.ANNOTATORS,
        tables.DESCRIPTIONS,
        tables.BOXES,
        tables.RANKED,
        tables.SHOWN,
    )
}

_LONGEST = 80  # value in a message


@dataclass(frozen=True)
class Finding:
    """Something wrong with a submission, and what to do about it.

    Findings of the same ``problem`` are shown together and counted.
    """

    problem: str  # in general words, the same for all findings of its sort
    fix: str  # what the user can do
    table: str = "votes"
    place: str | None = None  # line, entry or task, in the words of the file's format
    column: str | None = None
    found: str | None = None


def place(value: object) -> str:
    """Where a row stood: lines are numbers, other places are words already."""
    return value if isinstance(value, str) else f"line {value}"


def quoted(value: object) -> str:
    """A value in a message, never long."""
    text = repr(value) if value != "" else "nothing"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]}...'"


@dataclass(frozen=True)
class Submission:
    """What a file says, before it is checked.

    ``tables`` holds, by the name of the table, frames with the table's columns as text, ``""``
    where nothing was given, optional columns left out. The index of each frame is ``place``: the
    line of a CSV file as an integer, or words such as ``"entry 12, Annotation 3"``.
    """

    source: str  # name of the file
    format: str
    tables: Mapping[str, pd.DataFrame]
    findings: tuple[Finding, ...] = ()  # what the reader itself could not accept
    protocol: str | None = None  # version that the file claims to follow
    dropped: Mapping[str, int] = field(default_factory=dict)  # rightly left out, by reason


@dataclass(frozen=True)
class Annotations:
    """Typed tables of a study, each as its contract in :mod:`pasta.tables` says."""

    votes: pd.DataFrame
    annotators: pd.DataFrame
    descriptions: pd.DataFrame
    boxes: pd.DataFrame
    rankings: pd.DataFrame
    shown: pd.DataFrame

    @classmethod
    def of(cls, parts: Mapping[str, pd.DataFrame]) -> Annotations:
        """From some of the tables; the others are empty."""
        return cls(**{name: parts.get(name, table.frame([])) for name, table in PARTS.items()})

    def parts(self) -> dict[str, pd.DataFrame]:
        """The tables by name."""
        return {name: getattr(self, name) for name in PARTS}
