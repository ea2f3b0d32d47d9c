"""Cohen's kappa of two raters on a fixed scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from analysis.kappa_bootstrap import bootstrap_kappa, disagreement
from analysis.resampling import Codes, Matrix, cluster_codes, notes, percentile_interval

LIKERT = (1, 2, 3, 4, 5)

Weights = Literal["linear", "quadratic"] | None
Interval = Literal["asymptotic", "bootstrap"]


def category_codes(values: ArrayLike, categories: Sequence[int]) -> Codes:
    """Positions of ratings in the categories, -1 for a missing rating."""
    found = np.asarray(values)
    missing = pd.isna(found)
    codes = pd.Index(categories).get_indexer(pd.Index(found.ravel())).reshape(found.shape)
    strange = (codes < 0) & ~missing
    if strange.any():
        example = found[strange].flat[0]
        raise ValueError(f"the rating {example!r} is none of {tuple(categories)}")
    codes[missing] = -1
    return np.asarray(codes, np.intp)


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    weights: Weights = None,
    categories: Sequence[int] = LIKERT,
    *,
    interval: Interval | None = None,
    clusters: ArrayLike | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Cohen's kappa with its interval and the test of no agreement beyond chance.

    .. math::

        \kappa = 1 - \frac{\sum_{ij} w_{ij} p_{ij}}{\sum_{ij} w_{ij} p_{i\cdot} p_{\cdot j}},
        \quad w_{ij} = [i \neq j],\ |i - j| \text{ or } (i - j)^2

    The categories are given, not observed: leaving out a star that nobody used moves the others
    closer together and changes a weighted kappa.

    Parameters
    ----------
    a, b
        Ratings of the same things by two raters; pairs with a missing rating are left out.
    weights
        None, "linear" or "quadratic".
    categories
        The whole scale in its order.
    interval
        "asymptotic" (large samples, independent pairs) or "bootstrap" (percentiles). With
        ``clusters`` only the bootstrap is right, and it is the default there.
    clusters
        What is resampled as a whole, for example the image of each pair.
    resamples, level, seed
        Of the interval.

    Returns
    -------
    DataFrame
        One row: weights, n, estimate, standard_error, low, high, p, interval, note. The standard
        error and p are the asymptotic ones. Kappa has no value when both raters always used the
        same one category.

    References
    ----------
    Cohen 1968, doi:10.1037/h0026256; standard errors: Fleiss, Cohen & Everitt 1969,
    doi:10.1037/h0028106
    """
    first, second = category_codes(a, categories), category_codes(b, categories)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError("a and b must be two columns of the same length")
    groups = cluster_codes(clusters, len(first))
    chosen = interval or ("asymptotic" if clusters is None else "bootstrap")
    if chosen not in get_args(Interval):
        raise ValueError(f"interval must be 'asymptotic' or 'bootstrap', not {chosen!r}")
    if chosen == "asymptotic" and clusters is not None:
        raise ValueError("the asymptotic interval knows no clusters: use the bootstrap")
    both = (first >= 0) & (second >= 0)
    table = contingency(first[both], second[both], len(categories))
    estimate, error, null_error = kappa_errors(table, disagreement(weights, len(categories)))
    remarks = [_why_undefined(table)] if np.isnan(estimate) else []
    if not both.all():
        remarks.append(f"{(~both).sum()} pairs with a missing rating left out")
    if chosen == "asymptotic":
        reach = ndtri((1 + level) / 2) * error
        low, high = np.clip([estimate - reach, estimate + reach], -1, 1)
    else:
        pairs = (first[both], second[both], groups[both])
        low, high, why = _resampled(pairs, len(categories), weights, resamples, level, seed)
        remarks += [] if np.isnan(estimate) or not why else [why]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * ndtr(-abs(estimate / null_error)) if null_error > 0 else np.nan
    row = {
        "weights": weights or "none",
        "n": int(both.sum()),
        "estimate": estimate,
        "standard_error": error,
        "low": low,
        "high": high,
        "p": p,
        "interval": chosen,
        "note": notes(remarks),
    }
    return pd.DataFrame([row])


def _resampled(
    pairs: tuple[Codes, Codes, Codes],
    categories: int,
    weights: Weights,
    resamples: int,
    level: float,
    seed: int,
) -> tuple[float, float, str]:
    """The bootstrap's interval, or why there is none; pairs are two ratings and their cluster."""
    first, second, groups = pairs
    clusters = np.unique(groups, return_inverse=True)[1]
    if clusters.max(initial=0) < 1:
        return np.nan, np.nan, "no interval from fewer than two clusters"
    drawn = bootstrap_kappa(
        first[:, None],
        second[:, None],
        clusters,
        categories,
        weights,
        resamples=resamples,
        seed=seed,
    )
    low, high = (float(limit[0]) for limit in percentile_interval(drawn, level))
    return low, high, "kappa is undefined in too many resamples" if np.isnan(low) else ""


def contingency(first: Codes, second: Codes, k: int) -> Matrix:
    """Counts of (first, second)."""
    counts: NDArray[np.int64] = np.bincount(first * k + second, minlength=k * k)
    return counts.reshape(k, k).astype(np.float64)


def kappa_errors(table: Matrix, weights: Matrix) -> tuple[float, float, float]:
    """Kappa of a table, its standard error, and its standard error if there is no agreement."""
    n = table.sum()
    if n == 0:
        return np.nan, np.nan, np.nan
    share = table / n
    rows, columns = share.sum(1), share.sum(0)
    agreement = 1 - weights / weights.max()
    observed, chance = (agreement * share).sum(), rows @ agreement @ columns
    if np.isclose(chance, 1, rtol=0, atol=1e-12):
        return np.nan, np.nan, np.nan
    kappa = (observed - chance) / (1 - chance)
    expected = (agreement @ columns)[:, None] + (rows @ agreement)[None, :]
    spread = (share * (agreement - expected * (1 - kappa)) ** 2).sum()
    spread -= (kappa - chance * (1 - kappa)) ** 2
    null = (np.outer(rows, columns) * (agreement - expected) ** 2).sum() - chance**2
    scale = np.sqrt(n) * (1 - chance)
    return (
        float(kappa),
        float(np.sqrt(max(spread, 0.0)) / scale),
        float(np.sqrt(max(null, 0.0)) / scale),
    )


def _why_undefined(table: Matrix) -> str:
    if table.sum() == 0:
        return "no pair of ratings"
    return "both raters used one and the same category only"
