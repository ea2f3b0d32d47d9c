"""Figure about the rankings of qualities and questions (Q7 to Q9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.plots.preference import WIDTH
from reports.plots.style import FAINT, PALETTE, style


def positions_figure(
    positions: pd.DataFrame, ends: Mapping[str, tuple[str, str]] | None = None
) -> Figure | None:
    """Mean position of each item with its interval, a panel for each question.

    ``positions`` has the columns question, item, estimate, low, high; ``ends`` gives the words for
    the first and the last position of a question.
    """
    known = positions.dropna(subset=["estimate"]) if len(positions) else positions
    if known.empty:
        return None
    questions = list(dict.fromkeys(known["question"]))
    rows = int(known.groupby("question").size().max())
    with style():
        figure = Figure(figsize=(WIDTH, 1.0 + 0.22 * rows), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(questions)))
        for panel, question in zip(panels, questions, strict=True):
            own = known[known["question"] == question]
            height = rows - 1 - np.arange(len(own))
            last = float(np.nanmax([own["high"].max(), len(own)]))
            panel.hlines(height, own["low"], own["high"], color=PALETTE[0], linewidth=1.4)
            panel.scatter(own["estimate"], height, s=22, color=PALETTE[0], zorder=3)
            panel.set_yticks(height, list(own["item"]))
            panel.set_title(question)
            panel.set_xlim(0.8, last + 0.2)
            panel.set_xticks(range(1, int(last) + 1))
            panel.set_ylim(-0.6, rows - 0.4)
            panel.tick_params(axis="y", length=0, labelsize=8)
            panel.spines["left"].set_visible(False)
            panel.grid(axis="y", color=FAINT, linewidth=0.5)
            panel.set_axisbelow(True)
            if ends and question in ends:
                first, final = ends[question]
                words = f"1: {first.lower()}\n{len(own)}: {final.lower()}"
                panel.set_xlabel(words, fontsize=8)
            else:
                panel.set_xlabel("mean position", fontsize=8)
    return figure
