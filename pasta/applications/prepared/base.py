"""What the prepared maps share: images that nobody has rated, and where maps are stored.

The public scorer has learned from explanations of some test images. The other test images are new
to it, to the classifiers and to the encoder: settings are chosen, and choices are compared, on
these alone.

What is prepared is a folder of arrays with a card; without its card it is not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute, store
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import PastaError
from pasta.explanations.samples import choose_fresh
from pasta.layout import Group
from pasta.models.checkpoint import trained_models
from pasta.models.data import as_tensor
from pasta.progress import bar, tell
from pasta.resume import KeptUnits


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


def fresh_images(group: Group, params: Params, number: int, keys: str, least: int = 1) -> Fresh:
    """Test images of a dataset that are not explained by its stage, in random but fixed order.

    If fewer are left, these are all and a message says so; with fewer than ``least`` the dataset is
    left out and there are none. ``keys`` names the parameters that ask for so many.
    """
    dataset = open_dataset(group.images)
    name = dataset.vocabulary.dataset
    rows = choose_fresh(dataset.rows("test"), name, params, number)
    if len(rows) == number:
        return Fresh(dataset, rows)
    enough = len(rows) >= least
    tell(
        f"{name} has {len(rows)} test images that nobody has rated, not {number} ({keys}): "
        f"{'these are used' if enough else 'it is left out'}. "
        f"A lower explanations.images for {name} leaves more of them."
    )
    return Fresh(dataset, rows if enough else rows[:0])


def require_fresh(found: Sequence[Fresh], keys: str) -> None:
    """At least one dataset must have images that nobody has rated."""
    if not found:
        raise PastaError(
            f"no dataset has test images left that nobody has rated ({keys}): lower "
            "explanations.images, for some datasets at least"
        )


def named_images(dataset: StoredDataset, names: Sequence[str]) -> Fresh:
    """Images of a dataset that were chosen before, in this order."""
    rows = dataset.images.set_index("image_id")["row"]
    return Fresh(dataset, rows.loc[list(names)].to_numpy())


NOTHING_NEW = "all images come from a release: people have rated them, and no classifier is here"


def groups_with_new_images(groups: Sequence[Group]) -> list[Group]:
    """The groups whose datasets have more than rated images; a release has nothing else."""
    return [one for one in groups if len(open_dataset(one.images).rows("train"))]


def groups_with(groups: Sequence[Group], backbone: str) -> list[Group]:
    """One group for each dataset: the one that has this classifier."""
    own = [one for one in groups if backbone in trained_models(one.models)]
    if not own:
        raise PastaError(f"no group has trained the classifier {backbone!r}: `dvc repro train`")
    return list({one.dataset: one for one in reversed(own)}.values())[::-1]


Arrays = dict[str, NDArray[Any]]
Unit = TypeVar("Unit")
CARD = "card.json"


def run_units(
    title: str, function: Callable[[Unit], Arrays], units: Sequence[Unit], kept: KeptUnits | None
) -> list[Arrays]:
    """The results of all units in their order, with a line of progress."""
    found: dict[int, Arrays] = {}
    with bar(title, len(units), "units") as line:
        for place, result in compute.map_units(function, units, kept):
            found[place] = result
            line.advance()
    return [found[place] for place in range(len(units))]


def save_prepared(out: Path, card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays, and the card last."""
    (out / CARD).unlink(missing_ok=True)
    for name, array in arrays.items():
        store.write_array(array, out / f"{name}.npy")
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    store.write_json({**card, "arrays": shapes}, out / CARD)


def save_nothing(out: Path) -> None:
    """Leave a card that says why there is nothing."""
    save_prepared(out, {"reason": NOTHING_NEW}, {})


def why_nothing(folder: Path) -> str | None:
    """Why a stage has prepared nothing; None if it has."""
    card = store.read_json(folder / CARD) if (folder / CARD).is_file() else {}
    return card.get("reason")


def load_prepared(folder: Path, stage: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The card and the arrays, which are not read before they are used.

    ``stage`` is the one that makes them, for the error if they are not there.
    """
    if not (folder / CARD).is_file():
        raise PastaError(f"{folder}: nothing is prepared here; `dvc repro {stage}` does it")
    card = dict(store.read_json(folder / CARD))
    return card, {
        name: store.read_array(folder / f"{name}.npy", tuple(shape))
        for name, shape in card["arrays"].items()
    }
