"""Ranks by Bradley and Terry's model."""

from __future__ import annotations

import numpy as np
import pytest
from choix import ilsr_pairwise_dense

from analysis.technique_ranking import BEATS, count_wins, rank_by_wins

# Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore
BASEBALL = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ],
    float,
)


def test_baseball_agrees_with_the_published_fit() -> None:
    """American League 1987: Agresti 2002, doi:10.1002/0471249688, table 10.10; R's BradleyTerry2
    (doi:10.18637/jss.v048.i09) prints these strengths against Baltimore."""
    published = [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0]
    strength = ilsr_pairwise_dense(BASEBALL)
    assert strength - strength[-1] == pytest.approx(published, abs=5e-5)
    assert rank_by_wins(BASEBALL).tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_order_of_items_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(7)
    mixed = rank_by_wins(BASEBALL[np.ix_(order, order)])
    assert mixed.tolist() == (order + 1).tolist()


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 5], [0, 0]],
        [[0, 0], [0, 0]],
        [[0, 1, 0], [1, 0, 1], [0, 0, 0]],  # the last never wins
    ],
)
def test_without_finite_strengths_there_is_no_rank(wins: list[list[float]]) -> None:
    assert np.isnan(rank_by_wins(np.array(wins, float))).all()


def test_a_way_back_through_others_is_enough() -> None:
    """A round of three wins: nobody is stronger."""
    round_ = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert sorted(rank_by_wins(round_)) == [1, 2, 3]


def test_wins_are_those_of_every_two_votes_of_a_block() -> None:
    """Oracle: loops over all pairs of votes of an annotator on a question."""
    rng = np.random.default_rng(1)
    annotator, question = np.repeat([0, 0, 3, 3], 9), np.repeat([0, 2, 0, 2], 9)
    technique, rating = rng.integers(0, 3, 36), rng.integers(1, 6, 36)
    expected = np.zeros((3, 3))
    for i in range(36):
        for j in range(36):
            alike = annotator[i] == annotator[j] and question[i] == question[j]
            if alike and technique[i] != technique[j]:
                won = BEATS[rating[i] - 1, rating[j] - 1] / 9
                expected[technique[i], technique[j]] += won
    assert count_wins(annotator, question, technique, rating) == pytest.approx(expected)
