"""MaxSensitivity (Yeh et al. 2019, doi:10.48550/arXiv.1901.09392).

The largest distance between the map of an image and the maps of noisy copies of it. The distance is
the Euclidean norm of the difference, as it is or relative to the norm of the map: only the latter
can be compared between methods whose maps have different scales. P1 defines the former.

LATEC divides maps by their largest absolute value before it compares them, each by its own
(reading ``paper``). Its released code also divides the distance by the norm of the *image*, and
leaves the first feature of the image without noise (``released``). It normalises the maps of the
copies over a chunk of two images; a value here never depends on other images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from pasta.metrics.base import EXPLAINER, Batch, Cost, Result, metric, require
from pasta.metrics.copies import (
    Copies,
    Noise,
    Request,
    count_explanations,
    give_status,
    measure_copies,
    scale_maps,
)
from pasta.metrics.forward import precise
from pasta.metrics.settings import SensitivityParams


@dataclass(frozen=True)
class Distance:
    """Between the maps, as they are or each divided by its largest absolute value."""

    normalised: bool = False

    def __call__(self, copies: Copies) -> Tensor:
        """One number per copy."""
        if self.normalised:
            apart = scale_maps(copies.again) - scale_maps(copies.maps)
        else:
            apart = precise((copies.again - copies.maps).flatten(1))
        result: Tensor = torch.linalg.vector_norm(apart, dim=1)
        return result


def request_distances(settings: SensitivityParams) -> Request:
    """What both metrics have in common."""
    size = settings.uniform if settings.noise == "uniform" else settings.gaussian
    noise = Noise(settings.noise, size, spare_first=settings.reading == "released")
    return Request(noise, settings.samples, Distance(settings.reading != "corrected"))


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
    request=request_distances,
    cost=lambda settings: Cost(explained=count_explanations(request_distances(settings))),
)


@_SENSITIVITY("max_sensitivity", title="MaxSensitivity")
def max_sensitivity(batch: Batch, settings: SensitivityParams) -> Result:
    """The largest distance over all noisy copies, relative to the norm of the map."""
    largest = measure_copies(batch, request_distances(settings)).amax(1)
    why = {"nan explanation": largest.isnan()}  # if one of them is not a number
    if settings.reading != "corrected":
        return give_status(batch, largest / _image_norms(batch, settings))
    if not settings.relative:
        return Result(largest, why)
    norms = precise(batch.maps.flatten(1)).norm(dim=1)
    found = torch.where(norms > 0, largest / norms, torch.nan)
    return Result(found, {"zero": norms == 0, **why})


def _image_norms(batch: Batch, settings: SensitivityParams) -> Tensor:
    """By which the released code divides."""
    if settings.reading != "released":
        return torch.ones(len(batch), device=batch.maps.device)
    norms: Tensor = torch.linalg.vector_norm(precise(require(batch.images).flatten(1)), dim=1)
    return norms


@_SENSITIVITY("max_sensitivity_absolute", title="MaxSensitivity, not normalised")
def max_sensitivity_absolute(batch: Batch, settings: SensitivityParams) -> Result:
    """The largest distance as it is (P1, Eq. 5: "no normalization is applied")."""
    return max_sensitivity(batch, settings.model_copy(update={"relative": False}))
