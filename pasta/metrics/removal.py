"""Copies of inputs in which the places that matter most, or least, are perturbed.

Small noise is added to places that ROAD imputes, so that a network cannot tell them by their
smoothness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pasta.explanations.image import IMAGE
from pasta.explanations.masking import Masked
from pasta.explanations.modality import Modality
from pasta.metrics.base import LOGITS, SCORES, Batch, require
from pasta.metrics.forward import precise
from pasta.metrics.settings import Answered, FillingParams

# Removed places (rows, *spatial) or entries (rows, channels, *spatial) to copies of an image.
Perturb = Callable[[Tensor], Tensor]


def rank_pixels(batch: Batch) -> list[Tensor]:
    """The place of each pixel (h, w) from most relevant, 0, to least; ties are broken at random,
    because their order in the image would favour its upper part."""

    def compute() -> list[Tensor]:
        return [
            rank_map(one, batch.generator(number, "ties")) for number, one in enumerate(batch.maps)
        ]

    return batch.once("ranks", compute)


def rank_map(one: Tensor, generator: torch.Generator) -> Tensor:
    """Rank the pixels of one map."""
    mixed = torch.randperm(one.numel(), generator=generator).to(one.device)
    order = mixed[one.flatten()[mixed].argsort(descending=True, stable=True)]
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order), device=one.device)
    return places.view_as(one)


def rank_places(batch: Batch) -> list[Tensor]:
    """The same for the places of maps that may have channels, by the mean of these."""
    if not batch.has_entries:
        return rank_pixels(batch)
    return [
        rank_map(one.mean(0), batch.generator(number, "ties"))
        for number, one in enumerate(batch.maps)
    ]


def score_images(batch: Batch, answer: Answered = "score") -> Tensor:
    """Ask for the target's score (n,) of the images as they are, or for what the model gives."""

    def compute() -> Tensor:
        copies = [Masked(1, image[None].__getitem__) for image in require(batch.images)]
        scorer, targets = require(batch.scorer), require(batch.targets)
        return torch.cat(scorer.copies(copies, targets, batch.rows, answer))

    return batch.once(clean_key(answer), compute)


def clean_key(answer: Answered) -> str:
    """What metrics that ask about the images as they are have in common."""
    return SCORES if answer == "score" else LOGITS


def count_features(entries: int, channels: int, has_entries: bool) -> int:
    """How many numbers of a map are so many entries: on maps without channels each number stands
    for all channels of a place."""
    return entries if has_entries else max(1, round(entries / channels))


def count_groups(entries: int, shape: tuple[int, ...]) -> int:
    """How many groups of so many entries a map without channels has, of images of this shape
    (channels, *spatial)."""
    channels, *spatial = shape
    return math.ceil(math.prod(spatial) / count_features(entries, channels, False))


def features_of(batch: Batch, entries: int) -> int:
    """How many numbers of this batch's maps are so many entries."""
    return count_features(entries, require(batch.images).shape[1], batch.has_entries)


def make_copies(rank: Tensor, counts: Tensor, perturb: Perturb, most: bool = True) -> Masked:
    """Make copies of an image with ever more of its pixels perturbed.

    Parameters
    ----------
    rank
        The place of each pixel (height, width), 0 for the most relevant one.
    counts
        How many pixels are perturbed in each copy.
    perturb
        What becomes of them.
    most
        Whether the most relevant pixels are perturbed, else the least relevant ones.

    Returns
    -------
    The copies, made when they are needed.
    """
    last = rank.numel() - 1
    place = rank if most else last - rank

    def build(rows: slice) -> Tensor:
        return perturb(place < counts.to(place.device)[rows].view(-1, *[1] * place.ndim))

    return Masked(len(counts), build)


def make_groups(groups: Tensor, number: int, perturb: Perturb) -> Masked:
    """Make copies of an image, each without one group of its features.

    Parameters
    ----------
    groups
        The number of each feature's group, shaped as a map.
    number
        How many groups there are.
    perturb
        What becomes of the features that are removed.

    Returns
    -------
    The copies, made when they are needed.
    """

    def build(rows: slice) -> Tensor:
        wanted = torch.arange(rows.start, rows.stop, device=groups.device)
        return perturb(groups == wanted.view(-1, *[1] * groups.ndim))

    return Masked(number, build)


def sum_groups(values: Tensor, groups: Tensor, number: int) -> Tensor:
    """Add up the values of each group, in double precision."""
    exact = precise(values.flatten())
    sums = torch.zeros(number, dtype=exact.dtype, device=exact.device)
    return sums.index_add_(0, groups.flatten().to(exact.device), exact)


def count_pixels(percentages: Sequence[float], pixels: int) -> Tensor:
    """Count how many pixels these percentages are, rounded down."""
    return torch.tensor([int(pixels * part / 100) for part in percentages])


def make_perturbation(batch: Batch, number: int, settings: Any, kind: str) -> Perturb:
    """Make the perturbation of one image.

    Its noise is drawn once, so that copies differ in the pixels that are perturbed and in nothing
    else, and every map of an image meets the same noise.

    Parameters
    ----------
    batch
        Images and the seed.
    number
        Which of the images.
    settings
        How strong each kind of perturbation is.
    kind
        "uniform", "gaussian", "black" or "road".

    Returns
    -------
    A function from removed pixels (rows, height, width) to copies of the image.
    """
    image = require(batch.images)[number]
    random = batch.generator(number, "perturbation", kind)
    if kind == "black":
        return make_replacement(image, torch.full_like(image, settings.black))
    if kind == "uniform":
        drawn = torch.rand(image.shape, generator=random, dtype=image.dtype)
        return make_replacement(image, image + settings.uniform * (2 * drawn - 1).to(image.device))
    noise = torch.randn(image.shape, generator=random, dtype=image.dtype).to(image.device)
    if kind == "gaussian":
        return make_replacement(image, image + settings.gaussian * noise)
    return make_imputation(image, settings.road * noise, batch.modality)


def make_replacement(image: Tensor, filling: Tensor) -> Perturb:
    """Make a perturbation that puts other values into removed pixels or entries."""
    return lambda removed: torch.where(spread(removed, image), filling, image)


def spread(removed: Tensor, image: Tensor) -> Tensor:
    """Which entries of copies are removed, where all channels of a place or single ones are."""
    return removed if removed.ndim > image.ndim else removed[:, None]


def make_imputation(image: Tensor, noise: Tensor, modality: Modality = IMAGE) -> Perturb:
    """Make a perturbation that imputes removed pixels and adds noise to them."""

    remove = modality.need("remove")

    def copies(removed: Tensor) -> Tensor:
        solved = remove(image.expand(len(removed), *image.shape), removed)
        return torch.where(removed[:, None], solved + noise, solved)

    return copies


def make_filling(batch: Batch, number: int, settings: FillingParams) -> Tensor:
    """Make the image that stands where pixels of one of the images are not there."""
    image = require(batch.images)[number]
    if settings.filling == "black":
        return torch.full_like(image, settings.black)
    if settings.filling == "centre":
        return torch.zeros_like(image)
    if settings.filling == "minimum":
        return image.amin().expand_as(image)
    if settings.filling == "mean":
        axes = tuple(range(1, image.ndim))
        return image.mean(axes, keepdim=True).expand_as(image)
    if settings.filling == "noise":
        random = batch.generator(number, "filling")
        drawn = torch.randn(image.shape, generator=random, dtype=image.dtype)
        return image + settings.noise * drawn.to(image.device)
    size = () if settings.kernel is None else (settings.kernel,)
    blurred: Tensor = batch.modality.need("blur")(image, settings.blur, *size)
    return blurred
