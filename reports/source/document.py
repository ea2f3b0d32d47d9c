"""A report as data: headings, paragraphs, tables and pictures, before anything is typeset.

Pages are functions from tidy tables to a :class:`Document`; :mod:`reports.typesetting` makes the
PDF. Numbers become text here, so that the template has nothing to compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from matplotlib.figure import Figure

from reports.source import words

Format = Literal["text", "0", "0.0", "0.00", "0.000", "p", "percent", "signed", "interval"]
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "text": str,
    "0": words.whole,
    "0.0": lambda value: words.number(value, 1),
    "0.00": words.number,
    "0.000": lambda value: words.number(value, 3),
    "p": words.p_cell,
    "percent": words.share,
    "signed": words.signed,
}
_SPAN = re.compile(r"(\*\*.+?\*\*|(?<!\w)_[^_]+?_(?!\w))")


class _Words:
    """Blocks of nothing but words: their fields are what the template reads, texts as spans."""

    def data(self) -> dict[str, Any]:
        """For the template."""
        own = dict(vars(self))
        if "items" in own:
            own["items"] = [spans(item) for item in own["items"]]
        elif "text" in own and not isinstance(self, Heading):
            own["spans"] = spans(own.pop("text"))
        return {"type": type(self).__name__.lower(), **own}


@dataclass(frozen=True)
class Heading(_Words):
    """Of a chapter (1) or a section (2)."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Text(_Words):
    """One paragraph; ``**bold**`` and ``_emphasis_`` are understood."""

    text: str


@dataclass(frozen=True)
class Bullets(_Words):
    """A list of short paragraphs."""

    items: Sequence[str]


@dataclass(frozen=True)
class Note(_Words):
    """A box: what is missing, what to be careful with, or what a section is about."""

    text: str
    kind: Literal["missing", "caution"]


@dataclass(frozen=True)
class PageBreak(_Words):
    """What follows begins on a new page."""


@dataclass(frozen=True)
class Column:
    """One column of a table: which values, under which title, written how.

    An interval has its other end in the column ``other``. ``left`` aligns words; numbers stand
    to the right.
    """

    name: str
    title: str
    format: Format = "text"
    other: str = "high"

    @property
    def left(self) -> bool:
        """Whether cells start at the left."""
        return self.format == "text"

    def cell(self, row: pd.Series[Any]) -> str:
        """The text of this column in one row."""
        value = row[self.name]
        if self.format == "interval":
            return words.interval(value, row[self.other])
        return words.DASH if pd.isna(value) or value == "" else _WRITTEN[self.format](value)


@dataclass(frozen=True)
class Table:
    """Rows of a frame under a caption; long ones go on over pages, with their header.

    ``widths`` are shares of the text's width for columns that must not take what they like; 0
    leaves a column as wide as its cells.
    """

    frame: pd.DataFrame
    columns: Sequence[Column]
    caption: str
    note: str = ""
    widths: Sequence[float] | None = None

    def data(self) -> dict[str, Any]:
        """For the template."""
        widths = self.widths or [0.0] * len(self.columns)
        if len(widths) != len(self.columns):
            raise ValueError(f"{len(widths)} widths for {len(self.columns)} columns")
        return {
            "type": "table",
            "header": [column.title for column in self.columns],
            "left": [column.left for column in self.columns],
            "widths": list(widths),
            "rows": [
                [column.cell(row) for column in self.columns] for _, row in self.frame.iterrows()
            ],
            "caption": spans(self.caption),
            "note": spans(self.note),
        }


@dataclass(frozen=True)
class Picture:
    """A figure, or a picture file, with its caption and words for those who cannot see it."""

    figure: Figure | Path
    caption: str
    alt: str
    width: float = 1.0

    def data(self, file: str) -> dict[str, Any]:
        """For the template; ``file`` is where the typesetter has put the picture."""
        return {
            "type": "picture",
            "file": file,
            "caption": spans(self.caption),
            "alt": self.alt,
            "width": self.width,
        }


Block = Heading | Text | Bullets | Note | PageBreak | Table | Picture


@dataclass(frozen=True)
class Document:
    """A report. ``compact`` has no title page: the first words stand below the title."""

    name: str
    title: str
    subtitle: str
    blocks: Sequence[Block] = field(default_factory=list)
    simulated: bool = False
    compact: bool = False


@dataclass(frozen=True)
class Report:
    """A report whose prose is in ``templates/<name>.typ``, and the values that it reads there.

    Values are texts, counts, truth values, None, tables (:func:`cells`), figures, picture files,
    and lists and mappings of these; other numbers have to be formatted before.
    """

    name: str
    simulated: bool
    content: Mapping[str, Any]


def cells(frame: pd.DataFrame, columns: str | Sequence[str]) -> dict[str, Any]:
    """Write rows of a frame as texts, for ``rows`` in ``report.typ``.

    Parameters
    ----------
    frame
        The rows.
    columns
        Names, each with its format after a colon if it is no text: ``"question n:0 low:interval"``.
        An interval goes from ``low`` to ``high`` (or ``score_low`` to ``score_high``).

    Returns
    -------
    Mapping with columns (the names), left (whether cells start at the left) and rows
    """
    parts = columns.split() if isinstance(columns, str) else columns
    pairs = [name.partition(":")[::2] for name in parts]
    written = []
    for name, form in pairs:
        if form == "interval":
            ends = zip(frame[name], frame[name.replace("low", "high")], strict=True)
            written.append([words.interval(low, high) for low, high in ends])
        else:
            write = _WRITTEN[form or "text"]
            known = frame[name].notna() & (frame[name] != "")
            written.append(
                [
                    write(value) if there else words.DASH
                    for value, there in zip(frame[name], known, strict=True)
                ]
            )
    return {
        "columns": [name for name, _ in pairs],
        "left": [not form for _, form in pairs],
        "rows": [list(row) for row in zip(*written, strict=True)],
    }


def spans(text: str) -> list[dict[str, str]]:
    """Plain, bold and emphasised parts of a text."""
    parts = [part for part in _SPAN.split(text) if part]
    return [_span(part) for part in parts]


def _span(part: str) -> dict[str, str]:
    if len(part) > 4 and part.startswith("**") and part.endswith("**"):
        return {"style": "bold", "text": part[2:-2]}
    if len(part) > 2 and part.startswith("_") and part.endswith("_"):
        return {"style": "emphasis", "text": part[1:-1]}
    return {"style": "plain", "text": part}
