"""Reading of answers: tables as CSV, which every study has, and the study's other formats.

CSV is what people make with a spreadsheet, and what we store, one file for each table. A header
that belongs to no table is refused. A row with the wrong number of cells is a finding with its
line. Columns too many or too few are left to the check, which knows what can be done without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from pasta.contracts import Table
from pasta.errors import InputError, PastaError
from pasta.json_files import STUDY, claimed_protocol, load_json, new_folder
from pasta.store import write_json
from pasta.studies.base import Finding, Frames, Study, Submission, rename
from pasta.text_files import (
    FILE_LIMIT,
    MEGABYTE,
    CsvText,
    read_csv,
    read_csv_parts,
    read_start,
    write_csv,
)

LARGE = 16 * MEGABYTE  # a file that is looked at in parts first
PART = 4 * MEGABYTE
_TWO = 2  # columns of a map of ids


@dataclass(frozen=True)
class Read:
    """A file with one of the tables, as text."""

    table: Table
    frame: pd.DataFrame  # by line
    findings: tuple[Finding, ...]  # rows that do not fit


def read(
    path: Path,
    study: Study,
    outside: Frames | None = None,
    people: Path | None = None,
    limit: int = FILE_LIMIT,
    ids: Mapping[str, str] | None = None,
) -> Submission:
    """Read answers in any format of a study; raises :class:`InputError` for what is in none.

    Parameters
    ----------
    path
        A file, or a folder of files. The format is told by the content, not by the name.
    study
        The study that the answers belong to.
    outside
        The tables that answers refer to, such as the explanations computed here.
    people
        A CSV file with who took part; it takes the place of what other formats say of people.
    limit
        Largest size of a file, in bytes.
    ids
        Our names of what was rated, by those of the file (see :func:`read_ids`).
    """
    file = _find_file(path, study)
    if file.is_dir() or not read_start(file).startswith((b"[", b"{")):
        return rename(read_tidy(study, path, people, limit), study.rated or "", ids or {})
    content = load_json(file, limit)
    form = next((one for one in study.formats if one.fits(content, file)), None)
    if form is None:
        known = "; ".join([*(one.about for one in study.formats), "tables as CSV"])
        raise InputError("is in no known format", file=file, expected=known)
    found = form.read(content, file, outside or {}, ids or {})
    if people is not None:
        found = _with_people(found, study, people, limit)
    return replace(found, source=path.name)


def read_ids(file: Path, study: Study) -> dict[str, str]:
    """Our names by those of a file of answers, from a CSV file with two columns: theirs, ours.

    No name may stand twice in a column: two things would become one.
    """
    if study.rated is None:
        raise PastaError(f"the study {study.name!r} has nothing that could have another name")
    expected = f"a header such as theirs,{study.rated} and below it their id and ours"
    frame = read_csv(file, (study.rated,), expected).complete()
    if frame.shape[1] != _TWO:
        problem = f"has {frame.shape[1]} columns"
        raise InputError(problem, file=file, row=1, expected=expected)
    for column in frame.columns:
        names = frame[column]
        for line, name, again in zip(frame.index, names, names.duplicated(), strict=True):
            if again or not name.strip():
                problem = f"{name!r} stands in an earlier row too" if again else "there is no id"
                expected = "every id once"
                raise InputError(problem, file=file, row=line, column=column, expected=expected)
    return dict(zip(frame.iloc[:, 0], frame.iloc[:, 1], strict=True))


def read_in_parts(
    path: Path,
    study: Study,
    people: Path | None = None,
    ids: Mapping[str, str] | None = None,
    large: int = LARGE,
    size: int = PART,
) -> Iterator[Submission]:
    """The main table of large CSV files part by part, each with all of the other tables.

    So a file that is wrong throughout is known without being read whole. There are no parts of a
    file that is not CSV or not larger than ``large`` bytes; ``size`` is that of a part.
    """
    found = _find_file(path, study)
    if found.is_file() and read_start(found).startswith((b"[", b"{")):
        return
    files = [*csv_files(path, study), *([people] if people is not None else [])]
    if not any(file.is_file() and file.stat().st_size > large for file in files):
        return
    main: list[Path] = []
    others: dict[str, pd.DataFrame] = {}
    for file in files:
        first = next(read_parts(study, file, size), None)
        if first is not None and first.table is study.main.table:
            main.append(file)
        else:
            one = read_table(study, file)
            others[one.table.name] = one.frame
    for file in main:
        for part in read_parts(study, file, size):
            tables = {**others, part.table.name: part.frame}
            given = Submission(path.name, "tidy", tables, part.findings)
            yield rename(given, study.rated or "", ids or {})


def read_tidy(
    study: Study, path: Path, people: Path | None = None, limit: int = FILE_LIMIT
) -> Submission:
    """Read a CSV file with one of the tables, or a folder of them.

    ``people`` is a CSV file with who took part, to be read along. The index of every frame is the
    line in its file.
    """
    files = [*csv_files(path, study), *([people] if people is not None else [])]
    tables: dict[str, pd.DataFrame] = {}
    findings: list[Finding] = []
    for file in files:
        one = read_table(study, file, limit)
        if one.table.name in tables:
            raise InputError(f"is a second file with the {one.table.name} table", file=file)
        tables[one.table.name] = one.frame
        findings += one.findings
    protocol = claimed_protocol(path) if path.is_dir() else None
    return Submission(path.name, "tidy", tables, tuple(findings), protocol)


def read_table(study: Study, file: Path, limit: int = FILE_LIMIT) -> Read:
    """Read a file and tell which of the study's tables it holds."""
    return _told(study, read_csv(file, *_known_header(study), limit))


