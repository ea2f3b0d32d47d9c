"""Contrasts: estimates with an error, their interval, tests, equivalence and power.

Of independent values, and of values that share a unit or a rater and so are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats
from statsmodels.stats.oneway import confint_noncentrality
from statsmodels.stats.power import ttest_power
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from analysis.resampling import LEVEL, Codes, Matrix, cluster_codes

Vector = NDArray[np.float64]

POWER = 0.80
FEW = 5  # raters in a group, below which its own spread is not relied on
ROUNDING = 1e-12  # an error below this is that of the arithmetic, not of raters


class Contrast(NamedTuple):
    """An estimate with its standard error; :func:`contrast_row` tests it.

    Attributes
    ----------
    n
        How many values it is made of.
    estimate, error
        The estimate and its standard error; NaN if there is none.
    df
        Degrees of freedom of the t distribution of ``(estimate - truth) / error``.
    note
        What a reader has to know, or why there is no error.

    Examples
    --------
    >>> Contrast(n=10, estimate=0.5, error=0.2, df=9).estimate
    0.5
    """

    n: int
    estimate: float
    error: float
    df: float
    note: str = ""


def contrast_row(contrast: Contrast, margin: float = np.nan) -> dict[str, object]:
    r"""Interval, p, equivalence (TOST) and smallest detectable effect of a contrast.

    Two one-sided tests claim that the truth lies within the margin :math:`\Delta`:

    .. math:: p = \max\{P(T > (d + \Delta)/s),\; P(T < (d - \Delta)/s)\}

    It is below :math:`\alpha` exactly when the :math:`1 - 2\alpha` interval lies within the margin.
    statsmodels has this test for means of independent values only, not for clustered errors.

    Parameters
    ----------
    contrast
        The estimate, its error and its degrees of freedom.
    margin
        The largest difference that does not matter; without one there is no ``p_equivalence``.

    Returns
    -------
    dict
        n, estimate, low, high, p, margin, p_equivalence, smallest_effect (a true difference that
        would be found with 80 % power), note.

    References
    ----------
    Schuirmann 1987, doi:10.1007/BF01068419; Lakens 2017, doi:10.1177/1948550617697177

    Examples
    --------
    >>> row = contrast_row(Contrast(20, 0.1, 0.2, 18.0), margin=1.0)
    >>> [round(row[name], 3) for name in ("low", "high", "p", "p_equivalence")]
    [-0.32, 0.52, 0.623, 0.0]
    """
    n, estimate, error, df, note = contrast
    row: dict[str, object] = {"n": n, "estimate": estimate}
    row |= dict.fromkeys(("low", "high", "p"), np.nan)
    row |= {"margin": margin, "p_equivalence": np.nan, "smallest_effect": np.nan, "note": note}
    if not (np.isfinite(estimate) and error > ROUNDING and df > 0):
        reason = note or "too few raters, or no spread between them: no interval"
        return row | {"note": reason}
    half = float(special.stdtrit(df, (1 + LEVEL) / 2)) * error
    row["low"], row["high"] = estimate - half, estimate + half
    row["p"] = float(2 * special.stdtr(df, -abs(estimate) / error))
    outside = -(estimate + margin) / error, (estimate - margin) / error
    row["p_equivalence"] = float(max(special.stdtr(df, outside)))
    row["smallest_effect"] = error * _errors_to_detect(df)
    return row


@lru_cache(maxsize=10_000)
def _errors_to_detect(df: float) -> float:
    """How many standard errors a true effect must have for a t test to find it with 80 % power.

    The power is that of statsmodels, from the noncentral t distribution. Its own search for
    the effect stops early where a tail is NaN: at 7.73 instead of 7.83 for 1.5 degrees of freedom.

    References
    ----------
    Cohen 1988, doi:10.4324/9780203771587
    """

    def short_of(effect: float) -> float:
        sides = [
            float(ttest_power(effect, nobs=1, alpha=(1 - LEVEL) / 2, df=df, alternative=side))
            for side in ("larger", "smaller")
        ]
        return sides[0] + float(np.nan_to_num(sides[1])) - POWER  # NaN on the wrong side: almost 0

    most = 5.0 + float(special.stdtrit(df, (1 + LEVEL) / 2))
    while short_of(most) < 0 and most < 1e4:  # with one degree of freedom the cut-off is far out
        most *= 1.5
    return float(optimize.brentq(short_of, 0.0, most))


def welch(first: ArrayLike, second: ArrayLike) -> Contrast:
    """Mean of ``first`` minus mean of ``second``, without assuming equal spreads.

    A few values on a coarse scale are often equal, and tell next to nothing about their spread: if
    a group has fewer than five, the spread of both is pooled.

    Parameters
    ----------
    first, second
        Independent values of two groups; missing ones are left out.

    Returns
    -------
    Contrast
        With Welch's degrees of freedom, n of both groups together.

    References
    ----------
    Welch 1947, doi:10.1093/biomet/34.1-2.28

    Examples
    --------
    Two variances of 2.5 over five values each: the error is the root of 0.5 + 0.5.

    >>> welch([1, 2, 3, 4, 5], [2, 3, 4, 5, 6])
    Contrast(n=10, estimate=-1.0, error=1.0, df=8.0, note='')
    """
    a, b = _present(first), _present(second)
    n = len(a) + len(b)
    if not len(a) or not len(b):
        return Contrast(n, np.nan, np.nan, np.nan, "one of the groups is empty")
    difference = float(a.mean() - b.mean())
    if n == 2:
        note = "one rater in each group: no interval"
        return Contrast(n, difference, np.nan, 0, note)
    both = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    few = min(len(a), len(b)) < FEW
    error = float(both.std_meandiff_pooledvar if few else both.std_meandiff_separatevar)
    if error == 0:
        return Contrast(n, difference, 0.0, np.nan, "no spread within the groups: no interval")
    if few:
        note = f"a group of fewer than {FEW} raters: the spread of both groups is pooled"
        return Contrast(n, difference, error, n - 2, note)
    return Contrast(n, difference, error, float(both.dof_satt()))


def slope(values: ArrayLike, against: ArrayLike) -> Contrast:
    """Slope of the least-squares line (scipy).

    Parameters
    ----------
    values, against
        One entry each for every rater; pairs with a missing entry are left out.

    Returns
    -------
    Contrast
        The estimate is the change of the values for one unit of ``against``.

    Examples
    --------
    >>> found = slope([1, 2, 3, 5], against=[0, 1, 2, 3])
    >>> round(found.estimate, 3), round(found.error, 3), found.df
    (1.3, 0.173, 2)
    """
    y, x = np.asarray(values, np.float64), np.asarray(against, np.float64)
    known = ~(np.isnan(y) | np.isnan(x))
    y, x = y[known], x[known]
    if len(y) < 3 or np.ptp(x) == 0:
        return Contrast(len(y), np.nan, np.nan, np.nan, "fewer than three raters who differ")
    line = stats.linregress(x, y)
    return Contrast(len(y), float(line.slope), float(line.stderr), len(y) - 2)


def one_mean(values: ArrayLike) -> Contrast:
    r"""The mean of independent values, one per rater, say.

    .. math:: \bar x, \quad s / \sqrt n, \quad n - 1 \text{ degrees of freedom}

    Parameters
    ----------
    values
        Missing ones are left out.

    Returns
    -------
    Contrast

    Examples
    --------
    >>> found = one_mean([1, 2, 3])
    >>> found.estimate, round(found.error, 3), found.df
    (2.0, 0.577, 2)
    """
    y = _present(values)
    if len(y) < 2:
        estimate = float(y[0]) if len(y) else np.nan
        note = "only one value: no interval" if len(y) else "no value"
        return Contrast(len(y), estimate, np.nan, np.nan, note)
    return Contrast(len(y), float(y.mean()), float(stats.sem(y)), len(y) - 1)


def omega_squared(values: ArrayLike, groups: ArrayLike) -> dict[str, object]:
    r"""Share of the spread between raters that lies between groups, with its interval.

    The share is that of the population, :math:`\lambda / (\lambda + N)` with the noncentrality
    :math:`\lambda` of F. The estimate takes :math:`\lambda = df_1 (F - 1)`, not below 0: the eta
    squared of a sample is above 0 without any effect, the more the more groups. The interval
    inverts the noncentral F distribution (statsmodels): :math:`\lambda` such that the observed F is
    at its upper or lower tail.

    Parameters
    ----------
    values, groups
        One entry each for every rater; those with a missing entry are left out.

    Returns
    -------
    dict
        n, estimate, low, high, p (of the F test), note.

    References
    ----------
    Hays 1963, Statistics for psychologists; Steiger 2004, doi:10.1037/1082-989X.9.2.164

    Examples
    --------
    F is 12 with 2 and 6 degrees of freedom, so that the estimate is 22 / (22 + 9).

    >>> found = omega_squared([1, 2, 3, 3, 4, 5, 5, 6, 7], list("aaabbbccc"))
    >>> round(found["estimate"], 4), round(found["p"], 4)
    (0.7097, 0.008)
    """
    y, labels = np.asarray(values, np.float64), np.asarray(groups, object)
    known = ~(np.isnan(y) | pd.isna(labels))
    y, (codes, names) = y[known], pd.factorize(labels[known])
    n, between, within = len(y), len(names) - 1, len(y) - len(names)
    row: dict[str, object] = {"n": n}
    row |= dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    if between < 1 or within < 1 or np.ptp(y) == 0:
        return row | {"note": "fewer than two groups, or one rater in each"}
    if all(np.ptp(y[codes == place]) == 0 for place in range(len(names))):
        return row | {"estimate": 1.0, "note": "no spread within the groups"}
    test = stats.f_oneway(*(y[codes == place] for place in range(len(names))))
    f = float(test.statistic)
    ends = confint_noncentrality(f, (between, within), alpha=1 - LEVEL)
    low, high = (float(end / (end + n)) for end in ends)
    noncentrality = max(0.0, between * (f - 1))
    estimate = noncentrality / (noncentrality + n)
    found = {"estimate": estimate, "low": low, "high": high, "p": float(test.pvalue), "note": ""}
    return row | found


def wilson_interval(count: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (statsmodels).

    Parameters
    ----------
    count
        Observations that have the property; may be a fraction.
    n
        All observations.

    Returns
    -------
    low, high : float
        Ends of the interval; NaN without observations.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953

    Examples
    --------
    >>> [round(limit, 3) for limit in wilson_interval(4, 15)]
    [0.109, 0.52]
    """
    if not n:
        return np.nan, np.nan
    low, high = proportion_confint(count, n, 1 - LEVEL, method="wilson")
    return 0.0 if count == 0 else float(low), 1.0 if count == n else float(high)


