"""Anybody's ratings from CSV files: other ids, questions and scales than those of our study.

The contracts of :mod:`pasta.tables` are for our own study. Here only what the statistics need is
asked for, so that a table from a spreadsheet will do; what is wrong is refused with its line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.missing import is_missing
from pasta.errors import InputError
from pasta.registry import did_you_mean
from pasta.text_files import read_csv

KEY = ("sample_id", "annotator_id", "question")
RATINGS = (("sample_id", "annotator_id", "rating"), ("question", "submitted_at", "simulated"))
USUAL_SCALES = ((1, 5), (1, 7), (1, 10), (0, 10), (0, 100))
ANNOTATORS = (("annotator_id",), ("age", "sex", "country"))
SAMPLES = (("sample_id",), ("kind", "dataset", "image_id", "method", "backbone", "technique"))
RESERVED = {"annotator_id": "mean", "question": "all"}  # names of rows in the results
_WHOLE = r"[+-]?\d{1,9}(?:\.0+)?"
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Given:
    """A file as text: the columns that are known, the line of each row, and the other columns."""

    file: Path
    frame: pd.DataFrame
    lines: NDArray[np.int64]
    ignored: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)  # what the file calls its columns

    def refuse(self, bad: Mask, column: str, problem: str, expected: str) -> None:
        """Raise an error that names the first bad row, if there is one."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        value = str(self.frame[column].iloc[rows[0]])
        shown = repr(value if len(value) <= 60 else f"{value[:57]}...") if value else "nothing"
        more = f"; {len(rows) - 1} more rows are like it" if len(rows) > 1 else ""
        raise InputError(
            f"{problem}: found {shown}{more}",
            file=self.file,
            row=int(self.lines[rows[0]]),
            column=self.names.get(column, column),
            expected=expected,
        )


