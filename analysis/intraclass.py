"""Intraclass correlations of Shrout and Fleiss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import fdtrc, fdtri

from analysis.resampling import Matrix

FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")


def icc(ratings: ArrayLike, *, level: float = 0.95) -> pd.DataFrame:
    r"""The six intraclass correlations with F-tests and exact or approximate intervals.

    With the mean squares of targets (B), raters (J), residual (E) and within targets (W), for
    :math:`n` targets and :math:`k` raters,

    .. math::

        ICC_1 = \frac{B - W}{B + (k-1) W}, \quad
        ICC_2 = \frac{B - E}{B + (k-1) E + k (J - E) / n}, \quad
        ICC_3 = \frac{B - E}{B + (k-1) E}

    and the same for the mean of :math:`k` raters: :math:`(B-W)/B`,
    :math:`(B-E)/(B+(J-E)/n)`, :math:`(B-E)/B`.

    ICC1: every target has its own raters. ICC2: the same raters, a sample of all raters; a severe
    rater lowers it. ICC3: exactly these raters, only their order of the targets counts.

    When ratings are missing, ICC1 uses all targets with two ratings or more and the average number
    of ratings of Donner (its interval is approximate then); ICC2 and ICC3 use the targets that all
    raters rated, if there are any.

    Parameters
    ----------
    ratings
        Targets in rows, raters in columns, NaN for a missing rating.

    Returns
    -------
    DataFrame
        One row for each form: form, n (targets), raters, estimate, low, high, f, df1, df2, p, note.

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; unequal numbers of ratings: Donner 1986,
    doi:10.2307/1403259
    """
    matrix = np.atleast_2d(np.asarray(ratings, np.float64))
    tail = (1 + level) / 2
    some = matrix[np.isfinite(matrix).sum(1) >= 2]
    every = matrix[np.isfinite(matrix).all(1)] if matrix.shape[1] >= 2 else matrix[:0]
    one_way = _one_way(some, tail)
    two_way = _two_way(every, tail, len(matrix) - len(every))
    rows = {row["form"]: row for row in (*one_way, *two_way)}
    return pd.DataFrame([rows[form] for form in FORMS])


class _Form(NamedTuple):
    """A form for one rater; that for the mean of raters is a transformation of it."""

    name: str
    n: int
    raters: float
    estimate: float
    low: float
    high: float
    f: float
    df1: float
    df2: float
    note: str

    def rows(self) -> list[dict[str, object]]:
        p = float(fdtrc(self.df1, self.df2, self.f)) if np.isfinite(self.f) else np.nan
        shared = {"f": self.f, "df1": self.df1, "df2": self.df2, "p": p, "note": self.note}
        head = {"n": self.n, "raters": self.raters}
        single = (self.estimate, self.low, self.high)
        mean = tuple(_of_the_mean(value, self.raters) for value in single)
        return [
            {"form": name, **head, "estimate": value[0], "low": value[1], "high": value[2]} | shared
            for name, value in ((self.name, single), (f"{self.name}k", mean))
        ]


def _of_the_mean(single: float, raters: float) -> float:
    """Spearman and Brown: the reliability of the mean of several raters."""
    below = 1 + (raters - 1) * single
    return raters * single / below if below > 0 else np.nan


def _missing(names: tuple[str, ...], n: int, raters: float, why: str) -> list[dict[str, object]]:
    nan = np.nan
    lost = _Form("", n, raters, nan, nan, nan, nan, nan, nan, why)
    return [row for name in names for row in lost._replace(name=name).rows()]


def _one_way(matrix: Matrix, tail: float) -> list[dict[str, object]]:
    present = np.isfinite(matrix)
    each = present.sum(1)
    n, total = len(matrix), int(each.sum())
    if n < 2:
        return _missing(("ICC1",), n, np.nan, "fewer than two targets have two ratings")
    filled = np.where(present, matrix, 0.0)
    means = filled.sum(1) / each
    within = (np.where(present, matrix - means[:, None], 0.0) ** 2).sum() / (total - n)
    between = (each * (means - filled.sum() / total) ** 2).sum() / (n - 1)
    k = float((total - (each**2).sum() / total) / (n - 1))
    if within + between == 0:
        return _missing(("ICC1",), n, k, "all ratings are equal")
    note = "" if (each == each[0]).all() else f"unequal numbers of ratings, {k:.2f} on average"
    df1, df2 = n - 1, total - n
    with np.errstate(divide="ignore"):
        f = float(np.divide(between, within))
    low = _from_f(f / float(fdtri(df1, df2, tail)), k)
    high = _from_f(f * float(fdtri(df2, df1, tail)), k)
    return _Form("ICC1", n, k, _from_f(f, k), low, high, f, df1, df2, note).rows()


def _from_f(f: float, k: float) -> float:
    return 1.0 if np.isinf(f) else (f - 1) / (f + k - 1)


def _two_way(matrix: Matrix, tail: float, lost: int) -> list[dict[str, object]]:
    n, k = matrix.shape
    note = f"{lost} targets without a rating of every rater left out" if lost else ""
    if n < 2:
        why = "fewer than two targets have a rating of every rater"
        return _missing(("ICC2", "ICC3"), n, k, why)
    grand = matrix.mean()
    rows, columns = matrix.mean(1), matrix.mean(0)
    between = k * ((rows - grand) ** 2).sum() / (n - 1)
    judges = n * ((columns - grand) ** 2).sum() / (k - 1)
    df1, df2 = n - 1, (n - 1) * (k - 1)
    error = ((matrix - rows[:, None] - columns + grand) ** 2).sum() / df2
    if np.isclose(between + error, 0, atol=1e-12):
        return _missing(("ICC2", "ICC3"), n, k, "every rater gives all targets the same rating")
    with np.errstate(divide="ignore"):
        f = float(np.divide(between, error)) if error > 1e-12 * between else np.inf
    third = _Form(
        "ICC3",
        n,
        k,
        _from_f(f, k),
        _from_f(f / float(fdtri(df1, df2, tail)), k),
        _from_f(f * float(fdtri(df2, df1, tail)), k),
        f,
        df1,
        df2,
        note,
    )
    estimate = (between - error) / (between + (k - 1) * error + k * (judges - error) / n)
    low, high = _limits_of_icc2(estimate, between, judges, error, n, k, tail)
    second = third._replace(name="ICC2", estimate=float(estimate), low=low, high=high)
    return second.rows() + third.rows()


def _limits_of_icc2(
    estimate: float, between: float, judges: float, error: float, n: int, k: int, tail: float
) -> tuple[float, float]:
    """Shrout and Fleiss' interval with Satterthwaite's degrees of freedom."""
    if error <= 1e-12 * between:  # the raters differ by a constant at most: no approximation holds
        return np.nan, np.nan
    ratio = judges / error
    shift = n * (1 + (k - 1) * estimate) - k * estimate
    above = (k - 1) * (n - 1) * (k * estimate * ratio + shift) ** 2
    below = (n - 1) * k**2 * estimate**2 * ratio**2 + shift**2
    freedom = above / below
    upper, lower = fdtri(n - 1, freedom, tail), fdtri(freedom, n - 1, tail)
    spread = k * judges + (k * n - k - n) * error
    low = n * (between - upper * error) / (upper * spread + n * between)
    high = n * (lower * between - error) / (spread + n * lower * between)
    return float(low), float(high)
