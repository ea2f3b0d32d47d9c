"""Intervals and tests of correlations on Fisher's scale."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from analysis.correlation_bootstrap import Tensor
from analysis.resampling import ENOUGH_RESAMPLES, Matrix


def p_value(r: Matrix, freedom: int) -> Matrix:
    """Two-sided p of the t-test of no correlation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt(freedom / ((1 - r) * (1 + r)))
        return np.asarray(2 * stdtr(freedom, -t))


def fisher_interval(r: Matrix, freedom: int, ranks: bool, level: float) -> tuple[Matrix, Matrix]:
    """Fisher's interval; ``freedom`` is the inverse of the variance on his scale."""
    if freedom < 1:
        return np.full(r.shape, np.nan), np.full(r.shape, np.nan)
    error = np.sqrt((1 + (r**2 / 2 if ranks else 0)) / freedom)
    reach = ndtri((1 + level) / 2) * error
    with np.errstate(divide="ignore"):
        return np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach)


def clustered_interval(
    r: Matrix, drawn: Tensor, n_clusters: int, level: float
) -> tuple[Matrix, Matrix, Matrix]:
    """Interval and p from the spread of the resamples on Fisher's scale."""
    limit = 1 - 1e-12  # a resample of few distinct rows may correlate perfectly
    defined = np.isfinite(drawn)
    scale = np.arctanh(np.clip(np.where(defined, drawn, 0.0), -limit, limit))
    number = np.where(defined.mean(0) >= ENOUGH_RESAMPLES, defined.sum(0), np.nan)
    mean = np.where(defined, scale, 0).sum(0) / number
    error = np.sqrt((np.where(defined, scale - mean, 0) ** 2).sum(0) / (number - 1))
    middle = np.arctanh(np.clip(r, -limit, limit))
    reach = stdtrit(n_clusters - 1, (1 + level) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(n_clusters - 1, -np.abs(middle / error))
    return np.tanh(middle - reach), np.tanh(middle + reach), np.asarray(p)
