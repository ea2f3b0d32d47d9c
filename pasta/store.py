"""Reading and writing of tables and arrays: the only place that touches their layout on disk.

A file appears whole or not at all: everything is written to a temporary neighbour, flushed to the
disk and renamed. Whatever goes wrong before the rename leaves the old file readable.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pasta.errors import InputError, PastaError

if TYPE_CHECKING:
    import pandas as pd

    from pasta.contracts import Table


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success it becomes ``path``, on failure it is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = _neighbour(path)
    try:
        with _locked(temporary):
            yield temporary
            _flush(temporary)
            temporary.replace(path)
    except OSError as error:
        raise PastaError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder to put files into; on success it becomes ``path`` in one rename.

    ``path`` must not be there yet. Only one process at a time may make folders beside it, see
    :func:`exclusive`; so what a killed one has left is found by :func:`sweep_folders`.
    """
    temporary = _neighbour(path)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.iterdir():
            _flush(file)
        _flush(temporary)
        temporary.rename(path)
        _flush(path.parent)
    except OSError as error:
        raise PastaError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sweep_folders(parent: Path, name: str = "*") -> None:
    """Remove what killed makers of folders left behind; nobody may be making one."""
    for leftover in parent.glob(f".{name}.*.tmp"):
        if leftover.is_dir():
            shutil.rmtree(leftover)


@contextmanager
def exclusive(path: Path, busy: str = "") -> Iterator[None]:
    """Wait for a lock file and hold it; the lock goes with its process, however that ends.

    With the words of an error, ``busy``, it does not wait: who holds the lock may do so for hours.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise PastaError(f"{path}: cannot be locked: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise PastaError(busy) from None
        yield
    finally:
        os.close(descriptor)


def write(
    frame: pd.DataFrame,
    path: Path,
    table: Table,
    parents: Mapping[str, pd.DataFrame] | None = None,
) -> None:
    """Check a table against its contract and write it as Parquet, or as CSV by its suffix."""
    from pasta.contracts import check

    check(frame, table, parents, file=path)
    with atomic(path) as temporary:
        if path.suffix == ".csv":
            frame.to_csv(temporary, index=False, lineterminator="\n", date_format=_DATE)
        else:
            frame.to_parquet(temporary, index=False, compression="zstd")


def read(
    path: Path, table: Table, parents: Mapping[str, pd.DataFrame] | None = None
) -> pd.DataFrame:
    """Read a table and check it against its contract."""
    import pandas as pd
    from pyarrow import ArrowInvalid

    from pasta.contracts import check, coerce
    from pasta.text_files import read_csv

    if not path.exists():
        raise InputError("there is no such file", file=path, expected=f"the {table.name} table")
    if path.suffix == ".csv":
        text = read_csv(path, table.columns, f"the {table.name} table")
        return coerce(text.complete(), table, parents, file=path)
    try:
        frame = pd.read_parquet(path)
    except (ArrowInvalid, OSError) as error:
        expected = f"a whole parquet file with the {table.name} table"
        raise InputError(f"cannot be read: {error}", file=path, expected=expected) from error
    check(frame, table, parents, file=path)
    return frame


def write_array(array: NDArray[Any], path: Path) -> None:
    """Write one array as ``.npy``."""
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def read_array(path: Path, shape: tuple[int | None, ...] | None = None) -> NDArray[Any]:
    """Open an array read-only and memory-mapped; ``shape`` says what is expected, None is any."""
    if not path.exists():
        raise InputError("there is no such file", file=path, expected="an array")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        expected = "a whole .npy file of plain numbers"
        raise InputError(f"cannot be read: {error}", file=path, expected=expected) from error
    if shape is not None and not _fits(array.shape, shape):
        wanted = " x ".join("any" if side is None else str(side) for side in shape)
        found = " x ".join(map(str, array.shape))
        raise InputError(f"has the shape {found}", file=path, expected=wanted)
    result: NDArray[Any] = array
    return result


@contextmanager
def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[NDArray[Any]]:
    """Yield a writable memory-mapped array that appears at ``path`` when the block succeeds.

    The space is reserved first, so that a full disk is an error here and not a crash later, when
    a page of the mapping cannot be backed.
    """
    with atomic(path) as temporary:
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        with temporary.open("r+b") as file:
            _reserve(file.fileno(), temporary.stat().st_size)
        yield array
        array.flush()


@contextmanager
def growing_array(
    path: Path, shape: tuple[int, ...], dtype: DTypeLike
) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Yield a function that appends rows to an array, which appears at ``path`` when it is full.

    Rows go through the file, not through a mapping, so they do not stay in memory.
    """
    kind, missing = np.dtype(dtype), shape[0]
    with atomic(path) as temporary, temporary.open("wb") as file:
        header = {"descr": kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)

        def append(rows: NDArray[Any]) -> None:
            nonlocal missing
            missing -= len(rows)
            if rows.shape[1:] != shape[1:] or missing < 0:
                raise ValueError(f"{rows.shape} does not fit into {shape}")
            file.write(np.ascontiguousarray(rows, dtype=kind).tobytes())

        yield append
        if missing:
            raise ValueError(f"{path}: {missing} of {shape[0]} rows are missing")
        file.flush()


def write_json(value: Any, path: Path) -> None:
    """Write a small JSON file with sorted keys."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a small JSON file."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=path, expected="JSON") from error


_DATE = "%Y-%m-%dT%H:%M:%S.%fZ"


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(found) == len(wanted) and all(
        side is None or side == actual for actual, side in zip(found, wanted, strict=True)
    )


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate") and size:
        os.posix_fallocate(descriptor, 0, size)


def _neighbour(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _flush(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove what killed writers of the same file left behind; living ones hold a lock."""
    for neighbour in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(FileNotFoundError), _locked(neighbour) as mine:
            if mine:
                neighbour.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the lock that marks a temporary file as being written; yields whether we got it.

    The lock goes with its process, however that ends.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def file_md5(file: Path) -> str:
    """The md5 of what a file holds."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "md5").hexdigest()


def write_csvs(frames: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write one CSV for each table of an analysis; tables that an earlier run left are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        with atomic(folder / f"{name}.csv") as temporary:
            frame.to_csv(temporary, index=False, lineterminator="\n")
    for file in folder.glob("*.csv"):
        if file.stem not in frames:
            file.unlink()


def read_csvs(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables that an analysis has left in a folder, by name."""
    import pandas as pd

    files = sorted(folder.glob("*.csv"))
    if not files:
        raise PastaError(f"{folder}: no tables yet, expected those of an analysis: `dvc repro`")
    return {file.stem: pd.read_csv(file) for file in files}
