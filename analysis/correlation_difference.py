"""Whether one of two values follows a rating more closely: the difference of two correlations."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.resampling import (
    Matrix,
    cluster_codes,
    cluster_counts,
    cluster_sums,
    percentile_interval,
)

_FEW = 4  # clusters, below which nothing is resampled
_CONSTANT = 1e-9  # of its variance over all rows: what varies less in a resample is constant there


def correlation_difference(
    first: ArrayLike,
    second: ArrayLike,
    ratings: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Compare Pearson's correlations of two values with the same rating.

    Both correlations are of the same rows and so depend on each other: that one differs from zero
    and the other does not says nothing about their difference. Whole clusters are resampled, with
    all three variables, and :math:`r_1 - r_2` is taken in each resample.

    Parameters
    ----------
    first, second, ratings
        One number for each row; rows with a missing one are left out.
    clusters
        One entry for each row; None: rows are resampled.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        Rows ``first``, ``second`` and ``difference``: quantity, n, clusters, estimate, low, high,
        p, note. p is twice the smaller share of resamples on one side of zero.

    References
    ----------
    Zou 2007, doi:10.1037/1082-989X.12.4.399, on intervals of differences; Field & Welsh 2007,
    doi:10.1111/j.1467-9868.2007.00593.x, on resampled clusters

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rating = rng.normal(size=200)
    >>> close, far = rating + rng.normal(size=200), rating + 3 * rng.normal(size=200)
    >>> found = correlation_difference(close, far, rating)
    >>> found[["quantity", "n", "estimate"]].round(2)
         quantity    n  estimate
    0       first  200      0.66
    1      second  200      0.36
    2  difference  200      0.30
    """
    columns = np.column_stack([np.asarray(one, np.float64) for one in (first, second, ratings)])
    used = np.isfinite(columns).all(1)
    columns = columns[used]
    named = None if clusters is None else np.asarray(clusters)[used]
    codes = cluster_codes(named, len(columns))
    count = int(codes.max(initial=-1)) + 1
    names = ("first", "second", "difference")
    head = {"n": len(columns), "clusters": count}
    empty = dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    reason = "fewer than four clusters" if count < _FEW else ""
    if not reason and (columns.min(0) == columns.max(0)).any():
        reason = "one of the variables is constant"
    if reason:
        return pd.DataFrame([{"quantity": one, **head, **empty, "note": reason} for one in names])
    standard = (columns - columns.mean(0)) / columns.std(0)
    x, z, y = standard.T
    features = np.column_stack([np.ones(len(x)), x, z, y, x * x, z * z, y * y, x * y, z * y])
    sums = cluster_sums(features, codes)
    found = _correlations(sums.sum(0)[None])[0]
    draws = [_correlations(counts @ sums) for counts in cluster_counts(count, resamples, seed)]
    drawn = np.concatenate(draws)
    low, high = percentile_interval(drawn)
    known = np.isfinite(drawn)
    below, above = ((drawn <= 0) & known).sum(0) + 1, ((drawn >= 0) & known).sum(0) + 1
    p = np.minimum(1.0, 2 * np.minimum(below, above) / (known.sum(0) + 1))
    rows = zip(names, found, low, high, p, strict=True)
    return pd.DataFrame(
        [
            {"quantity": name, **head, "estimate": float(one), "low": a, "high": b, "p": float(c),
             "note": ""}
            for name, one, a, b, c in rows
        ]
    )  # fmt: skip


def _correlations(sums: NDArray[np.floating]) -> Matrix:
    """Both correlations and their difference from weighted sums, one row for each resample.

    Where a variable is constant there is no correlation, but NaN.
    """
    n, x, z, y, xx, zz, yy, xy, zy = sums.T

    def size(squares: NDArray[np.floating], total: NDArray[np.floating]) -> NDArray[np.floating]:
        spread = squares - total * total / n
        return np.sqrt(np.where(spread > _CONSTANT * n, spread, np.nan))

    one = (xy - x * y / n) / (size(xx, x) * size(yy, y))
    other = (zy - z * y / n) / (size(zz, z) * size(yy, y))
    return np.column_stack([one, other, one - other])
