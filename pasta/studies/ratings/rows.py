"""Rows of a submission as a reader of JSON finds them, and rows of tables as JSON has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pasta.json_files import shown
from pasta.studies.base import Finding, Submission
from pasta.studies.ratings.tables import ANSWERS
from pasta.studies.scales import DEMOGRAPHICS

FALSE = "false"


class Collector:
    """Collects cells as text, findings, and counts of what was rightly left out."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.dropped: Counter[str] = Counter()
        self.people: dict[str, str] = {}  # everybody who said something, and where first
        self._rows: dict[str, list[tuple[str, ...]]] = {name: [] for name in ANSWERS}

    def add(self, table: str, place: str, *cells: str) -> None:
        """A row of a table: its place, and the cells in the order of the table's columns."""
        self._rows[table].append((place, *cells))

    def annotator(self, place: str, person: str, about: Mapping[str, Any]) -> None:
        """Who rated, with what is known about the person."""
        known = [shown(about.get(name)) for name in DEMOGRAPHICS]
        flags = [shown(about.get(name, False)) for name in ("anonymous", "simulated")]
        self.add("annotators", place, person, *known, *flags)

    def find(
        self,
        problem: str,
        fix: str,
        place: str,
        column: str | None = None,
        found: Any = None,
        table: str = "votes",
    ) -> None:
        """Something that cannot be accepted; a long value is cut."""
        text = shown(found)
        short = text if len(text) <= 80 else f"{text[:77]}..."
        self.findings.append(Finding(problem, fix, table, place, column, short or None))

    def submission(self, source: str, format: str, protocol: str | None) -> Submission:
        """Everything collected; tables without rows are left out."""
        tables = {
            name: _frame(rows, list(ANSWERS[name].columns))
            for name, rows in self._rows.items()
            if rows
        }
        return Submission(
            source, format, tables, tuple(self.findings), protocol, dict(self.dropped)
        )


def _frame(rows: list[tuple[str, ...]], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["place", *columns], dtype=str).set_index("place")


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them, None for what is missing."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def tuples(frame: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    """Rows as plain Python values."""
    return zip(*(frame[name].tolist() for name in frame.columns), strict=True)
