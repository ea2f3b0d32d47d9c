"""Which formats there are, and which of them a file is in, by what stands in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from pasta.errors import InputError
from pasta.studies.ratings.formats import label_studio, released, tidy
from pasta.studies.ratings.formats.files import STUDY, load_json
from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.records import Submission
from pasta.text_files import FILE_LIMIT, read_start

FORMATS = {
    "released": "human_annotations.json of the released PASTA dataset",
    "label_studio": "Label Studio's export as JSON",
    "tidy": "tables as CSV",
}


def read(
    path: Path,
    protocol: Protocol,
    known_samples: pd.Index | None = None,
    annotators: Path | None = None,
    limit: int = FILE_LIMIT,
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
        :func:`~pasta.studies.ratings.formats.released.read_released`.
    annotators
        A CSV file with who rated; it takes the place of what the other formats say of people.
    limit
        Largest size of a file, in bytes.
    """
    file = _file(path)
    if file.is_dir() or not read_start(file).startswith((b"[", b"{")):
        return tidy.read_tidy(path, annotators, limit)
    content = load_json(file, limit)
    if released.is_released(content):
        found = released.from_content(content, file, known_samples)
    elif label_studio.is_label_studio(content):
        found = label_studio.from_content(content, file, protocol)
    else:
        raise InputError("is in no known format", file=file, expected="; ".join(FORMATS.values()))
    if annotators is not None:
        found = _with_annotators(found, annotators, limit)
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


def _with_annotators(found: Submission, file: Path, limit: int) -> Submission:
    read = tidy.read_table(file, limit)
    if read.table.name != "annotators":
        problem = f"is the {read.table.name} table"
        raise InputError(problem, file=file, expected="the annotators table")
    tables = {**found.tables, "annotators": read.frame}
    return replace(found, tables=tables, findings=(*found.findings, *read.findings))
