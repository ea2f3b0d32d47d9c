"""The one error type a user is meant to read."""

from __future__ import annotations

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
    except PastaError as error:
        from rich.console import Console

        console = Console(stderr=True)
        console.print("error:", style="bold red", end=" ")
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
