"""JSON that is not believed: every number stays the text that was found.

So ``3.5``, ``1e999`` and a number of a million digits reach the checking of ratings as they stand
in the file, and are reported there with their place, as ``NaN`` is. What no later step could make
sense of is refused here: truncated text, keys that stand twice in an object, nesting without end,
and characters that no UTF-8 file can hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pasta.annotations.formats.decoding import FILE_LIMIT, as_utf8, read_bytes
from pasta.errors import InputError

CONTAINER_LIMIT = 10_000_000  # lists and objects; each takes far more memory than its two bytes
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_NUMBER_MARK = "\0number:"
_MARKED = re.compile(r'"\\u0000number:([^"]*)"')


class Number(str):
    """A number of a JSON file, as it was written there."""

    __slots__ = ()


def load(path: Path, limit: int = FILE_LIMIT) -> Any:
    """Parse a JSON file of at most ``limit`` bytes."""
    return parse(read_bytes(path, limit), path)


def parse(data: bytes, file: Path) -> Any:
    """Parse JSON; raises nothing but :class:`InputError`."""
    data = as_utf8(data, file)
    if data.count(b"[") + data.count(b"{") > CONTAINER_LIMIT:
        raise _refused(f"holds more than {CONTAINER_LIMIT:,} lists and objects", file)
    text = data.decode("utf-8")

    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _refused(f"the key {_twice(pairs)!r} stands twice in one object", file)
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


def dump(value: Any, path: Path) -> None:
    """Write JSON in which every :class:`Number` stands as the number that it is."""
    text = json.dumps(_marked(value), ensure_ascii=True, allow_nan=False, indent=1)
    path.write_text(_MARKED.sub(r"\1", text) + "\n", encoding="utf-8")


def _marked(value: Any) -> Any:
    if isinstance(value, Number):
        return _NUMBER_MARK + value
    if isinstance(value, dict):
        return {key: _marked(one) for key, one in value.items()}
    return [_marked(one) for one in value] if isinstance(value, list) else value


def _twice(pairs: Iterable[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    raise ValueError("no key stands twice")


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
    return InputError(problem, file=file, expected="a file of ratings as JSON")
