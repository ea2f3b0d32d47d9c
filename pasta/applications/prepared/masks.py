"""What the classifier and the encoder say about the masks of RISE, kept for any scorer.

A mask is taken as a heat map of the image: it is drawn as the scorer learns explanations (over the
image, or multiplied with it) and encoded. Thousands of forward passes give a probability and a
vector for each mask; which score a vector has is for the scorer to say, in no time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.embedding import inputs
from pasta.embedding.base import Encoder
from pasta.embedding.batches import side_by_side
from pasta.explanations.base import Given
from pasta.explanations.masking import target_scores
from pasta.explanations.rise import Masks, masked_copies, random_masks

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Heard:
    """The masks of one image, and what the classifier and the encoder say about each."""

    masks: Masks
    keep: float
    probabilities: Tensor  # (masks,)
    vectors: Vectors  # (masks, width)
    seconds: dict[str, float]  # spent on the model, on drawing and encoding, in the encoder alone

    @property
    def shows(self) -> NDArray[np.bool_]:
        """Which masks show something but not everything; the others are no explanation."""
        flat = self.masks.grids.flatten(1)
        return np.asarray((flat.amin(1) != flat.amax(1)).numpy())


def hear(given: Given, number: int, encoder: Encoder, shown: Any, batch_size: int) -> Heard:
    """Draw the masks of one of the given images, and ask the model and the encoder about each.

    ``shown`` says how explanations are drawn, ``batch_size`` how many at once. Masks are those
    that :func:`pasta.explanations.rise.rise` would draw for the same image and seed.
    """
    settings = given.settings["rise"]
    chance = given.generator(number, "rise")
    masks = random_masks(settings.masks, settings.cells, settings.keep, given.size, chance)
    image, target = given.images[number], given.targets[number]
    alone = Given(given.view, image[None], target[None], given.settings, given.seed, given.budget)
    started = time.perf_counter()
    [probabilities] = target_scores(alone, [masked_copies(image, masks)])
    asked = time.perf_counter()
    vectors, encoding = mask_vectors(encoder, shown, image, masks, batch_size)
    seconds = {
        "model": asked - started, "vectors": time.perf_counter() - asked, "encoder": encoding
    }  # fmt: skip
    return Heard(masks, settings.keep, probabilities, vectors, seconds)


def mask_vectors(
    encoder: Encoder, shown: Any, image: Tensor, masks: Masks, batch_size: int
) -> tuple[Vectors, float]:
    """Vectors of masks as heat maps of an image, and the seconds spent in the encoder.

    The seconds are those of all threads, added up.
    """
    draw = drawing(image, shown)
    spent: list[float] = []

    def encode(rows: slice) -> Vectors:
        drawn = draw(masks.build(rows))
        started = time.perf_counter()
        vectors = np.asarray(encoder.images(drawn), np.float32)
        spent.append(time.perf_counter() - started)
        return vectors

    starts = range(0, len(masks), batch_size)
    parts = [slice(start, min(start + batch_size, len(masks))) for start in starts]
    return np.concatenate(list(side_by_side(encode, parts))), sum(spent)


def drawing(image: Tensor, shown: Any) -> Callable[[Tensor], Tensor]:
    """How maps (n, height, width) of one image become the pictures that the encoder sees."""
    if shown.image == "masked":
        light = image.mul(255).round()  # once for all maps, which makes this a product and a cut
        light = light.permute(1, 2, 0).contiguous().permute(2, 0, 1)  # as encoders want it
        return lambda maps: (light * maps[:, None]).add_(0.5).to(torch.uint8)
    pixels = image.numpy()
    soft = inputs.blurred(pixels[None], shown.blur) if shown.image == "blur" else None

    def draw(maps: Tensor) -> Tensor:
        many = np.broadcast_to(pixels, (len(maps), *pixels.shape))
        blurred = None if soft is None else np.broadcast_to(soft, many.shape)
        return torch.from_numpy(inputs.render(many, maps.numpy(), False, shown, blurred))

    return draw
