"""dataset.pdf: sentences say what the tables say, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.suites.dataset import dataset_tables
from analysis.suites.preference import preference_tables
from pasta.annotations.protocol import load_protocol
from reports.source.document import Bullets, Document, Heading, Note, Picture, Table, Text
from reports.source.pages.dataset import dataset_report
from reports.source.pages.preference import (
    concordance_in_words,
    differences_in_words,
    favourites_in_words,
    mean_ranks_in_words,
    order_in_words,
)
from reports.source.typesetting import compiled
from tests.analysis.simulated import Study, simulate
from tests.analysis.test_suite_dataset import EXPLANATIONS, IMAGES, PEOPLE, PERTURBED, VOTES

DIFFERENCE = {
    "question": "Q1", "comparison": "concept - saliency", "n": 90, "estimate": -0.5, "low": -0.8,
    "high": -0.2, "p": 0.001, "p_holm": 0.002, "margin": 0.25, "p_equivalence": 0.9,
    "smallest_effect": 0.4,
}  # fmt: skip


def words(document: Document) -> str:
    """All sentences of a document."""
    said = []
    for block in document.blocks:
        if isinstance(block, Text | Note | Heading):
            said.append(block.text)
        elif isinstance(block, Bullets):
            said += block.items
    return "\n".join(said)


def report(folder: Path, version: str = "p2") -> Document:
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Made once: no test changes it."""
    return report(tmp_path_factory.mktemp("pictures"))


def _png() -> bytes:
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(np.full((4, 4, 3), 200, np.uint8)).save(buffer, "png")
    return buffer.getvalue()


def test_two_builds_of_the_report_are_equal(tmp_path: Path) -> None:
    first, second = (compiled(report(tmp_path), {"Commit": "0"}) for _ in range(2))
    assert first.startswith(b"%PDF") and first == second


def test_every_part_is_there_with_its_numbers(whole: Document) -> None:
    said = words(whole)
    for part in ("Images", "Models", "Techniques", "Gallery", "Perturbed copies", "Votes",
                 "What people prefer", "The order of techniques", "Favourites"):  # fmt: skip
        assert part in said
    assert "91\N{NARROW NO-BREAK SPACE}%" in said and "ResNet50 on COCO" in said
    assert "3 are usable; 1 are zero everywhere (cam on r: 1)" in said
    assert "The raters are a program" in said


def test_pictures_that_were_not_drawn_are_said_to_be_missing(whole: Document) -> None:
    notes = [block.text for block in whole.blocks if isinstance(block, Note)]
    assert any("resnet50 has not been drawn" in note for note in notes)
    assert not any("picture datasets" in note for note in notes)
    assert any(isinstance(block, Picture) and block.alt for block in whole.blocks)


def test_nothing_at_all_still_makes_a_report_that_says_so() -> None:
    document = dataset_report({}, {}, False, load_protocol("p2"))
    assert not any(isinstance(block, Table | Picture) for block in document.blocks)
    assert compiled(document, {}).startswith(b"%PDF")
    counted = {"dataset": dataset_tables(votes=VOTES, annotators=PEOPLE)}
    reasons = dataset_report(counted, {}, False, load_protocol("p2"))
    assert "no table of images was given" in words(reasons)


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
    said = " ".join(order_in_words(pd.DataFrame(rows | {"rank_bradley_terry": [1, 2]})))
    assert "**LIME on ResNet50** comes first of 2 techniques" in said and "**own** last" in said
    assert "places 1 to 2 open for the first" in said and "gives the same order" in said
    moved = " ".join(order_in_words(pd.DataFrame(rows | {"rank_bradley_terry": [2, 1]})))
    assert "by more than 1 place." in moved


def test_favourites_say_nothing_about_kinds_that_are_not_known() -> None:
    top = pd.DataFrame({"technique": [f"m{place}" for place in range(14)], "n": 4, "kind": None})
    top = top.assign(count=[4.0] * 12 + [0.0] * 2, estimate=1.0, low=0.5, high=1.0)
    said = " ".join(favourites_in_words(top))
    assert "m0 is among those of 4 of 4 annotators" in said and "concepts" not in said
    assert "2 techniques are nobody's favourite" in said
    known = top.assign(kind=["concept"] + ["saliency"] * 13)
    assert "1 is by concepts" in " ".join(favourites_in_words(known))
    assert "all are favourites" in favourites_in_words(top.head(3))[-1]


@pytest.mark.parametrize(("p", "claim"), [(0.001, "Techniques differ"), (0.4, "No difference")])
def test_mean_ranks_claim_a_difference_only_if_the_test_does(p: float, claim: str) -> None:
    ranks = pd.DataFrame({"n": [5], "p": [p], "chi_square": [9.0], "critical_difference": [2.0]})
    assert claim in mean_ranks_in_words(ranks)


def test_a_ranking_without_agreement_names_no_winner() -> None:
    agreed = {"question": ["Q7"], "estimate": [0.1], "low": [0.0], "high": [0.3]}
    agreed |= {"friedman": [1.0], "p_permutation": [0.5]}
    positions = pd.DataFrame({"question": "Q7", "item": ["a", "b"], "estimate": [1.4, 1.6]})
    said = concordance_in_words(pd.DataFrame(agreed), positions, {"Q7": ("Most", "Least")})
    assert said == [
        "Q7: no common order is seen (W = 0.10 [0.00, 0.30], Friedman's χ² = 1.0, p = 0.50)."
    ]
    sure = concordance_in_words(
        pd.DataFrame(agreed | {"p_permutation": [0.01]}), positions, {"Q7": ("Most", "Least")}
    )
    assert "a is nearest to “most” (mean position 1.4), b to “least” (1.6)" in sure[0]


def test_the_published_protocol_says_which_questions_are_turned(whole: Document) -> None:
    protocol = load_protocol("p2")
    fewer = [name for name in protocol.stars if protocol.question(name).direction == -1]
    assert f"On {fewer[0]} fewer stars are better" in words(whole)


def test_the_protocol_of_the_study_says_which_questions_are_turned(tmp_path: Path) -> None:
    assert "fewer stars are better" not in words(report(tmp_path, "p1"))
