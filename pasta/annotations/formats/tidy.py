"""Tables as CSV, one file each: what people make with a spreadsheet, and what we store.

Understood: commas, semicolons or tabs, a byte-order mark, Windows and old Mac line ends, quoted
cells with line ends in them, blank lines. Refused as a whole: what is not UTF-8 (see
:mod:`~pasta.annotations.formats.decoding`), a header that belongs to no table, a quotation mark
that is never closed. A row with the wrong number of cells is a finding with its line. Columns too
many or too few are left to the checking, which knows what can be done without.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.annotations.formats.decoding import FILE_LIMIT, LINE_LIMIT, as_utf8, read_lines
from pasta.annotations.formats.rows import Rows, find_rows
from pasta.annotations.formats.study_file import claimed_protocol
from pasta.annotations.records import PARTS, Finding, Submission
from pasta.contracts import Table
from pasta.errors import InputError

DELIMITERS = (",", ";", "\t")
_OPTIONAL = frozenset({"submitted_at", "simulated", "age", "sex", "country"})
_PLAIN = frozenset({"text", "submitted_at"})  # hardly a value twice: a dictionary would only cost
_EXPECTED = "a header such as sample_id,annotator_id,question,rating"


def read_tidy(
    path: Path,
    annotators: Path | None = None,
    limit: int = FILE_LIMIT,
    line_limit: int = LINE_LIMIT,
) -> Submission:
    """Read a CSV file with one of the tables, or a folder of them.

    ``annotators`` is a CSV file with who rated, to be read along. The index of every frame is the
    line in its file.
    """
    files = [*csv_files(path), *([annotators] if annotators is not None else [])]
    tables: dict[str, pd.DataFrame] = {}
    findings: list[Finding] = []
    for file in files:
        table, frame, wrong = read_csv(file, limit, line_limit)
        if table.name in tables:
            raise InputError(f"is a second file with the {table.name} table", file=file)
        tables[table.name] = frame
        findings += wrong
    protocol = claimed_protocol(path) if path.is_dir() else None
    return Submission(path.name, "tidy", tables, tuple(findings), protocol)


def csv_files(path: Path) -> list[Path]:
    """The file itself, or the CSV files of a folder; every one of them must be a table."""
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.suffix.lower() == ".csv")
    if not found:
        raise InputError("holds no CSV file", file=path, expected="votes.csv and the like")
    return found


def read_csv(
    file: Path, limit: int = FILE_LIMIT, line_limit: int = LINE_LIMIT
) -> tuple[Table, pd.DataFrame, list[Finding]]:
    """Read one table as text: which it is, its rows by line, and the rows that do not fit."""
    data = as_utf8(read_lines(file, limit, line_limit), file)
    if b"\n" not in data:  # old Mac line ends, or a single line
        data = data.replace(b"\r", b"\n")
    rows = find_rows(data)
    if not len(rows) or rows.blank[0]:
        raise InputError("is empty or starts with an empty line", file=file, expected=_EXPECTED)
    if rows.open_quote:
        raise InputError("a quotation mark is opened and never closed", file=file)
    header = data[rows.start[0] : rows.end[0]].decode("utf-8")
    table, delimiter, names = _recognise(header, file)
    frame, ragged = _parse(data, rows, delimiter, names, file)
    findings = [_ragged(table, line, cells, len(names)) for line, cells in ragged]
    return table, frame, findings


def _recognise(header: str, file: Path) -> tuple[Table, str, list[str]]:
    readings = [(delimiter, _cells(header, delimiter)) for delimiter in DELIMITERS]
    known = [(delimiter, names, table) for delimiter, names in readings if (table := _table(names))]
    if not known:
        raise InputError("its first line belongs to no table", file=file, row=1, expected=_EXPECTED)
    delimiter, names, table = max(known, key=lambda one: len(one[1]))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"the columns {', '.join(map(repr, twice))} stand twice", file=file, row=1)
    return table, delimiter, names


def _cells(header: str, delimiter: str) -> list[str]:
    try:
        (cells,) = csv.reader([header.replace("\n", " ").replace("\r", " ")], delimiter=delimiter)
    except csv.Error:  # a cell beyond the csv module's own limit
        return []
    return [cell.strip() for cell in cells]


def _table(names: Iterable[str]) -> Table | None:
    """The table that a header is most like; at least half of its necessary columns are there."""
    given = set(names)

    def score(table: Table) -> tuple[int, int]:
        missing = set(table.columns) - given - _OPTIONAL
        return len(given & set(table.columns)) - len(missing), -len(table.columns)

    best = max(PARTS.values(), key=score)
    needed = set(best.columns) - _OPTIONAL
    return best if 2 * len(given & needed) >= len(needed) else None


def _parse(
    data: bytes, rows: Rows, delimiter: str, names: list[str], file: Path
) -> tuple[pd.DataFrame, list[tuple[int, int]]]:
    """The rows that fit as a frame of text, and line and number of cells of those that do not."""
    import pyarrow as pa
    import pyarrow.csv

    ragged: list[tuple[int, int]] = []  # row from 0 below the header, number of cells

    def skip(row: Any) -> str:
        ragged.append((row.number - 1, row.actual_columns))
        return "skip"

    body = memoryview(data)[int(rows.start[1]) :] if len(rows) > 1 else memoryview(b"")
    words = pa.dictionary(pa.int32(), pa.string())
    kinds = {name: pa.string() if name in _PLAIN else words for name in names}
    if not len(body):
        return _frame(pa.table({name: pa.array([], kinds[name]) for name in names}), []), []
    try:
        read = pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            # One block: rows are then numbered, and a cell may hold line ends.
            pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(body) + 1, column_names=names
            ),
            pyarrow.csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=b'"' in data,
                ignore_empty_lines=False,
                invalid_row_handler=skip,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=kinds, strings_can_be_null=False, check_utf8=False
            ),
        )
    except pa.ArrowException as error:
        raise InputError(f"cannot be read as CSV: {error}", file=file) from error
    if read.num_rows + len(ragged) != len(rows) - 1:
        raise InputError(
            "its rows cannot be told apart",
            file=file,
            expected="no quotation mark or line end within a cell that is not quoted",
        )
    line, blank = rows.line[1:], rows.blank[1:]
    wrong = [(int(line[row]), cells) for row, cells in ragged if not blank[row]]
    kept = np.ones(len(line), bool)
    kept[[row for row, _ in ragged]] = False
    frame = _frame(read, line[kept])
    return (frame[~blank[kept]] if blank.any() else frame), wrong


def _frame(read: Any, line: NDArray[np.int64] | list[int]) -> pd.DataFrame:
    frame: pd.DataFrame = read.unify_dictionaries().to_pandas()
    frame.index = pd.Index(np.asarray(line, np.int64), name="place")
    return frame


def _ragged(table: Table, line: int, cells: int, expected: int) -> Finding:
    return Finding(
        "a row has too few or too many cells",
        "give every row as many cells as the header; put cells with the delimiter in quotes",
        table=table.name,
        place=f"line {line}",
        found=f"{cells} instead of {expected}",
    )
