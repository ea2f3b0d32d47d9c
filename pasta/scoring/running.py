"""Running of the studies: every setup with every seed, nothing dropped, equal work done once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.compute import map_units, remember
from pasta.layout import Group
from pasta.resume import Arrays, KeptUnits
from pasta.scoring import baselines, neural, ordinal  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.evaluation import MEASURED, measures
from pasta.scoring.material import Material, collect
from pasta.scoring.settings import ScoringParams
from pasta.scoring.splits import split
from pasta.scoring.studies import Setup
from pasta.studies.ratings.tables import LABELS

Say = Callable[[str, int, int], None]  # what was done, how many parts are done, and of how many

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
) -> pd.DataFrame:
    """The ``score_results`` of all setups, in their order; ``labels`` is the file of labels."""
    pieces = [
        Piece(setup, seeds, tuple(groups), labels, scoring)
        for setup in _different(wanted)
        for seeds in _chunks(scoring.split.seeds, len(setup.questions))
    ]
    frames: dict[int, pd.DataFrame] = {}
    for place, result in map_units(run_piece, pieces, kept):
        frames[place] = pd.DataFrame(result)
        setup = pieces[place].setup
        say(f"{setup.study}: {setup.level}", len(frames), len(pieces))
    rows = []
    for setup in wanted:
        own = next(piece.setup for piece in pieces if piece.setup.answers(setup))
        found = pd.concat([frames[at] for at, one in enumerate(pieces) if one.setup == own])
        found = found[found["question"].isin(setup.questions)]
        rows.append(found.assign(study=setup.study, level=setup.level))
    return pd.concat(rows, ignore_index=True)[list(tables.SCORE_RESULTS.columns)]


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
    """The results of some seeds of a setup, a column each."""
    frame = run_setup(
        _material(piece.groups, piece.labels), piece.setup, piece.scoring, piece.seeds
    )
    words = frame.select_dtypes(exclude="number").columns
    return {str(name): np.array(frame[name], str if name in words else None) for name in frame}


@remember
def _material(groups: tuple[Group, ...], labels: Path) -> Material:
    return collect(groups, store.read(labels, LABELS))


def run_setup(
    material: Material, setup: Setup, scoring: ScoringParams, seeds: Sequence[int]
) -> pd.DataFrame:
    """One setup with some seeds."""
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
    frames = [
        _evaluated(one, rated.at(part.test), setup.questions).assign(seed=seed)
        for seed, part, one in zip(seeds, parts, fitted, strict=True)
    ]
    return pd.concat(frames, ignore_index=True).assign(
        scorer=setup.scorer, encoder=setup.embedding.encoder, split=setup.split
    )


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
    }
    return named.get(name)


def _evaluated(fitted: Fitted, test: Rated, questions: Sequence[str]) -> pd.DataFrame:
    answer = fitted.predict(test.features)
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
