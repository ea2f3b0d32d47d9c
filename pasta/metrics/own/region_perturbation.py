"""Region perturbation (Samek et al. 2017, doi:10.1109/TNNLS.2016.2599820).

Regions are perturbed one after the other, the most relevant first, by random values. They are

- *corrected*: the cells of a grid, as the modality splits its inputs, and the value is the mean
  fall of the probability;
- *paper* and *released*: windows anywhere that do not overlap, the one with the largest sum first,
  and the value is the area under the falls with steps of 1, from the first perturbed copy on.

With a single spatial axis, as point clouds have, a window of the paper is a single point, one of
the released code as many neighbours in the order in which they are stored. The released code puts
one random number into a whole region, the others have one for each entry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from pasta.metrics.base import MODEL, SCORES, Batch, Cost, Result, metric, require
from pasta.metrics.forward import precise
from pasta.metrics.own.faithfulness import FEW_STEPS
from pasta.metrics.removal import make_copies, make_replacement, rank_map, score_images, sum_groups
from pasta.readings import Reading
from pasta.sections import Count, Section


class RegionParams(Section):
    """Region perturbation, with the parameters of LATEC for ImageNet."""

    patch: Count = 14  # side of a region, in pixels
    regions: Count = 10  # that are perturbed
    low: float = 0.0  # random values lie between these
    high: float = 1.0
    reading: Reading = "corrected"


@metric(
    "region_perturbation",
    title="Region perturbation",
    category="faithfulness",
    direction="higher",
    span=(-math.inf, math.inf),
    sign="signed",
    needs=MODEL,
    doi="10.1109/TNNLS.2016.2599820",
    settings=RegionParams,
    probabilities=True,
    cost=lambda settings: Cost({SCORES: 1, ("regions", settings): settings.regions}),
)
def region_perturbation(batch: Batch, settings: RegionParams) -> Result:
    """How far the target's probability falls while the most relevant regions are perturbed."""
    counts = torch.arange(1, settings.regions + 1)
    orders = [order_regions(batch, number, settings) for number in range(len(batch))]
    copies = []
    for number, order in enumerate(orders):
        image = require(batch.images)[number]
        filling = _draw_filling(batch, number, order, settings)
        copies.append(make_copies(order, counts, make_replacement(image, filling)))
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    falls = score_images(batch)[:, None] - torch.stack(scores)
    # Small images may have fewer regions than are asked for.
    there = torch.stack([_count_regions(order, settings.regions) for order in orders])
    return area_of_falls(falls, there.to(falls.device), settings.reading)


def area_of_falls(falls: Tensor, there: Tensor, reading: Reading) -> Result:
    """Compute the metric.

    Parameters
    ----------
    falls
        Of the probability (n, regions), after one region, two, and so on.
    there
        How many regions each image has (n,).
    reading
        Which area it is.

    Returns
    -------
    The areas, with a status where there are too few regions for one.
    """
    steps = torch.arange(1, falls.shape[1] + 1, device=falls.device)
    inside = steps <= there[:, None]
    if reading == "corrected":
        falls = torch.cat([torch.zeros_like(falls[:, :1]), falls], 1)
    else:
        inside = inside[:, 1:]
    parts = (falls[:, 1:] + falls[:, :-1]) / 2
    whole = parts.where(inside, 0).sum(1)
    found = inside.sum(1)
    values = whole / found if reading == "corrected" else whole
    return Result(torch.where(found > 0, values, torch.nan), {FEW_STEPS: found == 0}, falls)


def order_regions(batch: Batch, number: int, settings: RegionParams) -> Tensor:
    """Find the regions of one image.

    Parameters
    ----------
    batch
        Maps and images.
    number
        Which of them.
    settings
        How large regions are and how many are perturbed.

    Returns
    -------
    For each place (*spatial) the number of its region, 0 for the most relevant one; a number that
    is not reached where it is in none that is perturbed.
    """
    one = batch.maps[number]
    sums = precise(one.sum(0) if batch.has_entries else one)
    random = batch.generator(number, "ties")
    if settings.reading == "corrected":
        cells: Tensor = batch.modality.need("split")(tuple(sums.shape), settings.patch)
        amount = int(cells.max()) + 1
        relevance = sum_groups(sums, cells.to(sums.device), amount)
        return rank_map(relevance, random)[cells.to(sums.device)].to(one.device)
    points = settings.reading == "paper" and sums.ndim == 1
    side = 1 if points else settings.patch
    return _order_windows(sums, side, settings.regions, random).to(one.device)


def _order_windows(values: Tensor, side: int, amount: int, random: torch.Generator) -> Tensor:
    """The windows with the largest sums that do not overlap: one begins at each place, and those
    at the far borders reach over them."""
    axes = values.ndim
    sums = pad(values, (0, side - 1) * axes)
    for axis in range(axes):
        sums = sums.unfold(axis, side, 1).sum(-1)
    # Equal sums in random order, as their order in the image would favour its upper part.
    rank = rank_map(sums, random).flatten()
    places = _coordinates(values.shape, values.device)
    order = torch.full((len(rank),), amount, device=values.device)
    taken = rank.new_tensor(len(rank))
    for region in range(amount):
        best = rank.argmin(keepdim=True)
        free = rank.gather(0, best) < taken
        start = places.index_select(1, best)
        inside = ((places >= start) & (places < start + side)).all(0)
        order = torch.where(inside & free, region, order)
        overlaps = ((places - start).abs() < side).all(0)
        rank = torch.where(overlaps, taken, rank)
    return order.view(values.shape)


def _coordinates(shape: Sequence[int], device: torch.device) -> Tensor:
    """Of all places (axes, places)."""
    axes = torch.meshgrid(*(torch.arange(side, device=device) for side in shape), indexing="ij")
    return torch.stack(axes).flatten(1)


def _count_regions(order: Tensor, most: int) -> Tensor:
    """How many regions there are, at most those that are perturbed."""
    numbers = torch.arange(most, device=order.device)
    return (order.flatten() == numbers[:, None]).any(1).sum()


def _draw_filling(batch: Batch, number: int, order: Tensor, settings: RegionParams) -> Tensor:
    """Random values for all entries of an image, or one for each region."""
    image = require(batch.images)[number]
    random = batch.generator(number, "region_perturbation")
    spread = settings.high - settings.low
    if settings.reading != "released":
        drawn = torch.rand(image.shape, generator=random, dtype=image.dtype).to(image.device)
        return settings.low + spread * drawn
    drawn = torch.rand(settings.regions, generator=random, dtype=image.dtype).to(image.device)
    each = drawn[order.clamp_max(settings.regions - 1)]
    return (settings.low + spread * each).expand_as(image)
