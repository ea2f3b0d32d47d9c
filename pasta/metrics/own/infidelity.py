"""Infidelity (Yeh et al. 2019, doi:10.48550/arXiv.1901.09392).

For noise I on an input, the product of I with the map is compared with how much the target's score
falls from the input x to x - I: the mean square of the difference over many draws of I.

The product has the unit of the map, so that a map of small numbers has another infidelity than the
same map in large numbers. The authors' own code multiplies each map with the number beta that makes
its infidelity least, beta = mean(product x fall) / mean(product^2), and so does captum
(``normalize=True``): this is the ``corrected`` reading, with beta not below zero, because a map
that points the other way must not be turned round to be as good as the right one. In the ``paper``
reading of LATEC maps are divided by their largest absolute value, in ``released`` they are taken as
they are.

LATEC's paper counts it as a metric of robustness. Noise is on the features that the map has: on
each channel for maps with channels, and else the same on all channels of a position, so that the
gradient of a linear model, summed over channels or not, has no infidelity.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

import torch
from torch import Tensor

from pasta.explanations.masking import Masked, masked_scores
from pasta.metrics.base import (
    LOGITS,
    MODEL,
    Batch,
    Cost,
    Result,
    metric,
    require,
)
from pasta.metrics.copies import scale_maps
from pasta.metrics.forward import precise
from pasta.metrics.removal import score_images
from pasta.readings import Reading
from pasta.sections import Count, Positive, Section


class InfidelityParams(Section):
    """Infidelity."""

    reading: Reading = "corrected"
    samples: Count = 50  # draws of noise
    gaussian: Positive = 0.005  # standard deviation


def _questions_key(settings: InfidelityParams) -> tuple[Hashable, ...]:
    """What all readings ask the model."""
    return "infidelity", settings.samples, settings.gaussian


@metric(
    "infidelity",
    title="Infidelity",
    category="robustness",
    direction="lower",
    span=(0, math.inf),
    sign="signed",
    needs=MODEL,
    doi="10.48550/arXiv.1901.09392",
    settings=InfidelityParams,
    refuses=("nan", "zero"),
    same_questions=True,
    cost=lambda settings: Cost({LOGITS: 1, _questions_key(settings): settings.samples}),
)
def infidelity(batch: Batch, settings: InfidelityParams) -> Result:
    """The mean square of the difference between the noise times the map, which is scaled as well
    as possible, and the fall of the target's output, as it is: a logit as a rule."""
    maps = batch.maps.flatten(1) if settings.reading == "released" else scale_maps(batch.maps)
    known: list[Tensor] = []

    def ask() -> Tensor:
        both = _look(batch, settings, maps, ask_model=True)
        known.append(both[..., 0])
        return both[..., 1]

    # Other maps of the same inputs meet the same noise; what the model says to it is remembered.
    key = (*_questions_key(settings), tuple(batch.maps.shape[1:]))
    falls = batch.remembered(key, ask)
    products = known[0] if known else _look(batch, settings, maps, ask_model=False)[..., 0]
    if settings.reading == "corrected":
        scale = (products * falls).mean(1) / products.square().mean(1)
        products = scale.clamp_min(0)[:, None] * products
    values = (products - falls).square().mean(1)
    still = (falls == 0).all(1)
    return Result(torch.where(still, torch.nan, values), {"constant output": still})


def _look(batch: Batch, settings: InfidelityParams, maps: Tensor, ask_model: bool) -> Tensor:
    """Products, and how far the target's output falls if the model is asked, (n, samples, 1 or 2).

    The noise is what the model really sees: the difference of the two inputs after rounding.
    """
    images, targets = require(batch.images), require(batch.targets)
    scorer = require(batch.scorer)
    values = precise(maps).view(len(maps), *batch.maps.shape[1:])
    if values.ndim < images.ndim:
        values = values[:, None]
    channels = values.shape[1]
    before = precise(score_images(batch, "logit")) if ask_model else None

    def look(noisy: Tensor, owners: Tensor) -> Tensor:
        noise = (images[owners] - noisy)[:, :channels]
        products: Tensor = (values[owners] * noise).flatten(1).sum(1)
        if before is None:
            return products[:, None]
        after = scorer.logits(noisy).gather(1, targets[owners][:, None])[:, 0]
        return torch.stack([products, before[owners] - precise(after)], 1)

    copies = [_draw_copies(batch, number, settings, channels) for number in range(len(batch))]
    return torch.stack(masked_scores(look, copies, batch.rows))


def _draw_copies(batch: Batch, number: int, settings: InfidelityParams, channels: int) -> Masked:
    image = require(batch.images)[number]
    shape = (channels, *image.shape[1:])

    def copy(draw: int) -> Tensor:
        random = batch.generator(number, "infidelity", draw)
        noise = torch.randn(shape, generator=random, dtype=image.dtype).to(image.device)
        return image - settings.gaussian * noise

    def build(rows: slice) -> Tensor:
        return torch.stack([copy(draw) for draw in range(rows.start, rows.stop)])

    return Masked(settings.samples, build)
