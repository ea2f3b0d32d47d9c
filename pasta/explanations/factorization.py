"""Maps from factorised activations: principal components and non-negative factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from torch import Tensor

from pasta import compute
from pasta.explanations.base import Given, method
from pasta.explanations.settings import FactorizationParams


@method(
    "eigencam",
    title="EigenCAM",
    functioning="factorization",
    doi="10.1109/IJCNN48605.2020.9206626",
    needs_layer=True,
)
def eigencam(given: Given) -> Tensor:
    """The activations along their first principal component (Muhammad 2020)."""
    return first_component(given.passed.activations)


@method(
    "eigengradcam",
    title="EigenGradCAM",
    functioning="gradient and factorization",
    doi="10.1109/IJCNN48605.2020.9206626",
    needs_layer=True,
)
def eigengradcam(given: Given) -> Tensor:
    """The first principal component of gradient x activation, which knows of the class."""
    return first_component(given.passed.activations * given.passed.gradients)


@method(
    "dff",
    title="Deep Feature Factorization",
    functioning="factorization",
    doi="10.1007/978-3-030-01264-9_21",
    needs_layer=True,
)
def deep_feature_factorization(given: Given) -> Tensor:
    """The non-negative factor of the activations that speaks most for the class (Collins 2018).

    Each image's activations are factorised into a few places (maps) x features; a factor's voice
    is how much it adds to the class score to first order, with gradients averaged over the cells.
    """
    settings: FactorizationParams = given.settings["dff"]
    shared = given.passed
    voices = shared.gradients.mean((2, 3))
    maps = [
        _loudest_factor(activations, voice, settings.components)
        for activations, voice in zip(shared.activations, voices, strict=True)
    ]
    return torch.stack(maps)


def first_component(maps: Tensor) -> Tensor:
    """Project (n, channels, h, w) on the first principal direction of its cells, image by image.

    Cells are centred. The sign of a singular vector is free, so what is shown as important may be
    the background: here it is LAPACK's choice, as in the authors' code.
    """
    number, channels, height, width = maps.shape
    cells = maps.reshape(number, channels, -1).transpose(1, 2)
    cells = cells - cells.mean(1, keepdim=True)
    projected = np.stack([_project(one) for one in compute.to_numpy(cells)])
    return torch.from_numpy(projected).reshape(number, height, width).to(maps.device)


def _project(cells: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite(cells).all():
        return np.full(len(cells), np.nan, cells.dtype)
    # NumPy's decomposition, not torch's: theirs may differ in sign, and people compare maps with
    # those of pytorch-grad-cam.
    directions = np.linalg.svd(cells, full_matrices=False)[2]
    projected: NDArray[Any] = cells @ directions[0]
    return projected


def _loudest_factor(activations: Tensor, voice: Tensor, components: int) -> Tensor:
    channels, height, width = activations.shape
    cells = compute.to_numpy(activations.relu().reshape(channels, -1).T).astype(np.float64)
    components = min(components, *cells.shape)
    if not np.isfinite(cells).all() or not cells.any():
        return activations.sum(0) * 0  # nothing to factorise; not a number stays visible
    model = NMF(components, init="nndsvda", tol=1e-3, max_iter=300)
    places = model.fit_transform(cells)
    gains = (model.components_ @ compute.to_numpy(voice).astype(np.float64)) * places.sum(0)
    loudest = places[:, int(gains.argmax())]
    return torch.from_numpy(loudest).to(activations).reshape(height, width)
