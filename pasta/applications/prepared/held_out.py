"""Images that nobody has rated.

The public scorer has learned from explanations of some test images. The other test images are new
to it, to the classifiers and to the encoder: settings are chosen, and choices are compared, on
these alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pasta.config import Params
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import PastaError
from pasta.explanations.samples import chosen_rows
from pasta.layout import Group
from pasta.models.checkpoint import trained_models
from pasta.models.data import as_tensor
from pasta.seeds import generator


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
        """The images as models want them, in main memory."""
        return as_tensor(self.pixels)


def fresh_images(group: Group, params: Params, number: int, keys: str) -> Fresh:
    """Test images of a dataset that are not explained by its stage, in random but fixed order.

    ``keys`` names the parameters that ask for so many, for the error if there are too few.
    """
    dataset = open_dataset(group.images)
    rated = chosen_rows(dataset, params.explanations.images, params.seed)
    rest = np.setdiff1d(dataset.rows("test"), rated)
    name = dataset.vocabulary.dataset
    if len(rest) < number:
        raise PastaError(
            f"{group.images}: {number} test images that nobody has rated are needed ({keys}), but "
            f"{name} has {len(rest)}; lower these numbers or explanations.images, or raise "
            f"datasets.{name}.test"
        )
    random = generator(params.seed, "applications", "fresh images", name)
    return Fresh(dataset, random.permutation(rest)[:number])


def named_images(dataset: StoredDataset, names: Sequence[str]) -> Fresh:
    """Images of a dataset that were chosen before, in this order."""
    rows = dataset.images.set_index("image_id")["row"]
    return Fresh(dataset, rows.loc[list(names)].to_numpy())


def groups_with(groups: Sequence[Group], backbone: str) -> list[Group]:
    """One group for each dataset: the one that has this classifier."""
    own = [one for one in groups if backbone in trained_models(one.models)]
    if not own:
        raise PastaError(f"no group has trained the classifier {backbone!r}: `dvc repro train`")
    return list({one.dataset: one for one in reversed(own)}.values())[::-1]
