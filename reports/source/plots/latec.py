"""Figures of the benchmark: ranks with intervals, who ranks whom where, what metrics agree on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text
_ROW = 0.19  # inches for a row
_PANELS = 5  # beside each other
_LUMA = (0.2126, 0.7152, 0.0722)  # how bright red, green and blue are
Matrix = NDArray[np.float64]


def ranks_figure(
    averages: pd.DataFrame, criteria: Sequence[str], names: Mapping[str, str]
) -> Figure | None:
    """Average rank of each method with its interval, a panel for each criterion.

    ``averages`` has criterion, method, estimate, low, high, sd; ``names`` the methods in the order
    of the rows, the first on top.
    """
    if averages.empty:
        return None
    own = averages[averages["method"].isin(list(names)) & averages["estimate"].notna()]
    if own.empty:
        return None
    places = {name: len(names) - 1 - number for number, name in enumerate(names)}
    with style():
        figure = Figure(figsize=(WIDTH, 0.7 + _ROW * len(names)), layout="constrained")
        panels = figure.subplots(1, len(criteria), sharey=True, squeeze=False)[0]
        for number, (panel, criterion) in enumerate(zip(panels, criteria, strict=True)):
            here = own[own["criterion"] == criterion]
            height = here["method"].map(places).to_numpy(float)
            colour = PALETTE[number % len(PALETTE)]
            panel.hlines(height, here["low"], here["high"], color=colour, linewidth=1.3)
            panel.scatter(here["estimate"], height, s=14, color=colour, zorder=3)
            if len(here):
                panel.axvline(float(here["expected"].mean()), color=FAINT, zorder=0, linewidth=1)
            panel.set_title(criterion)
            panel.set_ylim(-0.7, len(names) - 0.3)
            panel.tick_params(axis="y", length=0)
            panel.spines["left"].set_visible(False)
            panel.set_xlabel("average rank", fontsize=8)
        panels[0].set_yticks(list(places.values()), list(names.values()), fontsize=8)
    return figure


def cells_figure(
    ranks: pd.DataFrame, names: Mapping[str, str], codes: Mapping[str, str]
) -> Figure | None:
    """Mean rank of each method (rows) by each metric (columns), over all cells."""
    if ranks.empty or not names:
        return None
    wide = ranks.pivot_table(index="method", columns="metric", values="rank", dropna=False)
    wide = wide.reindex(index=list(names), columns=[one for one in codes if one in wide])
    return heatmap(
        wide.to_numpy(np.float64),
        list(names.values()),
        [codes[str(one)] for one in wide.columns],
        colours="RdYlGn_r",
        label="mean rank",
    )


def distributions_figure(
    distributions: pd.DataFrame, names: Mapping[str, str], codes: Mapping[str, str]
) -> Figure | None:
    """Normalised values of all methods, the better the higher, a panel for each metric.

    ``distributions`` is what :func:`analysis.score_distributions.score_distributions` returns;
    ``names`` are the methods in the order in which they are drawn.
    """
    shown = [one for one in codes if one in set(distributions.get("metric", []))]
    if not shown:
        return None
    places = {name: number for number, name in enumerate(names)}
    colours = dict(zip(dict.fromkeys(distributions["criterion"]), PALETTE, strict=False))
    lines = -(-len(shown) // _PANELS)
    with style():
        figure = Figure(figsize=(WIDTH, 0.6 + 0.95 * lines), layout="constrained")
        panels = figure.subplots(lines, _PANELS, sharex=True, sharey=True, squeeze=False)
        for panel in panels.flat[len(shown) :]:
            panel.set_axis_off()
        for number, (panel, metric) in enumerate(zip(panels.flat, shown, strict=False)):
            own = distributions[
                (distributions["metric"] == metric) & distributions["method"].isin(list(places))
            ]
            across = own["method"].map(places).to_numpy(float)
            colour = colours[own["criterion"].iloc[0]] if len(own) else INK
            panel.vlines(across, own["lowest"], own["highest"], color=colour, linewidth=0.7)
            panel.vlines(across, own["low"], own["high"], color=colour, linewidth=2.6, alpha=0.55)
            panel.scatter(across, own["estimate"], s=7, color=INK, zorder=3, linewidths=0)
            panel.set_title(codes[metric], fontsize=8, pad=2)
            panel.set_ylim(-0.05, 1.05)
            panel.set_xticks(list(places.values()), list(names.values()), rotation=90, fontsize=5)
            panel.set_yticks([0, 0.5, 1], ["0", "½", "1"], fontsize=7)
            lowest = number + _PANELS >= len(shown)  # of its column
            panel.tick_params(axis="x", length=0, pad=1, labelbottom=lowest)
    return figure


def distances_figure(distances: pd.DataFrame, codes: Mapping[str, str]) -> Figure | None:
    """Mean rank distance between metrics of a criterion, as a share of that of random ranks."""
    if distances.empty:
        return None
    order = [one for one in codes if one in {*distances["first"], *distances["second"]}]
    whole = np.full((len(order), len(order)), np.nan)
    places = {name: number for number, name in enumerate(order)}
    for row in distances.to_dict("records"):
        one, two = places[str(row["first"])], places[str(row["second"])]
        whole[one, two] = whole[two, one] = float(row["estimate"]) / float(row["random"])
    short = [codes[name] for name in order]
    return heatmap(whole, short, short, colours="RdYlGn_r", label="distance / random", low=0.0,
                   high=1.4)  # fmt: skip


def architectures_figure(
    apart: pd.DataFrame, names: Mapping[str, str], titled: Callable[[str], str]
) -> Figure | None:
    """Mean rank distance of each method (rows) between two classifiers, against random ranks."""
    if apart.empty:
        return None
    pairs = apart[["modality", "first", "second"]].drop_duplicates().to_numpy().tolist()
    shares = (apart["estimate"] / apart["random"]).to_numpy(np.float64)
    keys = zip(apart["method"], apart["modality"], apart["first"], apart["second"], strict=True)
    known = dict(zip(keys, shares, strict=True))
    order = [name for name in names if name in set(apart["method"])]
    whole = np.array([[known.get((name, *pair), np.nan) for pair in pairs] for name in order])
    return heatmap(
        whole,
        [names[name] for name in order],
        [f"{titled(first)} /\n{titled(second)}" for _, first, second in pairs],
        colours="RdYlGn_r",
        label="distance / random",
        low=0.0,
        high=1.4,
    )


def correlations_figure(correlations: pd.DataFrame, names: Mapping[str, str]) -> Figure | None:
    """Correlation of the average ranks of methods over cells and criteria."""
    if correlations.empty:
        return None
    order = [one for one in names if one in {*correlations["first"], *correlations["second"]}]
    whole = np.full((len(order), len(order)), np.nan)
    places = {name: number for number, name in enumerate(order)}
    for row in correlations.to_dict("records"):
        one, two = places[str(row["first"])], places[str(row["second"])]
        whole[one, two] = whole[two, one] = float(row["estimate"])
    short = [names[name] for name in order]
    return heatmap(whole, short, short, colours="PuOr", label="Pearson's r", low=-1.0, high=1.0)


def stability_figure(stability: pd.DataFrame) -> Figure | None:
    """Kendall's tau of the order from n observations with the order from all."""
    if stability.empty:
        return None
    own = stability[stability["estimate"].notna()]
    if own.empty:
        return None
    with style():
        figure = Figure(figsize=(WIDTH, 2.3), layout="constrained")
        panel = figure.subplots()
        for number, (criterion, here) in enumerate(own.groupby("criterion", sort=False)):
            colour = PALETTE[number % len(PALETTE)]
            panel.plot(here["n"], here["estimate"], color=colour, marker="o", markersize=3,
                       label=str(criterion))  # fmt: skip
            panel.fill_between(here["n"], here["low"], here["high"], color=colour, alpha=0.12)
        there = float(own["observations"].min())
        panel.axvline(there, color=FAINT, linewidth=1, zorder=0)
        panel.set_xscale("log", base=2)
        numbers = sorted(own["n"].unique())
        panel.set_xticks(numbers, [str(int(one)) for one in numbers])
        panel.axhline(0.9, color=FAINT, linewidth=1, zorder=0)
        panel.set_xlabel("observations of each dataset (line: there are so many)", fontsize=8)
        panel.set_ylabel("Kendall's tau", fontsize=8)
        panel.legend(fontsize=8, loc="lower right")
    return figure


