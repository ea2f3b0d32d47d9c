"""Batches that are drawn and encoded side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pasta.threads import one_thread_each

T = TypeVar("T")
Floats = NDArray[np.float32]


def side_by_side(work: Callable[[T], Floats], parts: Sequence[T]) -> Iterator[Floats]:
    """Results in order; each core draws and encodes for itself.

    Between large steps in which all cores join there are many small ones that keep one busy.
    """
    import torch

    if torch.get_num_threads() == 1 or len(parts) == 1:
        return map(work, parts)
    return one_thread_each(work, parts)
