"""Metrics that remove pixels in the order of relevance and look at the model's answer.

Faithfulness as the harmonic mean of sufficiency and necessity (Azzolin et al. 2024,
doi:10.48550/arXiv.2406.15156).

With d the absolute change of the target's probability, sufficiency is exp(-mean d) while ever more
of the *least* relevant pixels are perturbed, necessity 1 - exp(-mean d) while ever more of the
*most* relevant ones are: 1, 3, 5, ... percent of all pixels, up to a threshold.

The text of the paper that used these for human ratings takes the best over several thresholds. The
last line of its algorithm returns max(arr) instead, the largest d of the last threshold. Both can
be had: ``reading`` is "text" or "published". In the published reading a *low* sufficiency is the
better one, which its harmonic mean with necessity ignores.

The other metrics are numbers made of the curve of the model's answer, while pixels are removed or
inserted.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import partial

import torch
from torch import Tensor

from pasta.explanations.masking import Masked
from pasta.metrics.base import MODEL, SCORES, Batch, Cost, Result, metric, require
from pasta.metrics.removal import (
    count_pixels,
    make_copies,
    make_filling,
    make_perturbation,
    make_replacement,
    rank_pixels,
    score_images,
)
from pasta.metrics.settings import CurveParams, FaithfulnessParams, Reading, RoadParams

_metric = partial(
    metric,
    category="faithfulness",
    direction="higher",
    span=(0, 1),
    sign="signed",
    needs=MODEL,
    doi="10.48550/arXiv.2406.15156",
    settings="faithfulness",
    variant=("perturbation", "reading"),
    probabilities=True,
)


def list_percentages(settings: FaithfulnessParams) -> list[int]:
    """All shares of perturbed pixels: those of the largest threshold, which hold all others."""
    return list(range(1, max(settings.thresholds), settings.step))


def _changes_key(settings: FaithfulnessParams, most: bool) -> tuple[str, bool, FaithfulnessParams]:
    """What all readings, and both metrics of one side, have in common."""
    return "changes", most, settings.model_copy(update={"reading": "text"})


def _count_copies(settings: FaithfulnessParams, *sides: bool) -> Cost:
    """The work of some sides; true is the one of the most relevant pixels."""
    number = len(list_percentages(settings))
    copies: dict[Hashable, int] = {_changes_key(settings, most): number for most in sides}
    return Cost({SCORES: 1, **copies}, imputed=copies if settings.perturbation == "road" else {})


@_metric("sufficiency", title="Sufficiency", cost=lambda one: _count_copies(one, False))
def sufficiency(batch: Batch, settings: FaithfulnessParams) -> Result:
    """Whether the relevant pixels alone keep the prediction."""
    changes = _get_changes(batch, settings, most=False)
    return Result(aggregate_changes(changes, settings, necessity=False), curves=changes)


@_metric("necessity", title="Necessity", cost=lambda one: _count_copies(one, True))
def necessity(batch: Batch, settings: FaithfulnessParams) -> Result:
    """Whether the prediction changes without the relevant pixels."""
    changes = _get_changes(batch, settings, most=True)
    return Result(aggregate_changes(changes, settings, necessity=True), curves=changes)


@_metric("faithfulness", title="Faithfulness", cost=lambda one: _count_copies(one, False, True))
def faithfulness(batch: Batch, settings: FaithfulnessParams) -> Result:
    """The harmonic mean of both; zero if both are zero."""
    one = sufficiency(batch, settings).values
    other = necessity(batch, settings).values
    both = one + other
    mean = 2 * one * other / torch.where(both == 0, 1, both)
    return Result(mean)


def aggregate_changes(changes: Tensor, settings: FaithfulnessParams, necessity: bool) -> Tensor:
    """The last lines of the algorithm, from the changes d (n, percentages)."""
    percentages = list_percentages(settings)
    reading: Reading = settings.reading
    if reading == "published":
        return changes[:, : _below(percentages, settings.thresholds[-1])].amax(1)
    means = torch.stack(
        [changes[:, : _below(percentages, limit)].mean(1) for limit in settings.thresholds], 1
    )
    kept = torch.exp(-means)
    return (1 - kept if necessity else kept).amax(1)


def _below(percentages: Sequence[int], limit: int) -> int:
    return sum(part < limit for part in percentages)


def _get_changes(batch: Batch, settings: FaithfulnessParams, most: bool) -> Tensor:
    """|p(x) - p(x')| for each share of perturbed pixels, (n, percentages)."""
    key = _changes_key(settings, most)
    return batch.once(key, lambda: _compute_changes(batch, settings, most))


def _compute_changes(batch: Batch, settings: FaithfulnessParams, most: bool) -> Tensor:
    counts = count_pixels(list_percentages(settings), batch.pixels)
    copies = []
    for number, rank in enumerate(rank_pixels(batch)):
        perturb = make_perturbation(batch, number, settings, settings.perturbation)
        copies.append(make_copies(rank, counts, perturb, most))
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    return (torch.stack(scores) - score_images(batch)[:, None]).abs()


_curve_metric = partial(metric, category="faithfulness", sign="signed", needs=MODEL)


def _count_removals(settings: CurveParams) -> Cost:
    return Cost({_removal_key(settings): 1 + settings.steps})


def _removal_key(settings: CurveParams) -> tuple[str, CurveParams]:
    return "removal", settings


@_curve_metric(
    "pixel_flipping",
    title="Pixel flipping (AOPC)",
    direction="higher",
    span=(-math.inf, math.inf),
    doi="10.1109/TNNLS.2016.2599820",
    settings="pixel_flipping",
    cost=_count_removals,
)
def pixel_flipping(batch: Batch, settings: CurveParams) -> Result:
    """The mean over all steps of the fall of the target's score, most relevant pixels first
    (Samek et al. 2017; the curve is that of Bach et al. 2015, doi:10.1371/journal.pone.0130140)."""
    curve = _removal_curve(batch, settings)
    return Result((curve[:, :1] - curve).mean(1), curves=curve)


@_curve_metric(
    "deletion",
    title="Deletion",
    direction="lower",
    span=(0, 1),
    doi="10.48550/arXiv.1806.07421",
    settings="deletion",
    probabilities=True,
    cost=_count_removals,
)
def deletion(batch: Batch, settings: CurveParams) -> Result:
    """The area under the target's probability while the most relevant pixels vanish."""
    curve = _removal_curve(batch, settings)
    return Result(area(curve), curves=curve)


@_curve_metric(
    "insertion",
    title="Insertion",
    direction="higher",
    span=(0, 1),
    doi="10.48550/arXiv.1806.07421",
    settings="insertion",
    probabilities=True,
    cost=lambda settings: Cost({("insertion", settings): 1 + settings.steps}),
)
def insertion(batch: Batch, settings: CurveParams) -> Result:
    """The area under the target's probability while the most relevant pixels appear."""
    curve = _curve(batch, settings, appear=True)
    return Result(area(curve), curves=curve)


def _count_road(settings: RoadParams, most: bool) -> Cost:
    copies: dict[Hashable, int] = {("road", most, settings): len(settings.percentages)}
    return Cost(copies, imputed=copies)


@_curve_metric(
    "road",
    title="ROAD, most relevant first",
    direction="lower",
    span=(0, 1),
    doi="10.48550/arXiv.2202.00449",
    settings="road",
    cost=lambda settings: _count_road(settings, most=True),
)
def road(batch: Batch, settings: RoadParams) -> Result:
    """How often the target is still predicted while the most relevant pixels are removed by noisy
    linear imputation."""
    return _road(batch, settings, most=True)


@_curve_metric(
    "road_least",
    title="ROAD, least relevant first",
    direction="higher",
    span=(0, 1),
    doi="10.48550/arXiv.2202.00449",
    settings="road",
    cost=lambda settings: _count_road(settings, most=False),
)
def road_least(batch: Batch, settings: RoadParams) -> Result:
    """The same while the least relevant pixels are removed."""
    return _road(batch, settings, most=False)


def _road(batch: Batch, settings: RoadParams, most: bool) -> Result:
    counts = count_pixels(settings.percentages, batch.pixels)
    copies = [
        make_copies(rank, counts, make_perturbation(batch, number, settings, "road"), most)
        for number, rank in enumerate(rank_pixels(batch))
    ]
    scorer, targets = require(batch.scorer), require(batch.targets)
    curve = torch.stack(scorer.copies(copies, targets, batch.rows, "correct"))
    return Result(curve.mean(1), curves=curve)


def area(curve: Tensor) -> Tensor:
    """Under a curve from 0 to 1, by the trapezoidal rule."""
    return (curve.sum(1) - (curve[:, 0] + curve[:, -1]) / 2) / (curve.shape[1] - 1)


def _removal_curve(batch: Batch, settings: CurveParams) -> Tensor:
    """The curve of removal, which pixel flipping and deletion share if they are set alike."""
    return batch.once(_removal_key(settings), lambda: _curve(batch, settings, appear=False))


def _curve(batch: Batch, settings: CurveParams, appear: bool) -> Tensor:
    """The target's score (n, 1 + steps), from no pixel to all of them."""
    counts = torch.arange(1 + settings.steps) * batch.pixels // settings.steps
    copies: list[Masked] = []
    for image, rank in zip(require(batch.images), rank_pixels(batch), strict=True):
        filling = make_filling(image, settings, batch.modality)
        pair = (filling, image) if appear else (image, filling)
        copies.append(make_copies(rank, counts, make_replacement(*pair)))
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    return torch.stack(scores)
