"""Figures on what the score is used for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pasta.explanations.techniques import METHOD_TITLES
from reports.source.plots.style import FAINT, INK, PALETTE, style

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
    on_own_front. What is on the front is named and joined by a line. A classifier with a single
    technique has no panel: it stands in the table only.
    """
    known = places.dropna(subset=["faithfulness", "score"])
    numbers = known["backbone"].value_counts()
    backbones = [name for name in dict.fromkeys(known["backbone"]) if numbers[name] > 1]
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
            METHOD_TITLES.get(name, name),
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


_JUDGED = {"score": "predicted stars", "faithfulness": "faithfulness", "quality": "true quality"}
_PARTS = ("search", "held-out")


def tuning_figure(candidates: pd.DataFrame, verdict: pd.DataFrame) -> Figure:
    """Left: every candidate's mean score with its 95 % interval; right: winner minus default.

    Both tables are of one technique.
    """
    measures = [name for name in _JUDGED if name in set(verdict["measure"])]
    with style():
        height = max(1.9, 0.8 + 0.2 * len(candidates))
        figure = Figure(figsize=(6.3, height), layout="constrained")
        left, *right = figure.subplots(
            1, 1 + len(measures), gridspec_kw={"width_ratios": [1.5, *([1.0] * len(measures))]}
        )
        _candidates(left, candidates)
        for panel, measure in zip(right, measures, strict=True):
            _differences(panel, verdict[verdict["measure"] == measure], measure)
        for panel in right[1:]:
            panel.set_yticklabels([])
        right[0].set_title("chosen minus default, 95 % CI", fontsize=8)
    return figure


def _candidates(panel: Axes, candidates: pd.DataFrame) -> None:
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
    panel.set_xlabel(_JUDGED[measure], fontsize=8)
    reach = float(np.nanmax(np.abs(rows[["low", "high", "estimate"]].to_numpy(float)), initial=0))
    ticks = [round(0.6 * reach, -int(np.floor(np.log10(0.6 * reach))))] if reach else []
    ticks = [-ticks[0], ticks[0]] if ticks else [0.0]  # where 0 is, there is a line
    panel.set_xlim(-1.1 * (reach or 1), 1.1 * (reach or 1))
    panel.set_xticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    panel.tick_params(axis="x", labelsize=7)
