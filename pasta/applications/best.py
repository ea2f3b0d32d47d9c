"""The best explanation of a given image, by the predicted score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta.applications.mixture import TIE
from pasta.applications.scores import goodness
from pasta.applications.sheets import Layout, Line, sheet, stars
from pasta.config import load_params
from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.catalog import techniques
from pasta.explanations.single import Answer, explain_file
from pasta.scoring.score import PastaScore, Score
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import MAIN

SIZE, LETTERS = 200, 14  # of a tile and of its caption, in pixels


@dataclass(frozen=True)
class Ranked:
    """One explanation and its place; equal scores share a place, what has no score has none."""

    place: int | None
    tied: bool
    answer: Answer
    score: Score


@dataclass(frozen=True)
class Best:
    """All explanations of an image, the best first."""

    question: str
    wording: str
    ranked: list[Ranked]
    undecided: bool  # all have the same score: the score cannot choose


def best_explanations(
    file: Path,
    dataset: str,
    backbone: str,
    question: str = MAIN,
    scorer: Path | None = None,
    extras: bool = True,
    advance: Callable[[str], None] | None = None,
) -> Best:
    """Explain an image by all methods that are applied to a classifier, and rank them."""
    chosen = [one for one in techniques(extras) if one.backbone == backbone]
    if not chosen:
        known = ", ".join(dict.fromkeys(one.backbone for one in techniques(extras)))
        raise PastaError(f"no method explains {backbone!r} (there are some for {known})")
    metric = PastaScore.load(question, scorer)  # before the work, because it may refuse
    protocol = load_params().annotations.protocol
    answers = explain_file(file, dataset, chosen, advance=advance)
    scores = score_answers(metric, answers, dataset)
    wording = load_protocol(protocol).question(question).asked(answers[0].predicted)
    given = np.array([one.score for one in scores])
    ranked = rank(answers, scores, goodness(given, question, protocol))
    places = [one.place for one in ranked if one.place is not None]
    return Best(question, wording, ranked, len(places) > 1 and set(places) == {1})


def score_answers(metric: PastaScore, answers: Sequence[Answer], dataset: str) -> list[Score]:
    """Predicted ratings; maps with and without a sign are drawn differently."""
    found: dict[int, Score] = {}
    groups: dict[tuple[bool, bool], list[int]] = {}
    for number, answer in enumerate(answers):
        groups.setdefault((bool(answer.concepts), answer.technique.signed), []).append(number)
    for (by_concepts, signed), numbers in groups.items():
        own = [answers[number] for number in numbers]
        given: dict[str, Any] = {"label": [one.explained for one in own], "dataset": dataset}
        if by_concepts:
            given["concepts"] = [
                {name: float(value) for name, value in zip(one.concepts, one.shown, strict=True)}
                for one in own
            ]
        else:
            given |= {"image": [one.pixels for one in own], "signed": signed}
            given["saliency"] = [one.shown for one in own]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the table shows what has no score
            found.update(zip(numbers, metric.score(**given), strict=True))  # type: ignore[arg-type]
    return [found[number] for number in range(len(answers))]


def rank(
    answers: Sequence[Answer], scores: Sequence[Score], good: NDArray[np.float64]
) -> list[Ranked]:
    """The best first; scores within TIE of the first of a place share the place."""
    known = [number for number in range(len(good)) if np.isfinite(good[number])]
    order = sorted(known, key=lambda number: -good[number])
    places: dict[int, int] = {}
    for position, number in enumerate(order):
        before = order[position - 1] if position else None
        first = None if before is None else order[places[before] - 1]
        alike = first is not None and 4 * (good[first] - good[number]) <= TIE
        places[number] = places[order[position - 1]] if alike else position + 1
    counts = {place: list(places.values()).count(place) for place in places.values()}
    ranked = [
        Ranked(places[number], counts[places[number]] > 1, answers[number], scores[number])
        for number in order
    ]
    rest = [number for number in range(len(good)) if number not in places]
    return ranked + [Ranked(None, False, answers[number], scores[number]) for number in rest]


def best_picture(best: Best, shown: int = 4) -> NDArray[np.uint8]:
    """The image, the winner, and so many in all of those that follow."""
    first, ranked = best.ranked[0].answer, best.ranked[:shown]
    layout = Layout(1 + len(ranked), SIZE * (1 + len(ranked)), LETTERS)
    tiles = [layout.plain(first.pixels)]
    for one in ranked:
        answer = one.answer
        explanation: rendering.Explanation = (
            rendering.ConceptValues(answer.concepts, answer.shown)
            if answer.concepts
            else rendering.HeatMap(answer.shown, answer.technique.signed)
        )
        place = "" if one.place is None else f"{one.place}{' =' if one.tied else ''}. "
        caption = f"{place}{answer.technique.title}: {stars(one.score.score)}"
        tiles.append(layout.explained(answer.pixels, explanation, caption))
    return sheet([Line(rendering.says(first.predicted, first.probability), tiles)], layout)
