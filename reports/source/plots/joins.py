"""Figures of the joins: places of methods under each measure, and measures against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text
_ROW = 0.2
_MANY = 15  # columns whose titles would run into each other


def places_figure(
    places: pd.DataFrame, measures: Sequence[str], titles: Mapping[str, str]
) -> Figure | None:
    """Places of methods (rows) under measures (columns), 1 the best; blank where not measured.

    ``places`` is a table of :func:`analysis.joins.group_places`; the place is coloured by its
    share of the methods that have the measure.
    """
    if places.empty or not measures:
        return None
    own = places[places["measure"].isin(measures)]
    columns = [one for one in measures if (own["measure"] == one).any()]
    wide = own.pivot_table(index="group", columns="measure", values="place")[columns]
    sizes = own.groupby("measure")["n"].first()[columns].to_numpy(np.float64)
    share = (wide.to_numpy(np.float64) - 1) / np.maximum(sizes - 1, 1)
    order = np.argsort(np.nanmean(share, axis=1), kind="stable")
    wide, share = wide.iloc[order], share[order]
    with style():
        height = 1.35 + _ROW * len(wide)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        panel = figure.subplots()
        panel.imshow(np.ma.masked_invalid(share), cmap="Blues_r", vmin=0, vmax=1.15, aspect="auto")
        for (row, column), value in np.ndenumerate(wide.to_numpy(np.float64)):
            if np.isfinite(value):
                dark = share[row, column] < 0.45
                panel.text(column, row, f"{value:g}", ha="center", va="center", fontsize=7.5,
                           color="white" if dark else INK)  # fmt: skip
        panel.set_yticks(range(len(wide)), [titles.get(str(one), str(one)) for one in wide.index],
                         fontsize=8)  # fmt: skip
        turn: dict[str, Any] = (
            {"rotation": 90} if len(columns) > _MANY else {"rotation": 35, "ha": "right"}
        )
        panel.set_xticks(range(len(columns)), [titles.get(one, one) for one in columns],
                         fontsize=8, **turn)  # fmt: skip
        panel.tick_params(length=0)
        for line in panel.spines.values():
            line.set_visible(False)
    return figure


def against_people_figure(
    decisions: pd.DataFrame, titles: Mapping[str, str], question: str
) -> Figure | None:
    """Each measure against the main question: within images, and given the technique."""
    own = decisions[decisions["within_estimate"].notna()]
    own = own.sort_values("within_estimate", kind="stable")
    if own.empty:
        return None
    marks = {
        "within": (0.15, PALETTE[0], "o", "within images"),
        "given": (-0.15, PALETTE[1], "D", "given the technique"),
    }
    heights = np.arange(len(own))
    with style():
        size = (WIDTH, 0.85 + 0.21 * len(own))
        figure = Figure(figsize=size, layout="constrained")
        panel = figure.subplots()
        panel.axvline(0, color=FAINT, zorder=0, linewidth=1)
        for scope, (shift, colour, marker, words) in marks.items():
            low, high = (own[f"{scope}_{end}"].to_numpy(np.float64) for end in ("low", "high"))
            panel.hlines(heights + shift, low, high, color=colour, linewidth=1.2)
            panel.scatter(own[f"{scope}_estimate"], heights + shift, s=14, color=colour,
                          marker=marker, zorder=3, label=words)  # fmt: skip
        names = [titles.get(str(one), str(one)) for one in own["measure"]]
        panel.set_yticks(heights, names, fontsize=8)
        panel.set_ylim(-0.7, len(own) - 0.3)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.set_xlabel(f"Spearman's correlation with {question} and 95 % interval", fontsize=9)
        panel.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8, borderpad=0)
    return figure
