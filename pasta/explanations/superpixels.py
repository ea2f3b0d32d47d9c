"""Superpixels: the parts of an image that perturbation methods switch on and off."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from skimage.segmentation import quickshift, slic
from torch import Tensor

from pasta import compute
from pasta.explanations.base import exact

Segmenter = Literal["quickshift", "slic"]
_SMOOTHING = (0, 1, 2, 4)  # standard deviations in pixels


def segment(image: Tensor, segmenter: Segmenter = "slic", segments: int = 50) -> Tensor:
    """Labels (height, width) 0, 1, ... of an image (3, height, width), without gaps.

    ``quickshift`` (doi:10.1007/978-3-540-88693-8_52) with the settings of the ``lime`` package
    chooses the number of superpixels itself; ``slic`` (doi:10.1109/TPAMI.2012.120) makes about
    ``segments``. The same image has the same superpixels each time.
    """
    # What is not a number would be an error here; scores say what is the matter with the image.
    pixels = compute.to_numpy(exact(image.nan_to_num().permute(1, 2, 0)).contiguous())
    if segmenter == "quickshift":
        settings = {"kernel_size": 4, "max_dist": 200, "ratio": 0.2, "rng": 0}
        found = quickshift(pixels, **settings)  # type: ignore[no-untyped-call]
    else:
        found = _slic(pixels, segments)
    _, labels = np.unique(found, return_inverse=True)
    return torch.from_numpy(labels.reshape(found.shape).astype(np.int64)).to(image.device)


def _slic(pixels: NDArray[np.float64], segments: int) -> NDArray[np.int64]:
    """Noise tears superpixels to pieces, and the pieces are merged, often into a single superpixel.
    If there are less than half as many as asked for, the image is smoothed before."""
    tries: list[NDArray[np.int64]] = []
    for smoothing in _SMOOTHING:
        tries.append(slic(pixels, segments, compactness=10, sigma=smoothing, start_label=0))
        if 2 * len(np.unique(tries[-1])) >= segments:
            return tries[-1]
    return max(tries, key=lambda labels: len(np.unique(labels)))


def number_of(labels: Tensor) -> int:
    """How many superpixels there are."""
    return int(labels.max()) + 1


def pixel_counts(labels: Tensor) -> Tensor:
    """How many pixels each superpixel has."""
    return torch.bincount(labels.flatten())


def mean_colours(image: Tensor, labels: Tensor) -> Tensor:
    """The image (3, height, width) with each superpixel in its mean colour."""
    place, values = labels.flatten(), exact(image.flatten(1))
    sums = values.new_zeros(3, number_of(labels))
    sums.index_add_(1, place.to(sums.device), values)
    means = (sums / pixel_counts(labels).to(sums)).to(image)
    return means[:, place].view(image.shape)


def spread(values: Tensor, labels: Tensor) -> Tensor:
    """A map (height, width) in which each pixel has the value of its superpixel."""
    return values[labels]
