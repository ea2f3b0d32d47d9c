"""Sufficiency as Dasgupta, Frost and Moshkovitz 2022 define it (doi:10.48550/arXiv.2202.00734).

The share of maps like this one whose images are predicted as the same class. It compares the maps
of a method with each other, so that it must see all of them. In LATEC maps are alike if their
distance is at most a part of the largest distance.

- *corrected*: maps are divided by their largest absolute value, those that are zero or constant
  are nobody's neighbours, and a map without neighbours has a status;
- *paper*: maps as they are; one without neighbours has 0. In both a feature that is the same in
  all maps does not count, and distances are relative to the largest of the whole set;
- *released*: distances of ``chunk`` maps, in the order given, to all maps, divided by the largest
  of these; the variances that standardise them are those of the set with the chunk once more, and
  if a feature never varies no map has a neighbour, so that all of the chunk have 0.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from pasta.metrics.base import Batch, Cost, Result, metric, require
from pasta.metrics.forward import precise
from pasta.readings import Reading
from pasta.sections import Count, Fraction, Section

_FEATURES = 2**14  # that are in double precision at a time


class NeighbourParams(Section):
    """Sufficiency of neighbours, with the parameters of LATEC for most images."""

    threshold: Fraction = 0.6  # of the largest distance, up to which maps are neighbours
    distance: Literal["standardised", "squared"] = "standardised"  # the latter for volumes
    chunk: Count = 2  # maps whose distances are made relative together, where *released*
    reading: Reading = "corrected"


@metric(
    "neighbour_sufficiency",
    title="Sufficiency of neighbours",
    category="faithfulness",
    direction="higher",
    span=(0, 1),
    sign="signed",
    needs=("maps", "model", "images"),
    doi="10.48550/arXiv.2202.00734",
    settings=NeighbourParams,
    refuses=("nan",),
    whole_set=True,
    cost=lambda _: Cost({"predicted classes": 1}),
)
def neighbour_sufficiency(batch: Batch, settings: NeighbourParams) -> Result:
    """The share of maps that are near this one whose images are predicted as the same class."""
    images, scorer = require(batch.images), require(batch.scorer)

    def ask() -> Tensor:
        return torch.cat([scorer.outputs(part) for part in torch.split(images, batch.rows)])

    outputs = batch.remembered("clean outputs", ask)
    classes, broken = outputs.argmax(1), ~outputs.isfinite().all(1)
    maps = batch.maps.flatten(1)
    largest = maps.abs().amax(1, keepdim=True)
    zero = largest[:, 0] == 0
    constant = (maps == maps[:, :1]).all(1)
    usable = ~broken
    if settings.reading == "corrected":
        usable = usable & ~constant
        maps = maps / torch.where(largest > 0, largest, 1)
    near = find_neighbours(maps, usable, settings)
    same = classes[:, None] == classes
    found = precise(near.sum(1))
    shares = precise((near & same.to(near.device)).sum(1)) / found.clamp_min(1)
    why = {"zero": zero, "constant": constant, "nan output": broken, "no neighbour": found == 0}
    missing = found == 0 if settings.reading == "corrected" else broken
    return Result(torch.where(missing, torch.nan, shares), why)


def find_neighbours(maps: Tensor, usable: Tensor, settings: NeighbourParams) -> Tensor:
    """Find the maps that are like each map.

    Parameters
    ----------
    maps
        Shape (n, features).
    usable
        Which of them can be neighbours at all (n,).
    settings
        The distance and how far neighbours may be.

    Returns
    -------
    Flags (n, n), false for a map itself.
    """
    number = len(maps)
    itself = torch.eye(number, dtype=torch.bool, device=maps.device)
    pairs = usable[:, None] & usable & ~itself
    if settings.reading != "released":
        weights = usable.float()
        apart = measure_distances(maps, weights, settings)
        largest = apart.where(pairs, 0).amax()
        return pairs & (apart <= settings.threshold * largest)
    near = torch.zeros_like(pairs)
    for start in range(0, number, settings.chunk):
        rows = slice(start, start + settings.chunk)
        weights = torch.ones(number)
        weights[rows] += 1
        apart = measure_distances(maps, weights, settings)[rows]
        near[rows] = apart / (apart.amax() + 1e-13) <= settings.threshold
    return near & pairs


def measure_distances(maps: Tensor, weights: Tensor, settings: NeighbourParams) -> Tensor:
    """Measure the distances of all maps to each other.

    Parameters
    ----------
    maps
        Shape (n, features).
    weights
        How often each map counts in the variance of a feature (n,); 0 for those that are no
        neighbours.
    settings
        Which distance it is. The standardised one is Euclidean after division by the standard
        deviation of each feature (of a sample, not of a population).

    Returns
    -------
    Distances (n, n), not a number where a feature never varies and the reading is *released*.
    """
    total: Tensor | None = None
    for part in torch.split(maps, _FEATURES, 1):
        values = precise(part)
        if settings.distance == "standardised":
            values = _standardised(values, weights.to(values)[:, None], settings.reading)
        squares = values.square().sum(1)
        more = squares[:, None] + squares - 2 * values @ values.T
        total = more if total is None else total + more
    squared = require(total).clamp_min(0).fill_diagonal_(0)
    return squared if settings.distance == "squared" else squared.sqrt()


def _standardised(values: Tensor, weights: Tensor, reading: Reading) -> Tensor:
    """Values (n, features) less their mean, by the standard deviation of each feature."""
    amount, counted = weights.sum(), weights > 0
    mean = (weights * values).sum(0) / amount
    variance = (weights * (values - mean).square()).sum(0) / (amount - 1)
    # The rounding of a mean makes a tiny variance of none.
    low, high = values.where(counted, torch.inf), values.where(counted, -torch.inf)
    still = low.amin(0) >= high.amax(0)
    scaled = (values - mean) / torch.where(still, 0, variance).sqrt()
    return scaled if reading == "released" else scaled.where(counted & ~still, 0)
