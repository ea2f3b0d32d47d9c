"""Masks of fresh images on disk.

The card lists the images; row i of ``grids`` and ``shifts`` are the masks of image i, of
``probabilities`` and ``vectors`` what classifier and encoder say about them, and of ``falls`` by
how much the probability falls without random pixels, for faithfulness. The card also names the
encoder and how masks were drawn for it: vectors that were made for another scorer are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pasta.applications.prepared import saving
from pasta.applications.prepared.falls import made_quick, score_falls
from pasta.applications.prepared.fresh import Fresh, fresh_images, named_images
from pasta.applications.prepared.masks import Heard, hear
from pasta.datasets.stored import StoredDataset
from pasta.embedding.base import Encoder
from pasta.embedding.encoders import open_encoder
from pasta.errors import PastaError
from pasta.explanations.base import Given
from pasta.explanations.engine import predicted_classes, view_of
from pasta.explanations.rise import Masks
from pasta.models.checkpoint import load
from pasta.params import Params

if TYPE_CHECKING:
    from pasta.scoring.folder import ScorerCard

KEYS = "applications.steering.images"
STAGE = "masks"
Advance = Callable[[str], None]


@dataclass(frozen=True)
class HeardImage:
    """One image, its class, and what was heard about its masks."""

    dataset: str
    image_id: str
    predicted: str
    pixels: NDArray[np.uint8]
    heard: Heard
    falls: NDArray[np.float64]

    @property
    def name(self) -> str:
        """dataset/image"""
        return f"{self.dataset}/{self.image_id}"


def prepare_masks(
    folders: Sequence[Path], params: Params, root: Path, out: Path, advance: Advance
) -> pd.DataFrame:
    """Ask about the masks of fresh images, about as many of each dataset, and store the answers.

    Returns the seconds spent on each image.
    """
    encoder = open_encoder(params.embedding, root)
    found: list[HeardImage] = []
    for folder, number in shares(folders, params.applications.steering.images):
        fresh = fresh_images(folder, params, number, KEYS)
        for one in _listened(fresh, folder, params, root, encoder):
            found.append(one)
            advance(one.name)
    card = {
        "images": [
            {"dataset": one.dataset, "image_id": one.image_id, "predicted": one.predicted}
            for one in found
        ],
        "encoder": {"name": encoder.name, "md5": encoder.md5},
        "shown": shown(params.embedding),
        "keep": params.explanations.methods.rise.keep,
        "size": list(found[0].heard.masks.size),
        "seed": params.seed,
    }
    saving.save(out, card, _arrays(found))
    return pd.DataFrame([{"image": one.name, **one.heard.seconds} for one in found])


def shares(folders: Sequence[Path], number: int) -> list[tuple[Path, int]]:
    """How many images of each dataset make so many in all; the first ones may have one more."""
    each, rest = divmod(number, len(folders))
    counts = [each + (place < rest) for place in range(len(folders))]
    return [pair for pair in zip(folders, counts, strict=True) if pair[1]]


def shown(settings: Any) -> dict[str, Any]:
    """How a map is drawn for an encoder, from the embedding's parameters or a scorer's card."""
    return {"image": settings.image, "blur": settings.blur}


def load_masks(
    folder: Path, datasets: Mapping[str, StoredDataset], card: ScorerCard
) -> list[HeardImage]:
    """What was heard, for the scorer that has this card; the pixels are those of ``datasets``."""
    about, arrays = saving.load(folder, STAGE)
    wanted = {"md5": card.encoder.md5, **shown(card.preprocessing)}
    there = {"md5": about["encoder"]["md5"], **about["shown"]}
    if there != wanted:
        raise PastaError(
            f"{folder}: the masks were drawn and encoded otherwise ({there}) than the scorer has "
            f"learned explanations ({wanted}); `dvc repro` brings both up to date"
        )
    pixels = _pixels(datasets, about["images"])
    found = []
    for row, one in enumerate(about["images"]):
        own = {name: np.array(array[row]) for name, array in arrays.items()}
        masks = Masks(
            torch.from_numpy(own["grids"]).float(),
            torch.from_numpy(own["shifts"]).long(),
            (int(about["size"][0]), int(about["size"][1])),
        )
        probabilities = torch.from_numpy(own["probabilities"])
        heard = Heard(masks, about["keep"], probabilities, own["vectors"], {})
        image = pixels[one["dataset"], one["image_id"]]
        found.append(HeardImage(**one, pixels=image, heard=heard, falls=own["falls"]))
    return found


def _pixels(
    datasets: Mapping[str, StoredDataset], images: Sequence[dict[str, str]]
) -> dict[tuple[str, str], NDArray[np.uint8]]:
    found = dict[tuple[str, str], NDArray[np.uint8]]()
    for dataset, stored in datasets.items():
        ids = [one["image_id"] for one in images if one["dataset"] == dataset]
        pairs = zip(ids, named_images(stored, ids).pixels, strict=True)
        found |= {(dataset, name): pixels for name, pixels in pairs}
    return found


def _listened(
    fresh: Fresh, folder: Path, params: Params, root: Path, encoder: Encoder
) -> Iterator[HeardImage]:
    """Images of one dataset, one after the other."""
    own, explain = params.applications.steering, params.explanations
    model, _ = load(folder / "models" / own.backbone, params, root)
    view = made_quick(view_of(model), fresh.images[:1])
    targets = predicted_classes(view, fresh.images)
    rise = explain.methods.rise.model_copy(update={"masks": own.masks})
    given = Given(view, fresh.images, targets, {"rise": rise}, params.seed, explain.budget)
    for row, image_id in enumerate(fresh.ids):
        target = int(targets[row])
        name = f"{fresh.name}/{image_id}"
        subsets = params.applications.subsets
        yield HeardImage(
            fresh.name,
            image_id,
            model.classes[target],
            fresh.pixels[row],
            hear(given, row, encoder, params.embedding, own.batch_size),
            score_falls(view, fresh.images[row], target, subsets, params.seed, name),
        )


def _arrays(found: Sequence[HeardImage]) -> dict[str, NDArray[Any]]:
    heard = [one.heard for one in found]
    parts = {
        "grids": [one.masks.grids.bool().numpy() for one in heard],
        "shifts": [one.masks.shifts.short().numpy() for one in heard],
        "probabilities": [one.probabilities.numpy() for one in heard],
        "vectors": [one.vectors for one in heard],
        "falls": [one.falls for one in found],
    }
    return {name: np.stack(own) for name, own in parts.items()}
