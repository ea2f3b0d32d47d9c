"""Heatmaps of correlations: metrics against ratings, ours beside the paper's, questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pasta.studies.ratings.settings import MAIN
from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches, the width of the text
_SCALE = 0.9  # correlations from here on have the full colour
_ROW = 0.175  # inches for a row of numbers
_SIGNIFICANT = 0.05
_METHOD, _FIRST = "spearman", MAIN
_LUMA = (0.2126, 0.7152, 0.0722)  # how bright red, green and blue are


def metric_heatmap(
    correlations: pd.DataFrame, titles: Mapping[tuple[str, str], str]
) -> Figure | None:
    """Metrics in rows, questions in columns: over all samples, and within techniques.

    ``correlations`` is a table of :mod:`pasta.studies.ratings.analyses.correlation`; ``titles``
    names metric and variant in the order of the rows. What is not significant (adjusted p of 0.05
    or more) is grey.
    """
    own = correlations[correlations["method"] == _METHOD]
    scopes = [scope for scope in ("overall", "within technique") if (own["scope"] == scope).any()]
    if not scopes or not titles:
        return None
    questions = sorted(own["question"].unique())
    panels = {}
    for scope in scopes:
        here = own[own["scope"] == scope]
        panels["all samples" if scope == "overall" else scope] = (
            _matrix(here, "estimate", titles, "question", questions),
            _matrix(here, "p_clustered_holm", titles, "question", questions) < _SIGNIFICANT,
        )
    return _heatmaps(panels, list(titles.values()), questions)


def parts_heatmap(
    correlations: pd.DataFrame,
    titles: Mapping[tuple[str, str], str],
    names: Mapping[str, str],
) -> Figure | None:
    """The first question: metrics in rows, datasets and backbones in columns."""
    own = correlations[(correlations["method"] == _METHOD) & (correlations["question"] == _FIRST)]
    panels = {}
    columns = []
    for scope in ("dataset", "backbone"):
        here = own[own["scope"] == scope]
        parts = sorted(here["part"].dropna().unique())
        if parts:
            significant = _matrix(here, "p_clustered_holm", titles, "part", parts) < _SIGNIFICANT
            panels[scope] = (_matrix(here, "estimate", titles, "part", parts), significant)
            columns.append([names.get(part, part) for part in parts])
    return _heatmaps(panels, list(titles.values()), columns, turned=True) if panels else None


def paper_heatmap(rows: pd.DataFrame) -> Figure | None:
    """The paper's correlations beside ours.

    ``rows`` has metric (its title), question, quantity ("Pearson" or "Spearman"), paper_value,
    ours, verdict. Ours are bold where they agree.
    """
    own = rows[rows["quantity"] == _METHOD.capitalize()]
    if own.empty:
        return None
    metrics = list(dict.fromkeys(own["metric"]))
    questions = sorted(own["question"].unique())
    keyed = own.set_index(["metric", "question"])

    def matrix(name: str) -> pd.DataFrame:
        return keyed[name].unstack().reindex(index=metrics, columns=questions)  # noqa: PD010

    paper, ours = (matrix(name).to_numpy(np.float64) for name in ("paper_value", "ours"))
    inside = (matrix("verdict") == "agrees").to_numpy(bool)
    panels = {"the paper": (paper, np.ones(paper.shape, bool)), "ours": (ours, inside)}
    return _heatmaps(panels, metrics, questions)


def question_heatmap(questions: pd.DataFrame, kinds: Mapping[str, str]) -> Figure | None:
    """Questions among each other, a panel for each kind of explanation."""
    own = questions[(questions["method"] == _METHOD) & questions["estimate"].notna()]
    present = [kind for kind in kinds if (own["kind"] == kind).any()]
    if not present:
        return None
    names = sorted({*own["first"], *own["second"]})
    panels = {}
    for kind in present:
        here = own[own["kind"] == kind].set_index(["first", "second"])["estimate"]
        below = here.swaplevel().unstack()  # noqa: PD010 - the second question in rows
        values = below.reindex(index=names[1:], columns=names[:-1]).to_numpy(np.float64)
        panels[kinds[kind]] = (values, np.ones(values.shape, bool))
    return _heatmaps(panels, names[1:], names[:-1], scale=1.0, dashes=False)


def forest_figure(
    correlations: pd.DataFrame, titles: Mapping[tuple[str, str], str]
) -> Figure | None:
    """The first question: each metric with its interval, over all and within techniques.

    Metrics without a title are left out.
    """
    own = correlations[
        (correlations["method"] == _METHOD)
        & (correlations["question"] == _FIRST)
        & correlations["estimate"].notna()
    ]
    pairs = zip(own["metric"], own["variant"], strict=True)
    own = own[np.array([pair in titles for pair in pairs], bool)]
    marks = {"overall": (0.14, PALETTE[0], "o"), "within technique": (-0.14, PALETTE[1], "D")}
    words = {"overall": "all samples", "within technique": "within technique"}
    if not own["scope"].isin(list(marks)).any():
        return None
    places = {key: len(titles) - 1 - number for number, key in enumerate(titles)}
    with style():
        figure = Figure(figsize=(WIDTH, 0.8 + 0.19 * len(titles)), layout="constrained")
        panel = figure.subplots()
        panel.axvline(0, color=FAINT, zorder=0, linewidth=1)
        for scope, (shift, colour, marker) in marks.items():
            here = own[own["scope"] == scope]
            keys = zip(here["metric"], here["variant"], strict=True)
            height = np.array([places[key] + shift for key in keys])
            panel.hlines(height, here["low"], here["high"], color=colour, linewidth=1.2)
            panel.scatter(here["estimate"], height, s=14, color=colour, marker=marker, zorder=3,
                          label=words[scope])  # fmt: skip
        panel.set_yticks(list(places.values()), list(titles.values()), fontsize=8)
        panel.set_ylim(-0.7, len(titles) - 0.3)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.set_xlabel(f"correlation with {_FIRST} and 95 % interval", fontsize=9)
        panel.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8, borderpad=0)
    return figure


Panel = tuple[NDArray[np.float64], NDArray[np.bool_]]


def _matrix(
    frame: pd.DataFrame,
    value: str,
    titles: Mapping[tuple[str, str], str],
    column: str,
    columns: Sequence[str],
) -> NDArray[np.float64]:
    keyed = frame.assign(variant=frame["variant"].astype(str))
    wide = keyed.set_index(["metric", "variant", column])[value].unstack()  # noqa: PD010
    rows = pd.MultiIndex.from_tuples(list(titles))
    return np.asarray(wide.reindex(index=rows, columns=list(columns)).to_numpy(np.float64))


def _heatmaps(
    panels: Mapping[str, Panel],
    rows: Sequence[str],
    columns: Sequence[str] | Sequence[Sequence[str]],
    *,
    turned: bool = False,
    scale: float = _SCALE,
    dashes: bool = True,
) -> Figure:
    """Panels side by side that share their rows; ``columns`` may differ from panel to panel."""
    of_each = [
        list(columns) if isinstance(columns[0], str) else list(columns[number])
        for number in range(len(panels))
    ]
    high = 0.55 + _ROW * len(rows) + (0.75 if turned else 0.1)
    with style():
        figure = Figure(figsize=(WIDTH, high), layout="constrained")
        ratios = [len(names) for names in of_each]
        drawn = np.atleast_1d(
            figure.subplots(1, len(panels), sharey=True, width_ratios=ratios, squeeze=True)
        )
        for panel, (title, (values, strong)), names in zip(
            drawn, panels.items(), of_each, strict=True
        ):
            _numbers(panel, values, strong, scale, dashes)
            panel.set_title(title)
            panel.set_xticks(
                range(len(names)), names, fontsize=8,
                rotation=35 if turned else 0, ha="right" if turned else "center",
            )  # fmt: skip
            panel.tick_params(length=0)
            for line in panel.spines.values():
                line.set_visible(False)
        drawn[0].set_yticks(range(len(rows)), rows, fontsize=8)
    return figure


def write_cell(value: float) -> str:
    """A correlation without its leading zero, so that neighbours do not touch.

    >>> write_cell(-0.141), write_cell(-0.001), write_cell(1.0)
    ('−.14', '.00', '1.00')
    """
    text = f"{abs(value):.2f}".removeprefix("0")
    return f"−{text}" if value < 0 and text != ".00" else text


def _numbers(
    panel: Axes, values: NDArray[np.float64], strong: NDArray[np.bool_], scale: float, dashes: bool
) -> None:
    shades = panel.imshow(
        np.ma.masked_invalid(values), cmap="PuOr", vmin=-scale, vmax=scale, aspect="auto"
    )
    bright = np.asarray(shades.to_rgba(np.nan_to_num(values)))[..., :3] @ np.array(_LUMA)
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value) and not dashes:
            continue
        text = "–" if np.isnan(value) else write_cell(value)
        light = bool(np.isnan(value) or bright[row, column] > 0.54)
        significant = bool(strong[row, column])
        panel.text(
            column, row, text, ha="center", va="center", fontsize=7.5,
            color=(INK if significant else "#666666") if light else "white",
            fontweight="bold" if significant and not strong.all() else "normal",
        )  # fmt: skip
