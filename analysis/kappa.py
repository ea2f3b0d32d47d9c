"""Cohen's quadratic kappa of many pairs of raters over many resamples, as matrix products.

A resample of clusters reaches kappa only through five sums: ``n``, ``sum (a - b)^2``,
``sum a^2 + b^2``, ``sum a`` and ``sum b``, because the disagreement expected by chance is
``sum a^2 + b^2 - 2 (sum a)(sum b) / n``. With these sums for each cluster in the columns of a
matrix, all resamples of all pairs of raters are one product with the matrix of draws.

Ratings are positions on a fixed scale, not ranks among the categories in use: leaving out one that
nobody used moves the others closer together and changes a weighted kappa. That, and the speed (a
loop over a library's kappa takes hours for what takes seconds here), is why this is not a call of
statsmodels or scikit-learn; the tests compare with both.

References
----------
Cohen 1968, doi:10.1037/h0026256
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from analysis.resampling import Codes, Matrix, cluster_counts

_EXACT_IN_FLOAT32 = 2**24
_COLUMNS_AT_ONCE = 400
_KEPT_BYTES = 64 * 2**20


def sum_by_cluster(a: Codes, b: Codes, clusters: Codes) -> Matrix:
    """Sum what kappa needs over the rows of each cluster.

    Parameters
    ----------
    a, b
        Positions on the scale, pairs of raters x rows; -1 for a missing rating.
    clusters
        The cluster of each row, numbered from 0 without a gap.

    Returns
    -------
    ndarray
        Clusters x pairs x 5 sums; a row counts where both ratings are there.

    Examples
    --------
    The second rating of the last row is missing: its cluster has no sums.

    >>> first, second = np.array([[0, 1, 2]]), np.array([[0, 2, -1]])
    >>> sum_by_cluster(first, second, np.array([0, 0, 1]))[:, 0]
    array([[2., 1., 5., 1., 2.],
           [0., 0., 0., 0., 0.]])
    """
    if not a.size:
        return np.zeros((int(clusters.max(initial=-1)) + 1, len(a), 5))
    if (np.diff(clusters) < 0).any():
        order = np.argsort(clusters, kind="stable")
        clusters, a, b = clusters[order], a[:, order], b[:, order]
    starts = np.flatnonzero(np.diff(clusters, prepend=-1))
    # Whole numbers below 2**24 are exact in single precision, which takes half the time.
    largest = len(clusters) * 2 * (int(max(a.max(), b.max())) + 1) ** 2
    dtype: type[np.floating] = np.float32 if largest < _EXACT_IN_FLOAT32 else np.float64
    both = (a >= 0) & (b >= 0)
    first, second = (np.where(both, codes, 0).astype(dtype) for codes in (a, b))
    features = (both.astype(dtype), (first - second) ** 2, first**2 + second**2, first, second)
    sums = np.empty((len(starts), len(a), len(features)))
    for number, feature in enumerate(features):
        sums[..., number] = np.add.reduceat(feature, starts, axis=1).T
    return sums


def kappa_from_sums(sums: NDArray[np.floating]) -> Matrix:
    r"""Cohen's kappa with quadratic weights, from the sums of :func:`sum_by_cluster`.

    .. math:: \kappa = 1 - \frac{\sum (a - b)^2}{\sum (a^2 + b^2) - 2 \sum a \sum b / n}

    Parameters
    ----------
    sums
        The five sums in the last axis.

    Returns
    -------
    ndarray
        One kappa for each five sums; NaN where it is not defined, as for a single row.

    References
    ----------
    Cohen 1968, doi:10.1037/h0026256

    Examples
    --------
    Two raters who always choose opposite ends of the scale:

    >>> up = np.array([[0, 0, 4, 4]])
    >>> float(kappa_from_sums(sum_by_cluster(up, 4 - up, np.arange(4)).sum(0))[0])
    -1.0
    """
    sums = np.asarray(sums, np.float64)
    n, observed = sums[..., 0], sums[..., 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = sums[..., 2] - 2 * sums[..., 3] * sums[..., 4] / n
        # The sums are whole numbers: what is not zero is at least 1 / n, far above rounding.
        kappa = 1 - observed / np.where((n > 1) & (expected * n > 0.5), expected, np.nan)
    return np.asarray(kappa, np.float64)


def draw_once(clusters: int, resamples: int, seed: int) -> list[NDArray[np.floating]] | None:
    """Draw the resamples for many calls of :func:`bootstrap_kappa`.

    Parameters
    ----------
    clusters, resamples
        How many there are, and how often to draw that many of them.
    seed
        Of the random numbers.

    Returns
    -------
    list of ndarray or None
        How often each cluster is drawn, in chunks of resamples x clusters; None if the draws would
        fill the memory.

    Examples
    --------
    Each resample draws five clusters out of five:

    >>> (draws,) = draw_once(clusters=5, resamples=3, seed=0)
    >>> draws.sum(axis=1)
    array([5., 5., 5.], dtype=float32)
    """
    if 4 * clusters * resamples > _KEPT_BYTES:
        return None
    return list(cluster_counts(clusters, resamples, seed, dtype=np.float32))


def bootstrap_kappa(
    sums: Matrix,
    resamples: int,
    seed: int,
    draws: Iterable[NDArray[np.floating]] | None = None,
) -> Matrix:
    """Kappa of each resample of clusters (rows) for each pair of raters.

    All pairs see the same resamples, so that differences between them have intervals too.

    Parameters
    ----------
    sums
        What :func:`sum_by_cluster` returns.
    resamples, seed
        How many resamples, and the seed of their random numbers.
    draws
        Those of :func:`draw_once` with the same numbers, if they are there.

    Returns
    -------
    ndarray
        Kappas, resamples x pairs; NaN where a resample has none.

    Examples
    --------
    >>> first = np.tile([0, 1, 2, 3, 4], (1, 20))
    >>> second = np.tile([0, 1, 2, 4, 3], (1, 20))
    >>> sums = sum_by_cluster(first, second, np.arange(100))
    >>> kappa_from_sums(sums.sum(axis=0))
    array([0.9])
    >>> np.quantile(bootstrap_kappa(sums, resamples=1_000, seed=0), [0.025, 0.975]).round(2)
    array([0.87, 0.92])
    """
    clusters, columns, width = sums.shape
    # A resample can draw the largest cluster again and again, hence the bound.
    largest = clusters * np.abs(sums).max(initial=0)
    dtype = np.float32 if largest < _EXACT_IN_FLOAT32 else np.float64
    blocks = [
        (slice(start, start + _COLUMNS_AT_ONCE),
         sums[:, start : start + _COLUMNS_AT_ONCE].reshape(clusters, -1).astype(dtype))
        for start in range(0, columns, _COLUMNS_AT_ONCE)
    ]  # fmt: skip
    kappas = np.empty((resamples, columns))
    done = 0
    for drawn in draws or cluster_counts(clusters, resamples, seed, dtype=dtype):
        counts = drawn.astype(dtype, copy=False)
        rows = slice(done, done + len(counts))
        for where, block in blocks:
            found = np.matmul(counts, block).reshape(len(counts), -1, width)
            kappas[rows, where] = kappa_from_sums(found)
        done += len(counts)
    return kappas
