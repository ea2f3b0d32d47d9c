"""Techniques in order of preference, by three models, and which of them can be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from choix import ilsr_pairwise_dense
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csgraph
from scipy.special import stdtr, stdtrit
from scipy.stats import rankdata, studentized_range

from analysis.ordinal_model import Sandwich, fit_cumulative_logit, sandwich
from analysis.rankings import friedman
from analysis.resampling import Codes, Matrix, holm
from analysis.votes import LIKERT, LongVotes, describe_samples, long_votes, turned

Flags = NDArray[np.bool_]

ALPHA = 0.05
BEATS = (np.sign(np.subtract.outer(LIKERT, LIKERT)) + 1) / 2.0  # a tie is half a win
_COLUMNS = ["technique", "kind", "rank", "rank_low", "rank_high", "rank_bradley_terry", "n"]
_COLUMNS += ["estimate", "low", "high", "groups", "note"]


def rank_techniques(
    ratings: pd.DataFrame, samples: pd.DataFrame, directions: Mapping[str, int] | None = None
) -> pd.DataFrame:
    r"""Rank techniques by all votes, not by aggregated labels.

    The strengths :math:`\lambda`, log odds with mean 0, are those of the proportional-odds model

    .. math:: \operatorname{logit} P(r \le k) = \theta_k - \beta_q - \alpha_a - \lambda_t

    Errors allow for votes that share a sample or an annotator. Every two techniques are compared,
    corrected by Holm: techniques that share a letter in ``groups`` were not told apart, and
    ``rank_low`` to ``rank_high`` are the ranks that the tests leave open.
    ``rank_bradley_terry`` is the place by another model, in which every two votes of an annotator
    on a question are a comparison.

    Parameters
    ----------
    ratings, samples
        Columns sample_id, annotator_id, question, rating; and sample_id with technique, or method
        and backbone.
    directions
        -1 for questions on which fewer stars are better.

    Returns
    -------
    DataFrame with technique, kind, rank, rank_low, rank_high, rank_bradley_terry, n (votes),
    estimate, low, high, groups, note; best first

    References
    ----------
    McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x; Goldstein & Spiegelhalter 1996,
    doi:10.2307/2983325 (why ranks need intervals)
    """
    known = describe_samples(samples)
    frame = turned(ratings, directions)
    of_vote = known["technique"].reindex(frame["sample_id"]).notna().to_numpy()
    votes = long_votes(frame[of_vote])
    own = known.reindex(votes.samples)
    technique, names = pd.factorize(own["technique"].to_numpy(object)[votes.sample], sort=True)
    kinds = own.drop_duplicates("technique").set_index("technique")["kind"].reindex(names)
    numbers = np.bincount(technique, minlength=len(names))
    frame = pd.DataFrame({"technique": names, "kind": kinds.to_numpy(), "n": numbers})
    why = ""
    if len(names) < 2:
        why = "fewer than two techniques"
    elif len(np.unique(votes.rating)) < 2:
        why = "all votes are the same star: no order"
    elif len(votes.samples) < 2:
        why = "one sample only"
    if why:
        return frame.assign(note=why).reindex(columns=_COLUMNS)
    note = "one annotator: intervals are about samples only" if len(votes.annotators) == 1 else ""
    wins = count_wins(votes.annotator, votes.question, technique, votes.rating)
    frame = frame.assign(note=note, rank_bradley_terry=rank_by_wins(wins))
    return _ranked(frame, *_strengths(votes, technique))


def _strengths(votes: LongVotes, technique: Codes) -> tuple[Matrix, Sandwich]:
    """Strengths by the proportional-odds model and their sandwich."""
    columns = {"question": votes.question, "annotator": votes.annotator, "technique": technique}
    fit = fit_cumulative_logit(votes.rating, pd.DataFrame(columns))
    places = [place for place, (term, _) in enumerate(fit.terms) if term == "technique"]
    spread = sandwich(fit, votes.sample, votes.annotator)
    estimate = np.concatenate([[0.0], fit.coefficients[places]])

    def padded(matrix: Matrix) -> Matrix:
        """With the reference technique, whose coefficient is 0 and certain."""
        return np.pad(matrix[np.ix_(places, places)], ((1, 0), (1, 0)))

    both_ways = None if spread.both is None else padded(spread.both)
    parts = tuple(padded(part) for part in spread.parts)
    return estimate - estimate.mean(), Sandwich(parts, both_ways, spread.df)


def _ranked(frame: pd.DataFrame, estimate: Matrix, spread: Sandwich) -> pd.DataFrame:
    order = np.argsort(-estimate, kind="stable")
    size = len(order)
    reach = float(stdtrit(spread.df, 0.975))
    centred = np.eye(size) - 1 / size
    half = reach * np.sqrt([spread.variance(weights) for weights in centred])
    different = pairs_by_holm(_pair_p(estimate[order], order, spread))
    runs = homogeneous_groups(different)
    better = np.array([int(different[place, :place].sum()) for place in range(size)])
    worse = np.array([int(different[place, place + 1 :].sum()) for place in range(size)])
    ranked = frame.assign(estimate=estimate, low=estimate - half, high=estimate + half)
    ranked = ranked.iloc[order].reset_index(drop=True)
    ranked = ranked.assign(
        rank=np.arange(1, size + 1),
        rank_low=better + 1,
        rank_high=size - worse,
        groups=group_letters(runs, size),
    )
    return ranked[_COLUMNS]


def _pair_p(estimate: Matrix, order: NDArray[np.intp], spread: Sandwich) -> Matrix:
    size = len(order)
    p = np.full((size, size), np.nan)
    for first, second in combinations(range(size), 2):
        weights = np.zeros(size)
        weights[order[first]], weights[order[second]] = 1.0, -1.0
        variance = spread.variance(weights)
        if variance > 0:
            gap = abs(estimate[first] - estimate[second]) / np.sqrt(variance)
            p[first, second] = p[second, first] = 2 * stdtr(spread.df, -gap)
    return p


def count_wins(annotator: Codes, question: Codes, technique: Codes, rating: Codes) -> Matrix:
    """Wins of techniques (rows) over each other; a tie is half a win of each.

    Within the votes of one annotator on one question every two votes are compared. The comparisons
    are divided by the number of these votes, so that each vote counts alike.
    """
    blocks = pd.factorize(annotator * (int(question.max()) + 1) + question)[0]
    counts = np.zeros((int(blocks.max()) + 1, int(technique.max()) + 1, len(LIKERT)))
    np.add.at(counts, (blocks, technique, rating - 1), 1)
    weights = 1 / counts.sum(axis=(1, 2))
    wins = np.einsum("b,bir,rs,bjs->ij", weights, counts, BEATS, counts, optimize=True)
    np.fill_diagonal(wins, 0)
    return np.asarray(wins)


def rank_by_wins(wins: Matrix) -> Matrix:
    """Places by the strengths of Bradley and Terry's model (choix), 1 for the strongest.

    NaN where there are no finite strengths: each item must beat each other one, directly or
    through others (Ford 1957, doi:10.2307/2308513).

    References
    ----------
    Bradley & Terry 1952, doi:10.1093/biomet/39.3-4.324; Maystre & Grossglauser 2015,
    https://papers.nips.cc/paper/5681 (the algorithm)

    Examples
    --------
    >>> rank_by_wins(np.array([[0.0, 10.0], [30.0, 0.0]]))
    array([2., 1.])
    """
    parts, _ = csgraph.connected_components(wins > 0, directed=True, connection="strong")
    if parts > 1:
        return np.full(len(wins), np.nan)
    return np.asarray(rankdata(-ilsr_pairwise_dense(wins, max_iter=1_000), method="ordinal"), float)


def critical_difference(scores: pd.DataFrame) -> pd.DataFrame:
    r"""Mean ranks of items over blocks, Friedman's test and Nemenyi's critical difference.

    .. math:: CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

    with the studentised range :math:`q_\alpha` (infinite degrees of freedom) over :math:`\sqrt 2`.
    Two items whose mean ranks differ by less cannot be told apart. Blocks that miss an item are
    left out.

    Parameters
    ----------
    scores
        A row for each block (annotator, image, dataset), a column for each item; higher is better.

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
    ranked = rankdata(-whole.to_numpy(np.float64), axis=1)
    mean = ranked.mean(axis=0)
    chi_square, p = friedman(ranked)
    gap = critical_gap(k, n)
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


def critical_gap(items: int, blocks: int) -> float:
    """Nemenyi's critical difference of mean ranks."""
    quantile = float(studentized_range.ppf(1 - ALPHA, items, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(items * (items + 1) / (6 * blocks)))


def pairs_by_holm(p: ArrayLike) -> Flags:
    """Which pairs differ, from a symmetric matrix of p-values corrected together by Holm."""
    matrix = np.asarray(p, np.float64)
    upper = np.triu_indices(len(matrix), 1)
    adjusted = holm(matrix[upper])
    different = np.zeros(matrix.shape, bool)
    different[upper] = adjusted < ALPHA  # a missing p is no difference
    return different | different.T


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


def _letter(number: int) -> str:
    """a, b, ..., z, then two letters in brackets, so that they can still be read one by one."""
    name = chr(ord("a") + number % 26)
    return name if number < 26 else f"({name}{number // 26})"
