"""Techniques in order of preference, by three models, and which of them can be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from choix import ilsr_pairwise_dense
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csgraph
from scipy.special import expit, stdtr, stdtrit
from scipy.stats import rankdata, studentized_range

from analysis.ordinal_model import Sandwich, fit_cumulative_logit, sandwich
from analysis.rankings import friedman
from analysis.resampling import Codes, Matrix, holm
from analysis.votes import LIKERT, describe_samples, long_votes, turned

Flags = NDArray[np.bool_]

ALPHA = 0.05
MODELS = ("ordinal", "bradley_terry")
BEATS = (np.sign(np.subtract.outer(LIKERT, LIKERT)) + 1) / 2.0  # a tie is half a win
_COLUMNS = ["technique", "kind", "rank", "rank_low", "rank_high", "n", "estimate", "low", "high"]
_COLUMNS += ["groups", "note"]


def rank_techniques(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    model: str = "ordinal",
    directions: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    r"""Rank techniques by all votes, not by aggregated labels.

    ``ordinal``: the proportional-odds model

    .. math:: \operatorname{logit} P(r \le k) = \theta_k - \beta_q - \alpha_a - \lambda_t

    ``bradley_terry``: every two votes of an annotator on a question are a comparison. Strengths
    :math:`\lambda` have mean 0 and are log odds in both. Errors allow for votes that share a sample
    or an annotator. Every two techniques are compared, corrected by Holm: techniques that share a
    letter in ``groups`` were not told apart, and ``rank_low`` to ``rank_high`` are the ranks that
    the tests leave open.

    Parameters
    ----------
    ratings, samples
        Columns sample_id, annotator_id, question, rating; and sample_id with technique, or method
        and backbone.
    model
        "ordinal" or "bradley_terry".
    directions
        -1 for questions on which fewer stars are better.

    References
    ----------
    McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x; Bradley & Terry 1952,
    doi:10.1093/biomet/39.3-4.324; Goldstein & Spiegelhalter 1996, doi:10.2307/2983325 (why ranks
    need intervals)

    Returns
    -------
    DataFrame with technique, kind, rank, rank_low, rank_high, n (votes), estimate, low, high,
    groups, note; best first
    """
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, not {model!r}")
    known = describe_samples(samples)
    votes_frame = turned(ratings, directions)
    of_vote = known["technique"].reindex(votes_frame["sample_id"]).notna().to_numpy()
    votes = long_votes(votes_frame[of_vote])
    of_sample = known.reindex(votes.samples)
    technique, names = pd.factorize(
        of_sample["technique"].to_numpy(object)[votes.sample], sort=True
    )
    codes = votes.annotator, votes.sample, votes.question, technique, votes.rating
    numbers = np.bincount(technique, minlength=len(names))
    kinds = of_sample.drop_duplicates("technique").set_index("technique")["kind"].reindex(names)
    frame = pd.DataFrame({"technique": names, "kind": kinds.to_numpy(), "n": numbers})
    why = _why_no_order(names, votes.rating, votes.samples)
    found = None
    if not why:
        order = _by_votes if model == "ordinal" else _by_pairs
        found = order(*codes)
        why = "some techniques never won or never lost: no finite strengths"
    if found is None:
        return frame.assign(note=why).reindex(columns=_COLUMNS)
    note = "one annotator: intervals are about samples only" if len(votes.annotators) == 1 else ""
    return _ranked(frame.assign(note=note), *found)


def _why_no_order(
    names: Sequence[str] | NDArray[np.object_], rating: Codes, samples: pd.Index
) -> str:
    if len(names) < 2:
        return "fewer than two techniques"
    if len(np.unique(rating)) < 2:
        return "all votes are the same star: no order"
    return "one sample only" if len(samples) < 2 else ""


def _by_votes(
    annotator: Codes, sample: Codes, question: Codes, technique: Codes, rating: Codes
) -> tuple[Matrix, Sandwich]:
    """Strengths by the proportional-odds model and their sandwich."""
    columns = {"question": question, "annotator": annotator, "technique": technique}
    fit = fit_cumulative_logit(rating, pd.DataFrame(columns))
    places = [place for place, (term, _) in enumerate(fit.terms) if term == "technique"]
    spread = sandwich(fit, sample, annotator)
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


def fit_strengths(wins: Matrix) -> tuple[Matrix, Matrix]:
    r"""Bradley-Terry strengths by maximum likelihood (choix), and their covariance.

    .. math:: P(i \text{ beats } j) = \frac{1}{1 + e^{-(\lambda_i - \lambda_j)}},
        \qquad \sum_i \lambda_i = 0

    Parameters
    ----------
    wins
        ``wins[i, j]`` counts wins of i over j; a tie is half a win of each.

    Returns
    -------
    Log strengths with mean 0, and the generalised inverse of their information: the covariance if
    all comparisons were independent

    References
    ----------
    Bradley & Terry 1952, doi:10.1093/biomet/39.3-4.324; Maystre & Grossglauser 2015,
    https://papers.nips.cc/paper/5681 (the algorithm)

    Examples
    --------
    >>> fit_strengths(np.array([[0.0, 30.0], [10.0, 0.0]]))[0].round(3)
    array([ 0.549, -0.549])
    """
    strength = np.asarray(ilsr_pairwise_dense(wins, max_iter=1_000, tol=1e-12), np.float64)
    chance = expit(np.subtract.outer(strength, strength))
    weight = (wins + wins.T) * chance * (1 - chance)
    information = np.diag(weight.sum(axis=1)) - weight
    covariance = np.asarray(np.linalg.pinv(information, hermitian=True), np.float64)
    return strength - strength.mean(), covariance


def comparable(wins: Matrix) -> bool:
    """Ford's condition: each item beats each other one, directly or through others.

    References
    ----------
    Ford 1957, doi:10.2307/2308513
    """
    parts, _ = csgraph.connected_components(
        (wins > 0).astype(np.int8), directed=True, connection="strong"
    )
    return int(parts) == 1


def count_wins(counts: NDArray[np.integer]) -> tuple[Matrix, Matrix]:
    """Wins of techniques over each other from stars (blocks x techniques x 5), and block weights.

    Within a block (the votes of one annotator on one question) every two votes are compared. A
    block's comparisons are divided by its number of votes, so that each vote counts alike.
    """
    sizes = counts.sum(axis=(1, 2))
    weights = 1 / np.maximum(sizes, 1.0)
    wins = np.einsum("b,bir,rs,bjs->ij", weights, counts, BEATS, counts, optimize=True)
    np.fill_diagonal(wins, 0)
    return wins, weights


def _by_pairs(
    annotator: Codes, sample: Codes, question: Codes, technique: Codes, rating: Codes
) -> tuple[Matrix, Sandwich] | None:
    r"""Bradley-Terry strengths of techniques, with errors for votes, samples and annotators.

    Comparisons that share a vote are dependent. With the score :math:`g_i` of vote i summed over
    all its comparisons (Hajek's projection of a U-statistic), the covariance is a sandwich with
    the sums of :math:`g_i` over samples and, as each comparison stays within an annotator and is
    counted twice there, of :math:`g_i / 2` over annotators.

    References
    ----------
    Hoeffding 1948, doi:10.1214/aoms/1177730196; Cameron, Gelbach & Miller 2011,
    doi:10.1198/jbes.2010.07136

    Returns
    -------
    Strengths and their sandwich, or None if the techniques cannot all be compared
    """
    size, n_questions = int(technique.max()) + 1, int(question.max()) + 1
    n_annotators, n_samples = int(annotator.max()) + 1, int(sample.max()) + 1
    block = annotator * n_questions + question
    counts = np.zeros((n_annotators * n_questions, size, len(LIKERT)), np.int64)
    np.add.at(counts, (block, technique, rating - 1), 1)
    wins, weights = count_wins(counts)
    if not comparable(wins):
        return None
    strength, bread = fit_strengths(wins)
    chance = expit(np.subtract.outer(strength, strength))
    by_annotator, by_sample = np.zeros((n_annotators, size)), np.zeros((n_samples, size))
    meat_both = np.zeros((size, size))
    for who in range(n_annotators):
        mine = np.flatnonzero(annotator == who)
        scores = np.zeros((len(mine), size))
        for place in np.unique(block[mine]):
            rows = np.flatnonzero(block[mine] == place)
            votes = mine[rows]
            scores[rows] = weights[place] * _vote_scores(
                counts[place], technique[votes], rating[votes] - 1, chance
            )
        np.add.at(by_sample, sample[mine], scores)
        by_annotator[who] = scores.sum(axis=0) / 2
        codes = np.asarray(pd.factorize(sample[mine])[0], np.intp)
        together = np.zeros((int(codes.max(initial=-1)) + 1, size))
        np.add.at(together, codes, scores)
        meat_both += together.T @ together
    parts = [_sandwiched(bread, by_sample)]
    if n_annotators < 2:
        return strength, Sandwich(tuple(parts), None, n_samples - 1)
    parts.append(_sandwiched(bread, by_annotator))
    df = min(n_samples, n_annotators) - 1
    return strength, Sandwich(tuple(parts), bread @ meat_both @ bread, df)


def _vote_scores(
    counts: NDArray[np.int64], technique: Codes, star: Codes, chance: Matrix
) -> Matrix:
    """For each vote of a block the score of all its comparisons, by technique."""
    won = BEATS[star] @ counts.T  # wins over the votes of each technique
    excess: Matrix = won - counts.sum(axis=1) * chance[technique]
    rows = np.arange(len(star))
    excess[rows, technique] = 0  # a technique is not compared with itself
    scores: Matrix = -excess
    scores[rows, technique] = excess.sum(axis=1)
    return scores


def _sandwiched(bread: Matrix, sums: Matrix) -> Matrix:
    number = len(sums)
    product: Matrix = bread @ (sums.T @ sums) @ bread * (number / (number - 1))
    return product


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
