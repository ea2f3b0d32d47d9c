"""Many kappas over many resamples as matrix products.

A resample of clusters reaches kappa only through a few sums. For quadratic weights they are
``n``, ``sum (a - b)^2``, ``sum a^2 + b^2``, ``sum a`` and ``sum b``, because the disagreement
expected by chance is ``sum a^2 + b^2 - 2 (sum a)(sum b) / n``. For other weights the two margins
take the place of the last three. With these sums for each cluster in the columns of a matrix, all
resamples of all pairs of raters are one product with the matrix of draws.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from analysis.resampling import Codes, Matrix, cluster_counts, cluster_sums

_EXACT_IN_FLOAT32 = 2**24
_COLUMNS_AT_ONCE = 2048
_KEPT_BYTES = 64 * 2**20


def disagreement(weights: str | None, k: int) -> Matrix:
    """The matrix of disagreement weights of ``k`` ordered categories."""
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    match weights:
        case None:
            return (apart > 0).astype(np.float64)
        case "linear":
            return apart
        case "quadratic":
            return apart**2
    raise ValueError(f"weights must be None, 'linear' or 'quadratic', not {weights!r}")


def kappa_features(a: Codes, b: Codes, k: int, weights: str | None) -> Matrix:
    """What each pair of ratings adds to the sums; zeros where a rating is missing (-1).

    The result has one more axis than ``a``, of length 5 for quadratic weights, else ``2 + 2 k``.
    """
    both = (a >= 0) & (b >= 0)
    if weights == "quadratic":
        first, second = np.where(both, a, 0), np.where(both, b, 0)
        parts = np.empty((*a.shape, 5))
        parts[..., 0] = both
        parts[..., 1] = (first - second) ** 2
        parts[..., 2] = first**2 + second**2
        parts[..., 3] = first
        parts[..., 4] = second
        return parts
    # A missing code of -1 reads a cell that is zeroed below.
    unit, apart = np.eye(k), disagreement(weights, k)[a, b]
    counts = np.stack([np.ones(a.shape), apart], axis=-1)
    parts = np.concatenate([counts, unit[a], unit[b]], axis=-1)
    parts[~both] = 0
    return np.asarray(parts, np.float64)


def kappa_of_sums(sums: NDArray[np.floating], k: int, weights: str | None) -> Matrix:
    """Kappa from summed features (last axis); NaN where it is not defined."""
    sums = np.asarray(sums, np.float64)
    n, observed = sums[..., 0], sums[..., 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        if weights == "quadratic":
            expected = sums[..., 2] - 2 * sums[..., 3] * sums[..., 4] / n
        else:
            margins = sums[..., 2 : 2 + k] @ disagreement(weights, k)
            expected = (margins * sums[..., 2 + k :]).sum(-1) / n
        # The sums are whole numbers: what is not zero is at least 1 / n, far above rounding.
        kappa = 1 - observed / np.where(expected * n > 0.5, expected, np.nan)
    return np.asarray(kappa, np.float64)


def kappa_sums(a: Codes, b: Codes, clusters: Codes, k: int, weights: str | None) -> Matrix:
    """The features' sums of each cluster (clusters x columns x features).

    ``a`` and ``b`` are columns x rows. For quadratic weights nothing is summed but whole numbers
    that single precision holds exactly, one feature after the other and along the rows.
    """
    largest = len(clusters) * 2 * k**2
    if weights != "quadratic" or largest >= _EXACT_IN_FLOAT32 or not a.size:
        return cluster_sums(kappa_features(a.T, b.T, k, weights), clusters)
    if (np.diff(clusters) < 0).any():
        order = np.argsort(clusters, kind="stable")
        clusters, a, b = clusters[order], a[:, order], b[:, order]
    starts = np.flatnonzero(np.diff(clusters, prepend=-1))
    both = (a >= 0) & (b >= 0)
    first, second = (np.where(both, codes, 0).astype(np.float32) for codes in (a, b))
    features = (both.astype(np.float32), (first - second) ** 2, first**2 + second**2, first, second)
    sums = np.empty((len(starts), len(a), len(features)))
    for number, feature in enumerate(features):
        sums[..., number] = np.add.reduceat(feature, starts, axis=1).T
    return sums


def kept_draws(clusters: int, resamples: int, seed: int) -> list[NDArray[np.floating]] | None:
    """The draws of :func:`bootstrap_sums` for many calls; None if they would fill the memory."""
    if 4 * clusters * resamples > _KEPT_BYTES:
        return None
    return list(cluster_counts(clusters, resamples, seed, dtype=np.float32))


def bootstrap_sums(
    sums: Matrix,
    k: int,
    weights: str | None,
    resamples: int,
    seed: int,
    draws: Iterable[NDArray[np.floating]] | None = None,
) -> Matrix:
    """Kappa of every resample (rows) and column from ``sums`` (clusters x columns x features).

    ``draws`` are those of :func:`kept_draws` with the same numbers.
    """
    clusters, columns, width = sums.shape
    # Sums of whole numbers are exact in single precision as long as they stay below 2**24; a
    # resample can draw the largest cluster again and again, hence the bound.
    largest = clusters * np.abs(sums).max(initial=0)
    dtype = np.float32 if largest < _EXACT_IN_FLOAT32 else np.float64
    step = max(1, _COLUMNS_AT_ONCE // width)
    kappas = np.empty((resamples, columns))
    blocks = [
        (slice(start, start + step), sums[:, start : start + step].reshape(clusters, -1))
        for start in range(0, columns, step)
    ]
    flat = [(where, block.astype(dtype)) for where, block in blocks]
    done = 0
    if draws is None:
        draws = cluster_counts(clusters, resamples, seed, dtype=dtype)
    for drawn_clusters in draws:
        counts = drawn_clusters.astype(dtype, copy=False)
        rows = slice(done, done + len(counts))
        for where, block in flat:
            drawn = np.matmul(counts, block).reshape(len(counts), -1, width)
            kappas[rows, where] = kappa_of_sums(drawn, k, weights)
        done += len(counts)
    return kappas


def bootstrap_kappa(
    a: Codes, b: Codes, clusters: Codes, k: int, weights: str | None, *, resamples: int, seed: int
) -> Matrix:
    """Kappa of each resample of clusters (rows) for each column of two matrices of codes.

    All columns see the same resamples, so that differences between columns have intervals too.
    """
    sums = cluster_sums(kappa_features(a, b, k, weights), clusters)
    return bootstrap_sums(sums, k, weights, resamples, seed)
