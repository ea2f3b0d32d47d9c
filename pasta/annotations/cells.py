"""The first half of checking: columns and cells, each on its own.

Every different text of a column is read and held against the contract once. Rows with a wrong cell
are reported and left out of what :mod:`~pasta.annotations.relations` then looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from pasta.annotations.coding import Coded, Codes, Mask, encode, sorted_levels
from pasta.annotations.records import Finding
from pasta.contracts import Table
from pasta.registry import did_you_mean
from pasta.tables import BOX
from pasta.validation import TableError, coerce

OPTIONAL = frozenset({"submitted_at", "age", "sex", "country", "simulated"})
_DEFAULTS = {"simulated": "false"}
_LONGEST_FOUND = 80
_WHOLE = r"[+-]?\d{1,18}(\.0+)?"
_ZONE = r"(?:Z|z|[+-]\d\d:?(?:\d\d)?)$"

_WORDS: Mapping[str, tuple[str, str]] = {
    "rating": (
        "the rating is not a whole number from 1 to 5",
        "give 1, 2, 3, 4 or 5 stars, or remove the row",
    ),
    "sample_id": (
        "the sample is not written as dataset/image/method/backbone",
        "correct the id, for example coco/1323/gradcam/resnet50",
    ),
    "annotator_id": (
        "the annotator's id is empty or has a slash or a space in it",
        "give each annotator a name of letters and digits",
    ),
    "submitted_at": (
        "the time cannot be read or has no zone",
        "write it like 2024-05-01T12:30:00Z, or leave it empty",
    ),
    "age": (
        "the age is not a whole number of years from 0 to 130",
        "correct the age, or leave it empty",
    ),
    "simulated": ("the mark of simulated votes is not true or false", "write true or false"),
    "text": ("the description is empty", "give the words, or remove the row"),
    **dict.fromkeys(
        BOX, ("a side of a box is not between 0 and 1", "give it as a fraction of the image")
    ),
}

Hint = Callable[[str], str]


@dataclass(frozen=True)
class Part:
    """The good rows of one table of a submission: typed columns in codes, and their places.

    The levels of key columns are sorted.
    """

    table: Table
    place: pd.Index[Any]
    columns: Mapping[str, Coded]

    def key(self) -> dict[str, Coded]:
        """The columns of the table's key."""
        return {name: self.columns[name] for name in self.table.key}

    def frame(self, rows: Mask | Codes) -> pd.DataFrame:
        """Some of the rows, in the table's types."""
        return pd.DataFrame({name: one.at(rows).series() for name, one in self.columns.items()})


@dataclass(frozen=True)
class Names:
    """Names that a column may use; ``problem`` and ``fix`` are for the others."""

    known: Callable[[pd.Series[Any]], Mask]
    problem: str
    fix: str


def read_part(
    frame: pd.DataFrame, table: Table, names: Mapping[str, Names]
) -> tuple[Part | None, list[Finding]]:
    """Type the columns of a table; all findings on cells, and the part made of the good rows.

    There is no part if a necessary column is missing.
    """
    findings = _columns(frame, table)
    if any(name not in frame.columns and name not in OPTIONAL for name in table.columns):
        return None, findings
    bad = np.zeros(len(frame), bool)
    typed: dict[str, Coded] = {}
    for name, column in table.columns.items():
        texts = _texts(frame, name)
        values, wrong = _typed(texts.levels, name, column)
        reported = [(wrong, *_words(name, column))]
        if name in names:
            unknown = ~wrong & ~names[name].known(texts.levels)
            reported.append((unknown, names[name].problem, names[name].fix))
            wrong = wrong | unknown
        for values_hit, problem, fix in reported:
            findings += _cells(frame, table, name, texts, values_hit, problem, fix)
        bad |= wrong[texts.codes]
        typed[name] = Coded(texts.codes, values)
    good = ~bad
    columns = {name: column.at(good) if bad.any() else column for name, column in typed.items()}
    for name in table.key:
        columns[name] = sorted_levels(columns[name])
    return Part(table, frame.index[good], columns), findings


