"""What MLflow remembers of tuning: a run for the study, a nested run for each candidate."""

from __future__ import annotations

import math

import numpy as np

from pasta.applications.prepared.grid import words
from pasta.applications.tuning import Tuned
from pasta.applications.tuning_choice import HELD_OUT, SEARCH
from pasta.applications.tuning_search import Answer, Floats
from pasta.explanations.techniques import Technique
from pasta.tracking import Run, nested_run


def log_candidate(technique: Technique, answer: Answer) -> None:
    """A nested run in the one that is open: the ``tell`` of :func:`pasta.applications.tuning.tune`.

    A candidate that was found on disk is told again, so that the run of a resumed search has all.
    """
    name = f"{technique.key}: {words(answer.candidate)}"
    with nested_run(name, {"technique": technique.key, **answer.candidate}) as run:
        values = {"score": _mean(answer.score), "quality": _mean(answer.quality)}
        run.log_metrics({key: value for key, value in values.items() if math.isfinite(value)})
        run.log_metrics({"missing": answer.missing, "images": len(answer.score)})
        run.set_tags({"resumed": str(answer.resumed).lower()})


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


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
