"""Explanations with their votes and predicted scores (P1, Tables 21 and 22)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from reports.document import Block, Column, Heading, Note, Table, Text
from reports.names import dataset_name, technique_name
from reports.pages.applications_words import BLANK, drawn, top
from reports.pages.parts import Tables, table
from reports.words import interval, number

GROUPS = {
    "best": "highest predicted scores",
    "worst": "lowest predicted scores",
    "better than predicted": "people kinder than predicted",
    "worse than predicted": "people harsher than predicted",
}
_VOTES = [f"votes_{star}" for star in range(1, 6)]


def examples_blocks(tables: Tables | None, pictures: Mapping[str, Path]) -> list[Block]:
    """A table of examples, and their pictures."""
    blocks: list[Block] = [Heading("Examples")]
    found = table(tables, "examples")
    if found.empty:
        return [*blocks, Note("Examples: no explanation has both votes and a score.", "missing")]
    unseen = bool(found["held_out"].astype(bool).all())
    furthest = top(found, found["surprise"].abs())
    blocks += [
        Text(
            "Explanations with the best and the worst predicted scores, and those on which votes "
            "and prediction are furthest apart. "
            + (
                "The scorer has not seen their images. "
                if unseen
                else "The scorer may have seen their images: there are no held-out ones. "
            )
            + f"The largest surprise is {technique_name(str(furthest['technique']))} on "
            f"{furthest['sample_id'].split('/')[0]}/{_image(furthest['sample_id'])}: "
            f"{number(furthest['score'])} stars predicted, {number(furthest['mean'])} given. "
            "Surprises were searched for; they are not typical."
        ),
        _table(found),
        *drawn(
            pictures,
            "examples",
            "The same explanations as people see them, with predicted stars and votes.",
            "Rows of explanations: best, worst, better and worse than predicted",
        ),
    ]
    return blocks


def _image(sample: str) -> str:
    return str(sample).split("/")[1]


def _table(found: pd.DataFrame) -> Table:
    inside = found["mean"].between(found["low"], found["high"])
    rows = found.assign(
        set=found["group"].map(GROUPS).fillna(found["group"]).where(found["place"] == 1, BLANK),
        name=found["technique"].map(lambda key: technique_name(str(key))),
        image=[
            f"{dataset_name(str(dataset))} {_image(sample)}"
            for dataset, sample in zip(found["dataset"], found["sample_id"], strict=True)
        ],
        votes=[
            " ".join(
                str(star) for star, name in enumerate(_VOTES, 1) for _ in range(int(row[name]))
            )
            for _, row in found.iterrows()
        ],
        ends=[
            interval(low, high, 1) for low, high in zip(found["low"], found["high"], strict=True)
        ],
    )
    return Table(
        rows,
        [
            Column("set", "group"),
            Column("image", "image"),
            Column("name", "technique"),
            Column("score", "predicted", "0.00"),
            Column("ends", "90 % interval"),
            Column("votes", "votes"),
            Column("mode", "mode", "0"),
            Column("mean", "mean", "0.0"),
        ],
        "Votes and predicted stars, laid out as P1's Tables 21 and 22.",
        note=f"On {int(inside.sum())} of {len(found)} the mean vote lies within the predicted "
        "interval.",
        widths=[0.15, 0.17, 0.2, 0, 0, 0, 0, 0],
    )
