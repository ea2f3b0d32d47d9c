"""Local Lipschitz estimate (Alvarez-Melis and Jaakkola 2018, doi:10.48550/arXiv.1806.08049)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pasta.metrics.base import EXPLAINER, Batch, Cost, Result, metric
from pasta.metrics.copies import (
    Copies,
    CopyNoise,
    Noise,
    Request,
    count_explanations,
    give_status,
    measure_copies,
    scale_maps,
)
from pasta.metrics.forward import precise
from pasta.readings import Reading
from pasta.sections import Count, Positive, Section


class LocalLipschitzParams(Section):
    """Local Lipschitz estimate.

    LATEC takes 5 samples of 0.1 for images (0.0002 for OCT) and point clouds, 10 of 0.2 for
    volumes.
    """

    # the paper and the correction are the same; the released code spares the first feature
    reading: Reading = "corrected"
    samples: Count = 5  # noisy copies of an image
    noise: CopyNoise = "own"  # Gaussian, or shared with MaxSensitivity's default: uniform
    gaussian: Positive = 0.1  # standard deviation of its own noise
    shared: Positive = 0.2  # the shared noise is uniform from minus this to this


@dataclass(frozen=True)
class Slope:
    """The distance of the normalised maps, divided by that of the inputs."""

    def __call__(self, copies: Copies) -> Tensor:
        """One number per copy."""
        apart = scale_maps(copies.again) - scale_maps(copies.maps)
        moved = precise((copies.noisy - copies.images).flatten(1))
        distances: Tensor = torch.linalg.vector_norm(apart, dim=1)
        lengths: Tensor = torch.linalg.vector_norm(moved, dim=1)
        return distances / lengths


def request_slopes(settings: LocalLipschitzParams) -> Request:
    """Which copies, and what is asked of them."""
    own = settings.noise == "own"
    noise = Noise(
        "gaussian" if own else "uniform",
        settings.gaussian if own else settings.shared,
        spare_first=settings.reading == "released",
    )
    return Request(noise, settings.samples, Slope())


@metric(
    "local_lipschitz",
    title="Local Lipschitz estimate",
    category="robustness",
    direction="lower",
    span=(0, math.inf),
    sign="signed",
    needs=EXPLAINER,
    doi="10.48550/arXiv.1806.08049",
    settings=LocalLipschitzParams,
    refuses=("nan",),
    request=request_slopes,
    cost=lambda settings: Cost(explained=count_explanations(request_slopes(settings))),
)
def local_lipschitz(batch: Batch, settings: LocalLipschitzParams) -> Result:
    """The largest distance between the map of an image and that of a noisy copy, divided by the
    distance of the two images. Each map is divided by its largest absolute value before."""
    return give_status(batch, measure_copies(batch, request_slopes(settings)).amax(1))
