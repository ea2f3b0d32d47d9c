"""Pictures of what techniques say about one image, for the command line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pasta.explanations import rendering
from pasta.explanations.rendering import Explanation, Pixels
from pasta.explanations.sheets import Entry, sheet
from pasta.explanations.single import Answer
from pasta.models.base import MODELS


def answer_card(answer: Answer) -> Pixels:
    """One answer as a rater would see it."""
    return rendering.card(answer.pixels, _explanation(answer), answer.predicted, answer.probability)


def answer_sheet(answers: Sequence[Answer]) -> Pixels:
    """All answers about one image, backbone by backbone."""
    order = list(dict.fromkeys(answer.technique.backbone for answer in answers))
    entries = [
        Entry(_group(answer), str(answer.technique.about["title"]), _explanation(answer))
        for backbone in order
        for answer in answers
        if answer.technique.backbone == backbone
    ]
    picture = sheet(answers[0].pixels, entries, f"Why {answers[0].explained}?")
    return np.asarray(picture)


def _group(answer: Answer) -> str:
    name = MODELS.entry(answer.technique.backbone).metadata["title"]
    return f"{name}: {rendering.says(answer.predicted, answer.probability)}"


def _explanation(answer: Answer) -> Explanation:
    if answer.concepts:
        return rendering.ConceptValues(answer.concepts, answer.shown)
    return rendering.HeatMap(answer.shown, answer.technique.signed)
