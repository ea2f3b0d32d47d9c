"""What is told of the studies: people beside scorers, means over seeds, and what MLflow hears."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import tables
from pasta.scoring.evaluation import human_rows, summarise
from pasta.scoring.studies import Setup
from pasta.tracking import nested_run, tracked_run

_PEOPLE = {"mode": "people (own vote in the mode)", "leave_one_out": "people (leave one out)"}
_TITLES = {
    "constant": "always the commonest star",
    "global-mean": "always the mean",
    "pasta-linear": "PASTA, linear (P1)",
    "pasta-mlp": "PASTA, MLP (P2)",
}
_KEYS = ("study", "level", "question", "measure")
_SHOWN = ("mse", "qwk", "spearman", "coverage")


def people(votes: pd.DataFrame) -> pd.DataFrame:
    """Annotators as if they were scorers of the main study; a seed stands for a person."""
    found = human_rows(votes)
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


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds, or over people."""
    return summarise(results, _KEYS)


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


def track(wanted: Sequence[Setup], results: pd.DataFrame, inputs: list[Path], out: Path) -> None:
    """One run for each study, a nested one for each of its rows."""
    for study in dict.fromkeys(setup.study for setup in wanted):
        own = [setup for setup in wanted if setup.study == study]
        record = out / f"{study.replace(' ', '_')}.run.json"
        with tracked_run("scorers", "score", study, inputs=inputs, record=record) as run:
            found = results[results["study"] == study]
            run.log_table(summary(found), "summary.csv")
            for setup in own:
                with nested_run(setup.level, setup.described()) as row:
                    row.log_metrics(_means(found[found["level"] == setup.level]))


def _means(results: pd.DataFrame) -> dict[str, float]:
    named = results["measure"] + "." + results["question"]
    means = results.groupby(named)["estimate"].mean().dropna()
    return {str(name): float(mean) for name, mean in means.items()}
