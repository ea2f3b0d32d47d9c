"""Techniques, kinds and backbones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import preference
from analysis.preference import (
    annotator_means,
    score_differences,
    scores_by,
    technique_scores,
    top_techniques,
)
from analysis.technique_ranking import rank_techniques
from analysis.votes import describe_samples, turned
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate

STUDY = Study(samples=90, technique=0.5)
DIMENSIONS = {"fidelity": ("Q1",), "both": ("Q1", "Q2"), "robustness": ("Q5", "Q6")}


def _smallest_mode(stars: list[int]) -> int:
    return min(set(stars), key=lambda star: (-stars.count(star), star))


def test_mean_mode_of_a_technique_is_that_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, _, shown = simulate(STUDY, 0)
    monkeypatch.setattr(preference, "DIMENSIONS", DIMENSIONS)
    found = technique_scores(ratings, shown)
    modes = []
    for sample in shown.loc[shown["method"] == "m2", "sample_id"]:
        votes = ratings[ratings["sample_id"] == sample]
        each = [votes.loc[votes["question"] == q, "rating"].tolist() for q in ("Q1", "Q2")]
        modes.append(np.mean([_smallest_mode(stars) for stars in each]))
    row = one(found, technique="m2/resnet", dimension="both")
    assert row["estimate"] == pytest.approx(np.mean(modes)) and row["n"] == 15
    interval = stats.t.interval(0.95, 14, np.mean(modes), stats.sem(modes))
    assert (row["low"], row["high"]) == pytest.approx(interval)


def test_questions_nobody_answered_are_named() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    found = technique_scores(ratings, shown).set_index("dimension").loc["robustness"]
    assert found["estimate"].isna().all() and (found["note"] == "no votes on Q5, Q6").all()


def test_kinds_and_their_difference_agree_with_plain_means() -> None:
    ratings, _, shown = simulate(Study(kind=1.5, techniques=20), 1)
    means = scores_by(ratings, shown).set_index(["question", "group"])["estimate"]
    gap = one(score_differences(ratings, shown), question="Q1")
    expected = means["Q1", "concept"] - means["Q1", "saliency"]
    assert gap["comparison"] == "concept - saliency"
    assert gap["estimate"] == pytest.approx(expected) and gap["high"] < 0


def test_a_shared_technique_widens_the_interval_of_a_kind() -> None:
    """Techniques differ much: fifty samples of three techniques know little about a fourth."""
    ratings, _, shown = simulate(Study(technique=1.0), 2)
    clustered = scores_by(ratings, shown)
    apart = shown.assign(technique=shown["sample_id"], image_id=shown["sample_id"])
    alone = scores_by(ratings, apart)
    wide, narrow = (frame["high"] - frame["low"] for frame in (clustered, alone))
    assert (wide > 2 * narrow).all()


def test_backbones_are_compared_for_saliency_only() -> None:
    ratings, _, shown = simulate(STUDY, 3)
    shown["backbone"] = np.resize(["resnet", "vit", "clip"], len(shown))
    found = scores_by(ratings, shown, "backbone", kind="saliency")
    assert found.loc[found["question"] == "Q1", "n"].sum() == (shown["kind"] == "saliency").sum()
    gaps = score_differences(ratings, shown, "backbone", kind="saliency")
    assert set(gaps["comparison"]) == {"clip - resnet", "clip - vit", "resnet - vit"}


def test_one_kind_or_no_kinds_are_a_note() -> None:
    ratings, _, shown = simulate(STUDY, 4)
    one = score_differences(ratings, shown.assign(kind="saliency"))
    assert one["note"].str.contains("only one group").all() and one["p"].isna().all()
    none = shown.drop(columns="kind")
    assert score_differences(ratings, none)["note"].str.contains("no sample has a known kind").all()
    assert scores_by(ratings, none)["estimate"].isna().all()


def _stars(table: dict[str, list[int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One sample for each technique, one star for each annotator."""
    rows = [
        {"sample_id": name, "annotator_id": f"a{who}", "question": "Q1", "rating": star}
        for name, stars in table.items()
        for who, star in enumerate(stars)
    ]
    samples = pd.DataFrame({"sample_id": list(table), "technique": list(table)})
    return pd.DataFrame(rows), samples


