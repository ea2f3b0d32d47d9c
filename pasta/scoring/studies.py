"""The papers' studies of the score as data: what is varied, and what stays as it is.

The main table (P1 Table 3, P2 Table 1) has all questions; the ablations (P1 Tables 4 and 15-20)
ask the first question only, as published, and vary one thing at a time around the same centre:
what the parameters say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.resampling import holm
from analysis.splits import corrected_t_test
from pasta import store, tables
from pasta.compute import map_units
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stored import GIVEN, HANDCRAFTED
from pasta.layout import Group
from pasta.processes import remember
from pasta.resume import Arrays, KeptUnits
from pasta.scoring import baselines, neural, ordinal  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Fitted, Predicted, Rated
from pasta.scoring.evaluation import MEASURED, human_rows, measures, summarise
from pasta.scoring.held_out import list_predictions
from pasta.scoring.material import Material, collect, split
from pasta.scoring.settings import Aggregate, By, ScoringParams
from pasta.studies.ratings.aggregate import Ties
from pasta.studies.ratings.settings import MAIN, NAME, QUESTIONS
from pasta.studies.ratings.tables import LABELS
from pasta.tracking import nested_run, tracked_run


@dataclass(frozen=True)
class Setup:
    """One row of a study."""

    study: str
    level: str
    scorer: str
    embedding: EmbeddingParams
    split: By
    aggregate: Aggregate = "mode"
    with_label: bool = True
    questions: tuple[str, ...] = QUESTIONS

    def described(self) -> dict[str, Any]:
        """For the run: everything that makes this setup differ from others."""
        return {
            "study": self.study,
            "level": self.level,
            "scorer": self.scorer,
            "split": self.split,
            "aggregate": self.aggregate,
            "with_label": self.with_label,
            "questions": " ".join(self.questions),
            "embedding": self.embedding.model_dump(
                mode="json", exclude={"handcrafted", "variants"}
            ),
        }

    @property
    def encoder(self) -> str:
        """The encoder's name, which says of random weights that they are."""
        name, weights = self.embedding.encoder, self.embedding.weights
        return f"{name}-with-random-weights" if weights.partition(":")[0] == "random" else name

    def answers(self, other: Setup) -> bool:
        """Whether the results of another setup are among those of this one."""
        return set(other.questions) <= set(self.questions) and self == replace(
            other, study=self.study, level=self.level, questions=self.questions
        )


def setups(embedding: EmbeddingParams, scoring: ScoringParams) -> list[Setup]:
    """All rows of all studies."""
    centre = Setup(
        "main",
        "",
        scoring.studies.scorer,
        embedding,
        scoring.split.by,
        scoring.aggregate,
        scoring.label_input,
    )
    first = replace(centre, questions=(MAIN,))
    return [*_main(centre, scoring), *_ablations(first, scoring)]


def describe_centre(embedding: EmbeddingParams, scoring: ScoringParams) -> pd.DataFrame:
    """What the ablations vary around: columns study and level, the level at the centre of each."""
    told = "weighted sum" if embedding.text == "weighted" else "sentence"
    if told == "sentence" and embedding.template:
        told = f"sentence after {embedding.template!r}"
    levels = {
        "encoder": embedding.encoder,
        "split": scoring.split.by,
        "label type": scoring.aggregate,
        "label input": _LABEL_INPUT[scoring.label_input],
        "scoring function": scoring.studies.scorer,
        "saliency image": embedding.image,
        "n top": str(embedding.n_top),
        "concept embedding": told,
    }
    return pd.DataFrame(levels.items(), columns=["study", "level"])


_LABEL_INPUT = {False: "embeddings", True: "embeddings and labels"}


def _main(centre: Setup, scoring: ScoringParams) -> Iterator[Setup]:
    for scorer in scoring.scorers:
        own = centre.embedding
        if scorer.startswith(HANDCRAFTED):
            own = own.model_copy(update={"encoder": HANDCRAFTED})
        yield replace(centre, level=scorer, scorer=scorer, embedding=own)
    for encoder, weights in centre.embedding.variants.encoders.items():
        own = centre.embedding.model_copy(update={"encoder": encoder, "weights": weights})
        for scorer in scoring.further_scorers:
            yield replace(centre, level=f"{encoder}, {scorer}", scorer=scorer, embedding=own)


