"""Contracts of tables: typed columns, a key, references and rules, and the check that they hold.

pandera validates; every problem is named by file, row, column and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pandera.pandas as pa

from pasta.errors import InputError

MAX_SHOWN = 10
_HEADER_LINES = {".csv": 2}  # row 0 of a CSV file stands in line 2


Kind = Literal["cell", "missing column", "unknown column", "order", "key", "rule", "reference"]
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


def a_flag(expected: str, nullable: bool = False) -> pa.Column:
    """True or false."""
    kind: Any = "boolean" if nullable else bool
    return pa.Column(kind, nullable=nullable, description=expected)


def a_time() -> pa.Column:
    """A time with its zone, or nothing."""
    expected = "a time with its zone, or empty"
    return pa.Column("datetime64[us, UTC]", nullable=True, description=expected)


# Checking


@dataclass(frozen=True)
class Problem:
    """One broken rule. ``row`` counts from 0 in a frame; None concerns the whole table."""

    row: int | None
    column: str | None
    value: object
    expected: str
    kind: Kind = "cell"


class TableError(InputError):
    """A table breaks its contract; ``problems`` has them all, the message the first ten."""

    def __init__(self, table: Table, problems: list[Problem], file: Path | None) -> None:
        self.problems = problems
        first, *rest = problems
        line = _line(first.row, file)
        super().__init__(
            _said(first), file=file, row=line, column=first.column, expected=first.expected
        )
        more = [f"  {_described(problem, file)}" for problem in rest[: MAX_SHOWN - 1]]
        if len(problems) > MAX_SHOWN:
            more.append(f"  and {len(problems) - MAX_SHOWN} more problems")
        self.args = ("\n".join([f"table {table.name}: {self}", *more]),)


def check(
    frame: pd.DataFrame,
    table: Table,
    parents: Mapping[str, pd.DataFrame] | None = None,
    file: Path | None = None,
) -> None:
    """Raise :class:`TableError` unless the frame fulfils the contract.

    References are checked against the parents that are given, by table name.
    """
    problems = find_problems(frame, table, parents)
    if problems:
        raise TableError(table, problems, file)


def find_problems(
    frame: pd.DataFrame, table: Table, parents: Mapping[str, pd.DataFrame] | None = None
) -> list[Problem]:
    """Every broken rule of a frame, sorted by row."""
    frame = frame.reset_index(drop=True)
    problems: list[Problem] = []
    try:
        table.schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        problems = _from_failures(error.failure_cases, frame, table)
    if any(problem.row is None for problem in problems):
        return problems
    known = {(problem.row, problem.column) for problem in problems}
    orphans = _missing_parents(frame, table, parents or {})
    problems += [one for one in orphans if (one.row, one.column) not in known]
    return sorted(problems, key=lambda problem: problem.row or 0)


def parse(
    text: pd.DataFrame, table: Table, parents: Mapping[str, pd.DataFrame] | None = None
) -> tuple[pd.DataFrame, list[Problem]]:
    """Text, as read from a CSV file, in the table's types, and every problem in it.

    Nothing is written as ``""``. A cell that cannot be read holds an impossible value; keys and
    rules are not looked at in its row.
    """
    frame = text.reset_index(drop=True)
    unreadable: list[Problem] = []
    typed: dict[str, pd.Series[Any]] = {}
    for name in frame.columns.intersection(pd.Index(list(table.columns))):
        cells = frame[name].astype("str").fillna("")
        typed[name], bad = _typed(cells, name, table.columns[name])
        unreadable += bad
    frame = frame.assign(**typed)
    cells_ = {(problem.row, problem.column) for problem in unreadable}
    rows = {problem.row for problem in unreadable}
    problems = [
        one
        for one in find_problems(frame, table, parents)
        if (one.row, one.column) not in cells_
        and not (one.kind in ("key", "rule") and one.row in rows)
    ]
    return frame, sorted(unreadable + problems, key=lambda problem: problem.row or 0)


def coerce(
    text: pd.DataFrame,
    table: Table,
    parents: Mapping[str, pd.DataFrame] | None = None,
    file: Path | None = None,
) -> pd.DataFrame:
    """Turn a frame of text into the table's types, or raise an error that names what is wrong."""
    frame, problems = parse(text, table, parents)
    if problems:
        raise TableError(table, problems, file)
    return frame


Typed = tuple["pd.Series[Any]", "pd.Series[bool]"]  # values, and which cells could be read
_WHOLE = r"-?[0-9]{1,18}(?:\.0+)?"  # beyond 18 digits or with an exponent, numbers lose digits
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+|inf)(?:[eE][+-]?[0-9]{1,4})?"
_ZONE = r"(?:Z|z|[+-][0-9]{2}:?(?:[0-9]{2})?)$"


def _typed(
    text: pd.Series[Any], name: str, column: pa.Column
) -> tuple[pd.Series[Any], list[Problem]]:
    kind = str(column.dtype)
    family = next((family for family in _READERS if kind.startswith(family)), "text")
    values, readable = _READERS[family](text)
    wrong = ~readable if not column.nullable else ~readable & (text != "")
    expected = column.description or kind
    return values, [Problem(int(row), name, text[row], expected) for row in text.index[wrong]]


