"""Relative representation stability (Agarwal et al. 2022); :mod:`pasta.metrics.stability` has the
rest."""

from __future__ import annotations

from collections.abc import Hashable

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.hooks import hooked
from pasta.metrics.base import LAYERS_AND_EXPLAINER, Batch, Cost, Result, require
from pasta.metrics.copies import Noise, count_explanations, find_change, measure_noisy
from pasta.metrics.forward import precise
from pasta.metrics.stability import (
    StabilityParams,
    relate_changes,
    request_changes,
    stability_metric,
)
from pasta.sections import NotNegative, Positive


class RepresentationParams(StabilityParams):
    """Relative representation stability.

    LATEC looks at ``layer4.1.conv2`` of ResNet50, ``features.8.0`` of EfficientNet-b0 and
    ``blocks.11.norm1`` of DeiT.
    """

    uniform: Positive = 0.05
    lowest: NotNegative = 0.0
    # its dotted name in the model, where -1 counts from the end; null is that of the CAM methods
    layer: str | None = None


def _count(settings: RepresentationParams) -> Cost:
    request = request_changes(settings)
    asked: dict[Hashable, int] = {
        ("layer of a noisy copy", settings.layer, request.noise, draw): 1
        for draw in range(request.samples)
    }
    clean = ("layer", settings.layer)
    return Cost({clean: 1, **asked}, count_explanations(request))


@stability_metric(
    "relative_representation_stability",
    title="Relative representation stability",
    needs=LAYERS_AND_EXPLAINER,
    settings=RepresentationParams,
    request=request_changes,
    cost=_count,
)
def relative_representation_stability(batch: Batch, settings: RepresentationParams) -> Result:
    """The largest relative change of the map of a noisy copy, divided by the relative change of
    what a layer of the model gives."""
    request = request_changes(settings)
    floor = settings.floor if settings.reading == "corrected" else None
    key = ("layer of noisy copies", settings.layer, request.noise, request.samples, floor)
    changes = batch.remembered(
        key,
        lambda: _change_of_layer(batch, settings.layer, request.noise, request.samples, floor),
    )
    return relate_changes(batch, settings, changes, "constant representation")


def _change_of_layer(
    batch: Batch, name: str | None, noise: Noise, samples: int, floor: float | None
) -> Tensor:
    """Relative changes (n, samples)."""
    images = require(batch.images)
    layer = require(batch.scorer).layer(name, images.shape[1])
    parts = torch.split(images, batch.rows)
    clean = torch.cat([read_layer(batch, layer, name, part) for part in parts])

    def change(noisy: Tensor, owners: Tensor) -> Tensor:
        return find_change(clean[owners], read_layer(batch, layer, name, noisy), floor)

    return measure_noisy(batch, noise, samples, change)


def read_layer(batch: Batch, layer: nn.Module, name: str | None, images: Tensor) -> Tensor:
    """Ask the model and listen to one of its layers.

    Parameters
    ----------
    batch
        The model.
    layer, name
        The layer, and how it was called.
    images
        Shape (n, channels, *spatial).

    Returns
    -------
    What the layer gives (n, features) in double precision; of a layer that is used several times in
    one pass, the last time.
    """
    heard: list[object] = []

    def listen(_layer: nn.Module, _inputs: object, output: object) -> None:
        heard.append(output)

    with hooked(layer, listen):
        require(batch.scorer).logits(images)
    called = "the layer that was found" if name is None else f"the layer {name!r}"
    if not heard:
        raise PastaError(f"{called} has no part in the model's answer; name another layer")
    found = heard[-1]
    if not isinstance(found, Tensor) or len(found) != len(images):
        seen = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise PastaError(
            f"{called} gives {seen} for {len(images)} inputs, expected a tensor with a row for "
            "each; name another layer"
        )
    return precise(found.flatten(1))