def people_figure(people: pd.DataFrame, names: Mapping[str, str], question: str) -> Figure | None:
    """Spearman's correlation of each metric with a question, across and within techniques."""
    if people.empty:
        return None
    own = people[(people["outcome"] == question) & people["estimate"].notna()]
    marks = {"across groups": (0.16, PALETTE[0], "o", "across techniques"),
             "within groups": (-0.16, PALETTE[1], "D", "within techniques")}  # fmt: skip
    own = own[own["scope"].isin(list(marks)) & own["predictor"].isin(list(names))]
    if own.empty:
        return None
    shown = [name for name in names if name in set(own["predictor"])]
    places = {name: len(shown) - 1 - number for number, name in enumerate(shown)}
    with style():
        figure = Figure(figsize=(WIDTH, 0.8 + _ROW * len(shown)), layout="constrained")
        panel = figure.subplots()
        panel.axvline(0, color=FAINT, zorder=0, linewidth=1)
        for scope, (shift, colour, marker, words) in marks.items():
            here = own[own["scope"] == scope]
            height = here["predictor"].map(places).to_numpy(float) + shift
            panel.hlines(height, here["low"], here["high"], color=colour, linewidth=1.2)
            panel.scatter(here["estimate"], height, s=14, color=colour, marker=marker, zorder=3,
                          label=words)  # fmt: skip
        panel.set_yticks(list(places.values()), [names[name] for name in shown], fontsize=8)
        panel.set_ylim(-0.7, len(shown) - 0.3)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.set_xlabel(f"correlation with {question} and 95 % interval", fontsize=9)
        panel.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8, borderpad=0)
    return figure


