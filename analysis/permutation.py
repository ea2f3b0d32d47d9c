"""Permutation tests with annotators as the unit."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

MOST_EXACT = 20_000  # up to so many arrangements are all tried
TOLERANCE = 1e-9  # arrangements that tie with the observed one must count, whatever the rounding


def permute_groups(
    values: ArrayLike, groups: ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    r"""Do groups of annotators differ in the mean of one value per annotator?

    .. math:: \eta^2 = \frac{\sum_g n_g (\bar y_g - \bar y)^2}{\sum_i (y_i - \bar y)^2}

    Labels are permuted among annotators, not among votes: the votes of one annotator belong
    together. With two groups this is the two-sided test of the difference of means. All
    arrangements of two groups are tried when there are few; else p counts the observed
    arrangement among the random ones, so it is never 0.

    References
    ----------
    Phipson & Smyth 2010, doi:10.2202/1544-6115.1585

    Returns
    -------
    DataFrame with one row: n, estimate (eta squared), p, permutations, exact, note
    """
    y, labels = np.asarray(values, np.float64), np.asarray(groups, object)
    known = ~(np.isnan(y) | pd.isna(labels))
    y, labels = y[known], labels[known]
    codes, names = pd.factorize(labels)
    if len(names) < 2 or len(y) < 3:
        return _nothing(len(y), "fewer than two groups or three annotators")
    centred = y - y.mean()
    total = float(centred @ centred)
    if total <= TOLERANCE**2 * max(1.0, float(y @ y)):
        return _nothing(len(y), "all annotators have the same value")
    sizes = np.bincount(codes).astype(np.float64)
    observed = _between(centred[None], codes, sizes)[0]
    exact = len(names) == 2 and comb(len(y), int(sizes[0])) <= MOST_EXACT
    if exact:
        chosen = np.array(list(combinations(range(len(y)), int(sizes[0]))))
        first = centred[chosen].sum(axis=1)
        drawn = first**2 / sizes[0] + first**2 / sizes[1]  # the other group sums to the negative
    else:
        drawn = _between(_shuffled(centred, permutations, seed), codes, sizes)
    return _result(len(y), observed / total, drawn / total, exact)


def permute_slope(
    values: ArrayLike, against: ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Does a value of annotators rise or fall with a number, such as their age?

    The statistic is the squared Pearson correlation, two-sided; see :func:`permute_groups`.
    """
    y, x = np.asarray(values, np.float64), np.asarray(against, np.float64)
    known = ~(np.isnan(y) | np.isnan(x))
    y, x = y[known], x[known]
    if len(y) < 3:
        return _nothing(len(y), "fewer than three annotators")
    y, x = y - y.mean(), x - x.mean()
    scale = float((y @ y) * (x @ x))
    if scale <= 0:
        return _nothing(len(y), "all annotators have the same value")
    drawn = (_shuffled(y, permutations, seed) @ x) ** 2
    return _result(len(y), float(y @ x) ** 2 / scale, drawn / scale, exact=False)


def flip_signs(values: ArrayLike, *, permutations: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Is the mean of one value per annotator 0? Under the null each sign could be the other.

    Returns
    -------
    DataFrame with one row: n, estimate (the mean), p, permutations, exact, note
    """
    y = np.asarray(values, np.float64)
    y = y[~np.isnan(y)]
    if len(y) < 2 or not np.any(y):
        return _nothing(len(y), "fewer than two annotators, or no annotator differs from 0")
    exact = 2 ** len(y) <= MOST_EXACT
    if exact:
        bits = np.arange(2 ** len(y))[:, None] >> np.arange(len(y)) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (permutations, len(y)))
    drawn = np.abs((1.0 - 2.0 * bits) @ y)
    result = _result(len(y), float(abs(y.sum())), drawn, exact)
    return result.assign(estimate=y.mean())


def _between(rows: Matrix, codes: NDArray[np.intp], sizes: Vector) -> Vector:
    """Between-group sum of squares of each row of centred values."""
    sums = rows @ np.eye(len(sizes))[codes]
    squares: Vector = (sums**2 / sizes).sum(axis=1)
    return squares


def _shuffled(values: Vector, permutations: int, seed: int) -> Matrix:
    rows = np.tile(values, (permutations, 1))
    return np.random.default_rng(seed).permuted(rows, axis=1)


def _result(n: int, observed: float, drawn: Vector, exact: bool) -> pd.DataFrame:
    as_extreme = int((drawn >= observed * (1 - TOLERANCE)).sum())
    p = as_extreme / len(drawn) if exact else (as_extreme + 1) / (len(drawn) + 1)
    return _frame(n, float(observed), p, len(drawn), exact, "")


def _nothing(n: int, note: str) -> pd.DataFrame:
    return _frame(n, np.nan, np.nan, 0, False, note)


def _frame(
    n: int, estimate: float, p: float, permutations: int, exact: bool, note: str
) -> pd.DataFrame:
    row = {"n": n, "estimate": estimate, "p": p, "permutations": permutations}
    return pd.DataFrame([{**row, "exact": exact, "note": note}])
