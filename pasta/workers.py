"""Work in several processes that start as copies of this one.

Much of the work here consists of many short steps, which one core does as fast as two. So each
worker has one thread and work of its own. A copy of a process has its models already, which a new
one would load for seconds; it must not have been working with several threads before, and no other
thread may be importing anything, because its locks would be copied too.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from pasta.errors import PastaError
from pasta.paths import processors

T = TypeVar("T")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_work: Sequence[Callable[[], Any]] = ()  # of this worker process


def as_finished(
    work: Sequence[Callable[[], T]],
    processes: int | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[tuple[int, T]]:
    """Yield the place and the result of each piece of work when it is done.

    The first pieces are begun first, so the longest should stand at the front. Work needs no
    pickling, its results do. ``processes`` are as many as there are cores if None. ``meanwhile`` is
    done by this process, once, while the others work. The first error stops everything. Where
    processes cannot be copied, all is done here.
    """
    count = min(processors() if processes is None else processes, len(work))
    if count <= 1 or sys.platform != "linux":
        if meanwhile is not None:
            meanwhile()
        for place, piece in enumerate(work):
            yield place, piece()
        return
    context = multiprocessing.get_context("fork")
    with _here_to_stay(), ProcessPoolExecutor(count, context, _begin, (os.getpid(), work)) as pool:
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


def at_once(
    work: Sequence[Callable[[], T]], meanwhile: Callable[[], object] | None = None
) -> list[T]:
    """The results of all pieces of work, in their order; as many at once as there are cores."""
    found = dict(as_finished(work, meanwhile=meanwhile))
    return [found[place] for place in range(len(work))]


def one_thread() -> None:
    """Have the linear algebra of this process work in one thread from now on.

    Its products are small: a second thread gains nothing, waits by spinning, and would make the
    last digits of sums depend on the number of cores.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, "blas")


class Later(Generic[T]):
    """The result of work that is done beside something else; there once that is over."""

    value: T


@contextmanager
def beside(work: Callable[[], T], processes: int) -> Iterator[Later[T]]:
    """Do work beside the block; the work needs no pickling, its result does.

    Where processes cannot be copied, or with a single one, the block comes first. An error in the
    work is raised when the block is over, one in the block ends the work.
    """
    later: Later[T] = Later()
    if processes <= 1 or sys.platform != "linux":
        yield later
        later.value = work()
        return
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(os.getpid(), work, there))
    with _here_to_stay():
        process.start()
    there.close()
    try:
        yield later
        value, error = _told(here)
    finally:
        process.terminate()
        process.join()
        here.close()
    if error is not None:
        raise error
    later.value = value


@contextmanager
def _here_to_stay() -> Iterator[None]:
    """Keep the garbage collectors of copies away from what is there before they are made.

    To look at an object is to write to it, and what a copy writes to is copied in earnest.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _begin(parent: int, work: Sequence[Callable[[], Any]]) -> None:
    """Remember the work."""
    global _work  # noqa: PLW0603 (one worker, one list of work)
    _work = work
    _alone(parent)


def _alone(parent: int) -> None:
    """One thread, and leave when the parent is gone: no worker outlives a killed stage."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # of libraries that are there, and then of those that come later
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _do(place: int) -> Any:
    return _work[place]()


def _tell(parent: int, work: Callable[[], Any], there: Connection) -> None:
    _alone(parent)
    try:
        there.send((work(), None))
    except Exception as error:  # raised again by the parent
        there.send((None, error))
    there.close()


def _told(here: Connection) -> tuple[Any, Exception | None]:
    try:
        answer: tuple[Any, Exception | None] = here.recv()
    except EOFError:
        raise PastaError("a worker has died; is there enough memory?") from None
    return answer