def heatmap(
    values: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    colours: str,
    label: str,
    low: float | None = None,
    high: float | None = None,
) -> Figure | None:
    """Numbers in coloured cells; what is missing is a dash."""
    if not values.size or np.isnan(values).all():
        return None
    tall = 0.75 + _ROW * len(rows)
    with style():
        figure = Figure(figsize=(WIDTH, tall), layout="constrained")
        panel = figure.subplots()
        shades = panel.imshow(
            np.ma.masked_invalid(values), cmap=colours, vmin=low, vmax=high, aspect="auto"
        )
        size = 7 if len(columns) <= 14 else 5.6
        bright = np.asarray(shades.to_rgba(np.nan_to_num(values)))[..., :3] @ np.array(_LUMA)
        for (row, column), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{value:.1f}"
            if not np.isnan(value) and high is not None and high <= 1.5:
                text = f"{value:.2f}".replace("0.", ".").replace("-", "−")
            light = bool(np.isnan(value) or bright[row, column] > 0.4)
            panel.text(column, row, text, ha="center", va="center", fontsize=size,
                       color=INK if light else "white")  # fmt: skip
        panel.set_xticks(range(len(columns)), columns, fontsize=7, rotation=45, ha="right")
        panel.set_yticks(range(len(rows)), rows, fontsize=7.5)
        panel.tick_params(length=0)
        for line in panel.spines.values():
            line.set_visible(False)
        figure.colorbar(shades, ax=panel, label=label, shrink=0.8, pad=0.01)
    return figure
