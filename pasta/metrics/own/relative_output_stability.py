"""Relative output stability (Agarwal et al. 2022); :mod:`pasta.metrics.stability` has the rest."""

from __future__ import annotations

from collections.abc import Hashable

import torch
from torch import Tensor

from pasta.metrics.base import (
    MODEL_AND_EXPLAINER,
    Batch,
    Cost,
    Result,
    require,
)
from pasta.metrics.copies import Noise, count_explanations, measure_noisy
from pasta.metrics.forward import precise
from pasta.metrics.stability import (
    StabilityParams,
    relate_changes,
    request_changes,
    stability_metric,
)

_CLEAN = "clean outputs"
_ROUNDING = 1e-6  # of the outputs' norm: what is below differs by the batch it was in


def _count(settings: StabilityParams) -> Cost:
    request = request_changes(settings)
    asked: dict[Hashable, int] = {
        ("outputs of a noisy copy", request.noise, draw): 1 for draw in range(request.samples)
    }
    return Cost({_CLEAN: 1, **asked}, count_explanations(request))


@stability_metric(
    "relative_output_stability",
    title="Relative output stability",
    needs=MODEL_AND_EXPLAINER,
    settings=StabilityParams,
    request=request_changes,
    cost=_count,
)
def relative_output_stability(batch: Batch, settings: StabilityParams) -> Result:
    """The largest relative change of the map of a noisy copy, divided by the distance of the
    model's outputs, which are taken as they are: logits as a rule. As in the original, only the
    map's change is relative."""
    request = request_changes(settings)
    key = ("outputs of noisy copies", request.noise, request.samples)
    changes = batch.remembered(
        key, lambda: _change_of_outputs(batch, request.noise, request.samples)
    )
    return relate_changes(batch, settings, changes, "constant output")


def _ask_clean(batch: Batch) -> Tensor:
    """The model's outputs (n, classes) for the images as they are."""
    scorer, parts = require(batch.scorer), torch.split(require(batch.images), batch.rows)
    return precise(torch.cat([scorer.logits(part) for part in parts]))


def _change_of_outputs(batch: Batch, noise: Noise, samples: int) -> Tensor:
    """Distances (n, samples), zero where outputs differ by rounding only."""
    scorer, clean = require(batch.scorer), _ask_clean(batch)
    sizes = torch.linalg.vector_norm(clean, dim=1)

    def distance(noisy: Tensor, owners: Tensor) -> Tensor:
        apart = precise(scorer.logits(noisy)) - clean[owners]
        found: Tensor = torch.linalg.vector_norm(apart, dim=1)
        return torch.where(found <= _ROUNDING * sizes[owners], 0, found)

    return measure_noisy(batch, noise, samples, distance)
