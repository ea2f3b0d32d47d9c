"""Bytes of a file that nobody has looked at yet, turned into text that can be trusted to be text.

Files come from spreadsheets, editors and other people's programs. A mark of byte order and Windows
line ends are understood. Anything but UTF-8 is refused, with the line: whether a byte is Latin-1,
Windows-1252 or damage cannot be known, and a guess would store wrong words without a sound.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pasta.errors import InputError

MEGABYTE = 1_000_000
FILE_LIMIT = 1000 * MEGABYTE  # of a whole file
LINE_LIMIT = MEGABYTE  # of one line of a table
_CHUNK = 1 << 20
_PEEK = 4096
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bytes(path: Path, limit: int = FILE_LIMIT) -> bytes:
    """The bytes of a file of at most ``limit`` bytes."""
    return _read(path, limit, None)


def read_lines(path: Path, limit: int = FILE_LIMIT, line_limit: int = LINE_LIMIT) -> bytes:
    """The bytes of a file whose lines are bounded too; reading stops at the first that is not."""
    return _read(path, limit, line_limit)


def read_start(path: Path) -> bytes:
    """The first bytes of a file, without byte-order mark and space."""
    with _ordinary(path) as file:
        return file.read(_PEEK).removeprefix(codecs.BOM_UTF8).lstrip()


def as_utf8(data: bytes, file: Path) -> bytes:
    """The bytes without byte-order mark, known to be UTF-8 text without NUL."""
    if data.startswith(_WIDE):
        raise _not_text(file, 1, "the file is UTF-16")
    data = data.removeprefix(codecs.BOM_UTF8)
    zero = data.find(b"\0")
    if zero >= 0:
        raise _not_text(file, line_of(data, zero), "there is a NUL byte")
    if not data.isascii():
        try:
            codecs.utf_8_decode(data, "strict", True)
        except UnicodeDecodeError as error:
            byte = f"0x{data[error.start]:02X}"
            found = f"the byte {byte} is not UTF-8; the text may be Latin-1 or damaged"
            raise _not_text(file, line_of(data, error.start), found) from error
    return data


def line_of(data: bytes, position: int) -> int:
    """The line, from 1, in which a byte stands."""
    return data.count(b"\n", 0, position) + 1


@contextmanager
def _ordinary(path: Path) -> Iterator[BinaryIO]:
    """An open file; a pipe or a device, which may never end, is none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError("is not an ordinary file", file=path)
        with path.open("rb") as file:
            yield file
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read: {reason or error}", file=path) from error


def _read(path: Path, limit: int, line_limit: int | None) -> bytes:
    # No chunk is longer than a line may be, so only lines across chunks need counting.
    step = _CHUNK if line_limit is None else max(1, min(_CHUNK, line_limit))
    chunks: list[bytes] = []
    size, line, open_line = 0, 1, 0
    with _ordinary(path) as file:
        while chunk := file.read(step):
            size += len(chunk)
            _refuse_large(path, max(size, os.fstat(file.fileno()).st_size), limit)
            if line_limit is not None:
                first = chunk.find(b"\n")
                open_line += len(chunk) if first < 0 else first
                if open_line > line_limit:
                    raise _long_line(path, line, line_limit)
                if first >= 0:
                    open_line = len(chunk) - 1 - chunk.rfind(b"\n")
                    line += chunk.count(b"\n")
            chunks.append(chunk)
    return b"".join(chunks)


def _refuse_large(path: Path, size: int, limit: int) -> None:
    if size > limit:
        raise InputError(
            f"is larger than {limit / MEGABYTE:g} MB",
            file=path,
            expected="a file of ratings; split it if it really is one",
        )


def _long_line(path: Path, line: int, limit: int) -> InputError:
    return InputError(
        f"the line is longer than {limit / MEGABYTE:g} MB",
        file=path,
        row=line,
        expected="one row of a table in each line",
    )


def _not_text(file: Path, line: int, found: str) -> InputError:
    return InputError(found, file=file, row=line, expected="text saved as UTF-8")
