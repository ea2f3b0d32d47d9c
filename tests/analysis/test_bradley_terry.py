"""Bradley-Terry strengths."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.technique_ranking import BEATS, _by_pairs, comparable, count_wins, fit_strengths

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
    (doi:10.18637/jss.v048.i09) prints these strengths and errors against Baltimore."""
    published = [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0]
    errors = [0.3433, 0.3396, 0.3367, 0.3359, 0.3339, 0.3319]
    strength, spread = fit_strengths(BASEBALL)
    assert strength - strength[-1] == pytest.approx(published, abs=5e-5)
    against = [spread[i, i] + spread[6, 6] - 2 * spread[i, 6] for i in range(6)]
    assert np.sqrt(against) == pytest.approx(errors, abs=5e-5)


def test_two_items_have_the_log_odds_of_their_wins() -> None:
    found, _ = fit_strengths(np.array([[0.0, 30], [10, 0]]))
    assert found[0] - found[1] == pytest.approx(np.log(3))


def test_order_of_items_does_not_matter_and_wins_are_balanced() -> None:
    """At the maximum each item wins as often as the model expects."""
    order = np.random.default_rng(0).permutation(7)
    strength, _ = fit_strengths(BASEBALL)
    mixed, _ = fit_strengths(BASEBALL[np.ix_(order, order)])
    assert mixed == pytest.approx(strength[order])
    chance = 1 / (1 + np.exp(-np.subtract.outer(strength, strength)))
    expected = ((BASEBALL + BASEBALL.T) * chance).sum(axis=1)
    assert expected == pytest.approx(BASEBALL.sum(axis=1), abs=1e-8)


def test_fords_condition_needs_a_way_back() -> None:
    assert comparable(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    assert not comparable(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]]))


def test_wins_are_those_of_every_two_votes_of_a_block() -> None:
    """Oracle: loops over all pairs of votes."""
    rng = np.random.default_rng(1)
    votes = [(block, rng.integers(3), rng.integers(5)) for block in range(4) for _ in range(9)]
    counts = np.zeros((4, 3, 5), np.int64)
    expected = np.zeros((3, 3))
    for block, technique, star in votes:
        counts[block, technique, star] += 1
    for block, technique, star in votes:
        for other_block, other, other_star in votes:
            if block == other_block and technique != other:
                expected[technique, other] += BEATS[star, other_star] / 9
    assert count_wins(counts)[0] == pytest.approx(expected)


def test_sandwich_agrees_with_scores_of_every_comparison() -> None:
    """Oracle: each vote's score is the sum over its comparisons, each sample's over its votes."""
    rng = np.random.default_rng(2)
    size = 48
    annotator, sample = np.repeat(np.arange(4), 12), np.tile(np.arange(12), 4)
    technique, question = sample % 3, np.zeros(size, np.intp)
    rating = np.clip(rng.integers(1, 6, size), 1, 5)
    found = _by_pairs(annotator, sample, question, technique, rating)
    assert found is not None
    strength, spread = found
    chance = 1 / (1 + np.exp(-np.subtract.outer(strength, strength)))
    by_sample, by_annotator = np.zeros((12, 3)), np.zeros((4, 3))
    for i in range(size):
        for j in range(size):
            if annotator[i] != annotator[j] or technique[i] == technique[j]:
                continue
            one, two = technique[i], technique[j]
            excess = (BEATS[rating[i] - 1, rating[j] - 1] - chance[one, two]) / 12
            score = np.zeros(3)
            score[one], score[two] = excess, -excess
            by_sample[sample[i]] += score
            by_annotator[annotator[i]] += score / 2
    counts = np.zeros((4, 3, 5), np.int64)
    np.add.at(counts, (annotator, technique, rating - 1), 1)
    bread = fit_strengths(count_wins(counts)[0])[1]
    expected = [bread @ (sums.T @ sums) @ bread * n / (n - 1) for sums, n in
                ((by_sample, 12), (by_annotator, 4))]  # fmt: skip
    assert spread.parts[0] == pytest.approx(expected[0])
    assert spread.parts[1] == pytest.approx(expected[1])
    assert by_annotator.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
