"""Figures of attention.pdf: scores of methods, and lines of ratings against scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches
_ROW = 0.16  # inches for a technique
_BLUE, _ORANGE, _GREEN = PALETTE[0], PALETTE[1], PALETTE[2]
_NEAR = 0.06  # of a scale, kept free around points


def scores_figure(
    scores: pd.DataFrame, titles: Mapping[str, str], ceiling: str, score: str = "agreement"
) -> Figure | None:
    """One score of every technique against both masks, with what one person reaches."""
    own = scores[scores["score"] == score]
    people = own[own["technique"] == ceiling]
    own = own[own["technique"] != ceiling]
    wide = own.pivot(index="technique", columns="against", values=["estimate", "low", "high"])  # noqa: PD010
    if wide.empty:
        return None
    wide = wide.sort_values(("estimate", "attention"))
    places = np.arange(len(wide))
    with style():
        figure = Figure(figsize=(WIDTH, 0.9 + _ROW * len(wide)), layout="constrained")
        axes = figure.subplots()
        for name, colour, shift in (("attention", _ORANGE, 0.15), ("segmentation", _BLUE, -0.15)):
            middle = wide["estimate", name].to_numpy(float)
            low, high = (wide[end, name].to_numpy(float) for end in ("low", "high"))
            axes.errorbar(
                middle, places + shift, xerr=[middle - low, high - middle], fmt="o", ms=3,
                lw=0.8, color=colour, label=f"{name} mask",
            )  # fmt: skip
            line = people.loc[people["against"] == name, "estimate"]
            if len(line):
                axes.axvline(float(line.iloc[0]), color=colour, lw=0.8, ls=":")
        axes.set_yticks(places, [titles.get(str(one), str(one)) for one in wide.index], fontsize=7)
        axes.set_ylim(-0.7, len(wide) - 0.3)
        axes.grid(axis="x", color=FAINT, lw=0.5)
        axes.set_xlabel("1 - MAE (dotted: one person against the others, and the segmentation)")
        axes.legend(loc="lower right", fontsize=8)
    return figure


def scores_and_ratings(
    samples: pd.DataFrame, lines: pd.DataFrame, published: pd.DataFrame, method: str
) -> Figure | None:
    """The paper's Figure 2: both scores against each other, and ratings against both."""
    own = samples[samples["method"] == method]
    if own.empty:
        return None
    with style():
        figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.scatter(own["attention_score"], own["segmentation_score"], s=9, color=INK, alpha=0.6)
        _line(left, lines, published, "segmentation_score ~ attention_score", INK)
        left.set_xlabel("score against attention")
        left.set_ylabel("score against segmentation")
        for name, colour in (("attention", _ORANGE), ("segmentation", _BLUE)):
            column = f"{name}_score"
            right.scatter(own[column], own["rating"], s=9, color=colour, alpha=0.6, label=name)
            _line(right, lines, published, f"rating ~ {column}", colour)
        right.set_xlabel("score")
        right.set_ylabel("mean rating / 10")
        right.legend(fontsize=8, loc="lower right")
        for axes in (left, right):
            axes.plot([0, 1], [0, 1], color=INK, lw=0.7, ls=":")
            axes.set_xlim(0, 1.02)
            axes.set_ylim(0, 1.02)
    return figure


def errors_and_ratings(
    samples: pd.DataFrame,
    lines: pd.DataFrame,
    published: pd.DataFrame,
    methods: Sequence[str],
    titles: Mapping[str, str],
) -> Figure | None:
    """The paper's Figure 4: errors against ratings, by method and by kind of error."""
    if samples.empty:
        return None
    known = samples.assign(error=1 - samples["attention_score"])
    with style():
        figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
        left, right = figure.subplots(1, 2)
        for method, colour in zip(methods, (_ORANGE, _GREEN), strict=False):
            own = known[known["method"] == method]
            name = titles.get(method, method)
            left.scatter(own["rating"], own["error"], s=9, color=colour, alpha=0.6, label=name)
            line = f"{method}: attention_error ~ rating"
            _line(left, lines, published, line, colour, _printed_name(line))
        left.set_ylabel("1 - score against attention")
        halves = (("FP", "false_positive", _ORANGE), ("FN", "false_negative", _GREEN))
        for kind, column, colour in halves:
            half = known[known[column] > known[column].median()]
            words = {"FP": "background shown", "FN": "object missed"}[kind]
            right.scatter(half["rating"], half[column], s=9, color=colour, alpha=0.6, label=words)
            _line(right, lines, published, f"high {kind} error ~ rating", colour)
        right.set_ylabel("error of its kind")
        for axes in (left, right):
            axes.set_xlabel("mean rating / 10")
            axes.set_xlim(0, 1.02)
            axes.set_ylim(0, 1.02)
            axes.legend(fontsize=8, loc="upper right")
    return figure


def _printed_name(line: str) -> str:
    """The name of a line in the published table."""
    return line.replace("gradcam:", "GradCAM:").replace("lime:", "LIME:")


def _line(
    axes: Axes,
    lines: pd.DataFrame,
    published: pd.DataFrame,
    name: str,
    colour: str,
    printed: str | None = None,
) -> None:
    """Our line whole, the published one dashed."""
    ends = np.array([0.0, 1.0])
    own = lines[(lines["line"] == name) & (lines["kind"] == "as printed")]
    found = dict(zip(own["term"], own["estimate"].astype(float), strict=True))
    if len(own) and own["estimate"].notna().all():
        values = found["intercept"] + found["slope"] * ends
        axes.plot(ends, values, color=colour, lw=1.4)
    row = published[published["comparison"] == (printed or name)]
    if len(row):
        values = float(row["intercept"].iloc[0]) + float(row["slope"].iloc[0]) * ends
        axes.plot(ends, values, color=colour, lw=1.1, ls="--")
