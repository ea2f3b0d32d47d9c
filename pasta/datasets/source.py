"""Where the images of a dataset come from: drawings or files, behind the same two calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from pasta.datasets.records import Record

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class Item(NamedTuple):
    """One image before it is loaded. ``image_id`` is unique in its dataset and has no slash."""

    image_id: str
    split: Split
    label: str


class Source(Protocol):
    """A dataset that can say what it has and load each item alone, in any order or process."""

    def items(self) -> Sequence[Item]:
        """Every image, in a fixed order."""

    def load(self, item: Item, size: int) -> Record:
        """One image at model size with its part-index array and visible instances."""
