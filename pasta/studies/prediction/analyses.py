"""The analyses of a forced-choice study: of one experiment, and of the whole study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.choices import exact_correlations, trial_model
from analysis.contrasts import contrast_row, one_mean
from analysis.tables import Tables, list_missing
from analysis.utility import (
    equivalence_table,
    item_table,
    learning_table,
    person_utility,
    time_table,
    utility_area,
    utility_table,
)
from analysis.variance import anova, anova_power, smallest_effect, tukey
from pasta import store
from pasta.studies.prediction.screening import flow
from pasta.studies.prediction.settings import (
    BASELINE,
    CONTROL,
    NAME,
    PredictionParams,
)
from pasta.studies.prediction.shown import METRICS
from pasta.studies.prediction.tables import PARTICIPANTS, SCREENING, TRIALS

SCREENED, EVERYBODY = "screened", "everybody"


def trial_tables(
    trials: pd.DataFrame,
    baseline: str = BASELINE,
    *,
    examples: Mapping[object, float] | None = None,
    margin: float = 0.1,
    resamples: int = 10_000,
    seed: int = 0,
) -> Tables:
    """Analyse the forced choices of one experiment, whoever made it.

    Parameters
    ----------
    trials
        Test trials: participant, condition, right, and perhaps item, session, seconds.
    baseline
        The condition without explanations.
    examples
        How many examples people have seen, by session.
    margin
        Of Utility around 1 that counts as no effect.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    dict of DataFrame
        utility, anova, tukey, equivalence, model, learning, items, times, and missing: which of
        these could not be made, and why.
    """
    lacks: dict[str, str] = {}
    if trials.empty:
        why = "nobody is left after the screening, or nobody has answered"
        names = ("utility", "anova", "tukey", "equivalence", "model", "learning", "items", "times")
        return list_missing({}, {}) | {
            "missing": pd.DataFrame({"section": names, "why": why}, columns=["section", "why"])
        }
    conditions = set(trials["condition"])
    utility = utility_table(trials, baseline, examples=examples, resamples=resamples, seed=seed)
    people = person_utility(trials, baseline, examples)
    test = anova(people["utility"], people["condition"])
    pairs = tukey(people["utility"], people["condition"])
    equal = equivalence_table(trials, baseline, margin, examples)
    if baseline not in conditions:
        lacks["utility"] = f"nobody is in the baseline condition {baseline!r}: utility compares"
        lacks["equivalence"] = lacks["utility"]
    if len(conditions) < 2:
        lacks |= dict.fromkeys(("tukey", "equivalence"), "there is one condition only")
    elif pairs.empty:
        lacks["tukey"] = "people within a condition do not differ"
    items = item_table(trials) if "item" in trials else pd.DataFrame()
    if items.empty:
        lacks["items"] = "it is not said what was shown (item)"
    times = time_table(trials, baseline)
    if times.empty:
        lacks["times"] = "no answer has a time (seconds)"
    if "session" not in trials:
        lacks["learning"] = "there are no sessions"
    return list_missing(
        {
            "utility": utility,
            "anova": test.assign(note=test["note"].fillna("")),
            "tukey": pairs,
            "equivalence": equal,
            "model": trial_model(trials, baseline),
            "learning": learning_table(trials, baseline),
            "items": items,
            "times": times,
        },
        lacks,
    )


def asked_trials(trials: pd.DataFrame, participants: pd.DataFrame) -> pd.DataFrame:
    """The test trials of the study's tables in the words of :mod:`analysis.utility`."""
    who = participants[["participant_id", "experiment", "condition"]]
    own = trials[trials["phase"] == "test"].merge(who, on="participant_id", how="inner")
    return pd.DataFrame(
        {
            "experiment": own["experiment"],
            "participant": own["participant_id"],
            "condition": own["condition"],
            "item": own["image_id"],
            "session": own["session"],
            "right": own["right"].astype(float),
            "seconds": own["seconds"],
        }
    )


def study_tables(
    votes: Path,
    planted: Path,
    settings: PredictionParams,
    *,
    resamples: int,
    seed: int,
) -> Tables:
    """Every table of the study, each with a column ``experiment``.

    Parameters
    ----------
    votes
        The folder of the stage `votes`.
    planted
        Where the truth behind simulated answers is, if they are simulated.
    settings
        Of the study.
    resamples, seed
        Of the bootstrap.
    """
    folder = votes / NAME
    participants = store.read(folder / "participants.parquet", PARTICIPANTS)
    trials = store.read(folder / "trials.parquet", TRIALS)
    screening = store.read(folder / "screening.parquet", SCREENING)
    metrics = store.read(folder / f"{METRICS.name}.parquet", METRICS)
    every = asked_trials(trials, participants)
    kept = every[every["participant"].isin(screening.loc[screening["kept"], "participant_id"])]
    collected: dict[str, list[pd.DataFrame]] = {}
    missing: list[tuple[str, str]] = []
    for name in sorted(set(participants["experiment"]) | set(metrics["experiment"])):
        own = kept[kept["experiment"] == name]
        found = _experiment(own, every[every["experiment"] == name], settings, resamples, seed)
        found["faithfulness"] = metric_means(metrics[metrics["experiment"] == name])
        found |= _against(found, settings, seed)
        for key, table in found.items():
            if key == "missing":
                missing += [
                    (f"{section} ({name})", str(why))
                    for section, why in table.itertuples(index=False, name=None)
                ]
            else:
                table = table.drop(columns="experiment", errors="ignore")  # noqa: PLW2901
                table.insert(0, "experiment", name)
                collected.setdefault(key, []).append(table)
        lacking = sorted(set(settings.conditions) - set(own["condition"]))
        missing += [(f"{one} ({name})", "nobody is left in this condition") for one in lacking]
    tables = {key: pd.concat(parts, ignore_index=True) for key, parts in collected.items()}
    tables["flow"] = flow(screening)
    tables["design"] = design_table(settings, screening)
    if (planted / "expected.parquet").is_file() and trials["simulated"].all():
        tables["planted"] = compare_planted(
            pd.read_parquet(planted / "expected.parquet"), tables, settings
        )
    tables["missing"] = pd.DataFrame(missing, columns=["section", "why"])
    return tables