def _ablations(first: Setup, scoring: ScoringParams) -> Iterator[Setup]:
    for by in scoring.studies.splits:
        yield replace(first, study="split", level=by, split=by)
    for aggregate in scoring.studies.aggregates:
        yield replace(first, study="label type", level=aggregate, aggregate=aggregate)
    for with_label, level in _LABEL_INPUT.items():
        yield replace(first, study="label input", level=level, with_label=with_label)
    for scorer in dict.fromkeys((first.scorer, *scoring.studies.functions)):
        yield replace(first, study="scoring function", level=scorer, scorer=scorer)
    shown, more = first.embedding, first.embedding.variants
    changes: list[tuple[str, str, dict[str, Any]]] = [
        *(("saliency image", image, {"image": image}) for image in more.images),
        *(("n top", str(number), {"n_top": number}) for number in more.n_top),
        *([("concept embedding", "weighted sum", {"text": "weighted"})] if more.weighted else []),
        ("concept embedding", "sentence", {"text": "sentence", "template": ""}),
        (
            "concept embedding",
            "sentence with template",
            {"text": "sentence", "template": more.template},
        ),
    ]
    if shown.encoder == GIVEN:  # nothing else can be shown to vectors
        changes = []
    for study, level, change in changes:
        own = shown.model_copy(update=change)
        yield replace(first, study=study, level=level, embedding=own)


Say = Callable[[str, int, int], None]  # what was done, how many parts are done, and of how many

SECONDS = "seconds"
PREDICTED = "predicted."  # before the columns of predictions among those of measures
_TOGETHER = 30  # networks in one stack, of all seeds and questions
_LONG = ("ordinal", "pasta-mlp")  # to begin with, so that no process waits long at the end


@dataclass(frozen=True)
class Piece:
    """Some seeds of a setup, the same ones whatever the number of processes."""

    setup: Setup
    seeds: tuple[int, ...]
    groups: tuple[Group, ...]
    labels: Path  # the labels table
    scoring: ScoringParams


