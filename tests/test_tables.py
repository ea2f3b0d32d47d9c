"""Tables: every broken rule is found and named by row and column."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pasta import tables
from pasta.contracts import TableError, check, find_problems
from pasta.studies.registry import load_tables
from pasta.tables import TABLES

load_tables()  # those of the studies too


def images(**changes: Any) -> pd.DataFrame:
    row = {
        "dataset": "coco",
        "image_id": "0001",
        "source": "drawn",
        "split": "test",
        "label": "workplace",
        "width": 96,
        "height": 96,
        "row": 0,
    }
    return tables.IMAGES.frame([row, {**row, "image_id": "0002", "row": 1, **changes}])


DESIGN = {
    "images": ("dataset", "image_id"),
    "concepts": ("dataset", "image_id", "concept"),
    "predictions": ("dataset", "image_id", "model"),
    "explanations": ("sample_id",),
    "perturbed": ("sample_id", "strength"),
    "annotators": ("annotator_id",),
    "votes": ("sample_id", "annotator_id", "question"),
    "labels": ("sample_id", "question"),
    "metric_values": ("sample_id", "metric", "variant"),
}


@pytest.mark.parametrize(("name", "key"), DESIGN.items())
def test_every_table_of_the_design_has_its_key(name: str, key: tuple[str, ...]) -> None:
    table = TABLES[name]
    assert table.key == key and set(key) <= set(table.columns)


@pytest.mark.parametrize("name", list(TABLES))
def test_references_point_at_the_key_of_a_table(name: str) -> None:
    for reference in TABLES[name].references:
        assert reference.columns == TABLES[reference.table].key
        assert set(reference.columns) <= set(TABLES[name].columns)


@pytest.mark.parametrize("name", list(TABLES))
def test_an_empty_table_is_valid(name: str) -> None:
    assert find_problems(TABLES[name].frame([]), TABLES[name]) == []


@pytest.mark.parametrize(
    ("change", "column", "expected"),
    [
        ({"image_id": "0001"}, "image_id", "occurs once"),
        ({"image_id": "a/b"}, "image_id", "without slash"),
        ({"split": "tests"}, "split", "one of train, validation, test"),
        ({"label": "cat"}, "label", "a class of its dataset"),
        ({"dataset": "cocoa"}, "dataset", "one of catsdogscars"),
        ({"width": 0}, "width", "pixels of the original"),
    ],
)
def test_a_bad_cell_is_found_in_its_row_and_column(
    change: dict[str, Any], column: str, expected: str
) -> None:
    found = [(p.row, p.column) for p in find_problems(images(**change), tables.IMAGES)]
    assert (1, column) in found
    with pytest.raises(TableError, match=expected):
        check(images(**change), tables.IMAGES)


def test_a_concept_outside_the_vocabulary_is_refused() -> None:
    row = {"dataset": "monumai", "image_id": "1", "concept": "wheel", "instance": 0}
    frame = tables.REGIONS.frame([{**row, "x0": 0.1, "y0": 0.1, "x1": 0.2, "y1": 0.3}])
    with pytest.raises(TableError, match=r"row 0, column 'concept': found 'wheel'"):
        check(frame, tables.REGIONS)


def test_an_inverted_box_is_refused() -> None:
    row = {"dataset": "monumai", "image_id": "1", "concept": "porthole", "instance": 0}
    frame = tables.REGIONS.frame([{**row, "x0": 0.5, "y0": 0.1, "x1": 0.2, "y1": 0.3}])
    with pytest.raises(TableError, match=r"column 'x1': found 0\.2 \(expected x0 < x1"):
        check(frame, tables.REGIONS)


def test_a_box_without_presence_is_refused() -> None:
    row = {"dataset": "monumai", "image_id": "1", "concept": "porthole", "present": False}
    box = {"x0": 0.1, "y0": 0.1, "x1": 0.2, "y1": 0.3, "instances": 0, "share": 0.0, "value": 9}
    with pytest.raises(TableError, match="a box exactly where the concept is present"):
        check(tables.CONCEPTS.frame([row | box]), tables.CONCEPTS)


def test_a_missing_or_extra_column_is_named_alone() -> None:
    problems = find_problems(images(split="x").drop(columns="row"), tables.IMAGES)
    assert [(p.row, p.column) for p in problems] == [(None, "row")]
    problems = find_problems(images().assign(colour="red"), tables.IMAGES)
    assert [(p.row, p.column) for p in problems] == [(None, "colour")]


def test_a_row_without_its_parent_is_named() -> None:
    row = {"dataset": "coco", "image_id": "9", "model": "m", "predicted": "workplace"}
    frame = tables.PREDICTIONS.frame([{**row, "probability": 0.5, "correct": True}])
    check(frame, tables.PREDICTIONS)
    with pytest.raises(TableError, match=r"row 0, column 'image_id': found '9' .*images table"):
        check(frame, tables.PREDICTIONS, {"images": images()})


def test_a_long_list_of_problems_is_cut_but_complete_in_the_error() -> None:
    frame = pd.concat([images()] * 20, ignore_index=True)
    with pytest.raises(TableError, match="and 28 more problems") as caught:
        check(frame, tables.IMAGES)
    assert len(caught.value.problems) == 38
