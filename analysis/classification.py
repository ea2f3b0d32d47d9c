"""How well a classifier does, with intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


def confusion(labels: ArrayLike, predicted: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    """Count labels and predictions.

    Parameters
    ----------
    labels, predicted
        The class of each image and the predicted one, numbered from 0.
    n_classes
        How many classes there are.

    Returns
    -------
    ndarray
        Counts, labels in rows, predictions in columns.

    Examples
    --------
    >>> confusion([0, 0, 1, 1], [0, 1, 1, 1], n_classes=2)
    array([[1, 1],
           [0, 2]])
    """
    pairs = np.asarray(labels, np.int64) * n_classes + np.asarray(predicted, np.int64)
    return np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)


def classification_scores(
    labels: ArrayLike,
    predicted: ArrayLike,
    n_classes: int,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Accuracy and macro-averaged F1 with percentile bootstrap intervals.

    .. math:: F_1 = \frac{1}{K} \sum_k \frac{2\,C_{kk}}{\sum_j C_{kj} + \sum_i C_{ik}}

    A class that neither occurs nor is predicted has no F1 and is left out of the mean. Resampling
    images only matters through the confusion matrix, whose cells are then multinomial, so all
    resamples are one draw.

    Parameters
    ----------
    labels, predicted, n_classes
        As for :func:`confusion`.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        The rows accuracy and macro_f1: measure, n, estimate, low, high.

    References
    ----------
    Efron & Tibshirani 1993, doi:10.1007/978-1-4899-4541-9

    Examples
    --------
    F1 is 2 / 3 in the first class and 4 / 5 in the second.

    >>> scores = classification_scores([0, 0, 1, 1], [0, 1, 1, 1], n_classes=2)
    >>> scores[["measure", "n", "estimate"]].round(3)
        measure  n  estimate
    0  accuracy  4     0.750
    1  macro_f1  4     0.733
    """
    counts = confusion(labels, predicted, n_classes)
    n = int(counts.sum())
    if n == 0:
        raise ValueError("there is no image to score")
    cells = counts.ravel() / n
    draws = np.random.default_rng(seed).multinomial(n, cells, resamples)
    resampled = draws.reshape(resamples, n_classes, n_classes).astype(np.float64)
    rows = []
    for name, measure in _MEASURES.items():
        low, high = np.nanquantile(measure(resampled), [0.025, 0.975])
        estimate = float(measure(counts[None].astype(np.float64))[0])
        rows.append({"measure": name, "n": n, "estimate": estimate, "low": low, "high": high})
    return pd.DataFrame(rows)


def _accuracy(tables: Matrix) -> Matrix:
    shares: Matrix = np.einsum("rkk->r", tables) / tables.sum((1, 2))
    return shares


def _macro_f1(tables: Matrix) -> Matrix:
    hits = np.einsum("rkk->rk", tables)
    sizes = tables.sum(2) + tables.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores: Matrix = np.nanmean(2 * hits / sizes, axis=1)
    return scores


_MEASURES: dict[str, Callable[[Matrix], Matrix]] = {"accuracy": _accuracy, "macro_f1": _macro_f1}
