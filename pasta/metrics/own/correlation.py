"""Faithfulness correlation (Bhatt, Weller and Moura 2020, doi:10.24963/ijcai.2020/417).

In LATEC a subset is a number of entries (``features``), ``filling`` the image's smallest number or
for point clouds the centre, and ``answer`` the logit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pasta.explanations.masking import Masked
from pasta.metrics.base import MODEL, Batch, Cost, Result, metric, require
from pasta.metrics.forward import precise
from pasta.metrics.removal import (
    Perturb,
    clean_key,
    features_of,
    make_filling,
    make_replacement,
    score_images,
)
from pasta.metrics.settings import CorrelationParams
from pasta.seeds import generator


@metric(
    "faithfulness_correlation",
    title="Faithfulness correlation",
    category="faithfulness",
    direction="higher",
    span=(-1, 1),
    sign="signed",
    needs=MODEL,
    doi="10.24963/ijcai.2020/417",
    settings="faithfulness_correlation",
    same_questions=True,
    cost=lambda settings: Cost(
        {clean_key(settings.answer): 1, ("subsets", settings): settings.subsets}
    ),
)
def faithfulness_correlation(batch: Batch, settings: CorrelationParams) -> Result:
    """Pearson's correlation between the relevance of random subsets of pixels and how much the
    target's score falls without them."""

    def ask() -> tuple[list[Tensor], Tensor]:
        subsets = [draw_subsets(batch, number, settings) for number in range(len(batch))]
        return subsets, score_falls(batch, settings, subsets)

    key = ("subsets", settings, tuple(batch.maps.shape[1:]))
    return correlate_subsets(batch, *batch.remembered(key, ask))


def score_falls(batch: Batch, settings: CorrelationParams, subsets: Sequence[Tensor]) -> Tensor:
    """Ask how much each image's score falls without each of its subsets of pixels.

    Parameters
    ----------
    batch
        Images, targets and the model.
    settings
        What stands where pixels are not there.
    subsets
        For each image the numbers (subsets, size) of pixels, or of entries of its map.

    Returns
    -------
    Falls (images, subsets).
    """
    copies = []
    for number, (image, chosen) in enumerate(zip(require(batch.images), subsets, strict=True)):
        perturb = make_replacement(image, make_filling(batch, number, settings))
        copies.append(remove_subsets(perturb, chosen, batch.maps.shape[1:]))
    scorer, answer = require(batch.scorer), settings.answer
    scores = scorer.copies(copies, require(batch.targets), batch.rows, answer)
    return score_images(batch, answer)[:, None] - torch.stack(scores)


def correlate_subsets(batch: Batch, subsets: Sequence[Tensor], falls: Tensor) -> Result:
    """Compute the metric from subsets, as in :func:`score_falls`, and the falls without them."""
    pairs = zip(precise(batch.maps.flatten(1)), subsets, strict=True)
    sums = torch.stack([one[chosen.to(one.device)].sum(1) for one, chosen in pairs])
    return correlate_rows(sums, falls)


def remove_subsets(perturb: Perturb, chosen: Tensor, shape: torch.Size) -> Masked:
    """Make copies of an image without some of the features of its map."""

    def build(rows: slice) -> Tensor:
        numbers = chosen[rows]
        size = (len(numbers), shape.numel())
        removed = torch.zeros(size, dtype=torch.bool, device=numbers.device)
        return perturb(removed.scatter_(1, numbers, True).view(-1, *shape))

    return Masked(len(chosen), build)


def pearson(sums: Tensor, falls: Tensor) -> tuple[Tensor, list[str]]:
    """Correlate two arrays row by row.

    Parameters
    ----------
    sums, falls
        Shape (rows, subsets).

    Returns
    -------
    Pearson's correlation of each row, NaN where one of the two does not vary, and the statuses,
    which say so.
    """
    found = correlate_rows(sums, falls)
    return found.values, found.statuses()


def correlate_rows(sums: Tensor, falls: Tensor, scores: Tensor | None = None) -> Result:
    """Correlate two arrays row by row, as :func:`pearson` does; returns a metric's result.

    ``scores`` (rows,) are what the falls are differences of: falls that are as small as the
    rounding of these do not vary.
    """
    one, other = sums - sums.mean(1, keepdim=True), falls - falls.mean(1, keepdim=True)
    values = (one * other).sum(1) / (one.norm(dim=1) * other.norm(dim=1))
    least = sums.new_zeros(len(sums)) if scores is None else scores.abs()
    still = is_still(sums, sums.new_zeros(len(sums))), is_still(falls, least)
    values = torch.where(still[0] | still[1], torch.nan, values.clamp(-1, 1))
    return Result(values, {"constant relevance": still[0], "constant output": still[1]})


def is_still(values: Tensor, scale: Tensor) -> Tensor:
    """Which rows do not vary, or by rounding only.

    Parameters
    ----------
    values
        Shape (rows, n).
    scale
        Shape (rows,): of numbers that values were made from, where these were larger.

    Returns
    -------
    Flags (rows,).
    """
    length = (values - values.mean(1, keepdim=True)).norm(dim=1)
    largest = torch.maximum(values.abs().amax(1), scale)
    found: Tensor = length <= 1e-7 * largest * values.shape[1] ** 0.5
    return found


def rank_rows(values: Tensor) -> Tensor:
    """Ranks 1, 2, ... of each row's values (rows, n), the mean rank where values are equal."""
    one, other = values[:, :, None], values[:, None]
    return precise((other < one).sum(2)) + (precise((other == one).sum(2)) + 1) / 2


def draw_subsets(batch: Batch, number: int, settings: CorrelationParams) -> Tensor:
    size = max(1, round(settings.share * batch.pixels))
    if settings.features is not None:
        size = min(features_of(batch, settings.features), batch.pixels)
    random = generator(batch.seed, "metric", "subsets", batch.digests[number])
    rows = [
        random.choice(batch.pixels, size, replace=False, shuffle=False)
        for _ in range(settings.subsets)
    ]
    return torch.from_numpy(np.stack(rows)).to(batch.maps.device)
