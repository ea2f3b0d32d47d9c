"""What the commands that annotate images share: finished units that survive a kill, and bad files.

A network looks at every image of a dataset for minutes or hours. What is finished is kept beside
the table that is made, so that the next attempt goes on from there; the table itself appears whole
at the end, or not at all.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pasta import store
from pasta.errors import InputError, PastaError
from pasta.resume import KeptUnits

SHOWN = 5  # files that a message names


@dataclass(frozen=True)
class Picture:
    """An image file below a root, as it was when the work began: a changed one is another."""

    name: str
    size: int
    changed: int  # time of the last change of content or permissions, in nanoseconds

    @classmethod
    def of(cls, root: Path, name: str) -> Picture:
        """Look at a file that is there."""
        status = (root / name).stat()
        return cls(name, status.st_size, status.st_ctime_ns)


def require_new(table: Path, overwrite: bool) -> None:
    """Refuse to replace a table that may be somebody's work unless it is asked for."""
    if table.exists() and not overwrite:
        raise PastaError(f"{table} is already there; --overwrite replaces it. Nothing was changed")


def require_folder(root: Path, layout: str) -> None:
    """A root must be there before anything is loaded."""
    if not root.is_dir():
        raise PastaError(f"{root}: there is no such folder. Expected:\n{layout}")


@contextmanager
def kept_beside(table: Path, settings: Mapping[str, Any]) -> Iterator[KeptUnits]:
    """Units of an earlier attempt with the same settings; gone when the block succeeds.

    They stand in a hidden folder beside the table, under a key of the settings; those of other
    settings are thrown away. Only one process at a time may make a table.
    """
    home = table.with_name(f".{table.name}.unfinished")
    key = hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:32]
    busy = f"another command is making {table} just now. Nothing was changed"
    with store.exclusive(table.with_name(f".{table.name}.lock"), busy):
        for other in home.glob("*"):
            if other.name != key:
                shutil.rmtree(other)
        (home / key).mkdir(parents=True, exist_ok=True)
        yield KeptUnits(home / key)
        shutil.rmtree(home)


def divide(pictures: Sequence[Picture], size: int) -> Iterator[tuple[Picture, ...]]:
    """Divide images into units of work."""
    for start in range(0, len(pictures), size):
        yield tuple(pictures[start : start + size])


def look_at(root: Path, names: Iterable[str], lenient: bool) -> tuple[list[Picture], list[str]]:
    """Look at image files before any network sees one; returns what is there and what is not.

    Raises
    ------
    InputError
        One is missing, and this is not lenient.
    """
    pictures: list[Picture] = []
    missing: list[str] = []
    for name in names:
        try:
            pictures.append(Picture.of(root, name))
        except OSError as error:
            missing.append(f"{name}: {error.strerror}")
    if missing:
        refuse(root, missing, len(missing) + len(pictures), lenient, "are not there")
    return pictures, missing


def refuse(root: Path, problems: Sequence[str], total: int, lenient: bool, what: str) -> None:
    """Raise an error that names files, unless this is lenient, or nothing is left."""
    if not problems or (lenient and len(problems) < total):
        return
    more = f" ... and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    raise InputError(
        f"{len(problems):,} of {total:,} images {what}: {'; '.join(problems[:SHOWN])}{more}. "
        "No table was written. Put them right and start again (what is finished is kept), or "
        "leave them out with --lenient",
        file=root,
    )