def run_setups(
    groups: Sequence[Group],
    labels: Path,
    wanted: Sequence[Setup],
    scoring: ScoringParams,
    say: Say,
    kept: KeptUnits | None = None,
    spent: dict[tuple[str, str], float] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ``score_results`` of all setups, in their order; ``labels`` is the file of labels.

    The second table is what scorers of the public kind predict in the main study for explanations
    that they have not seen (:mod:`.held_out`). ``spent`` is filled with the seconds of each setup,
    by study and level, if it is given.
    """
    pieces = [
        Piece(setup, seeds, tuple(groups), labels, scoring)
        for setup in _different(wanted)
        for seeds in _chunks(scoring.split.seeds, len(setup.questions))
    ]
    frames: dict[int, pd.DataFrame] = {}
    predicted: dict[int, pd.DataFrame] = {}
    seconds: dict[tuple[str, str], float] = {}
    for place, result in map_units(run_piece, pieces, kept):
        parts: dict[str, dict[str, NDArray[Any]]] = {"": {}, PREDICTED: {}}
        for name, values in result.items():
            if name != SECONDS:
                parts[PREDICTED * name.startswith(PREDICTED)][name.removeprefix(PREDICTED)] = values
        frames[place] = pd.DataFrame(parts[""])
        predicted[place] = pd.DataFrame(parts[PREDICTED])
        setup = pieces[place].setup
        seconds[_key(setup)] = seconds.get(_key(setup), 0.0) + float(result[SECONDS])
        say(f"{setup.study}: {setup.level}", len(frames), len(pieces))
    rows = []
    for setup in wanted:
        own = next(piece.setup for piece in pieces if piece.setup.answers(setup))
        found = pd.concat([frames[at] for at, one in enumerate(pieces) if one.setup == own])
        found = found[found["question"].isin(setup.questions)]
        rows.append(found.assign(study=setup.study, level=setup.level))
        if spent is not None:
            spent[_key(setup)] = seconds[_key(own)]
    results = pd.concat(rows, ignore_index=True)[list(tables.SCORE_RESULTS.columns)]
    return results, pd.concat([predicted[at] for at in sorted(predicted)], ignore_index=True)


def _key(setup: Setup) -> tuple[str, str]:
    return setup.study, setup.level


def _different(wanted: Sequence[Setup]) -> list[Setup]:
    """Setups that no other answers for, what takes longest first."""
    alone: list[Setup] = []
    for setup in sorted(wanted, key=lambda one: -len(one.questions)):
        if not any(other.answers(setup) for other in alone):
            alone.append(setup)
    return sorted(alone, key=lambda one: one.scorer not in _LONG)


def _chunks(seeds: int, questions: int) -> Iterator[tuple[int, ...]]:
    """Seeds that are trained side by side."""
    number = min(seeds, math.ceil(seeds * questions / _TOGETHER))
    bounds = [seeds * part // number for part in range(number + 1)]
    return (tuple(range(*pair)) for pair in pairwise(bounds))


def run_piece(piece: Piece) -> Arrays:
    """The results of some seeds of a setup, a column each, and the seconds that they took.

    Predictions are added if they are wanted.
    """
    started = time.perf_counter()
    frame, predicted = run_setup(
        _material(piece.groups, piece.labels), piece.setup, piece.scoring, piece.seeds
    )
    found = _columns(frame)
    if (piece.setup.study, piece.setup.level) == ("main", piece.scoring.public.scorer):
        found |= {f"{PREDICTED}{name}": values for name, values in _columns(predicted).items()}
    return {**found, SECONDS: np.array(time.perf_counter() - started)}


def _columns(frame: pd.DataFrame) -> Arrays:
    words = frame.select_dtypes(exclude="number").columns
    return {str(name): np.array(frame[name], str if name in words else None) for name in frame}


@remember
def _material(groups: tuple[Group, ...], labels: Path) -> Material:
    return collect(groups, store.read(labels, LABELS))


def run_setup(
    material: Material, setup: Setup, scoring: ScoringParams, seeds: Sequence[int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One setup with some seeds: measures, and predictions for the test parts."""
    rated, rows = material.rated(
        setup.embedding, setup.aggregate, setup.with_label, setup.questions
    )
    places = material.places.iloc[rows].reset_index(drop=True)
    parts = [split(places, setup.split, scoring.split.train, seed) for seed in seeds]
    fitted = fit_all(
        setup.scorer,
        [rated.at(part.train) for part in parts],
        [rated.at(part.validation) for part in parts],
        settings_of(setup.scorer, scoring),
        seeds,
    )
    samples = material.samples.iloc[rows][["sample_id", "dataset"]].reset_index(drop=True)
    frames, predicted = [], []
    for seed, part, one in zip(seeds, parts, fitted, strict=True):
        test = rated.at(part.test)
        answer = one.predict(test.features)
        frames.append(_evaluated(answer, test, setup.questions).assign(seed=seed))
        here = samples.iloc[part.test].assign(seed=seed)
        predicted.append(list_predictions(answer, test, setup.questions, here))
    measured = pd.concat(frames, ignore_index=True).assign(
        scorer=setup.scorer, encoder=setup.encoder, split=setup.split
    )
    return measured, pd.concat(predicted, ignore_index=True)


def fit_all(
    name: str,
    train: Sequence[Rated],
    validation: Sequence[Rated],
    settings: Any,
    seeds: Sequence[int],
) -> Sequence[Fitted]:
    """A trained scorer for each set and seed."""
    return SCORERS[name].fit_many(train, validation, settings, seeds)


def settings_of(name: str, scoring: ScoringParams) -> Any:
    """The section of the parameters that a scorer wants; constants need none."""
    named: Mapping[str, Any] = {
        "pasta-linear": scoring.linear,
        "pasta-mlp": scoring.mlp,
        "pasta-mlp-open": scoring.mlp,
        "ordinal": scoring.ordinal,
        "ridge": scoring.baselines.ridge,
        "lasso": scoring.baselines.lasso,
        "svm": scoring.baselines.svm,
        "mlp-100": scoring.baselines.mlp,
        "handcrafted": scoring.baselines.handcrafted,
        "handcrafted-pasta": scoring.linear,
    }
    return named.get(name)


def _evaluated(answer: Predicted, test: Rated, questions: Sequence[str]) -> pd.DataFrame:
    found = []
    for column, question in enumerate(questions):
        truth = test.labels[:, column]
        own = measures(truth, answer.stars[:, column])
        if answer.low is not None and answer.high is not None:
            own += coverage(truth, answer.low[:, column], answer.high[:, column])
        found += [(*row, question) for row in own]
    return pd.DataFrame(found, columns=[*MEASURED, "question"])


def coverage(
    truth: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> list[tuple[str, float, int, str]]:
    """How many labels lie in their interval, and how wide the intervals are."""
    known = ~np.isnan(truth)
    inside = (low <= truth) & (truth <= high)
    number = int(known.sum())
    shares = {"coverage": inside[known].mean(), "width": (high - low)[known].mean()}
    return [(name, float(share), number, "") for name, share in shares.items()]


_PEOPLE = {"mode": "people (own vote in the mode)", "leave_one_out": "people (leave one out)"}
_TITLES = {
    "constant": "always the commonest star",
    "global-mean": "always the mean",
    "handcrafted": "handcrafted features, ridge",
    "handcrafted-pasta": "handcrafted features, PASTA (P1)",
    "pasta-linear": "PASTA, linear (P1)",
    "pasta-mlp": "PASTA, MLP (P2)",
}
KEYS = ("study", "level", "scorer", "encoder", "question", "measure")
_SHOWN = ("mse", "qwk", "spearman", "coverage")


def people(votes: pd.DataFrame, labels: pd.DataFrame, ties: Ties) -> pd.DataFrame:
    """Annotators as if they were scorers of the main study; a seed stands for a person."""
    found = human_rows(votes, labels, ties)
    number = {name: place for place, name in enumerate(sorted(found["annotator_id"].unique()))}
    rows = found.assign(
        study="main",
        level=found["against"].map(_PEOPLE),
        scorer="people",
        encoder="none",
        split="none",
        seed=found["annotator_id"].map(number),
    )
    return rows[list(tables.SCORE_RESULTS.columns)]


def headline(summarised: pd.DataFrame) -> dict[str, Any]:
    """The main table for the metrics file: level, question, measure."""
    main = summarised[(summarised["study"] == "main") & summarised["measure"].isin(_SHOWN)]
    nested: dict[str, Any] = {}
    for row in main.to_dict("records"):
        own = nested.setdefault(str(row["level"]), {}).setdefault(str(row["question"]), {})
        own[str(row["measure"])] = None if pd.isna(row["mean"]) else round(float(row["mean"]), 4)
    return nested


def main_titles(wanted: Sequence[Setup]) -> dict[str, str]:
    """The rows of the main study in their order, with names for people."""
    levels = [setup.level for setup in wanted if setup.study == "main"]
    named = {level: _TITLES.get(level, level) for level in levels}
    return named | {level: level for level in reversed(_PEOPLE.values())}


def compare(
    results: pd.DataFrame, better: str, than: Sequence[str], test_to_train: float
) -> pd.DataFrame:
    """Paired differences to other scorers of the main study, split by split.

    Intervals and p are those of :func:`analysis.splits.corrected_t_test`; ``p_holm`` is adjusted
    over all questions and scorers of a measure.
    """
    main = results[results["study"] == "main"]
    keys = ["question", "measure", "seed"]
    wide = main.pivot_table("estimate", keys, "level", aggfunc="first", observed=True)
    rows = []
    for other in than:
        if {better, other} <= set(wide.columns):
            for (question, measure), own in (wide[better] - wide[other]).groupby(keys[:2]):
                head = {"question": question, "measure": measure, "scorer": better, "than": other}
                found = corrected_t_test(own.dropna().to_numpy(), test_to_train)
                rows += [head | found] if found else []
    columns = ["question", "measure", "scorer", "than", "n", "estimate", "low", "high", "p"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=table.groupby("measure")["p"].transform(holm))


def track(
    wanted: Sequence[Setup],
    results: pd.DataFrame,
    inputs: Sequence[Path],
    spent: Mapping[tuple[str, str], float],
) -> None:
    """One MLflow run for each study, a nested one for each of its rows."""
    for study in dict.fromkeys(setup.study for setup in wanted):
        found = results[results["study"] == study]
        rows = [setup for setup in wanted if setup.study == study]
        scorers = {setup.level: _means(found[found["level"] == setup.level]) for setup in rows}
        best = max(scorers, key=lambda level: scorers[level].get(f"qwk.{MAIN}", -math.inf))
        with tracked_run(
            "scorers",
            "score",
            f"score: {study}",
            about=f"The score's study {study!r}, {len(rows)} setups, each a run inside this one; "
            "kappas are means over splits, on images and techniques not seen in training.",
            inputs=inputs,
            tags={"study": NAME, "part": study, **_shared(rows)},
            seconds=sum(spent[_key(setup)] for setup in rows),
        ) as run:
            run.log_table(summarise(found, KEYS), "summary.csv")
            run.log_metrics({"setups": len(rows), **scorers[best]})
            for setup in rows:
                with nested_run(
                    f"{study}: {setup.level}",
                    setup.described(),
                    about=f"{setup.scorer} on {setup.embedding.encoder} embeddings, divided by "
                    f"{setup.split.replace('_', ' ')}.",
                    tags={"scorer": setup.scorer, "encoder": setup.embedding.encoder},
                    seconds=spent[_key(setup)],
                ) as row:
                    row.log_metrics(scorers[setup.level])
            run.set_tags({"best": best})


def _shared(rows: Sequence[Setup]) -> dict[str, str]:
    """Scorers and encoders of a study."""
    return {
        "scorer": ", ".join(dict.fromkeys(setup.scorer for setup in rows)),
        "encoder": ", ".join(dict.fromkeys(setup.embedding.encoder for setup in rows)),
    }


def _means(results: pd.DataFrame) -> dict[str, float]:
    named = results["measure"] + "." + results["question"]
    means = results.groupby(named)["estimate"].mean().dropna()
    return {str(name): float(mean) for name, mean in means.items()}
