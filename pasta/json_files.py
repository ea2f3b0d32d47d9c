"""Files and folders of the formats: JSON, new folders, paths below a folder, ``study.json``.

JSON of other people is not trusted: every number stays the text that was found. So ``3.5``,
``1e999`` and a number of a million digits reach the check as they stand in the file, and
are reported there with their place, as ``NaN`` is. What no later step could make sense of is
refused here: truncated text, keys that stand twice in an object, nesting without end, and
characters that no UTF-8 file can hold.

``study.json`` says what a folder of answers has no other room for: the version of the protocol,
and beside a release people and their rankings. A batch of our own has the version in
``batch.json``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeGuard

from pasta import store
from pasta.errors import InputError, PastaError
from pasta.text_files import FILE_LIMIT, as_utf8, read_bytes

STUDY = "study.json"
_SMALL = 100_000_000
CONTAINER_LIMIT = 10_000_000  # lists and objects; each takes far more memory than its two bytes
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_NUMBER_MARK = "\0number:"
_MARKED = re.compile(r'"\\u0000number:([^"]*)"')
_NO_PATH = (OSError, RuntimeError, ValueError)  # RuntimeError: links in a circle


class Number(str):
    """A number of a JSON file, as it was written there."""

    __slots__ = ()


def load_json(path: Path, limit: int = FILE_LIMIT) -> Any:
    """Parse a JSON file of at most ``limit`` bytes."""
    return parse_json(read_bytes(path, limit), path)


def parse_json(data: bytes, file: Path) -> Any:
    """Parse JSON; raises nothing but :class:`InputError`."""
    data = as_utf8(data, file)
    if data.count(b"[") + data.count(b"{") > CONTAINER_LIMIT:
        raise _refused(f"holds more than {CONTAINER_LIMIT:,} lists and objects", file)
    text = data.decode("utf-8")

    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise _refused(f"the key {twice!r} stands twice in one object", file)
        return found

    try:
        value = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number,
            object_pairs_hook=no_key_twice,
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"cannot be read as JSON: {error.msg} at character {error.colno}",
            file=file,
            row=error.lineno,
            expected="a whole JSON file",
        ) from error
    except RecursionError as error:
        raise _refused("lists or objects are nested too deeply", file) from error
    if _ESCAPED.search(text):  # such characters can only come in as escapes
        _refuse_unwritable(value, file)
    return value


def shown(value: Any) -> str:
    """A value in the words of a finding or a cell: the text itself, or what it is instead.

    Never goes into lists and objects, which may be deep.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "a list" if isinstance(value, list) else "an object"


def is_text(value: Any) -> TypeGuard[str]:
    """Whether a JSON value is a text, not a number."""
    return isinstance(value, str) and not isinstance(value, Number)


def dump_json(value: Any, path: Path) -> None:
    """Write JSON in which every :class:`Number` stands as the number that it is."""
    text = json.dumps(_marked(value), ensure_ascii=True, allow_nan=False, indent=1)
    path.write_text(_MARKED.sub(r"\1", text) + "\n", encoding="utf-8")


def _marked(value: Any) -> Any:
    if isinstance(value, Number):
        return _NUMBER_MARK + value
    if isinstance(value, dict):
        return {key: _marked(one) for key, one in value.items()}
    return [_marked(one) for one in value] if isinstance(value, list) else value


def _refuse_unwritable(value: Any, file: Path) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if _UNWRITABLE.search(one):
                raise _refused("a text holds half a surrogate pair or a NUL character", file)
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def _refused(problem: str, file: Path) -> InputError:
    return InputError(problem, file=file, expected="a file of answers as JSON")


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``out`` on success and is removed on failure.

    ``out`` must not exist, or be an empty folder: nothing is ever written over.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise PastaError(f"{out}: exists already; choose another place or remove it")
    with store.atomic_folder(out) as temporary:
        yield temporary


def claimed_protocol(folder: Path) -> str | None:
    """The version of the protocol that a folder claims to follow."""
    for name in (STUDY, "batch.json"):
        claimed = read_study(folder, name).get("protocol")
        if claimed is not None and (isinstance(claimed, Number) or not isinstance(claimed, str)):
            raise InputError(
                f"the protocol is {shown(claimed)}",
                file=folder / name,
                expected="a version such as p2",
            )
        if claimed is not None:
            return str(claimed)
    return None


def read_study(folder: Path, name: str = STUDY) -> dict[str, Any]:
    """The file's content; nothing if there is no such file."""
    path = folder / name
    if not path.is_file():
        return {}
    found = load_json(path, _SMALL)
    if not isinstance(found, dict):
        raise InputError("is no JSON object", file=path, expected="what a study says of itself")
    return found


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