def read_parts(study: Study, file: Path, size: int) -> Iterator[Read]:
    """Read a file in parts of about so many bytes; ends early where a cell is quoted."""
    for text in read_csv_parts(file, *_known_header(study), size):
        yield _told(study, text)


def _known_header(study: Study) -> tuple[frozenset[str], str]:
    """All names of columns, and a header as it may be."""
    names = frozenset(name for part in study.parts.values() for name in part.table.columns)
    needed = [name for name in study.main.table.columns if name not in study.optional]
    return names, f"a header such as {','.join(needed)}"


def _told(study: Study, text: CsvText) -> Read:
    """Text as rows of one of the tables."""
    file, header, (_, expected) = text.file, list(text.frame.columns), _known_header(study)
    table = _recognise(study, header)
    if table is None:
        raise InputError("its first line belongs to no table", file=file, row=1, expected=expected)
    findings = tuple(
        Finding(
            "a row has too few or too many cells",
            "give every row as many cells as the header; put cells with the delimiter in quotes",
            table=table.name,
            place=f"line {line}",
            found=f"{cells} instead of {len(header)}",
        )
        for line, cells in text.ragged
    )
    return Read(table, text.frame, findings)


def write_tidy(study: Study, frames: Frames, folder: Path) -> None:
    """Write a new folder with a CSV file for every table that is not empty, sorted by key.

    ``study.json`` says which version of the protocol the answers follow.
    """
    with new_folder(folder) as temporary:
        for name, frame in frames.items():
            if len(frame):
                key = list(study.parts[name].table.key)
                write_csv(frame.sort_values(key, kind="stable"), temporary / f"{name}.csv")
        write_json({"protocol": study.version}, temporary / STUDY)


def _find_file(path: Path, study: Study) -> Path:
    """The file to look into: one with a known name in a folder, or the only JSON file there."""
    if not path.is_dir():
        return path
    known = [form.file for form in study.formats if form.file is not None]
    for name in known:
        if (path / name).is_file():
            return path / name
    if any(one.suffix.lower() == ".csv" for one in path.iterdir()):
        return path
    found = [one for one in path.glob("*.json") if one.name != STUDY]
    if len(found) != 1:
        expected = ", ".join([*known, "tables as CSV, or one export as JSON"])
        raise InputError("holds no file of answers", file=path, expected=expected)
    return found[0]


def csv_files(path: Path, study: Study) -> list[Path]:
    """The file itself, or the CSV files of a folder; every one of them must be a table."""
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.suffix.lower() == ".csv")
    if not found:
        expected = f"{study.main.table.name}.csv and the like"
        raise InputError("holds no CSV file", file=path, expected=expected)
    return found


def _with_people(found: Submission, study: Study, file: Path, limit: int) -> Submission:
    given = read_table(study, file, limit)
    if study.people is None or given.table.name != study.people:
        expected = f"the {study.people} table" if study.people else "no such file in this study"
        raise InputError(f"is the {given.table.name} table", file=file, expected=expected)
    frame, key = given.frame, given.table.key[0]
    own = found.tables.get(study.people)
    if own is not None and key in frame:
        # Flags that only the format knows, such as that somebody is anonymous, stay.
        known = own.drop_duplicates(key).set_index(key)
        columns = given.table.columns.items()
        flags = [name for name, column in columns if str(column.dtype) == "bool" and name in known]
        missing = [name for name in flags if name not in frame]
        frame = frame.assign(**{name: frame[key].map(known[name]).fillna("") for name in missing})
    tables = {**found.tables, study.people: frame}
    return replace(found, tables=tables, findings=(*found.findings, *given.findings))


def _recognise(study: Study, names: Iterable[str]) -> Table | None:
    """The table that a header is most like; at least half of its necessary columns are there."""
    given = set(names)

    def score(table: Table) -> tuple[int, int]:
        missing = set(table.columns) - given - study.optional
        return len(given & set(table.columns)) - len(missing), -len(table.columns)

    best = max((part.table for part in study.parts.values()), key=score)
    needed = set(best.columns) - study.optional
    return best if 2 * len(given & needed) >= len(needed) else None
