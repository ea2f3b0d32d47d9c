"""Finished units of a stage that was killed, so that the next attempt goes on where it was.

DVC decides whether a stage runs; this module only spares a long stage from starting at zero after
a kill. Finished units are filed under a key of *everything* the stage could depend on: all source
code, all parameters, and the content of its inputs. A different key throws them away, and so does
the stage itself when it has succeeded.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta import store
from pasta.paths import DATA, HEADLINES, PARAMS, project_root

Arrays = dict[str, NDArray[Any]]
UNITS = DATA / "units"  # ignored by git, in no stage's outputs
CODE = ("pasta", "analysis", "pipelines", "reports")
SOURCES = (".py", ".yaml", ".json", ".typ")


@dataclass(frozen=True)
class KeptUnits:
    """Results of finished units in a folder that belongs to one key."""

    folder: Path

    def read(self, unit: Any) -> Arrays | None:
        """The result of a unit, if it was finished."""
        file = self._file(unit)
        if not file.is_file():
            return None
        with np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}

    def write(self, unit: Any, result: Mapping[str, NDArray[Any]]) -> None:
        """Keep the result of a unit; the file appears whole or not at all."""
        with store.atomic(self._file(unit)) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **result)

    def _file(self, unit: Any) -> Path:
        return self.folder / f"{hashlib.sha256(repr(unit).encode()).hexdigest()[:32]}.npz"


@contextmanager
def kept_units(stage: str, inputs: Iterable[Path]) -> Iterator[KeptUnits]:
    """Units of the same stage, code, parameters and inputs; gone when the block succeeds.

    ``inputs`` are the files and folders that the stage reads.
    """
    root = project_root()
    home = root / UNITS / stage.replace("@", ".")
    folder = home / stage_key(root, inputs)
    for other in home.glob("*"):
        if other != folder:
            shutil.rmtree(other)
    folder.mkdir(parents=True, exist_ok=True)
    yield KeptUnits(folder)
    shutil.rmtree(home)


def stage_key(root: Path, inputs: Iterable[Path]) -> str:
    """The sha256 of all source code, all parameters and the content of the inputs."""
    code = (file for folder in CODE for file in _files(root / folder) if _is_source(root, file))
    given = (file for path in sorted(inputs) for file in _files(path))
    digest = hashlib.sha256()
    for file in (root / PARAMS, *code, *given):
        name = file.relative_to(root) if file.is_relative_to(root) else file
        digest.update(name.as_posix().encode())
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def code_key() -> str:
    """The sha256 of the source code as it was when this process first asked."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for folder in CODE:
        for file in _files(root / folder):
            if _is_source(root, file):
                digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())


def _is_source(root: Path, file: Path) -> bool:
    return (
        file.suffix in SOURCES and not file.is_relative_to(root / DATA) and file != root / HEADLINES
    )
