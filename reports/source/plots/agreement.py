"""Figures on agreement and bias."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches between the margins of a page
MOST_ROWS = 40
MOST_PANELS = 7
MEASURES: Mapping[str, str] = {
    "mode_kappa_as_published": "mode with\nown vote",
    "mode_kappa_leave_one_out": "mode of\nthe others",
    "pairwise_kappa": "pairs of\nannotators",
    "krippendorff_ordinal": "Krippendorff's\nalpha",
    "icc1": "ICC(1)",
    "fleiss": "Fleiss'\nkappa",
}
OVERALL = "all"
MEAN = "mean"


def measures_figure(agreement: pd.DataFrame) -> Figure | None:
    """Every measure of agreement (panels) on every question (rows), with 95 % intervals."""
    here = agreement[agreement["measure"].isin(MEASURES) & agreement["estimate"].notna()]
    names = [name for name in MEASURES if (here["measure"] == name).any()]
    questions = [name for name in here["question"].unique() if name != OVERALL]
    questions += [OVERALL] if (here["question"] == OVERALL).any() else []
    if not names:
        return None
    places = {name: -place for place, name in enumerate(questions)}
    with style():
        figure = Figure(figsize=(WIDTH, 1.05 + 0.2 * len(questions)), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(names), sharex=True, sharey=True))
        for panel, name in zip(panels, names, strict=True):
            own = here[here["measure"] == name]
            _dots(panel, own, own["question"].map(places), PALETTE[0])
            panel.set_title(MEASURES[name], fontsize=8, fontweight="normal", color=INK)
            _quiet(panel, min(places.values()))
        _span(panels[0], here)
        panels[0].set_yticks(list(places.values()), labels(places))
    return figure


def mode_figure(with_mode: pd.DataFrame) -> Figure | None:
    """Each annotator (rows) against the mode, per question (panels).

    Filled dots: the mode of the others' votes; open dots: the mode that contains the own vote. Of
    many annotators those who agree least are shown.
    """
    known = with_mode[with_mode["estimate"].notna() & (with_mode["annotator_id"] != MEAN)]
    honest = known[known["label"] == "leave_one_out"]
    if honest.empty:
        return None
    questions = _panels(honest["question"])
    names = least_agreeing(with_mode)
    places = {name: -place for place, name in enumerate(names)}
    with style():
        figure = Figure(figsize=(WIDTH, 0.75 + 0.165 * len(names)), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(questions), sharex=True, sharey=True))
        for panel, question in zip(panels, questions, strict=True):
            here = known[(known["question"] == question) & known["annotator_id"].isin(names)]
            for label, colour, filled in (
                ("as_published", PALETTE[1], False),
                ("leave_one_out", PALETTE[0], True),
            ):
                own = here[here["label"] == label]
                _dots(panel, own, own["annotator_id"].map(places), colour, filled)
            panel.set_title(labels([question], 10)[0] if question != OVERALL else "all", fontsize=9)
            _quiet(panel, min(places.values()))
        _span(panels[0], known)
        panels[0].set_yticks(list(places.values()), labels(names), fontsize=7.5)
        figure.supxlabel("quadratic kappa with the mode", fontsize=9, color=INK)
    return figure


def least_agreeing(with_mode: pd.DataFrame) -> list[str]:
    """Annotators by their agreement with the mode of the others, best first; the last 40."""
    known = with_mode[with_mode["estimate"].notna() & (with_mode["annotator_id"] != MEAN)]
    honest = known[known["label"] == "leave_one_out"]
    if honest.empty:
        return []
    question = OVERALL if (honest["question"] == OVERALL).any() else honest["question"].iloc[0]
    order = honest[honest["question"] == question].sort_values("estimate", ascending=False)
    return [str(name) for name in order["annotator_id"]][-MOST_ROWS:]


def pairs_figure(pairs: pd.DataFrame) -> Figure | None:
    """The kappa of every two annotators on all questions together, as a triangle."""
    known = pairs[pairs["first"] != MEAN]
    question = OVERALL if (known["question"] == OVERALL).any() else None
    known = known[known["question"] == question] if question else known
    known = known[known["estimate"].notna()]
    if known.empty:
        return None
    both = pd.concat([known, known.rename(columns={"first": "second", "second": "first"})])
    means = both.groupby("first")["estimate"].mean()
    names = [str(name) for name in means.sort_values(ascending=False, kind="stable").index]
    place = {name: number for number, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for first, second, value in zip(both["first"], both["second"], both["estimate"], strict=True):
        if place[str(first)] > place[str(second)]:
            matrix[place[str(first)], place[str(second)]] = value
    matrix = matrix[1:, :-1]
    side = min(WIDTH, 1.6 + 0.3 * len(names))
    with style():
        figure = Figure(figsize=(side, side - 0.9), layout="constrained")
        panel = figure.subplots()
        least = min(0.0, float(np.nanmin(matrix)))
        panel.imshow(matrix, cmap="Blues", vmin=least, vmax=1, aspect="auto")
        if len(names) <= 20:
            for row, column in zip(*np.nonzero(np.isfinite(matrix)), strict=True):
                dark = matrix[row, column] > 0.6
                panel.text(
                    column,
                    row,
                    short(matrix[row, column]),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else INK,
                )
        size = 7.5 if len(names) <= 20 else 5.5
        panel.set_yticks(range(len(names) - 1), labels(names[1:]), fontsize=size)
        panel.set_xticks(range(len(names) - 1), labels(names[:-1]), fontsize=size, rotation=90)
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
    return figure


def kinds_figure(kinds: pd.DataFrame) -> Figure | None:
    """Mean kappa with the mode of the others, per question, for each kind of sample."""
    here = kinds[(kinds["measure"] == "mode_kappa_leave_one_out") & kinds["estimate"].notna()]
    here = here[here["question"] != OVERALL]  # pooled, it would mix in how questions differ
    names = sorted(here["kind"].unique())
    if not names:
        return None
    questions = list(dict.fromkeys(here["question"]))
    places = {name: -place for place, name in enumerate(questions)}
    shifts = np.linspace(0.19, -0.19, len(names)) if len(names) > 1 else np.zeros(1)
    with style():
        figure = Figure(figsize=(WIDTH * 0.75, 0.8 + 0.34 * len(questions)), layout="constrained")
        panel = figure.subplots()
        for number, (name, shift) in enumerate(zip(names, shifts, strict=True)):
            own = here[here["kind"] == name]
            colour = PALETTE[number % len(PALETTE)]
            _dots(panel, own, own["question"].map(places) + shift, colour)
            top = own.sort_values("question", key=lambda one: -one.map(places)).iloc[0]
            end = top["estimate"] if pd.isna(top["high"]) else top["high"]
            panel.annotate(
                labels([name])[0],
                (float(end), places[top["question"]] + shift),
                (5, -3),
                textcoords="offset points",
                color=colour,
                fontsize=8.5,
            )
        _quiet(panel, min(places.values()))
        _span(panel, here)
        panel.set_ylim(min(places.values()) - 0.6, 0.6)
        panel.set_yticks(list(places.values()), labels(places))
        panel.set_xlabel("mean quadratic kappa with the mode of the others")
    return figure


def _dots(
    panel: Axes, own: pd.DataFrame, heights: pd.Series, colour: str, filled: bool = True
) -> None:
    known = own["low"].notna() & own["high"].notna()
    panel.hlines(heights[known], own["low"][known], own["high"][known], color=colour, linewidth=1)
    panel.scatter(
        own["estimate"],
        heights,
        s=13,
        zorder=3,
        edgecolors=colour,
        facecolors=colour if filled else "white",
        linewidths=0.9,
    )


def _span(panel: Axes, frame: pd.DataFrame) -> None:
    """Let the axis reach over all intervals, from one round number to another."""
    values = frame[["estimate", "low", "high"]].to_numpy(np.float64)
    low = np.floor(round(10 * float(np.nanmin(values)), 6)) / 10
    high = np.ceil(round(10 * float(np.nanmax(values)), 6)) / 10
    panel.set_xlim(low - 0.02, max(high, low + 0.1) + 0.02)
    panel.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    panel.xaxis.set_major_formatter(lambda value, _: short(value, 1))


def short(value: float, places: int = 2) -> str:
    """A number between -1 and 1 in little room: ".52", "−.03", "1"."""
    text = f"{abs(value):.{places}f}"
    if not text.strip("0."):
        return "0" if places == 1 else text.removeprefix("0")
    sign = "−" if value < 0 else ""
    return sign + (text.removeprefix("0") if text.startswith("0.") else f"{abs(value):g}")


def _panels(questions: pd.Series) -> list[str]:
    """All questions and their total, or only the total if they are too many for one row."""
    names: Sequence[str] = list(dict.fromkeys(questions))
    if len(names) <= MOST_PANELS:
        return list(names)
    return [OVERALL] if OVERALL in names else list(names)[:MOST_PANELS]


def labels(names: Iterable[object], most: int = 24) -> list[str]:
    """Names as they fit beside a figure; a dollar sign is no formula."""
    whole = ["all questions" if name == OVERALL else str(name) for name in names]
    short_ones = [name if len(name) <= most else f"{name[: most - 1]}…" for name in whole]
    return [name.replace("$", r"\$") for name in short_ones]


FACTORS: Mapping[str, str] = {"sex": "sex", "age_group": "age", "country": "country"}
GROUP_MEASURES: Mapping[str, str] = {
    "agreement": "kappa with the mode of the others",
    "level": "rating level (points)",
}
PROFILE_MEASURES: Mapping[str, str] = {
    "severity": "points above\nthe others",
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
SIGNIFICANT = 0.05


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
            fontweight="bold" if p < SIGNIFICANT else "normal",
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
    """Faint lines to follow from a name to its dots."""
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.spines["left"].set_visible(False)
    panel.set_ylim(lowest - 0.7, 0.7)
