"""Checking of tables against their contracts, with every problem named by row and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from pasta.contracts import Table
from pasta.errors import InputError

MAX_SHOWN = 10
_HEADER_LINES = {".csv": 2}  # row 0 of a CSV file stands in line 2


@dataclass(frozen=True)
class Problem:
    """One broken rule. ``row`` counts from 0 in a frame; None concerns the whole table."""

    row: int | None
    column: str | None
    value: object
    expected: str


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
    """Every broken rule of a frame, by row and column."""
    frame = frame.reset_index(drop=True)
    try:
        table.schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        return _from_failures(error.failure_cases, frame, table)
    return _missing_parents(frame, table, parents or {})


def coerce(
    text: pd.DataFrame,
    table: Table,
    parents: Mapping[str, pd.DataFrame] | None = None,
    file: Path | None = None,
) -> pd.DataFrame:
    """Turn a frame of text (as read from CSV) into the table's types, or name what is not."""
    problems: list[Problem] = []
    typed = {}
    for name in text.columns:
        if name in table.columns:
            typed[name], bad = _typed(text[name], name, table.columns[name])
            problems += bad
    if problems:
        raise TableError(table, problems, file)
    frame = text.assign(**typed)
    check(frame, table, parents, file)
    return frame


Typed = tuple["pd.Series[Any]", "pd.Series[bool]"]  # values, and which cells could not be read


def _typed(
    text: pd.Series[Any], name: str, column: pa.Column
) -> tuple[pd.Series[Any], list[Problem]]:
    kind = str(column.dtype)
    family = next((family for family in _READERS if kind.startswith(family)), "text")
    values, wrong = _READERS[family](text, kind)
    if not column.nullable and family != "text":
        wrong = wrong | (text == "")
    expected = column.description or kind
    problems = [Problem(int(row), name, text[row], expected) for row in text.index[wrong]]
    exact: Any = kind  # the stubs know dtypes only as literals
    return values if problems or family == "text" else values.astype(exact), problems


def _read_text(text: pd.Series[Any], _kind: str) -> Typed:
    return text.mask(text == ""), pd.Series(False, index=text.index)


def _read_flag(text: pd.Series[Any], _kind: str) -> Typed:
    lower = text.str.lower()
    return lower == "true", ~lower.isin(["true", "false"])


def _read_time(text: pd.Series[Any], _kind: str) -> Typed:
    values = pd.to_datetime(text.mask(text == ""), utc=True, errors="coerce", format="ISO8601")
    return values, values.isna() & (text != "")


def _read_number(text: pd.Series[Any], kind: str) -> Typed:
    values = pd.to_numeric(text.mask(text == ""), errors="coerce")
    wrong = values.isna() & (text != "")
    if "int" in kind.lower():
        wrong |= values.notna() & (values % 1 != 0)
    return values, wrong


_READERS: dict[str, Callable[[pd.Series[Any], str], Typed]] = {
    "bool": _read_flag,
    "datetime": _read_time,
    "int": _read_number,
    "Int": _read_number,
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
    column, expected = _place(check, str(case["column"]), named, table)
    if row is None or column not in frame.columns:
        return Problem(row, column, case["failure_case"], expected)
    return Problem(row, column, frame[column].iloc[row], expected)


def _place(check: str, column: str, named: str, table: Table) -> tuple[str, str]:
    """Which column a failed check is about, and what was expected there."""
    everything = ", ".join(table.columns)
    match check:
        case "column_in_dataframe":
            return named, "this column, which is missing"
        case "column_in_schema":
            return named, f"only the columns {everything}"
        case "column_ordered":
            return named, f"the order {everything}"
        case "multiple_fields_uniqueness":
            return table.key[-1], f"a key ({', '.join(table.key)}) that occurs once"
    for rule in table.rules:
        if check == rule.expected:
            return rule.column, rule.expected
    known = table.columns.get(column)
    return column, (known.description if known is not None else None) or check


def _missing_parents(
    frame: pd.DataFrame, table: Table, parents: Mapping[str, pd.DataFrame]
) -> list[Problem]:
    problems: list[Problem] = []
    for reference in table.references:
        if reference.table not in parents:
            continue
        columns = list(reference.columns)
        known = pd.MultiIndex.from_frame(parents[reference.table][columns])
        orphans = ~pd.MultiIndex.from_frame(frame[columns]).isin(known)
        expected = f"a row of the {reference.table} table"
        problems += [
            Problem(int(row), columns[-1], frame[columns[-1]].iloc[row], expected)
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
