"""joins.pdf: five ways to judge explanations, on the same images, models and methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pasta.studies.ratings.settings import MAIN, QUESTIONS
from reports.source.data import JOINS, REPORTS, Data
from reports.source.format import bounded, cells, count, interval, number, p_value
from reports.source.names import method_name, metric_title
from reports.source.pages.parts import ALPHA, select, table
from reports.source.plots.joins import against_people_figure, places_figure
from reports.source.typesetting import Report

Frames = Mapping[str, pd.DataFrame]
Values = dict[str, Any]
_MOST = 4
_LARGEST = 12  # pairs of the table
# What each kind of evaluation is there for; the rest of its row is measured.
PURPOSES = {
    "ratings": "Do people find the explanation convincing?",
    "prediction": "Does it help people to predict the model?",
    "attention": "Does it show what people look at?",
}
_KINDS = {
    "ratings": "star ratings",
    "prediction": "predictions of the model",
    "attention": "grades of maps",
}


@REPORTS.register(
    JOINS, about="ratings, utility, attention, metrics and the score side by side", reads=(JOINS,)
)
def joins(data: Data) -> Report:
    """What the studies say together."""
    return joins_report(data.parts.get(JOINS, {}), data.simulated)


def joins_report(tables: Frames, simulated: bool) -> Report:
    """Collect what ``joins.typ`` shows.

    Parameters
    ----------
    tables
        Those of the stage ``joins``.
    simulated
        Whether an answer among those of all studies is simulated.
    """
    found = {
        name: frame.assign(note=frame["note"].fillna("")) if "note" in frame else frame
        for name, frame in tables.items()
    }
    decisions, places = table(found, "decisions"), table(found, "places")
    titles = _titles(found)
    measures = list(map(str, pd.unique(places.get("measure", pd.Series(dtype=str)))))
    between = select(table(found, "methods"), method="spearman")
    content = {
        "main": MAIN,
        "lacks": [
            f"{str(row['section']).capitalize()}: {row['why']}."
            for row in table(found, "missing").to_dict("records")
        ],
        "findings": [
            *_findings(decisions, between, table(found, "people"), titles),
            *_say_rivals(select(table(found, "rivals"), score="agreement")),
        ],
        "places": [
            places_figure(places, part, titles)
            for part in (_people_first(measures), _computed(measures))
        ],
        "against": against_people_figure(decisions, titles, MAIN) if len(decisions) else None,
        "pairs": _tabulate_pairs(between, titles),
        "rivals": _tabulate_rivals(select(table(found, "rivals"), score="agreement"), titles),
        "shown": _say_shown(table(found, "shown")),
        "people": _tabulate_people(table(found, "people")),
        "decisions": _tabulate_decisions(decisions, titles),
    }
    kept = ("places", "methods", "items", "rivals", "people", "decisions", "shown")
    return Report(
        JOINS, simulated, content, tables={one: found[one] for one in kept if one in found}
    )


def _titles(found: Frames) -> dict[str, str]:
    """Names for people: of measures, and of methods."""
    places = table(found, "places")
    if places.empty:
        return {}
    groups = {str(one): method_name(str(one)) for one in places["group"].unique()}
    known = {}
    for one in map(str, places["measure"].unique()):
        metric, _, variant = one.partition(" ")
        plain = one in QUESTIONS or ":" in one or one in ("predicted score",)
        known[one] = one if plain else metric_title(metric, variant)
    return {**groups, **known}


def _people_first(measures: list[str]) -> list[str]:
    """Measures that come from people, or learn from them."""
    words = (*QUESTIONS, "predicted score", "attention", "segmentation", "utility")
    return [one for one in measures if one.startswith(words)]


def _computed(measures: list[str]) -> list[str]:
    people = _people_first(measures)
    return [one for one in measures if one not in people]


def _findings(
    decisions: pd.DataFrame, between: pd.DataFrame, people: pd.DataFrame, titles: Mapping[str, str]
) -> list[str]:
    found = []
    for scope, where in (("within", "Among the explanations of one image"),
                         ("given", "Given the technique")):  # fmt: skip
        if f"{scope}_verdict" not in decisions:
            continue
        follow = select(decisions, **{f"{scope}_verdict": "follows"})
        follow = follow[~follow["measure"].isin(QUESTIONS)]
        follow = follow.sort_values(f"{scope}_estimate", ascending=False)
        against = select(decisions, **{f"{scope}_verdict": "contradicts"})
        against = against[~against["measure"].isin(QUESTIONS)]
        named = [
            f"{titles.get(str(row['measure']), row['measure'])} "
            f"({number(row[f'{scope}_estimate'])} "
            f"{interval(row[f'{scope}_low'], row[f'{scope}_high'])})"
            for row in follow.to_dict("records")
        ]
        sentence = f"{where}, " + (
            f"{count(len(named), 'measure')} "
            f"{'follows' if len(named) == 1 else 'follow'} {MAIN}: {bounded(named, _MOST)}"
            if named
            else f"no measure can be said to follow {MAIN}"
        )
        if len(against):
            others = [titles.get(str(one), str(one)) for one in against["measure"]]
            sentence += f"; the opposite say {bounded(others, _MOST)}"
        found.append(f"{sentence}.")
    strong = between[(between["p_holm"] < ALPHA)] if "p_holm" in between else between
    if len(between):
        tested = between[between["p"].notna()]
        found.append(
            f"Of {count(len(tested), 'pair')} of measures whose means over methods were compared, "
            f"{len(strong)} are related beyond chance (exact tests, Holm)."
        )
    needed = select(people, quantity="people") if len(people) else people
    takes = []
    for row in needed[np.isfinite(needed["estimate"])].to_dict("records") if len(needed) else []:
        part = f" ({row['part']})" if isinstance(row["part"], str) and row["part"] else ""
        number_of = count(round(row["estimate"]), "person", "people")
        kind = _KINDS[str(row["study"])]
        takes.append(f"{number_of} for {kind}{part}, where there were {row['n']}")
    if takes:
        found.append(f"An order that is reliable to 0.9 takes about {'; '.join(takes)}.")
    return found


def _say_rivals(rivals: pd.DataFrame) -> list[str]:
    """Whether attention foretells ratings better than the segmentation does."""
    own = select(rivals, kind="segmentation") if len(rivals) else rivals
    own = own[own["low"].notna()] if len(own) else own
    if own.empty:
        return []
    ahead, behind = int((own["low"] > 0).sum()), int((own["high"] < 0).sum())
    return [
        f"Of {count(len(own), 'question')}, agreement with human attention foretells {ahead} "
        f"better than agreement with the segmentation does, {behind} worse; the rest cannot be "
        "told apart."
    ]


def _say_shown(shown: pd.DataFrame) -> str | None:
    """Of how many explanations the score foretold the stars, and how many look familiar to it."""
    if shown.empty:
        return None
    known = (shown["familiar"] * shown["n"]).sum() / shown["n"].sum()
    return (
        f"The score foretold the stars of {count(int(shown['n'].sum()), 'explanation')} that "
        f"participants saw when they predicted a model; {known:.0%} of them look like what it has "
        "learned from."
    )


def _tabulate_rivals(rivals: pd.DataFrame, titles: Mapping[str, str]) -> Values | None:
    if rivals.empty:
        return None
    named = rivals.assign(rival=rivals["rival"].map(lambda one: titles.get(str(one), str(one))))
    columns = "target rival n:0 champion:0.00 rival_estimate:0.00 estimate:signed low:interval p:p"
    return cells(named, columns)


def _tabulate_pairs(between: pd.DataFrame, titles: Mapping[str, str]) -> Values | None:
    """The closest pairs of measures over methods, but those of two questions or two metrics."""
    if between.empty:
        return None
    own = between[between["estimate"].notna()].copy()
    kinds = {
        str(one): _kind(str(one)) for one in pd.unique(pd.concat([own["first"], own["second"]]))
    }
    own = own[own["first"].map(kinds) != own["second"].map(kinds)]
    if own.empty:
        return None
    own = own.loc[own["p"].sort_values(kind="stable").index].head(_LARGEST)
    own["exact"] = np.where(own["exact"], "all", "a sample")
    for column in ("first", "second"):
        own[column] = own[column].map(lambda one: titles.get(str(one), str(one)))
    return cells(own, "first second n:0 estimate:signed low:interval p:p p_holm:p exact")


def _kind(measure: str) -> str:
    if measure in QUESTIONS:
        return "rating"
    if measure == "predicted score":
        return "score"
    if measure in ("attention", "segmentation"):
        return "attention"
    return measure.partition(":")[0] if ":" in measure else "metric"


def _tabulate_people(people: pd.DataFrame) -> Values | None:
    if people.empty:
        return None
    rows = []
    for key, own in people.fillna({"part": ""}).groupby(["study", "part"], sort=False):
        study, part = map(str, key)
        by = {str(row["quantity"]): row for row in own.to_dict("records")}
        reliability, wanted = by["reliability"], by["people"]
        endless = np.isinf(wanted["estimate"])
        rows.append(
            {
                "purpose": PURPOSES[study],
                "asked": _KINDS[study] + (f", {part}" if part else ""),
                "items": reliability["items"],
                "n": reliability["n"],
                "reliability": reliability["estimate"],
                "needed": "endless" if endless else _whole(wanted["estimate"]),
                "range": f"{_whole(wanted['low'])} to {_whole(wanted['high'])}",
            }
        )
    return cells(pd.DataFrame(rows), "purpose asked items:0 n:0 reliability:0.00 needed range")


def _whole(value: float) -> str:
    if np.isnan(value):
        return "?"
    return "endless" if np.isinf(value) or value > 1e6 else f"{max(round(value), 1):,}"


def _tabulate_decisions(decisions: pd.DataFrame, titles: Mapping[str, str]) -> Values | None:
    if decisions.empty:
        return None
    own = decisions[~decisions["measure"].isin(QUESTIONS)].copy()
    compared = ["within_estimate", "given_estimate", "methods_estimate"]
    own = own[own[compared].notna().any(axis=1)]
    if own.empty:
        return None
    own["measure"] = own["measure"].map(lambda one: titles.get(str(one), str(one)))
    columns = ("methods_estimate", "methods_n", "methods_p")
    own["methods"] = [
        _of_methods(*found) for found in zip(*(own[one] for one in columns), strict=True)
    ]
    return cells(own, "measure within_verdict given_verdict methods")


def _of_methods(estimate: float, n: float, p: float) -> str:
    known = pd.notna(estimate) and pd.notna(p)
    return f"{number(estimate)} (n = {n:.0f}, {p_value(p)})" if known else ""
