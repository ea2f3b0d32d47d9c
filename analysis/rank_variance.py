"""Do metrics agree on the rank of a method more than random ranks would?

The variance of the ranks that k metrics give to one method is compared with that of k independent
random ranks. The law of the latter is known exactly, so that no approximate test is needed for as
few as three metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from analysis.contrasts import wilson_interval
from analysis.metric_ranks import cell_columns, weighted_over_criteria
from analysis.resampling import Matrix

Reference = Literal["exact", "released"]

ALPHA = 0.1
_STEPS = 1_500_000_000  # additions that the exact law may take; beyond that it is drawn
_DRAWS = 200_000
_RELEASED_SIZE = 999_999
_ROUNDING = 1e-9


def rank_variance_law(ranked: Sequence[int]) -> tuple[Matrix, Matrix]:
    r"""The law of the variance of independent random ranks.

    Each rank is uniform on 1 to its own :math:`n_j`. The joint law of the sum and the sum of
    squares grows rank by rank (dynamic programming); the variance is

    .. math:: V = \frac{k \sum r_j^2 - (\sum r_j)^2}{k (k - 1)}

    If this takes more than some 10^9 additions, 200,000 draws with a fixed seed stand for it.

    Parameters
    ----------
    ranked
        How many methods were ranked by each of the metrics.

    Returns
    -------
    values, probabilities : ndarray
        The variances (with k - 1) that occur, from the smallest, and how probable they are.

    Examples
    --------
    Two ranks of two methods are equal or one apart, each in half of all cases:

    >>> rank_variance_law([2, 2])
    (array([0. , 0.5]), array([0.5, 0.5]))
    """
    sizes = tuple(sorted(int(size) for size in ranked))
    if len(sizes) < 2 or sizes[0] < 1:
        raise ValueError("a variance needs at least two ranks, each of at least one method")
    return _law(sizes)


@lru_cache(maxsize=64)
def _law(sizes: tuple[int, ...]) -> tuple[Matrix, Matrix]:
    k = len(sizes)
    centre = (sizes[-1] + 1) // 2  # the variance does not change, and the sums stay small
    faces = [np.arange(1, size + 1) - centre for size in sizes]
    low = sum(int(face[0]) for face in faces)
    high = sum(int(face[-1]) for face in faces)
    squares = sum(int((face**2).max()) for face in faces)
    if (high - low + 1) * (squares + 1) * sum(sizes) > _STEPS:
        return _drawn_law(sizes)
    table = np.zeros((high - low + 1, squares + 1))
    table[-low % len(table), 0] = 1.0  # rows are sums modulo the number of sums that end up there
    for face in faces:
        grown = np.zeros_like(table)
        for step in face.tolist():
            moved = np.roll(table, step, axis=0) if step else table
            grown[:, step**2 :] += moved[:, : squares + 1 - step**2]
        table = grown / len(face)
    total, square = np.nonzero(table)
    spread = k * square - (total + low) ** 2
    values, place = np.unique(spread, return_inverse=True)
    chances = np.bincount(place.ravel(), table[total, square])
    return values / (k * (k - 1)), np.asarray(chances, np.float64)


def _drawn_law(sizes: tuple[int, ...]) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(0)
    drawn = rng.integers(1, np.array(sizes) + 1, (_DRAWS, len(sizes)))
    values, counts = np.unique(drawn.var(axis=1, ddof=1).round(9), return_counts=True)
    return np.asarray(values, np.float64), np.asarray(counts / _DRAWS)


def agreement_tests(
    ranks: pd.DataFrame, *, reference: Reference = "exact", level: float = ALPHA
) -> pd.DataFrame:
    r"""Test for each cell, criterion and method whether its ranks vary less than random ones.

    "exact": the p-value is the probability of a variance as small under :func:`rank_variance_law`;
    it is one-sided and holds for any number of metrics.

    "released": as released benchmark code tests, to show what that does. Brown and Forsythe's test
    (Levene's with medians) against 999,999 random numbers from 0 to n (one value too many for n
    methods); a variance above :math:`(n^2 - 1) / 12` is never significant, else the two-sided p is
    taken as if it were one-sided. The random sample is replaced by its expected frequencies: with
    three metrics a tenth of all random ranks lies so close to the threshold that the sample alone
    decided about them.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    reference
        See above.
    level
        Of the test.

    Returns
    -------
    DataFrame
        The columns of cells, criterion, method, n (metrics), estimate (variance of the ranks, with
        n - 1), random (expected variance of random ranks), p, significant, size (how often random
        ranks are significant; at most the level for the exact reference), note.

    References
    ----------
    Levene 1960, Contributions to Probability and Statistics, 278-292; Brown & Forsythe 1974,
    doi:10.1080/01621459.1974.10482955

    Examples
    --------
    Three metrics give the same rank of four: this happens in 4 of 64 cases.

    >>> ranks = pd.DataFrame({"data": "d", "criterion": "good", "metric": list("mkl")})
    >>> ranks = ranks.assign(method="x", rank=2.0, ranked=4)
    >>> agreement_tests(ranks)[["method", "n", "estimate", "random", "p", "significant"]]
      method  n  estimate  random       p  significant
    0      x  3       0.0    1.25  0.0625         True
    """
    cells = cell_columns(ranks)
    known = ranks[ranks["rank"].notna()]
    lines = []
    keys = [*cells, "criterion", "method"]
    for name, part in known.groupby(keys, sort=True):
        given = part["rank"].to_numpy(np.float64)
        sizes = [int(size) for size in part["ranked"]]
        tested = _tested(given, sizes, reference, level)
        names = name if isinstance(name, tuple) else (name,)
        lines.append(dict(zip(keys, names, strict=True)) | {"n": len(given)} | tested)
    columns = [*keys, "n", "estimate", "random", "p", "significant", "size", "note"]
    return pd.DataFrame(lines, columns=columns).astype({"significant": bool})


def _tested(
    given: Matrix, sizes: list[int], reference: Reference, level: float
) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(("estimate", "random", "p", "size"), np.nan)
    row |= {"significant": False, "note": ""}
    if len(given) < 2:
        return row | {"note": "fewer than two metrics: no variance"}
    variance = float(given.var(ddof=1))
    values, probabilities = rank_variance_law(sizes)
    below = np.cumsum(probabilities)
    row |= {"estimate": variance, "random": float(values @ probabilities)}
    if reference == "released":
        n = max(sizes)
        row["p"] = _released_p(given, n) if given.var() <= (n**2 - 1) / 12 else 1.0
    else:
        row["p"] = float(probabilities[values <= variance + _ROUNDING].sum())
        fits = below[below < level + _ROUNDING]
        row["size"] = float(fits[-1]) if len(fits) else 0.0
    return row | {"significant": bool(float(str(row["p"])) < level)}


def _released_p(given: Matrix, n: int) -> float:
    """Two-sided p of Brown and Forsythe's test against uniform numbers from 0 to n."""
    faces = np.arange(n + 1)
    apart = np.abs(faces - np.median(faces))
    own = np.abs(given - np.median(given))
    sizes = np.array([_RELEASED_SIZE, len(given)], np.float64)
    means = np.array([apart.mean(), own.mean()])
    total = (sizes @ means) / sizes.sum()
    between = sizes @ (means - total) ** 2
    within = sizes[0] * apart.var() + sizes[1] * own.var()
    free = sizes.sum() - 2
    return float(fdtrc(1, free, free * between / within))


