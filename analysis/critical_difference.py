"""Which items can be told apart? Friedman and Nemenyi, and the groups of the usual picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from analysis.resampling import holm

Flags = NDArray[np.bool_]


def homogeneous_groups(different: Flags) -> list[tuple[int, int]]:
    """Longest runs of items, given in order, in which no two are different (first, last).

    These are the bars of a critical-difference picture; an item that differs from both neighbours
    has a run of its own, which is not drawn and not returned.
    """
    runs: list[tuple[int, int]] = []
    size = len(different)
    for first in range(size):
        last = first
        while last + 1 < size and not different[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def group_letters(runs: Sequence[tuple[int, int]], size: int) -> list[str]:
    """For each item the letters of its runs: items that share a letter were not told apart."""
    letters = [""] * size
    for number, (first, last) in enumerate(runs):
        for place in range(first, last + 1):
            letters[place] += _letter(number)
    return letters


def critical_difference(
    scores: pd.DataFrame, *, alpha: float = 0.05, higher_is_better: bool = True
) -> pd.DataFrame:
    r"""Mean ranks of items over blocks, Friedman's test and Nemenyi's critical difference.

    .. math:: CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

    with the studentised range :math:`q_\alpha` (infinite degrees of freedom) over :math:`\sqrt 2`.
    Two items whose mean ranks differ by less cannot be told apart. Blocks that miss an item are
    left out.

    Parameters
    ----------
    scores
        A row for each block (annotator, image, dataset), a column for each item.

    References
    ----------
    Demšar 2006, https://jmlr.org/papers/v7/demsar06a.html; Friedman 1937,
    doi:10.1080/01621459.1937.10503522

    Returns
    -------
    DataFrame with item, n (blocks), estimate (mean rank, 1 is best), low, high (half a critical
    difference to each side: items whose intervals overlap are not told apart),
    critical_difference, chi_square, p (Friedman), groups (letters), note; best first
    """
    whole = scores.dropna()
    n, k = whole.shape
    lost = len(scores) - n
    note = f"{lost} blocks without all items left out" if lost else ""
    columns = ["item", "n", "estimate", "low", "high", "critical_difference"]
    columns += ["chi_square", "p", "groups", "note"]
    if n < 2 or k < 2:
        why = "fewer than two blocks that have all of at least two items"
        rows = [{"item": item, "n": n, "note": why} for item in scores.columns]
        return pd.DataFrame(rows, columns=columns)
    signed = -whole.to_numpy(np.float64) if higher_is_better else whole.to_numpy(np.float64)
    ranked = pd.DataFrame(signed).rank(axis=1).to_numpy()
    mean = ranked.mean(axis=0)
    chi_square, p = _friedman(ranked)
    gap = critical_gap(k, n, alpha)
    order = np.argsort(mean, kind="stable")
    mean = mean[order]
    different = np.abs(np.subtract.outer(mean, mean)) >= gap
    frame = pd.DataFrame(
        {
            "item": whole.columns[order],
            "n": n,
            "estimate": mean,
            "low": mean - gap / 2,
            "high": mean + gap / 2,
            "critical_difference": gap,
            "chi_square": chi_square,
            "p": p,
            "groups": group_letters(homogeneous_groups(different), k),
            "note": note if not np.isnan(p) else "all items are tied in every block",
        }
    )
    return frame[columns]


def critical_gap(items: int, blocks: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks."""
    from scipy import stats  # half a second to load, and nobody else needs it

    quantile = float(stats.studentized_range.ppf(1 - alpha, items, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(items * (items + 1) / (6 * blocks)))


def pairs_by_holm(p: ArrayLike, alpha: float = 0.05) -> Flags:
    """Which pairs differ, from a symmetric matrix of p-values corrected together by Holm."""
    matrix = np.asarray(p, np.float64)
    upper = np.triu_indices(len(matrix), 1)
    adjusted = holm(matrix[upper])
    different = np.zeros(matrix.shape, bool)
    different[upper] = adjusted < alpha  # a missing p is no difference
    return different | different.T


def _friedman(ranked: NDArray[np.float64]) -> tuple[float, float]:
    """Friedman's chi-square of ranks within blocks, corrected for ties."""
    n, k = ranked.shape
    spread = float(((ranked - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if spread == 0:
        return float("nan"), float("nan")
    between = float(((ranked.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    value = n * between / spread
    return value, float(chdtrc(k - 1, value))


def _letter(number: int) -> str:
    """a, b, ..., z, then two letters in brackets, so that they can still be read one by one."""
    name = chr(ord("a") + number % 26)
    return name if number < 26 else f"({name}{number // 26})"
