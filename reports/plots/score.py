"""The main table of the score as a picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.plots.style import FAINT, INK, PALETTE, style

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
