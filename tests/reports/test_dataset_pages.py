"""dataset.pdf: sentences say what the tables say, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasta.studies.ratings.analyses.dataset import dataset_tables
from pasta.studies.ratings.analyses.preference import preference_tables
from pasta.studies.ratings.protocol import load_protocol
from reports.source.pages.dataset import (
    dataset_report,
    describe_concordance,
    describe_favourites,
    describe_mean_ranks,
    describe_ranking,
    differences_in_words,
)
from reports.source.typesetting import Report
from tests.analysis.simulated import Study
from tests.reports.studies import figures, printed, said
from tests.studies.ratings.analysed import simulate
from tests.studies.ratings.test_analyses import EXPLANATIONS, IMAGES, PEOPLE, PERTURBED, VOTES

DIFFERENCE = {
    "question": "Q1", "comparison": "concept - saliency", "n": 90, "estimate": -0.5, "low": -0.8,
    "high": -0.2, "p": 0.001, "p_holm": 0.002, "margin": 0.25, "p_equivalence": 0.9,
    "smallest_effect": 0.4,
}  # fmt: skip


def report(folder: Path, version: str = "p2") -> Report:
    """The report on a small study with everything but the gallery."""
    ratings, people, shown = simulate(Study(samples=90, technique=0.8), 0)
    ranks = [
        (f"a{who}", "Q7", item, place)
        for who in range(4)
        for place, item in enumerate(("Trustworthy", "Complexity"), start=1)
    ]
    rankings = pd.DataFrame(ranks, columns=["annotator_id", "question", "item", "position"])
    counts = dataset_tables(IMAGES, EXPLANATIONS, PERTURBED, ratings, people, published={"lime/r"})
    accuracy = {"dataset": ["coco"], "model": ["resnet50"], "measure": ["accuracy"]}
    counts["accuracy"] = pd.DataFrame(accuracy | {"estimate": 0.91, "low": 0.85, "high": 0.95})
    picture = folder / "datasets.png"
    picture.write_bytes(_png())
    tables = {"dataset": counts, "preference": preference_tables(ratings, shown, rankings)}
    return dataset_report(tables, {"datasets": picture}, True, load_protocol(version))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Made once: no test changes it."""
    return report(tmp_path_factory.mktemp("pictures"))


def _png() -> bytes:
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(np.full((4, 4, 3), 200, np.uint8)).save(buffer, "png")
    return buffer.getvalue()


def test_every_part_is_there_with_its_numbers(whole: Report) -> None:
    text = printed(whole)
    for part in ("Images", "Models", "Techniques", "Gallery", "Perturbed copies", "Votes",
                 "What people prefer", "The order of techniques", "Favourites"):  # fmt: skip
        assert part in text
    assert whole.content["models"]["best"] == (
        "91\N{NARROW NO-BREAK SPACE}% (ResNet50 on COCO indoor scenes)"
    )
    techniques = whole.content["techniques"]
    assert (techniques["usable"], techniques["explanations"]) == (3, 4)
    assert techniques["unusable"] == ["1 are zero everywhere"]
    assert techniques["worst"] == ["cam on r: 1"]
    assert "The raters are a program" in text


def test_pictures_that_were_not_drawn_are_said_to_be_missing(whole: Report) -> None:
    text = printed(whole)
    assert "resnet50 has not been drawn" in text
    assert "picture datasets" not in text
    assert list(whole.content["pictures"]) == ["datasets"]


def test_nothing_at_all_still_makes_a_report_that_says_so() -> None:
    report = dataset_report({}, {}, False, load_protocol("p2"))
    assert not figures(report.content)
    assert printed(report).count("Missing.") == 16
    counted = {"dataset": dataset_tables(votes=VOTES, annotators=PEOPLE)}
    reasons = dataset_report(counted, {}, False, load_protocol("p2"))
    assert "no table of images was given" in said(reasons)


def test_a_clear_difference_is_told_with_direction_interval_and_p() -> None:
    said = differences_in_words(pd.DataFrame([DIFFERENCE]), str, "Kinds")
    assert said == [
        "Kinds differ clearly: on Q1 concept have 0.50 stars fewer than saliency "
        "([\N{MINUS SIGN}0.80, \N{MINUS SIGN}0.20], p = 0.002)."
    ]


