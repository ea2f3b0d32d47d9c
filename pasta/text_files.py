"""Text and CSV files that other people made: the only reader of foreign CSV files.

Files come from spreadsheets, editors and other programs. A byte-order mark, Windows and old Mac
line ends, commas, semicolons or tabs, quoted cells with line ends in them and blank lines are
understood. Refused, with the line: what is not UTF-8 (whether a byte is Latin-1, Windows-1252 or
damage cannot be known, and a guess would store wrong words), a quotation mark that is never closed,
and files that are too large.
"""

from __future__ import annotations

import codecs
import csv
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from pasta.errors import InputError

MEGABYTE = 1_000_000
FILE_LIMIT = 1000 * MEGABYTE  # of a whole file
DELIMITERS = (",", ";", "\t")
_PEEK = 4096
_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'
_SPECIAL = re.compile('[",\r\n]')


@dataclass(frozen=True)
class CsvText:
    """A CSV file as text.

    Attributes
    ----------
    frame
        The rows that have as many cells as the header. Cells are texts, ``""`` where nothing
        stands. The index, ``place``, is the line of each row, from 1.
    ragged
        Line and number of cells of the other rows.
    """

    file: Path
    frame: pd.DataFrame
    ragged: tuple[tuple[int, int], ...]

    def complete(self) -> pd.DataFrame:
        """The rows, or an error if one of them has too few or too many cells."""
        for line, cells in self.ragged:
            expected = f"{self.frame.shape[1]} cells, as in the header"
            raise InputError(
                f"the row has {cells} cells", file=self.file, row=line, expected=expected
            )
        return self.frame


def read_csv(file: Path, known: Collection[str], expected: str, limit: int = FILE_LIMIT) -> CsvText:
    """Read a CSV file as text.

    Parameters
    ----------
    file
        The file.
    known
        Names of columns: the delimiter is the one by which most of them stand in the header.
    expected
        What the file should hold, for the message when it is empty.
    limit
        Largest size of the file, in bytes.
    """
    return _read_text(as_utf8(read_bytes(file, limit), file), file, known, expected)


def _read_text(data: bytes, file: Path, known: Collection[str], expected: str) -> CsvText:
    if b"\n" not in data:  # old Mac line ends, or a single line
        data = data.replace(b"\r", b"\n")
    rows = find_rows(data)
    if not len(rows.start) or rows.blank[0]:
        raise InputError("is empty or starts with an empty line", file=file, expected=expected)
    if rows.open_quote:
        problem = "cannot be read as CSV: a quotation mark is opened and never closed"
        raise InputError(problem, file=file, row=int(rows.line[-1]))
    header = data[rows.start[0] : rows.end[0]].decode("utf-8")
    delimiter, names = _split_header(header, known)
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise InputError("stands twice", file=file, row=1, column=twice[0], expected="it once")
    return _parse(data, rows, delimiter, names, file)


def read_csv_parts(
    file: Path, known: Collection[str], expected: str, size: int
) -> Iterator[CsvText]:
    """Read a CSV file as text in parts of about ``size`` bytes, lines numbered as in the file.

    Ends early where a cell is quoted: it may hold line ends, and only :func:`read_csv`, which sees
    the whole file, can tell where its row ends.
    """
    with _open_regular(file) as opened:
        header, rest, lines = opened.readline(), b"", 1
        while data := opened.read(size):
            data = rest + data
            end = data.rfind(b"\n") + 1 or len(data)
            part, rest = data[:end], data[end:]
            if b'"' in header or b'"' in part:
                return
            yield _with_header(header, part, lines, file, known, expected)
            lines += part.count(b"\n")
        if rest and b'"' not in rest:
            yield _with_header(header, rest, lines, file, known, expected)


def _with_header(
    header: bytes, part: bytes, before: int, file: Path, known: Collection[str], expected: str
) -> CsvText:
    """Some rows of a file, of which so many lines stand before them."""
    text = _read_text(as_utf8(header + part, file), file, known, expected)
    frame = text.frame.set_axis(text.frame.index + before - 1)
    frame.index.name = "place"
    ragged = tuple((line + before - 1, cells) for line, cells in text.ragged)
    return CsvText(file, frame, ragged)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write the columns of a typed frame: minimal quotes, plain line ends, times in ISO 8601.

    Hundreds of thousands of votes go through pyarrow; it can quote either every text or none, so a
    table with a cell that needs quotes is written cell by cell (the csv module does not quote a
    lone carriage return). Both ways write the same bytes where both can.
    """
    table = pa.table({str(name): as_text(frame[name]) for name in frame.columns})
    header = ",".join(table.column_names)
    if any(
        pc.any(pc.match_substring_regex(column, _SPECIAL.pattern)).as_py()
        for column in table.columns
    ):
        columns = [map(_quoted, column.to_pylist()) for column in table.columns]
        lines = [",".join(row) for row in zip(*columns, strict=True)]
        path.write_bytes("\n".join([header, *lines, ""]).encode())
        return
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        file.write(f"{header}\n".encode())
        pyarrow.csv.write_csv(table, file, options)


def as_text(column: pd.Series[Any]) -> Any:
    """A column as an arrow array of text: what the reader of CSV files finds."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        plain = pa.Array.from_pandas(column.dt.tz_convert("UTC").dt.tz_localize(None))
        text = plain.cast(pa.timestamp("us")).cast(pa.string())
        exact = pc.replace_substring(text, " ", "T", max_replacements=1)
        return pc.fill_null(pc.binary_join_element_wise(exact, "Z", ""), "")
    values = pa.Array.from_pandas(column)
    if pa.types.is_floating(values.type):
        # Python writes the shortest text that is the same number again.
        texts = [None if pd.isna(one) else repr(float(one)) for one in column]
        return pc.fill_null(pa.array(texts, pa.string()), "")
    return pc.fill_null(values.cast(pa.string()), "")


