"""The report on applications: numbers are those of the tables, verdicts follow the judge."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pasta.studies.ratings.protocol import load_protocol
from reports.source.pages.applications import (
    applications_findings,
    applications_report,
    describe_backbones,
    describe_steering,
    describe_study,
    judge,
    say_served,
    write_change,
)
from reports.source.plots.applications import spread, tuning_figure
from reports.source.typesetting import Report
from tests.reports.applications_made_up import backbones, mixture, steering, tuning
from tests.reports.studies import as_read, figures, printed

Tables = dict[str, dict[str, pd.DataFrame]]
NAMES = ("mixture", "pareto", "examples-Q1", "steering-0", "backbones", "tuning-lime-resnet50")


def report(
    tables: Any,
    pictures: dict[str, Path],
    simulated: bool,
    question: str = "Q1",
    version: str = "p2",
) -> Report:
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
def _document(tables: Tables, pictures: dict[str, Path]) -> Report:
    return report(tables, pictures, True)


def test_the_whole_report_is_typeset_with_all_pictures_at_their_size(
    document: Report, pictures: dict[str, Path]
) -> None:
    assert set(figures(document.content)) >= set(pictures.values())
    assert document.content["pictures"]["steering-0"]["pixels"] == 900
    assert "has not been drawn" not in printed(document)


def test_the_mixture_is_compared_with_what_somebody_would_do_without_it(
    document: Report, tables: Tables
) -> None:
    comparison = tables["mixture"]["comparison"]
    [found] = comparison[
        (comparison["images"] == "cross-fitted")
        & (comparison["measure"] == "quality")
        & (comparison["against"] == "best on other images")
    ].to_dict("records")
    row = {str(name): value for name, value in found.items()}
    [worth] = [
        one for one in document.content["mixture"]["worth"] if one["images"] == row["images"]
    ]
    assert (worth["change"], worth["served"]) == (write_change(row), say_served(row))
    rows = document.content["mixture"]["table"]["rows"]
    assert ["cross-fitted", "true quality", "best on other images"] in [row[:3] for row in rows]
    assert [row[2] for row in rows if row[2].endswith("best here")]


def test_ties_are_said() -> None:
    own = mixture()
    own["choices"] = own["choices"].assign(tied=[2] * 3 + [1] * 9, undecided=[True] + [False] * 11)
    text = printed(report({"mixture": as_read(own)}, {}, True))
    assert "On 3 images the first place is shared" in text
    assert "On 1 image all methods have the same score" in text


@pytest.mark.parametrize(
    ("gain", "verdict_words"),
    [
        (1.0, "people would be better served"),
        (-1.0, "people would be worse served"),
        (0.0, "it is not clear that people would be better served"),
    ],
)
def test_true_quality_is_the_judge_of_steering_whatever_the_score_says(
    gain: float, verdict_words: str
) -> None:
    curve = (describe_steering(steering(8, gain), 1) or {})["curve"]
    assert curve["score"]["change"].startswith("+1.00")
    assert curve["faithfulness"]["verdict"] == "worse"
    assert curve["quality"]["served"] == verdict_words


def test_too_few_images_are_no_evidence() -> None:
    own = {"steering": as_read(steering(4, gain=1.0))}
    text = printed(report(own, {}, True))
    assert "too few images to say whether people would be better served" in text
    assert "With 4 images there are no intervals" in text
    assert "4 maps" not in text and "3 of 12 maps look like nothing" in text


@pytest.mark.parametrize(("gain", "judged"), [(0.3, "better"), (-0.3, "worse"), (0.0, "open")])
def test_tuned_settings_are_judged_on_held_out_images(gain: float, judged: str) -> None:
    own = as_read(tuning(gain))
    study = describe_study("lime/resnet50", own["candidates"], own["verdict"], 1)
    assert (study["tuned"], study["default"]) == ("kernel width 0.1", "kernel width 0.25")
    assert study["new"]["change"].startswith("+0.40") and study["quality"]["verdict"] == judged
    assert study["faithfulness"]["change"].startswith("−0.200")
    assert study["faithfulness"]["verdict"] == "worse"


def test_kernel_widths_stand_beside_those_of_the_paper(document: Report) -> None:
    [study] = document.content["tuning"]
    assert study["title"] == "LIME on ResNet50"
    assert study["candidates"]["columns"][-1] == "paper"
    assert {row[0]: row[-1] for row in study["candidates"]["rows"]} == {
        "kernel width 0.25": "2.16",
        "kernel width 0.1": "2.25",
    }
    assert document.content["paper"]["kernel_width"] == "0.1" and study["lime"]["width"] == "0.1"
    assert "In P1's Table 23 the best kernel width is 0.1" in printed(document)


@pytest.mark.parametrize(("fall", "claim"), [(-1.0, "worse"), (1.0, "better"), (0.0, "open")])
def test_backbones_say_whether_the_papers_claim_is_seen(fall: float, claim: str) -> None:
    found = describe_backbones(as_read(backbones(fall)))
    assert found is not None and found["claim"] == claim


def test_artefacts_in_the_background_are_counted(document: Report) -> None:
    found = document.content["backbones"]
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert found["outliers"] == [f"1.0{thin}% (narrow)", f"5.0{thin}% (wide)"]
    assert "They gather there on 1 of 2 towers." in printed(document)


def test_every_part_of_the_papers_has_a_row_that_says_if_it_was_seen(document: Report) -> None:
    text = printed(document)
    for where in (
        "P2, Figure 1", "P2, Figure 7", "P2, text", "P2, Figure 8", "P2, Figure 9",
        "P1, Tables 21 and 22", "P1, Table 23", "P1, Table 24",
    ):  # fmt: skip
        assert where in text
    content = document.content
    assert content["backbones"]["claim"] == "worse" and content["mixture"]["most"] != "FullGrad"
    assert content["paper"]["mixture_faithfulness"] == "0.0627"
    assert "not run" not in text


def test_missing_parts_and_pictures_are_said_and_nothing_is_claimed() -> None:
    document = report({}, {}, False)
    text = printed(document)
    for what in (
        "No application has been run", "mixture of methods: it was not", "Steering: it was not",
        "they were not compared", "nothing was tuned", "no explanation has both",
        "Faithfulness against score: it was not",
    ):  # fmt: skip
        assert what in text
    assert "served" not in text
    assert text.count("not run") == 8
    assert applications_findings({}) == []


def test_without_a_judge_nobody_is_said_to_be_served(tables: Tables) -> None:
    def blind(frame: pd.DataFrame) -> pd.DataFrame:
        if "measure" in frame:
            return frame[frame["measure"] != "quality"]
        return frame.assign(quality=np.nan) if "quality" in frame else frame

    parts = {
        name: {key: blind(frame) for key, frame in own.items()} for name, own in tables.items()
    }
    text = printed(report(parts, {}, False))
    assert "people would be better served" not in text.replace(
        "nobody judges whether people would be better served", ""
    )
    assert "There is no other judge than the score" in text


def test_findings_have_a_sentence_for_each_application(tables: Tables) -> None:
    found = applications_findings(tables)
    assert [one.split()[0] for one in found[:-1]] == ["Taking", "From", "Steering", "For"]
    assert "Pareto front" in found[-1] and len(found) == 5
    assert all(sentence.endswith(".") and "nan" not in sentence for sentence in found)
    assert "people would be better served" in found[2] and "better served" in found[3]


def test_no_benefit_is_claimed_that_the_public_scorer_does_not_show(tables: Tables) -> None:
    rows = tables["mixture"]["comparison"]
    quality = (rows["measure"] == "quality") & (rows["against"] == "best on other images")
    crossed = quality & (rows["images"] == "cross-fitted")
    held_out = quality & (rows["images"] == "held-out")
    assert crossed.sum() == 1 and held_out.sum() == 1
    ends = ["estimate", "low", "high"]
    for public, served in {
        (-0.06, -0.75, 0.68): "it is not clear that people would be better served",
        (0.4, 0.1, 0.7): ": people would be better served",
    }.items():
        changed = rows.copy()
        changed.loc[crossed, ends] = (0.3, 0.1, 0.5)
        changed.loc[held_out, ends] = public
        told = applications_findings({"mixture": tables["mixture"] | {"comparison": changed}})[0]
        assert "+0.30 [0.10, 0.50]" in told and served in told


def test_what_is_better_is_what_the_protocol_of_the_study_says() -> None:
    """P1 asks in Q5 how alike two explanations are, P2 how different."""
    row: dict[str, Any] = {"low": -0.4, "high": -0.1, "estimate": -0.2, "n": 9}
    assert (judge(row), judge(row, -1)) == ("worse", "better")
    own = {"steering": as_read(steering())}
    for version, turned in {"p1": False, "p2": True}.items():
        document = report(own, {}, True, "Q5", version)
        asked = document.content["asked"]
        assert asked["wording"] == load_protocol(version).question("Q5").wording
        assert asked["turned"] is turned
        assert document.content["steering"]["curve"]["falls"] == turned
        text = printed(document)
        assert ("few stars are good news" in text) == turned
        assert ("The score did not even improve" in text) == turned


def test_settings_are_drawn_in_the_order_of_their_numbers() -> None:
    own = tuning()
    rows = pd.concat([own["candidates"]] * 2, ignore_index=True)
    rows["candidate"] = ["segments 10", "segments 9", "segments 100", "segments 9.5"]
    figure = tuning_figure(rows, own["verdict"])
    names = [tick.get_text().split(" (")[0] for tick in figure.axes[0].get_yticklabels()]
    assert names[::-1] == ["segments 9", "segments 9.5", "segments 10", "segments 100"]


def test_names_beside_curves_are_a_gap_apart_and_none_is_above_its_panel() -> None:
    assert spread([0.0, 0.1, 2.0], 0.5, 3.0) == [0.0, 0.5, 2.0]
    assert spread([1.9, 1.95, 2.0], 0.5, 2.0) == [1.0, 1.5, 2.0]
    assert spread([], 0.5, 1.0) == []


@pytest.mark.parametrize("size", [0.0, 0.004, 0.09, 1.7, 30.0])
def test_ticks_of_differences_do_not_touch_whatever_their_size(size: float) -> None:
    own = tuning()
    ends = {"estimate": 0.0, "low": -size, "high": size}
    figure = tuning_figure(own["candidates"], own["verdict"].assign(**ends))
    figure.draw_without_rendering()
    for panel in figure.axes[1:]:
        boxes = [one.get_window_extent() for one in panel.get_xticklabels() if one.get_text()]
        assert len(boxes) == (2 if size else 1)
        assert all(one.x1 < two.x0 for one, two in pairwise(boxes)), size


def test_a_setting_that_cannot_be_chosen_says_why() -> None:
    own = tuning()
    best = own["candidates"]["score"].idxmax()
    rows = own["candidates"].assign(missing=0)
    rows.loc[best, "missing"] = 1
    rows["winner"] = rows.index != best
    found = describe_study("lime/resnet50", rows, own["verdict"], 1)["candidates"]["rows"]
    assert sum("has empty maps" in row[1] for row in found) == 1


def test_the_papers_scorer_stands_beside_ours_in_every_application(tables: Tables) -> None:
    verdicts = {
        "mixture": "comparison", "steering": "curve", "backbones": "trends", "tuning": "verdict"
    }  # fmt: skip
    both = {
        name: own
        | {
            "beside": pd.concat(
                [
                    own[verdicts[name]].assign(scorer="ordinal"),
                    own[verdicts[name]].assign(scorer="pasta-mlp", estimate=0.125),
                ]
            )
        }
        for name, own in tables.items()
    }
    document = report(both, {}, True)
    found = document.content["beside"]["table"]
    assert found["columns"][2:] == ["ordinal model (ours)", "PASTA, MLP (P2)"]
    kinds = {row[0].partition(",")[0].split()[0] for row in found["rows"]}
    assert kinds == {"mixture", "steering", "largest", "tuned"}
    assert all(row[3].startswith("+0.12") or row[3].startswith("+0.13") for row in found["rows"])
    own = tables["steering"]["curve"]
    [quality] = own[(own["weight"] == 1) & (own["measure"] == "quality")].to_dict("records")
    row = {str(name): value for name, value in quality.items()}
    [line] = [
        row for row in found["rows"] if row[:2] == ["steering, λ = 1 against RISE", "true quality"]
    ]
    assert line[2] == write_change(row)
    assert "No second scorer" not in printed(document)
    assert report(tables, {}, True).content["beside"] is None


def test_examples_have_a_sheet_for_each_question(tables: Tables) -> None:
    own = tables["mixture"]
    third = own["examples"].assign(question="Q3")
    both = own | {"examples": pd.concat([own["examples"], third])}
    document = report({"mixture": both}, {}, True)
    assert [part["question"] for part in document.content["examples"]] == ["Q1", "Q3"]
    assert "Votes and predicted stars on Q3" in " ".join(printed(document).split())
