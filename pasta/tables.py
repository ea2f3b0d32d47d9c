"""The contracts: the schema of every table that flows between stages.

A table is a set of typed columns, a key, references to other tables and, where columns depend on
each other, rules over whole rows. :mod:`pasta.store` checks them on the way in and out. The tables
of a study stand in its own folder.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pandera.pandas as pa

from pasta.contracts import (
    Reference,
    Rule,
    Table,
    a_flag,
    a_name,
    a_number,
    a_text,
    a_whole,
    matching,
    one_of,
)
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.registry import Registry

KINDS = ("saliency", "concept")
STATUSES = ("ok", "zero", "constant", "nan")
BOX = ("x0", "y0", "x1", "y1")

TABLES: Registry[Table] = Registry("table")


def box_columns(nullable: bool = False) -> dict[str, pa.Column]:
    """The sides of a box as columns."""
    expected = "a fraction of the image from 0 to 1"
    return {name: a_number(expected, 0, 1, nullable) for name in BOX}


def _in_vocabulary(column: str, names: Callable[[str], tuple[str, ...]], what: str) -> Rule:
    allowed = {dataset: frozenset(names(dataset)) for dataset in VOCABULARIES}

    def holds(frame: pd.DataFrame) -> pd.Series[bool]:
        known = pd.Series(False, index=frame.index)
        for dataset, values in allowed.items():
            known |= (frame["dataset"] == dataset) & frame[column].isin(values)
        return known

    return Rule(column, f"{what} of its dataset", holds)


def _box_has_area(frame: pd.DataFrame) -> pd.Series[bool]:
    empty = frame[list(BOX)].isna().all(axis=1)
    return empty | ((frame["x0"] < frame["x1"]) & (frame["y0"] < frame["y1"]))


def _box_iff_present(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["present"] == frame[list(BOX)].notna().all(axis=1)


_DATASET = one_of(tuple(VOCABULARIES))
SAMPLE_ID = a_text(
    "dataset/image/method/backbone",
    matching(r"[^/\s]+(/[^/\s]+){3}", "dataset/image/method/backbone"),
)
_CLASS = _in_vocabulary("label", lambda dataset: VOCABULARIES[dataset].classes, "a class")
_PREDICTED = _in_vocabulary("predicted", lambda dataset: VOCABULARIES[dataset].classes, "a class")
_CONCEPT = _in_vocabulary("concept", lambda dataset: VOCABULARIES[dataset].concepts, "a concept")
AREA = Rule("x1", "x0 < x1 and y0 < y1", _box_has_area)
_IMAGE = Reference(("dataset", "image_id"), "images")
SAMPLES_REFERENCE = Reference(("sample_id",), "explanations")


def add_table(table: Table) -> Table:
    """Register a contract, here or beside the code that it belongs to."""
    return TABLES.register(table.name)(table)


IMAGES = add_table(
    Table(
        "images",
        "every image of a dataset and its row in the image and part arrays",
        ("dataset", "image_id"),
        {
            "dataset": _DATASET,
            "image_id": a_name("a name without slash or space"),
            "source": a_text("the file below the dataset's root, or 'drawn'"),
            "split": one_of(("train", "validation", "test")),
            "label": a_text("a class of the dataset"),
            "width": a_whole("pixels of the original", 1),
            "height": a_whole("pixels of the original", 1),
            "row": a_whole("row in the arrays, from 0", 0),
        },
        rules=(_CLASS,),
    )
)

REGIONS = add_table(
    Table(
        "regions",
        "every visible instance of a concept with its box",
        ("dataset", "image_id", "concept", "instance"),
        {
            "dataset": _DATASET,
            "image_id": a_name("an image of the images table"),
            "concept": a_text("a concept of the dataset"),
            "instance": a_whole("number of the instance, from 0", 0),
            **box_columns(),
        },
        (_IMAGE,),
        (_CONCEPT, AREA),
    )
)

CONCEPTS = add_table(
    Table(
        "concepts",
        "for every image and every concept of the vocabulary: is it there, and where",
        ("dataset", "image_id", "concept"),
        {
            "dataset": _DATASET,
            "image_id": a_name("an image of the images table"),
            "concept": a_text("a concept of the dataset"),
            "present": a_flag("whether the concept is seen"),
            **box_columns(nullable=True),
            "instances": a_whole("how many are seen", 0),
            "share": a_number("share of the image's pixels", 0, 1),
            "value": a_whole("value in the part-index array", 1, 255),
        },
        (_IMAGE,),
        (
            _CONCEPT,
            AREA,
            Rule("present", "a box exactly where the concept is present", _box_iff_present),
        ),
    )
)

PREDICTIONS = add_table(
    Table(
        "predictions",
        "what each classifier says about each test image",
        ("dataset", "image_id", "model"),
        {
            "dataset": _DATASET,
            "image_id": a_name("an image of the images table"),
            "model": a_name("a classifier"),
            "predicted": a_text("a class of the dataset"),
            "probability": a_number("probability of the predicted class", 0, 1),
            "correct": a_flag("whether it equals the label"),
        },
        (_IMAGE,),
        (_PREDICTED,),
    )
)

EXPLANATIONS = add_table(
    Table(
        "explanations",
        "every explanation and where its attribution is stored",
        ("sample_id",),
        {
            "sample_id": SAMPLE_ID,
            "dataset": _DATASET,
            "image_id": a_name("an image of the images table"),
            "method": a_name("an explanation method"),
            "backbone": a_name("a classifier"),
            "kind": one_of(KINDS),
            "predicted": a_text("a class of the dataset"),
            "status": one_of(STATUSES),
            "scale": a_number("largest absolute value of the raw attribution", 0),
            "row": a_whole("row in the technique's file", 0),
        },
        (_IMAGE,),
        (_PREDICTED,),
    )
)

ATTRIBUTIONS = add_table(
    Table(
        "attributions",
        "one technique's concept attributions: a file per technique",
        ("row", "concept"),
        {
            "row": a_whole("row named by the explanations and perturbed tables", 0),
            "concept": a_text("a concept of the dataset"),
            "value": a_number("signed; divided by the scale of its row", -1, 1, nullable=True),
        },
    )
)

PERTURBED = add_table(
    Table(
        "perturbed",
        "perturbed copies of each sample: a light and a strong one, or what a release has",
        ("sample_id", "strength"),
        {
            "sample_id": SAMPLE_ID,
            "strength": one_of(("light", "strong")),
            "perturbation": a_name("a perturbation"),
            "magnitude": a_number("0 to 1, or empty where nobody knows", 0, 1, nullable=True),
            "predicted": a_text("the class predicted for the perturbed image"),
            "changed": a_flag("whether it differs from the class predicted for the original"),
            "status": one_of(STATUSES),
            "scale": a_number("largest absolute value of the raw attribution", 0),
            "row": a_whole("row in the technique's file", 0),
            "copy": a_whole("row in the backbone's file of perturbed images", 0),
        },
        (SAMPLES_REFERENCE,),
    )
)


METRIC_VALUES = add_table(
    Table(
        "metric_values",
        "one computational metric of one explanation",
        ("sample_id", "metric", "variant"),
        {
            "sample_id": SAMPLE_ID,
            "metric": a_text("a metric", matching(r"\S+", "a metric")),
            "variant": a_text("the metric's variant, or empty text"),
            "value": a_number("any number; empty unless the status is ok", nullable=True),
            "direction": one_of(("higher", "lower")),
            "status": a_text("ok, or why there is no value"),
        },
        (SAMPLES_REFERENCE,),
    )
)

SCORE_RESULTS = add_table(
    Table(
        "score_results",
        "how well a scorer predicts labels it has not seen: one row per setup, seed and measure",
        ("study", "level", "question", "seed", "measure"),
        {
            "study": a_text("main, or what is varied"),
            "level": a_text("the row of the study"),
            "scorer": a_name("a scorer"),
            "encoder": a_name("an encoder"),
            "split": a_name("a way of splitting"),
            "question": a_name("a question of the study"),
            "seed": a_whole("of split and training", 0),
            "measure": a_name("a measure"),
            "estimate": a_number("any number; empty with a reason", nullable=True),
            "n": a_whole("samples of the test part", 0),
            "reason": a_text("empty text, or why there is no estimate"),
        },
    )
)
