"""Which images train, validate and test: by the dataset, by ``split.csv`` or by a stable hash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pasta.datasets.files.tables import Row, read
from pasta.datasets.source import SPLITS, Split
from pasta.seeds import entropy

FILE = "split.csv"
Given = Literal["train", "test"]

# Where train and validation end between 0 and 1; the rest tests. Where the dataset has its own
# test images, a tenth of its training images validates.
_ENDS: Mapping[Given | None, tuple[float, float]] = {
    None: (0.7, 0.8),
    "train": (0.9, math.inf),
    "test": (0.0, 0.0),
}


def assign(seed: int, dataset: str, image_id: str, given: Given | None) -> Split:
    """The split of one image, which no other image has an influence on.

    Parameters
    ----------
    given
        What the dataset itself says: a test image stays one, and None leaves all to the hash.

    Examples
    --------
    >>> assign(0, "coco", "000000000139", "test")
    'test'
    """
    train, validation = _ENDS[given]
    place = entropy(seed, "split", dataset, image_id) / 2**128
    if place < train:
        return "train"
    return "validation" if place < validation else "test"


def overrides(root: Path) -> dict[str, tuple[Split, Row]]:
    """The contents of ``split.csv`` (image_id, split), or nothing where there is no such file."""
    path = root / FILE
    chosen: dict[str, tuple[Split, Row]] = {}
    if not path.exists():
        return chosen
    for row in read(path, ("image_id", "split")):
        name = row.one_of("split", SPLITS, "split")
        if row["image_id"] in chosen:
            first = chosen[row["image_id"]][1].number
            raise row.error(f"{row['image_id']!r} is already in row {first}", "image_id")
        chosen[row["image_id"]] = (next(split for split in SPLITS if split == name), row)
    return chosen
