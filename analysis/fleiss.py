"""Fleiss' kappa: many raters, unordered categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr

from analysis.kappa import LIKERT, category_codes
from analysis.resampling import (
    Matrix,
    cluster_codes,
    cluster_counts,
    cluster_sums,
    notes,
    percentile_interval,
)


def fleiss_kappa(
    ratings: ArrayLike,
    categories: Sequence[int] = LIKERT,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Fleiss' kappa with a bootstrap interval over subjects.

    .. math::

        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        \bar P = \frac{1}{N} \sum_i \frac{\sum_j n_{ij} (n_{ij} - 1)}{n_i (n_i - 1)}, \quad
        \bar P_e = \sum_j \Big( \frac{1}{N} \sum_i \frac{n_{ij}}{n_i} \Big)^2

    With the same number of ratings for every subject this is Fleiss' formula; with different
    numbers every subject counts the same. Subjects with fewer than two ratings are left out.

    Parameters
    ----------
    ratings
        Subjects in rows, raters in columns, NaN for a missing rating.
    categories
        The whole scale. The order does not matter and unused categories change nothing.
    clusters
        What is resampled as a whole, one entry for each subject.

    Returns
    -------
    DataFrame
        One row: n (subjects), estimate, low, high, z, p, note. z and p test "no agreement beyond
        chance" and need the same number of ratings for every subject.

    References
    ----------
    Fleiss 1971, doi:10.1037/h0031619; the test: Fleiss, Nee & Landis 1979,
    doi:10.1037/0033-2909.86.5.974
    """
    codes = category_codes(np.atleast_2d(np.asarray(ratings, np.float64)), categories)
    counts = (codes[:, :, None] == np.arange(len(categories))).sum(1).astype(np.float64)
    groups = cluster_codes(clusters, len(counts))
    rated = counts.sum(1)
    used = rated >= 2
    left_out = f"{(~used).sum()} subjects with fewer than two ratings left out"
    remarks = [] if used.all() else [left_out]
    counts, rated = counts[used], rated[used]
    row = dict.fromkeys(("estimate", "low", "high", "z", "p"), np.nan)
    if not len(counts):
        remarks.append("no subject has two ratings")
    else:
        alike = (counts * (counts - 1)).sum(1) / (rated * (rated - 1))
        features = np.column_stack([np.ones(len(counts)), alike, counts / rated[:, None]])
        row["estimate"] = float(_kappa(features.sum(0)))
        if np.isnan(row["estimate"]):
            remarks.append("all ratings are in one category")
        elif len(np.unique(groups[used])) < 2:
            remarks.append("no interval from fewer than two clusters")
        else:
            sums = cluster_sums(features, np.unique(groups[used], return_inverse=True)[1])
            draws = [_kappa(drawn @ sums) for drawn in cluster_counts(len(sums), resamples, seed)]
            low, high = percentile_interval(np.concatenate(draws)[:, None], level)
            row["low"], row["high"] = float(low[0]), float(high[0])
        if len(np.unique(rated)) == 1:
            row["z"], row["p"] = _test(row["estimate"], counts, rated[0])
        else:
            remarks.append("no test: the subjects have different numbers of ratings")
    return pd.DataFrame([{"n": len(counts), **row, "note": notes(remarks)}])


def _kappa(sums: Matrix) -> Matrix:
    """Kappa from the summed columns: subjects, agreement, share of each category."""
    n = sums[..., 0]
    chance = ((sums[..., 2:] / n[..., None]) ** 2).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        room = np.where(np.isclose(chance, 1, rtol=0, atol=1e-12), np.nan, 1 - chance)
        return np.asarray((sums[..., 1] / n - chance) / room)


def _test(kappa: float, counts: Matrix, raters: float) -> tuple[float, float]:
    if np.isnan(kappa):
        return np.nan, np.nan
    share = counts.sum(0) / counts.sum()
    rest = share * (1 - share)
    total = rest.sum()
    variance = 2 * (total**2 - (rest * (1 - 2 * share)).sum())
    variance /= total**2 * len(counts) * raters * (raters - 1)
    z = kappa / np.sqrt(variance)
    return float(z), float(2 * ndtr(-abs(z)))
