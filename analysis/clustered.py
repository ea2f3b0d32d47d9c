"""Intervals for votes that share a sample or an annotator, and so are not independent."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit
from scipy.stats import rankdata

from analysis.equivalence import Contrast
from analysis.resampling import LEVEL, Codes, cluster_codes

Vector = NDArray[np.float64]


def codes_of(values: ArrayLike | pd.Series) -> Codes:
    """Numbers from 0 for the distinct values, in order of appearance; none may be missing."""
    found = np.asarray(values)
    return cluster_codes(found, len(found))


def crossed(first: Codes, second: Codes) -> Codes:
    """One code for each pair of codes that occurs."""
    return codes_of(first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second)


def cluster_variance(influence: Vector, *clusters: Codes) -> tuple[float, int]:
    r"""Variance of a sum of influences that are correlated within one or two kinds of clusters.

    .. math:: V = V_1 + V_2 - V_{12}, \qquad
        V_c = \frac{G_c}{G_c - 1} \sum_{g} \Big(\sum_{i \in g} \psi_i\Big)^2

    A kind with fewer than two clusters tells nothing about spread and is left out. Should the
    difference be smaller than one of the parts, the larger part is taken, which is conservative;
    statsmodels' two-way clusters, otherwise the same, can end in a negative variance there.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136

    Returns
    -------
    The variance and the degrees of freedom: one less than the smallest number of clusters
    """
    useful = [codes for codes in clusters if _distinct(codes) > 1]
    if not useful:
        return float("nan"), 0
    parts = [_one_way(influence, codes) for codes in useful]
    df = min(_distinct(codes) for codes in useful) - 1
    if len(useful) == 1:
        return parts[0], df
    both = _one_way(influence, crossed(useful[0], useful[1]))
    return max(sum(parts) - both, *parts), df


def clustered_mean(values: Vector, *clusters: Codes) -> Contrast:
    """The mean, with an error that allows for clusters."""
    n = len(values)
    if not n:
        return Contrast(0, np.nan, np.nan, np.nan, "no value")
    mean = float(values.mean())
    variance, df = cluster_variance((values - mean) / n, *clusters)
    note = "" if df > 0 else "one cluster only: no interval"
    return Contrast(n, mean, float(np.sqrt(variance)), df, note)


def clustered_difference(values: Vector, first: NDArray[np.bool_], *clusters: Codes) -> Contrast:
    r"""Mean of the marked values minus mean of the others; clusters may lie in both groups.

    The degrees of freedom are the fewest of those of :func:`cluster_variance` and, for each kind of
    clusters, those of Satterthwaite with the variances :math:`v_g` of the two groups' means,

    .. math:: (v_1 + v_2)^2 \Big/ \Big(\frac{v_1^2}{G_1 - 1} + \frac{v_2^2}{G_2 - 1}\Big)

    so that a few clusters in one group are not hidden by many in the other.

    References
    ----------
    Satterthwaite 1946, doi:10.2307/3002019
    """
    n, n_first = len(values), int(first.sum())
    if n_first in (0, n):
        return Contrast(n, np.nan, np.nan, np.nan, "one of the groups is empty")
    means = np.array([values[~first].mean(), values[first].mean()])
    signed = np.where(first, 1 / n_first, -1 / (n - n_first))
    influence = (values - means[first.astype(int)]) * signed
    variance, df = cluster_variance(influence, *clusters)
    difference = float(means[1] - means[0])
    limits = [float(df)]
    for codes in clusters:
        if _distinct(codes) > 1:
            limits.append(_satterthwaite(influence, first, codes))
    if min(limits) <= 0:
        return Contrast(n, difference, np.nan, 0, "one cluster only in a group: no interval")
    return Contrast(n, difference, float(np.sqrt(variance)), min(limits))


def clustered_correlation(
    x: ArrayLike, y: ArrayLike, *clusters: Codes, method: str = "pearson"
) -> dict[str, object]:
    r"""Pearson's or Spearman's correlation with an interval that allows for clusters.

    On Fisher's scale, :math:`z = \operatorname{artanh} r`, with the influence of each row

    .. math:: \psi_i = \frac{u_i v_i - r (u_i^2 + v_i^2)/2}{n (1 - r^2)}

    where u and v are standardised values (for Spearman: ranks, taken as given).

    References
    ----------
    Fisher 1921, doi:10.2307/2331838; Devlin et al. 1975, doi:10.1093/biomet/62.3.531

    Returns
    -------
    dict with n, estimate, low, high, p, note
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    n = len(a)
    row: dict[str, object] = {"n": n} | dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    if n < 3:
        return row | {"note": "fewer than three pairs"}
    if method == "spearman":
        a, b = rankdata(a), rankdata(b)
    spreads = a.std(), b.std()
    if min(spreads) <= 1e-12 * max(1.0, float(np.abs(a).max()), float(np.abs(b).max())):
        return row | {"note": "one of the two does not vary"}
    u, v = (a - a.mean()) / spreads[0], (b - b.mean()) / spreads[1]
    r = float(np.clip(u @ v / n, -1, 1))
    row["estimate"] = r
    if 1 - abs(r) < 1e-12:
        return row | {"note": "a perfect line: no interval"}
    influence = (u * v - r * (u * u + v * v) / 2) / (n * (1 - r * r))
    variance, df = cluster_variance(influence, *(codes[known] for codes in clusters))
    if not variance > 0:
        return row | {"note": "one cluster only: no interval"}
    error = float(np.sqrt(variance))
    half = float(stdtrit(df, (1 + LEVEL) / 2)) * error
    row["low"], row["high"] = np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)
    row["p"] = float(2 * stdtr(df, -abs(np.arctanh(r)) / error))
    return row | {"note": ""}


def without_means(values: Vector, *clusters: Codes) -> Vector:
    """What is left of values when the means of all clusters are taken out, in turn."""
    left = values - values.mean() if len(values) else values.copy()
    sizes = [np.bincount(codes) for codes in clusters]
    for _ in range(50):
        before = left
        for codes, size in zip(clusters, sizes, strict=True):
            left = left - (np.bincount(codes, left) / size)[codes]
        if np.abs(left - before).max(initial=0.0) < 1e-10:
            break
    return left


def _one_way(influence: Vector, codes: Codes) -> float:
    sums = np.bincount(codes, influence)
    number = _distinct(codes)
    return float(sums @ sums) * number / (number - 1)


def _distinct(codes: Codes) -> int:
    """How many codes occur."""
    return int(np.count_nonzero(np.bincount(codes)))


def _satterthwaite(influence: Vector, first: NDArray[np.bool_], codes: Codes) -> float:
    """Degrees of freedom from the clusters of two groups; 0 if a group has one cluster only."""
    sizes = [_distinct(codes[here]) for here in (first, ~first)]
    if min(sizes) < 2:
        return 0.0
    parts = [_one_way(influence[here], codes[here]) for here in (first, ~first)]
    spread = sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return sum(parts) ** 2 / spread if spread > 0 else float(min(sizes) - 1)
