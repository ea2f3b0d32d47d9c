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
inserted. Their settings reach what LATEC (doi:10.48550/arXiv.2409.16756) makes of insertion,
deletion and ROAD, in three readings; its pixel flipping has another direction and is a metric of
its own.
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
    Perturb,
    count_groups,
    count_pixels,
    features_of,
    make_copies,
    make_filling,
    make_perturbation,
    make_replacement,
    rank_pixels,
    rank_places,
    score_images,
)
from pasta.metrics.settings import (
    AreaParams,
    CurveParams,
    FaithfulnessParams,
    Reading,
    RoadParams,
)

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
    entries=False,
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


def count_removals(settings: CurveParams, shape: tuple[int, ...]) -> Cost:
    """Count the passes of a curve of removal on images of the shape (channels, *spatial)."""
    return Cost({_removal_key(settings): 1 + _count_steps(settings, shape)})


def _count_insertions(settings: CurveParams, shape: tuple[int, ...]) -> Cost:
    return Cost({("insertion", settings): 1 + _count_steps(settings, shape)})


def _count_steps(settings: CurveParams, shape: tuple[int, ...]) -> int:
    if settings.features is None:
        return settings.steps
    return count_groups(settings.features, shape)


def _removal_key(settings: CurveParams) -> Hashable:
    """What metrics of the same curve have in common."""
    same = settings.model_dump(exclude={"reading"})
    return "removal", tuple(same.items()), _takes_whole_pixels(settings)


def _takes_whole_pixels(settings: CurveParams) -> bool:
    return isinstance(settings, AreaParams) and settings.reading == "released"


@_curve_metric(
    "pixel_flipping",
    title="Pixel flipping (AOPC)",
    direction="higher",
    span=(-math.inf, math.inf),
    doi="10.1109/TNNLS.2016.2599820",
    settings="pixel_flipping",
    sized_cost=count_removals,
)
def pixel_flipping(batch: Batch, settings: CurveParams) -> Result:
    """The mean over all steps of the fall of the target's score, most relevant pixels first
    (Samek et al. 2017; the curve is that of Bach et al. 2015, doi:10.1371/journal.pone.0130140)."""
    curve = removal_curve(batch, settings)
    return Result((curve[:, :1] - curve).mean(1), curves=curve)


@_curve_metric(
    "deletion",
    title="Deletion",
    direction="lower",
    span=(0, 1),
    doi="10.48550/arXiv.1806.07421",
    settings="deletion",
    probabilities=True,
    sized_cost=count_removals,
)
def deletion(batch: Batch, settings: AreaParams) -> Result:
    """The area under the target's probability while the most relevant pixels vanish."""
    return _area_of(removal_curve(batch, settings), settings)


@_curve_metric(
    "insertion",
    title="Insertion",
    direction="higher",
    span=(0, 1),
    doi="10.48550/arXiv.1806.07421",
    settings="insertion",
    probabilities=True,
    sized_cost=_count_insertions,
)
def insertion(batch: Batch, settings: AreaParams) -> Result:
    """The area under the target's probability while the most relevant pixels appear."""
    return _area_of(_curve(batch, settings, appear=True), settings)


def _area_of(curve: Tensor, settings: AreaParams) -> Result:
    if settings.reading != "released":
        return Result(area(curve), curves=curve)
    inner = curve[:, 1:-1]  # of the first step and before the last one
    return Result(trapezoid(inner) / inner.shape[1], {FEW_STEPS: no_area(inner)}, inner)


def _count_road(settings: RoadParams, most: bool) -> Cost:
    copies: dict[Hashable, int] = {("road", most, settings): len(settings.percentages)}
    return Cost(copies, imputed=copies if settings.imputation == "linear" else {})


@_curve_metric(
    "road",
    title="ROAD, most relevant first",
    direction="lower",
    span=(0, 1),  # of the corrected reading
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
    span=(0, 1),  # of the corrected reading
    doi="10.48550/arXiv.2202.00449",
    settings="road",
    cost=lambda settings: _count_road(settings, most=False),
)
def road_least(batch: Batch, settings: RoadParams) -> Result:
    """The same while the least relevant pixels are removed."""
    return _road(batch, settings, most=False)


