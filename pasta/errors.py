"""The one error type a user is meant to read."""

from __future__ import annotations

import errno
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class PastaError(Exception):
    """Something is wrong with the input, and the message says what, where and what was expected."""


class InputError(PastaError):
    """Bad content of a file: the message starts with file, row and column where known."""

    def __init__(
        self,
        problem: str,
        *,
        file: Path | str | None = None,
        row: int | str | None = None,
        column: str | None = None,
        expected: str | None = None,
    ) -> None:
        self.problem, self.file, self.row, self.column, self.expected = (
            problem,
            None if file is None else Path(file),
            row,
            column,
            expected,
        )
        places = [
            str(file) if file is not None else "",
            f"row {row}" if row is not None else "",
            f"column {column!r}" if column is not None else "",
        ]
        where = ", ".join(place for place in places if place)
        text = f"{where}: {problem}" if where else problem
        super().__init__(f"{text} (expected {expected})" if expected else text)


def guarded(call: Callable[[], Any]) -> None:
    """Print an error that is meant for the user without a traceback, and exit with 1."""
    try:
        call()
    except Exception as error:
        message = str(error) if isinstance(error, PastaError) else describe_full_disk(error)
        if message is None:
            raise
        from rich.console import Console

        console = Console(stderr=True)
        console.print("error:", style="bold red", end=" ")
        console.print(message, markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


def describe_full_disk(error: BaseException) -> str | None:
    """What to say if an error, or one that led to it, is that nothing more can be written."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, sqlite3.OperationalError) and re.search(r"\bdisk\b", str(cause)):
            return (
                f"the MLflow database cannot be written: {cause}. Is the disk full? `df -h` tells"
            )
        if isinstance(cause, OSError) and cause.errno in _NO_SPACE:
            where = f"{cause.filename}: " if cause.filename else ""
            return f"{where}cannot be written: {cause.strerror}; `df -h` tells what is free"
        cause = cause.__cause__ or cause.__context__
    return None


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
