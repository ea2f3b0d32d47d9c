"""Differences with their interval, a test of equivalence and the smallest effect within reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, special

LEVEL = 0.95
POWER = 0.80
ROUNDING = 1e-12  # an error below this is that of the arithmetic, not of annotators


class Contrast(NamedTuple):
    """An estimate that follows a t distribution with ``df`` degrees of freedom around the truth."""

    n: int
    estimate: float
    error: float
    df: float
    note: str = ""


def contrast_row(contrast: Contrast, margin: float) -> dict[str, object]:
    r"""Interval, p, equivalence (TOST) and smallest detectable effect of a contrast.

    Two one-sided tests claim that the truth lies within the margin :math:`\Delta`:

    .. math:: p = \max\{P(T > (d + \Delta)/s),\; P(T < (d - \Delta)/s)\}

    It is below :math:`\alpha` exactly when the :math:`1 - 2\alpha` interval lies within the margin.

    References
    ----------
    Schuirmann 1987, doi:10.1007/BF01068419; Lakens 2017, doi:10.1177/1948550617697177

    Returns
    -------
    dict with n, estimate, low, high, p, margin, p_equivalence, smallest_effect, note
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
    row["p_equivalence"] = equivalence_p(contrast, margin)
    row["smallest_effect"] = smallest_effect(error, df)
    return row


def equivalence_p(contrast: Contrast, margin: float) -> float:
    """p of the two one-sided tests; small means that the truth lies within the margin."""
    below = special.stdtr(contrast.df, -(contrast.estimate + margin) / contrast.error)
    above = special.stdtr(contrast.df, (contrast.estimate - margin) / contrast.error)
    return float(max(below, above))


def smallest_effect(
    error: float, df: float, *, alpha: float = 1 - LEVEL, power: float = POWER
) -> float:
    r"""The true effect that a two-sided t test finds with the given power.

    Solves :math:`P(|T_{df}(\delta/s)| > t_{1-\alpha/2}) = power` for :math:`\delta`, with the
    noncentral t distribution.

    References
    ----------
    Cohen 1988, doi:10.4324/9780203771587
    """
    if not (error > 0 and df > 0):
        return float("nan")
    cut = float(special.stdtrit(df, 1 - alpha / 2))

    def short_of(noncentrality: float) -> float:
        below, wrong_side = special.nctdtr(df, noncentrality, [cut, -cut])
        return 1 - float(below) + float(np.nan_to_num(wrong_side)) - power  # NaN: almost 0

    most = cut + 5.0
    while short_of(most) < 0 and most < 1e4:  # with one degree of freedom the cut-off is far out
        most *= 1.5
    return error * float(optimize.brentq(short_of, 0.0, most))


def welch(first: ArrayLike, second: ArrayLike) -> Contrast:
    r"""Mean of ``first`` minus mean of ``second``, without assuming equal spreads.

    .. math:: s^2 = s_1^2/n_1 + s_2^2/n_2, \qquad
        df = \frac{s^4}{(s_1^2/n_1)^2/(n_1-1) + (s_2^2/n_2)^2/(n_2-1)}

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
    if min(len(a), len(b)) == 1:
        note = "a group of one annotator: its spread is taken from the others"
        df = float(n - 2)
        squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
        error = np.sqrt(squares / df * (1 / len(a) + 1 / len(b))) if df > 0 else np.nan
        note = note if df > 0 else "one annotator in each group: no interval"
        return Contrast(n, difference, float(error), df, note)
    parts = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    variance = float(parts.sum())
    if variance == 0:
        return Contrast(n, difference, 0.0, np.nan, "no spread within the groups: no interval")
    df = variance**2 / float((parts**2 / (np.array([len(a), len(b)]) - 1)).sum())
    return Contrast(n, difference, float(np.sqrt(variance)), df)


def slope(values: ArrayLike, against: ArrayLike) -> Contrast:
    """Slope of the least-squares line, in values per unit of ``against``."""
    y, x = np.asarray(values, np.float64), np.asarray(against, np.float64)
    known = ~(np.isnan(y) | np.isnan(x))
    y, x = y[known], x[known]
    n = len(y)
    if n < 3 or np.ptp(x) == 0:
        return Contrast(n, np.nan, np.nan, np.nan, "fewer than three annotators who differ")
    x = x - x.mean()
    estimate = float(x @ y / (x @ x))
    residual = y - y.mean() - estimate * x
    error = float(np.sqrt(residual @ residual / (n - 2) / (x @ x)))
    return Contrast(n, estimate, error, n - 2)


def one_mean(values: ArrayLike) -> Contrast:
    """The mean of one value per annotator (or another unit)."""
    y = _present(values)
    if len(y) < 2:
        estimate = float(y[0]) if len(y) else np.nan
        note = "only one value: no interval" if len(y) else "no value"
        return Contrast(len(y), estimate, np.nan, np.nan, note)
    return Contrast(len(y), float(y.mean()), float(y.std(ddof=1) / np.sqrt(len(y))), len(y) - 1)


def eta_squared(values: ArrayLike, groups: ArrayLike) -> pd.DataFrame:
    r"""Share of the spread between annotators that lies between groups, with its interval.

    The interval inverts the noncentral F distribution: :math:`\lambda` such that the observed F is
    at its upper or lower tail, and :math:`\eta^2 = \lambda / (\lambda + N)`.

    References
    ----------
    Steiger 2004, doi:10.1037/1082-989X.9.2.164
    """
    y, labels = np.asarray(values, np.float64), np.asarray(groups, object)
    known = ~(np.isnan(y) | pd.isna(labels))
    y, (codes, names) = y[known], pd.factorize(labels[known])
    n, between, within = len(y), len(names) - 1, len(y) - len(names)
    empty = {"n": n, "estimate": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}
    if between < 1 or within < 1 or np.ptp(y) == 0:
        return pd.DataFrame([empty | {"note": "fewer than two groups, or one annotator in each"}])
    means = np.bincount(codes, y) / np.bincount(codes)
    total, rest = float(((y - y.mean()) ** 2).sum()), float(((y - means[codes]) ** 2).sum())
    if rest <= 0:
        return pd.DataFrame([empty | {"estimate": 1.0, "note": "no spread within the groups"}])
    ratio = (total - rest) / between / (rest / within)

    def bound(tail: float) -> float:
        """The noncentrality at which the observed F has this much probability below it."""

        def beyond(noncentrality: float) -> float:
            return float(special.ncfdtr(between, within, noncentrality, ratio)) - tail

        if float(special.fdtr(between, within, ratio)) <= tail:
            return 0.0
        most = 10.0 + 10 * ratio * between
        while beyond(most) > 0:
            most *= 2
        found = float(optimize.brentq(beyond, 1e-9, most))
        return found / (found + n)

    low, high = bound((1 + LEVEL) / 2), bound((1 - LEVEL) / 2)
    p = float(special.fdtrc(between, within, ratio))
    row = {"n": n, "estimate": 1 - rest / total, "low": low, "high": high, "p": p, "note": ""}
    return pd.DataFrame([row])


def _present(values: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, np.float64).ravel()
    return array[~np.isnan(array)]
