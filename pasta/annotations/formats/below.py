"""Paths that a file names, kept below the folder of the file."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath

_NO_PATH = (OSError, RuntimeError, ValueError)  # RuntimeError: links in a circle


class Below:
    """A folder and what it holds; each folder below is looked at once."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._real = root.resolve()
        self._inside = cache(self._stays_inside)
        self._names = cache(self._list)

    def refusal(self, path: str) -> str | None:
        """Why a path is not followed, or None if it stays below the root."""
        plain = _plain(path)
        if not path.strip():
            return "is empty"
        if PurePosixPath(plain).is_absolute() or PureWindowsPath(path).drive:
            return "is absolute"
        if ".." in plain.split("/"):
            return "contains .."
        folder, name = _split(plain)
        is_link = self._names(folder).get(name, False)
        if not self._inside(folder) or (is_link and not self._stays_inside(plain)):
            return "leads out of the folder"
        return None

    def holds(self, path: str) -> bool:
        """Whether there is such a file, for a path that is not refused."""
        folder, name = _split(_plain(path))
        return name in self._names(folder)

    def tail(self, path: str) -> str:
        """The longest end of a path that names a file here; the path itself if there is none.

        A study is often moved after its paths were written down: ``/old/place/expl/a.png`` is
        ``expl/a.png`` here.
        """
        steps = _plain(path).split("/")
        if ".." in steps:
            return path
        tails = ("/".join(steps[first:]) for first in range(len(steps)))
        return next(
            (tail for tail in tails if tail and not tail.startswith("/") and self.holds(tail)), path
        )

    @staticmethod
    def relative(path: str) -> str:
        """The path in one spelling: slashes, no leading dot."""
        return str(PurePosixPath(_plain(path)))

    def _stays_inside(self, path: str) -> bool:
        try:
            return (self._real / path).resolve().is_relative_to(self._real)
        except _NO_PATH:
            return False

    def _list(self, folder: str) -> dict[str, bool]:
        """Names of the files in a folder, and whether each is a link."""
        try:
            with os.scandir(self._real / folder) as found:
                return {one.name: one.is_symlink() for one in found if one.is_file()}
        except _NO_PATH:  # no such folder, or a name that none can have
            return {}


def _plain(path: str) -> str:
    return path.replace("\\", "/")


def _split(plain: str) -> tuple[str, str]:
    folder, _, name = str(PurePosixPath(plain)).rpartition("/")
    return folder, name