def found(value: object) -> str:
    """A value in a message, never long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_FOUND else f"{text[: _LONGEST_FOUND - 4]}...'"


def place(value: object) -> str:
    """Where a row stood: lines are numbers, other places are words already."""
    return value if isinstance(value, str) else f"line {value}"


def _columns(frame: pd.DataFrame, table: Table) -> list[Finding]:
    findings = []
    for name, column in table.columns.items():
        if name not in frame.columns and name not in OPTIONAL:
            fix = f"add the column {name!r}: {column.description}"
            findings.append(Finding("a column is missing", fix, table.name, column=name))
    for name in frame.columns:
        if name not in table.columns:
            hint = did_you_mean(str(name), list(table.columns))
            fix = f"rename or remove it. {hint}"
            findings.append(Finding("a column is not known", fix, table.name, column=str(name)))
    return findings


def _texts(frame: pd.DataFrame, name: str) -> Coded:
    """A column of text, nothing is ``""``."""
    if name in frame.columns:
        column = encode(frame[name], sort=False)
    else:
        column = Coded(np.zeros(len(frame), np.int64), pd.Series([""], dtype="str"))
    texts = column.levels.astype("str").fillna("")
    return Coded(column.codes, texts.mask(texts == "", _DEFAULTS.get(name, "")))


def _typed(texts: pd.Series[Any], name: str, column: pa.Column) -> tuple[pd.Series[Any], Mask]:
    """The texts in the column's type, and which of them break the contract."""
    kind = str(column.dtype)
    if kind.startswith("datetime"):
        return _times(texts)
    wrong = np.zeros(len(texts), bool)
    if "int" in kind.lower():  # beyond 18 digits or with an exponent, numbers lose their meaning
        wrong = ~(texts.str.fullmatch(_WHOLE) | (texts == "")).to_numpy(bool)
    alone = Table(name, "", (), {name: column})
    while True:  # types first, then rules: each round finds what the last one hid
        rows = np.flatnonzero(~wrong)
        try:
            read = coerce(texts[rows].reset_index(drop=True).to_frame(name), alone)[name]
            break
        except TableError as error:
            wrong[rows[[problem.row or 0 for problem in error.problems]]] = True
    if not len(rows):
        return read, wrong
    borrowed = np.maximum(np.cumsum(~wrong) - 1, 0)  # for wrong texts, which nobody looks at
    return read.take(borrowed).reset_index(drop=True), wrong


def _times(texts: pd.Series[Any]) -> tuple[pd.Series[Any], Mask]:
    import pyarrow

    given = texts.mask(texts == "")
    kind: Any = "datetime64[us, UTC]"
    try:  # ten times faster than pandas, and stricter
        cast = pyarrow.array(given).cast(pyarrow.timestamp("us", "UTC"))
        read = pd.Series(cast.to_numpy(zero_copy_only=False)).dt.tz_localize("UTC").astype(kind)
        return read, np.zeros(len(texts), bool)
    except pyarrow.ArrowInvalid:
        times = pd.to_datetime(given, utc=True, errors="coerce", format="ISO8601").astype(kind)
        zoned = given.str.contains(_ZONE, regex=True) & given.str.contains(":", regex=False)
        return times, ((times.isna() | ~zoned.astype(bool)) & given.notna()).to_numpy(bool)


def _words(name: str, column: pa.Column) -> tuple[str, str | Hint]:
    expected = column.description or str(column.dtype)
    if expected.startswith("one of "):
        choices = expected.removeprefix("one of ").split(", ")
        return f"the {name} is not known", lambda text: _nearest(text, choices)
    default = (f"the {name} is not as expected: {expected}", "correct the value")
    return _WORDS.get(name, default)


def _nearest(text: str, choices: list[str]) -> str:
    """A hint that does not mind upper and lower case."""
    by_lower = {choice.lower(): choice for choice in choices}
    return did_you_mean(by_lower.get(text.strip().lower(), text), choices)


def _cells(
    frame: pd.DataFrame,
    table: Table,
    name: str,
    texts: Coded,
    hit: Mask,
    problem: str,
    fix: str | Hint,
) -> list[Finding]:
    """A finding for each row whose value is among the ones that are hit."""
    if not hit.any():
        return []
    rows = np.flatnonzero(hit[texts.codes])
    codes = texts.codes[rows]
    words = {code: texts.levels[code] for code in np.unique(codes)}
    said = {code: found(text) if text else "nothing" for code, text in words.items()}
    fixes = {code: fix if isinstance(fix, str) else fix(text) for code, text in words.items()}
    places = frame.index[rows]
    return [
        Finding(problem, fixes[code], table.name, place(where), name, said[code])
        for where, code in zip(places, codes.tolist(), strict=True)
    ]
