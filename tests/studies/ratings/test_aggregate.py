"""Votes to labels: against a literal count, by hand, and in any order."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean, median
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from pasta.contracts import check
from pasta.errors import PastaError
from pasta.studies.ratings.aggregate import Ties, aggregate
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import LABELS, VOTES

TIES: tuple[Ties, ...] = get_args(Ties)


def table(ratings: dict[tuple[str, str], list[int]], simulated: bool = False) -> pd.DataFrame:
    return VOTES.frame(
        {
            "sample_id": sample,
            "annotator_id": f"person{number}",
            "question": question,
            "rating": rating,
            "submitted_at": None,
            "simulated": simulated and number == 0,
        }
        for (sample, question), given in ratings.items()
        for number, rating in enumerate(given)
    )


def random_votes(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    pairs = [(f"coco/{n}/lime/vit", question) for n in range(60) for question in QUESTIONS]
    return table({pair: rng.integers(1, 6, rng.integers(1, 9)).tolist() for pair in pairs})


def literal(ratings: list[int], ties: Ties) -> dict[str, Any]:
    counts = Counter(ratings)
    tied = sorted(star for star in counts if counts[star] == max(counts.values()))
    middle = median(ratings)
    chosen = {
        "smallest": tied[0],
        "largest": tied[-1],
        "median": sorted(tied, key=lambda star: (abs(star - middle), star))[0],
    }
    shares = [number / len(ratings) for number in counts.values()]
    return {
        "mode": chosen[ties],
        "mean": fmean(ratings),
        "median": middle,
        "n_votes": len(ratings),
        **{f"votes_{star}": counts[star] for star in range(1, 6)},
        "entropy": sum(-share * math.log2(share) for share in shares),
    }


@pytest.mark.parametrize("ties", TIES)
def test_labels_equal_a_literal_count(ties: Ties) -> None:
    votes = random_votes(3)
    labels = aggregate(votes, ties)
    check(labels, LABELS)
    groups = votes.groupby(["sample_id", "question"])["rating"]
    expected = [
        {"sample_id": sample, "question": question, **literal(list(ratings), ties)}
        for (sample, question), ratings in groups
    ]
    pd.testing.assert_frame_equal(
        labels.drop(columns="simulated"), pd.DataFrame(expected), check_dtype=False
    )
    assert labels.equals(labels.sort_values(["sample_id", "question"]))


@pytest.mark.parametrize(
    ("ratings", "modes"),
    [
        ([4], (4, 4, 4)),
        ([1, 1, 5, 5, 2], (1, 5, 1)),  # median 2
        ([1, 1, 5, 5, 4], (1, 5, 5)),  # median 4
        ([2, 2, 4, 4, 3], (2, 4, 2)),  # median 3, equally far: the smaller
        ([1, 2, 3, 4, 5], (1, 5, 3)),
        ([3, 3, 3, 5, 5], (3, 3, 3)),
    ],
)
def test_ties_are_broken_as_said(ratings: list[int], modes: tuple[int, ...]) -> None:
    votes = table({("coco/1/lime/vit", "Q2"): ratings})
    assert tuple(aggregate(votes, ties)["mode"].item() for ties in TIES) == modes


def test_the_default_is_the_rule_of_the_released_data() -> None:
    votes = table({("coco/1/lime/vit", "Q2"): [5, 5, 4, 4, 1]})
    assert aggregate(votes)["mode"].item() == 4


def test_entropy_is_zero_when_all_agree_and_largest_when_nobody_does() -> None:
    ratings = {("a/1/b/c", "Q1"): [2] * 5, ("a/2/b/c", "Q1"): [1, 2, 3, 4, 5]}
    entropy = aggregate(table(ratings))["entropy"].tolist()
    assert entropy == pytest.approx([0, math.log2(5)]) and math.copysign(1, entropy[0]) == 1


def test_one_simulated_vote_marks_the_label() -> None:
    real, drawn = table({("a/1/b/c", "Q1"): [1, 2]}), table({("a/2/b/c", "Q1"): [1, 2]}, True)
    assert aggregate(pd.concat([real, drawn]))["simulated"].tolist() == [False, True]


def test_the_order_of_votes_does_not_matter() -> None:
    votes = random_votes(5)
    for seed in range(3):
        shuffled = votes.sample(frac=1, random_state=seed)
        pd.testing.assert_frame_equal(aggregate(shuffled), aggregate(votes), check_exact=True)


def test_no_votes_give_an_empty_table() -> None:
    labels = aggregate(VOTES.frame([]))
    assert labels.empty
    check(labels, LABELS)


def test_an_unknown_rule_is_an_error_that_names_the_nearest() -> None:
    rule: Any = "smalest"
    with pytest.raises(PastaError, match="Did you mean 'smallest'"):
        aggregate(VOTES.frame([]), rule)
