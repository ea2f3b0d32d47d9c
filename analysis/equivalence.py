"""Differences with their interval, a test of equivalence and the smallest effect within reach."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, special, stats
from statsmodels.stats.oneway import confint_noncentrality
from statsmodels.stats.power import ttest_power
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from analysis.resampling import LEVEL

POWER = 0.80
ROUNDING = 1e-12  # an error below this is that of the arithmetic, not of annotators


class Contrast(NamedTuple):
    """An estimate that follows a t distribution with ``df`` degrees of freedom around the truth."""

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
    dict with n, estimate, low, high, p, margin, p_equivalence, smallest_effect, note

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
        reason = note or "too few annotators, or no spread between them: no interval"
        return row | {"note": reason}
    half = float(special.stdtrit(df, (1 + LEVEL) / 2)) * error
    row["low"], row["high"] = estimate - half, estimate + half
    row["p"] = float(2 * special.stdtr(df, -abs(estimate) / error))
    outside = -(estimate + margin) / error, (estimate - margin) / error
    row["p_equivalence"] = float(max(special.stdtr(df, outside)))
    row["smallest_effect"] = error * errors_to_detect(df)
    return row


@lru_cache(maxsize=10_000)
def errors_to_detect(df: float) -> float:
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

    A group of one has no spread of its own; then both share the other group's.

    References
    ----------
    Welch 1947, doi:10.1093/biomet/34.1-2.28
    """
    a, b = _present(first), _present(second)
    n = len(a) + len(b)
    if not len(a) or not len(b):
        return Contrast(n, np.nan, np.nan, np.nan, "one of the groups is empty")
    difference = float(a.mean() - b.mean())
    if n == 2:
        note = "one annotator in each group: no interval"
        return Contrast(n, difference, np.nan, 0, note)
    both = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    if min(len(a), len(b)) == 1:
        note = "a group of one annotator: its spread is taken from the others"
        return Contrast(n, difference, float(both.std_meandiff_pooledvar), n - 2, note)
    error = float(both.std_meandiff_separatevar)
    if error == 0:
        return Contrast(n, difference, 0.0, np.nan, "no spread within the groups: no interval")
    return Contrast(n, difference, error, float(both.dof_satt()))


def slope(values: ArrayLike, against: ArrayLike) -> Contrast:
    """Slope of the least-squares line, in values per unit of ``against``."""
    y, x = np.asarray(values, np.float64), np.asarray(against, np.float64)
    known = ~(np.isnan(y) | np.isnan(x))
    y, x = y[known], x[known]
    if len(y) < 3 or np.ptp(x) == 0:
        return Contrast(len(y), np.nan, np.nan, np.nan, "fewer than three annotators who differ")
    line = stats.linregress(x, y)
    return Contrast(len(y), float(line.slope), float(line.stderr), len(y) - 2)


def one_mean(values: ArrayLike) -> Contrast:
    """The mean of one value per annotator (or another unit)."""
    y = _present(values)
    if len(y) < 2:
        estimate = float(y[0]) if len(y) else np.nan
        note = "only one value: no interval" if len(y) else "no value"
        return Contrast(len(y), estimate, np.nan, np.nan, note)
    return Contrast(len(y), float(y.mean()), float(stats.sem(y)), len(y) - 1)


def eta_squared(values: ArrayLike, groups: ArrayLike) -> dict[str, object]:
    r"""Share of the spread between annotators that lies between groups, with its interval.

    The interval inverts the noncentral F distribution (statsmodels): :math:`\lambda` such that the
    observed F is at its upper or lower tail, and :math:`\eta^2 = \lambda / (\lambda + N)`.

    Returns
    -------
    dict with n, estimate, low, high, p, note

    References
    ----------
    Steiger 2004, doi:10.1037/1082-989X.9.2.164
    """
    y, labels = np.asarray(values, np.float64), np.asarray(groups, object)
    known = ~(np.isnan(y) | pd.isna(labels))
    y, (codes, names) = y[known], pd.factorize(labels[known])
    n, between, within = len(y), len(names) - 1, len(y) - len(names)
    row: dict[str, object] = {"n": n}
    row |= dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    if between < 1 or within < 1 or np.ptp(y) == 0:
        return row | {"note": "fewer than two groups, or one annotator in each"}
    if all(np.ptp(y[codes == place]) == 0 for place in range(len(names))):
        return row | {"estimate": 1.0, "note": "no spread within the groups"}
    test = stats.f_oneway(*(y[codes == place] for place in range(len(names))))
    f = float(test.statistic)
    ends = confint_noncentrality(f, (between, within), alpha=1 - LEVEL)
    low, high = (float(end / (end + n)) for end in ends)
    estimate = f * between / (f * between + within)
    found = {"estimate": estimate, "low": low, "high": high, "p": float(test.pvalue), "note": ""}
    return row | found


def _present(values: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, np.float64).ravel()
    return array[~np.isnan(array)]
