"""Metrics that need no model: how simple a map is, and whether it lies on the object."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import conv1d, conv2d, conv3d

from pasta.metrics.base import EXPLANATION, MASKS, Batch, Result, metric, require
from pasta.metrics.forward import precise
from pasta.metrics.settings import EffectiveComplexityParams, OverlapParams, PointingParams


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
    doi:10.1109/TIT.2009.2027527): 0 for a flat map, 1 - 1/n if one of n pixels has all. LATEC adds
    1e-9 to all values, the largest of which is 1: at most n 1e-9 less."""
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
    where it is called complexity, as in LATEC); ln n for a flat map of n pixels."""
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
    and Martinez 2020). LATEC's tolerance is 0.01 for images, else 0.001, and with its maps, which
    have a number for each channel of a pixel, the count is that of these numbers."""
    values = batch.maps.flatten(1)
    limits = settings.tolerance * values.amax(1, keepdim=True)
    return Result(precise((values > limits).sum(1)))


EMPTY = "empty mask"
_metric = partial(metric, category="localisation", needs=MASKS, entries=False)


@_metric(
    "pointing_game",
    title="Pointing game",
    direction="higher",
    span=(0, 1),
    sign="signed",
    doi="10.1007/s11263-017-1059-x",
    settings="pointing_game",
)
def pointing_game(batch: Batch, settings: PointingParams) -> Result:
    """1 if the largest value (one of them, if there are several) lies in the mask or not further
    than the tolerance from it, else 0 (Zhang et al. 2018)."""
    masks = _widen(_binary(batch), settings.tolerance).flatten(1)
    maps = batch.maps.flatten(1)
    largest = maps == maps.amax(1, keepdim=True)
    return _refuse_empty(batch, precise((largest & masks).any(1)))


def _widen(masks: Tensor, tolerance: float) -> Tensor:
    """Masks with a border as wide as the tolerance: a disc around each of their pixels."""
    half = int(min(tolerance, max(masks.shape[1:])))
    places = torch.arange(-half, half + 1, device=masks.device).square()
    apart = torch.meshgrid(*[places] * (masks.ndim - 1), indexing="ij")
    disc = torch.stack(apart).sum(0) <= tolerance**2
    convolve = (conv1d, conv2d, conv3d)[masks.ndim - 2]
    grown = convolve(masks[:, None].float(), disc[None, None].float(), padding=half)
    return grown[:, 0] > 0.5


@_metric(
    "relevance_mass",
    title="Relevance mass accuracy",
    direction="higher",
    span=(0, 1),
    sign="positive",
    doi="10.1016/j.inffus.2021.11.008",
    refuses=("nan", "zero"),
)
def relevance_mass(batch: Batch, _: None) -> Result:
    """The share of positive relevance that lies in the mask (Arras et al. 2022)."""
    maps = precise(batch.maps)
    axes = _axes(maps)
    inside = (maps * precise(_binary(batch))).sum(axes)
    return _refuse_empty(batch, inside / maps.sum(axes))


@_metric(
    "relevance_rank",
    title="Relevance rank accuracy",
    direction="higher",
    span=(0, 1),
    sign="signed",
    doi="10.1016/j.inffus.2021.11.008",
)
def relevance_rank(batch: Batch, _: None) -> Result:
    """With K pixels in the mask, the share of the K most relevant ones that lie in it (Arras et
    al. 2022). Of pixels tied for the last places as many count as would on average."""
    maps, masks = batch.maps.flatten(1), _binary(batch).flatten(1)
    places = masks.sum(1, keepdim=True)
    last = maps.sort(1, descending=True).values.gather(1, (places - 1).clamp_min(0))
    above, tied = maps > last, maps == last
    free = places - above.sum(1, keepdim=True)
    hits, close, ties = (precise(one.sum(1)) for one in (above & masks, tied & masks, tied))
    return _refuse_empty(batch, (hits + precise(free[:, 0]) * close / ties) / precise(places[:, 0]))


@_metric(
    "iou",
    title="Intersection over union",
    direction="higher",
    span=(0, 1),
    sign="positive",
    doi="10.1145/3397481.3450689",
    settings="overlap",
)
def iou(batch: Batch, settings: OverlapParams) -> Result:
    """Of the pixels that are in the mask or reach the threshold in the shown map, those that do
    both."""
    chosen, masks = _scale_maps(batch) >= settings.threshold, _binary(batch)
    both, either = ((chosen & masks).sum(_axes(masks)), (chosen | masks).sum(_axes(masks)))
    return _refuse_empty(batch, precise(both) / precise(either))


@_metric(
    "mae",
    title="Mean absolute error",
    direction="lower",
    span=(0, 1),
    sign="positive",
    doi="10.1145/3397481.3450689",
)
def mae(batch: Batch, _: None) -> Result:
    """The mean difference between the shown map and the mask, which may be soft (Mohseni, Block
    and Ragan): no threshold is needed."""
    apart = (precise(_scale_maps(batch)) - precise(require(batch.masks))).abs()
    return _refuse_empty(batch, apart.mean(_axes(apart)), soft=True)


def _scale_maps(batch: Batch) -> Tensor:
    """Maps as people see them, from 0 to 1, as ``shown_maps`` of the explanations has them."""
    axes = _axes(batch.maps)
    low, high = batch.maps.amin(axes, keepdim=True), batch.maps.amax(axes, keepdim=True)
    return torch.where(high > low, (batch.maps - low) / (high - low), 0)


def _axes(values: Tensor) -> tuple[int, ...]:
    """All but the first: those of one map."""
    return tuple(range(1, values.ndim))


def _binary(batch: Batch) -> Tensor:
    return require(batch.masks) >= 0.5


def _refuse_empty(batch: Batch, values: Tensor, soft: bool = False) -> Result:
    """Values where there is a mask, else a status."""
    there = (require(batch.masks) > 0 if soft else _binary(batch)).flatten(1).any(1)
    found = torch.where(there.to(values.device), values, torch.nan)
    return Result(found, {EMPTY: ~there})
