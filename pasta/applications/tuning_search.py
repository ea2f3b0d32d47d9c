"""The search itself: all candidates of a grid, or as many as Optuna is to choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

from pasta.applications.prepared.grid import Candidate, Grid
from pasta.seeds import entropy

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
        return _mean(ask(candidate).score, direction)

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


def _mean(score: Floats, direction: int) -> float:
    """What Optuna compares; a candidate that shows nothing at all is worse than any other."""
    known = score[~np.isnan(score)]
    return float(known.mean()) if len(known) else (0.0 if direction > 0 else 6.0)
