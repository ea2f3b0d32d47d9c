"""Settings of explanation methods by predicted score (P1, Tables 23 and 24).

A grid of settings is tried on images that nobody has rated; the setting with the best mean
predicted score is then compared with the default on other such images. MLflow has a nested run for
each candidate.

Over-optimising is guarded against in three ways: the choice is made on some images and compared
with the default on others; faithfulness, which was not optimised, is compared too; and with
simulated raters their true quality judges, not the score that was optimised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.paired import COLUMNS, mean_interval, paired_difference
from pasta.applications.prepared.candidates import (
    Candidate,
    Grid,
    Subject,
    Table,
    load_candidates,
    words,
)
from pasta.applications.prepared.faithfulness import correlate
from pasta.applications.scores import direction
from pasta.applications.simulated_judge import Judges, predicted_stars, true_quality
from pasta.config import Params
from pasta.datasets.stored import StoredDataset
from pasta.explanations.techniques import Technique
from pasta.scoring.score import PastaScore
from pasta.seeds import entropy
from pasta.tracking import Run, nested_run

CANDIDATE_COLUMNS = (
    *("technique", "candidate", "n", "missing", "score", "low", "high", "difference"),
    *("difference_low", "difference_high", "quality", "best_on", "default", "winner", "tied"),
)
VERDICT_COLUMNS = ("technique", "tuned", "default", "part", "measure", *COLUMNS)
SEARCH, HELD_OUT, EACH = "search", "held-out", "best of each image"
TIE = 1e-6  # stars; scores come in single precision
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """A candidate's values for each image; NaN where a map shows nothing, or nobody judges."""

    candidate: Candidate
    score: Floats
    quality: Floats

    @property
    def missing(self) -> int:
        """Images without a score."""
        return int(np.isnan(self.score).sum())


@dataclass(frozen=True)
class Found:
    """The default's answer, and those of the candidates in the order of the grid."""

    default: Answer
    answers: list[Answer]


def search(
    grid: Grid,
    evaluate: Callable[[Candidate], Answer],
    *,
    trials: int | None = None,
    direction: int = 1,
    seed: int = 0,
) -> Found:
    """Answers of the default and of all candidates, or of as many as ``trials`` asks for.

    Fewer trials than combinations are chosen by Optuna's tree-structured Parzen estimator
    (Bergstra et al. 2011). No candidate is evaluated twice.
    """
    known = [evaluate(grid.default)]

    def ask(candidate: Candidate) -> Answer:
        for answer in known:
            if answer.candidate == candidate:
                return answer
        known.append(evaluate(candidate))
        return known[-1]

    def objective(trial: optuna.Trial) -> float:
        candidate: dict[str, Any] = {
            name: trial.suggest_categorical(name, list(values))
            for name, values in grid.choices.items()
        }
        chosen.append(candidate)
        mean = _mean(ask(candidate).score)
        # a candidate that shows nothing at all is worse than any other
        return (0.0 if direction > 0 else 6.0) if np.isnan(mean) else mean

    chosen: list[Candidate] = []
    if trials is None or trials >= len(grid):
        chosen = list(grid.candidates())
    else:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        chance = entropy(seed, "tuning") % 2**32
        study = optuna.create_study(
            direction="maximize" if direction > 0 else "minimize",
            sampler=optuna.samplers.TPESampler(seed=chance, n_startup_trials=5),
        )
        study.optimize(objective, n_trials=trials)
    return Found(known[0], [ask(one) for one in grid.candidates() if one in chosen])


@dataclass(frozen=True)
class Choice:
    """The winner, and all candidates whose mean score is the same (the winner among them)."""

    winner: Answer
    tied: list[Answer]
    compared: list[Answer]  # who could win: others show nothing on more images
    all_same: bool  # there is nothing to choose


def choose(found: Found, direction: int = 1) -> Choice:
    """The candidate with the best mean score.

    A candidate whose maps show nothing on some images has no score there. Only those with the
    fewest such images can win, and they are compared on images where all of them have a score, so
    that nobody gains by failing where it is hard. Among equals the default wins, then the first
    in the grid.
    """
    every = _everyone(found)
    fewest = min(answer.missing for answer in every)
    compared = [answer for answer in every if answer.missing == fewest]
    common = np.all([~np.isnan(answer.score) for answer in compared], axis=0)
    if not common.any():
        return Choice(found.default, compared, compared, True)
    means = direction * np.array([answer.score[common].mean() for answer in compared])
    tied = [
        answer for answer, mean in zip(compared, means, strict=True) if means.max() - mean <= TIE
    ]
    return Choice(tied[0], tied, compared, len(tied) == len(every) > 1)


def candidate_table(
    technique: str, found: Found, choice: Choice, resamples: int, seed: int, direction: int = 1
) -> pd.DataFrame:
    """One row for each candidate on the search images, the default first, see CANDIDATE_COLUMNS.

    ``best_on`` counts the images on which no other candidate has a better score.
    """
    every = _everyone(found)
    scores = direction * np.stack([answer.score for answer in every])
    best = np.nanmax(np.where(np.isnan(scores), -np.inf, scores), axis=0)
    rows = []
    for answer, own in zip(every, scores, strict=True):
        known = answer.score[~np.isnan(answer.score)]
        low, high = mean_interval(known, resamples, seed)
        beside = paired_difference(answer.score, found.default.score, resamples, seed)
        rows.append(
            {
                "technique": technique,
                "candidate": words(answer.candidate),
                "n": len(known),
                "missing": answer.missing,
                "score": _mean(answer.score),
                "low": low,
                "high": high,
                "difference": beside["estimate"],
                "difference_low": beside["low"],
                "difference_high": beside["high"],
                "quality": _mean(answer.quality),
                "best_on": int((own >= best - TIE).sum()),
                "default": answer is every[0],
                "winner": answer is choice.winner,
                "tied": len(choice.tied) > 1 and any(answer is one for one in choice.tied),
            }
        )
    return pd.DataFrame(rows, columns=list(CANDIDATE_COLUMNS))


