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

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

LEAST, MOST = 1.0, 5.0
_SHORTEST = 0.25  # of a side before stretching, in stars: else a sure prediction could not stretch


def quantile(distribution: Doubles, share: float) -> Doubles:
    """A continuous quantile of distributions over the stars (last axis).

    Each star's chance is spread evenly from half a star below it to half a star above.
    """
    up_to = distribution.cumsum(axis=-1) / distribution.sum(axis=-1, keepdims=True)
    star = np.minimum((up_to < share).sum(axis=-1), distribution.shape[-1] - 1)[..., None]
    after = np.take_along_axis(up_to, star, axis=-1)[..., 0]
    chance = np.take_along_axis(distribution, star, axis=-1)[..., 0]
    left = np.divide(after - share, chance, out=np.zeros_like(after), where=chance > 0)
    result: Doubles = star[..., 0] + 1.5 - np.clip(left, 0, 1)
    return result


def sides(stars: Doubles, distribution: Doubles, coverage: float) -> tuple[Doubles, Doubles]:
    """How far an interval goes down and up before it is stretched."""
    tail = (1 - coverage) / 2
    down = np.maximum(stars - quantile(distribution, tail), _SHORTEST)
    up = np.maximum(quantile(distribution, 1 - tail) - stars, _SHORTEST)
    return down, up


def needed_stretch(labels: Doubles, stars: Doubles, down: Doubles, up: Doubles) -> Doubles:
    """The smallest stretch with which each interval reaches its label; NaN without a label."""
    away = labels - stars
    result: Doubles = np.where(away < 0, -away / down, away / up)
    return result


def calibrate(needed: Doubles, coverage: float) -> Doubles:
    """The stretch of each question from those needed by samples (samples x questions).

    Infinite, which gives the whole scale, where there are too few labels to promise anything.
    """
    result = np.full(needed.shape[1], np.inf)
    for question, column in enumerate(needed.T):
        known = np.sort(column[~np.isnan(column)])
        # the subtraction keeps 0.9 * 10 = 9.000000000000002 from becoming 10
        place = int(np.ceil((len(known) + 1) * coverage - 1e-9))
        if 1 <= place <= len(known):
            result[question] = known[place - 1]
    return result


def interval(
    stars: Doubles, down: Doubles, up: Doubles, stretch: Doubles
) -> tuple[Doubles, Doubles]:
    """Lower and upper bound on the scale of stars; the prediction lies between them."""
    low = np.clip(stars - stretch * down, LEAST, MOST)
    high = np.clip(stars + stretch * up, LEAST, MOST)
    return low, high
