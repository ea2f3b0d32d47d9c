"""Batches: what was imported at once lies in one folder, which never changes again.

A folder holds the tables that have rows, as CSV, and ``batch.json``: where the batch came from,
how many rows it has, and the sha256 of each file. It appears by one rename, complete. A batch that
is withdrawn stays, with ``withdrawn.json`` (when, and why) beside its tables: one file, which is
there or not.

The tables of a study are made of the batches that count, later over earlier, and never mix people
with simulated ones: as soon as a person has answered, all simulated rows give way.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store
from pasta.contracts import check, coerce
from pasta.errors import InputError, PastaError
from pasta.studies.base import (
    Frames,
    Part,
    Simulated,
    Study,
    fill_optional,
    has_people,
    people_only,
    reference_rows,
    simulated_rows,
)
from pasta.studies.reading import read_table
from pasta.text_files import write_csv

ABOUT, WITHDRAWN = "batch.json", "withdrawn.json"
_NAME = re.compile(r"(\d{4,})-.+")
_REPAIR = "restore the folder from your version control"
_DESCRIBED = ("number", "source", "format", "protocol", "sha256", "imported_at", "replaced")
_LEFT = ("withdrawn_at", "reason")


def write_batch(study: Study, folder: Path, frames: Frames, about: Mapping[str, Any]) -> None:
    """Write a batch, all or nothing; ``about`` is kept in its ``batch.json``.

    The folder must not be there yet. Only one process at a time may write into the same parent.
    """
    if folder.exists():
        raise PastaError(f"{folder}: is there already, and batches are never changed")
    parts = {name: part for name, part in frames.items() if len(part)}
    for name, part in parts.items():
        check(part, study.parts[name].table, file=folder / f"{name}.csv")
    store.sweep_folders(folder.parent, folder.name)
    with store.atomic_folder(folder) as temporary:
        files = {}
        for name, part in parts.items():
            file = temporary / f"{name}.csv"
            write_csv(part.sort_values(list(study.parts[name].table.key)), file)
            files[file.name] = sha256(file)
        content = {**about, "counts": counted(study, frames), "files": files}
        store.write_json(content, temporary / ABOUT)


def write_simulated(study: Study, simulated: Simulated, root: Path) -> None:
    """Write the batch of simulated people in a project, and beside it the truth behind it."""
    about = {
        "number": 0,
        "source": simulated.source,
        "format": simulated.source,
        "protocol": study.version,
        "sha256": "",
        "imported_at": "",
        "replaced": 0,
    }
    batch, planted = root / study.simulated_folder, root / study.planted_folder
    for folder in (batch, planted):
        shutil.rmtree(folder, ignore_errors=True)
    write_batch(study, batch, simulated.frames, about)
    truth = simulated.truth
    frames = {name: part for name, part in truth.items() if isinstance(part, pd.DataFrame)}
    plain = {name: part for name, part in truth.items() if name not in frames}
    store.write_json(plain, planted / "planted.json")
    for name, frame in frames.items():
        with store.atomic(planted / f"{name}.parquet") as temporary:
            frame.to_parquet(temporary, index=False)


def read_batch(study: Study, folder: Path) -> dict[str, pd.DataFrame]:
    """Read a batch; an error names a file that is missing or was changed."""
    files: Mapping[str, str] = describe(study, folder)["files"]
    unexpected = {file.name for file in folder.glob("*.csv")} - set(files)
    for name in sorted(unexpected):
        raise InputError("does not belong to the batch", file=folder / name, expected=_REPAIR)
    parts = {}
    for name, digest in files.items():
        file, table = folder / name, study.parts[name.removesuffix(".csv")].table
        if not file.is_file():
            raise InputError("is missing from the batch", file=file, expected=_REPAIR)
        if sha256(file) != digest:
            raise InputError("was changed after it was stored", file=file, expected=_REPAIR)
        text = fill_optional(read_table(study, file).frame, table, study.optional)
        parts[table.name] = coerce(text, table, file=file)
    return study.frames(parts)


def describe(study: Study, folder: Path) -> dict[str, Any]:
    """What ``batch.json`` says of a batch."""
    file = folder / ABOUT
    about = store.read_json(file)
    files = about.get("files") if isinstance(about, dict) else None
    known = {f"{name}.csv" for name in study.parts}
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


def withdrawal(folder: Path) -> dict[str, str] | None:
    """When a batch was withdrawn, and why; None if it counts."""
    file = folder / WITHDRAWN
    if not file.exists():
        return None
    about = store.read_json(file)
    if not isinstance(about, dict) or not isinstance(about.get("withdrawn_at"), str):
        expected = "an object with withdrawn_at and reason"
        raise InputError("does not describe a withdrawal", file=file, expected=expected)
    return {name: str(about.get(name, "")) for name in _LEFT}


def stored_folders(root: Path, simulated_folder: Path | None = None) -> list[Path]:
    """The batches in the order in which they overrule each other, the simulated one first.

    Withdrawn ones are among them: :func:`merged` knows them.
    """
    simulated = simulated_folder is not None and simulated_folder.is_dir()
    first = [simulated_folder] if simulated and simulated_folder is not None else []
    return [*first, *list_batches(root)]


def project_batches(study: Study, root: Path) -> list[Path]:
    """All stored batches of a study in a project, the simulated one first."""
    return stored_folders(root / study.batch_folder, root / study.simulated_folder)


def merged(study: Study, folders: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """All batches that count together, sorted by key; a later batch overrules the earlier ones.

    Of a withdrawn batch only those rows stay that answers of other batches refer to, such as who
    gave them. If a person has answered, no simulated row is left.
    """
    counting: list[dict[str, pd.DataFrame]] = []
    withdrawn: list[dict[str, pd.DataFrame]] = []
    for folder in folders:
        frames = read_batch(study, folder)
        (counting if withdrawal(folder) is None else withdrawn).append(frames)
    if any(has_people(study, frames) for frames in counting):
        counting = [people_only(frames) for frames in counting]
    found = _together(study, counting)
    return _with_parents(study, found, _together(study, withdrawn)) if withdrawn else found


def left_out(study: Study, folders: Sequence[Path], frames: Frames) -> int:
    """How many simulated answers of batches that count are not in the merged frames."""
    if not has_people(study, frames):
        return 0
    counting = [folder for folder in folders if withdrawal(folder) is None]
    counts = [describe(study, folder).get("counts", {}) for folder in counting]
    return sum(int(one.get("simulated", 0)) for one in counts)


def _together(study: Study, batches: Sequence[Frames]) -> dict[str, pd.DataFrame]:
    return {
        name: _later_wins([one[name] for one in batches], part)
        for name, part in study.parts.items()
    }


def _with_parents(
    study: Study, found: dict[str, pd.DataFrame], withdrawn: Frames
) -> dict[str, pd.DataFrame]:
    """The frames, with those rows of withdrawn batches that the others refer to."""
    result = dict(found)
    for name, part in study.parts.items():
        for reference in part.table.references:
            parent = reference.table
            if parent not in study.parts or found[name].empty:
                continue
            key = list(study.parts[parent].table.key)
            wanted = pd.MultiIndex.from_frame(found[name][list(reference.columns)])
            spare = withdrawn[parent]
            needed = spare[pd.MultiIndex.from_frame(spare[key]).isin(wanted)]
            result[parent] = _later_wins([needed, result[parent]], study.parts[parent])
    return result


def write_tables(study: Study, frames: Frames, outside: Frames, out: Path) -> None:
    """One Parquet file for each table; the main one also as CSV, because people compare them.

    Every row must refer to a row of ``outside`` or of the study's own tables.
    """
    parents = reference_rows(study, outside, frames)
    for name, frame in frames.items():
        for reference in study.parts[name].table.references:
            if len(frame) and reference.table not in parents:
                hint = f"`{study.makes_outside}` makes it"
                raise PastaError(f"{name} refer to the {reference.table} table: {hint}")
        store.write(frame, out / f"{name}.parquet", study.parts[name].table, parents)
    main = study.main.table
    store.write(frames[main.name], out / f"{main.name}.csv", main, parents)


def ledger(study: Study, root: Path) -> pd.DataFrame:
    """One row for each batch: where it came from, when, its rows, and whether it was withdrawn."""
    rows = []
    for folder in list_batches(root):
        about = describe(study, folder)
        counts = about.get("counts", {})
        rows.append(
            {
                "folder": folder.name,
                **{name: about.get(name) for name in _DESCRIBED},
                **{name: counts.get(name, 0) for name in study.parts},
                **(withdrawal(folder) or dict.fromkeys(_LEFT, "")),
            }
        )
    return pd.DataFrame(rows, columns=["folder", *_DESCRIBED, *study.parts, *_LEFT])


def counted(study: Study, frames: Frames) -> dict[str, Any]:
    """Rows of each table, simulated answers, and answers to each question."""
    return {
        **{name: len(part) for name, part in frames.items()},
        "simulated": simulated_rows(study, frames),
        "questions": study.tally(frames),
    }


def sha256(file: Path) -> str:
    """The sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _is_batch(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".")


def _later_wins(frames: Iterable[pd.DataFrame], part: Part) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return part.table.frame([])
    if len(filled) == 1:  # batches are sorted
        return filled[0]
    key = list(part.table.key)
    together = pd.concat(filled, keys=range(len(filled)), names=["batch", "row"])
    if part.together:  # only the rows of the last batch that has the group
        batch = together.index.get_level_values("batch").to_series(index=together.index)
        group = [together[name] for name in part.together]
        together = together[batch == batch.groupby(group).transform("max")]
    last = together.drop_duplicates(key, keep="last")
    return last.sort_values(key, ignore_index=True)
