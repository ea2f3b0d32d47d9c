"""Noisy linear imputation, the perturbation of ROAD (doi:10.48550/arXiv.2202.00449).

Each removed pixel becomes the weighted mean of its eight neighbours (weight 1/6 for those beside
it, 1/12 for those at its corners; neighbours outside the image do not count), all removed pixels
at once: a linear system with one unknown per removed pixel. Small noise is added to the solution so
that a network cannot tell removed pixels by their smoothness.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import splu
from torch import Tensor

from pasta.compute import to_numpy

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
    solved = np.stack([_solved(*pair) for pair in pairs])
    return torch.from_numpy(solved).to(images.dtype).to(images.device)


def _solved(image: Floats, removed: NDArray[np.bool_]) -> Floats:
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