def verdict_table(
    technique: str,
    found: Found,
    choice: Choice,
    tuned: Mapping[str, Floats],
    default: Mapping[str, Floats],
    resamples: int,
    seed: int,
    direction: int = 1,
) -> pd.DataFrame:
    """The winner (``first``) against the default (``second``), see VERDICT_COLUMNS.

    ``tuned`` and ``default`` have score, quality and faithfulness on the held-out images. The rows
    of ``best of each image`` are P1's search for each sample: for each search image the candidate
    with its best score. Its score cannot be worse; its quality can.
    """
    names = {"tuned": words(choice.winner.candidate), "default": words(found.default.candidate)}
    pairs: list[tuple[str, str, Floats, Floats]] = []
    for measure in ("score", "quality"):
        won, usual = getattr(choice.winner, measure), getattr(found.default, measure)
        pairs.append((SEARCH, measure, won, usual))
    pairs += [(HELD_OUT, measure, tuned[measure], default[measure]) for measure in tuned]
    for measure, values in best_of_each(found, direction).items():
        pairs.append((EACH, measure, values, getattr(found.default, measure)))
    rows = [
        {
            "technique": technique,
            **names,
            "part": part,
            "measure": measure,
            **paired_difference(first, second, resamples, seed),
        }
        for part, measure, first, second in pairs
        if not (np.isnan(first).all() and np.isnan(second).all())
    ]
    return pd.DataFrame(rows, columns=list(VERDICT_COLUMNS))


def best_of_each(found: Found, direction: int = 1) -> dict[str, Floats]:
    """Score and quality of the candidate with the best score on each image; the default's and
    then the first one's among equals."""
    every = _everyone(found)
    scores = np.stack([answer.score for answer in every])
    place = np.where(np.isnan(scores), -np.inf, direction * scores).argmax(axis=0)
    images = np.arange(scores.shape[1])
    qualities = np.stack([answer.quality for answer in every])
    return {"score": scores[place, images], "quality": qualities[place, images]}


def conclude(verdict: pd.DataFrame, choice: Choice, direction: int = 1) -> list[str]:
    """What the comparison says, in a few honest sentences."""
    names = verdict.iloc[0]
    if choice.all_same:
        return [f"all candidates have the same score: the default ({names['default']}) stays"]
    said = list(_ties(choice))
    if names["tuned"] == names["default"]:
        return [*said, f"no candidate scores better than the default ({names['default']})"]
    own = verdict.set_index(["part", "measure"])
    said.append(
        f"{names['tuned']} instead of {names['default']}: predicted score "
        f"{_words(own.loc[(SEARCH, 'score')])} on the images it was chosen on, "
        f"{_words(own.loc[(HELD_OUT, 'score')])} on held-out images"
    )
    if (HELD_OUT, "faithfulness") in own.index:
        said.append(f"faithfulness correlation {_words(own.loc[(HELD_OUT, 'faithfulness')])}")
    if (HELD_OUT, "quality") in own.index:
        row = own.loc[(HELD_OUT, "quality")]
        said.append(f"true quality {_words(row)}: {_served(row, direction)}")
    return said


def _ties(choice: Choice) -> Iterator[str]:
    others = [words(one.candidate) for one in choice.tied if one is not choice.winner]
    if others:
        yield f"{words(choice.winner.candidate)} ties with {'; '.join(others)}"


def _served(row: Any, direction: int) -> str:
    low, high = sorted((direction * row["low"], direction * row["high"]))
    if low > 0:
        return "people would be better served"
    if high < 0:
        return "people would be worse served"
    return "it is not clear that people would be better served"


def _words(row: Any) -> str:
    if not np.isfinite(row["low"]):
        return f"{row['estimate']:+.3f} (too few images for an interval)"
    return f"{row['estimate']:+.3f} (95 % CI {row['low']:+.3f} to {row['high']:+.3f})"


def _everyone(found: Found) -> list[Answer]:
    """The default, then the other candidates."""
    others = [one for one in found.answers if one.candidate != found.default.candidate]
    return [found.default, *others]


def _mean(values: Sequence[float] | Floats) -> float:
    known = np.asarray(values)[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


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
    candidates: pd.DataFrame  # CANDIDATE_COLUMNS, on the search images
    verdict: pd.DataFrame  # VERDICT_COLUMNS
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

    found = search(table.grid, evaluate, trials=trials, direction=up, seed=params.seeds.analysing)
    choice = choose(found, up)
    pair = [found.default.candidate, choice.winner.candidate]
    default, tuned, shown = _compare(pair, table.held_out, scorer, judges, params)
    verdict = verdict_table(
        technique.key, found, choice, tuned, default, resamples, params.seeds.analysing, up
    )
    return Tuned(
        technique,
        pair[0],
        pair[1],
        candidate_table(technique.key, found, choice, resamples, params.seeds.analysing, up),
        verdict,
        _image_table(table, found, pair, [default, tuned]),
        conclude(verdict, choice, up),
        shown,
    )


def log_candidate(technique: Technique, answer: Answer) -> None:
    """A nested run in the one that is open: the ``tell`` of :func:`tune`."""
    name = f"{technique.key}: {words(answer.candidate)}"
    about = f"{technique.key} with {words(answer.candidate)}, as the score sees it."
    settings = {"technique": technique.key, **answer.candidate}
    with nested_run(name, settings, about=about, tags={"technique": technique.key}) as run:
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