def read_ratings(
    file: Path, categories: Sequence[int] | None = None, names: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Ratings, typed and checked, and the names of columns that were left aside.

    Without ``categories`` any whole number is a rating (see :func:`infer_scale`). ``names`` says
    what the file calls our columns. A file without a column of questions asks a single one, which
    has the name of the column of ratings.

    An empty rating, or one such as NA, is one that was not given; it stays in the frame as missing.
    """
    given = read_text(file, *RATINGS, names)
    frame = given.frame
    if "question" not in frame:
        frame["question"] = given.names.get("rating", "rating")
    if frame.empty:
        raise InputError("holds no ratings", file=file, expected="a row for each rating")
    for name in KEY:
        _named(given, name)
    twice = frame.duplicated(list(KEY)).to_numpy()
    if twice.any():
        row = int(np.flatnonzero(twice)[0])
        same = (frame[list(KEY)] == frame[list(KEY)].iloc[row]).all(axis=1).to_numpy()
        first = int(given.lines[np.flatnonzero(same)[0]])
        problem = f"the vote of row {first} is given again"
        expected = "one rating for each sample, annotator and question"
        if "question" not in given.names:
            expected += " (there is no column of questions: --question names it)"
        given.refuse(twice, "annotator_id", problem, expected)
    typed: dict[str, Any] = {"rating": _ratings(given, categories)}
    if "submitted_at" in frame:
        typed["submitted_at"] = _times(given)
    if "simulated" in frame:
        texts = frame["simulated"].str.lower()
        wrong = ~texts.isin(list(_FLAGS)).to_numpy(bool)
        given.refuse(wrong, "simulated", "neither true nor false", "true or false")
        typed["simulated"] = texts.map(_FLAGS).astype(bool)
    typed_frame = frame.assign(**typed)
    head = [*KEY, "rating"]
    return typed_frame[[*head, *typed_frame.columns.difference(head)]], given.ignored


def infer_scale(ratings: pd.Series) -> tuple[int, ...]:
    """The first of the usual scales that has all ratings, or from the lowest to the highest.

    A guess: a step that nobody used is not seen. Weights of kappa depend on the scale.
    """
    low, high = int(ratings.min()), int(ratings.max())
    for first, last in USUAL_SCALES:
        if first <= low and high <= last:
            return tuple(range(first, last + 1))
    return tuple(range(low, high + 1))


def read_annotators(
    file: Path, names: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Who rated. Ages and the rest stay text: the report says what it cannot use."""
    given = read_text(file, *ANNOTATORS, names)
    _once(given, "annotator_id")
    return _or_missing(given.frame), given.ignored


def read_samples(
    file: Path, names: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """What was rated: the kind and the image of each sample, as far as known."""
    given = read_text(file, *SAMPLES, names)
    _once(given, "sample_id")
    return _or_missing(given.frame), given.ignored


def read_text(
    file: Path,
    needed: Sequence[str],
    optional: Sequence[str],
    names: Mapping[str, str] | None = None,
) -> Given:
    """The known columns of a CSV file as trimmed text, by our names.

    ``names`` says what the file calls some of our columns; those must be there.
    """
    called = {name: name for name in (*needed, *optional)} | dict(names or {})
    wanted = [called[name] for name in called if name in needed or name in (names or {})]
    text = read_csv(file, list(called.values()), f"columns {', '.join(wanted)}")
    header = list(text.frame.columns)
    for name in wanted:
        if name not in header:
            given = [one for one in header if one and one not in wanted]
            hint = did_you_mean(name, given) if given else "There are no other columns."
            expected = f"the columns {', '.join(wanted)}"
            problem = f"this column is missing. {hint.replace('Known:', 'Given:')}"
            raise InputError(problem, file=file, row=1, column=name, expected=expected)
    there = {name: own for name, own in called.items() if own in header}
    frame = text.complete()[list(there.values())].apply(lambda cells: cells.str.strip())
    frame = frame[(frame != "").any(axis=1)].set_axis(list(there), axis=1)
    ignored = tuple(name for name in header if name not in there.values())
    lines = frame.index.to_numpy(np.int64)
    return Given(file, frame.reset_index(drop=True), lines, ignored, there)


def _named(given: Given, name: str) -> None:
    texts = given.frame[name]
    given.refuse((texts == "").to_numpy(), name, "there is no name", "a name")
    if name in RESERVED:
        word = RESERVED[name]
        expected = f"another name: {word!r} is the name of a row in the results"
        given.refuse((texts == word).to_numpy(), name, "this name cannot be used", expected)


def _once(given: Given, name: str) -> None:
    given.refuse((given.frame[name] == "").to_numpy(), name, "there is no name", "a name")
    again = given.frame[name].duplicated().to_numpy()
    given.refuse(again, name, "stands in an earlier row too", "every name once")


def _ratings(given: Given, categories: Sequence[int] | None) -> pd.Series[Any]:
    texts = given.frame["rating"]
    ends = "" if categories is None else f" from {min(categories)} to {max(categories)}"
    expected = f"a whole number{ends}, or nothing or NA"
    if categories is not None:
        expected += " (another scale: --scale)"
    empty = texts.map(is_missing).to_numpy(bool)
    wrong = ~empty & ~texts.str.fullmatch(_WHOLE).to_numpy(bool)
    given.refuse(wrong, "rating", "not a rating", expected)
    numbers = pd.to_numeric(texts.mask(empty)).astype(np.float64)
    if categories is not None:
        off = ~empty & ~numbers.isin(list(categories)).to_numpy(bool)
        given.refuse(off, "rating", "not on the scale", expected)
    if empty.all():
        raise InputError("no row has a rating", file=given.file, column="rating", expected=expected)
    return numbers


def _times(given: Given) -> pd.Series[Any]:
    texts = given.frame["submitted_at"]
    empty = texts == ""
    times = pd.to_datetime(texts.mask(empty), utc=True, errors="coerce", format="ISO8601")
    wrong = (times.isna() & ~empty).to_numpy(bool)
    expected = "a time such as 2024-05-01T12:30:00Z, or nothing"
    given.refuse(wrong, "submitted_at", "cannot be read as a time", expected)
    return times


def _or_missing(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(object).mask(frame == "", None)
