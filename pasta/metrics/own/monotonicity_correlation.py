"""Monotonicity correlation (Nguyen and Martínez 2020, doi:10.48550/arXiv.2007.07584).

The squared change of the probability p is divided by the square of p, which is one number for all
groups of an image and does not matter to ranks.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pasta.explanations.masking import Masked
from pasta.metrics.base import MODEL, SCORES, Batch, Cost, Result, metric, require
from pasta.metrics.own.correlation import correlate_rows, is_still, rank_rows
from pasta.metrics.removal import (
    count_groups,
    features_of,
    make_replacement,
    rank_pixels,
    score_images,
    sum_groups,
)
from pasta.readings import Reading
from pasta.sections import Count, Section


class MonotonicityParams(Section):
    """Monotonicity correlation, with the parameters of LATEC for ImageNet."""

    features: Count = 3136  # entries, that is channels of pixels, in a group
    samples: Count = 10  # draws for each group
    low: float = 0.0  # what is drawn lies between these
    high: float = 1.0
    # *released* draws one number for a whole group, the others one for each feature.
    reading: Reading = "corrected"


def _count(settings: MonotonicityParams, shape: tuple[int, ...]) -> Cost:
    copies = count_groups(settings.features, shape) * settings.samples
    return Cost({SCORES: 1, ("monotonicity", settings): copies})


@metric(
    "monotonicity_correlation",
    title="Monotonicity correlation",
    category="faithfulness",
    direction="higher",
    span=(-1, 1),
    sign="signed",
    needs=MODEL,
    doi="10.48550/arXiv.2007.07584",
    settings=MonotonicityParams,
    probabilities=True,
    sized_cost=_count,
)
def monotonicity_correlation(batch: Batch, settings: MonotonicityParams) -> Result:
    """Spearman's correlation between the relevance of groups of features, the least relevant ones
    in the first, and how much the target's probability changes, in the mean square, when random
    values stand in their place."""
    size = features_of(batch, settings.features)
    number = -(-batch.pixels // size)
    copies: list[Masked] = []
    sums: list[Tensor] = []
    for place, rank in enumerate(rank_pixels(batch)):
        groups = (batch.pixels - 1 - rank) // size
        copies.append(_make_copies(batch, place, groups, number, settings))
        sums.append(sum_groups(batch.maps[place], groups, number))
    scores = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    answers = torch.stack(scores).view(len(batch), settings.samples, number)
    return correlate_ranks(torch.stack(sums), answers, score_images(batch))


def correlate_ranks(sums: Tensor, answers: Tensor, clean: Tensor) -> Result:
    """Correlate relevance with changes.

    Parameters
    ----------
    sums
        Relevance (n, groups).
    answers
        Probabilities (n, samples, groups) of copies.
    clean
        Probabilities (n,) of the images as they are.

    Returns
    -------
    Spearman's correlation of each row, or the status where relevance or changes do not vary.
    """
    apart = (answers - clean[:, None, None]).abs()
    rounding = apart <= 1e-7 * clean.abs()[:, None, None]
    changes = apart.where(~rounding, 0).square().mean(1)
    none = torch.zeros_like(clean)
    still = is_still(sums, none), is_still(changes, none)
    result = correlate_rows(rank_rows(sums), rank_rows(changes))
    values = torch.where(still[0] | still[1], torch.nan, result.values)
    broken = ~changes.isfinite().all(1)  # of which ranks know nothing
    values = torch.where(broken, torch.nan, values)
    why = {"nan output": broken, "constant relevance": still[0], "constant output": still[1]}
    return Result(values, why)


def _make_copies(
    batch: Batch, place: int, groups: Tensor, number: int, settings: MonotonicityParams
) -> Masked:
    """Copies of an image with random values in one group: all groups of the first draw, then all
    of the second."""
    image = require(batch.images)[place]
    spread = settings.high - settings.low

    def draw(sample: int) -> Tensor:
        """What stands in the place of features: an image, or a number for each group."""
        random = batch.generator(place, "monotonicity", sample)
        shape = (number,) if settings.reading == "released" else image.shape
        drawn = torch.rand(shape, generator=random, dtype=image.dtype).to(image.device)
        return settings.low + spread * drawn

    def build(rows: slice) -> Tensor:
        parts: list[Tensor] = []
        for sample in range(rows.start // number, -(-rows.stop // number)):
            first = max(rows.start - sample * number, 0)
            last = min(rows.stop - sample * number, number)
            wanted = torch.arange(first, last, device=groups.device)
            removed = groups == wanted.view(-1, *[1] * groups.ndim)
            filling = draw(sample)
            if settings.reading == "released":
                filling = filling[first:last].view(-1, *[1] * image.ndim)
            parts.append(make_replacement(image, filling)(removed))
        return torch.cat(parts)

    return Masked(settings.samples * number, build)
