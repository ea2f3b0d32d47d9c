"""Iterative removal of features (Rieger and Hansen 2020, doi:10.48550/arXiv.2003.08747).

An image is cut into segments, which are removed one after the other, the one with the largest mean
relevance first. The value is the area over the curve of the target's probability, divided by that
of the image as it is.

- *corrected*: of the whole curve, between 0 and 1 if the probability never grows;
- *paper*: steps have the width 1, so that the value grows with the number of segments, and the
  curve begins after the first step;
- *released*: the same, but the numbers of a segment's places are taken for those of entries, so
  that only the first channel of an image or the x axis of a cloud is removed. Volumes are cut as
  images whose channels are their slices, and only the first slice is removed. The mean that is
  put in place is that of all channels, of the copy as it was one step before.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from skimage.segmentation import slic
from torch import Tensor

from pasta.compute import to_numpy
from pasta.explanations.masking import Masked
from pasta.metrics.base import MODEL, SCORES, Batch, Cost, Result, metric, require
from pasta.metrics.forward import precise
from pasta.metrics.own.faithfulness import FEW_STEPS, area, trapezoid
from pasta.metrics.removal import (
    make_copies,
    make_filling,
    make_replacement,
    rank_map,
    score_images,
    sum_groups,
)
from pasta.metrics.settings import Filling, FillingParams
from pasta.readings import Reading
from pasta.sections import Count


class IrofParams(FillingParams):
    """IROF, with the parameters of LATEC for images."""

    segments: Count = 100  # about as many as this; how, is a matter of the modality
    filling: Filling = "mean"  # for volumes the minimum, for point clouds the centre
    reading: Reading = "corrected"


@metric(
    "irof",
    title="IROF",
    category="faithfulness",
    direction="higher",
    span=(-math.inf, math.inf),
    sign="signed",
    needs=MODEL,
    doi="10.48550/arXiv.2003.08747",
    settings=IrofParams,
    probabilities=True,
    # The number of segments is known when an image has been cut.
    cost=lambda settings: Cost({SCORES: 1, ("segments", settings): settings.segments}),
)
def irof(batch: Batch, settings: IrofParams) -> Result:
    """The area over the curve of the target's probability while the most relevant segments are
    removed, relative to the probability of the image as it is."""
    copies = [_make_copies(batch, number, settings) for number in range(len(batch))]
    answers = require(batch.scorer).copies(copies, require(batch.targets), batch.rows)
    clean = score_images(batch)
    values = [area_over(one / p, settings.reading) for one, p in zip(answers, clean, strict=True)]
    few = [len(one) < (1 if settings.reading == "corrected" else 2) for one in answers]
    why = {"zero probability": clean == 0, FEW_STEPS: torch.tensor(few, device=clean.device)}
    return Result(torch.where(clean == 0, torch.nan, torch.stack(values)), why)


def area_over(shares: Tensor, reading: Reading) -> Tensor:
    """Compute the metric from the shares (segments,) of the probability that are left."""
    if reading == "corrected":
        whole = torch.cat([torch.ones_like(shares[:1]), shares])
        return 1 - area(whole[None])[0]
    return len(shares) - trapezoid(shares[None])[0]


def cut_image(batch: Batch, number: int, settings: IrofParams) -> Tensor:
    """Cut one of the images into segments, once for all maps of it.

    Parameters
    ----------
    batch
        Images.
    number
        Which of them.
    settings
        How many segments there are, about.

    Returns
    -------
    Labels 0, 1, ... in main memory, of places (*spatial), or of (height, width) for volumes in the
    released reading.
    """
    released = settings.reading == "released"
    key = "segments", settings.segments, released, batch.digests[number]

    def cut() -> Tensor:
        image = require(batch.images)[number]
        if released and image.ndim > 2:
            slices = image if image.ndim == 3 else image[0]
            pixels = to_numpy(slices.double())
            found = slic(pixels, start_label=0, channel_axis=0)  # its own 100 segments
            return torch.from_numpy(np.unique(found, return_inverse=True)[1].reshape(found.shape))
        labels: Tensor = batch.modality.need("segment")(image, "slic", settings.segments)
        return labels.cpu()

    return batch.remembered(key, cut)


def _make_copies(batch: Batch, number: int, settings: IrofParams) -> Masked:
    image, one = require(batch.images)[number], batch.maps[number]
    labels = cut_image(batch, number, settings)
    segments = int(labels.max()) + 1
    labels = labels.to(one.device)
    # Relevance of places, the channels (or the slices of a released volume) in the mean.
    relevance = precise(one)
    if relevance.ndim > labels.ndim:
        relevance = relevance.flatten(0, relevance.ndim - labels.ndim - 1).mean(0)
    sums = sum_groups(relevance, labels, segments)
    means = sums / sum_groups(torch.ones_like(relevance), labels, segments)
    rank = rank_map(means, batch.generator(number, "ties")).to(one.device)
    order = rank[labels]
    counts = torch.arange(1, segments + 1)
    if settings.reading != "released":
        perturb = make_replacement(image, make_filling(batch, number, settings))
        return make_copies(order, counts, perturb)
    entries = torch.full((image.numel(),), segments, device=one.device)
    entries[: order.numel()] = order.flatten()
    order = entries.view(image.shape)
    filling = make_filling(batch, number, settings)
    if settings.filling == "mean":
        filling = _running_means(image, order, segments)
    return make_copies(order, counts, make_replacement(image, filling))


def _running_means(image: Tensor, order: Tensor, segments: int) -> Tensor:
    """The image with each segment in the mean of the copy without the segments before it."""
    now = precise(image)
    for segment in range(segments):
        now = torch.where(order == segment, now.mean(), now)
    return now.to(image)
