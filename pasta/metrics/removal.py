"""Copies of images in which the pixels that matter most, or least, are perturbed.

Noisy linear imputation, the perturbation of ROAD (doi:10.48550/arXiv.2202.00449).

Each removed pixel becomes the weighted mean of its eight neighbours (weight 1/6 for those beside
it, 1/12 for those at its corners; neighbours outside the image do not count), all removed pixels
at once: a linear system with one unknown per removed pixel. Small noise is added to the solution so
that a network cannot tell removed pixels by their smoothness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import splu
from torch import Tensor
from torch.nn.functional import conv2d, pad

from pasta.compute import to_numpy
from pasta.explanations.masking import Masked
from pasta.metrics.base import Batch, require

Floats = NDArray[np.float64]


def impute(images: Tensor, removed: Tensor) -> Tensor:
    """Images whose removed pixels are interpolated linearly from the others.

    Parameters
    ----------
    images
        Shape (n, channels, height, width).
    removed
        Shape (n, height, width), true where a pixel is removed. Where all pixels of an image are
        removed there is nothing to interpolate from: they become the image's mean.
    """
    copies = np.array(to_numpy(images), dtype=np.float64, order="C")
    pairs = zip(copies, to_numpy(removed), strict=True)
    solved = np.stack([_solve(*pair) for pair in pairs])
    return torch.from_numpy(solved).to(images.dtype).to(images.device)


def _solve(image: Floats, removed: NDArray[np.bool_]) -> Floats:
    """The image itself, changed."""
    if removed.all():
        return np.broadcast_to(image.mean((1, 2), keepdims=True), image.shape)
    if removed.any():
        holes = removed.ravel()
        flat = image.reshape(len(image), -1)
        rows = _weights(*removed.shape)[holes]
        matrix = diags_array(rows.sum(1)) - rows[:, holes]
        # The matrix is symmetric and its diagonal the largest: no pivoting is needed.
        factors = splu(matrix.tocsc(), "MMD_AT_PLUS_A", 0.0, options={"SymmetricMode": True})
        flat[:, holes] = factors.solve(rows[:, ~holes] @ flat[:, ~holes].T).T
    return image


@lru_cache(maxsize=4)
def _weights(height: int, width: int) -> Any:
    """The weight (pixels, pixels) of each pixel in the mean of another one."""
    down, across = (diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)) for n in (height, width))
    beside = kron(eye_array(height), across) + kron(down, eye_array(width))
    return csr_array(beside / 6 + kron(down, across) / 12)


Perturb = Callable[[Tensor], Tensor]  # removed (rows, h, w) to copies (rows, channels, h, w)
_KERNEL = 11  # side of the blurring kernel of the papers on insertion


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


def score_images(batch: Batch) -> Tensor:
    """Ask for the target's score (n,) of the images as they are."""

    def compute() -> Tensor:
        copies = [Masked(1, image[None].__getitem__) for image in require(batch.images)]
        scorer, targets = require(batch.scorer), require(batch.targets)
        return torch.cat(scorer.copies(copies, targets, batch.rows))

    return batch.once("clean", compute)


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
        return perturb(place < counts.to(place.device)[rows, None, None])

    return Masked(len(counts), build)


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
    return make_imputation(image, settings.road * noise)


def make_replacement(image: Tensor, filling: Tensor) -> Perturb:
    """Make a perturbation that puts other values into removed pixels."""
    return lambda removed: torch.where(removed[:, None], filling, image)


def make_imputation(image: Tensor, noise: Tensor) -> Perturb:
    """Make a perturbation that imputes removed pixels and adds noise to them."""

    def copies(removed: Tensor) -> Tensor:
        solved = impute(image.expand(len(removed), -1, -1, -1), removed)
        return torch.where(removed[:, None], solved + noise, solved)

    return copies


def make_filling(image: Tensor, settings: Any) -> Tensor:
    """Make the image that stands where pixels are not there."""
    if settings.filling == "black":
        return torch.full_like(image, settings.black)
    if settings.filling == "mean":
        return image.mean((1, 2), keepdim=True).expand_as(image)
    return blur_image(image, settings.blur)


def blur_image(image: Tensor, deviation: float) -> Tensor:
    """Blur an image: a Gaussian kernel of 11 x 11 pixels, less in tiny images."""
    half = min(_KERNEL // 2, min(image.shape[1:]) - 1)
    places = torch.arange(-half, half + 1, dtype=image.dtype, device=image.device)
    weights = torch.softmax(-(places**2) / (2 * deviation**2), 0)
    wide = pad(image[:, None], (half, half, half, half), mode="reflect")
    down = conv2d(wide, weights[None, None, :, None])
    return conv2d(down, weights[None, None, None])[:, 0]