def test_favourites_are_counted_and_ties_share_the_last_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preference, "TOP", 2)
    ratings, samples = _stars({"w": [5, 1], "x": [4, 5], "y": [4, 2], "z": [1, 4]})
    found = top_techniques(ratings, samples).set_index("technique")
    assert found["count"].to_dict() == {"w": 1.0, "x": 1.5, "y": 0.5, "z": 1.0}
    assert found["count"].sum() == 2 * 2 and (found["n"] == 2).all()


def test_interval_of_favourites_is_wilsons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of fifteen, by scipy."""
    monkeypatch.setattr(preference, "TOP", 1)
    table = {"w": [5] * 4 + [1] * 11, "x": [1] * 4 + [5] * 11}
    found = top_techniques(*_stars(table)).set_index("technique").loc["w"]
    expected = stats.binomtest(4, 15).proportion_ci(method="wilson")
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_questions_of_the_other_direction_are_mirrored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preference, "TOP", 1)
    ratings, samples = _stars({"w": [5, 5], "x": [1, 2]})
    assert turned(ratings, {"Q1": -1})["rating"].tolist() == [1, 1, 5, 4]
    found = top_techniques(ratings, samples, directions={"Q1": -1})
    assert found["technique"].iloc[0] == "x"


def test_rankings_by_both_models_agree_with_what_was_planted() -> None:
    ratings, _, shown = simulate(STUDY, 5)
    found = rank_techniques(ratings, shown)
    assert found["technique"].iloc[0] == "m5/resnet"
    assert found["rank_bradley_terry"].iloc[0] == 1
    assert stats.spearmanr(found["rank"], found["rank_bradley_terry"]).statistic > 0.9
    assert found["estimate"].sum() == pytest.approx(0, abs=1e-9)
    assert ((found["rank_low"] <= found["rank"]) & (found["rank"] <= found["rank_high"])).all()
    assert "a" in found["groups"].iloc[0] or found["groups"].iloc[0] == ""


def test_ranking_of_mirrored_stars_is_reversed() -> None:
    ratings, _, shown = simulate(STUDY, 6)
    base = rank_techniques(ratings, shown)
    back = rank_techniques(ratings, shown, directions={"Q1": -1, "Q2": -1})
    assert back["technique"].tolist() == base["technique"].tolist()[::-1]


@pytest.mark.parametrize("what", ["one star", "no votes", "one technique", "one annotator"])
def test_thin_studies_are_ranked_with_a_note(what: str) -> None:
    ratings, _, shown = simulate(Study(samples=60), 7)
    if what == "one star":
        ratings = ratings.assign(rating=2)
    elif what == "no votes":
        ratings = ratings.head(0)
    elif what == "one annotator":
        ratings = ratings[ratings["annotator_id"] == "a00"]
    else:
        shown = shown.assign(technique="only")
    found = rank_techniques(ratings, shown)
    assert (found["note"] != "").all()
    if what != "one annotator":
        assert found["estimate"].isna().all()
    technique_scores(ratings, shown)
    top_techniques(ratings, shown)
    score_differences(ratings, shown)


def test_annotator_means_are_blocks_for_the_critical_difference() -> None:
    ratings, samples = _stars({"w": [5, 1], "x": [4, 5]})
    assert annotator_means(ratings, samples).to_numpy().tolist() == [[5, 4], [1, 5]]


def test_images_of_two_datasets_with_one_number_are_two_images() -> None:
    samples = pd.DataFrame({"sample_id": ["s", "t"], "dataset": ["a", "b"], "image_id": ["1", "1"]})
    assert describe_samples(samples)["image"].tolist() == ["a/1", "b/1"]
