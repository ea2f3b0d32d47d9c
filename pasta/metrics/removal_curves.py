"""Curves of the model's answer while pixels are removed or inserted in the order of relevance."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from pasta.explanations.masking import Masked
from pasta.metrics.base import MODEL, Batch, Cost, Result, metric, require
from pasta.metrics.removal import counts_of, filling_of, perturbing, ranks, removing, replacing
from pasta.metrics.settings import CurveParams, RoadParams

_metric = partial(metric, category="faithfulness", sign="signed", needs=MODEL)


def _steps(settings: CurveParams) -> Cost:
    return Cost(1 + settings.steps)


@_metric(
    "pixel_flipping",
    title="Pixel flipping (AOPC)",
    direction="higher",
    span=(-math.inf, math.inf),
    doi="10.1109/TNNLS.2016.2599820",
    settings="pixel_flipping",
    cost=_steps,
)
def pixel_flipping(batch: Batch, settings: CurveParams) -> Result:
    """The mean over all steps of the fall of the target's score, most relevant pixels first
    (Samek et al. 2017; the curve is that of Bach et al. 2015, doi:10.1371/journal.pone.0130140)."""
    curve = _removal(batch, settings)
    return Result((curve[:, :1] - curve).mean(1), curves=curve)


@_metric(
    "deletion",
    title="Deletion",
    direction="lower",
    span=(0, 1),
    doi="10.48550/arXiv.1806.07421",
    settings="deletion",
    probabilities=True,
    cost=_steps,
)
def deletion(batch: Batch, settings: CurveParams) -> Result:
    """The area under the target's probability while the most relevant pixels vanish."""
    curve = _removal(batch, settings)
    return Result(area(curve), curves=curve)


@_metric(
    "insertion",
    title="Insertion",
    direction="higher",
    span=(0, 1),
    doi="10.48550/arXiv.1806.07421",
    settings="insertion",
    probabilities=True,
    cost=_steps,
)
def insertion(batch: Batch, settings: CurveParams) -> Result:
    """The area under the target's probability while the most relevant pixels appear."""
    curve = _curve(batch, settings, appear=True)
    return Result(area(curve), curves=curve)


def _road_cost(settings: RoadParams) -> Cost:
    return Cost(len(settings.percentages))


@_metric(
    "road",
    title="ROAD, most relevant first",
    direction="lower",
    span=(0, 1),
    doi="10.48550/arXiv.2202.00449",
    settings="road",
    cost=_road_cost,
)
def road(batch: Batch, settings: RoadParams) -> Result:
    """How often the target is still predicted while the most relevant pixels are removed by noisy
    linear imputation."""
    return _road(batch, settings, most=True)


@_metric(
    "road_least",
    title="ROAD, least relevant first",
    direction="higher",
    span=(0, 1),
    doi="10.48550/arXiv.2202.00449",
    settings="road",
    cost=_road_cost,
)
def road_least(batch: Batch, settings: RoadParams) -> Result:
    """The same while the least relevant pixels are removed."""
    return _road(batch, settings, most=False)


def _road(batch: Batch, settings: RoadParams, most: bool) -> Result:
    counts = counts_of(settings.percentages, batch.pixels)
    copies = [
        removing(rank, counts, perturbing(batch, number, settings, "road"), most)
        for number, rank in enumerate(ranks(batch))
    ]
    scorer, targets = require(batch.scorer), require(batch.targets)
    curve = torch.stack(scorer.copies(copies, targets, batch.rows, "correct"))
    return Result(curve.mean(1), curves=curve)


def area(curve: Tensor) -> Tensor:
    """Under a curve from 0 to 1, by the trapezoidal rule."""
    return (curve.sum(1) - (curve[:, 0] + curve[:, -1]) / 2) / (curve.shape[1] - 1)


def _removal(batch: Batch, settings: CurveParams) -> Tensor:
    """The curve of removal, which pixel flipping and deletion share if they are set alike."""
    return batch.once(("removal", settings), lambda: _curve(batch, settings, appear=False))


def _curve(batch: Batch, settings: CurveParams, appear: bool) -> Tensor:
    """The target's score (n, 1 + steps), from no pixel to all of them."""
    counts = torch.arange(1 + settings.steps) * batch.pixels // settings.steps
    copies: list[Masked] = []
    for image, rank in zip(require(batch.images), ranks(batch), strict=True):
        filling = filling_of(image, settings)
        pair = (filling, image) if appear else (image, filling)
        copies.append(removing(rank, counts, replacing(*pair)))
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    return torch.stack(scores)
