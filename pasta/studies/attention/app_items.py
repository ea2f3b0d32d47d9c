"""The pages of the attention study for the study app, from a plan and what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import InputError
from pasta.studies.app.design import Json, Settings, Step, Writer, checked_step
from pasta.studies.app.texts import CONSENT_TEXT, THANKS_TEXT, instructions_text, named_texts

KIND = "attention"
COLUMNS = ("annotator_id", "item", "position")
CHECK = "check"  # in ``about`` of an image that only shows whether people take care
LOWEST, HIGHEST, SCALE = "very bad", "very good", 10

Pixels = NDArray[np.uint8]

_BEGIN = (
    "You will see pictures or texts, each with the class that it belongs to, such as *cat* or "
    "*a good review*.",
)
_MARKING = (
    "In a picture, mark the parts that best show the class: draw around them, or draw a box. In a "
    "text, choose the words that best show it. Mark only what you need to recognise the class, and "
    "as tightly as you can.",
    "There are no right or wrong answers. If nothing shows the class, mark nothing.",
)
_RATING = (
    "In some pictures parts are marked already, in warm colours. Say how well they show the class, "
    f"from 1 ({LOWEST}) to {SCALE} ({HIGHEST}).",
)


@dataclass(frozen=True)
class Image:
    """An image on which people mark what shows its class, perhaps only to see if they take care."""

    pixels: Pixels
    label: str
    check: bool = False


@dataclass(frozen=True)
class Words:
    """A text whose words people choose."""

    words: Sequence[str]
    label: str


@dataclass(frozen=True)
class Heat:
    """An explanation that people rate."""

    pixels: Pixels
    label: str


Shown = Image | Words | Heat


def write_study(
    folder: Path,
    plan: pd.DataFrame,
    shown: Mapping[str, Shown],
    protocol: str = "",
    understood: bool = False,
) -> int:
    """Write everything an attention study needs into a folder that is being made.

    Parameters
    ----------
    folder
        An empty folder.
    plan
        annotator_id, item and position: who sees what, and when. Each annotator of the plan is a
        place. What everybody sees first, as a check, stands first for everybody. A column
        ``part`` names parts of the study that are filled at the same pace.
    shown
        Images, texts and explanations by the name that the plan has for them: an image_id, a
        text_id or a sample_id.
    protocol
        The version of the study that answers follow.
    understood
        Whether people are asked what they have to do, after the instructions.

    Returns
    -------
    The number of places.
    """
    missing = [name for name in COLUMNS if name not in plan]
    if missing:
        raise InputError("is missing from the plan", column=missing[0])
    writer = Writer(folder)
    items = dict.fromkeys(plan["item"])
    unknown = [one for one in items if one not in shown]
    if unknown:
        raise InputError(f"the plan has {unknown[0]!r}, which is not shown", column="item")
    names = {
        one: writer.item(f"a{number:05d}", _step(writer, str(one), shown[one]))
        for number, one in enumerate(items, start=1)
    }
    ordered = plan.sort_values(["annotator_id", "position"])
    for _, own in ordered.groupby("annotator_id", sort=True):
        part = str(own["part"].iloc[0]) if "part" in own else ""
        writer.seat([names[one] for one in own["item"]], part)
    settings = Settings(kind=KIND, title="What shows the class?", protocol=protocol)
    marking = any(isinstance(shown[one], Image | Words) for one in items)
    rating = any(isinstance(shown[one], Heat) for one in items)
    if understood:
        writer.ask(_understood(marking, rating))
    paragraphs = [*_BEGIN, *(_MARKING if marking else ()), *(_RATING if rating else ())]
    texts = named_texts(CONSENT_TEXT, instructions_text(paragraphs), THANKS_TEXT)
    writer.write(settings, texts)
    return len(writer.seats)


def _understood(marking: bool, rating: bool) -> Step:
    """Questions whose answers stand in the instructions."""
    questions: list[Json] = []
    expected: dict[str, str] = {}
    if marking:
        wording, right = "Nothing shows the class. What do you do?", "Mark nothing"
        options = ["Mark everything", right, "Mark any part"]
        expected["nothing"] = right
        questions.append({"id": "nothing", "wording": wording, "options": options})
    if rating:
        wording, right = (
            "Parts are marked already. What do you rate?",
            "How well they show the class",
        )
        options = [right, "How nice the picture is", "How large they are"]
        expected["rated"] = right
        questions.append({"id": "rated", "wording": wording, "options": options})
    asked = [{**one, "picture": None} for one in questions]
    return checked_step("understood", "Before you start", asked, expected)


def _step(writer: Writer, name: str, one: Shown) -> Step:
    page: dict[str, object] = {"class": one.label}
    if isinstance(one, Words):
        page |= {"wording": f"Choose the words that show: {one.label}", "words": list(one.words)}
        field = {"words": {"type": "words", "count": len(one.words)}}
        return Step("words", "words", page, field, about={"text_id": name})
    page["picture"] = writer.picture(one.pixels, f"a picture of the class {one.label}")
    if isinstance(one, Heat):
        page |= {
            "wording": f"How well does the marked part show: {one.label}?",
            "lowest": LOWEST,
            "highest": HIGHEST,
            "scale": SCALE,
        }
        rating = {"rating": {"type": "whole", "low": 1, "high": SCALE}}
        return Step("goodness", "goodness", page, rating, about={"sample_id": name})
    height, width = one.pixels.shape[:2]
    page |= {"wording": f"Mark what shows: {one.label}", "shapes": ["polygon", "box"]}
    regions = {"regions": {"type": "regions", "width": width, "height": height}}
    about: Json = {"image_id": name, **({CHECK: True} if one.check else {})}
    return Step("regions", "regions", page, regions, about=about)
