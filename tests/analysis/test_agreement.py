"""Agreement with the mode and between raters against plain loops over the votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.agreement import (
    agreement_differences,
    agreement_summary,
    agreement_with_mode,
    pairwise_agreement,
)
from analysis.votes import label_units
from tests.analysis.simulated import one, study


def smallest_mode(ratings: list[int]) -> int:
    return min(set(ratings), key=lambda star: (-ratings.count(star), star))


def kappa_by_hand(frame: pd.DataFrame, rater: str, leave_out: bool) -> tuple[int, float]:
    own, label = [], []
    for _, votes in frame.groupby(["unit", "item"]):
        mine = votes.loc[votes["rater"] == rater, "rating"].tolist()
        others = votes.loc[votes["rater"] != rater, "rating"].tolist()
        if mine and others:
            own.append(mine[0])
            label.append(smallest_mode(others if leave_out else others + mine))
    stars = [1, 2, 3, 4, 5]
    return len(own), float(cohen_kappa_score(own, label, weights="quadratic", labels=stars))


@pytest.mark.parametrize("label", ["as_published", "leave_one_out"])
def test_each_rater_against_the_mode_equals_a_loop(label: str) -> None:
    frame = study()
    table = agreement_with_mode(frame, resamples=50)
    table = table[table["label"] == label]
    for question in ("Q2", "all"):
        part = frame if question == "all" else frame[frame["item"] == question]
        for rater in ("p0", "p5"):
            n, kappa = kappa_by_hand(part, rater, label == "leave_one_out")
            row = one(table, item=question, rater=rater)
            assert (row["n"], row["estimate"]) == (n, pytest.approx(kappa))
            assert row["low"] < kappa < row["high"]


def test_the_mean_over_raters_is_their_mean_and_surer_than_each() -> None:
    table = agreement_with_mode(study(), resamples=500)
    part = table[(table["item"] == "Q1") & (table["label"] == "leave_one_out")]
    each = part[part["rater"] != "mean"]
    mean = part[part["rater"] == "mean"].iloc[0]
    assert mean["estimate"] == pytest.approx(each["estimate"].mean())
    assert mean["high"] - mean["low"] < (each["high"] - each["low"]).min()


def test_the_own_vote_in_the_mode_flatters_even_random_raters() -> None:
    rng = np.random.default_rng(0)
    frame = study(samples=400, questions=1)
    frame["rating"] = rng.integers(1, 6, len(frame))
    table = agreement_with_mode(frame, resamples=500)
    flattered, honest = (
        one(table, rater="mean", label=label) for label in ("as_published", "leave_one_out")
    )
    assert flattered["low"] > 0.1
    assert honest["low"] < 0 < honest["high"]


def test_pairs_use_the_samples_that_both_rated() -> None:
    frame = study()
    table = pairwise_agreement(frame, resamples=50)
    part = frame[frame["item"] == "Q1"]
    left, right = (part[part["rater"] == name] for name in ("p1", "p4"))
    both = left.merge(right, on="unit")
    stars = [1, 2, 3, 4, 5]
    kappa = cohen_kappa_score(both["rating_x"], both["rating_y"], weights="quadratic", labels=stars)
    row = one(table, item="Q1", first="p1", second="p4")
    assert (row["n"], row["estimate"]) == (len(both), pytest.approx(kappa))
    assert len(table) == 4 * (8 * 7 // 2 + 1)


def test_clusters_of_alike_samples_widen_the_interval() -> None:
    frame = study(samples=20, questions=1)
    copies = [frame.assign(unit=frame["unit"] + f"/{copy}") for copy in range(8)]
    alike = pd.concat(copies, ignore_index=True)
    alike["image_id"] = alike["unit"].str.split("/").str[0]
    naive = agreement_with_mode(alike).iloc[-1]
    honest = agreement_with_mode(alike, cluster="image_id").iloc[-1]
    assert honest["estimate"] == pytest.approx(naive["estimate"])
    assert honest["high"] - honest["low"] > 2 * (naive["high"] - naive["low"])


def test_intervals_of_the_mean_cover_the_value_of_a_large_study() -> None:
    def mean_row(frame: pd.DataFrame) -> pd.Series:
        table = agreement_with_mode(frame, resamples=300)
        return table[(table["rater"] == "mean") & (table["label"] == "leave_one_out")].iloc[0]

    truth = mean_row(study(samples=6_000, questions=1, seed=99))["estimate"]
    rows = [mean_row(study(samples=80, questions=1, seed=seed)) for seed in range(50)]
    covered = sum(row["low"] <= truth <= row["high"] for row in rows)
    assert covered >= 45


def test_the_summary_has_all_measures_for_each_question() -> None:
    table = agreement_summary(study(), resamples=100)
    assert set(table["measure"]) == {
        "krippendorff_ordinal",
        "fleiss",
        "icc1",
        "icc1k",
        "pairwise_kappa",
        "mode_kappa_as_published",
        "mode_kappa_leave_one_out",
    }
    assert set(table["item"]) == {"Q1", "Q2", "Q3", "all"}
    assert table[["n", "estimate", "low", "high"]].notna().all(axis=None)
    assert ((table["low"] <= table["estimate"]) & (table["estimate"] <= table["high"])).all()


def test_nullable_columns_and_missing_ratings_change_nothing() -> None:
    frame = study(samples=30)
    nullable = frame.assign(rating=frame["rating"].astype("Int64"))
    gap = frame.iloc[:1].assign(unit="s999", rating=pd.array([pd.NA], "Int64"))
    pd.testing.assert_frame_equal(
        agreement_with_mode(frame, resamples=20),
        agreement_with_mode(pd.concat([nullable, gap]), resamples=20),
    )


def test_labels_are_the_smallest_mode() -> None:
    frame = pd.DataFrame(
        {
            "unit": ["a"] * 4 + ["b"],
            "rater": ["p", "q", "r", "s", "p"],
            "item": "Q1",
            "rating": [5, 2, 5, 2, 3],
        }
    )
    assert label_units(frame)["Q1"].tolist() == [2, 3]


def test_votes_given_twice_are_an_error_that_names_one() -> None:
    frame = study(samples=3)
    with pytest.raises(ValueError, match=r"given twice.*s000"):
        agreement_with_mode(pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(ValueError, match="rows of the results"):
        agreement_with_mode(frame.assign(rater="mean"))
    with pytest.raises(ValueError, match="more than one image_id"):
        agreement_with_mode(frame.assign(image_id=range(len(frame))), cluster="image_id")
    with pytest.raises(ValueError, match="no column item"):
        agreement_with_mode(frame.drop(columns="item"))


def test_difference_of_groups_is_that_of_raters_kappas() -> None:
    frame = study(samples=60)
    found = agreement_differences(frame, "kind", resamples=200)
    for item in ("Q1", "Q2", "all"):
        means = []
        for kind in ("concept", "saliency"):
            part = agreement_with_mode(frame[frame["kind"] == kind], resamples=10)
            part = part[(part["label"] == "leave_one_out") & (part["item"] == item)]
            means.append(part[part["rater"] != "mean"]["estimate"].mean())
        row = one(found, item=item)
        assert row["estimate"] == pytest.approx(means[0] - means[1], abs=1e-12)
        assert row["low"] < row["estimate"] < row["high"] and row["n"] == 8


def test_groups_that_are_alike_differ_by_nothing() -> None:
    frame = study(samples=20)
    twin = frame.assign(unit=frame["unit"] + "-twin")
    both = pd.concat([frame.assign(kind="a"), twin.assign(kind="b")])
    both["image"] = both["unit"].str.removesuffix("-twin")
    found = agreement_differences(both, "kind", cluster="image", resamples=50)
    assert np.allclose(found[["estimate", "low", "high"]], 0)
