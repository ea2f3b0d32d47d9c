"""Work in several processes that start as copies of this one.

The metrics consist of many short steps, which one core does as fast as two. So each worker has one
thread and work of its own. A copy of a process has its models already, which a new one would load
for seconds; it must not have been working with several threads before.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
_work: Callable[[int], Any] | None = None  # of this worker process


def as_finished(work: Callable[[int], T], number: int, processes: int) -> Iterator[tuple[int, T]]:
    """Do work 0 to ``number`` - 1, which needs no pickling; its results do. Yields what is done.

    The first error stops everything. Where processes cannot be copied, all is done here.
    """
    if min(processes, number) <= 1 or sys.platform != "linux":
        for place in range(number):
            yield place, work(place)
        return
    context = multiprocessing.get_context("fork")
    count = min(processes, number)
    with ProcessPoolExecutor(count, context, _begin, (os.getpid(), work)) as pool:
        places = {pool.submit(_do, place): place for place in range(number)}
        try:
            waiting = set(places)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield places[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin(parent: int, work: Callable[[int], Any]) -> None:
    """Remember the work, and leave when the parent is gone: no worker outlives a killed stage."""
    global _work  # noqa: PLW0603 (one worker, one job)
    _work = work
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _do(place: int) -> Any:
    if _work is None:
        raise RuntimeError("a worker was asked before it was told what to do")
    return _work(place)
