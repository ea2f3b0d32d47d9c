"""Split-conformal intervals of labels.

An interval is grown around a predicted value until, on samples that took no part in training, it
holds a label as often as it should (Vovk, Gammerman & Shafer 2005, doi:10.1007/b106715; Romano,
Patterson & Candes 2019, doi:10.48550/arXiv.1905.03222). Before, each side has a length of its own
from the predicted distribution; all are then stretched by one factor, the smallest with which
``ceil((n + 1) * coverage)`` of the ``n`` calibration labels lie inside.

What is covered: "the interval of sample i covers" means ``low_i <= label_i <= high_i`` for the
label as it stands in the table, so with modes for a whole number of stars. The coverage of a test
set is the share of such samples among those with a label. If calibration and test samples are
exchangeable, its mean over draws of both lies between ``coverage`` and ``coverage + 1 / (n + 1)``.
Although modes are whole numbers this needs no randomisation: the bounds are not rounded, and since
predictions are continuous no two labels need the same stretch. (With equal predictions they may;
then the interval covers more, never less.) In a single test set the coverage scatters, the more so
where samples come in groups: those of one image resemble each other.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

LEAST, MOST = 1.0, 5.0
_SHORTEST = 0.25  # of a side before stretching, in stars: else a sure prediction could not stretch


def quantile(distribution: Tensor, share: float) -> Tensor:
    """A continuous quantile of distributions over the stars (last axis).

    Each star's chance is spread evenly from half a star below it to half a star above.
    """
    up_to = distribution.cumsum(-1) / distribution.sum(-1, keepdim=True)
    star = (up_to < share).sum(-1, keepdim=True).clamp(max=distribution.shape[-1] - 1)
    after, chance = up_to.gather(-1, star), distribution.gather(-1, star)
    left = ((after - share) / chance).where(chance > 0, 0.0).clamp(0, 1)
    return (star + 1.5 - left)[..., 0]


def sides(stars: Tensor, distribution: Tensor, coverage: float) -> tuple[Tensor, Tensor]:
    """How far an interval goes down and up before it is stretched."""
    tail = (1 - coverage) / 2
    down = (stars - quantile(distribution, tail)).clamp(min=_SHORTEST)
    up = (quantile(distribution, 1 - tail) - stars).clamp(min=_SHORTEST)
    return down, up


def needed_stretch(labels: Tensor, stars: Tensor, down: Tensor, up: Tensor) -> Tensor:
    """The smallest stretch with which each interval reaches its label; NaN without a label."""
    away = labels - stars
    return torch.where(away < 0, -away / down, away / up)


def calibrate(needed: Tensor, coverage: float) -> Tensor:
    """The stretch of each question from those needed by samples (samples x questions).

    Infinite, which gives the whole scale, where there are too few labels to promise anything.
    """
    result = torch.full(needed.shape[1:], math.inf, dtype=needed.dtype)
    for question, column in enumerate(needed.T):
        known = column[~column.isnan()].sort().values
        # the subtraction keeps 0.9 * 10 = 9.000000000000002 from becoming 10
        place = math.ceil((len(known) + 1) * coverage - 1e-9)
        if 1 <= place <= len(known):
            result[question] = known[place - 1]
    return result


def interval(stars: Tensor, down: Tensor, up: Tensor, stretch: Tensor) -> tuple[Tensor, Tensor]:
    """Lower and upper bound on the scale of stars; the prediction lies between them."""
    return (stars - stretch * down).clamp(LEAST, MOST), (stars + stretch * up).clamp(LEAST, MOST)
