"""Whether relevance lies where the object or its parts are; masks are needed beside the maps."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pasta.explanations.attribution import shown_maps
from pasta.metrics.base import MASKS, Batch, Result, metric, require
from pasta.params.metrics import OverlapParams, PointingParams

EMPTY = "empty mask"


@metric(
    "pointing_game",
    title="Pointing game",
    category="localisation",
    direction="higher",
    span=(0, 1),
    sign="signed",
    needs=MASKS,
    doi="10.1007/s11263-017-1059-x",
    settings="pointing_game",
)
def pointing_game(batch: Batch, settings: PointingParams) -> Result:
    """1 if the largest value (one of them, if there are several) lies in the mask or not further
    than the tolerance from it, else 0 (Zhang et al. 2018)."""
    masks = _near(_binary(batch), settings.tolerance).flatten(1)
    maps = batch.maps.flatten(1)
    largest = maps == maps.amax(1, keepdim=True)
    return _unless_empty(batch, (largest & masks).any(1).double())


def _near(masks: Tensor, tolerance: float) -> Tensor:
    if tolerance == 0:
        return masks
    from scipy.ndimage import distance_transform_edt

    grown = [np.asarray(distance_transform_edt(~mask)) <= tolerance for mask in masks.numpy()]
    # Without any mask the distance is to nothing, and means nothing.
    return torch.from_numpy(np.stack(grown)) & masks.any(-1).any(-1)[:, None, None]


@metric(
    "relevance_mass",
    title="Relevance mass accuracy",
    category="localisation",
    direction="higher",
    span=(0, 1),
    sign="positive",
    needs=MASKS,
    doi="10.1016/j.inffus.2021.11.008",
    refuses=("nan", "zero"),
)
def relevance_mass(batch: Batch, _: None) -> Result:
    """The share of positive relevance that lies in the mask (Arras et al. 2022)."""
    maps = batch.maps.double()
    inside = (maps * _binary(batch)).sum((1, 2))
    return _unless_empty(batch, inside / maps.sum((1, 2)))


@metric(
    "relevance_rank",
    title="Relevance rank accuracy",
    category="localisation",
    direction="higher",
    span=(0, 1),
    sign="signed",
    needs=MASKS,
    doi="10.1016/j.inffus.2021.11.008",
)
def relevance_rank(batch: Batch, _: None) -> Result:
    """With K pixels in the mask, the share of the K most relevant ones that lie in it (Arras et
    al. 2022). Of pixels tied for the last places as many count as would on average."""
    pairs = zip(batch.maps.flatten(1), _binary(batch).flatten(1), strict=True)
    return _unless_empty(batch, torch.tensor([_rank(one, mask) for one, mask in pairs]).double())


def _rank(one: Tensor, mask: Tensor) -> float:
    places = int(mask.sum())
    if places == 0:
        return float("nan")
    last = one.kthvalue(one.numel() - places + 1).values
    above, tied = one > last, one == last
    free = places - int(above.sum())
    hits = int((above & mask).sum()) + free * int((tied & mask).sum()) / int(tied.sum())
    return hits / places


@metric(
    "iou",
    title="Intersection over union",
    category="localisation",
    direction="higher",
    span=(0, 1),
    sign="positive",
    needs=MASKS,
    doi="10.1145/3397481.3450689",
    settings="overlap",
)
def iou(batch: Batch, settings: OverlapParams) -> Result:
    """Of the pixels that are in the mask or reach the threshold in the shown map, those that do
    both."""
    chosen, masks = _shown(batch) >= settings.threshold, _binary(batch)
    both, either = (chosen & masks).sum((1, 2)), (chosen | masks).sum((1, 2))
    return _unless_empty(batch, both.double() / either)


@metric(
    "mae",
    title="Mean absolute error",
    category="localisation",
    direction="lower",
    span=(0, 1),
    sign="positive",
    needs=MASKS,
    doi="10.1145/3397481.3450689",
)
def mae(batch: Batch, _: None) -> Result:
    """The mean difference between the shown map and the mask, which may be soft (Mohseni, Block
    and Ragan): no threshold is needed."""
    errors = (_shown(batch) - require(batch.masks).double()).abs().mean((1, 2))
    return _unless_empty(batch, errors, soft=True)


def _shown(batch: Batch) -> Tensor:
    """Maps as people see them, from 0 to 1."""
    return torch.from_numpy(shown_maps(batch.maps.numpy(), "positive")).double()


def _binary(batch: Batch) -> Tensor:
    return require(batch.masks) >= 0.5


def _unless_empty(batch: Batch, values: Tensor, soft: bool = False) -> Result:
    """Values where there is a mask, else a status."""
    there = (require(batch.masks) > 0 if soft else _binary(batch)).flatten(1).any(1)
    statuses = ["ok" if one else EMPTY for one in there.tolist()]
    return Result(torch.where(there, values, torch.nan), statuses)
