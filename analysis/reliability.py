"""Krippendorff's alpha: any number of raters, any level of measurement, missing ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.kappa import category_codes
from analysis.resampling import (
    Matrix,
    cluster_codes,
    cluster_counts,
    cluster_sums,
    notes,
    percentile_interval,
)

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(
    ratings: ArrayLike,
    level: Level = "ordinal",
    categories: Sequence[float] | None = None,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Krippendorff's alpha with a bootstrap interval over units.

    .. math::

        \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck}\, \delta^2_{ck}}
                                  {\sum_{ck} n_c n_k\, \delta^2_{ck}}, \quad
        o_{ck} = \sum_u \frac{n_{uc} (n_{uk} - [c = k])}{m_u - 1}

    For ordinal data :math:`\delta_{ck}` counts the ratings between two categories, from the
    ratings at hand; in a resample, from those of the resample. Categories that nobody used change
    nothing. Units with fewer than two ratings are left out.

    Parameters
    ----------
    ratings
        Raters in rows, units in columns, NaN for a missing rating.
    level
        "nominal", "ordinal", "interval" or "ratio" (ratio: no negative ratings).
    categories
        The scale, if ratings outside of it are an error.
    clusters
        What is resampled as a whole, one entry for each unit.

    Returns
    -------
    DataFrame
        One row: level, n (units with two ratings or more), ratings, estimate, low, high, note.

    References
    ----------
    Hayes & Krippendorff 2007, doi:10.1080/19312450709336664; the bootstrap over units: Zapf,
    Castell, Morawietz & Karch 2016, doi:10.1186/s12874-016-0200-9
    """
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}, not {level!r}")
    matrix = np.atleast_2d(np.asarray(ratings, np.float64))
    scale = np.unique(matrix[np.isfinite(matrix)]) if categories is None else np.array(categories)
    codes = category_codes(matrix, scale.tolist())
    counts = (codes[:, :, None] == np.arange(len(scale))).sum(0).astype(np.float64)
    groups = cluster_codes(clusters, len(counts))
    used = counts.sum(1) >= 2
    left_out = f"{(~used).sum()} units with fewer than two ratings left out"
    remarks = [] if used.all() else [left_out]
    counts = counts[used]
    estimate = low = high = np.nan
    if not len(counts):
        remarks.append("no unit has two ratings")
    else:
        pairs = _coincidences(counts)
        estimate = float(_alpha(pairs.sum(0), scale, level))
        if np.isnan(estimate):
            remarks.append("all ratings are equal")
        elif len(np.unique(groups[used])) < 2:
            remarks.append("no interval from fewer than two clusters")
        else:
            sums = cluster_sums(pairs, np.unique(groups[used], return_inverse=True)[1])
            draws = [
                _alpha(drawn @ sums, scale, level)
                for drawn in cluster_counts(len(sums), resamples, seed)
            ]
            limits = percentile_interval(np.concatenate(draws)[:, None], confidence)
            low, high = (float(limit[0]) for limit in limits)
    row = {
        "level": level,
        "n": len(counts),
        "ratings": int(counts.sum()),
        "estimate": estimate,
        "low": low,
        "high": high,
        "note": notes(remarks),
    }
    return pd.DataFrame([row])


def _coincidences(counts: Matrix) -> Matrix:
    """The coincidence matrix of each unit, flattened."""
    k = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, np.arange(k), np.arange(k)] -= counts
    pairs /= (counts.sum(1) - 1)[:, None, None]
    return pairs.reshape(len(counts), k * k)


def _alpha(pairs: Matrix, scale: Matrix, level: Level) -> Matrix:
    """Alpha of one or many summed coincidence matrices."""
    k = len(scale)
    observed = pairs.reshape(*pairs.shape[:-1], k, k)
    margin = observed.sum(-1)
    distance = _distance(margin, scale, level)
    chance = (margin[..., :, None] * margin[..., None, :] * distance).sum((-1, -2))
    found = (observed * distance).sum((-1, -2))
    n = margin.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (n - 1) * found / np.where(chance > 0, chance, np.nan))


def _distance(margin: Matrix, scale: Matrix, level: Level) -> Matrix:
    """Squared distances between categories; only the ordinal ones depend on the ratings."""
    apart = np.subtract.outer(scale, scale).astype(np.float64)
    match level:
        case "nominal":
            return np.asarray(apart != 0, np.float64)
        case "interval":
            return np.asarray(apart**2, np.float64)
        case "ratio":
            total = np.add.outer(scale, scale).astype(np.float64)
            ratio = np.divide(apart, total, out=np.zeros_like(apart), where=total != 0)
            return np.asarray(ratio**2)
        case "ordinal":
            # The ratings from one category to another, half of those in the two themselves, are
            # the difference of the middle ranks.
            middle = margin.cumsum(-1) - margin / 2
            return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)
