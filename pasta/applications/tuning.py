"""Settings of explanation methods by predicted score (P1, Tables 23 and 24).

A grid of settings is tried on images that nobody has rated; the setting with the best mean
predicted score is then compared with the default on other such images. MLflow has a nested run for
each candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications import tuning_choice
from pasta.applications.prepared.candidates import Subject, Table, load_candidates
from pasta.applications.prepared.faithfulness import correlate
from pasta.applications.prepared.grid import Candidate, words
from pasta.applications.scores import direction
from pasta.applications.simulated_judge import Judges, predicted_stars, true_quality
from pasta.applications.tuning_choice import HELD_OUT, SEARCH, Answer, Floats, Found, search
from pasta.config import Params
from pasta.datasets.stored import StoredDataset
from pasta.explanations.techniques import Technique
from pasta.scoring.score import PastaScore
from pasta.tracking import Run, nested_run

IMAGE_COLUMNS = (
    *("technique", "candidate", "part", "dataset", "image_id"),
    *("score", "quality", "faithfulness"),
)
PICTURES = 4
Maps = Sequence[NDArray[np.float32]]  # of each subject
Tell = Callable[[Technique, Answer], None]


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


@dataclass(frozen=True)
class Tuned:
    """What comes out of tuning one technique."""

    technique: Technique
    default: Candidate
    winner: Candidate
    candidates: pd.DataFrame  # tuning_choice.CANDIDATE_COLUMNS, on the search images
    verdict: pd.DataFrame  # tuning_choice.VERDICT_COLUMNS
    images: pd.DataFrame  # IMAGE_COLUMNS
    conclusion: list[str]
    pairs: list[Pair]


def run_tuning(
    datasets: Mapping[str, StoredDataset],
    params: Params,
    scorer: PastaScore,
    prepared: Path,
    judges: Judges,
    tell: Tell | None = None,
) -> list[Tuned]:
    """All studies that the parameters name, with the maps in ``prepared``."""
    return [
        tune(
            load_candidates(prepared, study.technique, datasets), params, scorer, judges, tell=tell
        )
        for study in params.applications.tuning.studies
    ]


def tune(
    table: Table,
    params: Params,
    scorer: PastaScore,
    judges: Judges,
    *,
    trials: int | None = None,
    tell: Tell | None = None,
) -> Tuned:
    """Choose settings of one technique by predicted score, and say what the choice is worth.

    Parameters
    ----------
    table
        The grid, and the images to choose and to compare on.
    scorer
        Of the question that is to be answered better.
    judges
        Who know what was planted in simulated raters, by dataset.
    trials
        So many candidates, chosen by Optuna; None tries all.
    tell
        Called with each candidate when its score is known.
    """
    technique, resamples = table.technique, params.applications.resamples
    up = direction(scorer.question, params.annotations.protocol)

    def evaluate(candidate: Candidate) -> Answer:
        maps = [subject.shown(candidate) for subject in table.search]
        answer = Answer(candidate, *_judge(maps, table.search, scorer, judges))
        if tell is not None:
            tell(technique, answer)
        return answer

    found = search(table.grid, evaluate, trials=trials, direction=up, seed=params.seed)
    choice = tuning_choice.choose(found, up)
    pair = [found.default.candidate, choice.winner.candidate]
    default, tuned, shown = _compare(pair, table.held_out, scorer, judges, params)
    verdict = tuning_choice.verdict_table(
        technique.key, found, choice, tuned, default, resamples, params.seed, up
    )
    return Tuned(
        technique,
        pair[0],
        pair[1],
        tuning_choice.candidate_table(technique.key, found, choice, resamples, params.seed, up),
        verdict,
        _image_table(table, found, pair, [default, tuned]),
        tuning_choice.conclude(verdict, choice, up),
        shown,
    )


def log_candidate(technique: Technique, answer: Answer) -> None:
    """A nested run in the one that is open: the ``tell`` of :func:`tune`."""
    name = f"{technique.key}: {words(answer.candidate)}"
    with nested_run(name, {"technique": technique.key, **answer.candidate}) as run:
        for key, values in (("score", answer.score), ("quality", answer.quality)):
            if not np.isnan(values).all():
                run.log_metrics({key: float(np.nanmean(values))})
        run.log_metrics({"missing": answer.missing, "images": len(answer.score)})


def log_tuned(run: Run, tuned: Tuned) -> None:
    """The outcome of a study: what has won, what that is worth, and the tables behind it."""
    stem = tuned.technique.key.replace("/", "-")
    for row in tuned.verdict.to_dict("records"):
        if row["part"] in (SEARCH, HELD_OUT) and math.isfinite(row["estimate"]):
            name = f"{stem}.{row['part'].replace('-', '_')}.{row['measure']}_difference"
            run.log_metrics({name: row["estimate"]})
    run.set_tags({f"{stem}.winner": words(tuned.winner), f"{stem}.default": words(tuned.default)})
    run.log_table(tuned.candidates, f"{stem}.candidates.csv")
    run.log_table(tuned.verdict, f"{stem}.verdict.csv")


def _judge(
    maps: Maps, subjects: Sequence[Subject], scorer: PastaScore, judges: Judges
) -> tuple[Floats, Floats]:
    """Predicted stars and true quality of the maps of all images."""
    scores, qualities = [], []
    for shown, one in zip(maps, subjects, strict=True):
        signed, predicted = one.technique.signed, one.predicted
        scores.append(predicted_stars(scorer, one.fresh, shown, predicted, signed))
        qualities.append(true_quality(judges[one.fresh.name], one.fresh, shown, predicted))
    return np.concatenate(scores), np.concatenate(qualities)


def _compare(
    pair: Sequence[Candidate],
    subjects: Sequence[Subject],
    scorer: PastaScore,
    judges: Judges,
    params: Params,
) -> tuple[dict[str, Floats], dict[str, Floats], list[Pair]]:
    """Default and winner on held-out images: score, quality and faithfulness."""
    same = pair[0] == pair[1]
    maps = [[subject.shown(one) for subject in subjects] for one in (pair[:1] if same else pair)]
    faithful = _faithful(maps, subjects, params)
    both = []
    for own, values in zip(maps, faithful, strict=True):
        score, quality = _judge(own, subjects, scorer, judges)
        both.append({"score": score, "quality": quality, "faithfulness": values})
    return both[0], both[-1], _pairs(maps, subjects, [one["score"] for one in both])


def _faithful(maps: Sequence[Maps], subjects: Sequence[Subject], params: Params) -> list[Floats]:
    """Faithfulness correlations of each candidate, on the same subsets of pixels."""
    found = []
    for number, one in enumerate(subjects):
        drops = one.drops()
        for row, image in enumerate(one.fresh.ids):
            stack = np.stack([own[number][row] for own in maps])
            found.append(correlate(stack, drops[row], params, f"{one.fresh.name}/{image}")[0])
    return list(np.stack(found, axis=1))


def _pairs(
    maps: Sequence[Maps], subjects: Sequence[Subject], scores: Sequence[Floats]
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


def _image_table(
    table: Table, found: Found, pair: Sequence[Candidate], held_out: Sequence[Mapping[str, Floats]]
) -> pd.DataFrame:
    """The values of each image: all candidates on search images, default and winner on others."""

    def frame(
        candidate: Candidate, part: str, subjects: Sequence[Subject], values: Mapping[str, Any]
    ) -> pd.DataFrame:
        places = [(one.fresh.name, name) for one in subjects for name in one.fresh.ids]
        return pd.DataFrame(places, columns=["dataset", "image_id"]).assign(
            technique=table.technique.key, candidate=words(candidate), part=part, **values
        )

    frames = []
    for one in (found.default, *(one for one in found.answers if one.candidate != pair[0])):
        values = {"score": one.score, "quality": one.quality, "faithfulness": np.nan}
        frames.append(frame(one.candidate, SEARCH, table.search, values))
    number = 1 if pair[0] == pair[1] else 2
    for candidate, own in zip(pair[:number], held_out[:number], strict=True):
        frames.append(frame(candidate, HELD_OUT, table.held_out, own))
    return pd.concat(frames, ignore_index=True)[list(IMAGE_COLUMNS)]
