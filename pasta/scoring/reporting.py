"""Results of the studies: people beside scorers, the main table, differences, MLflow runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pasta import tables
from pasta.scoring.evaluation import human_rows, summarise
from pasta.scoring.studies import Setup
from pasta.studies.ratings.aggregate import Ties
from pasta.tracking import nested_run, tracked_run

_PEOPLE = {"mode": "people (own vote in the mode)", "leave_one_out": "people (leave one out)"}
_TITLES = {
    "constant": "always the commonest star",
    "global-mean": "always the mean",
    "pasta-linear": "PASTA, linear (P1)",
    "pasta-mlp": "PASTA, MLP (P2)",
}
KEYS = ("study", "level", "question", "measure")
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
    if len(values) < 2 or np.ptp(values) == 0:
        return []
    test = stats.ttest_1samp(values, 0)
    low, high = test.confidence_interval()
    mean = float(values.mean())
    found = {"estimate": mean, "low": float(low), "high": float(high), "p": float(test.pvalue)}
    return [{"n": len(values), **found}]


def track(wanted: Sequence[Setup], results: pd.DataFrame, inputs: Sequence[Path]) -> None:
    """One MLflow run for each study, a nested one for each of its rows."""
    for study in dict.fromkeys(setup.study for setup in wanted):
        found = results[results["study"] == study]
        with tracked_run("scorers", "score", study, inputs=inputs) as run:
            run.log_table(summarise(found, KEYS), "summary.csv")
            for setup in wanted:
                if setup.study == study:
                    with nested_run(setup.level, setup.described()) as row:
                        row.log_metrics(_means(found[found["level"] == setup.level]))


def _means(results: pd.DataFrame) -> dict[str, float]:
    named = results["measure"] + "." + results["question"]
    means = results.groupby(named)["estimate"].mean().dropna()
    return {str(name): float(mean) for name, mean in means.items()}