def _experiment(
    kept: pd.DataFrame,
    every: pd.DataFrame,
    settings: PredictionParams,
    resamples: int,
    seed: int,
) -> Tables:
    options = {
        "examples": settings.design.examples,
        "margin": settings.margin,
        "resamples": resamples,
        "seed": seed,
    }
    found = trial_tables(kept, **options)  # type: ignore[arg-type]
    if "utility" in found:
        found["utility"].insert(0, "people", SCREENED)
        whole = utility_table(
            every, BASELINE, examples=settings.design.examples, resamples=resamples, seed=seed
        )
        whole.insert(0, "people", EVERYBODY)
        found["utility"] = pd.concat([found["utility"], whole], ignore_index=True)
        people = person_utility(every, BASELINE, settings.design.examples)
        test = anova(people["utility"], people["condition"]).assign(people=EVERYBODY)
        found["anova"] = pd.concat(
            [found["anova"].assign(people=SCREENED), test], ignore_index=True
        )
    return found


def metric_means(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean of each metric for each condition, over the images, with its interval.

    Returns
    -------
    DataFrame
        condition, metric, n, estimate, low, high, failed (maps without a value).
    """
    rows = []
    for (condition, metric), own in metrics.groupby(["condition", "metric"], sort=True):
        found = contrast_row(one_mean(own["value"]))
        row = {key: found[key] for key in ("n", "estimate", "low", "high")}
        failed = int(own["value"].isna().sum())
        rows.append({"condition": condition, "metric": metric} | row | {"failed": failed})
    columns = ["condition", "metric", "n", "estimate", "low", "high", "failed"]
    return pd.DataFrame(rows, columns=columns)


def _against(found: Tables, settings: PredictionParams, seed: int) -> Tables:
    """Utility beside the metrics of each condition, and their correlation over methods."""
    if "utility" not in found or found["faithfulness"].empty:
        return {}
    whole = found["utility"]
    whole = whole[(whole["people"] == SCREENED) & whole["k"].isna()]
    utilities = whole.set_index("condition")["estimate"]
    rows, points = [], []
    shown = [name for name in settings.conditions if name not in (BASELINE, CONTROL)]
    for metric, own in found["faithfulness"].groupby("metric", sort=True):
        values = own.set_index("condition")["estimate"]
        for name in (CONTROL, *shown):
            if name in values and name in utilities:
                points.append((name, metric, utilities[name], values[name]))
        for what, names in (("methods", shown), ("methods and control", [*shown, CONTROL])):
            there = [name for name in names if name in values and name in utilities]
            table = exact_correlations(utilities[there], values[there], seed=seed)
            rows.append(table.assign(metric=metric, over=what))
    columns = ["condition", "metric", "utility", "value"]
    return {
        "utility_metrics": pd.DataFrame(points, columns=columns),
        "correlations": pd.concat(rows, ignore_index=True),
    }


def design_table(settings: PredictionParams, screening: pd.DataFrame) -> pd.DataFrame:
    """What the study can find, planned and as it came out (power of the variance analysis)."""
    groups = len(settings.conditions)
    wanted = settings.design.per_condition * groups
    rows = [("planned", "", wanted)]
    for name, own in screening.groupby("experiment", sort=True):
        rows.append(("kept", str(name), int(own["kept"].sum())))
    table = []
    for what, experiment, n in rows:
        enough = n > groups > 1
        power = anova_power(groups, n, 0.25) if enough else np.nan
        least = smallest_effect(groups, n) if enough else np.nan
        table.append((what, experiment, groups, n, power, least))
    columns = ["what", "experiment", "conditions", "n", "power_medium", "smallest_f"]
    return pd.DataFrame(table, columns=columns)


def compare_planted(
    expected: pd.DataFrame, tables: Mapping[str, pd.DataFrame], settings: PredictionParams
) -> pd.DataFrame:
    """Planted Utility beside what is found, with the screening and without it.

    Returns
    -------
    DataFrame
        experiment, condition, people, expected, estimate, low, high, covers.
    """
    places = list(settings.design.examples.values())
    rows = []
    for experiment, own in expected.groupby("experiment", sort=True):
        wide = own.pivot_table(index="condition", columns="session", values="accuracy")
        if BASELINE not in wide.index or "utility" not in tables:
            continue
        curves = wide.to_numpy(np.float64) / wide.loc[BASELINE].to_numpy(np.float64)
        areas = dict(zip(wide.index, utility_area(curves, places), strict=True))
        found = tables["utility"]
        found = found[(found["experiment"] == experiment) & found["k"].isna()]
        for row in found[found["condition"] != BASELINE].to_dict("records"):
            truth = areas.get(row["condition"], np.nan)
            rows.append(
                {
                    "experiment": experiment,
                    "condition": row["condition"],
                    "people": row["people"],
                    "expected": truth,
                    "estimate": row["estimate"],
                    "low": row["low"],
                    "high": row["high"],
                    "covers": bool(row["low"] <= truth <= row["high"]),
                }
            )
    columns = ["experiment", "condition", "people", "expected", "estimate", "low", "high", "covers"]
    return pd.DataFrame(rows, columns=columns)
