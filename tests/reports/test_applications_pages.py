"""The report on applications: numbers are those of the tables, verdicts follow the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pasta.annotations.protocol import load_protocol
from reports.source.document import Document, Picture
from reports.source.pages.applications import applications_findings, applications_report
from reports.source.pages.applications_choice import change, served, verdict
from reports.source.pages.applications_new_maps import (
    backbones_sentence,
    steering_sentence,
    tuning_sentence,
)
from reports.source.plots.applications import backbone_figure, spread, tuning_figure
from reports.source.typesetting import compiled
from tests.reports.applications_made_up import backbones, mixture, steering, tuning
from tests.reports.studies import as_read, cells, words

Tables = dict[str, dict[str, pd.DataFrame]]
NAMES = ("mixture", "pareto", "examples", "steering-0", "backbones", "tuning-lime-resnet50")


def report(
    tables: Any,
    pictures: dict[str, Path],
    simulated: bool,
    question: str = "Q1",
    version: str = "p2",
) -> Document:
    protocol = load_protocol(version)
    return applications_report(tables, pictures, simulated, protocol=protocol, question=question)


@pytest.fixture(name="tables", scope="module")
def _tables() -> Tables:
    parts = {
        "mixture": mixture(),
        "steering": steering(),
        "backbones": backbones(),
        "tuning": tuning(),
    }
    return {name: as_read(own) for name, own in parts.items()}


@pytest.fixture(name="pictures", scope="module")
def _pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pictures")
    files = {name: folder / f"{name}.jpg" for name in NAMES}
    for file in files.values():
        Image.new("RGB", (900, 40), "white").save(file)
    return files


@pytest.fixture(name="document", scope="module")
def _document(tables: Tables, pictures: dict[str, Path]) -> Document:
    return report(tables, pictures, True)


def test_the_whole_report_is_typeset_with_all_pictures_at_their_size(
    document: Document, pictures: dict[str, Path]
) -> None:
    assert compiled(document, {}).startswith(b"%PDF")
    shown = [block for block in document.blocks if isinstance(block, Picture)]
    files = {block.figure: block.width for block in shown if isinstance(block.figure, Path)}
    assert set(files) == set(pictures.values())
    assert files[pictures["steering-0"]] == pytest.approx(0.5)  # half as wide as the text
    assert "has not been drawn" not in words(document)


def test_the_mixture_is_compared_with_what_somebody_would_do_without_it(
    document: Document, tables: Tables
) -> None:
    comparison = tables["mixture"]["comparison"]
    [found] = comparison[
        (comparison["images"] == "cross-fitted")
        & (comparison["measure"] == "quality")
        & (comparison["against"] == "best on other images")
    ].to_dict("records")
    row = {str(name): value for name, value in found.items()}
    text = words(document)
    assert change(row) in text and served(row) in text
    rows = cells(document, "The mixture against other ways")
    assert ["cross-fitted", "true quality", "best on other images"] in [row[:3] for row in rows]
    assert [row[2] for row in rows if row[2].endswith("best here")]


def test_the_mixture_never_scores_below_the_best_single_method(document: Document) -> None:
    rows = [
        row
        for row in cells(document, "The mixture against other ways")[1:]
        if row[1] == "predicted stars"
    ]
    assert rows and all(row[6].startswith("+") and row[-1] == "0" for row in rows)


def test_ties_are_said() -> None:
    own = mixture()
    own["choices"] = own["choices"].assign(tied=[2] * 3 + [1] * 9, undecided=[True] + [False] * 11)
    text = words(report({"mixture": as_read(own)}, {}, True))
    assert "On 3 images the first place is shared" in text
    assert "On 1 image all methods have the same score" in text


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (1.0, "people would be better served"),
        (-1.0, "people would be worse served"),
        (0.0, "it is not clear that people would be better served"),
    ],
)
def test_true_quality_is_the_judge_of_steering_whatever_the_score_says(
    gain: float, said: str
) -> None:
    text = steering_sentence(steering(8, gain)["curve"], 1)
    assert "predicted stars change by +1.00" in text and "a clear loss" in text
    assert text.split(": ")[-1].startswith(said)


def test_too_few_images_are_no_evidence() -> None:
    own = {"steering": as_read(steering(4, gain=1.0))}
    text = words(report(own, {}, True))
    assert "too few images to say whether people would be better served" in text
    assert "With 4 images there are no intervals" in text
    assert "4 maps" not in text and "3 of 12 maps look like nothing" in text


@pytest.mark.parametrize(
    ("gain", "said"), [(0.3, "better served"), (-0.3, "worse served"), (0.0, "it is not clear")]
)
def test_tuned_settings_are_judged_on_held_out_images(gain: float, said: str) -> None:
    text = tuning_sentence(as_read(tuning(gain))["verdict"], 1)
    assert "Kernel width 0.1 is chosen over kernel width 0.25" in text
    assert "+0.40" in text and said in text
    assert "Faithfulness changes by −0.200" in text and "a clear loss" in text


def test_kernel_widths_stand_beside_those_of_the_paper(document: Document) -> None:
    rows = cells(document, "Settings of LIME on ResNet50")
    assert rows[0][-1] == "P1, Table 23"
    assert {row[0]: row[-1] for row in rows[1:]} == {
        "kernel width 0.25": "2.16",
        "kernel width 0.1": "2.25",
    }
    assert "In P1's Table 23 the best kernel width is 0.1" in words(document)


@pytest.mark.parametrize(
    ("fall", "said"),
    [(-1.0, "As in P2"), (1.0, "opposite of P2's claim"), (0.0, "neither seen nor refuted")],
)
def test_backbones_say_whether_the_papers_claim_is_seen(fall: float, said: str) -> None:
    assert said in backbones_sentence(as_read(backbones(fall))["trends"])


def test_artefacts_in_the_background_are_counted(document: Document) -> None:
    text = words(document)
    assert "1.0 % (narrow) and 5.0 % (wide)" in text.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "They gather there on 1 of 2 towers." in text


def test_every_part_of_the_papers_has_a_row_that_says_if_it_was_seen(document: Document) -> None:
    rows = {row[0]: row for row in cells(document, "The papers' applications")[1:]}
    assert list(rows) == [
        "P2, Figure 1", "P2, Figure 7", "P2, text", "P2, Figure 8", "P2, Figure 9",
        "P1, Tables 21 and 22", "P1, Table 23", "P1, Table 24",
    ]  # fmt: skip
    assert rows["P2, Figure 8"][-1] == "yes" and rows["P2, Figure 7"][-1] == "no"
    assert "0.0627" in rows["P2, text"][1]


def test_missing_parts_and_pictures_are_said_and_nothing_is_claimed() -> None:
    document = report({}, {}, False)
    text = words(document)
    for what in (
        "No application has been run", "mixture of methods: it was not", "Steering: it was not",
        "they were not compared", "nothing was tuned", "no explanation has both",
        "Faithfulness against score: it was not",
    ):  # fmt: skip
        assert what in text
    assert "served" not in text
    assert {row[2] for row in cells(document, "The papers' applications")[1:]} == {"not run"}
    assert applications_findings({}) == []
    assert compiled(document, {}).startswith(b"%PDF")


def test_without_a_judge_nobody_is_said_to_be_served(tables: Tables) -> None:
    def blind(frame: pd.DataFrame) -> pd.DataFrame:
        if "measure" in frame:
            return frame[frame["measure"] != "quality"]
        return frame.assign(quality=np.nan) if "quality" in frame else frame

    parts = {
        name: {key: blind(frame) for key, frame in own.items()} for name, own in tables.items()
    }
    document = report(parts, {}, False)
    text = words(document)
    assert "people would be better served" not in text.replace(
        "nobody judges whether people would be better served", ""
    )
    assert "There is no other judge than the score" in text
    assert compiled(document, {}).startswith(b"%PDF")


def test_findings_have_a_sentence_for_each_application(tables: Tables) -> None:
    said = applications_findings(tables)
    assert [sentence.split()[0] for sentence in said[::2]] == ["Taking", "From", "For"]
    assert "Pareto front" in said[1] and said[3].startswith("Steering") and len(said) == 5
    assert all(sentence.endswith(".") and "nan" not in sentence for sentence in said)
    assert "people would be better served" in said[3] and "better served" in said[4]


def test_less_is_better_where_the_question_says_so() -> None:
    row: dict[str, Any] = {"low": -0.4, "high": -0.1, "estimate": -0.2, "n": 9}
    assert (verdict(row), verdict(row, -1)) == ("worse", "better")
    own = {"steering": as_read(steering())}
    assert "The score did not even improve" in words(report(own, {}, True, "Q5"))


def test_what_is_better_is_what_the_protocol_of_the_study_says() -> None:
    """P1 asks in Q5 how alike two explanations are, P2 how different."""
    own = {"steering": as_read(steering())}
    printed = {version: words(report(own, {}, True, "Q5", version)) for version in ("p1", "p2")}
    assert "few stars are good news" in printed["p2"]
    assert "few stars are good news" not in printed["p1"]
    assert "The score did not even improve" not in printed["p1"]
    for version, text in printed.items():
        assert load_protocol(version).question("Q5").wording in text


def test_settings_are_drawn_in_the_order_of_their_numbers() -> None:
    own = tuning()
    rows = pd.concat([own["candidates"]] * 2, ignore_index=True)
    rows["candidate"] = ["segments 10", "segments 9", "segments 100", "segments 9.5"]
    figure = tuning_figure(rows, own["verdict"])
    names = [tick.get_text().split(" (")[0] for tick in figure.axes[0].get_yticklabels()]
    assert names[::-1] == ["segments 9", "segments 9.5", "segments 10", "segments 100"]


def test_towers_are_drawn_for_a_page_with_names_that_people_know() -> None:
    own = backbones()
    figure = backbone_figure(own["summary"], own["towers"])
    assert figure.get_figwidth() <= 6.3
    assert {"GradCAM", "RISE"} <= {text.get_text() for text in figure.axes[0].texts}


def test_names_beside_curves_are_a_gap_apart_and_none_is_above_its_panel() -> None:
    assert spread([0.0, 0.1, 2.0], 0.5, 3.0) == [0.0, 0.5, 2.0]
    assert spread([1.9, 1.95, 2.0], 0.5, 2.0) == [1.0, 1.5, 2.0]
    assert spread([], 0.5, 1.0) == []
