"""Figures about what the score is used for: choosing, placing and steering explanations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.plots.style import FAINT, INK, PALETTE, style

_WORDS = {
    "score": "predicted stars",
    "faithfulness": "faithfulness correlation",
    "quality": "true quality (simulated)",
}


def wins_figure(wins: pd.DataFrame, titles: Mapping[str, str]) -> Figure | None:
    """How often each technique has the best score (P2, Figure 7), held-out images in dark.

    ``wins`` has the columns images, technique, n, wins, shared_wins; ``titles`` names techniques.
    """
    every, unseen = (wins[wins["images"] == name] for name in ("all", "held-out"))
    if every.empty or not every["n"].iloc[0]:
        return None
    order = every.sort_values(["wins", "technique"], ascending=[True, False])
    held = unseen.set_index("technique")["wins"].reindex(order["technique"]).fillna(0)
    height = np.arange(len(order))
    with style():
        figure = Figure(figsize=(6.3, 0.7 + 0.2 * len(order)), layout="constrained")
        panel = figure.subplots()
        panel.barh(height, order["wins"], height=0.66, color=PALETTE[4])
        panel.barh(height, held, height=0.66, color=PALETTE[0])
        for place, value, shared in zip(height, order["wins"], order["shared_wins"], strict=True):
            note = f" ({shared} shared)" if shared else ""
            panel.annotate(
                f"{value:g}{note}", (value, place), (3, 0),
                textcoords="offset points", va="center", fontsize=8, color=INK,
            )  # fmt: skip
        panel.set_yticks(height, [titles.get(one, one) for one in order["technique"]])
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        number, new = int(every["n"].iloc[0]), int(unseen["n"].iloc[0]) if len(unseen) else 0
        panel.set_xlabel(f"wins among {number} images; dark: the {new} that are new to the scorer")
    return figure


def comparison_figure(comparison: pd.DataFrame, titles: Mapping[str, str]) -> Figure | None:
    """The mixture minus every other choice on images new to the scorer, a panel for each measure.

    ``comparison`` has the columns images, measure, against, second, estimate, low, high; of its
    sets of images the cross-fitted one is shown, which is larger, else the held-out one.
    """
    names = [name for name in ("cross-fitted", "held-out") if name in set(comparison["images"])]
    if not names:
        return None
    own = comparison[(comparison["images"] == names[0]) & (comparison["n"] > 0)]
    measures = [name for name in _WORDS if name in set(own["measure"])]
    if not measures:
        return None
    score = own[own["measure"] == measures[0]].sort_values("second")
    extra = [name for name in own["against"].unique() if name not in set(score["against"])]
    order = [*extra, *score["against"]]
    places = {name: place for place, name in enumerate(order)}
    with style():
        figure = Figure(figsize=(6.3, 0.9 + 0.2 * len(order)), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(measures), sharey=True))
        for panel, measure in zip(panels, measures, strict=True):
            rows = own[own["measure"] == measure]
            height = rows["against"].map(places)
            panel.axvline(0, color=FAINT, zorder=0)
            panel.hlines(height, rows["low"], rows["high"], color=PALETTE[0], linewidth=1.2)
            panel.scatter(rows["estimate"], height, s=14, color=PALETTE[0], zorder=3)
            panel.set_xlabel(_WORDS[measure], fontsize=8)
            panel.tick_params(axis="y", length=0)
            panel.spines["left"].set_visible(False)
        panels[0].set_yticks(range(len(order)), [titles.get(name, name) for name in order])
    return figure


def pareto_figure(places: pd.DataFrame, titles: Mapping[str, str]) -> Figure | None:
    """Techniques by faithfulness and predicted score (P2, Figure 1), one panel per classifier.

    ``places`` has the columns technique, backbone, faithfulness, score, their intervals and
    on_own_front. What is on the front is named and joined by a line.
    """
    known = places.dropna(subset=["faithfulness", "score"])
    backbones = list(dict.fromkeys(known["backbone"]))
    if not backbones:
        return None
    across = len(backbones) if len(backbones) <= 3 else 2  # no empty panel among three
    down = -(-len(backbones) // across)
    with style():
        figure = Figure(figsize=(6.3 if across > 1 else 3.15, 2.6 * down), layout="constrained")
        panels = np.atleast_1d(figure.subplots(down, across, sharex=True, sharey=True)).ravel()
        for panel, backbone in zip(panels, backbones, strict=False):
            _placed(panel, known[known["backbone"] == backbone], titles)
            panel.set_title(titles.get(backbone, backbone))
        for panel in panels[len(backbones) :]:
            panel.set_visible(False)
        figure.supxlabel("faithfulness correlation", fontsize=9)
        figure.supylabel("predicted stars", fontsize=9)
    return figure


def _placed(panel: Axes, own: pd.DataFrame, titles: Mapping[str, str]) -> None:
    front = own["on_own_front"]
    colours = np.where(front, PALETTE[1], PALETTE[4])
    panel.hlines(own["score"], own["faithfulness_low"], own["faithfulness_high"], color=FAINT)
    panel.vlines(own["faithfulness"], own["score_low"], own["score_high"], color=FAINT)
    panel.scatter(own["faithfulness"], own["score"], s=16, color=colours, zorder=3)
    best = own[front].sort_values("faithfulness")
    panel.plot(best["faithfulness"], best["score"], color=PALETTE[1], linewidth=0.8)
    named: list[tuple[float, float]] = []
    width = float(np.ptp(own["faithfulness"])) or 1.0
    tall = float(np.ptp(own["score"])) or 1.0
    for row in best.itertuples():
        x, y = float(str(row.faithfulness)), float(str(row.score))
        near = any(abs(x - a) < 0.3 * width and abs(y - b) < 0.07 * tall for a, b in named)
        if not near:  # equal techniques lie on each other: the table names them all
            panel.annotate(
                titles.get(str(row.technique), str(row.technique)), (x, y), (4, 3),
                textcoords="offset points", fontsize=7, color=INK,
            )  # fmt: skip
            named.append((x, y))


def steering_figure(curve: pd.DataFrame) -> Figure | None:
    """What lambda does to score, faithfulness and true quality, against plain RISE.

    ``curve`` has the columns weight, measure, estimate, low, high: differences to lambda = 0.
    """
    measures = [name for name in _WORDS if name in set(curve["measure"])]
    if not measures:
        return None
    with style():
        figure = Figure(figsize=(6.3, 2.2), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(measures)))
        for panel, measure, colour in zip(panels, measures, PALETTE, strict=False):
            own = curve[curve["measure"] == measure].sort_values("weight")
            panel.axhline(0, color=FAINT, zorder=0)
            panel.fill_between(
                own["weight"], own["low"], own["high"], color=colour, alpha=0.2, linewidth=0
            )
            panel.plot(own["weight"], own["estimate"], marker="o", markersize=3, color=colour)
            panel.set_title(_WORDS[measure].split(" (")[0], fontsize=8)
            panel.set_xlabel("lambda")
            panel.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        panels[0].set_ylabel("difference to RISE")
    return figure
