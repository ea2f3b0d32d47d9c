"""The contracts: the schema of every table that flows between stages.

A table is a set of typed columns, a key, references to other tables and, where columns depend on
each other, rules over whole rows. :mod:`pasta.store` checks them on the way in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import pandera.pandas as pa

from pasta.datasets.vocabulary import VOCABULARIES
from pasta.registry import Registry

QUESTIONS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
RANKINGS = ("Q7", "Q8", "Q9")
STARS = (1, 2, 3, 4, 5)
KINDS = ("saliency", "concept")
STATUSES = ("ok", "zero", "constant", "nan")
BOX = ("x0", "y0", "x1", "y1")

Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]


@dataclass(frozen=True)
class Reference:
    """These columns must be found in the key of another table."""

    columns: tuple[str, ...]
    table: str


@dataclass(frozen=True)
class Rule:
    """A condition over whole rows, named after the column to look at."""

    column: str
    expected: str
    holds: Rows


@dataclass(frozen=True)
class Table:
    """One contract."""

    name: str
    about: str
    key: tuple[str, ...]
    columns: Mapping[str, pa.Column]
    references: tuple[Reference, ...] = ()
    rules: tuple[Rule, ...] = ()

    @cached_property
    def schema(self) -> pa.DataFrameSchema:
        """The pandera schema: exactly these columns in this order, unique in the key."""
        checks = [pa.Check(rule.holds, error=rule.expected) for rule in self.rules]
        return pa.DataFrameSchema(
            dict(self.columns),
            unique=list(self.key),
            strict=True,
            ordered=True,
            checks=checks,
            name=self.name,
        )

    def frame(self, rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
        """Make a frame with the table's columns and types from plain rows."""
        frame = pd.DataFrame(list(rows), columns=list(self.columns))
        for name, column in self.columns.items():
            if str(column.dtype).startswith("datetime"):  # astype cannot add a time zone
                frame[name] = pd.to_datetime(frame[name], utc=True)
        kinds = {
            name: str(column.dtype).replace("string[pyarrow]", "str")
            for name, column in self.columns.items()
        }
        return frame.astype(kinds)


TABLES: Registry[Table] = Registry("table")


def _text(expected: str, *checks: pa.Check, nullable: bool = False) -> pa.Column:
    return pa.Column(str, list(checks), nullable=nullable, description=expected)


def _one_of(values: tuple[str, ...]) -> pa.Column:
    expected = "one of " + ", ".join(values)
    return _text(expected, pa.Check.isin(values, error=expected))


def _name(expected: str) -> pa.Column:
    """An identifier that can be a part of a ``sample_id``."""
    return _text(expected, pa.Check.str_matches(r"^[^/\s]+$", error=expected))


def _number(
    expected: str, low: float | None = None, high: float | None = None, nullable: bool = False
) -> pa.Column:
    return pa.Column(float, _between(expected, low, high), nullable=nullable, description=expected)


def _whole(
    expected: str, low: int | None = None, high: int | None = None, nullable: bool = False
) -> pa.Column:
    kind: Any = "Int64" if nullable else "int64"
    return pa.Column(kind, _between(expected, low, high), nullable=nullable, description=expected)


def _between(expected: str, low: float | None, high: float | None) -> list[pa.Check]:
    checks = []
    if low is not None:
        checks.append(pa.Check.ge(low, error=expected))
    if high is not None:
        checks.append(pa.Check.le(high, error=expected))
    return checks


def _flag(expected: str) -> pa.Column:
    return pa.Column(bool, description=expected)


def _time() -> pa.Column:
    expected = "a time with its zone, or empty"
    return pa.Column("datetime64[us, UTC]", nullable=True, description=expected)


def _box(nullable: bool = False) -> dict[str, pa.Column]:
    expected = "a fraction of the image from 0 to 1"
    return {name: _number(expected, 0, 1, nullable) for name in BOX}


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


