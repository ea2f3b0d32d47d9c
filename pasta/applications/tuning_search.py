"""The search itself: Optuna asks for candidates, and remembers every answer on disk.

Every finished candidate is in an SQLite file with its values for each image, so a run that was
killed goes on where it was, and a finished one is only read again. A study is found by a
fingerprint of all that its values depend on: with another grid, other images or another scorer a
new one begins in the same file. A candidate is counted by what is complete; Optuna's own grid
sampler would skip one that was interrupted with Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta import store
from pasta.applications.prepared.grid import Candidate, Grid
from pasta.errors import InputError
from pasta.seeds import entropy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """A candidate's values for each image; NaN where a map shows nothing, or nobody judges."""

    candidate: Candidate
    score: Floats
    quality: Floats
    resumed: bool = False  # found on disk

    @property
    def missing(self) -> int:
        """Images without a score."""
        return int(np.isnan(self.score).sum())


Evaluate = Callable[[Candidate], Answer]
Tell = Callable[[Answer], None]


@dataclass(frozen=True)
class Found:
    """The default's answer, and those of the candidates in the order of the grid."""

    default: Answer
    answers: list[Answer]


def search(
    grid: Grid,
    evaluate: Evaluate,
    storage: Path,
    fingerprint: str,
    *,
    trials: int | None = None,
    direction: int = 1,
    seed: int = 0,
    tell: Tell | None = None,
) -> Found:
    """Answers of the default and of all candidates, or of as many as ``trials`` asks for.

    Fewer trials than combinations are chosen by Optuna's tree-structured Parzen estimator
    (Bergstra et al. 2011), each with a seed of its own: so an interrupted search ends as if it
    had not been. ``tell`` hears of each answer once, also of those found on disk.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    say = tell or _silent
    with store.exclusive(storage.with_suffix(".lock")), _opened(storage) as backend:
        study = optuna.create_study(
            storage=backend,
            study_name=f"{grid.technique.key} {fingerprint[:16]}",
            direction="maximize" if direction > 0 else "minimize",
            load_if_exists=True,
        )
        known = _Known(study)
        default = known.default(grid.default, evaluate, study)
        say(default)
        for answer in known.answers.values():
            if answer.candidate != grid.default:
                say(answer)
        done = set(known.answers)

        def objective(trial: optuna.Trial) -> float:
            chosen: dict[str, Any] = {
                name: trial.suggest_categorical(name, list(values))
                for name, values in grid.choices.items()
            }
            answer = known.get(chosen) or evaluate(chosen)
            trial.set_user_attr("answer", _plain(answer))
            known.add(answer)
            key = _key(chosen)
            if key not in done and chosen != grid.default:
                say(answer)
            done.add(key)
            return _mean(answer.score, direction)

        for candidate in _wanted(grid, known, trials):
            number = len(known.complete)
            study.sampler = optuna.samplers.TPESampler(
                seed=entropy(seed, "tuning", number) % 2**32, n_startup_trials=5
            )
            if candidate is not None:
                study.enqueue_trial(candidate)
            study.optimize(objective, n_trials=1)
            known.look()
    order = [known.get(candidate) for candidate in grid.candidates()]
    return Found(default, [answer for answer in order if answer is not None])


class _Known:
    """What has been answered: the candidates of complete trials, and the default."""

    def __init__(self, study: Any) -> None:
        self.study = study
        self.answers: dict[tuple[Any, ...], Answer] = {}
        for trial in self.look():
            self.add(_answer(trial.params, trial.user_attrs["answer"], resumed=True))

    def look(self) -> list[Any]:
        """Complete trials, as they are on disk."""
        from optuna.trial import TrialState

        self.complete = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return list(self.complete)

    def add(self, answer: Answer) -> None:
        self.answers.setdefault(_key(answer.candidate), answer)

    def get(self, candidate: Candidate) -> Answer | None:
        return self.answers.get(_key(candidate))

    def default(self, candidate: Candidate, evaluate: Evaluate, study: Any) -> Answer:
        """The default's answer; kept with the study because it need not be in the grid."""
        stored = study.user_attrs.get("default")
        if stored is not None:
            answer = _answer(candidate, stored, resumed=True)
        else:
            answer = self.get(candidate) or evaluate(candidate)
            study.set_user_attr("default", _plain(answer))
        self.add(answer)
        return answer


def _wanted(grid: Grid, known: _Known, trials: int | None) -> Iterator[Candidate | None]:
    """Candidates that have no complete trial; None lets the sampler choose one."""
    if trials is not None and trials < len(grid):
        while len(known.complete) < trials:
            yield None
        return
    for candidate in grid.candidates():
        while _key(candidate) not in {_key(trial.params) for trial in known.complete}:
            yield candidate  # again, if a trial that was waiting since a kill came before it


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """Optuna's storage in an SQLite file; its connections are closed in the end."""
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import DatabaseError

    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        storage = RDBStorage(f"sqlite:///{file}")
    except (DatabaseError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"cannot be opened: {reason}", file=file, expected="a tuning study, or no file"
        ) from error
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _key(candidate: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(candidate.items()))


def _mean(score: Floats, direction: int) -> float:
    """What Optuna compares; a candidate that shows nothing at all is worse than any other."""
    known = score[~np.isnan(score)]
    return float(known.mean()) if len(known) else (0.0 if direction > 0 else 6.0)


def _plain(answer: Answer) -> dict[str, list[float | None]]:
    """JSON has no NaN."""
    return {
        name: [None if np.isnan(value) else float(value) for value in getattr(answer, name)]
        for name in ("score", "quality")
    }


def _answer(candidate: Mapping[str, Any], stored: Mapping[str, Any], resumed: bool) -> Answer:
    score, quality = (
        np.array([np.nan if value is None else value for value in stored[name]], np.float64)
        for name in ("score", "quality")
    )
    return Answer(dict(candidate), score, quality, resumed)


def _silent(answer: Answer) -> None:
    """Progress that nobody looks at."""
