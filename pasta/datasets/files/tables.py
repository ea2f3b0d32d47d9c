"""Rows of CSV files with errors that name the file, the line and the column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pasta.errors import InputError
from pasta.registry import did_you_mean
from pasta.text_files import read_csv


@dataclass(frozen=True)
class Row:
    """One line of a table; ``number`` is its 1-based line number in the file."""

    file: Path
    number: int
    values: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.values[column]

    def error(self, problem: str, column: str, expected: str | None = None) -> InputError:
        """Make an error at this line and column."""
        return InputError(
            problem, file=self.file, row=self.number, column=column, expected=expected
        )

    def one_of(self, column: str, names: Sequence[str], what: str) -> str:
        """Return the value of a column that must be one of some names."""
        value = self[column]
        if value not in names:
            hint = did_you_mean(value, list(names))
            raise self.error(f"{value!r} is no {what}. {hint}", column)
        return value

    def number_in(self, column: str) -> float:
        """Return the value of a column that must be a finite number."""
        try:
            value = float(self[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{self[column]!r} is no number", column, "a finite number")
        return value


def read_table(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read every row of a CSV file with at least the given columns; cells are trimmed."""
    expected = f"columns {', '.join(columns)}"
    frame = read_csv(path, columns, expected).complete()
    for column in columns:
        if column not in frame:
            raise InputError(
                "the column is missing", file=path, row=1, column=column, expected=expected
            )
    return [
        Row(path, line, {str(name): cell.strip() for name, cell in cells.items()})
        for line, cells in zip(frame.index, frame.to_dict("records"), strict=True)
        if any(cell.strip() for cell in cells.values())
    ]
