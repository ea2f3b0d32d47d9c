"""The pages of the prediction study for the study app, from a plan of trials and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import InputError
from pasta.studies.app.design import Json, Settings, Step, Writer, checked_step
from pasta.studies.app.texts import CONSENT_TEXT, THANKS_TEXT, instructions_text, named_texts

KIND = "prediction"
COLUMNS = (
    "participant_id",
    "condition",
    "session",
    "phase",
    "position",
    "image_id",
    "shown",
)
TRIES = 3  # of the practice and of the quiz; the first one counts for the screening

Pixels = NDArray[np.uint8]

_INSTRUCTIONS = (
    "A computer program puts pictures into one of two classes. It may be right or wrong. Your task "
    "is to find out how it decides, so that you can say what it will say about a new picture.",
    "First you see a few pictures, each with what the program said about it and, perhaps, with an "
    "explanation: the places of the picture that mattered to the program are marked. These "
    "examples stay on the page.",
    "Then you see new pictures, without explanation. Say what the program will say about them. It "
    "does not matter which class you would choose yourself. You do this three times.",
)


@dataclass(frozen=True)
class Experiment:
    """What an experiment shows.

    Attributes
    ----------
    name, classes
        Of the experiment, and the two classes that the model names.
    image
        The pixels of an image by its id.
    explanation
        The picture of an explanation by condition and image; None where a condition shows none.
    practice
        Images with the class shown, as examples of the practice, which may be about other classes.
    """

    name: str
    classes: tuple[str, str]
    image: Callable[[str], Pixels]
    explanation: Callable[[str, str], Pixels | None]
    practice: Sequence[tuple[str, str]] = ()


def write_study(
    folder: Path, plan: pd.DataFrame, experiment: Experiment, protocol: str = "", stop: bool = True
) -> int:
    """Write everything a prediction study needs into a folder that is being made.

    Parameters
    ----------
    folder
        An empty folder.
    plan
        A row for each trial: participant_id, condition, session, phase (practice, training, test or
        catch), position, image_id and the class ``shown``. Each participant of the plan is a place.
        Catch trials stand among those of the test by ``order``, if the plan has this column, else
        after them.
    experiment
        What it shows.
    protocol
        The version of the design that answers follow.
    stop
        Whether who never passes the practice or the quiz is sent away, and the place given again.

    Returns
    -------
    The number of places.
    """
    missing = [name for name in COLUMNS if name not in plan]
    if missing:
        raise InputError("is missing from the plan of trials", column=missing[0])
    writer = Writer(folder)
    pages = _Pages(writer, experiment)
    number = 0
    for number, (_, own) in enumerate(plan.groupby("participant_id", sort=True), start=1):
        condition = str(own["condition"].iloc[0])
        steps = pages.steps(own, condition, stop)
        writer.seat([writer.item(f"p{number:04d}", *steps)], condition)
    settings = Settings(kind=KIND, title="What will the program say?", protocol=protocol)
    texts = named_texts(CONSENT_TEXT, instructions_text(_INSTRUCTIONS), THANKS_TEXT)
    writer.write(settings, texts)
    return number


class _Pages:
    """Makes the steps of participants; what several see is written once."""

    def __init__(self, writer: Writer, experiment: Experiment) -> None:
        self.writer, self.experiment = writer, experiment

    def steps(self, plan: pd.DataFrame, condition: str, stop: bool) -> list[Step]:
        rows = _records(plan)
        practice = [row for row in rows if row["phase"] == "practice"]
        made = [self._practice(practice, condition, stop)] if practice else []
        made.append(self._quiz(stop))
        number = 0
        for session in sorted({row["session"] for row in rows} - {0}):
            own = [row for row in rows if row["session"] == session]
            training = [row for row in own if row["phase"] == "training"]
            others = [row for row in own if row["phase"] in ("test", "catch")]
            others.sort(key=lambda row: row.get("order", 0))
            seen: list[Json] = []
            for row in (*training, *others):
                number += 1
                in_training = row["phase"] == "training"
                phase = training if in_training else others
                about = self._about(row)
                page: Json = {"session": int(session), "number": phase.index(row) + 1}
                page |= {"of": len(phase), "reservoir": list(seen)}
                if in_training:
                    page["example"] = self._example(row["image_id"], row["shown"], condition)
                    seen.append(page["example"])
                    made.append(Step(f"t{number:03d}", "training", page, about=about))
                    continue
                page |= {"picture": self._picture(row["image_id"]), "classes": self._classes}
                field = {"class": {"type": "choice", "options": self._classes}}
                made.append(Step(f"t{number:03d}", "choice", page, field, about=about))
        return made

    @property
    def _classes(self) -> list[str]:
        return list(self.experiment.classes)

    def _about(self, row: Mapping[str, Any]) -> Json:
        about = {name: row[name] for name in ("phase", "image_id", "shown")}
        numbers = {name: int(row[name]) for name in ("session", "position")}
        return {**about, **numbers, "experiment": self.experiment.name}

    def _picture(self, image: str) -> Json:
        name = f"image {image}"
        if name not in self.writer.shared:
            self.writer.share(name, self.writer.picture(self.experiment.image(image), "a picture"))
        return {"use": name}

    def _example(self, image: str, shown: str, condition: str) -> Json:
        name = f"example {condition} {image} {shown}"
        if name not in self.writer.shared:
            pixels = self.experiment.explanation(condition, image)
            explanation = (
                None
                if pixels is None
                else self.writer.picture(pixels, "the explanation: marked places mattered")
            )
            example = {"picture": self._picture(image), "explanation": explanation, "shown": shown}
            self.writer.share(name, example)
        return {"use": name}

    def _practice(self, rows: Sequence[Mapping[str, Any]], condition: str, stop: bool) -> Step:
        known = {row["shown"] for row in rows} | {shown for _, shown in self.experiment.practice}
        options = self._classes if known <= set(self._classes) else sorted(known)
        questions = [
            {
                "id": f"q{place}",
                "wording": "What will the program say?",
                "options": options,
                "picture": self._picture(row["image_id"]),
            }
            for place, row in enumerate(rows, start=1)
        ]
        expected = {f"q{place}": row["shown"] for place, row in enumerate(rows, start=1)}
        images = {f"q{place}": row["image_id"] for place, row in enumerate(rows, start=1)}
        examples = [
            self._example(image, shown, condition) for image, shown in self.experiment.practice
        ]
        about = {"images": images, "experiment": self.experiment.name}
        return checked_step(
            "practice", "Practice", questions, expected, TRIES, stop, examples, about
        )

    def _quiz(self, stop: bool) -> Step:
        asked = (
            ("task", "What is your task?", _TASKS),
            ("test", "What do you see of a new picture?", _TESTS),
            ("right", "Is the program always right?", _RIGHTS),
        )
        questions = [
            {"id": name, "wording": wording, "options": sorted(options), "picture": None}
            for name, wording, options in asked
        ]
        expected = {name: options[0] for name, _, options in asked}
        about = {"experiment": self.experiment.name}
        return checked_step("quiz", "Quiz", questions, expected, TRIES, stop, about=about)


_TASKS = (
    "To say what the program will say",
    "To say what is really in the picture",
    "To say whether the picture is good",
)
_TESTS = ("Only the picture", "The picture and its explanation", "Only the explanation")
_RIGHTS = ("No, it may be wrong", "Yes, always")


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    ordered = frame.sort_values(["session", "position"], kind="stable")
    return [{str(key): value for key, value in row.items()} for row in ordered.to_dict("records")]
