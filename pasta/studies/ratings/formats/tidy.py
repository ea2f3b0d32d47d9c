"""Tables as CSV, one file each: what people make with a spreadsheet, and what we store.

A header that belongs to no table is refused. A row with the wrong number of cells is a finding with
its line. Columns too many or too few are left to the check, which knows what can be done without.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pasta.contracts import Table
from pasta.errors import InputError
from pasta.store import write_json
from pasta.studies.ratings.checking import OPTIONAL
from pasta.studies.ratings.formats.files import STUDY, claimed_protocol, new_folder
from pasta.studies.ratings.records import PARTS, Annotations, Finding, Submission
from pasta.text_files import FILE_LIMIT, read_csv, write_csv

_EXPECTED = "a header such as sample_id,annotator_id,question,rating"
_NAMES = frozenset(name for table in PARTS.values() for name in table.columns)


@dataclass(frozen=True)
class Read:
    """A file with one of the tables, as text."""

    table: Table
    frame: pd.DataFrame  # by line
    findings: tuple[Finding, ...]  # rows that do not fit


def read_tidy(path: Path, annotators: Path | None = None, limit: int = FILE_LIMIT) -> Submission:
    """Read a CSV file with one of the tables, or a folder of them.

    ``annotators`` is a CSV file with who rated, to be read along. The index of every frame is the
    line in its file.
    """
    files = [*csv_files(path), *([annotators] if annotators is not None else [])]
    tables: dict[str, pd.DataFrame] = {}
    findings: list[Finding] = []
    for file in files:
        read = read_table(file, limit)
        if read.table.name in tables:
            raise InputError(f"is a second file with the {read.table.name} table", file=file)
        tables[read.table.name] = read.frame
        findings += read.findings
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


def read_table(file: Path, limit: int = FILE_LIMIT) -> Read:
    """Read a file and tell which of the tables it holds."""
    text = read_csv(file, _NAMES, _EXPECTED, limit)
    names = list(text.frame.columns)
    table = _recognise(names)
    if table is None:
        raise InputError("its first line belongs to no table", file=file, row=1, expected=_EXPECTED)
    findings = tuple(
        Finding(
            "a row has too few or too many cells",
            "give every row as many cells as the header; put cells with the delimiter in quotes",
            table=table.name,
            place=f"line {line}",
            found=f"{cells} instead of {len(names)}",
        )
        for line, cells in text.ragged
    )
    return Read(table, text.frame, findings)


def write_tidy(annotations: Annotations, folder: Path, protocol: str) -> None:
    """Write a new folder with a CSV file for every table that is not empty, sorted by key.

    ``protocol`` is the version that the annotations follow; it is said in ``study.json``.
    """
    with new_folder(folder) as temporary:
        for name, frame in annotations.parts().items():
            if len(frame):
                ordered = frame.sort_values(list(PARTS[name].key), kind="stable")
                write_csv(ordered, temporary / f"{name}.csv")
        write_json({"protocol": protocol}, temporary / STUDY)


def _recognise(names: Iterable[str]) -> Table | None:
    """The table that a header is most like; at least half of its necessary columns are there."""
    given = set(names)

    def score(table: Table) -> tuple[int, int]:
        missing = set(table.columns) - given - OPTIONAL
        return len(given & set(table.columns)) - len(missing), -len(table.columns)

    best = max(PARTS.values(), key=score)
    needed = set(best.columns) - OPTIONAL
    return best if 2 * len(given & needed) >= len(needed) else None
