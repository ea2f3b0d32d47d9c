"""What the classifier and the encoder say about the masks of RISE, kept for any scorer.

A mask is taken as a heat map of the image: it is drawn as the scorer learns explanations (over the
image, or multiplied with it) and encoded. Thousands of forward passes give a probability and a
vector for each mask; the scorer turns a vector into a score at no cost.

On disk the card lists the images; row i of ``grids`` and ``shifts`` are the masks of image i, of
``probabilities`` and ``vectors`` what classifier and encoder say about them, and of ``drops`` by
how much the probability drops without random pixels, for faithfulness. The card also names the
encoder and how masks were drawn for it: vectors that were made for another scorer are refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.applications.prepared.base import (
    Arrays,
    fresh_images,
    groups_with,
    groups_with_new_images,
    load_prepared,
    named_images,
    require_fresh,
    run_units,
    save_nothing,
    save_prepared,
)
from pasta.applications.prepared.faithfulness import measure_drops
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.embedding import inputs
from pasta.embedding.encoders import Encoder, open_encoder
from pasta.errors import PastaError
from pasta.explanations.base import Given
from pasta.explanations.engine import predicted_classes, view_of
from pasta.explanations.masking import target_scores
from pasta.explanations.methods.rise import Masks, masked_copies, random_masks
from pasta.layout import Group
from pasta.models.checkpoint import load
from pasta.resume import KeptUnits

if TYPE_CHECKING:  # the stage `masks` does not depend on scorers
    from pasta.scoring.stored import ScorerCard

KEYS = "applications.steering.images"
STAGE = "masks"
_IMAGES = 2  # of one unit of work
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Responses:
    """The masks of one image, and what the classifier and the encoder say about each."""

    masks: Masks
    keep: float
    probabilities: Tensor  # (masks,)
    vectors: Vectors  # (masks, width)

    @property
    def shows(self) -> NDArray[np.bool_]:
        """Which masks show something but not everything; the others are no explanation."""
        flat = self.masks.grids.flatten(1)
        return np.asarray(compute.to_numpy(flat.amin(1) != flat.amax(1)))


@dataclass(frozen=True)
class ImageResponses:
    """One image, its class, and what was said about its masks."""

    dataset: str
    image_id: str
    predicted: str
    pixels: NDArray[np.uint8]
    responses: Responses
    drops: NDArray[np.float64]

    @property
    def name(self) -> str:
        """dataset/image"""
        return f"{self.dataset}/{self.image_id}"


@dataclass(frozen=True)
class MaskUnit:
    """Some images of one group whose masks are asked about together."""

    group: Group
    images: tuple[str, ...]
    params: Params
    root: Path


def prepare_masks(
    groups: Sequence[Group], params: Params, root: Path, out: Path, kept: KeptUnits | None = None
) -> pd.DataFrame:
    """Ask about the masks of fresh images, about as many of each dataset, and store the answers.

    Returns the seconds spent on the model and on the vectors of each image.
    """
    own = params.applications.steering
    groups = groups_with_new_images(groups)
    if not groups:
        save_nothing(out)
        return pd.DataFrame(columns=["image", "model", "vectors"], dtype=float)
    chosen = {
        group: fresh
        for group, number in share_out(groups_with(groups, own.backbone), own.images)
        if len(fresh := fresh_images(group, params, number, KEYS))
    }
    require_fresh(list(chosen.values()), KEYS)
    size = next(iter(chosen.values())).dataset.pixels.shape[1:3]
    units = [
        MaskUnit(group, tuple(fresh.ids[start : start + _IMAGES]), params, root)
        for group, fresh in chosen.items()
        for start in range(0, len(fresh), _IMAGES)
    ]
    every = run_units("masks", respond, units, kept)
    arrays = {name: np.concatenate([one[name] for one in every]) for name in every[0]}
    predicted, seconds = arrays.pop("predicted"), arrays.pop("seconds")
    names = [(unit.group.dataset, image) for unit in units for image in unit.images]
    encoder = open_encoder(params.embedding, root, params.seeds.training)
    card = {
        "images": [
            {"dataset": dataset, "image_id": image, "predicted": str(label)}
            for (dataset, image), label in zip(names, predicted, strict=True)
        ],
        "encoder": {"name": encoder.name, "md5": encoder.md5},
        "shown": describe_drawing(params.embedding),
        "keep": params.explanations.methods.rise.keep,
        "size": list(size),
        "seed": params.seeds.explaining,
    }
    save_prepared(out, card, arrays)
    table = pd.DataFrame(seconds, columns=["model", "vectors"])
    table.insert(0, "image", ["/".join(pair) for pair in names])
    return table


def respond(unit: MaskUnit) -> Arrays:
    """The answers about the masks of some images, by the names of the arrays on disk."""
    params, own = unit.params, unit.params.applications.steering
    fresh = named_images(open_dataset(unit.group.images), unit.images)
    encoder = open_encoder(params.embedding, unit.root, params.seeds.training)
    model, _ = load(unit.group.models / own.backbone, params, unit.root)
    compute.place(model)
    view, images = view_of(model), compute.place(fresh.images)
    targets = predicted_classes(view, images)
    rise = params.explanations.methods.rise.model_copy(update={"masks": own.masks})
    budget = params.explanations.budget
    given = Given(view, images, targets, {"rise": rise}, params.seeds.explaining, budget)
    answers, seconds = [], []
    for row in range(len(fresh)):
        started = time.perf_counter()
        masks, probabilities = ask_model(given, row)
        asked = time.perf_counter()
        vectors = encode_masks(encoder, params.embedding, images[row], masks, own.batch_size)
        seconds.append((asked - started, time.perf_counter() - asked))
        answers.append(Responses(masks, rise.keep, probabilities, vectors))
    names = [f"{fresh.name}/{image}" for image in unit.images]
    return {
        "grids": np.stack([compute.to_numpy(one.masks.grids.bool()) for one in answers]),
        "shifts": np.stack([compute.to_numpy(one.masks.shifts.short()) for one in answers]),
        "probabilities": np.stack([compute.to_numpy(one.probabilities) for one in answers]),
        "vectors": np.stack([one.vectors for one in answers]),
        "drops": measure_drops(model, images, targets, names, params),
        "predicted": np.array([model.classes[index] for index in targets.tolist()]),
        "seconds": np.array(seconds),
    }


def ask_model(given: Given, number: int) -> tuple[Masks, Tensor]:
    """Draw the masks of one of the given images, and ask the model about each.

    Masks are those that :func:`pasta.explanations.methods.rise.rise` would draw for the same image
    and seed.
    """
    settings, chance = given.settings["rise"], given.generator(number, "rise")
    drawn = random_masks(settings.masks, settings.cells, settings.keep, given.size, chance)
    image, target = given.images[number], given.targets[number]
    masks = Masks(drawn.grids.to(image.device), drawn.shifts.to(image.device), drawn.size)
    alone = Given(given.view, image[None], target[None], given.settings, given.seed, given.budget)
    [probabilities] = target_scores(alone, [masked_copies(image, masks)])
    return masks, probabilities


def encode_masks(
    encoder: Encoder, shown: Any, image: Tensor, masks: Masks, batch_size: int
) -> Vectors:
    """Vectors of masks as heat maps of an image; ``shown`` says how explanations are drawn."""
    draw = drawing(image, shown)
    parts = [
        compute.to_numpy(encoder.images(draw(masks.build(slice(start, start + batch_size)))))
        for start in range(0, len(masks), batch_size)
    ]
    return np.concatenate(parts).astype(np.float32)


def drawing(image: Tensor, shown: Any) -> Callable[[Tensor], Tensor]:
    """How maps (n, height, width) of one image become the pictures that the encoder sees."""
    if shown.image == "masked":
        light = image.mul(255).round()  # once for all maps, which makes this a product and a cut
        return lambda maps: (light * maps[:, None]).add_(0.5).to(torch.uint8)
    pixels = compute.to_numpy(image)
    soft = inputs.blurred(pixels[None], shown.blur) if shown.image == "blur" else None

    def draw(maps: Tensor) -> Tensor:
        many = np.broadcast_to(pixels, (len(maps), *pixels.shape))
        blurred = None if soft is None else np.broadcast_to(soft, many.shape)
        drawn = inputs.render(many, compute.to_numpy(maps), False, shown, blurred)
        return torch.from_numpy(drawn).to(image.device)

    return draw


def share_out(groups: Sequence[Group], number: int) -> list[tuple[Group, int]]:
    """How many images of each group make so many in all; the first ones may have one more."""
    each, rest = divmod(number, len(groups))
    counts = [each + (place < rest) for place in range(len(groups))]
    return [pair for pair in zip(groups, counts, strict=True) if pair[1]]


def describe_drawing(settings: Any) -> dict[str, Any]:
    """How a map is drawn for an encoder, from the embedding's parameters or a scorer's card."""
    return {"image": settings.image, "blur": settings.blur}


def load_masks(
    folder: Path, datasets: Mapping[str, StoredDataset], card: ScorerCard
) -> list[ImageResponses]:
    """The stored answers, for the scorer that has this card; pixels are those of ``datasets``."""
    about, arrays = load_prepared(folder, STAGE)
    wanted = {"md5": card.encoder.md5, **describe_drawing(card.preprocessing)}
    there = {"md5": about["encoder"]["md5"], **about["shown"]}
    if there != wanted:
        raise PastaError(
            f"{folder}: the masks were drawn and encoded otherwise ({there}) than the scorer has "
            f"learned explanations ({wanted}); `dvc repro` brings both up to date"
        )
    size = (int(about["size"][0]), int(about["size"][1]))
    found = []
    for row, one in enumerate(about["images"]):
        own = {name: np.array(array[row]) for name, array in arrays.items()}
        masks = Masks(
            torch.from_numpy(own["grids"]).float(), torch.from_numpy(own["shifts"]).long(), size
        )
        probabilities = torch.from_numpy(own["probabilities"])
        responses = Responses(masks, about["keep"], probabilities, own["vectors"])
        [pixels] = named_images(datasets[one["dataset"]], [one["image_id"]]).pixels
        found.append(ImageResponses(**one, pixels=pixels, responses=responses, drops=own["drops"]))
    return found
