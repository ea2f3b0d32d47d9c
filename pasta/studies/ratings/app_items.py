"""The pages of the rating study for the study app, from a plan and the stored explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.explanations.stored import STRENGTHS
from pasta.progress import bar
from pasta.seeds import generator
from pasta.studies.app.design import Json, Settings, Step, Writer, checked_step
from pasta.studies.app.texts import CONSENT_TEXT, THANKS_TEXT, instructions_text, named_texts
from pasta.studies.ratings.protocol import Phase, Protocol, Question
from pasta.studies.ratings.rateable import Views
from pasta.studies.ratings.settings import NAME
from pasta.studies.ratings.tables import STARS

_WORDS, _BOXES = 2000, 50  # at most


def write_study(
    folder: Path,
    plan: pd.DataFrame,
    views: Views,
    protocol: Protocol,
    seed: int,
) -> int:
    """Write everything a rating study needs into a folder that is being made.

    Parameters
    ----------
    folder
        An empty folder.
    plan
        sample_id, annotator_id and position, as :func:`.plan.make_plan` gives them; each annotator
        of the plan is a place in the study.
    views
        What people see of the samples.
    protocol
        The questions.
    seed
        Of the order in which the things to be ranked are shown.

    Returns
    -------
    The number of samples.
    """
    samples = list(dict.fromkeys(plan["sample_id"]))
    unknown = [one for one in samples if one not in views]
    if unknown:
        raise PastaError(f"the plan's sample {unknown[0]!r} is not among the explanations")
    writer = Writer(folder)
    names = {}
    with bar("pictures", len(samples), "samples") as line:
        for number, sample in enumerate(sorted(samples), start=1):
            names[sample] = writer.item(
                f"s{number:05d}", *_sample_steps(writer, views, sample, protocol)
            )
            line.advance()
    ordered = plan.sort_values(["annotator_id", "position"])
    for number, (_, own) in enumerate(ordered.groupby("annotator_id", sort=True), start=1):
        ranking = writer.item(f"ranking{number:03d}", _ranking_step(protocol, seed, number))
        writer.seat([*(names[sample] for sample in own["sample_id"]), ranking])
    writer.ask(_understood(protocol))
    title = "What do you think of these explanations?"
    settings = Settings(kind=NAME, title=title, protocol=protocol.version)
    lessons = [(lesson.title, lesson.text) for lesson in protocol.training[:-1]]
    instructions = instructions_text(protocol.instructions, lessons)
    writer.write(settings, named_texts(CONSENT_TEXT, instructions, THANKS_TEXT))
    return len(samples)


def _sample_steps(writer: Writer, views: Views, sample: str, protocol: Protocol) -> list[Step]:
    predicted = views.predicted(sample)
    original = views.view(sample)
    picture = writer.picture(original.image, "the picture", title="The picture")
    explanation = _explanation(writer, original.picture, original.activations, "The explanation")
    shown = {"before": [picture], "explanation": [picture, explanation]}
    for strength in STRENGTHS:
        changed = views.view(sample, strength)
        other = views.predicted(sample, strength)
        shown[strength] = [
            {**picture, "title": f"The picture: {predicted}"},
            explanation,
            writer.picture(
                changed.image, "the changed picture", title=f"The changed picture: {other}"
            ),
            _explanation(
                writer, changed.picture, changed.activations, "The explanation of the changed one"
            ),
        ]
    about = {"sample_id": sample}
    before, *others = [one for one in protocol.phases if one.id != "end"]
    first = protocol.during(before.id)
    return [
        Step(
            "before",
            "before",
            {
                "predicted": predicted,
                "picture": picture,
                "questions": [_asked(one, predicted) for one in first],
            },
            {
                "Q0.1": {"type": "text", "longest": _WORDS},
                "Q0.2": {"type": "boxes", "most": _BOXES},
            },
            about=about,
        ),
        Step(
            "stars",
            "stars",
            {
                "predicted": predicted,
                "stars": len(STARS),
                "phases": [_phase(writer, protocol, one, shown[one.id]) for one in others],
            },
            {
                name: {"type": "whole", "low": min(STARS), "high": max(STARS)}
                for name in protocol.stars
            },
            about=about,
        ),
    ]


def _explanation(
    writer: Writer, picture: NDArray[np.uint8] | None, activations: Any, title: str
) -> Json:
    if picture is None:
        raise PastaError("an explanation has no picture that could be shown")
    if isinstance(activations, Mapping):
        largest = sorted(activations.items(), key=lambda pair: -abs(float(pair[1])))
        bars = [{"name": str(name), "value": round(float(value), 4)} for name, value in largest]
        alt = "the explanation: a bar for each concept"
        return writer.picture(np.asarray(picture), alt, title=title, bars=bars)
    alt = "the explanation: the picture with warm colours where it counted"
    return writer.picture(np.asarray(picture), alt, title=title)


def _phase(writer: Writer, protocol: Protocol, phase: Phase, pictures: Sequence[Json]) -> Json:
    questions = writer.share(
        f"questions of {phase.id}", [_asked(one) for one in protocol.during(phase.id)]
    )
    text = {"id": phase.id, "title": phase.title, "text": phase.text}
    return {**text, "pictures": list(pictures), "questions": questions}


def _asked(question: Question, predicted: str = "") -> Json:
    asked = {
        "id": question.id,
        "kind": question.kind,
        "wording": question.asked(predicted),
        "help": question.help,
        "lowest": question.lowest,
        "highest": question.highest,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _ranking_step(protocol: Protocol, seed: int, seat: int) -> Step:
    questions = []
    for question in protocol.rankings:
        random = generator(seed, "study app", "ranking", question.id, seat)
        items = [question.items[place] for place in random.permutation(len(question.items))]
        shown = [{"id": one.id, "text": one.text} for one in items]
        questions.append({**_asked(question), "items": shown})
    fields = {one.id: {"type": "ranking", "items": list(one.item_ids)} for one in protocol.rankings}
    return Step("rankings", "rankings", {"questions": questions}, fields)


def _understood(protocol: Protocol) -> Step:
    """Questions whose answers stand in the instructions."""
    stars = len(STARS)
    questions: list[Json] = [
        {
            "id": "rated",
            "wording": "What do you rate?",
            "options": ["The explanation", "The picture", "Whether the class is right"],
            "picture": None,
        },
        {
            "id": "change",
            "wording": "A picture was changed, but its explanation stayed the same. How many stars "
            f"does {protocol.stars[-2]} get?",
            "options": ["1 star: not changed at all", f"{stars} stars: changed completely"],
            "picture": None,
        },
    ]
    expected = {one["id"]: str(one["options"][0]) for one in questions}
    return checked_step("understood", "Before you start", questions, expected)
