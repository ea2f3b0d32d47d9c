"""Fleiss' kappa, Krippendorff's alpha and intraclass correlations: agreement of many raters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import fdtrc, fdtri, ndtr

from analysis.resampling import (
    LEVEL,
    Matrix,
    cluster_codes,
    cluster_counts,
    cluster_sums,
    notes,
    percentile_interval,
)
from analysis.votes import LIKERT, category_codes


def fleiss_kappa(
    ratings: ArrayLike,
    categories: Sequence[int] = LIKERT,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Fleiss' kappa with a bootstrap interval over subjects.

    .. math::

        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        \bar P = \frac{1}{N} \sum_i \frac{\sum_j n_{ij} (n_{ij} - 1)}{n_i (n_i - 1)}, \quad
        \bar P_e = \sum_j \Big( \frac{1}{N} \sum_i \frac{n_{ij}}{n_i} \Big)^2

    With the same number of ratings for every subject this is Fleiss' formula, as in statsmodels;
    with different numbers, which statsmodels does not allow for, every subject counts the same.

    Parameters
    ----------
    ratings
        Subjects in rows, raters in columns, NaN for a missing rating. Subjects with fewer than two
        ratings are left out.
    categories
        The whole scale. The order does not matter and unused categories change nothing.
    clusters
        What is resampled as a whole, one entry for each subject; None: the subjects.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        One row: n (subjects), estimate, low, high, p, note. p tests "no agreement beyond chance"
        and needs the same number of ratings for every subject.

    References
    ----------
    Fleiss 1971, doi:10.1037/h0031619; the test: Fleiss, Nee & Landis 1979,
    doi:10.1037/0033-2909.86.5.974

    Examples
    --------
    Pairs of raters agree by 1, 1, 1/3 and 1/3: 2/3 on average, where chance gives 1/2.

    >>> ratings = [[1, 1, 1], [2, 2, 2], [1, 1, 2], [2, 2, 1]]
    >>> fleiss_kappa(ratings, categories=(1, 2))[["n", "estimate", "p"]].round(3)
       n  estimate      p
    0  4     0.333  0.248
    """
    counts, groups, remarks = _count(ratings, categories, clusters, "subject")
    rated = counts.sum(1)
    alike = (counts * (counts - 1)).sum(1) / (rated * (rated - 1))
    features = np.column_stack([np.ones(len(counts)), alike, counts / rated[:, None]])
    row = _bootstrap(features, groups, _kappa, resamples, seed, remarks, "in one category")
    p = np.nan
    if len(np.unique(rated)) == 1:
        p = _kappa_test(float(row["estimate"]), counts, rated[0])
    elif len(counts):
        remarks.append("no test: the subjects have different numbers of ratings")
    return pd.DataFrame([{"n": len(counts), **row, "p": p, "note": notes(remarks)}])


