"""How simple a map is; only the map itself is needed."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from pasta.metrics.base import EXPLANATION, Batch, Result, metric
from pasta.metrics.forward import precise
from pasta.metrics.settings import EffectiveComplexityParams


@metric(
    "sparseness",
    title="Sparseness",
    category="complexity",
    direction="higher",
    span=(0, 1),
    sign="absolute",
    needs=EXPLANATION,
    doi="10.48550/arXiv.1810.06583",
    refuses=("nan", "zero"),
)
def sparseness(batch: Batch, _: None) -> Result:
    """The Gini index of the absolute values (Chalasani et al. 2020; Hurley and Rickard 2009,
    doi:10.1109/TIT.2009.2027527): 0 for a flat map, 1 - 1/n if one of n pixels has all."""
    return Result(gini(batch.maps.flatten(1)))


def gini(values: Tensor) -> Tensor:
    """Row by row: sum of (2 i - n - 1) x_i / (n sum of x), with x in ascending order."""
    ascending = precise(values.sort(1).values)
    number = values.shape[1]
    places = torch.arange(1, number + 1, dtype=ascending.dtype, device=ascending.device)
    index = (ascending @ (2 * places - number - 1)) / (number * ascending.sum(1))
    # In exact arithmetic a flat map has 0; rounding may give a tiny negative number.
    return index.clamp_min(0)


@metric(
    "entropy",
    title="Entropy",
    category="complexity",
    direction="lower",
    span=(0, math.inf),
    sign="absolute",
    needs=EXPLANATION,
    doi="10.24963/ijcai.2020/417",
    refuses=("nan", "zero"),
)
def entropy(batch: Batch, _: None) -> Result:
    """The entropy, in nats, of the pixels' shares in the absolute relevance (Bhatt et al. 2020,
    where it is called complexity); ln n for a flat map of n pixels."""
    values = precise(batch.maps.flatten(1))
    shares = values / values.sum(1, keepdim=True)
    return Result(torch.special.entr(shares).sum(1))


@metric(
    "effective_complexity",
    title="Effective complexity",
    category="complexity",
    direction="lower",
    span=(0, math.inf),
    sign="absolute",
    needs=EXPLANATION,
    doi="10.48550/arXiv.2007.07584",
    settings="effective_complexity",
    refuses=("nan", "zero"),
)
def effective_complexity(batch: Batch, settings: EffectiveComplexityParams) -> Result:
    """The number of pixels whose absolute relevance exceeds a small part of the largest (Nguyen
    and Martinez 2020)."""
    values = batch.maps.flatten(1)
    limits = settings.tolerance * values.amax(1, keepdim=True)
    return Result(precise((values > limits).sum(1)))
