"""Progress bars for anything that takes more than a blink, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bar:
    """One line of progress: ``advance`` it and, if you like, show a few words beside it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0
        self._task: TaskID | None = None

    def start(self, description: str) -> None:
        """Show the line."""
        if self._progress is not None:
            self._task = self._progress.add_task(description, total=self.total, words="")

    def advance(self, steps: int = 1, words: str | None = None) -> None:
        """Count finished steps."""
        self.done += steps
        if self._progress is not None and self._task is not None:
            fields: dict[str, Any] = {} if words is None else {"words": words}
            self._progress.update(self._task, advance=steps, **fields)


@contextmanager
def bar(description: str, total: int, unit: str = "it") -> Iterator[Bar]:
    """Show progress on a terminal; elsewhere (logs, CI) one line at the end with the rate."""
    console = Console(stderr=True)
    started = time.perf_counter()
    if console.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[words]}"),
        )
        with Progress(*columns, console=console) as progress:
            line = Bar(progress, total)
            line.start(description)
            yield line
    else:
        line = Bar(None, total)
        yield line
    seconds = max(time.perf_counter() - started, 1e-9)
    rate = f"{line.done / seconds:.0f} {unit}/s" if line.done else "nothing to do"
    sys.stderr.write(f"{description}: {line.done} {unit} in {seconds:.1f} s ({rate})\n")