def _road(batch: Batch, settings: RoadParams, most: bool) -> Result:
    channels, *spatial = require(batch.images).shape[1:]
    only_first = settings.reading == "released" and len(spatial) == 1
    # The released code counts the entries of point clouds, and takes their first channel for all.
    pixels = math.prod(spatial) * (channels if only_first else 1)
    counts = count_pixels(settings.percentages, pixels)
    copies = []
    for number, rank in enumerate(rank_places(batch)):
        perturb = _make_road(batch, number, settings)
        copies.append(make_copies(rank, counts, _first(perturb) if only_first else perturb, most))
    scorer, targets = require(batch.scorer), require(batch.targets)
    curve = torch.stack(scorer.copies(copies, targets, batch.rows, "correct"))
    if settings.reading == "corrected":
        return Result(curve.mean(1), curves=curve)
    return Result(trapezoid(curve), {FEW_STEPS: no_area(curve)}, curve)


def _make_road(batch: Batch, number: int, settings: RoadParams) -> Perturb:
    if settings.imputation == "linear":
        return make_perturbation(batch, number, settings, "road")
    image, random = require(batch.images)[number], batch.generator(number, "perturbation", "road")
    noise = torch.randn(image.shape, generator=random, dtype=image.dtype).to(image.device)
    return make_replacement(image, image + settings.road * noise)


def _first(perturb: Perturb) -> Perturb:
    """The same for copies of which only the first channel changes."""

    def copies(removed: Tensor) -> Tensor:
        kept = perturb(torch.zeros_like(removed))
        return torch.cat([perturb(removed)[:, :1], kept[:, 1:]], 1)

    return copies


FEW_STEPS = "too few steps"


def area(curve: Tensor) -> Tensor:
    """Under a curve from 0 to 1, by the trapezoidal rule."""
    return trapezoid(curve) / (curve.shape[1] - 1)


def trapezoid(curve: Tensor) -> Tensor:
    """The area (n,) under curves (n, points) whose points are 1 apart, NaN with a single point."""
    if curve.shape[1] < 2:
        return torch.full_like(curve.sum(1), torch.nan)
    return curve.sum(1) - (curve[:, 0] + curve[:, -1]) / 2


def no_area(curve: Tensor) -> Tensor:
    """Flags (n,) of curves (n, points) that have too few points for an area."""
    few = curve.shape[1] < 2
    return torch.full(curve.shape[:1], few, dtype=torch.bool, device=curve.device)


def removal_curve(batch: Batch, settings: CurveParams) -> Tensor:
    """Ask for the target's score while ever more of the most relevant features are removed.

    Metrics share it if they are set alike.

    Parameters
    ----------
    batch
        Maps, images, targets and the model.
    settings
        How many features are removed in a step, and what stands in their place.

    Returns
    -------
    Scores (n, 1 + steps), from none removed to all of them.
    """
    return batch.once(_removal_key(settings), lambda: _curve(batch, settings, appear=False))


def _curve(batch: Batch, settings: CurveParams, appear: bool) -> Tensor:
    """The target's score (n, 1 + steps), from no pixel to all of them."""
    images, counts = require(batch.images), _count_features_of_steps(batch, settings)
    # A pixel of an image, with all of its channels, goes with the first of its entries.
    whole = _takes_whole_pixels(settings) and batch.has_entries and images.ndim == 4
    copies: list[Masked] = []
    for number, (image, rank) in enumerate(zip(images, rank_pixels(batch), strict=True)):
        filling = make_filling(batch, number, settings)
        pair = (filling, image) if appear else (image, filling)
        place = rank.amin(0) if whole else rank
        copies.append(make_copies(place, counts, make_replacement(*pair)))
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    return torch.stack(scores)


def _count_features_of_steps(batch: Batch, settings: CurveParams) -> Tensor:
    """How many features are gone after each step, from none to all (1 + steps,)."""
    if settings.features is None:
        return torch.arange(1 + settings.steps) * batch.pixels // settings.steps
    size = features_of(batch, settings.features)
    return (torch.arange(1 + math.ceil(batch.pixels / size)) * size).clamp_max(batch.pixels)
