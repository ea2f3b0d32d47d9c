"""Two ways to explain the same images: differences, who wins how often, and how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.resampling import cluster_counts, percentile_interval
from pasta.seeds import entropy

COLUMNS = ("n", "first", "second", "estimate", "low", "high", "better", "equal", "worse", "note")
FEW = 5  # images, with fewer there is no interval


def paired_difference(
    first: ArrayLike, second: ArrayLike, resamples: int, seed: int, tolerance: float = 0.0
) -> dict[str, Any]:
    """The mean difference of paired values with a bootstrap interval over images.

    Images are drawn with replacement, both values of an image together; the interval is that of
    the percentiles, 95 %.

    Parameters
    ----------
    first, second
        One value for each image; pairs in which one is missing are left out and counted.
    tolerance
        Differences that are no larger count as equal.

    Returns
    -------
    The COLUMNS: number of pairs, both means, their difference with its interval, on how many
    images the first is better, equal or worse, and a note on what is missing.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    known = np.isfinite(one) & np.isfinite(other)
    difference = one[known] - other[known]
    low, high = mean_interval(difference, resamples, seed)
    notes = [f"{int((~known).sum())} images without a value"] if not known.all() else []
    if len(difference) < FEW:
        notes.append(f"fewer than {FEW} images: no interval")
    return {
        "n": len(difference),
        "first": _mean(one[known]),
        "second": _mean(other[known]),
        "estimate": _mean(difference),
        "low": low,
        "high": high,
        "better": int((difference > tolerance).sum()),
        "equal": int((np.abs(difference) <= tolerance).sum()),
        "worse": int((difference < -tolerance).sum()),
        "note": "; ".join(notes),
    }


def mean_interval(values: NDArray[Any], resamples: int, seed: int) -> tuple[float, float]:
    """The 95 % percentile interval of a mean; NaN for fewer than FEW values."""
    if len(values) < FEW:
        return float("nan"), float("nan")
    plain = np.asarray(values, np.float64)
    chance = entropy(seed, "applications", "images", len(plain)) % 2**63
    means = [
        counts @ plain / len(plain) for counts in cluster_counts(len(plain), resamples, chance)
    ]
    low, high = percentile_interval(np.concatenate(means)[:, None])
    return float(low[0]), float(high[0])


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
