"""What a contract of a table is made of: typed columns, a key, references and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import pandera.pandas as pa

Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]


@dataclass(frozen=True)
class Reference:
    """These columns must be found in the key of another table."""

    columns: tuple[str, ...]
    table: str


@dataclass(frozen=True)
class Rule:
    """A condition over whole rows, named after the column to look at."""

    column: str
    expected: str
    holds: Rows


@dataclass(frozen=True)
class Table:
    """One contract."""

    name: str
    about: str
    key: tuple[str, ...]
    columns: Mapping[str, pa.Column]
    references: tuple[Reference, ...] = ()
    rules: tuple[Rule, ...] = ()

    @cached_property
    def schema(self) -> pa.DataFrameSchema:
        """The pandera schema: exactly these columns in this order, unique in the key."""
        checks = [pa.Check(rule.holds, error=rule.expected) for rule in self.rules]
        return pa.DataFrameSchema(
            dict(self.columns),
            unique=list(self.key) or None,
            report_duplicates="exclude_first",
            strict=True,
            ordered=True,
            checks=checks,
            name=self.name,
        )

    def frame(self, rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
        """Make a frame with the table's columns and types from plain rows."""
        frame = pd.DataFrame(list(rows), columns=list(self.columns))
        for name, column in self.columns.items():
            if str(column.dtype).startswith("datetime"):  # astype cannot add a time zone
                frame[name] = pd.to_datetime(frame[name], utc=True)
        kinds = {
            name: str(column.dtype).replace("string[pyarrow]", "str")
            for name, column in self.columns.items()
        }
        return frame.astype(kinds)


def a_text(expected: str, *checks: pa.Check, nullable: bool = False) -> pa.Column:
    """Words."""
    return pa.Column(str, list(checks), nullable=nullable, description=expected)


def one_of(values: tuple[str, ...]) -> pa.Column:
    """One of a few words."""
    expected = "one of " + ", ".join(values)
    return a_text(expected, pa.Check.isin(values, error=expected))


def a_name(expected: str) -> pa.Column:
    """An identifier that can be a part of a ``sample_id``."""
    return a_text(expected, matching(r"[^/\s]+", expected))


def matching(pattern: str, expected: str) -> pa.Check:
    """Texts of a form; of a million rows each different text is looked at once."""
    form = re.compile(pattern)

    def holds(column: pd.Series[str]) -> pd.Series[bool]:
        return column.isin([text for text in column.drop_duplicates() if form.fullmatch(text)])

    return pa.Check(holds, error=expected)


def a_number(
    expected: str, low: float | None = None, high: float | None = None, nullable: bool = False
) -> pa.Column:
    """A number, perhaps within limits."""
    return pa.Column(float, _between(expected, low, high), nullable=nullable, description=expected)


def a_whole(
    expected: str, low: int | None = None, high: int | None = None, nullable: bool = False
) -> pa.Column:
    """A whole number, perhaps within limits."""
    kind: Any = "Int64" if nullable else "int64"
    return pa.Column(kind, _between(expected, low, high), nullable=nullable, description=expected)


def _between(expected: str, low: float | None, high: float | None) -> list[pa.Check]:
    checks = []
    if low is not None:
        checks.append(pa.Check.ge(low, error=expected))
    if high is not None:
        checks.append(pa.Check.le(high, error=expected))
    return checks


def a_flag(expected: str) -> pa.Column:
    """True or false."""
    return pa.Column(bool, description=expected)


def a_time() -> pa.Column:
    """A time with its zone, or nothing."""
    expected = "a time with its zone, or empty"
    return pa.Column("datetime64[us, UTC]", nullable=True, description=expected)
