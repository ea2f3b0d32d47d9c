"""Faithfulness as the harmonic mean of sufficiency and necessity (Azzolin et al. 2024,
doi:10.48550/arXiv.2406.15156).

With d the absolute change of the target's probability, sufficiency is exp(-mean d) while ever more
of the *least* relevant pixels are perturbed, necessity 1 - exp(-mean d) while ever more of the
*most* relevant ones are: 1, 3, 5, ... percent of all pixels, up to a threshold.

The text of the paper that used these for human ratings takes the best over several thresholds. The
last line of its algorithm returns max(arr) instead, the largest d of the last threshold. Both can
be had: ``reading`` is "text" or "published". In the published reading a *low* sufficiency is the
better one, which its harmonic mean with necessity ignores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from pasta.metrics.base import MODEL, Batch, Cost, Result, metric, require
from pasta.metrics.removal import clean_scores, counts_of, perturbing, ranks, removing
from pasta.metrics.settings import FaithfulnessParams, Reading

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


def percentages_of(settings: FaithfulnessParams) -> list[int]:
    """All shares of perturbed pixels: those of the largest threshold, which hold all others."""
    return list(range(1, max(settings.thresholds), settings.step))


def _one_side(settings: FaithfulnessParams) -> Cost:
    return Cost(1 + len(percentages_of(settings)))


def _both_sides(settings: FaithfulnessParams) -> Cost:
    return Cost(1 + 2 * len(percentages_of(settings)))


@_metric("sufficiency", title="Sufficiency", cost=_one_side)
def sufficiency(batch: Batch, settings: FaithfulnessParams) -> Result:
    """Whether the relevant pixels alone keep the prediction."""
    changes = _changes(batch, settings, most=False)
    return Result(aggregated(changes, settings, necessity=False), curves=changes)


@_metric("necessity", title="Necessity", cost=_one_side)
def necessity(batch: Batch, settings: FaithfulnessParams) -> Result:
    """Whether the prediction changes without the relevant pixels."""
    changes = _changes(batch, settings, most=True)
    return Result(aggregated(changes, settings, necessity=True), curves=changes)


@_metric("faithfulness", title="Faithfulness", cost=_both_sides)
def faithfulness(batch: Batch, settings: FaithfulnessParams) -> Result:
    """The harmonic mean of both; zero if both are zero."""
    one = sufficiency(batch, settings).values
    other = necessity(batch, settings).values
    both = one + other
    mean = 2 * one * other / torch.where(both == 0, 1, both)
    return Result(mean)


def aggregated(changes: Tensor, settings: FaithfulnessParams, necessity: bool) -> Tensor:
    """The last lines of the algorithm, from the changes d (n, percentages)."""
    percentages = percentages_of(settings)
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


def _changes(batch: Batch, settings: FaithfulnessParams, most: bool) -> Tensor:
    """|p(x) - p(x')| for each share of perturbed pixels, (n, percentages)."""
    key = ("changes", most, settings.model_copy(update={"reading": "text"}))
    return batch.once(key, lambda: _computed_changes(batch, settings, most))


def _computed_changes(batch: Batch, settings: FaithfulnessParams, most: bool) -> Tensor:
    counts = counts_of(percentages_of(settings), batch.pixels)
    copies = [
        removing(rank, counts, perturbing(batch, number, settings, settings.perturbation), most)
        for number, rank in enumerate(ranks(batch))
    ]
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    return (torch.stack(scores) - clean_scores(batch)[:, None]).abs()
