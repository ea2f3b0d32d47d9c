"""Read a dataset that the `images` stage has built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.datasets.vocabulary import Vocabulary, vocabulary

IMAGES, REGIONS, CONCEPTS = "images.parquet", "regions.parquet", "concepts.parquet"
PIXELS, PARTS, SUMMARY = "images.npy", "parts.npy", "summary.json"


class Form(NamedTuple):
    """How the inputs of a modality are stored."""

    axes: int  # spatial ones; each is as long as the size says
    channels: int
    dtype: type[np.generic]


FORMS: dict[str, Form] = {
    "image": Form(2, 3, np.uint8),
    "volume": Form(3, 1, np.uint8),
    "point cloud": Form(1, 3, np.float32),  # x, y, z
}


@dataclass(frozen=True)
class StoredDataset:
    """Tables and memory-mapped arrays of one dataset; ``images`` is in the order of the rows.

    What is called images and pixels may be volumes or point clouds: see the vocabulary's modality.
    """

    folder: Path
    vocabulary: Vocabulary
    images: pd.DataFrame
    pixels: NDArray[Any]  # (n, *spatial, channels): (n, size, size, 3) bytes for images
    parts: NDArray[np.uint8]  # (n, *spatial)

    def regions(self) -> pd.DataFrame:
        """Read every visible instance with its box."""
        return store.read(self.folder / REGIONS, tables.REGIONS, {"images": self.images})

    def concepts(self) -> pd.DataFrame:
        """Read the table of every image x concept."""
        return store.read(self.folder / CONCEPTS, tables.CONCEPTS, {"images": self.images})

    def rows(self, split: str) -> NDArray[np.int64]:
        """Return the rows of the images of a split."""
        chosen = self.images.loc[self.images["split"] == split, "row"]
        return chosen.to_numpy(np.int64)

    def labels(self) -> NDArray[np.int64]:
        """Return the class index of every row."""
        return self._labels

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        place = {name: index for index, name in enumerate(self.vocabulary.classes)}
        found = np.asarray(self.images["label"].map(place), dtype=np.int64)
        found.flags.writeable = False
        return found


def open_dataset(folder: Path) -> StoredDataset:
    """Open what the `images` stage wrote into the folder of a dataset.

    Raises
    ------
    PastaError
        A table or an array is missing, damaged or of another shape.
    """
    images = store.read(folder / IMAGES, tables.IMAGES).sort_values("row", ignore_index=True)
    words = vocabulary(str(images["dataset"].iloc[0]))
    shape: tuple[int | None, ...] | None = None
    if words.modality in FORMS:
        form = FORMS[words.modality]
        shape = (len(images), *[None] * form.axes, form.channels)
    pixels = store.read_array(folder / PIXELS, shape)
    parts = store.read_array(folder / PARTS, pixels.shape[:-1])
    return StoredDataset(folder, words, images, pixels, parts)


def class_parts(presence: pd.DataFrame, images: pd.DataFrame) -> pd.DataFrame:
    """Tell which concepts a class has: those at least as frequent in it as in the dataset.

    Parameters
    ----------
    presence
        Images x concepts: whether the image shows the concept.
    images
        The table of images, for their classes.

    Returns
    -------
    DataFrame
        Classes x concepts, bool.
    """
    labels = images.set_index("image_id")["label"].reindex(presence.index)
    rates = presence.astype(float).groupby(labels).mean()
    return (rates >= presence.mean()) & (rates > 0)
