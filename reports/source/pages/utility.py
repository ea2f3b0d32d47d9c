"""utility.pdf: do explanations help people to predict the model?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.tables import Tables
from pasta.studies.prediction.settings import (
    BASELINE,
    CONDITIONS,
    CONTROL,
    NAME,
    PRINTED,
    UNNAMED,
    PredictionParams,
)
from pasta.studies.prediction.tables import STAGES
from reports.source.data import REPORTS, Data
from reports.source.format import (
    cells,
    count,
    interval,
    listed,
    number,
    p_value,
    share,
    signed,
)
from reports.source.names import method_name
from reports.source.pages.parts import find_row, select, table
from reports.source.plots.utility import (
    curves_figure,
    faithfulness_figure,
    flow_figure,
    planted_figure,
    tukey_figure,
)
from reports.source.replication.collected import beside_papers
from reports.source.replication.metapredictor import errata
from reports.source.replication.table import METAPREDICTOR, compare_study
from reports.source.replication.written import write_rows
from reports.source.typesetting import Report

Frames = Mapping[str, pd.DataFrame]
Values = dict[str, Any]
VOTES, UTILITY = f"votes/{NAME}", "analyse/utility"
PICTURES = "experiments"  # the folder of example pictures
EXPERIMENTS = tuple(PredictionParams().experiments)
_OWN = {BASELINE: "Baseline", CONTROL: "Control", PRINTED: "Gradient x Input, norm"}
# Methods as the published tables call them
_HARDEST = 5  # items of each experiment in a table
_LEVEL = 0.05  # of a test, in sentences


@REPORTS.register(
    "utility",
    about="whether explanations help people to predict the model",
    reads=(VOTES, UTILITY),
    figures=tuple(f"{PICTURES}/{name}.jpg" for name in EXPERIMENTS),
)
def utility(data: Data) -> Report:
    """The meta-predictor study."""
    found = data.parts.get("utility", {})
    pictures = {name: file for name, file in data.pictures.items() if name in EXPERIMENTS}
    return utility_report(found, pictures, data.published, data.simulated)


def condition_name(key: str) -> str:
    """``input_x_gradient`` as "Gradient x Input"."""
    return _OWN.get(str(key), method_name(str(key)))


def utility_findings(tables: Frames) -> list[str]:
    """The main results, a sentence for each experiment."""
    whole = table(tables, "utility")
    screened = select(whole, people="screened") if "people" in whole else whole
    return _findings(tables, screened, _names(tables), BASELINE)


def utility_report(
    tables: Frames,
    pictures: Mapping[str, Path],
    published: Tables,
    simulated: bool,
    baseline: str = BASELINE,
) -> Report:
    """Collect what ``utility.typ`` shows.

    Parameters
    ----------
    tables
        Those of :func:`pasta.studies.prediction.analyses.study_tables`, or of anybody's trials
        with a column experiment.
    pictures
        Examples of what is shown, by experiment.
    published
        The papers' tables; without those of this study there is no comparison.
    simulated
        Whether the answers are those of simulated people.
    baseline
        The condition without explanations.
    """
    found = {
        name: frame.assign(**{text: frame[text].fillna("") for text in ("note",) if text in frame})
        for name, frame in tables.items()
    }
    names = _names(found)
    known = "metapredictor_tests" in published
    whole = table(found, "utility")
    screened = select(whole, people="screened") if "people" in whole else whole
    scores = table(found, "utility_metrics")
    content: Values = {
        "lacks": [
            f"{row['section']}: {row['why']}." for row in table(found, "missing").to_dict("records")
        ],
        "findings": _findings(found, screened, names, baseline),
        "design": _design(table(found, "design")),
        "flow": flow_figure(table(found, "flow"), STAGES) if "flow" in found else None,
        "flow_table": _tabulate_flow(table(found, "flow"), names),
        "curves": curves_figure(screened, names, baseline) if len(screened) else None,
        "utility": _tabulate_utility(whole, names),
        "anova": _tabulate_anova(table(found, "anova")),
        "tukey": tukey_figure(table(found, "tukey"), names),
        "equivalence": _tabulate_equivalence(table(found, "equivalence"), names),
        "undecided": _say_undecided(table(found, "equivalence")),
        "model": _tabulate_model(table(found, "model"), names),
        "learning": _tabulate_learning(table(found, "learning"), names),
        "items": _tabulate_items(table(found, "items")),
        "times": _tabulate_times(table(found, "times"), names),
        "against": faithfulness_figure(select(scores, metric="faithfulness"), names),
        "correlations": _tabulate_correlations(table(found, "correlations")),
        "faithfulness": _tabulate_faithfulness(table(found, "faithfulness"), names),
        "pictures": [{"file": file, "experiment": name} for name, file in sorted(pictures.items())],
        "order": listed([condition_name(one) for one in (*CONDITIONS, PRINTED)]),
        "planted_figure": planted_figure(table(found, "planted"), names),
        "planted_words": _planted_words(table(found, "planted")),
        "planted": None,
        "paper": _tabulate_paper(published, found) if known else None,
        "errata": _tabulate_errata(errata(published)) if known else None,
        "wrong": _count_wrong(errata(published)) if known else "",
    }
    return Report("utility", simulated, content, tables=dict(found), drawn=())


def _names(found: Frames) -> dict[str, str]:
    """Conditions in their order, with words for people."""
    parts = [table(found, name) for name in ("utility", "faithfulness")]
    there = [name for part in parts if "condition" in part for name in part["condition"]]
    order = [*CONDITIONS, PRINTED]
    others = sorted({str(name) for name in there} - set(order))
    known = [name for name in order if name in there]
    return {name: condition_name(name) for name in [*known, *others]}


def _findings(
    found: Frames, utility: pd.DataFrame, names: Mapping[str, str], baseline: str
) -> list[str]:
    """The main results, an experiment a line."""
    said = []
    areas = utility[utility["k"].isna()] if len(utility) else utility
    for row in table(found, "anova").to_dict("records"):
        if row.get("people", "screened") != "screened" or pd.isna(row["f"]):
            continue
        name = str(row["experiment"])
        own = areas[areas["experiment"] == name]
        own = own[(own["condition"] != baseline) & own["estimate"].notna()]
        differ = "differ" if row["p"] < _LEVEL else "do not differ significantly"
        start = "" if name == UNNAMED else f"{name}: "
        text = f"{start}conditions {differ}"
        if len(own):
            best, worst = (own.loc[own["estimate"].agg(how)] for how in ("idxmax", "idxmin"))
            ends = [
                f"{names[one['condition']]} (Utility {number(one['estimate'])} "
                f"{interval(one['low'], one['high'])})"
                for one in (best, worst)
            ]
            text = (
                f"{start}people predict the model best after {ends[0]} and "
                f"worst after {ends[1]}; conditions {differ}"
            )
        text += (
            f" (F({int(row['df1'])}, {int(row['df2'])}) = {number(row['f'])}, "
            f"{p_value(row['p'])}, eta squared {number(row['estimate'])} "
            f"{interval(row['low'], row['high'])})"
        )
        verdicts = select(table(found, "equivalence"), experiment=name)
        if len(verdicts):
            counts = verdicts["verdict"].value_counts()
            text += "; beside the baseline " + listed(
                [f"{number} {verdict}" for verdict, number in counts.items()]
            )
        said.append(text[0].upper() + text[1:] + ".")
    return said


def _design(design: pd.DataFrame) -> Values | None:
    if design.empty:
        return None
    named = design.assign(
        experiment=design["experiment"].fillna("").replace("", "as planned"),
        power=design["power_medium"],
        smallest=design["smallest_f"],
    )
    return cells(named, "experiment conditions:0 n:0 power:percent smallest:0.000")


def _tabulate_flow(flow: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    if flow.empty:
        return None
    own = flow[flow["condition"] != "all"]
    rows = []
    for (experiment, condition), part in own.groupby(["experiment", "condition"], sort=False):
        row: dict[str, object] = {
            "experiment": experiment,
            "condition": names.get(str(condition), ""),
        }
        row["came"] = number(part["came"].iloc[0], 0)
        for one in part.to_dict("records"):
            row[one["stage"]] = number(one["left"], 0)
        row["kept"] = number(part["came"].iloc[-1] - part["left"].iloc[-1], 0)
        rows.append(row)
    frame = pd.DataFrame(rows)
    return cells(frame, _names_then_numbers(frame))


def _names_then_numbers(frame: pd.DataFrame) -> list[str]:
    """The columns: experiment and condition, then numbers, which end at the right."""
    return [*frame.columns[:2], *(f"{one}:text" for one in frame.columns[2:])]


def _ranked(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Rows in the order of experiments and conditions, with names for people."""
    order = {name: place for place, name in enumerate(names)}
    place = frame["condition"].map(order).fillna(len(order))
    kept = frame.assign(_place=place).sort_values(["experiment", "_place"], kind="stable")
    return kept.assign(condition=kept["condition"].map(lambda one: names.get(one, one)))