def agreement_shares(tests: pd.DataFrame, by: Sequence[str] = ("method",)) -> pd.DataFrame:
    """Share of tests in which metrics agree more than random ranks would.

    Parameters
    ----------
    tests
        From :func:`agreement_tests`.
    by
        Columns for which shares are taken one by one, beside the criterion.

    Returns
    -------
    DataFrame
        by, criterion, metrics, n (tests), count, estimate (share), low, high (Wilson's interval, as
        if tests were independent), random (the share under random ranks), note; and rows with the
        mean over criteria, weighted by their numbers of metrics.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953

    Examples
    --------
    >>> tests = pd.DataFrame({"criterion": "good", "method": "x", "n": 3, "p": [0.01, 0.5]})
    >>> tests = tests.assign(significant=[True, False], size=0.1)
    >>> agreement_shares(tests)[["method", "criterion", "n", "count", "estimate"]]
      method criterion  n  count  estimate
    0      x      good  2    1.0       0.5
    1      x  weighted  2    NaN       0.5
    """
    keys = [*by, "criterion"]
    rows = []
    for name, part in tests.groupby(keys, sort=True):
        names = name if isinstance(name, tuple) else (name,)
        known = part[part["p"].notna()]
        n, count = len(known), int(known["significant"].sum())
        low, high = wilson_interval(count, n) if n else (np.nan, np.nan)
        row: dict[str, object] = dict(zip(keys, names, strict=True))
        row |= {"metrics": int(part["n"].max()), "n": n, "count": float(count)}
        row |= {"estimate": count / n if n else np.nan, "low": low, "high": high}
        row |= {"random": known["size"].mean(), "note": "" if n else "nothing could be tested"}
        rows.append(row)
    columns = [*keys, "metrics", "n", "count", "estimate", "low", "high", "random", "note"]
    return weighted_over_criteria(pd.DataFrame(rows, columns=columns), by)
