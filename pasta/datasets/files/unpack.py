"""Archives to folders: all or nothing, and never outside of the target."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

from pasta.errors import InputError

Kind = Literal["zip", "tar"]


def unpack(archive: Path, kind: Kind, root: Path, inside: str = "") -> list[Path]:
    """Unpack an archive below ``root``.

    Parameters
    ----------
    inside
        Only what lies in this folder of the archive is kept, without the folder itself.

    Returns
    -------
    list of Path
        The files and folders that appeared directly below ``root``.
    """
    staging = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=root))
    try:
        _extract(archive, kind, staging)
        source = staging / inside
        if not source.is_dir():
            raise InputError(f"there is no folder {inside!r} in the archive", file=archive)
        names = sorted(path.name for path in source.iterdir())
        for name in names:
            _place(source / name, root / name)
        return [root / name for name in names]
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _extract(archive: Path, kind: Kind, folder: Path) -> None:
    try:
        if kind == "zip":
            with zipfile.ZipFile(archive) as zipped:
                _refuse(zipped.namelist(), archive)
                zipped.extractall(folder)  # noqa: S202 - the names were checked
        else:
            with tarfile.open(archive) as tarred:
                # The "data" filter strips a leading slash instead of refusing it, so look first.
                _refuse(tarred.getnames(), archive)
                tarred.extractall(folder, filter="data")
    except tarfile.FilterError as error:
        raise InputError(f"an unsafe member: {error}", file=archive) from None
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise InputError(f"could not be unpacked: {error}", file=archive) from None


def _refuse(names: Iterable[str], archive: Path) -> None:
    for name in names:
        for path in (PurePosixPath(name), PureWindowsPath(name)):
            if path.anchor or ".." in path.parts:
                raise InputError(
                    f"the member {name!r} would be written outside of the folder", file=archive
                )


def _place(source: Path, target: Path) -> None:
    """Rename, or merge into a folder that is already there, keeping what else it has."""
    if source.is_dir() and target.is_dir():
        for child in source.iterdir():
            _place(child, target / child.name)
    else:
        source.replace(target)
