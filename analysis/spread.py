"""Pieces of work that do not need each other.

A suite lists its pieces; whoever calls it says how they are done: one after the other, or in
several processes at once (:func:`pasta.workers.at_once`). The results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Work = Callable[[], Any]
Runner = Callable[[Sequence[Work]], Sequence[Any]]  # gives the results in the order of the work


def one_by_one(work: Sequence[Work]) -> list[Any]:
    """Do everything here, in order."""
    return [piece() for piece in work]


def named(work: Mapping[str, Work], run: Runner) -> dict[str, Any]:
    """The results of named pieces of work, by their names and in their order."""
    return dict(zip(work, run(list(work.values())), strict=True))
