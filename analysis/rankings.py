"""Rankings by several people: where items stand, and whether people agree on it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import chdtrc, stdtrit
from scipy.stats import rankdata, wilcoxon

from analysis.contrasts import contrast_row, one_mean, permutation_p
from analysis.resampling import LEVEL, Matrix, holm, notes

_RESULT = ("estimate", "low", "high", "mean_correlation", "friedman", "p", "p_permutation")


def mean_positions(rankings: pd.DataFrame) -> pd.DataFrame:
    r"""Mean position of each item of each question, as in Tables 13 and 14 of the PASTA paper.

    .. math:: \bar x \pm t_{m-1} \, s / \sqrt m

    over :math:`m` annotators, cut at the first and last position.

    Parameters
    ----------
    rankings
        annotator_id, question, item, position (from 1).

    Returns
    -------
    DataFrame
        question, item, n, estimate, sd, low, high, note; sorted by position within a question

    References
    ----------
    doi:10.48550/arXiv.2411.02470
    """
    rows = []
    for question, part in rankings.dropna(subset=["position"]).groupby("question", sort=True):
        last = float(part["position"].max())
        for item, given in part.groupby("item", sort=True)["position"]:
            row = contrast_row(one_mean(given))
            low, high = np.clip([row["low"], row["high"]], 1, last)
            note = "" if len(given) > 1 else "one annotator: no interval"
            if len(given) > 1 and np.ptp(given) == 0:  # everybody agrees
                low = high = float(given.iloc[0])
            sd = float(given.std(ddof=1))
            rows.append((question, item, len(given), row["estimate"], sd, low, high, note))
    head = ["question", "item", "n", "estimate", "sd", "low", "high", "note"]
    frame = pd.DataFrame(rows, columns=head)
    return frame.sort_values(["question", "estimate"], kind="stable", ignore_index=True)


def concordance(rankings: pd.DataFrame, *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """:func:`kendall_w` for each question of a tidy frame (see :func:`mean_positions`).

    Annotators who left out an item of a question are left out there, and the note says so.
    """
    rows = []
    for question, part in rankings.dropna(subset=["position"]).groupby("question", sort=True):
        wide = _wide(part)
        frame = kendall_w(wide.to_numpy(np.float64), resamples=resamples, seed=seed)
        frame.insert(0, "question", question)
        rows.append(frame)
    head = ["question", "n", "items", *_RESULT, "note"]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=head)


def kendall_w(positions: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    r"""Kendall's coefficient of concordance with Friedman's test.

    .. math::

        W = \frac{12 \sum_i R_i^2 - 3 m^2 k (k+1)^2}{m^2 k (k^2 - 1) - m \sum_j T_j}, \quad
        \chi^2_F = m (k - 1) W, \quad \bar r = \frac{m W - 1}{m - 1}

    for :math:`m` people, :math:`k` items with rank sums :math:`R_i`, and :math:`T_j = \sum (t^3-t)`
    over the ties of a person. :math:`\bar r` is the mean of Spearman's correlation over pairs of
    people (without ties exactly). It is a U-statistic, so leaving out one person at a time gives
    the standard error of :math:`\operatorname{artanh} \bar r`, and from it the interval of W. A
    bootstrap would draw a person twice and find perfect agreement there.

    Parameters
    ----------
    positions
        People in rows, items in columns; people with a missing position are left out.
    resamples
        Random permutations of each person's positions for ``p_permutation``; the chi-squared p is
        rough for few people and items. 0: no permutations.

    Returns
    -------
    DataFrame
        One row: n (people), items, estimate (W), low, high, mean_correlation, friedman, p,
        p_permutation, note.

    References
    ----------
    Kendall & Babington Smith 1939, doi:10.1214/aoms/1177732186; Friedman 1937,
    doi:10.1080/01621459.1937.10503522
    """
    matrix = np.atleast_2d(np.asarray(positions, np.float64))
    whole = np.isfinite(matrix).all(1)
    remarks = [f"{(~whole).sum()} incomplete rankings left out"] if not whole.all() else []
    matrix = matrix[whole]
    m, k = matrix.shape
    row: dict[str, float] = dict.fromkeys(_RESULT, np.nan)
    if m < 2 or k < 2:
        remarks.append("fewer than two people" if m < 2 else "fewer than two items")
    else:
        ranks = rankdata(matrix, axis=1)
        w = row["estimate"] = float(_w(ranks))
        if np.isnan(w):
            remarks.append("every person puts all items on the same position")
        else:
            row["mean_correlation"] = (m * w - 1) / (m - 1)
            row["friedman"], row["p"] = friedman(ranks)
            row["low"], row["high"] = _jackknife(ranks, row["mean_correlation"])
            remarks += ["no interval from two people"] if m < 3 else []
            if resamples:
                row["p_permutation"] = permutation_p(
                    list(ranks),
                    lambda *people, axis: _w(np.stack(people, axis=axis - 1)),
                    "pairings",
                    resamples,
                    seed,
                )
    return pd.DataFrame([{"n": m, "items": k, **row, "note": notes(remarks)}])


def position_differences(rankings: pd.DataFrame) -> pd.DataFrame:
    """Compare every two items of a question by Wilcoxon's signed-rank test, adjusted by Holm.

    Returns
    -------
    DataFrame
        question, first, second, n (people who placed both), estimate (mean difference of
        positions; negative: the first stands before the second), p, p_holm, note

    References
    ----------
    Wilcoxon 1945, doi:10.2307/3001968
    """
    frames = []
    for question, part in rankings.dropna(subset=["position"]).groupby("question", sort=True):
        wide = _wide(part)
        rows = []
        for number, first in enumerate(wide.columns):
            for second in wide.columns[number + 1 :]:
                apart = (wide[first] - wide[second]).dropna().to_numpy(np.float64)
                moved = bool((apart != 0).any())
                p = float(wilcoxon(apart).pvalue) if moved else np.nan
                mean = float(apart.mean()) if len(apart) else np.nan
                note = "" if moved else "nobody tells the two apart"
                rows.append((question, first, second, len(apart), mean, p, note))
        frame = pd.DataFrame(
            rows, columns=["question", "first", "second", "n", "estimate", "p", "note"]
        )
        frame.insert(6, "p_holm", holm(frame["p"]))
        frames.append(frame)
    head = ["question", "first", "second", "n", "estimate", "p", "p_holm", "note"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=head)


def _wide(rankings: pd.DataFrame) -> pd.DataFrame:
    """People in rows, items in columns; a person who places an item twice is an error."""
    return rankings.pivot(index="annotator_id", columns="item", values="position")  # noqa: PD010


def friedman(ranks: Matrix) -> tuple[float, float]:
    """Friedman's chi-square, corrected for ties, and p, of people x ranks of items.

    As scipy's, which refuses two items; NaN if all items are tied for everybody.
    """
    m, k = ranks.shape
    value = m * (k - 1) * float(_w(ranks))
    return value, float(chdtrc(k - 1, value))


def _w(ranks: Matrix) -> Matrix:
    """W of rank matrices (... x people x items)."""
    m, k = ranks.shape[-2:]
    spread = ((ranks.sum(-2) - m * (k + 1) / 2) ** 2).sum(-1)
    # The spread of a person's ranks is (k^3 - k - T) / 12: ties are in it already.
    largest = m * ((ranks - (k + 1) / 2) ** 2).sum((-1, -2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(spread / np.where(largest > 0, largest, np.nan))


def _jackknife(ranks: Matrix, mean: float) -> tuple[float, float]:
    m = len(ranks)
    if m < 3:
        return np.nan, np.nan
    centred = ranks - (ranks.shape[1] + 1) / 2
    spread = ((centred.sum(0) - centred) ** 2).sum(1)
    own = (centred**2).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # (m - 1) W of all people but one
        parts = (spread / (own.sum() - own) - 1) / (m - 2)
    if not np.isfinite(parts).all():
        return np.nan, np.nan
    limit = 1 - 1e-15  # people who all agree are infinitely far up Fisher's scale
    scale = np.arctanh(np.clip(parts, -limit, limit))
    error = np.sqrt((m - 1) / m * ((scale - scale.mean()) ** 2).sum())
    reach = stdtrit(m - 1, (1 + LEVEL) / 2) * error
    middle = np.arctanh(np.clip(mean, -limit, limit))
    ends = np.tanh([middle - reach, middle + reach])
    low, high = np.clip((1 + (m - 1) * ends) / m, 0, 1)
    return float(low), float(high)
