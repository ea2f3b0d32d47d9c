"""What papers print against what we measure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text
_MARKS = {"agrees": (PALETTE[0], "o"), "differs": (PALETTE[1], "x")}


def replication_figure(rows: pd.DataFrame, titles: Mapping[tuple[str, str], str]) -> Figure | None:
    """One panel for each printed table: the paper's number across, ours with its interval up.

    ``rows`` has paper, table, paper_value, ours, low, high, verdict; ``titles`` names (paper,
    table) in the order of the panels.
    """
    own = rows[rows["verdict"].isin(list(_MARKS)) & rows["low"].notna()]
    there = {tuple(key) for key in own[["paper", "table"]].itertuples(index=False, name=None)}
    wanted = [key for key in titles if key in there]
    if not wanted:
        return None
    columns = 3
    lines = -(-len(wanted) // columns)
    with style():
        figure = Figure(figsize=(WIDTH, 1.8 * lines + 0.3), layout="constrained")
        panels = np.asarray(figure.subplots(lines, columns, squeeze=False)).ravel()
        for panel, key in zip(panels, wanted, strict=False):
            here = own[(own["paper"] == key[0]) & (own["table"] == key[1])]
            ends = [here["paper_value"].min(), here["paper_value"].max(), here["ours"].min(),
                    here["ours"].max()]  # fmt: skip
            line = np.array([min(ends), max(ends)])
            panel.plot(line, line, color=INK, linewidth=0.8, zorder=0)
            for verdict, (colour, marker) in _MARKS.items():
                part = here[here["verdict"] == verdict]
                panel.vlines(part["paper_value"], part["low"], part["high"], color=colour,
                             linewidth=0.7, alpha=0.5)  # fmt: skip
                panel.scatter(part["paper_value"], part["ours"], s=11, color=colour, marker=marker,
                              linewidths=0.9, zorder=3)  # fmt: skip
            panel.set_title(titles[key], fontsize=8)
            panel.tick_params(labelsize=7, color=FAINT)
            panel.margins(0.08)
        for panel in panels[len(wanted) :]:
            panel.set_visible(False)
        figure.supxlabel("the paper's number", fontsize=9)
        figure.supylabel("ours, with 95 % interval", fontsize=9)
    return figure
