"""The contracts: the schema of every table that flows between stages.

A table is a set of typed columns, a key, references to other tables and, where columns depend on
each other, rules over whole rows. :mod:`pasta.store` checks them on the way in and out.
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
    a_time,
    a_whole,
    matching,
    one_of,
)
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.registry import Registry

QUESTIONS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
RANKINGS = ("Q7", "Q8", "Q9")
STARS = (1, 2, 3, 4, 5)
KINDS = ("saliency", "concept")
STATUSES = ("ok", "zero", "constant", "nan")
BOX = ("x0", "y0", "x1", "y1")

TABLES: Registry[Table] = Registry("table")


def _box(nullable: bool = False) -> dict[str, pa.Column]:
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
_SAMPLE = a_text(
    "dataset/image/method/backbone",
    matching(r"[^/\s]+(/[^/\s]+){3}", "dataset/image/method/backbone"),
)
_BELOW = pa.Check(
    lambda paths: ~paths.str.contains(r"(?:^|[/\\])\.\.?(?:[/\\]|$)", regex=True),
    error="a path without the steps '.' and '..'",
)
_SAMPLE_SHOWN = a_text("dataset/image/method/backbone", *_SAMPLE.checks, _BELOW)
_CLASS = _in_vocabulary("label", lambda dataset: VOCABULARIES[dataset].classes, "a class")
_PREDICTED = _in_vocabulary("predicted", lambda dataset: VOCABULARIES[dataset].classes, "a class")
_CONCEPT = _in_vocabulary("concept", lambda dataset: VOCABULARIES[dataset].concepts, "a concept")
_AREA = Rule("x1", "x0 < x1 and y0 < y1", _box_has_area)
_IMAGE = Reference(("dataset", "image_id"), "images")
_SAMPLES = Reference(("sample_id",), "explanations")
_ANNOTATOR = Reference(("annotator_id",), "annotators")
_SIMULATED = "true for votes of simulated raters"


def _add(table: Table) -> Table:
    return TABLES.register(table.name)(table)


IMAGES = _add(
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

REGIONS = _add(
    Table(
        "regions",
        "every visible instance of a concept with its box",
        ("dataset", "image_id", "concept", "instance"),
        {
            "dataset": _DATASET,
            "image_id": a_name("an image of the images table"),
            "concept": a_text("a concept of the dataset"),
            "instance": a_whole("number of the instance, from 0", 0),
            **_box(),
        },
        (_IMAGE,),
        (_CONCEPT, _AREA),
    )
)

CONCEPTS = _add(
    Table(
        "concepts",
        "for every image and every concept of the vocabulary: is it there, and where",
        ("dataset", "image_id", "concept"),
        {
            "dataset": _DATASET,
            "image_id": a_name("an image of the images table"),
            "concept": a_text("a concept of the dataset"),
            "present": a_flag("whether the concept is seen"),
            **_box(nullable=True),
            "instances": a_whole("how many are seen", 0),
            "share": a_number("share of the image's pixels", 0, 1),
            "value": a_whole("value in the part-index array", 1, 255),
        },
        (_IMAGE,),
        (
            _CONCEPT,
            _AREA,
            Rule("present", "a box exactly where the concept is present", _box_iff_present),
        ),
    )
)

PREDICTIONS = _add(
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

EXPLANATIONS = _add(
    Table(
        "explanations",
        "every explanation and where its attribution is stored",
        ("sample_id",),
        {
            "sample_id": _SAMPLE,
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

ATTRIBUTIONS = _add(
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

PERTURBED = _add(
    Table(
        "perturbed",
        "the light and the strong perturbation of each sample, for Q5 and Q6",
        ("sample_id", "strength"),
        {
            "sample_id": _SAMPLE,
            "strength": one_of(("light", "strong")),
            "perturbation": a_name("a perturbation"),
            "magnitude": a_number("0 to 1", 0, 1),
            "predicted": a_text("the class predicted for the perturbed image"),
            "changed": a_flag("whether it differs from the class predicted for the original"),
            "status": one_of(STATUSES),
            "scale": a_number("largest absolute value of the raw attribution", 0),
            "row": a_whole("row in the technique's file", 0),
        },
        (_SAMPLES,),
    )
)

SHOWN = _add(
    Table(
        "shown",
        "explanations that were rated but not computed here, as files of a released study",
        ("sample_id",),
        {
            "sample_id": _SAMPLE_SHOWN,
            "kind": one_of(KINDS),
            "label": a_text("the true class, in the words of the study"),
            "predicted": a_text("the predicted class, in the words of the study"),
            "image": a_text("the image's file below the study's root", _BELOW),
            "activations": a_text("the attribution's file below the study's root", _BELOW),
            "root": a_text("the study's folder"),
        },
    )
)

ANNOTATORS = _add(
    Table(
        "annotators",
        "who rated; each demographic may be missing",
        ("annotator_id",),
        {
            "annotator_id": a_name("a name without slash or space"),
            "age": a_whole("years, or empty", 0, 130, nullable=True),
            "sex": a_text("as stated by the annotator, or empty", nullable=True),
            "country": a_text("as stated by the annotator, or empty", nullable=True),
            "simulated": a_flag(_SIMULATED),
        },
    )
)

VOTES = _add(
    Table(
        "votes",
        "one star rating of one sample by one annotator on one question",
        ("sample_id", "annotator_id", "question"),
        {
            "sample_id": _SAMPLE,
            "annotator_id": a_name("an annotator"),
            "question": one_of(QUESTIONS),
            "rating": a_whole("stars from 1 to 5", 1, 5),
            "submitted_at": a_time(),
            "simulated": a_flag(_SIMULATED),
        },
        (_SAMPLES, _ANNOTATOR),
    )
)

DESCRIPTIONS = _add(
    Table(
        "descriptions",
        "Q0.1: what makes the annotator recognise the class, in words",
        ("sample_id", "annotator_id"),
        {
            "sample_id": _SAMPLE,
            "annotator_id": a_name("an annotator"),
            "text": a_text("the annotator's words"),
            "simulated": a_flag(_SIMULATED),
        },
        (_SAMPLES, _ANNOTATOR),
    )
)

BOXES = _add(
    Table(
        "boxes",
        "Q0.2: the boxes an annotator drew around what helps",
        ("sample_id", "annotator_id", "box"),
        {
            "sample_id": _SAMPLE,
            "annotator_id": a_name("an annotator"),
            "box": a_whole("number of the box, from 0", 0),
            **_box(),
            "simulated": a_flag(_SIMULATED),
        },
        (_SAMPLES, _ANNOTATOR),
        (_AREA,),
    )
)

RANKED = _add(
    Table(
        "rankings",
        "Q7-Q9: positions an annotator gave to axioms and questions",
        ("annotator_id", "question", "item"),
        {
            "annotator_id": a_name("an annotator"),
            "question": one_of(RANKINGS),
            "item": a_text("what was ranked"),
            "position": a_whole("from 1, in the order that the question asks for", 1),
            "simulated": a_flag(_SIMULATED),
        },
        (_ANNOTATOR,),
    )
)

LABELS = _add(
    Table(
        "labels",
        "the votes on a sample and question, aggregated",
        ("sample_id", "question"),
        {
            "sample_id": _SAMPLE,
            "question": one_of(QUESTIONS),
            "mode": a_whole("stars from 1 to 5", 1, 5),
            "mean": a_number("1 to 5", 1, 5),
            "median": a_number("1 to 5", 1, 5),
            "n_votes": a_whole("at least one", 1),
            **{f"votes_{star}": a_whole("how many gave this star", 0) for star in STARS},
            "entropy": a_number("of the votes, in bits: 0 when all agree", 0),
            "simulated": a_flag("true if any of the votes is simulated"),
        },
        (_SAMPLES,),
    )
)

METRIC_VALUES = _add(
    Table(
        "metric_values",
        "one computational metric of one explanation",
        ("sample_id", "metric", "variant"),
        {
            "sample_id": _SAMPLE,
            "metric": a_text("a metric", matching(r"\S+", "a metric")),
            "variant": a_text("the metric's variant, or empty text"),
            "value": a_number("any number; empty unless the status is ok", nullable=True),
            "direction": one_of(("higher", "lower")),
            "status": a_text("ok, or why there is no value"),
        },
        (_SAMPLES,),
    )
)

SCORE_RESULTS = _add(
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
            "question": one_of(QUESTIONS),
            "seed": a_whole("of split and training", 0),
            "measure": a_name("a measure"),
            "estimate": a_number("any number; empty with a reason", nullable=True),
            "n": a_whole("samples of the test part", 0),
            "reason": a_text("empty text, or why there is no estimate"),
        },
    )
)
