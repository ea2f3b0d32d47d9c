"""Figures on the score, its ablations, and people beside it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.source.names import BEST, LEAVE_ONE_OUT, scorer_name
from reports.source.plots.preference import panels_figure
from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text
_MEASURES = {
    "qwk": "agreement with the label (quadratic kappa)",
    "mse": "mean squared error (stars²)",
}


def score_figure(summary: pd.DataFrame, titles: Mapping[str, str], note: str = "") -> Figure:
    """Every scorer on every question, mean and standard deviation over seeds; people in black.

    ``summary`` has the columns level, question, measure, mean, sd; ``titles`` names the levels
    from top to bottom, people last.
    """
    questions = sorted(summary["question"].unique())
    places = {level: len(titles) - 1 - place for place, level in enumerate(titles)}
    with style():
        figure = Figure(figsize=(9, 1.4 + 0.42 * len(titles)), layout="constrained")
        rows = np.atleast_1d(np.asarray(figure.subfigures(len(_MEASURES), 1)))
        for number, (part, (measure, words)) in enumerate(
            zip(rows, _MEASURES.items(), strict=True)
        ):
            panels = np.atleast_1d(part.subplots(1, len(questions), sharey=True, sharex=True))
            own = summary[(summary["measure"] == measure) & summary["level"].isin(places)]
            for panel, question in zip(panels, questions, strict=True):
                _panel(panel, own[own["question"] == question], places)
                panel.set_title(question if number == 0 else "")
            panels[0].set_yticks(list(places.values()), list(titles.values()))
            last = number == len(_MEASURES) - 1 and bool(note)
            part.supxlabel(f"{words}. {note}" if last else words, fontsize=9)
    return figure


def _panel(panel: Axes, own: pd.DataFrame, places: Mapping[str, int]) -> None:
    height = own["level"].map(places)
    colours = [INK if level.startswith("people") else PALETTE[0] for level in own["level"]]
    panel.axvline(0, color=FAINT, zorder=0, linewidth=1)
    panel.hlines(height, own["mean"] - own["sd"], own["mean"] + own["sd"], color=colours)
    panel.scatter(own["mean"], height, s=18, color=colours, zorder=3)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_ylim(-0.6, len(places) - 0.4)


def ablation_figure(rows: pd.DataFrame, titles: Mapping[str, str]) -> Figure | None:
    """Agreement with the label for each level of each study, the paper's beside ours.

    ``rows`` has study, level, ours, ours_sd, paper_value, paper_sd (missing where the paper has
    no such level); ``titles`` names the studies in the order of the panels.
    """
    own = rows[rows["ours"].notna() | rows["paper_value"].notna()]
    studies = [study for study in titles if (own["study"] == study).any()]
    if not studies:
        return None
    parts = [own[own["study"] == study] for study in studies]
    columns = 2
    pairs = [parts[start : start + columns] for start in range(0, len(parts), columns)]
    heights = [max(len(part) for part in pair) for pair in pairs]
    with style():
        figure = Figure(
            figsize=(WIDTH, 0.5 + sum(0.36 + 0.165 * rows for rows in heights)),
            layout="constrained",
        )
        panels = np.asarray(
            figure.subplots(len(pairs), columns, sharex=True, height_ratios=heights, squeeze=False)
        ).ravel()
        for panel, study, part in zip(panels, studies, parts, strict=False):
            _levels(panel, part)
            panel.set_title(titles[study], fontsize=9)
        for panel in panels[len(parts) :]:
            panel.set_visible(False)
        figure.supxlabel(
            "quadratic kappa with the label, mean and standard deviation over runs; "
            "filled: ours, open: the paper", fontsize=8,
        )  # fmt: skip
    return figure


def differences_figure(differences: pd.DataFrame, titles: Mapping[str, str]) -> Figure | None:
    """How much better one scorer is than the others: a panel for each question.

    ``differences`` has question, measure, than, estimate, low, high, p_holm; ``titles`` names the
    rivals from top to bottom. What is not significant (p_holm of 0.05 or more) is grey.
    """
    own = differences[(differences["measure"] == "qwk") & differences["than"].isin(list(titles))]
    if own.empty:
        return None
    questions = sorted(own["question"].unique())
    rivals = [name for name in titles if (own["than"] == name).any()]
    places = {name: len(rivals) - 1 - number for number, name in enumerate(rivals)}
    limit = 1.2 * float(own[["low", "high"]].abs().max().max())
    tick = float(f"{0.6 * limit:.1g}")
    with style():
        figure = Figure(figsize=(WIDTH, 0.75 + 0.25 * len(rivals)), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(questions), sharey=True, sharex=True))
        for panel, question in zip(panels, questions, strict=True):
            here = own[own["question"] == question]
            height = here["than"].map(places)
            side = np.where(here["estimate"] > 0, PALETTE[0], PALETTE[1])
            colours = np.where(here["p_holm"] < 0.05, side, "#8A8A8A")
            panel.axvline(0, color=INK, zorder=0, linewidth=0.8)
            panel.hlines(height, here["low"], here["high"], color=colours, linewidth=1.3)
            panel.scatter(here["estimate"], height, s=14, color=colours, zorder=3)
            panel.set_title(question)
            _quiet(panel)
            panel.set_xlim(-limit, limit)
            panel.set_xticks([-tick, 0, tick], [f"−{tick:g}", "0", f"{tick:g}"], fontsize=7)
        panels[0].set_yticks(list(places.values()), [titles[name] for name in rivals], fontsize=8)
        panels[0].set_ylim(-0.6, len(rivals) - 0.4)
    return figure


def _levels(panel: Axes, part: pd.DataFrame) -> None:
    height = np.arange(len(part))[::-1]
    for shift, name, filled in ((0.15, "ours", True), (-0.15, "paper_value", False)):
        spread = part["ours_sd" if name == "ours" else "paper_sd"].fillna(0)
        colour = PALETTE[0] if name == "ours" else INK
        panel.hlines(height + shift, part[name] - spread, part[name] + spread, color=colour,
                     linewidth=1.2)  # fmt: skip
        panel.scatter(part[name], height + shift, s=16, zorder=3, edgecolors=colour,
                      facecolors=colour if filled else "white", linewidths=1)  # fmt: skip
    panel.set_yticks(height, part["level"].tolist(), fontsize=8)
    panel.set_ylim(-0.6, len(part) - 0.4)
    panel.axvline(0, color=FAINT, zorder=0, linewidth=1)
    _quiet(panel)


def _quiet(panel: Axes) -> None:
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_axisbelow(True)


SHOWN = (BEST, "pasta-mlp", "pasta-linear", LEAVE_ONE_OUT)


def people_and_score_figure(summary: pd.DataFrame) -> Figure | None:
    """Quadratic kappa of the main scorers and of people, a panel for each question.

    ``summary`` has the columns study, level, question, measure, mean, sd.
    """
    if summary.empty:
        return None
    own = summary[(summary["study"] == "main") & (summary["measure"] == "qwk")]
    own = own[own["level"].isin(SHOWN)].dropna(subset=["mean"])
    if own.empty:
        return None
    rows = pd.DataFrame(
        {
            "question": own["question"],
            "group": own["level"],
            "estimate": own["mean"],
            "low": own["mean"] - own["sd"],
            "high": own["mean"] + own["sd"],
        }
    ).sort_values("question", kind="stable")
    levels = [level for level in SHOWN if (own["level"] == level).any()]
    colours = dict(zip(levels, PALETTE, strict=False))
    colours |= {level: INK for level in levels if level.startswith("people")}
    names = {level: scorer_name(level) for level in levels}
    lowest = min(-0.1, float(rows["low"].min()) - 0.03)
    words = "quadratic kappa with the label, and one standard deviation to each side"
    return panels_figure(rows, names, colours, (0, 0.25, 0.5, 0.75, 1), words, lowest=lowest)
