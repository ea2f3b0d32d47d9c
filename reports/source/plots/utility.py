"""Figures of the meta-predictor study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text
_MARKERS = "osD^vPX*<>"


def curves_figure(utility: pd.DataFrame, names: Mapping[str, str], baseline: str) -> Figure | None:
    """Utility-K of each condition with intervals, a panel for each experiment.

    ``utility`` has experiment, condition, k, estimate, low, high; ``names`` the conditions in
    their order.
    """
    own = utility[utility["k"].notna() & (utility["condition"] != baseline)]
    own = own[own["estimate"].notna()]
    if own.empty:
        return None
    experiments = list(dict.fromkeys(own["experiment"]))
    shown = [name for name in names if name in set(own["condition"])]
    with style():
        figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
        panels = figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0]
        places = sorted(own["k"].unique())
        step = float(np.diff(places).min()) if len(places) > 1 else 1.0
        for panel, experiment in zip(panels, experiments, strict=True):
            here = own[own["experiment"] == experiment]
            panel.axhline(1, color=INK, linewidth=1, zorder=0)
            for place, name in enumerate(shown):
                line = here[here["condition"] == name].sort_values("k")
                shift = (place - (len(shown) - 1) / 2) * step * 0.08
                x, y = line["k"] + shift, line["estimate"]
                colour = PALETTE[place % len(PALETTE)]
                panel.vlines(x, line["low"], line["high"], color=colour, linewidth=0.8, alpha=0.6)
                mark = _MARKERS[place % len(_MARKERS)]
                label = names[name] if panel is panels[0] else None
                panel.plot(
                    x, y, marker=mark, markersize=4, color=colour, linewidth=1.2, label=label
                )
            panel.set_title(experiment)
            panel.set_xticks(places)
            panel.set_xlabel("examples seen (K)", fontsize=8)
        panels[0].set_ylabel("Utility-K")
        figure.legend(loc="outside lower center", ncols=4, fontsize=7.5)
    return figure


def tukey_figure(pairs: pd.DataFrame, names: Mapping[str, str]) -> Figure | None:
    """Differences of Utility between conditions (row - column), a panel for each experiment."""
    if pairs.empty:
        return None
    experiments = list(dict.fromkeys(pairs["experiment"]))
    known = set(pairs["first"]) | set(pairs["second"])
    order = [name for name in names if name in known]
    short = [names[name] for name in order]
    largest = max(float(pairs["estimate"].abs().max()), 1e-9)
    with style():
        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        panels = figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0]
        for panel, experiment in zip(panels, experiments, strict=True):
            grid = np.full((len(order), len(order)), np.nan)
            for row in pairs[pairs["experiment"] == experiment].to_dict("records"):
                i, j = order.index(row["first"]), order.index(row["second"])
                grid[i, j], grid[j, i] = row["estimate"], -row["estimate"]
                if row["p"] < 0.05:
                    for x, y in ((j, i), (i, j)):
                        panel.text(x, y, "*", ha="center", va="center", fontsize=9)
            image = panel.imshow(grid, cmap="PuOr_r", vmin=-largest, vmax=largest)
            panel.set_title(experiment)
            panel.set_xticks(range(len(order)), short, rotation=90, fontsize=6.5)
            panel.set_yticks(range(len(order)), short, fontsize=6.5)
        figure.colorbar(image, ax=list(panels), shrink=0.7, label="difference of Utility")
    return figure


def faithfulness_figure(points: pd.DataFrame, names: Mapping[str, str]) -> Figure | None:
    """Utility against faithfulness, a panel for each experiment."""
    if points.empty:
        return None
    experiments = list(dict.fromkeys(points["experiment"]))
    order = [name for name in names if name in set(points["condition"])]
    with style():
        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        panels = figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0]
        for panel, experiment in zip(panels, experiments, strict=True):
            panel.axhline(1, color=FAINT, linewidth=1, zorder=0)
            here = points[points["experiment"] == experiment].set_index("condition")
            for place, name in enumerate(order):
                if name in here.index:
                    panel.scatter(
                        float(here.loc[name, "value"]),
                        float(here.loc[name, "utility"]),
                        s=26,
                        color=PALETTE[place % len(PALETTE)],
                        marker=_MARKERS[place % len(_MARKERS)],
                        label=names[name] if panel is panels[0] else None,
                    )
            panel.set_title(experiment)
            panel.set_xlabel("faithfulness (1 - Deletion)", fontsize=8)
        panels[0].set_ylabel("Utility")
        figure.legend(loc="outside lower center", ncols=4, fontsize=7.5)
    return figure


def flow_figure(flow: pd.DataFrame, stages: Sequence[str]) -> Figure | None:
    """People who come, leave at each stage of the screening, and stay; a line an experiment."""
    every = flow[flow["condition"] == "all"] if len(flow) else flow
    if every.empty:
        return None
    experiments = list(dict.fromkeys(every["experiment"]))
    with style():
        figure = Figure(figsize=(WIDTH, 0.95 * len(experiments) + 0.2), layout="constrained")
        panel = figure.subplots()
        panel.set_axis_off()
        for line, experiment in enumerate(experiments):
            y = -float(line)
            here = every[every["experiment"] == experiment].set_index("stage")
            panel.text(-0.75, y, experiment, ha="left", va="center", weight="bold", fontsize=8)
            number = int(here["came"].iloc[0])
            _box(panel, 0, y, f"{number}\ncame")
            for place, stage in enumerate(stages, start=1):
                left = int(here.loc[stage, "left"])
                number -= left
                _arrow(panel, (place - 1 + 0.3, y), (place - 0.3, y))
                _box(panel, place, y, f"{number}\nafter {stage}")
                _arrow(panel, (place - 0.5, y), (place - 0.5, y - 0.36))
                panel.text(place - 0.5, y - 0.44, f"{left} out", ha="center", fontsize=7.5)
        panel.set_xlim(-0.8, len(stages) + 0.4)
        panel.set_ylim(-len(experiments) + 0.4, 0.35)
    return figure


def _box(panel: object, x: float, y: float, words: str) -> None:
    look = {"boxstyle": "round,pad=0.35", "facecolor": "#eef4f9", "edgecolor": INK}
    panel.text(x, y, words, ha="center", va="center", fontsize=7.5, bbox=look)  # type: ignore[attr-defined]


def _arrow(panel: object, start: tuple[float, float], end: tuple[float, float]) -> None:
    look = {"arrowstyle": "->", "color": INK, "linewidth": 0.9}
    panel.annotate("", xy=end, xytext=start, arrowprops=look)  # type: ignore[attr-defined]


def planted_figure(planted: pd.DataFrame, names: Mapping[str, str]) -> Figure | None:
    """Planted Utility (line) beside what is found with and without the screening."""
    if planted.empty:
        return None
    experiments = list(dict.fromkeys(planted["experiment"]))
    order = [name for name in names if name in set(planted["condition"])]
    places = {name: len(order) - 1 - number for number, name in enumerate(order)}
    with style():
        figure = Figure(figsize=(WIDTH, 0.9 + 0.24 * len(order)), layout="constrained")
        panels = figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0]
        for panel, experiment in zip(panels, experiments, strict=True):
            here = planted[planted["experiment"] == experiment]
            panel.axvline(1, color=FAINT, zorder=0)
            for shift, people, colour in ((0.12, "screened", 0), (-0.12, "everybody", 1)):
                own = here[here["people"] == people]
                y = own["condition"].map(places).to_numpy(float) + shift
                label = people if panel is panels[0] else None
                panel.hlines(y, own["low"], own["high"], color=PALETTE[colour], linewidth=1.2)
                panel.scatter(own["estimate"], y, s=12, color=PALETTE[colour], label=label)
            own = here[here["people"] == "screened"]
            y = own["condition"].map(places).to_numpy(float)
            label = "planted" if panel is panels[0] else None
            panel.scatter(own["expected"], y, marker="|", s=130, color=INK, label=label, zorder=4)
            panel.set_title(experiment)
            panel.set_xlabel("Utility", fontsize=8)
        panels[0].set_yticks(list(places.values()), [names[name] for name in order], fontsize=8)
        figure.legend(loc="outside lower center", ncols=3, fontsize=7.5)
    return figure
