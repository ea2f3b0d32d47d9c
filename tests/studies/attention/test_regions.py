"""Regions that people draw: what is refused, what they cover, and how they are imported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw
from shapely.geometry import Polygon

from pasta.config import load_params
from pasta.errors import PastaError
from pasta.studies.attention import tables
from pasta.studies.attention.boxes import regions_of_boxes
from pasta.studies.attention.geometry import fill, polygon, problem
from pasta.studies.attention.masks import (
    Attention,
    failed_checks,
    image_attention,
    word_attention,
)
from pasta.studies.attention.study import attention, bad_words
from pasta.studies.base import Study
from pasta.studies.checking import Known, check, summary
from pasta.studies.importing import SubmissionError, import_file
from pasta.studies.reading import read
from tests.conftest import ROOT

SIZE = (20, 30)
GOOD = "POLYGON ((2 2, 12 2, 12 9, 2 9, 2 2))"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD, ""),
        ("POLYGON ((1 1, 8 8, 8 1, 1 8, 1 1))", "it crosses itself near (4.5, 4.5)"),
        ("POLYGON ((1 1, 8 1, 8 8))", "it is not closed"),
        ("POLYGON ((1 1, 8 nan, 8 8, 1 1))", "a coordinate is not a number"),
        ("POLYGON ((100 100, 120 100, 120 120, 100 100))", "it lies outside the image"),
        ("POLYGON ((2 2, 90 2, 90 9, 2 9, 2 2))", "it reaches beyond the image of 30 x 20"),
        ("POLYGON ((1 1, 2 2, 3 3, 1 1))", "it covers nothing"),
        ("POLYGON EMPTY", "it has no points"),
        ("POINT (3 3)", "it is no polygon as WKT"),
        ("a polygon", "it is no polygon as WKT"),
        ("[[1, 1], [8, 1], [8, 8]]", ""),
        ("[[1, 1], [8, 8], [8, 1], [1, 8]]", "it crosses itself near (4.5, 4.5)"),
        ("[[1, 1], [8", "it is no polygon as WKT"),
    ],
)
def test_what_is_wrong_with_a_region_is_said(text: str, words: str) -> None:
    found = problem(text, SIZE)
    assert found.startswith(words) if words else not found


def test_a_region_covers_the_pixels_whose_centres_lie_in_it() -> None:
    corners = [(3.2, 2.1), (25.7, 5.4), (18.3, 17.9), (6.6, 12.2)]
    found = fill([polygon(corners)], SIZE)
    shape = Polygon(corners)
    expected = [
        [shape.contains(Polygon([(x, y), (x + 1e-9, y), (x, y + 1e-9)]).centroid)
         for x in np.arange(30) + 0.5]
        for y in np.arange(20) + 0.5
    ]  # fmt: skip
    assert (found == np.array(expected)).all()
    picture = Image.new("1", (30, 20))
    ImageDraw.Draw(picture).polygon(corners, fill=1)
    assert (found != np.asarray(picture)).mean() < 0.08  # but for the outline, as Pillow draws


def test_a_region_over_the_edge_is_cut_off() -> None:
    assert fill(["POLYGON ((-2 -2, 3 -2, 3 3, -2 3, -2 -2))"], SIZE).sum() == 9


def region(image: str, person: str, text: str | None, number: int = 0) -> dict[str, Any]:
    return {"image_id": image, "annotator_id": person, "region": number, "shape": "polygon",
            "points": text, "simulated": False}  # fmt: skip


def test_a_mask_is_the_share_of_people_clipped_by_the_object_and_normalised() -> None:
    rows = tables.REGIONS.frame(
        [
            region("coco/1", "ann", "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))"),
            region("coco/1", "bob", "POLYGON ((0 0, 5 0, 5 10, 0 10, 0 0))"),
            region("coco/1", "bob", "POLYGON ((20 0, 30 0, 30 10, 20 10, 20 0))", 1),
            region("coco/1", "cat", None),
        ]
    )
    objects = np.zeros(SIZE, bool)
    objects[:, :8] = True
    found = image_attention(rows, {"coco/1": objects})["coco/1"]
    assert found.people == ("ann", "bob", "cat")
    assert found.share[0, 0] == pytest.approx(2 / 3) and found.share[0, 9] == pytest.approx(1 / 3)
    assert found.mask[0, 0] == 1 and found.mask[0, 6] == 0.5 and found.mask[0, 9] == 0
    row = found.row()
    assert (row["people"], row["nothing"]) == (3, 1)
    assert image_attention(rows, {"coco/1": objects}, ["bob"])["coco/1"].people == ("ann", "cat")


def test_nobody_and_one_person_make_masks_without_agreement() -> None:
    empty = Attention(np.zeros((0, 4, 4), bool), np.ones((4, 4), bool), ())
    assert not empty.mask.any() and np.isnan(empty.row()["iou"])
    alone = Attention(np.ones((1, 4, 4), bool), np.ones((4, 4), bool), ("ann",))
    assert (alone.mask == 1).all() and np.isnan(alone.row()["alpha"])


def test_who_marks_beside_the_object_of_a_check_fails_it() -> None:
    rows = tables.REGIONS.frame(
        [
            region("coco/1", "ann", GOOD),
            region("coco/1", "bob", "POLYGON ((20 12, 29 12, 29 19, 20 19, 20 12))"),
            region("coco/1", "cat", None),
        ]
    )
    objects = np.zeros(SIZE, bool)
    objects[2:9, 2:12] = True
    assert failed_checks(rows, {"coco/1": objects}, 0.1) == {"bob": 0.0, "cat": 0.0}


def test_words_make_masks_too() -> None:
    rows = tables.WORDS.frame(
        [
            {"text_id": "t1", "annotator_id": "ann", "words": "0 2", "simulated": False},
            {"text_id": "t1", "annotator_id": "bob", "words": None, "simulated": False},
        ]
    )
    found = word_attention(rows, {"t1": 3})["t1"]
    assert found.share.tolist() == [0.5, 0, 0.5] and found.mask.tolist() == [1, 0, 1]


def test_words_beyond_a_text_and_unknown_texts_are_told_by_line() -> None:
    rows = tables.WORDS.frame(
        [
            {"text_id": one, "annotator_id": "ann", "words": words, "simulated": False}
            for one, words in (("t1", "0 2"), ("t2", "0 3"), ("t9", "0"), ("t1", None))
        ]
    )
    rows.index = pd.Index([2, 3, 4, 5])
    found = bad_words(rows, rows, {"t1": 3, "t2": 3})
    assert [(one.place, one.problem) for one in found] == [
        ("line 3", "a word lies beyond its text"),
        ("line 4", "the text is not known"),
    ]
    with pytest.raises(PastaError, match="another version"):
        word_attention(rows, {"t1": 3, "t2": 3})


@pytest.fixture(scope="module")
def study() -> Study:
    return attention(load_params(ROOT / "params.yaml"))


IMAGES = pd.DataFrame({"image_id": ["coco/1", "coco/2"]})
HEADER = "image_id,annotator_id,region,shape,points\n"


BAD = (
    'coco/1,ann,0,polygon,"POLYGON ((1 1, 8 8, 8 1, 1 8, 1 1))"\n'
    'coco/1,bob,0,polygon,"POLYGON ((2 2, 12 2, 12 9, 2 9, 2 2))"\n'
    'coco/2,ann,0,polygon,"POLYGON ((500 500, 600 500, 600 600, 500 500))"\n'
    "coco/9,ann,0,polygon,\n"
    "coco/2,bob,1,polygon,\n"
)


def found_in(folder: Path, study: Study, text: str) -> str:
    (folder / "regions.csv").write_text(HEADER + text)
    (folder / "people.csv").write_text("annotator_id,age\nann,30\nbob,\n")
    submission = read(folder, study)
    known = Known({"attention_images": IMAGES}, study.frames({}))
    return "\n".join(summary(check(submission, study, known).findings))


def test_every_bad_region_of_a_file_is_named_with_its_line(tmp_path: Path, study: Study) -> None:
    said = found_in(tmp_path, study, BAD)
    for words in ("it crosses itself", "line 2", "lies outside the image", "line 4",
                  "the image is not known", "line 5", "line 6"):  # fmt: skip
        assert words in said, said
    assert "line 3" not in said


def test_a_file_of_regions_is_imported_and_the_same_again_changes_nothing(
    tmp_path: Path, study: Study
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    assert not found_in(folder, study, f'coco/1,ann,0,polygon,"{GOOD}"\ncoco/1,bob,0,polygon,\n')
    outside = {"attention_images": IMAGES}
    first = import_file(folder, study, tmp_path / "batches", outside)
    assert first.batch is not None and first.counts["regions"].new == 2
    assert import_file(folder, study, tmp_path / "batches", outside).batch is None


def test_only_on_request_bad_answers_are_left_out_whole_and_named_one_by_one(
    tmp_path: Path, study: Study
) -> None:
    folder, batches = tmp_path / "given", tmp_path / "batches"
    folder.mkdir()
    second = f'coco/1,ann,1,polygon,"{GOOD}"\n'  # good, but of an answer that is not
    found_in(folder, study, BAD + second)
    outside = {"attention_images": IMAGES}
    with pytest.raises(SubmissionError):
        import_file(folder, study, batches, outside)
    assert not batches.exists() or not any(batches.iterdir())
    outcome = import_file(folder, study, batches, outside, lenient=True)
    assert outcome.batch is not None and outcome.counts["regions"].new == 1
    kept = pd.read_csv(outcome.batch / "regions.csv")
    assert (kept["image_id"] + kept["annotator_id"]).tolist() == ["coco/1bob"]
    said = sorted(outcome.dropped)
    assert [one.split(":")[0] for one in said] == [f"region at line {n}" for n in (2, 4, 5, 6)]
    assert "it crosses itself" in said[0] and "near (4.5, 4.5)" in said[0]


@pytest.mark.parametrize("lines", [BAD.splitlines()[0], "coco/1,ann,zero,polygon,"])
def test_a_file_without_a_good_answer_is_refused_all_the_same(
    tmp_path: Path, study: Study, lines: str
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    found_in(folder, study, f"{lines}\n")
    with pytest.raises(SubmissionError, match="nothing was stored"):
        import_file(folder, study, tmp_path / "batches", {"attention_images": IMAGES}, lenient=True)


def test_answers_that_belong_together_are_never_left_out(tmp_path: Path, study: Study) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    found_in(folder, study, BAD)
    whole = replace(study, lenient=False)
    with pytest.raises(PastaError, match="none can be left out"):
        import_file(folder, whole, tmp_path / "batches", {"attention_images": IMAGES}, lenient=True)


def coco(**changes: Any) -> dict[str, Any]:
    one = {"image_id": 7, "annotator_id": "ann", "segmentation": [[2, 2, 12, 2, 12, 9, 2, 9]]}
    return {
        "images": [{"id": 7, "file_name": "coco/1.jpg"}],
        "annotations": [{**one, **changes}, {"image_id": 7, "annotator_id": "bob",
                                             "bbox": [3, 4, 5, 6]}],
    }  # fmt: skip


def test_annotations_as_in_coco_are_polygons_and_boxes(tmp_path: Path, study: Study) -> None:
    file = tmp_path / "marks.json"
    file.write_text(json.dumps(coco()))
    outcome = import_file(file, study, tmp_path / "batches", {"attention_images": IMAGES})
    assert outcome.batch is not None
    rows = pd.read_csv(outcome.batch / "regions.csv")
    assert rows["shape"].tolist() == ["polygon", "box"]
    assert fill([rows["points"][1]], SIZE).sum() == 5 * 6


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"segmentation": [[1, 2, 3]]}, "a segmentation is no list of corners"),
        ({"segmentation": {"counts": [1]}}, "a segmentation is no list of corners"),
        ({"segmentation": [[1, 1, 8, 8, 8, 1, 1, 8]]}, "it crosses itself"),
        ({"image_id": 8}, "an annotation is of no image"),
        ({"annotator_id": ""}, "does not say whose it is"),
    ],
)
def test_a_bad_annotation_is_named_by_its_number(
    tmp_path: Path, study: Study, changes: dict[str, Any], words: str
) -> None:
    file = tmp_path / "marks.json"
    file.write_text(json.dumps(coco(**changes)))
    known = Known({"attention_images": IMAGES}, study.frames({}))
    said = "\n".join(summary(check(read(file, study), study, known).findings))
    assert words in said and "annotation 0" in said


def test_boxes_of_the_rating_study_enter_as_regions() -> None:
    sides = {"x0": 0.1, "y0": 0.2, "x1": 0.5, "y1": 0.6, "simulated": True}
    boxes = pd.DataFrame(
        [
            {"sample_id": f"coco/1/{method}/resnet50", "annotator_id": "ann", **sides}
            for method in ("lime", "shap")
        ]
    )
    found = regions_of_boxes(boxes, 10)
    assert len(found["regions"]) == 1 and len(found["people"]) == 1
    assert fill(found["regions"]["points"], (10, 10)).sum() == 16
