"""CSV files with errors that name the file, the line and the column."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pasta.errors import InputError
from pasta.registry import did_you_mean


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
    """Read every row of a CSV file with at least the given columns (UTF-8, comma, one header)."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            "there is no such file", file=path, expected=f"columns {', '.join(columns)}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"not readable as text: {error}", file=path, expected="UTF-8") from None
    return list(parse_table(text, columns, path))


def parse_table(text: str, columns: Sequence[str], path: Path) -> Iterator[Row]:
    """Parse a CSV text; whatever is wrong with it is an InputError."""
    lines = csv.reader(text.splitlines(keepends=True), strict=True)
    header: list[str] | None = None
    while True:
        try:
            fields = next(lines)
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", file=path, row=lines.line_num) from None
        if not any(field.strip() for field in fields):
            continue
        cells = [field.strip() for field in fields]
        if header is None:
            header = _header(cells, columns, path, lines.line_num)
            continue
        if len(cells) != len(header):
            raise InputError(
                f"{len(cells)} values",
                file=path,
                row=lines.line_num,
                expected=f"{len(header)}, one for each column",
            )
        yield Row(path, lines.line_num, dict(zip(header, cells, strict=True)))
    if header is None:
        raise InputError("the file is empty", file=path, expected=f"columns {', '.join(columns)}")


def _header(cells: list[str], columns: Sequence[str], path: Path, row: int) -> list[str]:
    for column in columns:
        if cells.count(column) != 1:
            problem = "is missing" if column not in cells else "is there more than once"
            raise InputError(
                f"the column {problem}",
                file=path,
                row=row,
                column=column,
                expected=f"columns {', '.join(columns)}",
            )
    return cells
