"""Copies of images in which the pixels that matter most, or least, are perturbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from pasta.explanations.masking import Masked
from pasta.metrics.base import Batch, require
from pasta.metrics.imputation import impute

Perturb = Callable[[Tensor], Tensor]  # removed (rows, h, w) to copies (rows, channels, h, w)
_KERNEL = 11  # side of the blurring kernel of the papers on insertion


def ranks(batch: Batch) -> list[Tensor]:
    """The place of each pixel (h, w) from most relevant, 0, to least; ties are broken at random,
    because their order in the image would favour its upper part."""

    def compute() -> list[Tensor]:
        return [
            ranked(one, batch.generator(number, "ties")) for number, one in enumerate(batch.maps)
        ]

    return batch.once("ranks", compute)


def ranked(one: Tensor, generator: torch.Generator) -> Tensor:
    """The ranks of one map."""
    mixed = torch.randperm(one.numel(), generator=generator).to(one.device)
    order = mixed[one.flatten()[mixed].argsort(descending=True, stable=True)]
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order), device=one.device)
    return places.view_as(one)


def clean_scores(batch: Batch) -> Tensor:
    """The target's score (n,) of the images as they are."""

    def compute() -> Tensor:
        copies = [Masked(1, image[None].__getitem__) for image in require(batch.images)]
        scorer, targets = require(batch.scorer), require(batch.targets)
        return torch.cat(scorer.copies(copies, targets, batch.rows))

    return batch.once("clean", compute)


def removing(rank: Tensor, counts: Tensor, perturb: Perturb, most: bool = True) -> Masked:
    """Copies with so many of the most (or least) relevant pixels perturbed."""
    last = rank.numel() - 1
    place = rank if most else last - rank

    def build(rows: slice) -> Tensor:
        return perturb(place < counts.to(place.device)[rows, None, None])

    return Masked(len(counts), build)


def counts_of(percentages: Sequence[float], pixels: int) -> Tensor:
    """How many pixels these percentages are, rounded down."""
    return torch.tensor([int(pixels * part / 100) for part in percentages])


def perturbing(batch: Batch, number: int, settings: Any, kind: str) -> Perturb:
    """The perturbation of one image.

    Its noise is drawn once, so that copies differ in the pixels that are perturbed and in nothing
    else, and every map of an image meets the same noise.
    """
    image = require(batch.images)[number]
    random = batch.generator(number, "perturbation", kind)
    if kind == "black":
        return replacing(image, torch.full_like(image, settings.black))
    if kind == "uniform":
        drawn = torch.rand(image.shape, generator=random, dtype=image.dtype)
        return replacing(image, image + settings.uniform * (2 * drawn - 1).to(image.device))
    noise = torch.randn(image.shape, generator=random, dtype=image.dtype).to(image.device)
    if kind == "gaussian":
        return replacing(image, image + settings.gaussian * noise)
    return imputing(image, settings.road * noise)


def replacing(image: Tensor, filling: Tensor) -> Perturb:
    """Other values for removed pixels."""
    return lambda removed: torch.where(removed[:, None], filling, image)


def imputing(image: Tensor, noise: Tensor) -> Perturb:
    """Noisy linear imputation of removed pixels."""

    def copies(removed: Tensor) -> Tensor:
        solved = impute(image.expand(len(removed), -1, -1, -1), removed)
        return torch.where(removed[:, None], solved + noise, solved)

    return copies


def filling_of(image: Tensor, settings: Any) -> Tensor:
    """What stands where a pixel is not there."""
    if settings.filling == "black":
        return torch.full_like(image, settings.black)
    if settings.filling == "mean":
        return image.mean((1, 2), keepdim=True).expand_as(image)
    return blurred(image, settings.blur)


def blurred(image: Tensor, deviation: float) -> Tensor:
    """The image out of focus: a Gaussian kernel of 11 x 11 pixels, less in tiny images."""
    half = min(_KERNEL // 2, min(image.shape[1:]) - 1)
    places = torch.arange(-half, half + 1, dtype=image.dtype, device=image.device)
    weights = torch.softmax(-(places**2) / (2 * deviation**2), 0)
    wide = pad(image[:, None], (half, half, half, half), mode="reflect")
    down = conv2d(wide, weights[None, None, :, None])
    return conv2d(down, weights[None, None, None])[:, 0]
