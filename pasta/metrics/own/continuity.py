"""Continuity, as LATEC measures it (after Montavon, Samek and Mueller 2018,
doi:10.1016/j.dsp.2017.10.011).

The content of an image is moved along the last axis, step by step, and each moved copy is
explained. Where the target's output falls, the relevance of the parts of the image should fall with
it: the value is the correlation, over the steps, between the output and the sum of a part's
relevance, averaged over the parts.

- ``corrected`` and ``paper``: the content is moved by 1/20, 2/20, ... of the width until it has
  left the image, black comes in, and the correlation is Pearson's. A map is divided by its largest
  absolute value. A part whose relevance does not change has no correlation and is left out.
- ``released``: a step of images and volumes is as many pixels as all pixels divided by the number
  of steps, which is more than the width: **from the first step on nothing is left of the content**,
  and the curves are those of constant images of random colours (uniform from 0 to 1). Of point
  clouds, whose content does move, only each third point counts. A part's relevance is divided by
  its own largest value before it is added up, the correlation is Spearman's, and a part without one
  counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

import torch
from torch import Tensor

from pasta.explanations.masking import Masked, masked_scores
from pasta.explanations.spatial import shift_content
from pasta.metrics.base import MODEL_AND_EXPLAINER, Batch, Cost, Result, metric, require
from pasta.metrics.copies import ask_explainer, scale_maps
from pasta.metrics.forward import precise
from pasta.metrics.own.correlation import correlate_rows
from pasta.readings import Reading
from pasta.sections import Count, Section

_TINY = 1e-13  # what the released code adds to a divisor


class ContinuityParams(Section):
    """Continuity.

    LATEC takes parts of 56 pixels for images of 224, of 7 for volumes of 28, and of 3 for clouds.
    """

    reading: Reading = "corrected"
    steps: Count = 20
    part: Count = 56  # side of the parts whose relevance is added up, in pixels


def _moves_key(settings: ContinuityParams) -> tuple[Hashable, ...]:
    return "moved", settings.steps, settings.reading == "released"


def _count(settings: ContinuityParams) -> Cost:
    copies: dict[Hashable, int] = {_moves_key(settings): settings.steps}
    return Cost(copies, explained=copies)


@metric(
    "continuity",
    title="Continuity",
    category="robustness",
    direction="higher",
    span=(-1, 1),
    sign="signed",
    needs=MODEL_AND_EXPLAINER,
    doi="10.1016/j.dsp.2017.10.011",
    settings=ContinuityParams,
    refuses=("nan",),
    cost=_count,
)
def continuity(batch: Batch, settings: ContinuityParams) -> Result:
    """The correlation between the target's output (a logit as a rule) and the relevance of a part
    of the image while its content moves out, averaged over all parts."""
    copies = [make_moves(batch, number, settings) for number in range(len(batch))]
    curve = batch.remembered(_moves_key(settings), lambda: _ask_model(batch, copies))
    sums = _explain_moves(batch, settings, copies)
    found = correlate_parts(curve, sums, settings.reading)
    zero = (batch.maps == 0).flatten(1).all(1)
    return Result(torch.where(zero, torch.nan, found.values), {"zero": zero, **found.why})


def make_moves(batch: Batch, number: int, settings: ContinuityParams) -> Masked:
    """Make the moved copies of one image, when they are needed.

    Parameters
    ----------
    batch
        Images.
    number
        Which of them.
    settings
        How many copies, and how far they are moved.

    Returns
    -------
    The copies, from the nearest to the farthest.
    """
    image = require(batch.images)[number : number + 1]
    move: Callable[[Tensor, float], Tensor] = batch.modality.need("shift")
    size = image.shape[2:]
    released = settings.reading == "released" and len(size) > 1
    length = size.numel() // settings.steps if released else 0  # in pixels

    def copy(step: int) -> Tensor:
        if not released:
            return move(image, (step + 1) / settings.steps)[0]
        random = batch.generator(number, "continuity", step)
        colour = float(torch.rand((), generator=random))
        return shift_content(image, min(1.0, (step + 1) * length / size[-1]), colour)[0]

    def build(rows: slice) -> Tensor:
        return torch.stack([copy(step) for step in range(rows.start, rows.stop)])

    return Masked(settings.steps, build)


def _ask_model(batch: Batch, copies: list[Masked]) -> Tensor:
    """The target's output (n, steps)."""
    scorer, targets = require(batch.scorer), require(batch.targets)

    def ask(moved: Tensor, owners: Tensor) -> Tensor:
        return scorer.logits(moved).gather(1, targets[owners][:, None])[:, 0]

    return precise(torch.stack(masked_scores(ask, copies, batch.rows)))


