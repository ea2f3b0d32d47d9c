"""What pages on applications share: differences in words, verdicts, and pictures from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from reports.document import Block, Column, Note, Picture
from reports.names import METHODS
from reports.replication.published import published_table
from reports.words import interval, signed

Parts = Mapping[str, Mapping[str, pd.DataFrame]]
Verdict = Literal["better", "worse", "open", "unknown"]
BLANK = "\N{NO-BREAK SPACE}"  # a cell that is empty on purpose, not for want of a value
MEASURES = {
    "score": "predicted stars",
    "faithfulness": "faithfulness",
    "quality": "true quality",
}
SHEET = 1800  # pixels of a picture that is as wide as the text
DIFFERENCE = [
    Column("estimate", "difference", "signed"),
    Column("low", "95 % interval", "interval"),
    Column("better", "better", "0"),
    Column("equal", "equal", "0"),
    Column("worse", "worse", "0"),
]


def verdict(row: Mapping[str, Any] | None, up: int = 1) -> Verdict:
    """Whether a difference is clearly an improvement; ``up`` is -1 where less is better."""
    if row is None or pd.isna(row["low"]) or pd.isna(row["high"]):
        return "unknown"
    low, high = sorted((up * row["low"], up * row["high"]))
    if low > 0:
        return "better"
    return "worse" if high < 0 else "open"


def change(row: Mapping[str, Any], places: int = 2) -> str:
    """ "+0.24 [0.04, 0.47]", without an interval where there are too few images for one."""
    if pd.isna(row["low"]):
        return signed(row["estimate"], places)
    return f"{signed(row['estimate'], places)} {interval(row['low'], row['high'], places)}"


def top(frame: pd.DataFrame, values: pd.Series[Any]) -> dict[str, Any]:
    """The row with the largest of these values, which belong to its rows."""
    return {str(name): value for name, value in frame.iloc[int(values.to_numpy().argmax())].items()}


def served(row: Mapping[str, Any] | None, up: int = 1) -> str:
    """The end of a sentence: would people be better served?"""
    if row is None:
        return "nobody judges whether people would be better served"
    return {
        "better": "people would be better served",
        "worse": "people would be worse served",
        "open": "it is not clear that people would be better served",
        "unknown": "there are too few images to say whether people would be better served",
    }[verdict(row, up)]


def printed(fact: str) -> float:
    """A number from the running text of the papers."""
    values = published_table("pasta_text_numbers").set_index("fact")["value"]
    return float(values[fact])


def method_title(key: str) -> str:
    """``gradcam/resnet50`` or ``gradcam`` as "GradCAM"."""
    method = str(key).partition("/")[0]
    return METHODS.get(method, str(key))


def drawn(
    pictures: Mapping[str, Path], name: str, caption: str, alt: str, share: float = 1.0
) -> list[Block]:
    """A picture file at the size it was drawn for, or a note that it is missing."""
    from PIL import Image

    file = pictures.get(name)
    if file is None or not file.is_file():
        return [Note(f"The picture “{name}” has not been drawn.", "missing")]
    with Image.open(file) as opened:
        width = opened.size[0]
    return [Picture(file, caption, alt, share * min(1.0, width / SHEET))]
