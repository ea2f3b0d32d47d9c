"""Variance analysis of independent groups: F with eta squared, all pairs after Tukey, power."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd
from statsmodels.stats.oneway import confint_noncentrality
from statsmodels.stats.power import FTestAnovaPower

from analysis.contrasts import POWER
from analysis.resampling import LEVEL

_TEST = ("n", "groups", "df1", "df2", "f", "p", "estimate", "low", "high", "omega_squared", "note")


def anova(values: ArrayLike, groups: ArrayLike) -> pd.DataFrame:
    r"""Test whether the means of groups differ, with eta squared and its interval.

    .. math:: \eta^2 = \frac{SS_{between}}{SS_{total}} = \frac{df_1 F}{df_1 F + df_2}

    The interval is that of the share in the population, :math:`\lambda / (\lambda + N)`: it inverts
    the noncentral F distribution. Eta squared of a sample is above 0 without any effect, omega
    squared is about 0 then.

    Parameters
    ----------
    values, groups
        One entry for each unit; units with a missing entry are left out.

    Returns
    -------
    DataFrame
        One row: n, groups, df1, df2, f, p, estimate (eta squared), low, high, omega_squared, note.

    References
    ----------
    Steiger 2004, doi:10.1037/1082-989X.9.2.164

    Examples
    --------
    >>> found = anova([1, 2, 3, 3, 4, 5, 5, 6, 7], list("aaabbbccc"))
    >>> found[["df1", "df2", "f", "p", "estimate"]].round(3)
       df1  df2     f      p  estimate
    0    2    6  12.0  0.008       0.8
    """
    y, codes, names = _known(values, groups)
    n, k = len(y), len(names)
    row: dict[str, object] = dict.fromkeys(_TEST, np.nan)
    row |= {"n": n, "groups": k, "df1": max(k - 1, 0), "df2": max(n - k, 0), "note": ""}
    if k < 2 or n <= k:
        row["note"] = "fewer than two groups, or one unit in each"
        return pd.DataFrame([row], columns=list(_TEST))
    parts = [y[codes == place] for place in range(k)]
    if all(np.ptp(part) == 0 for part in parts):
        row["note"] = "no spread within the groups"
        return pd.DataFrame([row], columns=list(_TEST))
    test = stats.f_oneway(*parts)
    f, df1, df2 = float(test.statistic), k - 1, n - k
    ends = confint_noncentrality(f, (df1, df2), alpha=1 - LEVEL)
    low, high = (float(end / (end + n)) for end in ends)
    spread = df1 * (f - 1)
    row |= {"f": f, "p": float(test.pvalue), "estimate": df1 * f / (df1 * f + df2)}
    row |= {"low": low, "high": high, "omega_squared": max(0.0, spread / (spread + n))}
    return pd.DataFrame([row], columns=list(_TEST))


def eta_squared(f: float, df1: int, df2: int) -> float:
    """Eta squared that belongs to a printed F.

    Parameters
    ----------
    f, df1, df2
        The test as printed.

    Returns
    -------
    float

    Examples
    --------
    >>> round(eta_squared(12.0, 2, 6), 3)
    0.8
    """
    return df1 * f / (df1 * f + df2)


def tukey(values: ArrayLike, groups: ArrayLike) -> pd.DataFrame:
    """Compare all pairs of groups by Tukey's honestly significant difference (statsmodels).

    Parameters
    ----------
    values, groups
        One entry for each unit; units with a missing entry are left out. Sizes may differ
        (Kramer's correction).

    Returns
    -------
    DataFrame
        first, second, n, estimate (mean of the first minus that of the second), low, high, p
        (corrected for all pairs); no row with fewer than two groups or no spread within them.

    References
    ----------
    Tukey 1949, doi:10.2307/3001913; Kramer 1956, doi:10.2307/3001469

    Examples
    --------
    >>> found = tukey([1, 2, 3, 3, 4, 5, 5, 6, 7], list("aaabbbccc"))
    >>> found[["first", "second", "estimate", "p"]].round(3)
      first second  estimate      p
    0     a      b      -2.0  0.109
    1     a      c      -4.0  0.006
    2     b      c      -2.0  0.109
    """
    columns = ["first", "second", "n", "estimate", "low", "high", "p"]
    y, codes, names = _known(values, groups)
    if len(names) < 2 or len(y) <= len(names):
        return pd.DataFrame(columns=columns)
    if all(np.ptp(y[codes == place]) == 0 for place in range(len(names))):
        return pd.DataFrame(columns=columns)
    found = pairwise_tukeyhsd(y, codes, alpha=1 - LEVEL)
    sizes = np.bincount(codes)
    rows = []
    for number, (one, other) in enumerate(combinations(range(len(names)), 2)):
        low, high = (-float(end) for end in found.confint[number][::-1])
        rows.append(
            {
                "first": names[one],
                "second": names[other],
                "n": int(sizes[one] + sizes[other]),
                "estimate": -float(found.meandiffs[number]),
                "low": low,
                "high": high,
                "p": float(found.pvalues[number]),
            }
        )
    return pd.DataFrame(rows, columns=columns)


def anova_power(groups: int, n: int, effect: float) -> float:
    """Chance that an analysis of variance finds an effect (statsmodels).

    Parameters
    ----------
    groups
        How many.
    n
        Units of all groups together.
    effect
        Cohen's f: 0.1 is called small, 0.25 medium and 0.4 large.

    Returns
    -------
    float

    References
    ----------
    Cohen 1988, doi:10.4324/9780203771587

    Examples
    --------
    >>> round(anova_power(4, 180, 0.25), 2)
    0.8
    """
    return float(FTestAnovaPower().power(effect, n, 1 - LEVEL, k_groups=groups))


def smallest_effect(groups: int, n: int, power: float = POWER) -> float:
    """The smallest effect that an analysis of variance finds with a given chance (statsmodels).

    Parameters
    ----------
    groups, n
        As for :func:`anova_power`; there are more units than groups.
    power
        The chance.

    Returns
    -------
    float
        Cohen's f.

    Examples
    --------
    >>> round(smallest_effect(4, 180), 3)
    0.249
    """
    large = 1.0
    while anova_power(groups, n, large) < power:  # a handful of units finds huge effects only
        large *= 2
    return float(
        optimize.brentq(lambda effect: anova_power(groups, n, effect) - power, 1e-9, large)
    )


def _known(values: ArrayLike, groups: ArrayLike) -> tuple[np.ndarray, np.ndarray, list[object]]:
    """Values, codes of their groups, and the groups in order, without missing entries."""
    y, labels = np.asarray(values, np.float64), np.asarray(groups, object)
    known = ~(np.isnan(y) | pd.isna(labels))
    codes, names = pd.factorize(labels[known], sort=True)
    return y[known], np.asarray(codes), list(names)
