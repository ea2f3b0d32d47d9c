"""Small submissions and what they are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pasta.studies.base import Frames, Study, Submission
from pasta.studies.checking import Checked, Known
from pasta.studies.checking import check as check_submission
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.study import rating_study
from pasta.studies.ratings.tables import ANSWERS

STUDY = rating_study(load_protocol("p2"))
SAMPLES = tuple(f"coco/{image}/gradcam/resnet50" for image in range(1, 4))
PEOPLE = tuple(f"person{number}" for number in range(1, 8))
ITEMS = load_protocol("p2").question("Q7").item_ids

Row = Mapping[str, object]


def vote(sample: int = 0, person: int = 0, question: str = "Q1", rating: object = 3) -> Row:
    """One vote as a row of text."""
    return {
        "sample_id": SAMPLES[sample],
        "annotator_id": PEOPLE[person],
        "question": question,
        "rating": str(rating),
    }


def votes(people: Sequence[int] = (0, 1), rating: int = 3) -> list[Row]:
    """Votes of some people on all samples and questions."""
    return [
        vote(sample, person, question, (rating + sample + person) % 5 + 1)
        for sample in range(len(SAMPLES))
        for person in people
        for question in QUESTIONS
    ]


def people(*numbers: int, **more: object) -> list[Row]:
    """Rows of the annotators table."""
    return [{"annotator_id": PEOPLE[number], **more} for number in numbers]


def ranking(person: int = 0, positions: Sequence[object] = (), question: str = "Q7") -> list[Row]:
    """A ranking of the protocol's items."""
    given = positions or range(1, len(ITEMS) + 1)
    who = {"annotator_id": PEOPLE[person], "question": question}
    return [
        {**who, "item": item, "position": str(position)}
        for item, position in zip(ITEMS, given, strict=True)
    ]


def submission(**tables: Sequence[Row]) -> Submission:
    """A submission of text; everybody is introduced unless ``annotators`` says who is."""
    tables = {"annotators": people(*range(len(PEOPLE))), **tables}
    frames = {name: pd.DataFrame(rows).astype(str) for name, rows in tables.items()}
    for frame in frames.values():
        frame.index = pd.RangeIndex(2, len(frame) + 2, name="place")
    return Submission("file.csv", "tidy", frames)


def outside() -> Frames:
    """The explanations that were computed here."""
    return {"explanations": pd.DataFrame({"sample_id": SAMPLES}, dtype="str")}


Held = tuple[Study, Known]  # what a submission is held against


def known(stored: Frames | None = None, votes_per_sample: int = 5) -> Held:
    """The study, the samples and what is stored."""
    study = rating_study(load_protocol("p2"), votes_per_sample)
    return study, Known(outside(), stored or study.frames({}))


def check(given: Submission, held: Held, replace: bool = False) -> Checked:
    """Check a submission."""
    return check_submission(given, *held, replace)


def stored(**tables: Sequence[Row]) -> Frames:
    """Answers as the check lets them through."""
    return accepted(check(submission(**tables), known(votes_per_sample=len(PEOPLE))))


def accepted(checked: Checked) -> Frames:
    """The annotations of a submission in which nothing is wrong."""
    assert checked.findings == () and checked.answers is not None
    return checked.answers


def assert_same(one: Frames, other: Frames) -> None:
    """Fail unless all tables are equal, types and order too."""
    for name in ANSWERS:
        pd.testing.assert_frame_equal(one[name], other[name], obj=name)


def write_tidy(folder: Path, **tables: Sequence[Row]) -> Path:
    """A folder of tidy tables, as a user gives it."""
    folder.mkdir(parents=True)
    for name, rows in {"annotators": people(*range(len(PEOPLE))), **tables}.items():
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    return folder
