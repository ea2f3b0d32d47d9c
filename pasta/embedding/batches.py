"""Batches that are drawn and encoded side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Floats = NDArray[np.float32]


def side_by_side(work: Callable[[T], Floats], parts: Sequence[T]) -> Iterator[Floats]:
    """Results in order; each core draws and encodes for itself.

    Between large steps in which all cores join there are many small ones that keep one busy.
    """
    import torch

    threads = torch.get_num_threads()
    if threads == 1 or len(parts) == 1:
        yield from map(work, parts)
        return
    try:
        with ThreadPoolExecutor(threads, "encode", torch.set_num_threads, (1,)) as pool:
            yield from pool.map(work, parts)
    finally:
        torch.set_num_threads(threads)