def krippendorff_alpha(
    ratings: ArrayLike,
    categories: Sequence[int] = LIKERT,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Krippendorff's alpha for ordinal ratings with a bootstrap interval over units.

    .. math::

        \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck}\, \delta^2_{ck}}
                                  {\sum_{ck} n_c n_k\, \delta^2_{ck}}, \quad
        o_{ck} = \sum_u \frac{n_{uc} (n_{uk} - [c = k])}{m_u - 1}

    :math:`\delta_{ck}` counts the ratings between two categories, from the ratings at hand; in a
    resample, from those of the resample. Categories that nobody used change nothing.

    Parameters
    ----------
    ratings
        Units in rows, raters in columns, NaN for a missing rating. Units with fewer than two
        ratings are left out.
    categories
        The whole scale in its order.
    clusters
        What is resampled as a whole, one entry for each unit; None: the units.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        One row: n (units with two ratings or more), estimate, low, high, note.

    References
    ----------
    Hayes & Krippendorff 2007, doi:10.1080/19312450709336664; the bootstrap over units: Zapf,
    Castell, Morawietz & Karch 2016, doi:10.1186/s12874-016-0200-9

    Examples
    --------
    Example C of Krippendorff's "Computing Krippendorff's alpha-reliability" (2011), which gives
    0.815: four observers, twelve units, missing ratings.

    >>> observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    >>> ratings = [[float(r.replace(".", "nan")) for r in unit] for unit in zip(*observers)]
    >>> krippendorff_alpha(ratings, categories=(1, 2, 3, 4, 5))[["n", "estimate"]].round(3)
        n  estimate
    0  11     0.815
    """
    counts, groups, remarks = _count(ratings, categories, clusters, "unit")
    k = len(categories)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, np.arange(k), np.arange(k)] -= counts
    pairs /= (counts.sum(1) - 1)[:, None, None]
    features = pairs.reshape(len(counts), k * k)
    row = _bootstrap(features, groups, _alpha, resamples, seed, remarks, "equal")
    return pd.DataFrame([{"n": len(counts), **row, "note": notes(remarks)}])


def _count(
    ratings: ArrayLike, categories: Sequence[int], clusters: ArrayLike | None, what: str
) -> tuple[Matrix, np.ndarray, list[str]]:
    """Ratings in each category of the rows with two or more, their clusters, and remarks."""
    codes = category_codes(np.atleast_2d(np.asarray(ratings, np.float64)), categories)
    counts = (codes[:, :, None] == np.arange(len(categories))).sum(1).astype(np.float64)
    groups = cluster_codes(clusters, len(counts))
    used = counts.sum(1) >= 2
    left_out = f"{(~used).sum()} {what}s with fewer than two ratings left out"
    remarks = [] if used.all() else [left_out]
    remarks += [] if used.any() else [f"no {what} has two ratings"]
    return counts[used], np.unique(groups[used], return_inverse=True)[1], remarks


def _bootstrap(
    features: Matrix,
    groups: np.ndarray,
    statistic: Callable[[Matrix], Matrix],
    resamples: int,
    seed: int,
    remarks: list[str],
    undefined: str,
) -> dict[str, float]:
    """Estimate and interval of a statistic of sums; why there is none is added to the remarks."""
    row = dict.fromkeys(("estimate", "low", "high"), np.nan)
    if not len(features):
        return row
    row["estimate"] = float(statistic(features.sum(0)))
    sums = cluster_sums(features, groups)
    if np.isnan(row["estimate"]):
        remarks.append(f"all ratings are {undefined}")
    elif len(sums) < 2:
        remarks.append("no interval from fewer than two clusters")
    else:
        draws = [statistic(drawn @ sums) for drawn in cluster_counts(len(sums), resamples, seed)]
        low, high = percentile_interval(np.concatenate(draws)[:, None])
        row["low"], row["high"] = float(low[0]), float(high[0])
    return row


def _kappa(sums: Matrix) -> Matrix:
    """Kappa from the summed columns: subjects, agreement, share of each category."""
    n = sums[..., 0]
    chance = ((sums[..., 2:] / n[..., None]) ** 2).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        room = np.where(np.isclose(chance, 1, rtol=0, atol=1e-12), np.nan, 1 - chance)
        return np.asarray((sums[..., 1] / n - chance) / room)


def _kappa_test(kappa: float, counts: Matrix, raters: float) -> float:
    """Two-sided p of no agreement beyond chance."""
    if np.isnan(kappa):
        return np.nan
    share = counts.sum(0) / counts.sum()
    rest = share * (1 - share)
    variance = 2 * (rest.sum() ** 2 - (rest * (1 - 2 * share)).sum())
    variance /= rest.sum() ** 2 * len(counts) * raters * (raters - 1)
    return float(2 * ndtr(-abs(kappa) / np.sqrt(variance)))


def _alpha(pairs: Matrix) -> Matrix:
    """Ordinal alpha of one or many summed coincidence matrices, flattened."""
    k = round(pairs.shape[-1] ** 0.5)
    observed = pairs.reshape(*pairs.shape[:-1], k, k)
    margin = observed.sum(-1)
    # The ratings from one category to another, half of those in the two themselves, are the
    # difference of the middle ranks.
    middle = margin.cumsum(-1) - margin / 2
    distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    chance = (margin[..., :, None] * margin[..., None, :] * distance).sum((-1, -2))
    found = (observed * distance).sum((-1, -2))
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (margin.sum(-1) - 1) * found / np.where(chance > 0, chance, np.nan)
    return np.asarray(1 - rest)


def icc(ratings: ArrayLike) -> pd.DataFrame:
    r"""One-way intraclass correlations of one rater and of the mean of all, with F-test.

    With the mean squares between (B) and within (W) targets, for :math:`k` raters,

    .. math:: ICC_1 = \frac{B - W}{B + (k-1) W}, \qquad ICC_{1k} = \frac{B - W}{B}

    This is the form for targets that each have their own raters. When the numbers of ratings
    differ, k is the average number of Donner, and the interval is approximate.

    Parameters
    ----------
    ratings
        Targets in rows, raters in columns, NaN for a missing rating. Targets with fewer than two
        ratings are left out.

    Returns
    -------
    DataFrame
        The rows ICC1 and ICC1k: form, n (targets), raters, estimate, low, high, p, note.

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; unequal numbers of ratings: Donner 1986,
    doi:10.2307/1403259

    Examples
    --------
    Six targets and four judges, tables 2 and 4 of Shrout and Fleiss:

    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8]]
    >>> judges += [[7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> icc(judges)[["form", "estimate", "low", "high"]].round(2)
        form  estimate   low  high
    0   ICC1      0.17 -0.13  0.72
    1  ICC1k      0.44 -0.88  0.91
    """
    matrix = np.atleast_2d(np.asarray(ratings, np.float64))
    matrix = matrix[np.isfinite(matrix).sum(1) >= 2]
    present = np.isfinite(matrix)
    each, n = present.sum(1), len(matrix)
    total = int(each.sum())
    if n < 2:
        return _icc_rows(n, np.nan, None, np.nan, "fewer than two targets have two ratings")
    filled = np.where(present, matrix, 0.0)
    means = filled.sum(1) / each
    within = (np.where(present, matrix - means[:, None], 0.0) ** 2).sum() / (total - n)
    between = (each * (means - filled.sum() / total) ** 2).sum() / (n - 1)
    k = float((total - (each**2).sum() / total) / (n - 1))
    if within + between == 0:
        return _icc_rows(n, k, None, np.nan, "all ratings are equal")
    with np.errstate(divide="ignore"):
        f = float(np.divide(between, within))
    free, tail = (n - 1, total - n), (1 + LEVEL) / 2
    ratios = (f, f / float(fdtri(*free, tail)), f * float(fdtri(*free[::-1], tail)))
    p = float(fdtrc(*free, f)) if np.isfinite(f) else np.nan
    note = "" if (each == each[0]).all() else f"unequal numbers of ratings, {k:.2f} on average"
    return _icc_rows(n, k, ratios, p, note)


def _icc_rows(
    n: int, k: float, ratios: tuple[float, float, float] | None, p: float, note: str
) -> pd.DataFrame:
    """The two forms from F and the ends of its interval."""
    rows = []
    for form in ("ICC1", "ICC1k"):
        values = [np.nan] * 3
        for place, f in enumerate(ratios or ()):
            below = f if form == "ICC1k" else f + k - 1
            values[place] = 1.0 if np.isinf(f) else (f - 1) / below if below > 0 else np.nan
        head = {"form": form, "n": n, "raters": k}
        rows.append(head | dict(zip(("estimate", "low", "high"), values, strict=True)))
    return pd.DataFrame(rows).assign(p=p, note=note)