def test_equal_and_open_comparisons_are_not_called_different() -> None:
    equal = DIFFERENCE | {"question": "Q2", "p_holm": 1.0, "p_equivalence": 0.01}
    unclear = DIFFERENCE | {"question": "Q3", "p_holm": 0.3, "p_equivalence": 0.4}
    said = differences_in_words(pd.DataFrame([equal, unclear]), str, "Kinds")
    assert said[0].startswith("No difference between kinds is clear once 2 comparisons")
    assert said[1] == "Equal within 0.25 stars: Q2 (concept and saliency)."
    assert said[2].startswith("The other 1 comparison is open")
    assert differences_in_words(pd.DataFrame([DIFFERENCE | {"p": np.nan}]), str, "Kinds") == []


def test_the_order_tells_first_last_and_what_is_open() -> None:
    rows = {"technique": ["lime/resnet50", "own"], "estimate": [1.0, -1.0], "low": [0.5, -1.5]}
    rows |= {"high": [1.5, -0.5], "rank": [1, 2], "rank_low": [1, 1], "rank_high": [2, 2]}
    found = describe_ranking(pd.DataFrame(rows | {"rank_bradley_terry": [1, 2]}))
    first, last = found["first"], found["last"]
    assert (first["technique"], last["technique"]) == ("LIME on ResNet50", "own")
    assert first["strength"] == "+1.00 [0.50, 1.50]" and first["places"] == "1 to 2"
    assert found["moved"] == 0
    assert describe_ranking(pd.DataFrame(rows | {"rank_bradley_terry": [2, 1]}))["moved"] == 1


def test_favourites_say_nothing_about_kinds_that_are_not_known() -> None:
    top = pd.DataFrame({"technique": [f"m{place}" for place in range(14)], "n": 4, "kind": None})
    top = top.assign(count=[4.0] * 12 + [0.0] * 2, estimate=1.0, low=0.5, high=1.0)
    found = describe_favourites(top)
    lead = found["lead"]
    assert (lead["technique"], lead["count"], lead["annotators"]) == ("m0", "4", 4)
    assert found["concepts"] is None and found["never"] == 2 and not found["all"]
    known = top.assign(kind=["concept"] + ["saliency"] * 13)
    assert describe_favourites(known)["concepts"] == 1
    assert describe_favourites(top.head(3))["all"]


@pytest.mark.parametrize(("p", "differ"), [(0.001, True), (0.4, False)])
def test_mean_ranks_claim_a_difference_only_if_the_test_does(p: float, differ: bool) -> None:
    ranks = pd.DataFrame({"n": [5], "p": [p], "chi_square": [9.0], "critical_difference": [2.0]})
    said = describe_mean_ranks(ranks)
    assert said["differ"] == differ and said["test"].startswith("Friedman's χ² = 9.0")
    said = describe_mean_ranks(ranks.assign(test="Skillings-Mack"))
    assert not said["whole"] and said["test"].startswith("Skillings' and Mack's χ² = 9.0")


def test_a_ranking_without_agreement_names_no_winner() -> None:
    agreed = {"question": ["Q7"], "estimate": [0.1], "low": [0.0], "high": [0.3]}
    agreed |= {"friedman": [1.0], "p_permutation": [0.5]}
    positions = pd.DataFrame({"question": "Q7", "item": ["a", "b"], "estimate": [1.4, 1.6]})
    ends = {"Q7": ("Most", "Least")}
    [open_one] = describe_concordance(pd.DataFrame(agreed), positions, ends)
    assert open_one["test"] == "W = 0.10 [0.00, 0.30], Friedman's χ² = 1.0, p = 0.50"
    assert open_one["ends"] == []
    [sure] = describe_concordance(pd.DataFrame(agreed | {"p_permutation": [0.01]}), positions, ends)
    assert [tuple(end.values()) for end in sure["ends"]] == [
        ("a", "most", "1.4"),
        ("b", "least", "1.6"),
    ]