def read_bytes(path: Path, limit: int = FILE_LIMIT) -> bytes:
    """The bytes of a file of at most ``limit`` bytes."""
    with _open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        problem = f"is larger than {limit / MEGABYTE:g} MB"
        expected = "a file of ratings; split it if it really is one"
        raise InputError(problem, file=path, expected=expected)
    return data


def read_start(path: Path) -> bytes:
    """The first bytes of a file, without byte-order mark and space."""
    with _open_regular(path) as file:
        return file.read(_PEEK).removeprefix(codecs.BOM_UTF8).lstrip()


def as_utf8(data: bytes, file: Path) -> bytes:
    """The bytes without byte-order mark, known to be UTF-8 text without NUL."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _not_text(file, 1, "the file is UTF-16")
    data = data.removeprefix(codecs.BOM_UTF8)
    zero = data.find(b"\0")
    if zero >= 0:
        raise _not_text(file, _line_of(data, zero), "there is a NUL byte")
    try:
        codecs.utf_8_decode(data, "strict", True)
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02X}"
        found = f"the byte {byte} is not UTF-8; the text may be Latin-1 or damaged"
        raise _not_text(file, _line_of(data, error.start), found) from error
    return data


# Rows and cells


@dataclass(frozen=True)
class Rows:
    """Rows of a text: where each starts and ends, its line from 1, and whether it is blank."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]  # before the line end
    line: NDArray[np.int64]
    blank: NDArray[np.bool_]
    open_quote: bool  # the text ends within a quoted cell


def find_rows(data: bytes) -> Rows:
    """Find the rows of a text. A line end within quotation marks ends no row."""
    letters = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(letters == _LINE_FEED)
    lines_before = np.arange(1, len(feeds) + 1)
    open_quote = False
    ends = feeds
    if b'"' in data:
        inside = np.logical_xor.accumulate(letters == _QUOTE)
        open_quote = bool(inside[-1])
        outside = ~inside[feeds]
        ends, lines_before = feeds[outside], lines_before[outside]
    start = np.concatenate([[0], ends + 1]).astype(np.int64)
    line = np.concatenate([[1], lines_before + 1]).astype(np.int64)
    end = np.concatenate([ends, [len(data)]]).astype(np.int64)
    if start[-1] == len(data):  # the last line end is followed by nothing
        start, line, end = start[:-1], line[:-1], end[:-1]
    end = end - ((end > start) & (letters[np.maximum(end - 1, 0)] == _RETURN))
    return Rows(start, end, line, end == start, open_quote)


def _split_header(header: str, known: Collection[str]) -> tuple[str, list[str]]:
    def split(delimiter: str) -> list[str]:
        text = header.replace("\n", " ").replace("\r", " ")
        try:
            (cells,) = csv.reader([text], delimiter=delimiter)
        except csv.Error:  # a cell beyond the csv module's own limit
            return [text]
        return [cell.strip() for cell in cells]

    found = {delimiter: split(delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda one: sum(name in known for name in found[one]))
    return best, found[best]


def _parse(data: bytes, rows: Rows, delimiter: str, names: list[str], file: Path) -> CsvText:
    ragged: list[tuple[int, int]] = []  # row from 0 below the header, number of cells

    def skip(row: Any) -> str:
        ragged.append((row.number - 1, row.actual_columns))
        return "skip"

    body = memoryview(data)[int(rows.start[1]) :] if len(rows.start) > 1 else memoryview(b"")
    columns = [f"{place}" for place in range(len(names))]  # names may be empty
    if len(body):
        try:
            read = pyarrow.csv.read_csv(
                pa.BufferReader(pa.py_buffer(body)),
                # One block: rows are then numbered, and a cell may hold line ends.
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=len(body) + 1, column_names=columns
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=b'"' in data,
                    ignore_empty_lines=False,
                    invalid_row_handler=skip,
                ),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.large_string()),
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowException as error:
            raise InputError(f"cannot be read as CSV: {error}", file=file) from error
    else:
        read = pa.table({name: pa.array([], pa.large_string()) for name in columns})
    if read.num_rows + len(ragged) != len(rows.start) - 1:
        raise InputError(
            "its rows cannot be told apart",
            file=file,
            expected="no quotation mark or line end within a cell that is not quoted",
        )
    line, blank = rows.line[1:], rows.blank[1:]
    kept = np.ones(len(line), bool)
    kept[[row for row, _ in ragged]] = False
    frame: pd.DataFrame = read.to_pandas().astype("str").set_axis(names, axis=1)
    frame.index = pd.Index(line[kept], name="place")
    wrong = tuple((int(line[row]), cells) for row, cells in ragged if not blank[row])
    return CsvText(file, frame[~blank[kept]], wrong)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


# Bytes


@contextmanager
def _open_regular(path: Path) -> Iterator[BinaryIO]:
    """An open file; a pipe or a device, which may never end, is refused."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError("is not an ordinary file", file=path)
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read: {reason or error}", file=path) from error


def _line_of(data: bytes, position: int) -> int:
    """The line, from 1, in which a byte stands."""
    return data.count(b"\n", 0, position) + 1


def _not_text(file: Path, line: int, found: str) -> InputError:
    return InputError(found, file=file, row=line, expected="text saved as UTF-8")
