"""Progress bars for anything that takes more than a blink, on standard error."""

from __future__ import annotations

import os
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


QUIET = "PASTA_QUIET"  # an environment variable, set by `pasta --quiet`


class Bar:
    """One line of progress: ``advance`` it and, if you like, show a few words beside it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0
        self._task: TaskID | None = None

    def start(self, description: str) -> None:
        """Show the line."""
        if self._progress is not None:
            self._task = self._progress.add_task(
                description, total=self.total, completed=self.done, words=""
            )

    def advance(self, steps: int = 1, words: str | None = None) -> None:
        """Count finished steps."""
        self.done += steps
        if self._progress is not None and self._task is not None:
            fields: dict[str, Any] = {} if words is None else {"words": words}
            self._progress.update(self._task, advance=steps, **fields)


class LateBar(Bar):
    """A line of progress that appears on a terminal after two seconds, for use as a library."""

    PATIENCE = 2.0

    def __init__(self, description: str, total: int) -> None:
        super().__init__(None, total)
        self._description, self._started = description, time.perf_counter()
        self._console = Console(stderr=True)

    def advance(self, steps: int = 1, words: str | None = None) -> None:
        """Count finished steps."""
        late = time.perf_counter() - self._started > self.PATIENCE
        if self._progress is None and late and self._console.is_terminal and not is_quiet():
            self._progress = Progress(*_columns(), console=self._console, transient=True)
            self._progress.start()
            self.start(self._description)
        super().advance(steps, words)

    def stop(self) -> None:
        """Take the line away."""
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def late_bar(description: str, total: int) -> Iterator[Bar]:
    """Show progress on a terminal once work has taken two seconds; leave nothing behind."""
    line = LateBar(description, total)
    try:
        yield line
    finally:
        line.stop()


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
def bar(description: str, total: int, unit: str) -> Iterator[Bar]:
    """Show progress on a terminal; elsewhere (logs, CI) one line at the end with the rate.

    ``unit`` is a plural. Nothing is shown if ``pasta --quiet`` was asked for.
    """
    if is_quiet():
        yield Bar(None, total)
        return
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
    if line.done:
        told = describe_pace(line.done, unit, time.perf_counter() - started)
        sys.stderr.write(f"{description}: {told}\n")


def describe_pace(done: int, unit: str, seconds: float) -> str:
    """What was done in which time, and how fast where that says more.

    >>> describe_pace(1, "techniques", 2.5), describe_pace(8, "PDFs", 4.0)
    ('1 technique in 2.5 s', '8 PDFs in 4.0 s (0.50 s each)')
    >>> describe_pace(3000, "images", 10.0)
    '3,000 images in 10.0 s (300 images/s)'
    """
    if done == 1:
        return f"1 {unit.removesuffix('s')} in {seconds:.1f} s"
    fast = done >= 10 * seconds
    pace = f"{done / max(seconds, 1e-9):,.0f} {unit}/s" if fast else f"{seconds / done:.2f} s each"
    return f"{done:,} {unit} in {seconds:.1f} s ({pace})"


def tell(words: str) -> None:
    """Say something that the user should know, beside the results."""
    if not is_quiet():
        sys.stderr.write(f"{words}\n")


def is_quiet() -> bool:
    """Whether nothing but answers and errors is to be printed."""
    return bool(os.environ.get(QUIET))


def print_seconds(spent: pd.DataFrame) -> None:
    """Say how long each piece of work took: rows of ``work``, a column for each backbone."""
    wide = spent.pivot_table("seconds", "work", "backbone", aggfunc="sum", sort=False)
    for work, seconds in wide.iterrows():
        parts = [f"{name} {value:.2f}" for name, value in seconds.dropna().items()]
        sys.stderr.write(f"{work}: {', '.join(parts)} s\n")
    sys.stderr.write(f"all together: {spent['seconds'].sum():.1f} s\n")
