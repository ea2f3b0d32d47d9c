"""Work in several processes that start as copies of this one.

A copy has all imports and tables already, which a new process would load for a second or more.
Each has one thread; this process must not have been working with several threads before.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from pasta.paths import processors

T = TypeVar("T")
_work: Sequence[Callable[[], Any]] = ()  # of this worker process


def at_once(
    work: Sequence[Callable[[], T]], meanwhile: Callable[[], object] | None = None
) -> list[T]:
    """The results of all pieces of work, in their order; as many at once as there are cores.

    The first pieces are begun first, so the longest should stand at the front. ``meanwhile`` is
    done by this process, once, while the others work.
    """
    found = dict(as_finished(work, meanwhile))
    return [found[place] for place in range(len(work))]


def as_finished(
    work: Sequence[Callable[[], T]], meanwhile: Callable[[], object] | None = None
) -> Iterator[tuple[int, T]]:
    """Yield the place and the result of each piece of work when it is done.

    Work needs no pickling, its results do. The first error stops everything. Where processes
    cannot be copied, all is done here.
    """
    count = min(processors(), len(work))
    if count <= 1 or sys.platform != "linux":
        if meanwhile is not None:
            meanwhile()
        for place, piece in enumerate(work):
            yield place, piece()
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, context, _begin, (os.getpid(), work)) as pool:
        places = {pool.submit(_do, place): place for place in range(len(work))}
        try:
            if meanwhile is not None:
                meanwhile()
            waiting = set(places)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield places[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what is begun is finished, and nobody is left
            raise


def one_thread() -> None:
    """Have the linear algebra of this process work in one thread from now on.

    Its products are small: a second thread gains nothing, waits by spinning, and would make the
    last digits of sums depend on the number of cores.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, "blas")


def _begin(parent: int, work: Sequence[Callable[[], Any]]) -> None:
    """Remember the work, and leave when the parent is gone: no worker outlives a killed stage."""
    global _work  # noqa: PLW0603 (one worker, one list of work)
    _work = work

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _do(place: int) -> Any:
    return _work[place]()
