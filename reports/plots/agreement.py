"""Figures on agreement: measures by question, annotators against the mode, pairs, kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reports.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches between the margins of a page
MOST_ROWS = 40
MOST_PANELS = 7
MEASURES: Mapping[str, str] = {
    "mode_kappa_as_published": "mode,\nas published",
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
            _rows(panel, places)
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
            _rows(panel, places)
        _span(panels[0], known)
        panels[0].set_yticks(list(places.values()), labels(names), fontsize=7.5)
        figure.supxlabel("quadratic kappa with the mode", fontsize=9, color=INK)
    return figure


def least_agreeing(with_mode: pd.DataFrame, most: int = MOST_ROWS) -> list[str]:
    """Annotators by their agreement with the mode of the others, best first; the last ``most``."""
    known = with_mode[with_mode["estimate"].notna() & (with_mode["annotator_id"] != MEAN)]
    honest = known[known["label"] == "leave_one_out"]
    if honest.empty:
        return []
    question = OVERALL if (honest["question"] == OVERALL).any() else honest["question"].iloc[0]
    order = honest[honest["question"] == question].sort_values("estimate", ascending=False)
    return [str(name) for name in order["annotator_id"]][-most:]


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
    """Mean kappa with the mode of the others, per question, for each kind of explanation."""
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
        _rows(panel, places)
        _span(panel, here)
        panel.set_ylim(min(places.values()) - 0.6, 0.6)
        panel.set_yticks(list(places.values()), labels(places))
        panel.set_xlabel("mean quadratic kappa with the mode of the others")
    return figure


def _dots(
    panel: Axes,
    own: pd.DataFrame,
    heights: pd.Series,
    colour: str,
    filled: bool = True,
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


def _rows(panel: Axes, places: Mapping[str, int]) -> None:
    """Faint lines to follow from a name to its dots."""
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_axisbelow(True)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.spines["left"].set_visible(False)
    panel.set_ylim(min(places.values()) - 0.7, 0.7)


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