def permutation_p(
    data: Sequence[Matrix],
    statistic: Callable[..., Matrix],
    kind: Literal["independent", "samples", "pairings"],
    permutations: int,
    seed: int,
) -> float:
    """p of scipy's permutation test that large values of the statistic are no chance.

    If there are no more arrangements than permutations, all are tried; else p counts the observed
    arrangement among the random ones, so that it is never 0.

    Parameters
    ----------
    data, statistic
        The samples, and the function of them (with a keyword ``axis``) that is large if they
        differ, as for :func:`scipy.stats.permutation_test`.
    kind
        What is exchanged: ``independent`` values between samples, ``samples`` within a row, or
        ``pairings`` of the values of one sample with those of others.
    permutations, seed
        How many random arrangements, and the seed of their random numbers.

    Returns
    -------
    float

    References
    ----------
    Phipson & Smyth 2010, doi:10.2202/1544-6115.1585

    Examples
    --------
    Of the 20 ways to choose three of six values, two are as far apart:

    >>> def gap(first, second, axis):
    ...     return abs(first.mean(axis) - second.mean(axis))
    >>> samples = [np.array([1.0, 2, 3]), np.array([4.0, 5, 6])]
    >>> permutation_p(samples, gap, "independent", permutations=1_000, seed=0)
    0.1
    """
    found = stats.permutation_test(
        data,
        statistic,
        permutation_type=kind,
        vectorized=True,
        n_resamples=permutations,
        alternative="greater",
        axis=-1,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def codes_of(values: ArrayLike | pd.Series) -> Codes:
    """Number distinct values from 0, in order of appearance.

    Parameters
    ----------
    values
        None may be missing.

    Returns
    -------
    ndarray
        The number of each value.

    Examples
    --------
    >>> codes_of(["cat", "dog", "cat"])
    array([0, 1, 0])
    """
    found = np.asarray(values)
    return cluster_codes(found, len(found))


def crossed(first: Codes, second: Codes) -> Codes:
    """Number the pairs of codes that occur.

    Parameters
    ----------
    first, second
        Two codes for each row.

    Returns
    -------
    ndarray
        The number of each row's pair.

    Examples
    --------
    >>> crossed(np.array([0, 0, 1, 1]), np.array([5, 6, 6, 6]))
    array([0, 1, 2, 2])
    """
    return codes_of(first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second)


def _cluster_variance(influence: Vector, *clusters: Codes) -> tuple[float, int]:
    r"""Variance of a sum of influences that are correlated within one or two kinds of clusters.

    .. math:: V = V_1 + V_2 - V_{12}, \qquad
        V_c = \frac{G_c}{G_c - 1} \sum_{g} \Big(\sum_{i \in g} \psi_i\Big)^2

    A kind with fewer than two clusters tells nothing about spread and is left out. Should the
    difference be smaller than one of the parts, the larger part is taken, which is conservative;
    statsmodels' two-way clusters, otherwise the same, can end in a negative variance there.

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
    r"""The mean, with an error that allows for one or two kinds of clusters.

    .. math:: V = V_1 + V_2 - V_{12}, \qquad
        V_c = \frac{G_c}{G_c - 1} \sum_{g} \Big(\sum_{i \in g} \frac{x_i - \bar x}{n}\Big)^2

    Parameters
    ----------
    values
        None may be missing.
    *clusters
        The cluster of each value, numbered from 0: one or two arrays.

    Returns
    -------
    Contrast
        With one degree of freedom less than the kind with the fewest clusters has.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136

    Examples
    --------
    Two clusters, with equal values in each, are two observations, not four:

    >>> values = np.array([1.0, 1, 3, 3])
    >>> clustered_mean(values, np.array([0, 0, 1, 1]))
    Contrast(n=4, estimate=2.0, error=1.0, df=1, note='')
    >>> round(clustered_mean(values, np.arange(4)).error, 3)
    0.577
    """
    n = len(values)
    if not n:
        return Contrast(0, np.nan, np.nan, np.nan, "no value")
    mean = float(values.mean())
    variance, df = _cluster_variance((values - mean) / n, *clusters)
    note = "" if df > 0 else "one cluster only: no interval"
    return Contrast(n, mean, float(np.sqrt(variance)), df, note)


def clustered_difference(values: Vector, first: NDArray[np.bool_], *clusters: Codes) -> Contrast:
    r"""Mean of the marked values minus mean of the others; clusters may lie in both groups.

    The error is that of :func:`clustered_mean`, for both means at once. The degrees of freedom are
    the fewest of those there and, for each kind of clusters, those of Satterthwaite with the
    variances :math:`v_g` of the two groups' means,

    .. math:: (v_1 + v_2)^2 \Big/ \Big(\frac{v_1^2}{G_1 - 1} + \frac{v_2^2}{G_2 - 1}\Big)

    so that a few clusters in one group are not hidden by many in the other.

    Parameters
    ----------
    values
        None may be missing.
    first
        True for the values of the first group.
    *clusters
        The cluster of each value, numbered from 0: one or two arrays.

    Returns
    -------
    Contrast

    References
    ----------
    Satterthwaite 1946, doi:10.2307/3002019

    Examples
    --------
    >>> values, first = np.array([4.0, 5, 6, 1, 2, 3]), np.arange(6) < 3
    >>> found = clustered_difference(values, first, np.arange(6))
    >>> found.estimate, round(found.error, 3), found.df
    (3.0, 0.73, 4.0)
    """
    n, n_first = len(values), int(first.sum())
    if n_first in (0, n):
        return Contrast(n, np.nan, np.nan, np.nan, "one of the groups is empty")
    means = np.array([values[~first].mean(), values[first].mean()])
    signed = np.where(first, 1 / n_first, -1 / (n - n_first))
    influence = (values - means[first.astype(int)]) * signed
    variance, df = _cluster_variance(influence, *clusters)
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

    Parameters
    ----------
    x, y
        Rows with a missing entry are left out.
    *clusters
        The cluster of each row, numbered from 0: one or two arrays.
    method
        ``pearson`` or ``spearman``.

    Returns
    -------
    dict
        n, estimate, low, high, p, note.

    References
    ----------
    Fisher 1921, doi:10.2307/2331838; Devlin et al. 1975, doi:10.1093/biomet/62.3.531

    Examples
    --------
    >>> found = clustered_correlation([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], np.arange(5))
    >>> [round(float(found[name]), 3) for name in ("estimate", "low", "high", "p")]
    [0.8, 0.248, 0.96, 0.023]
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    n = len(a)
    row: dict[str, object] = {"n": n} | dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    if n < 3:
        return row | {"note": "fewer than three pairs"}
    if method == "spearman":
        a, b = stats.rankdata(a), stats.rankdata(b)
    spreads = a.std(), b.std()
    if min(spreads) <= 1e-12 * max(1.0, float(np.abs(a).max()), float(np.abs(b).max())):
        return row | {"note": "one of the two does not vary"}
    u, v = (a - a.mean()) / spreads[0], (b - b.mean()) / spreads[1]
    r = float(np.clip(u @ v / n, -1, 1))
    row["estimate"] = r
    if 1 - abs(r) < 1e-12:
        return row | {"note": "a perfect line: no interval"}
    influence = (u * v - r * (u * u + v * v) / 2) / (n * (1 - r * r))
    variance, df = _cluster_variance(influence, *(codes[known] for codes in clusters))
    if not variance > 0:
        return row | {"note": "one cluster only: no interval"}
    error = float(np.sqrt(variance))
    half = float(special.stdtrit(df, (1 + LEVEL) / 2)) * error
    row["low"], row["high"] = np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)
    row["p"] = float(2 * special.stdtr(df, -abs(np.arctanh(r)) / error))
    return row | {"note": ""}


def without_means(values: Vector, *clusters: Codes) -> Vector:
    """Take the means of all clusters out of values, in turn, until nothing changes.

    Parameters
    ----------
    values
        None may be missing.
    *clusters
        The cluster of each value, numbered from 0: one or more arrays.

    Returns
    -------
    ndarray
        What is left of each value.

    Examples
    --------
    >>> without_means(np.array([1.0, 3, 5, 9]), np.array([0, 0, 1, 1]))
    array([-1.,  1., -2.,  2.])
    """
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


def _present(values: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, np.float64).ravel()
    return array[~np.isnan(array)]
