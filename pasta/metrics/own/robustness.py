"""MaxSensitivity (Yeh et al. 2019, doi:10.48550/arXiv.1901.09392).

The largest distance between the map of an image and the maps of noisy copies of it. The distance is
the Euclidean norm of the difference, as it is or relative to the norm of the map: only the latter
can be compared between methods whose maps have different scales. P1 defines the former.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.masking import Masked, masked_scores
from pasta.metrics.base import EXPLAINER, Batch, Cost, Explainer, Result, metric, require
from pasta.metrics.forward import precise
from pasta.metrics.settings import SensitivityParams


def _key(settings: SensitivityParams) -> tuple[str, SensitivityParams]:
    """What both metrics have in common."""
    return "distances of noisy copies", settings.model_copy(update={"relative": True})


_SENSITIVITY = partial(
    metric,
    category="robustness",
    direction="lower",
    span=(0, float("inf")),
    sign="signed",
    needs=EXPLAINER,
    doi="10.48550/arXiv.1901.09392",
    settings="max_sensitivity",
    variant=("noise",),
    refuses=("nan",),
    cost=lambda settings: Cost(explained={_key(settings): settings.samples}),
)


@_SENSITIVITY("max_sensitivity", title="MaxSensitivity")
def max_sensitivity(batch: Batch, settings: SensitivityParams) -> Result:
    """The largest distance over all noisy copies, relative to the norm of the map."""
    largest = _find_largest_distances(batch, settings)
    why = {"nan explanation": largest.isnan()}
    if not settings.relative:
        return Result(largest, why)
    norms = precise(batch.maps.flatten(1)).norm(dim=1)
    found = torch.where(norms > 0, largest / norms, torch.nan)
    return Result(found, {"zero": norms == 0, **why})


@_SENSITIVITY("max_sensitivity_absolute", title="MaxSensitivity, not normalised")
def max_sensitivity_absolute(batch: Batch, settings: SensitivityParams) -> Result:
    """The largest distance as it is (P1, Eq. 5: "no normalization is applied")."""
    return max_sensitivity(batch, settings.model_copy(update={"relative": False}))


def _find_largest_distances(batch: Batch, settings: SensitivityParams) -> Tensor:
    """Explain the noisy copies, once for both metrics."""
    return batch.once(_key(settings), lambda: _largest_distances(batch, settings))


def _largest_distances(batch: Batch, settings: SensitivityParams) -> Tensor:
    images, targets = require(batch.images), require(batch.targets)
    explainer = require(batch.explainer)
    copies = [_make_noisy(batch, number, settings) for number in range(len(images))]

    def distance(noisy: Tensor, owners: Tensor) -> Tensor:
        found = ask_explainer(explainer, noisy, targets[owners], batch.maps.shape[1:])
        apart = precise((found - batch.maps[owners]).flatten(1))
        result: Tensor = torch.linalg.vector_norm(apart, dim=1)
        return result

    distances = torch.stack(masked_scores(distance, copies, batch.rows))
    return precise(distances).amax(1)  # not a number, if one of them is not


def _make_noisy(batch: Batch, number: int, settings: SensitivityParams) -> Masked:
    image = require(batch.images)[number]

    def copy(draw: int) -> Tensor:
        # A generator for each copy, so that it does not matter in which batch a copy is.
        random = batch.generator(number, "max_sensitivity", settings.noise, draw)
        if settings.noise == "uniform":
            drawn = torch.rand(image.shape, generator=random, dtype=image.dtype)
            return image + settings.uniform * (2 * drawn - 1).to(image.device)
        drawn = torch.randn(image.shape, generator=random, dtype=image.dtype)
        return image + settings.gaussian * drawn.to(image.device)

    def build(rows: slice) -> Tensor:
        return torch.stack([copy(draw) for draw in range(rows.start, rows.stop)])

    return Masked(settings.samples, build)


def ask_explainer(
    explainer: Explainer, images: Tensor, targets: Tensor, size: torch.Size
) -> Tensor:
    """Ask an explainer, which may use gradients, and check what it returns.

    Parameters
    ----------
    explainer
        Images and targets to maps.
    images
        Shape (n, channels, *spatial).
    targets
        The class to explain for each image.
    size
        Height and width, or other sides, that the maps must have.

    Returns
    -------
    Maps (n, *spatial).
    """
    # The scores of copies are computed where gradients are off for good; copies made outside of
    # that are ordinary tensors again.
    with torch.inference_mode(False), torch.enable_grad():
        found: Any = explainer(images.clone(), targets.clone())
    maps = found.detach() if isinstance(found, Tensor) else torch.from_numpy(np.asarray(found))
    if maps.ndim == len(size) + 2 and maps.shape[1] == 1:
        maps = maps[:, 0]
    if maps.shape != (len(images), *size):
        raise PastaError(
            f"the explainer returns {tuple(maps.shape)}, expected {(len(images), *size)}: one map "
            "for each image, of the same size as the maps that were given"
        )
    return maps.float().to(images.device)
