"""Frames for the tests of formats: some made by hand, some by hypothesis."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from pasta.contracts import coerce
from pasta.datasets.released import FILE
from pasta.errors import InputError
from pasta.json_files import load_json
from pasta.studies.base import Frames, Submission
from pasta.studies.ratings import label_studio, released
from pasta.studies.ratings.protocol import Protocol, load_protocol
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.study import rating_study
from pasta.studies.ratings.tables import ANSWERS, STARS
from pasta.text_files import FILE_LIMIT

PROTOCOL: Protocol = load_protocol("p2")
STUDY = rating_study(PROTOCOL)
SAMPLES = ("coco/1323/gradcam/resnet50", "monumai/0137/clip_qda/clip_qda", "coco/9/layercam/vit")
PEOPLE = ("anna", "anonymous-1", "labelstudio-7")
DEFAULTS = {
    **dict.fromkeys(("submitted_at", "age", "sex", "country"), ""),
    **dict.fromkeys(("anonymous", "simulated"), "false"),
}

# Text that a CSV file can hold: no NUL, no half of a surrogate pair, and at least one character.
words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()))
fractions = st.floats(0, 1, allow_nan=False)
times = st.none() | st.datetimes(
    min_value=pd.Timestamp("1990-01-01").to_pydatetime(),
    max_value=pd.Timestamp("2100-01-01").to_pydatetime(),
).map(lambda when: pd.Timestamp(when, tz="UTC"))


@st.composite
def any_annotations(draw: st.DrawFn) -> Frames:
    """Any annotations that the contracts allow, without shown explanations."""
    pairs = st.tuples(st.sampled_from(SAMPLES), st.sampled_from(PEOPLE))
    rated = draw(st.sets(st.tuples(pairs, st.sampled_from(QUESTIONS)), max_size=12))
    described = draw(st.sets(pairs, max_size=4))
    drawn = draw(st.sets(st.tuples(pairs, st.integers(0, 3)), max_size=4))
    ranked = draw(
        st.sets(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PROTOCOL.rankings)), max_size=3)
    )
    fake = st.booleans()
    votes = [
        {
            "sample_id": sample,
            "annotator_id": person,
            "question": question,
            "rating": draw(st.sampled_from(STARS)),
            "submitted_at": draw(times),
            "simulated": draw(fake),
        }
        for (sample, person), question in sorted(rated)
    ]
    descriptions = [
        {"sample_id": sample, "annotator_id": person, "text": draw(words), "simulated": draw(fake)}
        for sample, person in sorted(described)
    ]
    simulated = {pair: draw(fake) for pair in sorted({pair for pair, _ in drawn})}
    boxes = [
        _box(sample, person, number, draw(_corners()), simulated[sample, person])
        for (sample, person), number in sorted(drawn)
    ]
    rankings = [
        {
            "annotator_id": person,
            "question": question.id,
            "item": item,
            "position": position,
            "simulated": person == "anna",
        }
        for person, question in sorted(ranked, key=lambda one: (one[0], one[1].id))
        for position, item in enumerate(draw(st.permutations(question.item_ids)), start=1)
    ]
    annotators = [
        {
            "annotator_id": person,
            "age": draw(st.none() | st.integers(0, 130)),
            "sex": draw(st.none() | words),
            "country": draw(st.none() | words),
            "anonymous": draw(fake),
            "simulated": draw(fake),
        }
        for person in PEOPLE
    ]
    parts: dict[str, list[dict[str, Any]]] = {
        "votes": votes,
        "annotators": annotators,
        "descriptions": descriptions,
        "boxes": boxes,
        "rankings": rankings,
    }
    return STUDY.frames({name: ANSWERS[name].frame(rows) for name, rows in parts.items()})


@st.composite
def _corners(draw: st.DrawFn) -> tuple[float, float, float, float]:
    sides = [sorted(draw(st.lists(fractions, min_size=2, max_size=2, unique=True))) for _ in "xy"]
    return sides[0][0], sides[1][0], sides[0][1], sides[1][1]


def _box(
    sample: str, person: str, number: int, corners: tuple[float, ...], simulated: bool
) -> dict[str, Any]:
    names = ("x0", "y0", "x1", "y1")
    sides = dict(zip(names, corners, strict=True))
    key = {"sample_id": sample, "annotator_id": person, "box": number}
    return {**key, **sides, "simulated": simulated}


def small() -> Frames:
    """Two people on two samples, with something in every table."""
    people = PEOPLE[:2]
    votes = [
        {
            "sample_id": sample,
            "annotator_id": person,
            "question": question,
            "rating": 1 + (len(sample) + place) % 5,
            "submitted_at": pd.Timestamp("2024-05-06T07:08:09.123456Z"),
            "simulated": False,
        }
        for sample in SAMPLES[:2]
        for person in people
        for place, question in enumerate(QUESTIONS)
    ]
    text = 'pointed ears, "whiskers"\nand fur; été'
    descriptions = [
        {"sample_id": SAMPLES[0], "annotator_id": "anna", "text": text, "simulated": False}
    ]
    rankings = [
        {
            "annotator_id": "anna",
            "question": "Q7",
            "item": item,
            "position": position,
            "simulated": False,
        }
        for position, item in enumerate(PROTOCOL.question("Q7").item_ids, start=1)
    ]
    annotators: list[dict[str, Any]] = [
        {"annotator_id": "anna", "age": 31, "sex": "f", "country": "FR"},
        {"annotator_id": people[1], "age": None, "sex": None, "country": None},
    ]
    annotators = [{**one, "anonymous": False, "simulated": False} for one in annotators]
    parts: dict[str, list[dict[str, Any]]] = {
        "votes": votes,
        "annotators": annotators,
        "descriptions": descriptions,
        "boxes": [_box(SAMPLES[0], "anna", 0, (0.1, 0.2, 0.3, 0.7), False)],
        "rankings": rankings,
    }
    return STUDY.frames({name: ANSWERS[name].frame(rows) for name, rows in parts.items()})


def typed(submission: Submission) -> Frames:
    """The tables of a submission in their types; there must be nothing wrong with them."""
    assert submission.findings == ()
    return STUDY.frames(
        {name: _typed(frame, name) for name, frame in submission.tables.items() if len(frame)}
    )


def _typed(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    table = ANSWERS[name]
    text = frame.astype(str).reset_index(drop=True)
    for column in table.columns:
        if column not in text and column in DEFAULTS:
            text[column] = DEFAULTS[column]
    return coerce(text[list(table.columns)], table)


def assert_same(found: Frames, expected: Frames) -> None:
    """Equal in every table, whatever the order of rows."""
    for name, frame in expected.items():
        key = list(ANSWERS[name].key)
        pd.testing.assert_frame_equal(
            found[name].sort_values(key).reset_index(drop=True),
            frame.sort_values(key).reset_index(drop=True),
        )


def write(content: Any, path: Path) -> Path:
    """Write JSON and return its path."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def problems(submission: Submission) -> Counter[str]:
    """How often each problem was found."""
    return Counter(one.problem for one in submission.findings)


def read_released(path: Path, limit: int = FILE_LIMIT) -> Submission:
    """Read a release: its folder, or the JSON file in it."""
    file = path / FILE if path.is_dir() else path
    return released.from_content(load_json(file, limit), file)


def read_label_studio(path: Path) -> Submission:
    """Read an export of Label Studio."""
    return label_studio.from_content(load_json(path), path, PROTOCOL)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def assert_text_or_refused(read: Callable[[], Submission]) -> None:
    """Whatever stands in a file, its tables are text without gaps, or the file is refused."""
    try:
        submission = read()
    except InputError:
        return
    for frame in submission.tables.values():
        assert not frame.isna().to_numpy().any()
        assert all(isinstance(cell, str) for cell in frame.to_numpy().ravel())
