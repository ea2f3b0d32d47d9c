"""Explanations of one image, whoever's, by this project's classifiers, and pictures of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from pasta import compute
from pasta.config import load_params
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations import rendering
from pasta.explanations.attribution import of_places, shown_maps, statuses
from pasta.explanations.engine import Work, attributions, view_of
from pasta.explanations.gallery import Entry, draw, sheet
from pasta.explanations.rendering import Explanation, Pixels
from pasta.explanations.techniques import Technique, backbone_title
from pasta.models.checkpoint import open_classifier, read_image
from pasta.models.data import as_tensor


@dataclass(frozen=True)
class Answer:
    """What a technique says about an image."""

    technique: Technique
    pixels: NDArray[np.uint8]  # (height, width, 3), as the model saw it
    predicted: str
    probability: float  # of the predicted class
    explained: str  # the class that is explained
    shown: NDArray[np.float32]  # a map (height, width), or one value for each concept
    concepts: tuple[str, ...]  # their names; empty for maps
    status: str


def explain_file(
    file: Path,
    dataset: str,
    chosen: Sequence[Technique],
    label: str | None = None,
    advance: Callable[[str], None] | None = None,
) -> list[Answer]:
    """Explain the predicted class, or the one called ``label``, by several techniques."""
    answers: dict[Technique, Answer] = {}
    for backbone in dict.fromkeys(one.backbone for one in chosen):
        ours = [one for one in chosen if one.backbone == backbone]
        for answer in _explain(file, dataset, backbone, ours, label):
            answers[answer.technique] = answer
            if advance is not None:
                advance(answer.technique.key)
    return [answers[one] for one in chosen]


def _explain(
    file: Path, dataset: str, backbone: str, ours: Sequence[Technique], label: str | None
) -> list[Answer]:
    params, words = load_params(), vocabulary(dataset)
    model, size = open_classifier(dataset, backbone)
    pixels = read_image(file, size)
    images = compute.place(as_tensor(pixels[None]), compute.device_of(model))
    with torch.inference_mode():
        probability, predicted = model.probabilities(images)[0].max(0)
    target = int(predicted) if label is None else words.class_index(label)
    work = Work(
        view_of(model),
        lambda part: images[part],
        torch.tensor([target]),
        params.explanations.methods,
        params.seeds.explaining,
        budget=params.explanations.budget,
    )
    by_method = {one.method: one for one in ours}
    return [
        Answer(
            by_method[part.method],
            pixels,
            words.classes[int(predicted)],
            float(probability),
            words.classes[target],
            _shown(part.raw, by_method[part.method])[0],
            () if by_method[part.method].kind == "saliency" else words.concepts,
            statuses(part.raw)[0],
        )
        for part in attributions(work, list(by_method))
    ]


def _shown(raw: NDArray[np.float32], technique: Technique) -> NDArray[np.float32]:
    return raw if technique.kind == "concept" else shown_maps(of_places(raw, 2), technique.sign)


def answer_card(answer: Answer) -> Pixels:
    """One answer as a rater would see it."""
    return rendering.card(answer.pixels, _explanation(answer), answer.predicted, answer.probability)


def answer_sheet(answers: Sequence[Answer]) -> Pixels:
    """All answers about one image, backbone by backbone."""
    order = list(dict.fromkeys(answer.technique.backbone for answer in answers))
    entries = [
        Entry(_group(answer), answer.technique.title, _explanation(answer))
        for backbone in order
        for answer in answers
        if answer.technique.backbone == backbone
    ]
    explained = dict.fromkeys(answer.explained for answer in answers)
    title = (
        f"Why {answers[0].explained}?"
        if len(explained) == 1
        else "Why does each classifier say what it says?"
    )
    return np.asarray(draw(sheet(answers[0].pixels, entries, title)))


def _group(answer: Answer) -> str:
    name = backbone_title(answer.technique.backbone)
    return f"{name}: {rendering.says(answer.predicted, answer.probability)}"


def _explanation(answer: Answer) -> Explanation:
    if answer.concepts:
        return rendering.ConceptValues(answer.concepts, answer.shown)
    return rendering.HeatMap(answer.shown, answer.technique.signed)
