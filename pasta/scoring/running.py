"""Running of the studies: every setup with every seed, nothing dropped, equal work done once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import tables
from pasta.params.scoring import ScoringParams
from pasta.scoring import baselines, neural, ordinal  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.evaluation import evaluate
from pasta.scoring.material import Material
from pasta.scoring.splits import split
from pasta.scoring.studies import Setup

Say = Callable[[str], None]


def run_setups(
    material: Material, wanted: Sequence[Setup], scoring: ScoringParams, say: Say
) -> pd.DataFrame:
    """The ``score_results`` of all setups, in their order."""
    done: dict[tuple[Any, ...], tuple[tuple[str, ...], pd.DataFrame]] = {}
    frames = []
    # a setup that asks all questions also answers for one that asks the first
    for setup in sorted(wanted, key=lambda one: -len(one.questions)):
        key = setup.same_work()
        if key not in done or not set(setup.questions) <= set(done[key][0]):
            done[key] = (setup.questions, run_setup(material, setup, scoring))
        say(f"{setup.study}: {setup.level}")
    for setup in wanted:
        found = done[setup.same_work()][1]
        own = found[found["question"].isin(setup.questions)]
        frames.append(own.assign(study=setup.study, level=setup.level))
    columns = list(tables.SCORE_RESULTS.columns)
    return pd.concat(frames, ignore_index=True)[columns]


def run_setup(material: Material, setup: Setup, scoring: ScoringParams) -> pd.DataFrame:
    """One setup with every seed."""
    rated, rows = material.rated(
        setup.embedding, setup.aggregate, setup.with_label, setup.questions
    )
    places = material.places.iloc[rows].reset_index(drop=True)
    seeds = range(scoring.split.seeds)
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
    frames = []
    for column, question in enumerate(questions):
        truth = test.labels[:, column]
        measures = evaluate(truth, answer.stars[:, column])
        if answer.low is not None and answer.high is not None:
            covered = coverage(truth, answer.low[:, column], answer.high[:, column])
            measures = pd.concat([measures, covered], ignore_index=True)
        frames.append(measures.assign(question=question))
    return pd.concat(frames, ignore_index=True)


def coverage(truth: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> pd.DataFrame:
    """How many labels lie in their interval, and how wide the intervals are."""
    known = ~np.isnan(truth)
    inside = (low <= truth) & (truth <= high)
    rows = {"coverage": inside[known].mean(), "width": (high - low)[known].mean()}
    return pd.DataFrame(
        {
            "measure": list(rows),
            "estimate": list(rows.values()),
            "n": int(known.sum()),
            "reason": "",
        }
    )


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
