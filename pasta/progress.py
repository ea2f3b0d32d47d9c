"""Progress bars for anything that takes more than a blink, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    import pandas as pd


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
def lines(title: str) -> Iterator[Callable[..., None]]:
    """Follow several pieces of work at once: call it with a name, a few words, done and total.

    On a terminal each name has a bar with the time left; elsewhere the last words of each are
    printed at the end.
    """
    console = Console(stderr=True)
    started = time.perf_counter()
    last: dict[str, str] = {}
    tasks: dict[str, TaskID] = {}
    with Progress(*_columns(), console=console, disable=not console.is_terminal) as progress:

        def say(name: str, words: str, done: int | None = None, total: int | None = None) -> None:
            last[name] = words
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total, words=words)
            progress.update(tasks[name], completed=done, total=total, words=words)

        yield say
    for name, words in last.items():
        sys.stderr.write(f"{title}: {name}: {words}\n")
    sys.stderr.write(f"{title}: {time.perf_counter() - started:.1f} s\n")


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
    )


@contextmanager
def bar(description: str, total: int, unit: str = "it") -> Iterator[Bar]:
    """Show progress on a terminal; elsewhere (logs, CI) one line at the end with the rate."""
    console = Console(stderr=True)
    started = time.perf_counter()
    if console.is_terminal:
        with Progress(*_columns(), console=console) as progress:
            line = Bar(progress, total)
            line.start(description)
            yield line
    else:
        line = Bar(None, total)
        yield line
    seconds = max(time.perf_counter() - started, 1e-9)
    rate = f"{line.done / seconds:.0f} {unit}/s" if line.done else "nothing to do"
    sys.stderr.write(f"{description}: {line.done} {unit} in {seconds:.1f} s ({rate})\n")


def print_seconds(spent: pd.DataFrame) -> None:
    """Say how long each piece of work took: rows of ``work``, a column for each backbone."""
    wide = spent.pivot_table("seconds", "work", "backbone", aggfunc="sum", sort=False)
    for work, seconds in wide.iterrows():
        parts = [f"{name} {value:.2f}" for name, value in seconds.dropna().items()]
        sys.stderr.write(f"{work}: {', '.join(parts)} s\n")
    sys.stderr.write(f"all together: {spent['seconds'].sum():.1f} s\n")
