"""Bootstrap draws over clusters, percentile intervals and Holm's adjustment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

LEVEL = 0.95  # of every interval
ENOUGH_RESAMPLES = 0.9  # an interval from fewer defined resamples would describe a selection
_CHUNK_BYTES = 32 * 2**20


def cluster_codes(clusters: ArrayLike | None, size: int) -> Codes:
    """Number the clusters from 0 in order of appearance.

    Parameters
    ----------
    clusters
        A name for each row, none missing; None: every row is its own cluster.
    size
        The number of rows.

    Returns
    -------
    ndarray
        The number of each row's cluster.

    Examples
    --------
    >>> cluster_codes(["b", "a", "b"], 3)
    array([0, 1, 0])
    """
    if clusters is None:
        return np.arange(size)
    found = np.asarray(clusters)
    if found.shape != (size,):
        raise ValueError(f"clusters must have one entry for each of the {size} rows")
    if pd.isna(found).any():
        raise ValueError("clusters must not be missing")
    return np.asarray(pd.factorize(found)[0], np.intp)


def cluster_counts(
    n_clusters: int, resamples: int, seed: int, *, dtype: type[np.floating] = np.float64
) -> Iterator[NDArray[np.floating]]:
    """Yield, in chunks of resamples, how often each cluster is drawn (resamples x clusters).

    A resample of clusters matters only through these counts, so that a statistic of sums is one
    matrix product for all resamples of a chunk. The chunks bound the memory; their size does not
    change the draws.

    Parameters
    ----------
    n_clusters, resamples
        How many clusters there are, and how often to draw that many of them.
    seed
        Of the random numbers.
    dtype
        Of the counts.

    Returns
    -------
    iterator of ndarray

    Examples
    --------
    >>> next(cluster_counts(3, resamples=2, seed=0))
    array([[0., 2., 1.],
           [3., 0., 0.]])
    """
    rng = np.random.default_rng(seed)
    step = max(1, _CHUNK_BYTES // (8 * max(n_clusters, 1)))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        picks = rng.integers(0, n_clusters, (size, n_clusters))
        picks += np.arange(size)[:, None] * n_clusters
        counts = np.bincount(picks.ravel(), minlength=size * n_clusters)
        yield counts.reshape(size, n_clusters).astype(dtype)


def cluster_sums(features: Matrix, clusters: Codes) -> Matrix:
    """Sum the rows of each cluster.

    Parameters
    ----------
    features
        Rows x columns.
    clusters
        The cluster of each row, numbered from 0 without a gap.

    Returns
    -------
    ndarray
        Clusters x columns.

    Examples
    --------
    >>> cluster_sums(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0]))
    array([[4.],
           [2.]])
    """
    if not len(clusters) or np.array_equal(clusters, np.arange(len(clusters))):
        return features
    if (np.diff(clusters) < 0).any():
        order = np.argsort(clusters, kind="stable")
        clusters, features = clusters[order], features[order]
    starts = np.flatnonzero(np.diff(clusters, prepend=-1))
    return np.asarray(np.add.reduceat(features, starts, axis=0))


def percentile_interval(values: NDArray[np.floating]) -> tuple[Matrix, Matrix]:
    """95 % percentile interval of each column.

    A resample may have no value (all its ratings equal, say). Such resamples are left out, and a
    column with fewer than 90 % defined resamples has no interval.

    Parameters
    ----------
    values
        Resamples x columns, NaN where a resample has no value.

    Returns
    -------
    low, high : ndarray
        The 2.5 % and the 97.5 % quantile of each column; NaN without an interval.

    References
    ----------
    Efron & Tibshirani 1993, doi:10.1007/978-1-4899-4541-9

    Examples
    --------
    >>> percentile_interval(np.arange(101.0)[:, None])
    (array([2.5]), array([97.5]))
    """
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    defined = np.isfinite(values).mean(axis=0) if len(values) else np.zeros(values.shape[1:])
    low, high = np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    whole, part = defined == 1, (defined < 1) & (defined >= ENOUGH_RESAMPLES)
    if whole.any():
        low[whole], high[whole] = np.quantile(values[:, whole], tails, axis=0)
    if part.any():
        low[part], high[part] = np.nanquantile(values[:, part], tails, axis=0)
    return low, high


def holm(p: ArrayLike) -> Matrix:
    r"""Adjust p-values by Holm's method.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}

    The same numbers as statsmodels' ``multipletests``, whose Holm collects garbage in each call: a
    quarter of a second each time in a large program.

    Parameters
    ----------
    p
        p-values of one family of tests; missing ones do not count.

    Returns
    -------
    ndarray
        Adjusted p-values in the same order, missing where p is.

    References
    ----------
    Holm 1979, Scandinavian Journal of Statistics 6, 65-70, https://www.jstor.org/stable/4615733

    Examples
    --------
    >>> holm([0.01, float("nan"), 0.04])
    array([0.02,  nan, 0.04])
    """
    values = np.asarray(p, np.float64)
    adjusted = np.full(values.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * values[order]))
    return adjusted


def notes(parts: Sequence[str]) -> str:
    """Join the notes on a row.

    Parameters
    ----------
    parts
        The notes; empty ones are left out.

    Returns
    -------
    str

    Examples
    --------
    >>> notes(["one rater", "", "no interval"])
    'one rater; no interval'
    """
    return "; ".join(part for part in parts if part)