def _tabulate_utility(utility: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    """Utility with the screening and without it."""
    if utility.empty or utility["estimate"].isna().all():
        return None
    areas = utility[utility["k"].isna()]
    wide = []
    for (experiment, condition), part in _ranked(areas, names).groupby(
        ["experiment", "condition"], sort=False
    ):
        row: dict[str, object] = {"experiment": experiment, "condition": condition}
        for people in ("screened", "everybody"):
            one = find_row(part, people=people) if "people" in part else part.iloc[0].to_dict()
            if one is None:
                continue
            row[f"n, {people}"] = number(one["n"], 0)
            row[f"right, {people}"] = share(one["accuracy"])
            ends = interval(one["low"], one["high"])
            alone = pd.isna(one["low"])
            row[people] = number(one["estimate"]) + ("" if alone else f" {ends}")
        wide.append(row)
    frame = pd.DataFrame(wide).fillna("")
    return cells(frame, _names_then_numbers(frame))


def _tabulate_anova(anova: pd.DataFrame) -> Values | None:
    if anova.empty or anova["f"].isna().all():
        return None
    shown = anova if "people" in anova else anova.assign(people="everybody")
    columns = "experiment people n:0 df1:0 df2:0 f:0.00 p:p estimate:0.000 low:interval"
    return cells(shown, columns)


def _tabulate_equivalence(equal: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    if equal.empty:
        return None
    columns = "experiment condition n:0 estimate:0.00 low:interval p_holm:p p_equivalence:p verdict"
    return cells(_ranked(equal, names), f"{columns} needed:0")


def _say_undecided(equal: pd.DataFrame) -> list[str]:
    """Where nothing is shown, neither a difference nor equivalence, and what would show it."""
    said = []
    for name, own in equal.groupby("experiment", sort=False) if len(equal) else ():
        unknown = own[(own["verdict"] == "unknown") & own["needed"].notna()]
        if unknown.empty:
            continue
        here, needed = (_range(unknown[one]) for one in ("people", "needed"))
        said.append(
            f"{name}: {len(unknown)} of {count(len(own), 'condition')} are not shown to differ "
            "from the baseline, nor to be equivalent to it: that they are useless is not shown. "
            f"There are {here} people in a condition; with {needed}, spread as these, equal "
            f"conditions would be found equivalent within {number(own['margin'].iloc[0])} in 80 % "
            "of studies."
        )
    return said


def _range(values: pd.Series) -> str:
    """``22`` or ``22 to 26``."""
    ends = [f"{one:,.0f}" for one in (values.min(), values.max())]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _tabulate_model(model: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    if model.empty or model["p"].isna().all():
        return None
    own = model[model["term"].isin(["condition", "all conditions", "all interactions"])].copy()
    tests = own["term"] != "condition"
    odds = own.assign(**{key: np.exp(own[key].where(~tests)) for key in ("low", "high")})
    odds["odds"] = np.exp(own["estimate"].where(~tests))
    odds["chi2"] = own["estimate"].where(tests)
    odds["what"] = own["condition"].map(lambda one: names.get(one, one)).where(~tests, own["term"])
    return cells(odds, "experiment what odds:0.00 low:interval chi2:0.00 p:p p_holm:p")


def _tabulate_learning(learning: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    if learning.empty:
        return None
    rows = []
    for (experiment, condition), part in _ranked(learning, names).groupby(
        ["experiment", "condition"], sort=False
    ):
        row: dict[str, object] = {"experiment": experiment, "condition": condition}
        for one in part.to_dict("records"):
            quantity = str(one["quantity"])
            if quantity.startswith("session"):
                row[quantity] = share(one["estimate"])
            elif quantity == "slope":
                ends = interval(one["low"], one["high"], 3)
                row["gain a session"] = f"{signed(one['estimate'], 3)} {ends}"
        rows.append(row)
    frame = pd.DataFrame(rows).fillna("")
    return cells(frame, _names_then_numbers(frame))


def _tabulate_items(items: pd.DataFrame) -> Values | None:
    """The hardest and the easiest items of each experiment."""
    if items.empty:
        return None
    parts = []
    for _, own in items.groupby("experiment", sort=False):
        known = own.sort_values("estimate", kind="stable")
        parts += [known.head(_HARDEST), known.tail(2)]
    both = pd.concat(parts).drop_duplicates(["experiment", "item"])
    columns = "experiment item n:0 estimate:percent low:interval discrimination:0.00"
    return cells(both, columns)


def _tabulate_times(times: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    if times.empty:
        return None
    seconds = select(times, quantity="seconds")
    ratio = select(times, quantity="ratio")[["experiment", "condition", "estimate", "p"]]
    both = _ranked(seconds.drop(columns="p").merge(
        ratio, on=["experiment", "condition"], how="left", suffixes=("", "_ratio")
    ), names)  # fmt: skip
    columns = "experiment condition n:0 estimate:0.0 low:interval estimate_ratio:0.00 p:p"
    return cells(both, columns)


def _tabulate_correlations(correlations: pd.DataFrame) -> Values | None:
    if correlations.empty:
        return None
    main = (correlations["metric"] == "faithfulness") | (correlations["over"] == "methods")
    correlations = correlations[main]
    own = correlations.assign(exact=np.where(correlations["exact"], "exact", "random"))
    columns = "experiment metric over method n:0 estimate:0.00 low:interval p:p exact"
    return cells(own, columns)


def _tabulate_faithfulness(means: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    own = select(means, metric="faithfulness")
    if own.empty:
        return None
    experiments = list(dict.fromkeys(own["experiment"]))
    rows = []
    for name, title in names.items():
        row: dict[str, object] = {"condition": title}
        for experiment in experiments:
            one = find_row(own, condition=name, experiment=experiment)
            if one is not None:
                ends = interval(one["low"], one["high"])
                row[experiment] = f"{number(one['estimate'])} {ends}"
        if len(row) > 1:
            rows.append(row)
    frame = pd.DataFrame(rows).fillna("")
    return cells(frame, list(frame.columns))


def _planted_words(planted: pd.DataFrame) -> str:
    """How many intervals hold the truth, and what the screening does."""
    if planted.empty:
        return ""
    own = {people: select(planted, people=people) for people in ("screened", "everybody")}
    misses = {
        people: float((part["estimate"] - part["expected"]).abs().mean())
        for people, part in own.items()
    }
    covered = {people: int(part["covers"].sum()) for people, part in own.items()}
    return (
        f"Of {count(len(own['screened']), 'interval')}, {covered['screened']} contain the planted "
        f"Utility with the screening and {covered['everybody']} without it; the mean distance from "
        f"it is {number(misses['screened'], 3)} with and {number(misses['everybody'], 3)} without."
    )


def _tabulate_paper(published: Tables, found: Frames) -> Values | None:
    """Every printed number that we have, as in replication.pdf."""
    rows = compare_study(published, beside_papers({"utility": dict(found)}, {}), METAPREDICTOR)
    return write_rows(rows)["rows"] if len(rows) else None


def _tabulate_errata(found: pd.DataFrame) -> Values:
    return cells(found, "where statement computed verdict")


def _count_wrong(found: pd.DataFrame) -> str:
    wrong, open_ = ((found["verdict"] == one).sum() for one in ("does not hold", "not shown"))
    return f"Of {len(found)} statements {wrong} do not hold and {open_} are not shown"
