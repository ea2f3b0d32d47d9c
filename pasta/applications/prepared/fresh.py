"""Images that nobody has rated.

The public scorer has learned from explanations of some test images. The other test images are new
to it, to the classifiers and to the encoder: settings are chosen, and choices are compared, on
these alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import PastaError
from pasta.params import Params
from pasta.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Fresh:
    """Some test images of a dataset that are not among the rated ones."""

    dataset: StoredDataset
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def name(self) -> str:
        """The dataset's key."""
        return self.dataset.vocabulary.dataset

    @cached_property
    def ids(self) -> list[str]:
        """Names of the images."""
        return [str(name) for name in self.dataset.images["image_id"].iloc[self.rows]]

    @cached_property
    def labels(self) -> list[str]:
        """Their true classes."""
        return [str(name) for name in self.dataset.images["label"].iloc[self.rows]]

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The images as bytes (n, height, width, 3)."""
        return np.ascontiguousarray(self.dataset.pixels[self.rows])

    @cached_property
    def images(self) -> Tensor:
        """The images as models want them."""
        from pasta.models.data import as_tensor

        return as_tensor(self.pixels)

    def part(self, which: slice) -> Fresh:
        """Some of them."""
        return Fresh(self.dataset, self.rows[which])


def fresh_images(folder: Path, params: Params, number: int, keys: str) -> Fresh:
    """Test images of a dataset that are not explained by its stage, in random but fixed order.

    ``keys`` names the parameters that ask for so many, for the error if there are too few.
    """
    from pasta.explanations.samples import chosen_rows

    dataset = open_dataset(folder)
    rated = chosen_rows(dataset, params.explanations.images, params.seed)
    rest = np.setdiff1d(dataset.rows("test"), rated)
    name = dataset.vocabulary.dataset
    if len(rest) < number:
        raise PastaError(
            f"{folder}: {number} test images that nobody has rated are needed ({keys}), but "
            f"{name} has {len(rest)}; lower these numbers or explanations.images, or raise "
            f"datasets.{name}.test"
        )
    random = generator(params.seed, "applications", "fresh images", name)
    return Fresh(dataset, random.permutation(rest)[:number])


def named_images(dataset: StoredDataset, names: Sequence[str]) -> Fresh:
    """Images of a dataset that were chosen before, in this order."""
    rows = dataset.images.set_index("image_id")["row"]
    return Fresh(dataset, rows.loc[list(names)].to_numpy())
