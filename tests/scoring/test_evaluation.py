"""Measures equal literal formulas and scikit-learn, and say why when there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from pasta.scoring.evaluation import (
    human_rows,
    quadratic_kappa,
    round_stars,
    star_counts,
    summarise,
)
from pasta.studies.ratings.aggregate import Ties, aggregate
from tests.scoring.planted import evaluate


def column(table: pd.DataFrame, name: str) -> dict[str, Any]:
    return dict(zip(table["measure"], table[name], strict=True))


def estimates(table: pd.DataFrame) -> dict[str, float]:
    return column(table, "estimate")


def reasons(table: pd.DataFrame) -> dict[str, str]:
    return column(table, "reason")


def literal_kappa(first: list[int], second: list[int]) -> float:
    """Eq. 7 of P1 with its weights, 1 - (i - j)^2 / (k - 1)^2, in loops."""
    size, agreed, expected = len(first), 0.0, 0.0
    for i in range(1, 6):
        for j in range(1, 6):
            weight = 1 - (i - j) ** 2 / 16
            both = sum(a == i and b == j for a, b in zip(first, second, strict=True)) / size
            chance = first.count(i) * second.count(j) / size**2
            agreed, expected = agreed + weight * both, expected + weight * chance
    return (agreed - expected) / (1 - expected)


def test_kappa_is_the_formula_of_the_paper_and_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(2, 5, (2, 7, 40))  # stars 1 and 5 never occur
    found = quadratic_kappa(star_counts(first.astype(float), second))
    for kappa, a, b in zip(found, first, second, strict=True):
        assert kappa == pytest.approx(literal_kappa(a.tolist(), b.tolist()), abs=1e-12)
        peer = cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic")
        assert kappa == pytest.approx(peer, abs=1e-12)


def test_perfect_and_reversed_predictions() -> None:
    truth = np.array([1.0, 2, 3, 4, 5])
    right, wrong = estimates(evaluate(truth, truth)), estimates(evaluate(truth, 6 - truth))
    assert [right[name] for name in ("mse", "mae")] == [0, 0]
    assert [right[name] for name in ("qwk", "spearman", "pearson")] == pytest.approx([1, 1, 1])
    assert [wrong[name] for name in ("qwk", "spearman", "pearson")] == pytest.approx([-1, -1, -1])
    assert (wrong["mse"], wrong["mae"]) == (8, 2.4)


def test_missing_truth_is_left_out_and_counted() -> None:
    truth, stars = np.array([1, np.nan, 3, 5, 2]), np.array([1.2, 5, 3.3, 4.6, 2])
    given = ~np.isnan(truth)
    pd.testing.assert_frame_equal(evaluate(truth, stars), evaluate(truth[given], stars[given]))
    assert set(evaluate(truth, stars)["n"]) == {4}


def test_published_scc_is_the_mean_of_rho_and_p_and_about_half_of_rho() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 300).astype(float)
    stars = np.clip(truth + rng.normal(0, 2, 300), 1, 5)
    found = estimates(evaluate(truth, stars))
    rho, p = stats.spearmanr(truth, np.rint(stars))
    assert found["spearman_of_stars"] == pytest.approx(rho)
    assert found["scc_as_published"] == pytest.approx((rho + p) / 2)
    assert found["scc_as_published"] == pytest.approx(rho / 2, abs=1e-6)
    assert found["spearman"] == pytest.approx(stats.spearmanr(truth, stars)[0])


def test_constant_predictions_have_no_correlation_a_reason_and_no_more_than_chance() -> None:
    table = evaluate(np.array([1.0, 2, 3, 4]), np.full(4, 2.6))
    assert estimates(table)["qwk"] == 0
    for measure in ("spearman", "pearson", "scc_as_published"):
        assert math.isnan(estimates(table)[measure])
        assert reasons(table)[measure] == "the predictions are constant"


@pytest.mark.parametrize(
    ("truth", "reason"),
    [([3.0, 3, 3, 3], "the truth is constant"), ([], "fewer than 3"), ([1.0], "fewer than 3")],
)
def test_truth_without_differences_has_reasons(truth: list[float], reason: str) -> None:
    table = evaluate(np.array(truth), np.array(truth))
    assert reason in reasons(table)["spearman"]
    assert math.isnan(estimates(table)["qwk"])
    assert reasons(table)["qwk"]
    assert ((table["reason"] == "") == table["estimate"].notna()).all()


def test_stars_stay_on_the_scale() -> None:
    assert round_stars(np.array([-3.0, 0.9, 1.5, 2.5, 4.6, 9.0])).tolist() == [1, 1, 2, 2, 5, 5]


def test_summary_drops_no_run() -> None:
    truth = np.array([1.0, 2, 3, 4, 5])
    runs = [evaluate(truth, truth), evaluate(truth, np.full(5, 3.0)), evaluate(truth, 6 - truth)]
    table = summarise(pd.concat(runs))
    assert set(table["n"]) == {3}
    assert column(table, "mean")["qwk"] == pytest.approx(0)
    assert column(table, "sd")["qwk"] == pytest.approx(1)
    assert math.isnan(column(table, "mean")["spearman"])
    assert reasons(table)["spearman"] == "missing in 1 of 3: the predictions are constant"
    assert np.isnan(summarise(runs[0])["sd"]).all()


def labels_of(votes: pd.DataFrame, ties: Ties = "smallest") -> pd.DataFrame:
    return aggregate(votes.assign(simulated=False), ties)


@pytest.mark.parametrize(
    ("ties", "label", "others"), [("smallest", 1, [5, 5, 1, 1, 1]), ("largest", 5, [5, 5, 5, 1, 1])]
)
def test_people_are_compared_with_labels_whose_ties_are_settled_as_in_the_table(
    ties: Ties, label: int, others: list[int]
) -> None:
    given = [1, 1, 3, 5, 5]
    votes = pd.DataFrame({"annotator_id": list("abcde"), "rating": given})
    votes = votes.assign(sample_id="s", question="Q1")
    table = human_rows(votes, labels_of(votes, ties), ties)
    mse = table[table["measure"] == "mse"].set_index(["against", "annotator_id"])["estimate"]
    assert mse["mode"].tolist() == [(label - one) ** 2 for one in given]
    assert mse["leave_one_out"].tolist() == [
        (other - one) ** 2 for other, one in zip(others, given, strict=True)
    ]


def test_people_by_hand() -> None:
    ratings = {"a": [1, 2, 5, 4], "b": [1, 2, 4, 4], "c": [2, 3, 5, 4]}
    votes = pd.DataFrame(
        [
            {"sample_id": f"s{place}", "annotator_id": name, "question": "Q1", "rating": rating}
            for name, given in ratings.items()
            for place, rating in enumerate(given)
        ]
    )
    table = human_rows(votes.sample(frac=1, random_state=0), labels_of(votes), "smallest")
    mse = table[table["measure"] == "mse"].set_index(["against", "annotator_id"])["estimate"]
    # modes of all: 1 2 5 4; without a (ties to the smaller): 1 2 4 4; without c: 1 2 4 4
    assert mse["mode"].to_dict() == {"a": 0, "b": 0.25, "c": 0.5}
    assert mse["leave_one_out"].to_dict() == {"a": 0.25, "b": 0.25, "c": 0.75}


def test_votes_of_one_person_alone_have_nothing_to_leave_out() -> None:
    votes = pd.DataFrame(
        {"sample_id": ["a", "b"], "annotator_id": "x", "question": "Q1", "rating": [1, 4]}
    )
    table = human_rows(votes, labels_of(votes), "smallest")
    assert set(table.loc[table["against"] == "leave_one_out", "n"]) == {0}
    assert set(table.loc[table["against"] == "mode", "n"]) == {2}


def test_random_people_agree_with_a_mode_that_holds_their_vote_but_not_with_the_others() -> None:
    rng = np.random.default_rng(0)
    rows = [(f"s{s}", f"a{a}", "Q1", rng.integers(1, 6)) for s in range(400) for a in range(5)]
    votes = pd.DataFrame(rows, columns=["sample_id", "annotator_id", "question", "rating"])
    table = human_rows(votes, labels_of(votes), "smallest")
    kappa = table[table["measure"] == "qwk"].groupby("against")["estimate"].mean()
    assert kappa["mode"] > 0.2
    assert abs(kappa["leave_one_out"]) < 0.06
