"""Batches: what was imported at once lies in one folder, which never changes again.

A folder holds the tables that have rows, as CSV, and ``batch.json``: where the batch came from,
how many rows it has, and the sha256 of each file. It appears by one rename, complete.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store
from pasta.contracts import Table, check, coerce
from pasta.errors import InputError, PastaError
from pasta.studies.ratings.formats.tidy import read_table
from pasta.studies.ratings.records import PARTS, Annotations
from pasta.studies.ratings.relations import TOGETHER
from pasta.text_files import write_csv

ABOUT = "batch.json"
_NAME = re.compile(r"(\d{4,})-.+")
_REPAIR = "restore the folder from your version control"
_DESCRIBED = ("number", "source", "format", "protocol", "sha256", "imported_at", "replaced")


def write_batch(folder: Path, annotations: Annotations, about: Mapping[str, Any]) -> None:
    """Write a batch, all or nothing; ``about`` is kept in its ``batch.json``.

    The folder must not be there yet. Only one process at a time may write into the same parent.
    """
    if folder.exists():
        raise PastaError(f"{folder}: is there already, and batches are never changed")
    parts = {name: part for name, part in annotations.parts().items() if len(part)}
    for name, part in parts.items():
        check(part, PARTS[name], file=folder / f"{name}.csv")
    store.sweep_folders(folder.parent, folder.name)
    with store.atomic_folder(folder) as temporary:
        files = {}
        for name, part in parts.items():
            file = temporary / f"{name}.csv"
            write_csv(part.sort_values(list(PARTS[name].key)), file)
            files[file.name] = sha256(file)
        content = {**about, "counts": counted(annotations), "files": files}
        store.write_json(content, temporary / ABOUT)


def read_batch(folder: Path) -> Annotations:
    """Read a batch; an error names a file that is missing or was changed."""
    files: Mapping[str, str] = describe(folder)["files"]
    unexpected = {file.name for file in folder.glob("*.csv")} - set(files)
    for name in sorted(unexpected):
        raise InputError("does not belong to the batch", file=folder / name, expected=_REPAIR)
    parts = {}
    for name, digest in files.items():
        file, table = folder / name, PARTS[name.removesuffix(".csv")]
        if not file.is_file():
            raise InputError("is missing from the batch", file=file, expected=_REPAIR)
        if sha256(file) != digest:
            raise InputError("was changed after it was stored", file=file, expected=_REPAIR)
        parts[table.name] = coerce(read_table(file).frame, table, file=file)
    return Annotations.of(parts)


def describe(folder: Path) -> dict[str, Any]:
    """What ``batch.json`` says of a batch."""
    file = folder / ABOUT
    about = store.read_json(file)
    files = about.get("files") if isinstance(about, dict) else None
    known = {f"{name}.csv" for name in PARTS}
    if not isinstance(files, dict) or not set(files) <= known:
        expected = "an object with the files of the batch and their sha256"
        raise InputError("does not describe a batch", file=file, expected=expected)
    result: dict[str, Any] = about
    return result


def list_batches(root: Path) -> list[Path]:
    """The folders of the batches in the order of their numbers."""
    folders = [one for one in root.iterdir() if _is_batch(one)] if root.is_dir() else []
    numbers: dict[int, Path] = {}
    for folder in sorted(folders):
        number = number_of(folder)
        if number in numbers:
            raise PastaError(
                f"{folder} and {numbers[number]} have the same number: remove one of the folders "
                "and import its file again"
            )
        numbers[number] = folder
    return [numbers[number] for number in sorted(numbers)]


def number_of(folder: Path) -> int:
    """The number of a batch, from the name of its folder."""
    match = _NAME.fullmatch(folder.name)
    if match is None:
        raise InputError("is no batch", file=folder, expected="a name such as 0001-votes")
    return int(match.group(1))


def merged(folders: Sequence[Path]) -> Annotations:
    """All batches together, sorted by key; a later batch overrules the earlier ones."""
    read = [read_batch(folder).parts() for folder in folders]
    return Annotations.of(
        {name: _later_wins([one[name] for one in read], table) for name, table in PARTS.items()}
    )


def ledger(root: Path) -> pd.DataFrame:
    """One row for each batch: where it came from, when, and its rows in each table."""
    rows = []
    for folder in list_batches(root):
        about = describe(folder)
        counts = about.get("counts", {})
        rows.append(
            {
                "folder": folder.name,
                **{name: about.get(name) for name in _DESCRIBED},
                **{name: counts.get(name, 0) for name in PARTS},
            }
        )
    return pd.DataFrame(rows, columns=["folder", *_DESCRIBED, *PARTS])


def counted(annotations: Annotations) -> dict[str, Any]:
    """Rows of each table, and votes on each question."""
    questions = annotations.votes["question"].value_counts().sort_index()
    return {
        **{name: len(part) for name, part in annotations.parts().items()},
        "questions": {str(name): int(number) for name, number in questions.items()},
    }


def sha256(file: Path) -> str:
    """The sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _is_batch(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".")


def _later_wins(frames: Iterable[pd.DataFrame], table: Table) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return table.frame([])
    if len(filled) == 1:  # batches are sorted
        return filled[0]
    key = list(table.key)
    together = pd.concat(filled, keys=range(len(filled)), names=["batch", "row"])
    if table.name in TOGETHER:  # only the rows of the last batch that has the group
        batch = together.index.get_level_values("batch").to_series(index=together.index)
        group = [together[name] for name in TOGETHER[table.name]]
        together = together[batch == batch.groupby(group).transform("max")]
    last = together.drop_duplicates(key, keep="last")
    return last.sort_values(key, ignore_index=True)
