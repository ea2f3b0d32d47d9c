"""Candidates on images: what is predicted, what is true and how faithful the maps are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.prepared.falls import correlated
from pasta.applications.prepared.grid import Candidate, words
from pasta.applications.tuning_choice import HELD_OUT, SEARCH
from pasta.applications.tuning_search import Answer, Floats, Found
from pasta.applications.verdicts import predicted_stars, true_quality
from pasta.explanations.techniques import Technique

if TYPE_CHECKING:
    from pasta.applications.judge import MapJudge
    from pasta.applications.prepared.candidates import Subject
    from pasta.scoring.score import PastaScore

IMAGE_COLUMNS = (
    *("technique", "candidate", "part", "dataset", "image_id"),
    *("score", "quality", "faithfulness"),
)
PICTURES = 4


@dataclass(frozen=True)
class Pair:
    """One held-out image with the default's and the winner's map."""

    image: str  # dataset/image
    predicted: str
    signed: bool
    pixels: NDArray[np.uint8]
    default: NDArray[np.float32]
    tuned: NDArray[np.float32]
    scores: tuple[float, float]  # default, tuned


def answer_of(
    candidate: Candidate,
    subjects: Sequence[Subject],
    scorer: PastaScore,
    judges: Mapping[str, MapJudge | None],
) -> Answer:
    """Explain and score all images."""
    maps = [subject.shown(candidate) for subject in subjects]
    score, quality = _values(maps, subjects, scorer, judges)
    return Answer(candidate, score, quality)


def _values(
    maps: Sequence[NDArray[np.float32]],
    subjects: Sequence[Subject],
    scorer: PastaScore,
    judges: Mapping[str, MapJudge | None],
) -> tuple[Floats, Floats]:
    scores, qualities = [], []
    for shown, one in zip(maps, subjects, strict=True):
        signed, predicted = one.technique.signed, one.predicted
        scores.append(predicted_stars(scorer, one.fresh, shown, predicted, signed))
        qualities.append(true_quality(judges[one.fresh.name], one.fresh, shown, predicted))
    return np.concatenate(scores), np.concatenate(qualities)


def compared(
    pair: Sequence[Candidate],
    subjects: Sequence[Subject],
    scorer: PastaScore,
    judges: Mapping[str, MapJudge | None],
    seed: int,
    subsets: int,
) -> tuple[dict[str, Floats], dict[str, Floats], list[Pair]]:
    """Default and winner on held-out images: score, quality and faithfulness."""
    same = pair[0] == pair[1]
    maps = [[subject.shown(one) for subject in subjects] for one in (pair[:1] if same else pair)]
    values = [_values(own, subjects, scorer, judges) for own in maps]
    faithful = _faithful(maps, subjects, seed, subsets)
    both = [
        {"score": score, "quality": quality, "faithfulness": own}
        for (score, quality), own in zip(values, faithful, strict=True)
    ]
    pairs = _pairs(maps, subjects, [one["score"] for one in both])
    return both[0], both[-1], pairs


def _faithful(
    maps: Sequence[Sequence[NDArray[np.float32]]],
    subjects: Sequence[Subject],
    seed: int,
    subsets: int,
) -> list[Floats]:
    """Faithfulness correlations of each candidate, on the same subsets of pixels."""
    found = []
    for number, one in enumerate(subjects):
        falls = one.falls(subsets)
        for row, name in enumerate(one.fresh.ids):
            stack = np.stack([own[number][row] for own in maps])
            found.append(correlated(stack, falls[row], seed, f"{one.fresh.name}/{name}")[0])
    return list(np.stack(found, axis=1))


def _pairs(
    maps: Sequence[Sequence[NDArray[np.float32]]],
    subjects: Sequence[Subject],
    scores: Sequence[Floats],
) -> list[Pair]:
    """The first image of each dataset, for the report."""
    found, start = [], 0
    for number, one in enumerate(subjects[:PICTURES]):
        found.append(
            Pair(
                f"{one.fresh.name}/{one.fresh.ids[0]}",
                one.predicted[0],
                one.technique.signed,
                one.fresh.pixels[0],
                maps[0][number][0],
                maps[-1][number][0],
                (float(scores[0][start]), float(scores[-1][start])),
            )
        )
        start += len(one.fresh)
    return found


def image_table(
    technique: Technique,
    search: Sequence[Subject],
    others: Sequence[Subject],
    found: Found,
    pair: Sequence[Candidate],
    held_out: Sequence[Mapping[str, Floats]],
) -> pd.DataFrame:
    """The values of each image: all candidates on search images, default and winner on others."""

    def frame(
        candidate: Candidate, part: str, subjects: Sequence[Subject], **values: Any
    ) -> pd.DataFrame:
        places = [(one.fresh.name, name) for one in subjects for name in one.fresh.ids]
        return pd.DataFrame(places, columns=["dataset", "image_id"]).assign(
            technique=technique.key, candidate=words(candidate), part=part, **values
        )

    answers = [found.default, *(one for one in found.answers if one.candidate != pair[0])]
    frames = [
        frame(
            one.candidate,
            SEARCH,
            search,
            score=one.score,
            quality=one.quality,
            faithfulness=np.nan,
        )
        for one in answers
    ]
    for candidate, values in list(zip(pair, held_out, strict=True))[
        : 1 if pair[0] == pair[1] else 2
    ]:
        frames.append(frame(candidate, HELD_OUT, others, **values))
    return pd.concat(frames, ignore_index=True)[list(IMAGE_COLUMNS)]
