"""Faithfulness correlations of many maps of one image, from one set of forward passes.

The metric (:mod:`pasta.metrics.own.correlation`) asks the model about copies of the image without
random subsets of pixels and compares the drops of the target's probability with the relevance of
the subsets. What the model answers does not depend on the map: fifteen methods, or six settings of
one, cost as much as one, and are compared on the same subsets. So the drops are kept, and maps that
come later need no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.config import Params
from pasta.metrics.base import Batch
from pasta.metrics.forward import forward_rows, scorer_of
from pasta.metrics.own.correlation import pearson, score_falls
from pasta.metrics.settings import CorrelationParams
from pasta.seeds import generator

Floats = NDArray[np.float64]


def measure_drops(
    model: Any, images: Tensor, targets: Tensor, names: Sequence[str], params: Params
) -> Floats:
    """By how much the targets' probabilities drop without subsets of pixels (images, subsets).

    ``names`` of the images and the seed decide the subsets.
    """
    settings, pixels = settings_of(params), images[0, 0].numel()
    batch = Batch(
        maps=torch.zeros_like(images[:, 0]),
        seed=params.seeds.measuring,
        rows=forward_rows(images, None),
        images=images,
        targets=targets,
        scorer=scorer_of(model, images, None, probabilities=True),
    )
    subsets = [
        torch.from_numpy(chosen_pixels(pixels, settings, params.seeds.measuring, name)).to(
            images.device
        )
        for name in names
    ]
    return np.asarray(compute.to_numpy(score_falls(batch, settings, subsets)), np.float64)


def correlate(
    maps: NDArray[Any], drops: Floats, params: Params, name: str
) -> tuple[Floats, list[str]]:
    """Faithfulness correlations (n,) of maps (n, height, width) of one image with these drops.

    The status of a map says why there is no value: "constant relevance", or "constant output" if
    nothing moves the model.
    """
    flat = np.asarray(maps, np.float64).reshape(len(maps), -1)
    chosen = chosen_pixels(flat.shape[1], settings_of(params), params.seeds.measuring, name)
    sums = torch.from_numpy(np.stack([one[chosen].sum(1) for one in flat]))
    values, statuses = pearson(sums, torch.from_numpy(drops).expand(len(flat), -1))
    return values.numpy(), statuses


def settings_of(params: Params) -> CorrelationParams:
    """Those of the metric, with as many subsets as the applications ask for."""
    own = params.metrics.faithfulness_correlation
    return own.model_copy(update={"subsets": params.applications.subsets})


def chosen_pixels(
    pixels: int, settings: CorrelationParams, seed: int, name: str
) -> NDArray[np.int64]:
    """Numbers of the pixels in each subset (subsets, size)."""
    random = generator(seed, "applications", "subsets", name)
    size = max(1, round(settings.share * pixels))
    return np.stack([random.choice(pixels, size, replace=False) for _ in range(settings.subsets)])
