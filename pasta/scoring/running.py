"""Running of the studies: every setup with every seed, nothing dropped, equal work done once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import tables
from pasta.params.scoring import ScoringParams
from pasta.scoring import baselines, neural, ordinal  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.evaluation import MEASURED, measures
from pasta.scoring.material import Material
from pasta.scoring.splits import split
from pasta.scoring.studies import Setup
from pasta.workers import as_finished

Say = Callable[[str], None]
Results = Callable[[Say], pd.DataFrame]

_TOGETHER = 30  # networks in one stack, of all seeds and questions: more leave the cache
_LONG = ("ordinal", "pasta-mlp")  # to begin with, so that no process waits long at the end


@dataclass(frozen=True)
class Piece:
    """Some seeds of a setup, the same ones whatever the number of processes."""

    setup: Setup
    seeds: range


def run_setups(
    material: Material, wanted: Sequence[Setup], scoring: ScoringParams, say: Say
) -> pd.DataFrame:
    """The ``score_results`` of all setups, in their order."""
    with at_work(material, wanted, scoring, processes=1) as results:
        return results(say)


@contextmanager
def at_work(
    material: Material, wanted: Sequence[Setup], scoring: ScoringParams, processes: int
) -> Iterator[Results]:
    """Let several processes run the setups beside the block, which asks for the results at last.

    They start as copies of this process: it must not have had several threads before the block.
    """
    import scipy.stats  # noqa: F401 (here, so that it is imported once for all processes)

    import pasta.embedding.stored  # noqa: F401

    pieces = cut(wanted, scoring.split.seeds)

    work = [partial(_run_piece, material, piece, scoring) for piece in pieces]
    # place 0 is no work: it is back as soon as the processes are there
    finished: Any = as_finished([lambda: None, *work], processes)
    frames = dict([next(finished)])

    def results(say: Say) -> pd.DataFrame:
        left = {setup: set(_answering(setup, pieces)) for setup in wanted}
        for place, frame in finished:
            frames[place] = frame
            for setup in [setup for setup, places in left.items() if places <= frames.keys()]:
                say(f"{setup.study}: {setup.level}")
                del left[setup]
        return _joined(wanted, pieces, frames)

    with closing(finished):  # ends the processes if the block fails
        yield results


def cut(wanted: Sequence[Setup], seeds: int) -> list[Piece]:
    """All that is to be done, everything once, what takes longest first."""
    alone: list[Setup] = []
    # a setup that asks all questions also answers for one that asks the first
    for setup in sorted(wanted, key=lambda one: -len(one.questions)):
        if not any(_answers(other, setup) for other in alone):
            alone.append(setup)
    pieces = []
    for setup in sorted(alone, key=lambda one: one.scorer not in _LONG):
        number = min(seeds, math.ceil(seeds * len(setup.questions) / _TOGETHER))
        bounds = [seeds * part // number for part in range(number + 1)]
        pieces += [Piece(setup, range(*pair)) for pair in pairwise(bounds)]
    return pieces


def _answers(other: Setup, setup: Setup) -> bool:
    return set(setup.questions) <= set(other.questions) and other.same_work() == setup.same_work()


def _answering(setup: Setup, pieces: Sequence[Piece]) -> list[int]:
    """The numbers, from 1, of the pieces that hold the results of a setup, by seed."""
    other = next(piece.setup for piece in pieces if _answers(piece.setup, setup))
    return [number for number, piece in enumerate(pieces, 1) if piece.setup == other]


def _joined(
    wanted: Sequence[Setup], pieces: Sequence[Piece], frames: Mapping[int, pd.DataFrame]
) -> pd.DataFrame:
    rows = []
    for setup in wanted:
        found = pd.concat([frames[place] for place in _answering(setup, pieces)])
        own = found[found["question"].isin(setup.questions)]
        rows.append(own.assign(study=setup.study, level=setup.level))
    return pd.concat(rows, ignore_index=True)[list(tables.SCORE_RESULTS.columns)]


def _run_piece(material: Material, piece: Piece, scoring: ScoringParams) -> pd.DataFrame:
    """The products are small: a second thread would take more than it gives."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        return run_setup(material, piece.setup, scoring, piece.seeds)


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
        list(seeds),
    )
    frames = [
        _evaluated(one, rated, part.test, setup.questions).assign(seed=seed)
        for seed, part, one in zip(seeds, parts, fitted, strict=True)
    ]
    return pd.concat(frames, ignore_index=True).assign(
        scorer=setup.scorer, encoder=setup.embedding.encoder, split=setup.split
    )


def fit_all(
    name: str, train: list[Rated], validation: list[Rated], settings: Any, seeds: list[int]
) -> list[Fitted]:
    """A scorer for each seed; networks are trained side by side."""
    scorer: Any = SCORERS[name]
    if hasattr(scorer, "fit_many"):
        together: list[Fitted] = scorer.fit_many(train, validation, settings, seeds)
        return together
    parts = zip(train, validation, seeds, strict=True)
    return [scorer.fit(one, other, settings, seed) for one, other, seed in parts]


def settings_of(name: str, scoring: ScoringParams) -> Any:
    """The section of the parameters that a scorer wants; constants need none."""
    named: Mapping[str, Any] = {
        "pasta-linear": scoring.linear,
        "pasta-mlp": scoring.mlp,
        "ordinal": scoring.ordinal,
        "ridge": scoring.baselines.ridge,
        "lasso": scoring.baselines.lasso,
        "svm": scoring.baselines.svm,
        "mlp-100": scoring.baselines.mlp,
        "handcrafted": scoring.baselines.handcrafted,
    }
    return named.get(name)


def _evaluated(
    fitted: Fitted, rated: Rated, rows: NDArray[np.int64], questions: Sequence[str]
) -> pd.DataFrame:
    test = rated.at(rows)
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


def compare(results: pd.DataFrame, better: str, than: Sequence[str]) -> pd.DataFrame:
    """Paired differences to other scorers of the main study, seed by seed, 95 % intervals."""
    main = results[results["study"] == "main"]
    keys = ["question", "measure", "seed"]
    wide = main.pivot_table("estimate", keys, "level", aggfunc="first", observed=True)
    rows = [
        {"question": question, "measure": measure, "scorer": better, "than": other, **found}
        for other in than
        if {better, other} <= set(wide.columns)
        for (question, measure), own in (wide[better] - wide[other]).groupby(keys[:2])
        for found in _difference(own.dropna().to_numpy())
    ]
    columns = ["question", "measure", "scorer", "than", "n", "estimate", "low", "high", "p"]
    return pd.DataFrame(rows, columns=columns)


def _difference(values: NDArray[np.float64]) -> list[dict[str, float]]:
    """Mean, t interval and p; nothing for fewer than two seeds, or without any spread."""
    from scipy import stats

    if len(values) < 2 or np.ptp(values) == 0:
        return []
    test = stats.ttest_1samp(values, 0)
    low, high = test.confidence_interval()
    mean = float(values.mean())
    found = {"estimate": mean, "low": float(low), "high": float(high), "p": float(test.pvalue)}
    return [{"n": len(values), **found}]
