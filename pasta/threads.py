"""Work side by side in threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def one_thread_each(work: Callable[[T], R], parts: Sequence[T]) -> Iterator[R]:
    """Results in order; torch uses one thread for each part, and as many parts as it has threads.

    Threads that join in every small step wait for each other for most of the time, and for very
    long if something else wants the cores.
    """
    import torch

    threads = torch.get_num_threads()
    try:
        if min(threads, len(parts)) <= 1:
            torch.set_num_threads(1)
            yield from map(work, parts)
            return
        with ThreadPoolExecutor(threads, "part", torch.set_num_threads, (1,)) as pool:
            yield from pool.map(work, parts)
    finally:
        torch.set_num_threads(threads)