_DATASET = _one_of(tuple(VOCABULARIES))
_SAMPLE = _text(
    "dataset/image/method/backbone",
    pa.Check.str_matches(r"^[^/\s]+(/[^/\s]+){3}$", error="dataset/image/method/backbone"),
)
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
            "image_id": _name("a name without slash or space"),
            "source": _text("the file below the dataset's root, or 'drawn'"),
            "split": _one_of(("train", "validation", "test")),
            "label": _text("a class of the dataset"),
            "width": _whole("pixels of the original", 1),
            "height": _whole("pixels of the original", 1),
            "row": _whole("row in the arrays, from 0", 0),
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
            "image_id": _name("an image of the images table"),
            "concept": _text("a concept of the dataset"),
            "instance": _whole("number of the instance, from 0", 0),
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
            "image_id": _name("an image of the images table"),
            "concept": _text("a concept of the dataset"),
            "present": _flag("whether the concept is seen"),
            **_box(nullable=True),
            "instances": _whole("how many are seen", 0),
            "share": _number("share of the image's pixels", 0, 1),
            "value": _whole("value in the part-index array", 1, 255),
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
            "image_id": _name("an image of the images table"),
            "model": _name("a classifier"),
            "predicted": _text("a class of the dataset"),
            "probability": _number("probability of the predicted class", 0, 1),
            "correct": _flag("whether it equals the label"),
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
            "image_id": _name("an image of the images table"),
            "method": _name("an explanation method"),
            "backbone": _name("a classifier"),
            "kind": _one_of(KINDS),
            "predicted": _text("a class of the dataset"),
            "status": _one_of(STATUSES),
            "scale": _number("largest absolute value of the raw attribution", 0),
            "row": _whole("row in the technique's file", 0),
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
            "row": _whole("row named by the explanations and perturbed tables", 0),
            "concept": _text("a concept of the dataset"),
            "value": _number("signed; divided by the scale of its row", -1, 1, nullable=True),
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
            "strength": _one_of(("light", "strong")),
            "perturbation": _name("a perturbation"),
            "magnitude": _number("0 to 1", 0, 1),
            "predicted": _text("the class predicted for the perturbed image"),
            "changed": _flag("whether it differs from the class predicted for the original"),
            "status": _one_of(STATUSES),
            "scale": _number("largest absolute value of the raw attribution", 0),
            "row": _whole("row in the technique's file", 0),
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
            "sample_id": _SAMPLE,
            "kind": _one_of(KINDS),
            "label": _text("the true class, in the words of the study"),
            "predicted": _text("the predicted class, in the words of the study"),
            "image": _text("the image's file below the study's root"),
            "activations": _text("the attribution's file below the study's root"),
            "root": _text("the study's folder"),
        },
    )
)

ANNOTATORS = _add(
    Table(
        "annotators",
        "who rated; each demographic may be missing",
        ("annotator_id",),
        {
            "annotator_id": _name("a name without slash or space"),
            "age": _whole("years, or empty", 0, 130, nullable=True),
            "sex": _text("as stated by the annotator, or empty", nullable=True),
            "country": _text("as stated by the annotator, or empty", nullable=True),
            "simulated": _flag(_SIMULATED),
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
            "annotator_id": _name("an annotator"),
            "question": _one_of(QUESTIONS),
            "rating": _whole("stars from 1 to 5", 1, 5),
            "submitted_at": _time(),
            "simulated": _flag(_SIMULATED),
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
            "annotator_id": _name("an annotator"),
            "text": _text("the annotator's words"),
            "simulated": _flag(_SIMULATED),
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
            "annotator_id": _name("an annotator"),
            "box": _whole("number of the box, from 0", 0),
            **_box(),
            "simulated": _flag(_SIMULATED),
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
            "annotator_id": _name("an annotator"),
            "question": _one_of(RANKINGS),
            "item": _text("what was ranked"),
            "position": _whole("from 1, in the order that the question asks for", 1),
            "simulated": _flag(_SIMULATED),
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
            "question": _one_of(QUESTIONS),
            "mode": _whole("stars from 1 to 5", 1, 5),
            "mean": _number("1 to 5", 1, 5),
            "median": _number("1 to 5", 1, 5),
            "n_votes": _whole("at least one", 1),
            **{f"votes_{star}": _whole("how many gave this star", 0) for star in STARS},
            "entropy": _number("of the votes, in bits: 0 when all agree", 0),
            "simulated": _flag("true if any of the votes is simulated"),
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
            "metric": _name("a metric"),
            "variant": _text("the metric's variant, or empty text"),
            "value": _number("any number; empty unless the status is ok", nullable=True),
            "direction": _one_of(("higher", "lower")),
            "status": _text("ok, or why there is no value"),
            "seconds": _number("at least 0", 0),
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
            "study": _text("main, or what is varied"),
            "level": _text("the row of the study"),
            "scorer": _name("a scorer"),
            "encoder": _name("an encoder"),
            "split": _name("a way of splitting"),
            "question": _one_of(QUESTIONS),
            "seed": _whole("of split and training", 0),
            "measure": _name("a measure"),
            "estimate": _number("any number; empty with a reason", nullable=True),
            "n": _whole("samples of the test part", 0),
            "reason": _text("empty text, or why there is no estimate"),
        },
    )
)
