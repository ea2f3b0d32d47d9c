"""Figures of single predictions: against the votes, and how far predicted shares can be taken."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text


def predicted_figure(predictions: pd.DataFrame, groups: pd.DataFrame) -> Figure | None:
    """Predicted stars across, the mean vote up: a panel for each question.

    ``predictions`` has question, stars, vote (a grey dot each); ``groups`` question, stars, vote,
    low, high (a blue dot for explanations with about the same prediction).
    """
    questions = list(dict.fromkeys(predictions["question"]))
    if not questions:
        return None
    with style():
        figure, panels = _panels(questions)
        for panel, question in zip(panels, questions, strict=False):
            own = predictions[predictions["question"] == question]
            panel.scatter(own["stars"], own["vote"], s=3, color="#999999", alpha=0.25,
                          linewidths=0)  # fmt: skip
            panel.plot([1, 5], [1, 5], color=INK, linewidth=0.8, zorder=1)
            here = groups[groups["question"] == question]
            panel.vlines(here["stars"], here["low"], here["high"], color=PALETTE[0], linewidth=1.2)
            panel.scatter(here["stars"], here["vote"], s=18, color=PALETTE[0], zorder=3)
            panel.set(title=question, xlim=(0.9, 5.1), ylim=(0.9, 5.1))
            panel.set_xticks(range(1, 6))
            panel.set_yticks(range(1, 6))
        figure.supxlabel("predicted stars", fontsize=9)
        figure.supylabel("mean vote", fontsize=9)
    return figure


def reliability_figure(bins: pd.DataFrame) -> Figure | None:
    """Predicted share of a star across, its share among the votes up: a panel for each question.

    ``bins`` has question, predicted, observed, low, high.
    """
    questions = list(dict.fromkeys(bins["question"]))
    if not questions:
        return None
    high = min(1.0, 1.1 * float(bins[["predicted", "high"]].max().max()))
    with style():
        figure, panels = _panels(questions)
        for panel, question in zip(panels, questions, strict=False):
            own = bins[bins["question"] == question]
            panel.plot([0, high], [0, high], color=INK, linewidth=0.8, zorder=1)
            panel.vlines(own["predicted"], own["low"], own["high"], color=PALETTE[0], linewidth=1.2)
            panel.plot(own["predicted"], own["observed"], color=PALETTE[0], marker="o",
                       markersize=4, linewidth=0.8)  # fmt: skip
            panel.set(title=question, xlim=(0, high), ylim=(0, high))
        figure.supxlabel("predicted share of a star among the votes", fontsize=9)
        figure.supylabel("its share", fontsize=9)
    return figure


def _panels(questions: list[str]) -> tuple[Figure, list[Axes]]:
    columns = min(3, len(questions))
    lines = -(-len(questions) // columns)
    figure = Figure(figsize=(WIDTH, 0.4 + 1.75 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for panel in panels.ravel():
        panel.grid(color=FAINT, linewidth=0.5)
        panel.set_axisbelow(True)
    for unused in panels.ravel()[len(questions) :]:
        unused.set_axis_off()
    return figure, list(np.ravel(panels))
