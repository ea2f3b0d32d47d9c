"""The tables of the rating study, and the words for what stands in them."""

from __future__ import annotations

from collections.abc import Mapping

from pasta.contracts import (
    Reference,
    Table,
    a_flag,
    a_name,
    a_number,
    a_text,
    a_time,
    a_whole,
    one_of,
)
from pasta.studies.base import Part
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.scales import DEMOGRAPHICS, Scale, demographics, rating_scale
from pasta.tables import AREA, BOX, SAMPLE_ID, SAMPLES_REFERENCE, add_table, box_columns

RANKINGS = ("Q7", "Q8", "Q9")
SCALE: Scale = rating_scale(5, unit="stars")
STARS: tuple[int, ...] = SCALE.numbers

_ANNOTATOR = Reference(("annotator_id",), "annotators")
_SIMULATED = "true for votes of simulated raters"

ANNOTATORS = add_table(
    Table(
        "annotators",
        "who rated; each demographic may be missing",
        ("annotator_id",),
        {
            "annotator_id": a_name("a name without slash or space"),
            **demographics(),
            "anonymous": a_flag("true for a place in a list of votes that may be anybody's"),
            "simulated": a_flag(_SIMULATED),
        },
    )
)


VOTES = add_table(
    Table(
        "votes",
        "one star rating of one sample by one annotator on one question",
        ("sample_id", "annotator_id", "question"),
        {
            "sample_id": SAMPLE_ID,
            "annotator_id": a_name("an annotator"),
            "question": one_of(QUESTIONS),
            "rating": SCALE.column(),
            "submitted_at": a_time(),
            "simulated": a_flag(_SIMULATED),
        },
        (SAMPLES_REFERENCE, _ANNOTATOR),
    )
)


DESCRIPTIONS = add_table(
    Table(
        "descriptions",
        "Q0.1: what makes the annotator recognise the class, in words",
        ("sample_id", "annotator_id"),
        {
            "sample_id": SAMPLE_ID,
            "annotator_id": a_name("an annotator"),
            "text": a_text("the annotator's words"),
            "simulated": a_flag(_SIMULATED),
        },
        (SAMPLES_REFERENCE, _ANNOTATOR),
    )
)


BOXES = add_table(
    Table(
        "boxes",
        "Q0.2: the boxes an annotator drew around what helps",
        ("sample_id", "annotator_id", "box"),
        {
            "sample_id": SAMPLE_ID,
            "annotator_id": a_name("an annotator"),
            "box": a_whole("number of the box, from 0", 0),
            **box_columns(),
            "simulated": a_flag(_SIMULATED),
        },
        (SAMPLES_REFERENCE, _ANNOTATOR),
        (AREA,),
    )
)


RANKED = add_table(
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


LABELS = add_table(
    Table(
        "labels",
        "the votes on a sample and question, aggregated",
        ("sample_id", "question"),
        {
            "sample_id": SAMPLE_ID,
            "question": one_of(QUESTIONS),
            "mode": SCALE.column(),
            "mean": a_number("1 to 5", 1, 5),
            "median": a_number("1 to 5", 1, 5),
            "n_votes": a_whole("at least one", 1),
            **{f"votes_{star}": a_whole("how many gave this star", 0) for star in STARS},
            "entropy": a_number("of the votes, in bits: 0 when all agree", 0),
            "simulated": a_flag("true if any of the votes is simulated"),
        },
        (SAMPLES_REFERENCE,),
    )
)


PARTS: Mapping[str, Part] = {
    part.table.name: part
    for part in (
        Part(VOTES, "vote"),
        Part(ANNOTATORS, "annotator"),
        Part(DESCRIPTIONS, "description"),
        Part(BOXES, "box", together=("sample_id", "annotator_id"), rule_cells=BOX),
        Part(RANKED, "position"),
    )
}
ANSWERS: Mapping[str, Table] = {name: part.table for name, part in PARTS.items()}
OPTIONAL = frozenset({"submitted_at", *DEMOGRAPHICS, "anonymous", "simulated"})

CELLS: Mapping[str, tuple[str, str]] = {
    "rating": SCALE.refusal("rating"),
    "sample_id": (
        "the sample is not written as dataset/image/method/backbone",
        "correct the id, for example coco/1323/gradcam/resnet50",
    ),
    "annotator_id": (
        "the annotator's id is empty or has a slash or a space in it",
        "give each annotator a name of letters and digits",
    ),
    "submitted_at": (
        "the time cannot be read or has no zone",
        "write it like 2024-05-01T12:30:00Z, or leave it empty",
    ),
    "age": (
        "the age is not a whole number of years from 0 to 130",
        "correct the age, or leave it empty",
    ),
    "simulated": ("the mark of simulated votes is not true or false", "write true or false"),
    "anonymous": ("the mark of anonymous votes is not true or false", "write true or false"),
    "text": ("the description is empty", "give the words, or remove the row"),
    **dict.fromkeys(
        BOX, ("a side of a box is not between 0 and 1", "give it as a fraction of the image")
    ),
}
REFERENCES = {
    "sample_id": (
        "the sample is not known",
        "correct the id, map it to ours with `--ids FILE` (a CSV file with two columns: the id in "
        "the file, the id here), or compute the explanation first (see the explanations table); "
        "`pasta profile use released --root FOLDER` takes a release with its explanations",
    ),
    "annotator_id": (
        "the annotator is not known",
        "correct the id, or say who rated: `--annotators FILE`, an annotators table as CSV with "
        "the column annotator_id and, if you like, age, sex, country",
    ),
}
