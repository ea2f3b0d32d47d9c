"""What pages share: looking things up in tables that may be missing, and saying so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import category, normalize

import numpy as np
import pandas as pd

from reports.source.document import Block, Note, Picture
from reports.source.words import interval, listed, number

Tables = Mapping[str, pd.DataFrame]
ALPHA = 0.05
Row = Mapping[str, Any]
OVERALL = "all"
MEAN = "mean"
SURE = 0.05
_NAMES = ("annotator_id", "question", "kind", "first", "second", "group", "level", "reference")
_LETTERS = (
    (0x20, 0x24F),
    (0x370, 0x37E),
    (0x384, 0x4FF),
    (0x1E00, 0x1EF9),
    (0x2010, 0x2027),
    (0x2212, 0x2212),
)
HONEST, PUBLISHED = "mode_kappa_leave_one_out", "mode_kappa_as_published"
SECTIONS: Mapping[str, str] = {
    "agreement": "agreement by question",
    "with_mode": "annotators against the mode",
    "pairs": "pairs of annotators",
    "kinds": "kinds of explanation",
    "kind_differences": "comparison of kinds",
    "sex": "sex",
    "age": "age",
    "country": "country",
    "groups": "groups of annotators",
    "group_tests": "comparison of groups",
    "people": "rating levels of annotators",
    "model": "model of all votes",
    "text_bias": "likeness to own words",
    "box_bias": "likeness to own boxes",
    "order": "order and fatigue",
    "profiles": "profiles of annotators",
    "look_at": "annotators to look at",
    "study": "the study",
    "stars": "use of the scale",
}


def table(tables: Tables | None, name: str) -> pd.DataFrame:
    """A table, or an empty one if it is not there."""
    found = None if tables is None else tables.get(name)
    return pd.DataFrame() if found is None else found


def known(tables: Tables | None, name: str, **where: object) -> pd.DataFrame:
    """The rows of a table that have an estimate, and the wanted values in their columns."""
    found = table(tables, name)
    rows = found.dropna(subset=["estimate"]) if "estimate" in found else pd.DataFrame()
    return chosen(rows, **where)


def why_missing(tables: Tables | None, *sections: str) -> str:
    """The reason why these sections are missing, or a general one."""
    return _why(tables, *sections) or "this was not computed"


def _why(tables: Tables | None, *sections: str) -> str:
    found = table(tables, "missing")
    own = found[found["section"].isin(sections)] if len(found) else found
    return str(own["why"].iloc[0]) if len(own) else ""


def missing(tables: Tables | None, what: str, *sections: str) -> Note:
    """A box that says what is not here and why: "The order of techniques: nobody has voted."."""
    return Note(f"{what}: {why_missing(tables, *sections)}.", "missing")


def chosen(frame: pd.DataFrame, **keys: object) -> pd.DataFrame:
    """The rows with these values; none if a column is not there."""
    if any(name not in frame for name in keys):
        return frame.iloc[:0]
    rows = np.ones(len(frame), bool)
    for name, value in keys.items():
        rows &= (frame[name] == value).to_numpy(bool)
    return frame[rows]


def one(frame: pd.DataFrame, **keys: object) -> dict[str, Any] | None:
    """The first row with these values, or None."""
    found = chosen(frame, **keys)
    return None if found.empty else {str(name): value for name, value in found.iloc[0].items()}


def picture(figure: Any, caption: str, alt: str, width: float = 1.0) -> list[Block]:
    """A picture, or nothing if there was nothing to draw."""
    return [] if figure is None else [Picture(figure, caption, alt, width)]


def only(tables: Tables, name: str, **where: object) -> Row | None:
    """The one row with an estimate and these values, or None."""
    return one(known(tables, name), **where)


def named(tables: Tables) -> Tables:
    """The tables with names and notes as text that can be printed.

    A CSV file does not say that annotator 7 is a name and no number.
    """
    result = {}
    for name, frame in tables.items():
        texts = {}
        for column in frame.columns:
            values = frame[column]
            if column in _NAMES or not pd.api.types.is_numeric_dtype(values):
                words = {value: printable(str(value)) for value in values.dropna().unique()}
                texts[str(column)] = values.astype(object).map(words, na_action="ignore")
        result[name] = frame.assign(**texts)
    return result


def printable(text: str) -> str:
    """The text with letters that the fonts of the reports lack as their code: "[5F20]".

    Latin, Greek and Cyrillic letters are there; without this rule any other would end the
    typesetting.
    """
    return "".join(_printable(letter) for letter in normalize("NFC", text)).strip()


def _printable(letter: str) -> str:
    if category(letter)[0] in "CZ":
        return " "
    inside = any(low <= ord(letter) <= high for low, high in _LETTERS)
    return letter if inside else f"[{ord(letter):04X}]"


def facts(tables: Tables) -> dict[str, float]:
    """The numbers of the study by name."""
    study = tables["study"]
    return dict(zip(study["fact"], study["value"].astype(float), strict=True))


def whole_question(tables: Tables, name: str) -> str | None:
    """What stands for everything: all questions together, or the only question there is."""
    questions = list(known(tables, name)["question"].unique())
    if OVERALL in questions:
        return OVERALL
    return str(questions[0]) if len(questions) == 1 else None


def missing_notes(tables: Tables, *sections: str) -> list[Block]:
    """One box on what these sections lack, if anything; the same reason is said once."""
    reasons: dict[str, list[str]] = {}
    for section in sections:
        reason = _why(tables, section)
        if reason:
            reasons.setdefault(reason, []).append(SECTIONS.get(section, section))
    said = [f"{capital(listed(names))}: {reason}." for reason, names in reasons.items()]
    return [Note(" ".join(said), "missing")] if said else []


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def with_interval(row: Any) -> str:
    """ "0.69 [0.68, 0.70]", without the interval where there is none."""
    if pd.isna(row["low"]) or pd.isna(row["high"]):
        return number(row["estimate"])
    return f"{number(row['estimate'])} {interval(row['low'], row['high'])}"
