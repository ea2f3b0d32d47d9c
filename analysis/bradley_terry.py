"""Bradley-Terry strengths from wins, or from stars given by the same annotator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csgraph
from scipy.special import ndtri

from analysis.kappa import LIKERT
from analysis.ordinal_model import Sandwich

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

RIDGE = 1e-9
STEPS = 100
BEATS = (np.sign(np.subtract.outer(LIKERT, LIKERT)) + 1) / 2.0  # a tie is half a win


class Strengths(NamedTuple):
    """Log strengths with mean 0, and the generalised inverse of their information."""

    estimate: Vector
    covariance: Matrix


def fit_strengths(wins: Matrix) -> Strengths:
    """Maximum likelihood by Newton's method; ``wins[i, j]`` counts wins of i over j."""
    size = len(wins)
    games = wins + wins.T
    strength = np.zeros(size)
    for _ in range(STEPS):
        chance = _chances(strength)
        gradient = (wins - games * chance).sum(axis=1)
        weight = games * chance * (1 - chance)
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.solve(information + RIDGE * np.eye(size) + 1 / size, gradient)
        strength = strength + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    covariance = np.asarray(np.linalg.pinv(information, hermitian=True), np.float64)
    return Strengths(strength - strength.mean(), covariance)


def comparable(wins: Matrix) -> bool:
    """Ford's condition: each item beats each other one, directly or through others."""
    parts, _ = csgraph.connected_components(
        (wins > 0).astype(np.int8), directed=True, connection="strong"
    )
    return int(parts) == 1


def bradley_terry(
    wins: ArrayLike, items: Sequence[str] | None = None, *, level: float = 0.95
) -> pd.DataFrame:
    r"""Strengths of items from independent comparisons of two.

    .. math:: P(i \text{ beats } j) = \frac{1}{1 + e^{-(\lambda_i - \lambda_j)}},
        \qquad \sum_i \lambda_i = 0

    A tie counts as half a win of each.

    References
    ----------
    Bradley & Terry 1952, doi:10.1093/biomet/39.3-4.324; Ford 1957, doi:10.2307/2308513 (when the
    estimate exists); Hunter 2004, doi:10.1214/aos/1079120141

    Returns
    -------
    DataFrame with item, n (comparisons), estimate (log strength), low, high, note; strongest first
    """
    table = np.array(wins, np.float64)
    np.fill_diagonal(table, 0)
    names = list(items) if items is not None else [str(place) for place in range(len(table))]
    games = (table + table.T).sum(axis=1)
    columns = ["item", "n", "estimate", "low", "high", "note"]
    if len(table) < 2 or not comparable(table):
        why = "some items never won or never lost against the rest: no finite strengths"
        rows = [{"item": name, "n": n, "note": why} for name, n in zip(names, games, strict=True)]
        return pd.DataFrame(rows, columns=columns)
    fit = fit_strengths(table)
    half = float(ndtri((1 + level) / 2)) * np.sqrt(np.diag(fit.covariance))
    frame = pd.DataFrame({"item": names, "n": games, "estimate": fit.estimate})
    frame = frame.assign(low=fit.estimate - half, high=fit.estimate + half, note="")
    return frame.sort_values("estimate", ascending=False, ignore_index=True)[columns]


def wins_from_stars(counts: NDArray[np.integer]) -> tuple[Matrix, Vector]:
    """Wins of techniques over each other from stars (blocks x techniques x 5), and block weights.

    Within a block (the votes of one annotator on one question) every two votes are compared. A
    block's comparisons are divided by its number of votes, so that each vote counts alike.
    """
    sizes = counts.sum(axis=(1, 2))
    weights = 1 / np.maximum(sizes, 1.0)
    wins = np.einsum("b,bir,rs,bjs->ij", weights, counts, BEATS, counts, optimize=True)
    np.fill_diagonal(wins, 0)
    return wins, weights


def strengths_from_stars(
    annotator: Codes, sample: Codes, question: Codes, technique: Codes, rating: Codes
) -> tuple[Strengths, Sandwich] | None:
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
    wins, weights = wins_from_stars(counts)
    if size < 2 or n_samples < 2 or not comparable(wins):
        return None
    fit = fit_strengths(wins)
    chance = _chances(fit.estimate)
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
    bread = fit.covariance
    parts = [_sandwiched(bread, by_sample)]
    if n_annotators < 2:
        return fit, Sandwich(tuple(parts), None, n_samples - 1)
    parts.append(_sandwiched(bread, by_annotator))
    df = min(n_samples, n_annotators) - 1
    return fit, Sandwich(tuple(parts), bread @ meat_both @ bread, df)


def _chances(strength: Vector) -> Matrix:
    gaps = np.clip(np.subtract.outer(strength, strength), -500, 500)
    chances: Matrix = 1 / (1 + np.exp(-gaps))
    return chances


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
