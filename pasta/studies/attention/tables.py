"""The tables of the attention study, and the words for what stands in them."""

from __future__ import annotations

from collections.abc import Mapping

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
from pasta.studies.attention.settings import LEVELS
from pasta.studies.base import Part
from pasta.studies.scales import DEMOGRAPHICS, SIMULATED, Scale, demographics, rating_scale
from pasta.tables import SAMPLE_ID, SAMPLES_REFERENCE, TABLES, add_table

SCALE: Scale = rating_scale(LEVELS)
_PERSON = Reference(("annotator_id",), "people")
_IMAGES = Reference(("image_id",), "attention_images")
_SIMULATED = a_flag(SIMULATED)
_IMAGE_ID = "dataset/image"


def _image_id() -> pa.Column:
    return a_text(_IMAGE_ID, matching(r"[^/\s]+/[^/\s]+", _IMAGE_ID))


IMAGES = add_table(
    Table(
        "attention_images",
        "images that can be marked",
        ("image_id",),
        {"image_id": _image_id(), "label": a_text("the class"), "size": a_whole("pixels", 1)},
    )
)

PEOPLE = add_table(
    Table(
        "people",
        "who marked or rated; each demographic may be missing",
        ("annotator_id",),
        {
            "annotator_id": a_name("a name without slash or space"),
            **demographics(),
            "simulated": _SIMULATED,
        },
    )
)


def _drawn(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["points"].notna() | (frame["region"] == 0)


REGIONS = TABLES.register("attention_regions")(
    Table(
        "regions",
        "what a person marked on an image; one row without points if it is nothing",
        ("image_id", "annotator_id", "region"),
        {
            "image_id": _image_id(),
            "annotator_id": a_name("a person"),
            "region": a_whole("number of the region, from 0", 0),
            "shape": one_of(("polygon", "box")),
            "points": a_text(
                "a polygon as WKT, or corners as JSON, in pixels; or empty", nullable=True
            ),
            "simulated": _SIMULATED,
        },
        (_IMAGES, _PERSON),
        (Rule("points", "points, except for region 0 of who marked nothing", _drawn),),
    )
)

WORDS = add_table(
    Table(
        "words",
        "the words of a text that a person chose",
        ("text_id", "annotator_id"),
        {
            "text_id": a_name("a text"),
            "annotator_id": a_name("a person"),
            "words": a_text(
                "numbers of words from 0, separated by blanks, or empty",
                matching(r"\d+( \d+)*", "numbers from 0, separated by blanks"),
                nullable=True,
            ),
            "simulated": _SIMULATED,
        },
        (_PERSON,),
    )
)

GOODNESS = add_table(
    Table(
        "goodness",
        "how good a person finds a map of an image, from 1 to 10",
        ("sample_id", "annotator_id"),
        {
            "sample_id": SAMPLE_ID,
            "annotator_id": a_name("a person"),
            "rating": SCALE.column(),
            "position": a_whole("in the order shown to the person, from 1", 1),
            "simulated": _SIMULATED,
        },
        (SAMPLES_REFERENCE, _PERSON),
    )
)

MASKED = add_table(
    Table(
        "attention_masks",
        "how many people marked an image, and how far they agree",
        ("image_id",),
        {
            "image_id": _image_id(),
            "people": a_whole("who passed the checks and marked it", 0),
            "nothing": a_whole("of them, who marked nothing", 0),
            "iou": a_number("mean overlap of two people", 0, 1, nullable=True),
            "alpha": a_number("Krippendorff's, over pixels", -1, 1, nullable=True),
            "share": a_number("of the image that anybody marked", 0, 1),
            "simulated": a_flag("true if any of them is simulated"),
        },
        (_IMAGES,),
    )
)

PARTS: Mapping[str, Part] = {
    part.table.name: part
    for part in (
        Part(REGIONS, "region", together=("image_id", "annotator_id"), rule_cells=("points",)),
        Part(PEOPLE, "person"),
        Part(WORDS, "choice of words"),
        Part(GOODNESS, "rating"),
    )
}
OPTIONAL = frozenset({*DEMOGRAPHICS, "simulated"})
CELLS: Mapping[str, tuple[str, str]] = {
    "image_id": ("the image is not written as dataset/image", "correct it, e.g. coco/1323"),
    "sample_id": (
        "the sample is not written as dataset/image/method/backbone",
        "correct the id, for example coco/1323/gradcam/resnet50",
    ),
    "annotator_id": (
        "the name of the person is empty or has a slash or a space in it",
        "give each person a name of letters and digits",
    ),
    "rating": SCALE.refusal("rating"),
    "shape": ("the shape is neither polygon nor box", "write polygon or box"),
    "position": ("the position is no whole number from 1", "give the order shown to the person"),
    "region": ("the number of the region is no whole number from 0", "number them 0, 1, 2 ..."),
    "words": ("the words are no numbers from 0", "write them like 0 4 17, or leave the cell empty"),
    "simulated": ("the mark of simulated answers is not true or false", "write true or false"),
}
REFERENCES = {
    "image_id": ("the image is not known", "correct the id: `pasta study attention images`"),
    "sample_id": ("the sample is not known", "correct the id, or compute the explanation first"),
    "annotator_id": (
        "the person is not known",
        "correct the id, or give the table people: `--people FILE` (annotator_id, age, ...)",
    ),
}
