"""One table of all benchmarks: `make bench` prints it and writes it to build/benchmarks.md.

Each row has the time of a library and of our own implementation with the same settings in the same
run, their ratio, the largest difference of the results and why ours is there. Nothing fails because
of a time. Both sides have one thread and are measured by the processor's time, so that others who
use the machine matter little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import ROOT

Call = Callable[[], Any]
HEAD = ("what", "library", "library s", "ours s", "ratio", "difference", "verdict")
WORTH = 3.0  # an own implementation that is so many times as fast stays for its speed alone
ROWS: list[tuple[str, ...]] = []


class Table:
    """Measures pairs of calls and keeps a row for each."""

    def compare(
        self,
        what: str,
        library: str,
        theirs: Call,
        ours: Call,
        *,
        more_right: str = "",
        scale: float = 1.0,
        times: int = 1,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        """Measure a pair of calls.

        Parameters
        ----------
        what, library
            What is computed, and by whom else.
        theirs, ours
            The calls. Of their results, arrays or dictionaries of arrays, the largest difference is
            noted; None are not compared.
        more_right
            What ours does better, if anything.
        scale
            Of the library's time, where it does only a part of the work.
        times
            How often each is called: the least time counts.
        clock
            Gives seconds.
        """
        slow, expected = _measure(theirs, times, clock)
        fast, found = _measure(ours, times, clock)
        ratio = scale * slow / fast
        reasons = ["faster"] * (ratio >= WORTH) + [more_right] * bool(more_right)
        verdict = f"kept: {'; '.join(reasons)}" if reasons else "below 3x: the library could do it"
        numbers = (f"{scale * slow:.3g}", f"{fast:.3g}", f"{ratio:.2f}x")
        ROWS.append((what, library, *numbers, _difference(found, expected), verdict))


def _measure(call: Call, times: int, clock: Callable[[], float]) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(times):
        started = clock()
        result = call()
        best = min(best, clock() - started)
    return best, result


def _difference(found: Any, expected: Any) -> str:
    if found is None or expected is None:
        return "-"
    if isinstance(found, dict):
        found, expected = (np.stack([one[key] for key in found]) for one in (found, expected))
    return f"{np.abs(np.asarray(found, float) - np.asarray(expected, float)).max():.1e}"


@pytest.fixture
def table() -> Iterator[Table]:
    """One thread for both sides."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Table()
    torch.set_num_threads(before)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table, and write it."""
    if not ROWS:
        return
    lines = ["| " + " | ".join(row) + " |" for row in (HEAD, ("---",) * len(HEAD), *ROWS)]
    text = "\n".join(lines) + "\n"
    target = ROOT / "build" / "benchmarks.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    terminalreporter.write_line(f"\n{text}\nwritten to {target.relative_to(ROOT)}")