def _explain_moves(batch: Batch, settings: ContinuityParams, copies: list[Masked]) -> Tensor:
    """The relevance of each part (n, steps, parts)."""
    explainer, targets = require(batch.explainer), require(batch.targets)
    released = settings.reading == "released"
    size = tuple(require(batch.images).shape[2:])
    if released and len(size) == 1:  # of each so many points one counts
        points = torch.arange(size[0])
        number = -(-size[0] // settings.part)
        labels = torch.where(points % settings.part == 0, points // settings.part, number)
    else:
        labels = batch.modality.need("split")(size, settings.part).flatten()
        number = int(labels.max()) + 1
    add = partial(add_parts, labels=labels.to(batch.maps.device), parts=number, released=released)

    def explain(moved: Tensor, owners: Tensor) -> Tensor:
        maps = ask_explainer(explainer, moved, targets[owners], batch.maps.shape[1:])
        return add(scale_maps(maps).view(len(maps), -1, len(labels)))

    return torch.stack(masked_scores(explain, copies, batch.rows))


def add_parts(maps: Tensor, labels: Tensor, parts: int, released: bool) -> Tensor:
    """Add up the relevance of each part.

    Parameters
    ----------
    maps
        Shape (n, channels, positions).
    labels
        The number of each position's part; from ``parts`` on they belong to none.
    parts
        How many there are.
    released
        Whether each part is divided by its own largest absolute value before.

    Returns
    -------
    Sums (n, parts).
    """
    rows = maps.sum(1)
    sums = rows.new_zeros(len(rows), max(parts, 1) + 1).index_add_(1, labels, rows)[:, :parts]
    if not released:
        return sums
    highest = maps.abs().amax(1)
    largest = highest.new_zeros(len(rows), parts + 1)
    largest = largest.scatter_reduce_(1, labels.expand_as(highest), highest, "amax")[:, :parts]
    return sums / (largest + _TINY)


def correlate_parts(curve: Tensor, sums: Tensor, reading: Reading) -> Result:
    """Correlate the output with the relevance of each part, and take the mean.

    Parameters
    ----------
    curve
        Outputs (n, steps).
    sums
        Relevance (n, steps, parts).
    reading
        Which correlation, and what becomes of parts that have none.

    Returns
    -------
    One value for each image, and why there is none.
    """
    count, steps, parts = sums.shape
    rows = sums.transpose(1, 2).reshape(count * parts, steps)
    outputs = curve[:, None].expand(count, parts, steps).reshape(count * parts, steps)
    found = correlate_rows(rows, outputs)
    values = found.values
    if reading == "released":
        ranked = correlate_rows(rank_rows(rows), rank_rows(outputs)).values
        values = torch.where(values.isnan(), torch.nan, ranked)
    values = values.view(count, parts)
    known = values.isfinite()
    number = parts if reading == "released" else known.sum(1)
    mean = torch.where(known, values, 0).sum(1) / number
    broken = sums.isnan().flatten(1).any(1)
    mean = torch.where(known.any(1) & ~broken, mean, torch.nan)
    why = {status: one.view(count, parts).all(1) for status, one in found.why.items()}
    order = ("constant output", "constant relevance")
    return Result(mean, {"nan explanation": broken, **{status: why[status] for status in order}})


def rank_rows(values: Tensor) -> Tensor:
    """The rank of each value in its row, from 1; equal values have the mean of their ranks."""
    below = (values[:, :, None] > values[:, None]).sum(2)
    alike = (values[:, :, None] == values[:, None]).sum(2)
    return precise(below) + (precise(alike) + 1) / 2
