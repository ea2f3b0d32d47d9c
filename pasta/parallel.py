"""A pool of worker processes that dies with its parent and keeps the order of its results."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_work: Callable[[Any], Any] | None = None  # of this worker process


def ordered_map(
    function: Callable[[A], B], items: Sequence[A], processes: int, chunk: int = 16
) -> Iterator[B]:
    """Apply a picklable function to every item, in order, in one or several processes.

    The function travels to each worker once, so it may carry a large index. At most a few chunks
    of results wait in memory.
    """
    if processes <= 1 or len(items) <= chunk:
        yield from map(function, items)
        return
    chunks = [items[start : start + chunk] for start in range(0, len(items), chunk)]
    # A copy of this process has imported already what a new one would import for a second.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(processes, context, _begin, (os.getpid(), function)) as pool:
        try:
            yield from _bounded(pool, chunks, ahead=4 * processes)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _bounded(pool: ProcessPoolExecutor, chunks: Sequence[Sequence[A]], ahead: int) -> Iterator[Any]:
    waiting: list[Future[list[Any]]] = []
    for part in chunks:
        waiting.append(pool.submit(_apply, part))
        if len(waiting) >= ahead:
            yield from waiting.pop(0).result()
    for future in waiting:
        yield from future.result()


def _begin(parent: int, function: Callable[[Any], Any]) -> None:
    """Remember the work, and leave when the parent is gone: no worker outlives a killed stage."""
    global _work  # noqa: PLW0603 (one worker, one job)
    _work = function

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _apply(items: Sequence[A]) -> list[Any]:
    if _work is None:
        raise RuntimeError("a worker was asked before it was told what to do")
    return [_work(item) for item in items]
