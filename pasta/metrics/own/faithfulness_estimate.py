"""Faithfulness estimate (Alvarez-Melis and Jaakkola 2018, doi:10.48550/arXiv.1806.07538)."""

from __future__ import annotations

import torch
from torch import Tensor

from pasta.explanations.masking import Masked
from pasta.metrics.base import MODEL, Batch, Cost, Result, metric, require
from pasta.metrics.own.correlation import correlate_rows
from pasta.metrics.removal import (
    clean_key,
    count_groups,
    features_of,
    make_filling,
    make_groups,
    make_replacement,
    rank_pixels,
    score_images,
    sum_groups,
)
from pasta.metrics.settings import Answered, Filling, FillingParams
from pasta.sections import Count


class EstimateParams(FillingParams):
    """Faithfulness estimate, with the parameters of LATEC for ImageNet."""

    features: Count = 224  # entries, that is channels of pixels, in a group
    filling: Filling = "minimum"  # for point clouds the centre
    answer: Answered = "logit"  # whose fall is looked at


def _count(settings: EstimateParams, shape: tuple[int, ...]) -> Cost:
    groups = count_groups(settings.features, shape)
    return Cost({clean_key(settings.answer): 1, ("estimate", settings): groups})


@metric(
    "faithfulness_estimate",
    title="Faithfulness estimate",
    category="faithfulness",
    direction="higher",
    span=(-1, 1),
    sign="signed",
    needs=MODEL,
    doi="10.48550/arXiv.1806.07538",
    settings=EstimateParams,
    sized_cost=_count,
)
def faithfulness_estimate(batch: Batch, settings: EstimateParams) -> Result:
    """Pearson's correlation between the relevance of groups of features, the most relevant ones
    in the first, and how much the target's score falls without each of them alone."""
    size = features_of(batch, settings.features)
    number = -(-batch.pixels // size)
    copies: list[Masked] = []
    sums: list[Tensor] = []
    for place, rank in enumerate(rank_pixels(batch)):
        groups, image = rank // size, require(batch.images)[place]
        perturb = make_replacement(image, make_filling(batch, place, settings))
        copies.append(make_groups(groups, number, perturb))
        sums.append(sum_groups(batch.maps[place], groups, number))
    scorer, targets = require(batch.scorer), require(batch.targets)
    scores = torch.stack(scorer.copies(copies, targets, batch.rows, settings.answer))
    clean = score_images(batch, settings.answer)
    return correlate_rows(torch.stack(sums), clean[:, None] - scores, clean)
