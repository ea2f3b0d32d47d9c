"""Ranks over blocks that miss some of the items: a test and mean ranks.

scikit-posthocs has Durbin's test, for designs in which every block has the same number of items and
every two items meet equally often; these functions need neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc
from scipy.stats import rankdata

from analysis.resampling import Matrix


class MeanRanks(NamedTuple):
    """What :func:`incomplete_mean_ranks` returns.

    Attributes
    ----------
    mean
        Of each item, 1 is best.
    covariance
        Of these, if in every block all orders of its items are equally likely.

    Examples
    --------
    >>> found = incomplete_mean_ranks(pd.DataFrame({"x": [3.0, 2], "y": [1.0, 1]}))
    >>> found.mean
    array([1., 2.])
    """

    mean: Matrix
    covariance: Matrix


def skillings_mack(scores: pd.DataFrame) -> pd.DataFrame:
    r"""Test whether items differ over blocks of which some miss items.

    .. math:: T = A^\top \Sigma^- A, \qquad
        A_j = \sum_i \sqrt{\tfrac{12}{k_i + 1}} \left(r_{ij} - \tfrac{k_i + 1}{2}\right)

    with the ranks :math:`r_{ij}` among the :math:`k_i` items of block :math:`i`; :math:`\Sigma` is
    the covariance of :math:`A` if all orders are equally likely, with the ties that occur. Without
    missing items it is Friedman's test.

    Parameters
    ----------
    scores
        A row for each block, a column for each item, NaN where a block misses it.

    Returns
    -------
    DataFrame
        n (blocks with at least two items), df, estimate (:math:`T`), p (chi square), note.

    References
    ----------
    Skillings & Mack 1981, doi:10.1080/00401706.1981.10486261

    Examples
    --------
    >>> scores = pd.DataFrame({"x": [3.0, 2, 9, 4], "y": [2.0, 1, np.nan, 2], "z": [1.0, 0, 1, 1]})
    >>> skillings_mack(scores)[["n", "df", "estimate", "p"]].round(2)
       n  df  estimate     p
    0  4   2      6.98  0.03
    """
    k = scores.shape[1]
    sums, spread, n = np.zeros(k), np.zeros((k, k)), 0
    for there, centred in _centred_ranks(scores):
        size, weight = len(there), 12 / (len(there) + 1)
        sums[there] += np.sqrt(weight) * centred
        spread[np.ix_(there, there)] += weight * _spread(centred, size)
        n += 1
    row: dict[str, object] = {"n": n, "df": k - 1, "estimate": np.nan, "p": np.nan, "note": ""}
    if np.linalg.matrix_rank(spread, hermitian=True) < max(k - 1, 1):
        why = "some items never meet, or are tied wherever they do: there is no test"
        return pd.DataFrame([row | {"note": why}])
    statistic = float(sums @ np.linalg.pinv(spread, hermitian=True) @ sums)
    found = {"estimate": statistic, "p": float(chdtrc(k - 1, statistic))}
    return pd.DataFrame([row | found])


def incomplete_mean_ranks(scores: pd.DataFrame) -> MeanRanks | None:
    r"""Mean ranks of items over blocks of which some miss items.

    A rank :math:`r` among :math:`k_i` of :math:`k` items counts as :math:`r (k + 1) / (k_i + 1)`,
    its expectation among all. From these scores :math:`s_{ij}` item effects are estimated beside
    effects of the blocks, by least squares; without missing items they are the mean ranks.

    Parameters
    ----------
    scores
        A row for each block, a column for each item, NaN where a block misses it; higher is better.

    Returns
    -------
    MeanRanks or None
        None if some items never meet, not even through others.

    Examples
    --------
    ``x`` beats ``y`` and ``y`` beats ``z``; ``x`` and ``z`` never meet:

    >>> scores = pd.DataFrame({"x": [2.0, np.nan], "y": [1.0, 2], "z": [np.nan, 1]})
    >>> incomplete_mean_ranks(scores).mean.round(2)
    array([0.67, 2.  , 3.33])
    """
    k = scores.shape[1]
    met, sums, spread = np.zeros((k, k)), np.zeros(k), np.zeros((k, k))
    for there, centred in _centred_ranks(scores):
        size = len(there)
        scale, block = (k + 1) / (size + 1), np.ix_(there, there)
        met[block] += np.eye(size) - 1 / size
        sums[there] += scale * centred
        spread[block] += scale**2 * _spread(centred, size)
    if k < 2 or np.linalg.matrix_rank(met, hermitian=True) < k - 1:
        return None
    inverse = np.linalg.pinv(met, hermitian=True)
    return MeanRanks((k + 1) / 2 + inverse @ sums, inverse @ spread @ inverse)


def _centred_ranks(scores: pd.DataFrame) -> Iterator[tuple[NDArray[np.intp], Matrix]]:
    """For each block with two items or more: which they are, and their ranks from the middle."""
    for row in scores.to_numpy(np.float64):
        there = np.flatnonzero(~np.isnan(row))
        if len(there) > 1:
            yield there, rankdata(-row[there]) - (len(there) + 1) / 2


def _spread(centred: Matrix, size: int) -> Matrix:
    """Covariance of a block's ranks over all orders, with its ties."""
    shared = float(centred @ centred) / (size - 1)
    return np.asarray(shared * (np.eye(size) - 1 / size), np.float64)
