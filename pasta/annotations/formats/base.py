"""Which formats there are, and which of them a file is in, by what stands in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.annotations.formats import label_studio, released, tidy
from pasta.annotations.formats.files import STUDY, load_json
from pasta.annotations.protocol import Protocol
from pasta.annotations.records import Submission
from pasta.errors import InputError
from pasta.registry import Registry
from pasta.text_files import FILE_LIMIT, LINE_LIMIT, read_start


@dataclass(frozen=True)
class Given:
    """What is to be read, and what a reader may want to know."""

    path: Path  # as the user gave it: a file or a folder
    file: Path  # the file that was looked into
    content: Any  # its JSON, or None for what is not JSON
    protocol: Protocol
    known_samples: pd.Index | None = None
    annotators: Path | None = None
    limit: int = FILE_LIMIT
    line_limit: int = LINE_LIMIT


@dataclass(frozen=True)
class Format:
    """A format: for people, how it is told from others, and its reader."""

    title: str
    recognises: Callable[[Any], bool]
    read: Callable[[Given], Submission]


FORMATS: Registry[Format] = Registry("format")


def _add(
    key: str, title: str, recognises: Callable[[Any], bool]
) -> Callable[[Callable[[Given], Submission]], Callable[[Given], Submission]]:
    def register(read: Callable[[Given], Submission]) -> Callable[[Given], Submission]:
        FORMATS.register(key)(Format(title, recognises, read))
        return read

    return register


@_add("released", "human_annotations.json of the released PASTA dataset", released.is_released)
def _released(given: Given) -> Submission:
    return released.from_content(given.content, given.file, given.known_samples)


@_add("label_studio", "Label Studio's export as JSON", label_studio.is_label_studio)
def _label_studio(given: Given) -> Submission:
    return label_studio.from_content(given.content, given.file, given.protocol)


@_add("tidy", "tables as CSV", lambda content: content is None)
def _tidy(given: Given) -> Submission:
    return tidy.read_tidy(given.path, given.annotators, given.limit, given.line_limit)


def read(
    path: Path,
    protocol: Protocol,
    known_samples: pd.Index | None = None,
    annotators: Path | None = None,
    limit: int = FILE_LIMIT,
    line_limit: int = LINE_LIMIT,
) -> Submission:
    """Read ratings in any of the formats; raises :class:`InputError` for what is in none.

    Parameters
    ----------
    path
        A file, or a folder with a release or with tables.
    protocol
        The protocol that answers are matched with.
    known_samples
        Sample ids of the explanations computed here; see
        :func:`~pasta.annotations.formats.released.read_released`.
    annotators
        A CSV file with who rated; it takes the place of what the other formats say of people.
    limit, line_limit
        Largest size of a file and of a line of a table, in bytes.
    """
    file = _file(path)
    start = b"" if file.is_dir() else read_start(file)
    content = load_json(file, limit) if start.startswith((b"[", b"{")) else None
    given = Given(path, file, content, protocol, known_samples, annotators, limit, line_limit)
    for entry in FORMATS.entries():
        if entry.value.recognises(content):
            found = entry.value.read(given)
            break
    else:
        titles = "; ".join(entry.value.title for entry in FORMATS.entries())
        raise InputError("is in no known format", file=file, expected=titles)
    if annotators is not None and content is not None:
        found = _with_annotators(found, annotators, limit, line_limit)
    return replace(found, source=path.name)


def _file(path: Path) -> Path:
    """The file to look into: that of a release in a folder, or the only JSON file there."""
    if not path.is_dir():
        return path
    if (path / released.FILE).is_file():
        return path / released.FILE
    if any(one.suffix.lower() == ".csv" for one in path.iterdir()):
        return path
    found = [one for one in path.glob("*.json") if one.name != STUDY]
    if len(found) != 1:
        expected = f"{released.FILE}, tables as CSV, or one export as JSON"
        raise InputError("holds no file of ratings", file=path, expected=expected)
    return found[0]


def _with_annotators(found: Submission, file: Path, limit: int, line_limit: int) -> Submission:
    read = tidy.read_table(file, limit, line_limit)
    if read.table.name != "annotators":
        problem = f"is the {read.table.name} table"
        raise InputError(problem, file=file, expected="the annotators table")
    tables = {**found.tables, "annotators": read.frame}
    return replace(found, tables=tables, findings=(*found.findings, *read.findings))
