"""The embedded datasets: drawings behind the same two calls as real files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pasta.datasets.drawn import catsdogscars, coco, monumai, pascalpart  # noqa: F401 (register)
from pasta.datasets.drawn.scene import Options, draw, label_of
from pasta.datasets.records import SPLITS, Item, Record


@dataclass(frozen=True)
class DrawnSource:
    """A dataset drawn from (seed, dataset, index); the index is the image's name."""

    dataset: str
    seed: int
    counts: tuple[int, int, int]  # of train, validation and test images
    options: Options

    def items(self) -> Sequence[Item]:
        """Splits follow each other: 0 ... train, then validation, then test."""
        splits = [split for split, n in zip(SPLITS, self.counts, strict=True) for _ in range(n)]
        return [
            Item(f"{index:04d}", split, label_of(self.dataset, index))
            for index, split in enumerate(splits)
        ]

    def load(self, item: Item, size: int) -> Record:
        """Draw one image."""
        return draw(self.dataset, self.seed, int(item.image_id), size, self.options)