def _read_text(text: pd.Series[Any]) -> Typed:
    return text.mask(text == ""), pd.Series(True, index=text.index)


def _read_flag(text: pd.Series[Any]) -> Typed:
    lower = text.str.lower()
    return lower == "true", lower.isin(["true", "false"])


def _read_flag_or_nothing(text: pd.Series[Any]) -> Typed:
    values, readable = _read_flag(text)
    return values.astype("boolean").where(readable), readable


def _read_time(text: pd.Series[Any]) -> Typed:
    zoned = text.str.contains(_ZONE, regex=True) & text.str.contains(":", regex=False)
    times = pd.to_datetime(text.where(zoned), utc=True, errors="coerce", format="ISO8601")
    return times.astype("datetime64[us, UTC]"), times.notna()


def _read_number(text: pd.Series[Any]) -> Typed:
    readable = text.str.fullmatch(_NUMBER).astype(bool)
    return text.where(readable).astype("float64"), readable


def _read_whole(text: pd.Series[Any]) -> Typed:
    readable = text.str.fullmatch(_WHOLE).astype(bool)
    whole = text.where(readable, "-1").str.replace(r"\.0+$", "", regex=True)
    values = whole.astype("int64")
    # All different, so that no two of them make a key that occurs twice.
    return values.where(readable, -1 - text.index.to_numpy()), readable


def _read_whole_or_nothing(text: pd.Series[Any]) -> Typed:
    values, readable = _read_whole(text)
    return values.astype("Int64").where(readable), readable


_READERS: dict[str, Callable[[pd.Series[Any]], Typed]] = {
    "boolean": _read_flag_or_nothing,
    "bool": _read_flag,
    "datetime": _read_time,
    "int": _read_whole,
    "Int": _read_whole_or_nothing,
    "float": _read_number,
    "text": _read_text,
}


def _from_failures(failures: pd.DataFrame, frame: pd.DataFrame, table: Table) -> list[Problem]:
    """Pandera's failure cases in our words, without the repetitions."""
    found: dict[tuple[Any, ...], Problem] = {}
    for case in failures.to_dict("records"):
        problem = _from_failure(case, frame, table)
        found.setdefault((problem.row, problem.column, problem.expected), problem)
    problems = sorted(found.values(), key=lambda problem: problem.row or 0)
    # A missing or extra column makes the rest of the list noise.
    return [problem for problem in problems if problem.row is None] or problems


def _from_failure(case: Mapping[Any, Any], frame: pd.DataFrame, table: Table) -> Problem:
    check, named = str(case["check"]), str(case["failure_case"])
    row = None if pd.isna(case["index"]) else int(case["index"])
    kind, column, expected = _place(check, str(case["column"]), named, table)
    if row is None or column not in frame.columns:
        return Problem(row, column, case["failure_case"], expected, kind)
    return Problem(row, column, frame[column].iloc[row], expected, kind)


def _place(check: str, column: str, named: str, table: Table) -> tuple[Kind, str, str]:
    """What sort of check failed, which column it is about, and what was expected there."""
    everything = ", ".join(table.columns)
    match check:
        case "column_in_dataframe":
            return "missing column", named, "this column, which is missing"
        case "column_in_schema":
            return "unknown column", named, f"only the columns {everything}"
        case "column_ordered":
            return "order", named, f"the order {everything}"
        case "multiple_fields_uniqueness":
            return "key", table.key[-1], f"a key ({', '.join(table.key)}) that occurs once"
    for rule in table.rules:
        if check == rule.expected:
            return "rule", rule.column, rule.expected
    known = table.columns.get(column)
    return "cell", column, (known.description if known is not None else None) or check


def _missing_parents(
    frame: pd.DataFrame, table: Table, parents: Mapping[str, pd.DataFrame]
) -> list[Problem]:
    problems: list[Problem] = []
    for reference in table.references:
        if reference.table not in parents:
            continue
        columns = list(reference.columns)
        parent = parents[reference.table][columns]
        if len(columns) == 1:
            orphans = ~frame[columns[0]].isin(parent[columns[0]]).to_numpy(bool)
        else:
            known = pd.MultiIndex.from_frame(parent)
            orphans = ~np.asarray(pd.MultiIndex.from_frame(frame[columns]).isin(known))
        expected = f"a row of the {reference.table} table"
        problems += [
            Problem(int(row), columns[-1], frame[columns[-1]].iloc[row], expected, "reference")
            for row in orphans.nonzero()[0]
        ]
    return problems


def _line(row: int | None, file: Path | None) -> int | None:
    """Rows as people count them: lines of a CSV file, else from 0 as in the table."""
    return None if row is None else row + _HEADER_LINES.get(file.suffix if file else "", 0)


def _said(problem: Problem) -> str:
    return "is wrong" if problem.row is None else f"found {_shown(problem.value)}"


def _shown(value: Any) -> str:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "nothing"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _described(problem: Problem, file: Path | None) -> str:
    return str(
        InputError(
            _said(problem),
            row=_line(problem.row, file),
            column=problem.column,
            expected=problem.expected,
        )
    )
