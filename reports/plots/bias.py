"""Figures on bias: groups of annotators, likeness to own words and boxes, single annotators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.plots.agreement import MOST_ROWS, OVERALL, WIDTH, labels, short
from reports.plots.style import FAINT, INK, PALETTE, style

FACTORS: Mapping[str, str] = {"sex": "sex", "age_group": "age", "country": "country"}
GROUP_MEASURES: Mapping[str, str] = {
    "agreement": "kappa with the mode of the others",
    "level": "rating level (stars)",
}
PROFILE_MEASURES: Mapping[str, str] = {
    "severity": "stars above\nthe others",
    "spread": "standard\ndeviation",
    "agreement": "kappa with\nthe others",
    "straight_lining": "all questions\nalike (%)",
    "seconds": "seconds\na sample",
}
LIKENESS: Mapping[str, str] = {
    "bleu": "BLEU",
    "rouge1": "ROUGE-1",
    "rougeL": "ROUGE-L",
    "sum_all": "SUM all",
    "sum_pos": "SUM pos",
    "sum_neg": "SUM neg",
    "entropy": "entropy",
    "share_pos": "share pos",
}
MOST_GROUPS = 25
SURE = 0.05


def groups_figure(groups: pd.DataFrame, people: pd.DataFrame) -> Figure | None:
    """Agreement and rating level by sex, age and country: means with intervals, annotators small.

    Groups beyond ``MOST_GROUPS`` (many countries) are left out, the smallest first.
    """
    here = groups[(groups["question"] == OVERALL) & groups["estimate"].notna()]
    here = here[here["group"].notna() & here["measure"].isin(GROUP_MEASURES)]
    sizes = here.groupby(["factor", "group"], sort=False)["n"].max()
    kept = set(sizes.sort_values(ascending=False, kind="stable").index[:MOST_GROUPS])
    chosen = [pair for pair in sizes.index if pair in kept]
    if not chosen:
        return None
    places = _group_places(chosen)
    with style():
        height = 0.75 + 0.2 * (1 - min(places.values()))
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(GROUP_MEASURES), sharey=True))
        for panel, (measure, title) in zip(panels, GROUP_MEASURES.items(), strict=True):
            own = here[here["measure"] == measure]
            single = people[(people["measure"] == measure) & (people["question"] == OVERALL)]
            for (factor, group), place in places.items():
                each = single.loc[single[factor].astype(str) == group, "estimate"]
                panel.scatter(each, [place] * len(each), s=9, color="#AAAAAA", zorder=1)
                row = own[(own["factor"] == factor) & (own["group"] == group)]
                _interval(panel, row, place, PALETTE[0])
            panel.set_title(title, fontsize=9, fontweight="normal")
            _quiet(panel, min(places.values()))
        names = [
            f"{name} ({int(sizes[pair])})"
            for pair, name in zip(places, labels(group for _, group in places), strict=True)
        ]
        panels[0].set_yticks(list(places.values()), names, fontsize=8)
    return figure


def _group_places(names: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """A row for each group, and some room between factors."""
    places, place, before = {}, 0.0, names[0][0]
    for factor, group in names:
        place -= 0.5 if factor != before else 0.0
        places[factor, str(group)] = place
        place, before = place - 1, factor
    return places


def likeness_figure(text: pd.DataFrame, boxes: pd.DataFrame) -> Figure | None:
    """Spearman correlations of likeness with the votes (P1, Figure 11): pooled, and within.

    Bold numbers have an adjusted p below 0.05.
    """
    both = pd.concat([frame for frame in (text, boxes) if len(frame)] or [text])
    known = both[(both["method"] == "spearman") & both["estimate"].notna()]
    measures = [name for name in LIKENESS if (known["measure"] == name).any()]
    questions = sorted(known["question"].astype(str).unique())
    if not measures:
        return None
    scopes = {"pooled": "all votes, as published", "within": "within samples and annotators"}
    with style():
        size = (WIDTH, 0.7 + 0.25 * len(measures))
        figure = Figure(figsize=size, layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, 2, sharey=True))
        for panel, (scope, title) in zip(panels, scopes.items(), strict=True):
            own = known[known["scope"] == scope]
            _heat(panel, own, measures, questions)
            panel.set_title(title, fontsize=9)
        panels[0].set_yticks(range(len(measures)), [LIKENESS[name] for name in measures])
    return figure


def _heat(panel: Axes, own: pd.DataFrame, measures: list[str], questions: list[str]) -> None:
    values = np.full((len(measures), len(questions)), np.nan)
    for measure, question, value, p in zip(
        own["measure"], own["question"].astype(str), own["estimate"], own["p_holm"], strict=True
    ):
        row, column = measures.index(measure), questions.index(question)
        values[row, column] = value
        panel.text(
            column,
            row,
            short(value),
            ha="center",
            va="center",
            fontsize=8,
            fontweight="bold" if p < SURE else "normal",
            color="white" if abs(value) > 0.42 else INK,
        )
    panel.imshow(values, cmap="RdBu", vmin=-0.7, vmax=0.7, aspect="auto")
    for row, column in zip(*np.nonzero(np.isnan(values)), strict=True):
        panel.text(column, row, "–", ha="center", va="center", fontsize=8, color=INK)
    panel.set_xticks(range(len(questions)), labels(questions, 10))
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def profiles_figure(profiles: pd.DataFrame, named: pd.DataFrame) -> Figure | None:
    """How each annotator rates: severity, spread, agreement, straight-lining and speed.

    Those of ``named`` (annotator_id, measure) stand out. Of many annotators only they are shown,
    filled up with the first ones.
    """
    known = profiles[profiles["estimate"].notna() & profiles["measure"].isin(PROFILE_MEASURES)]
    measures = [name for name in PROFILE_MEASURES if (known["measure"] == name).any()]
    if not measures:
        return None
    everyone = [str(name) for name in known["annotator_id"].unique()]
    marked = set(zip(named["annotator_id"].astype(str), named["measure"], strict=True))
    first = [name for name in everyone if name in {who for who, _ in marked}]
    names = everyone
    if len(everyone) > MOST_ROWS:
        names = [*first, *(name for name in everyone if name not in first)][:MOST_ROWS]
    places = {name: -place for place, name in enumerate(names)}
    with style():
        size = (WIDTH, 0.7 + 0.165 * len(names))
        figure = Figure(figsize=size, layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(measures), sharey=True))
        for panel, measure in zip(panels, measures, strict=True):
            scale = 100 if measure == "straight_lining" else 1
            own = known[known["measure"] == measure].assign(
                **{name: _times(name, scale) for name in ("estimate", "low", "high")}
            )
            for name, place in places.items():
                colour = PALETTE[1] if (name, measure) in marked else PALETTE[0]
                _interval(panel, own[own["annotator_id"].astype(str) == name], place, colour)
            if measure == "severity":
                panel.axvline(0, color=INK, linewidth=0.5, zorder=0)
            panel.set_title(PROFILE_MEASURES[measure], fontsize=8, fontweight="normal")
            _quiet(panel, min(places.values()))
        panels[0].set_yticks(list(places.values()), labels(names), fontsize=7.5)
    return figure


def _times(name: str, scale: float) -> Callable[[pd.DataFrame], pd.Series]:
    return lambda frame: frame[name] * scale


def _interval(panel: Axes, rows: pd.DataFrame, place: float, colour: str) -> None:
    for estimate, low, high in zip(rows["estimate"], rows["low"], rows["high"], strict=True):
        if pd.notna(low) and pd.notna(high):
            panel.hlines(place, low, high, color=colour, linewidth=1)
        panel.scatter([estimate], [place], s=14, color=colour, zorder=3)


def _quiet(panel: Axes, lowest: float) -> None:
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.spines["left"].set_visible(False)
    panel.set_ylim(lowest - 0.7, 0.7)
