"""Explanations on towers of growing size, as pictures (P2, Figure 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.names import METHODS
from reports.plots.style import FAINT, INK, PALETTE, style

_FAMILIES = ("activation", "perturbation")
_MEASURES = {"score": "predicted stars", "quality": "true quality (simulated)"}
_ALL = "all methods"


def backbone_figure(summary: pd.DataFrame, towers: pd.DataFrame) -> Figure:
    """Mean score of each method against the size of the tower, families in colour.

    ``summary`` and ``towers`` are those of :class:`pasta.applications.backbones.Backbones`. Thick
    lines with 95 % intervals are families, thin ones their methods; the last panel shows how many
    positions of the last feature map have an outlying norm, and how many of those are background.
    """
    measures = [name for name in _MEASURES if name in set(summary["measure"])]
    with style():
        figure = Figure(figsize=(6.3, 2.7), layout="constrained")
        panels = np.atleast_1d(np.asarray(figure.subplots(1, len(measures) + 1)))
        places = {name: place for place, name in enumerate(towers["tower"])}
        for panel, measure in zip(panels, measures, strict=False):
            _curves(panel, summary[summary["measure"] == measure], places)
            panel.set_title(_MEASURES[measure], fontsize=8)
        _norms(panels[-1], towers)
        words = [
            f"{name}\n{_short(size)}"
            for name, size in zip(towers["tower"], towers["parameters"], strict=True)
        ]
        for panel in panels:
            panel.set_xticks(list(places.values()), words, fontsize=7)
            panel.set_xlim(-0.35, len(places) - 0.5)
        handles, labels = panels[0].get_legend_handles_labels()
        title = "image towers of growing size with the number of their parameters"
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=2,
            fontsize=8,
            title=title,
            title_fontsize=8,
        )
    return figure


def _curves(panel: Axes, own: pd.DataFrame, places: Mapping[str, int]) -> None:
    ends: list[tuple[float, str, str]] = []
    for number, family in enumerate(_FAMILIES):
        mine, colour = own[own["family"] == family], PALETTE[number]
        for name, rows in mine.groupby("group", sort=False):
            if name == _ALL:
                continue
            across = rows["tower"].map(places)
            panel.plot(across, rows["mean"], color=colour, linewidth=0.8, alpha=0.45)
            ends.append((float(rows["mean"].iloc[-1]), str(name), colour))
        whole = mine[mine["group"] == _ALL]
        if whole.empty:
            continue
        across = whole["tower"].map(places)
        panel.fill_between(across, whole["low"], whole["high"], color=colour, alpha=0.15)
        panel.plot(across, whole["mean"], "o-", color=colour, label=f"{family}-based, 95 % CI")
    low, high = panel.get_ylim()
    ends.sort()
    heights = spread([value for value, *_ in ends], 0.075 * (high - low), high)
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        panel.annotate(
            METHODS.get(name, name),
            (len(places) - 1, height),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            color=colour,
            annotation_clip=False,
        )


def spread(heights: Sequence[float], gap: float, highest: float) -> list[float]:
    """Increasing heights moved up, and down from ``highest``, until all are a gap apart."""
    found: list[float] = []
    for height in heights:
        found.append(max(height, found[-1] + gap) if found else height)
    for place in reversed(range(len(found))):
        found[place] = min(found[place], highest)
        highest = found[place] - gap
    return found


def _norms(panel: Axes, towers: pd.DataFrame) -> None:
    places = np.arange(len(towers))
    share = 100 * towers["outliers"]
    hidden = share * towers["in_background"].fillna(0)
    panel.bar(places, share, width=0.5, color=FAINT)
    panel.bar(places, hidden, width=0.5, color=PALETTE[3])
    panel.set_title("outlying norms, %", fontsize=8)
    panel.annotate("grey: all\npink: background", (0.02, 0.98), xycoords="axes fraction",
                   va="top", fontsize=7, color=INK)  # fmt: skip


def _short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:g}"
