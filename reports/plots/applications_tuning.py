"""Tuned settings as pictures: the search, the guard, and maps before and after (P1, Table 23)."""

from __future__ import annotations

import re

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.plots.style import FAINT, INK, PALETTE, style

_MEASURES = {
    "score": "predicted stars",
    "faithfulness": "faithfulness",
    "quality": "true quality",
}
_PARTS = ("search", "held-out")


def tuning_figure(
    candidates: pd.DataFrame, verdict: pd.DataFrame, published: pd.Series[float] | None = None
) -> Figure:
    """Left: every candidate's mean score with its 95 % interval; right: winner minus default.

    Both tables are of one technique. ``published`` has the paper's scores by candidate, drawn in
    grey on the same axis.
    """
    measures = [name for name in _MEASURES if name in set(verdict["measure"])]
    with style():
        height = max(1.9, 0.8 + 0.2 * len(candidates))
        figure = Figure(figsize=(6.3, height), layout="constrained")
        left, *right = figure.subplots(
            1, 1 + len(measures), gridspec_kw={"width_ratios": [1.5, *([1.0] * len(measures))]}
        )
        _candidates(left, candidates, published)
        for panel, measure in zip(right, measures, strict=True):
            _differences(panel, verdict[verdict["measure"] == measure], measure)
        for panel in right[1:]:
            panel.set_yticklabels([])
        right[0].set_title("chosen minus default, 95 % CI", fontsize=8)
    return figure


def _candidates(panel: Axes, candidates: pd.DataFrame, published: pd.Series[float] | None) -> None:
    order = candidates["candidate"].map(_numbers)  # as numbers: 9 comes before 10
    own = candidates.loc[order.sort_values(ascending=False).index].reset_index(drop=True)
    places = range(len(own))
    colours = [PALETTE[1] if won else PALETTE[0] for won in own["winner"]]
    panel.hlines(places, own["low"], own["high"], color=colours, linewidth=1)
    panel.scatter(own["score"], places, s=22, color=colours, zorder=3)
    words = [
        f"{str(name).replace('layer network.', '').replace('_', ' ')}{' (default)' * bool(usual)}"
        for name, usual in zip(own["candidate"], own["default"], strict=True)
    ]
    panel.set_yticks(list(places), words, fontsize=8)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="y", color=FAINT, linewidth=0.5)
    panel.set_xlabel("predicted stars, 95 % CI", fontsize=8)
    if published is not None:
        theirs = own["candidate"].map(published)
        panel.scatter(theirs, places, s=18, marker="D", color="#999999", label="paper")
        panel.legend(fontsize=7, loc="best")


def _numbers(candidate: str) -> tuple[tuple[float, str], ...]:
    """A key that sorts settings by words, and numbers among them by size."""
    parts = re.split(r"([0-9.]*[0-9])", str(candidate))
    return tuple((float(part), "") if _is_number(part) else (0.0, part) for part in parts)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) is not None


def _differences(panel: Axes, own: pd.DataFrame, measure: str) -> None:
    rows = own.set_index("part").reindex(_PARTS)
    places = [1, 0]
    panel.axvline(0, color=INK, linewidth=0.8, zorder=0)
    panel.hlines(places, rows["low"], rows["high"], color=PALETTE[0])
    panel.scatter(rows["estimate"], places, s=22, color=PALETTE[0], zorder=3)
    words = ["chosen on" if part == "search" else part for part in _PARTS]
    panel.set_yticks(places, words, fontsize=8)
    panel.set_ylim(-0.6, 1.6)
    panel.tick_params(axis="y", length=0)
    panel.set_xlabel(_MEASURES[measure], fontsize=8)
    panel.locator_params(axis="x", nbins=2)
    panel.tick_params(axis="x", labelsize=7)
