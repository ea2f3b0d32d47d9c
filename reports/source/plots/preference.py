"""Figures on preferences, rankings and votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.source import format as write
from reports.source.names import technique_name
from reports.source.plots.style import FAINT, INK, PALETTE, style

WIDTH = 6.5  # inches: the width of a report's text, so that letters keep their size
ROW = 0.165  # inches for one technique
KIND_COLOURS = {"saliency": PALETTE[0], "concept": PALETTE[1]}
_SMALL = 8


def groups_figure(
    scores: pd.DataFrame,
    *,
    name: Callable[[str], str] = str,
    colours: Mapping[str, str] | None = None,
    better: Mapping[str, int] | None = None,
) -> Figure | None:
    """Mean stars of groups of samples for each question, with intervals (P1 Figure 3, P2 4 and 5).

    ``scores`` has the columns question, group, estimate, low, high; ``name`` gives a group's name
    and ``better`` is -1 for questions on which fewer stars are better.
    """
    known = scores.dropna(subset=["estimate"]) if len(scores) else scores
    if known.empty:
        return None
    groups = sorted(set(known["group"]))
    shades = dict(zip(groups, PALETTE, strict=False)) | dict(colours or {})
    fewer = {question for question, sign in (better or {}).items() if sign < 0}
    titles = {q: f"{q} (fewer is better)" for q in fewer}
    words = "mean mode of the votes (stars), with 95 % interval"
    names = {group: name(group) for group in groups}
    return panels_figure(known, names, shades, range(1, 6), words, titles)


def panels_figure(
    rows: pd.DataFrame,
    names: Mapping[str, str],
    colours: Mapping[str, str],
    ticks: Sequence[float],
    words: str,
    titles: Mapping[str, str] | None = None,
    lowest: float | None = None,
) -> Figure:
    """A small panel for each question: groups from top to bottom, a dot and its interval each.

    ``rows`` has the columns question, group, estimate, low, high; ``names`` has the groups in the
    order of the picture. The scale goes from ``lowest``, or the first of ``ticks``, to the last.
    """
    questions = list(dict.fromkeys(rows["question"]))
    columns = min(3, len(questions))
    lines = -(-len(questions) // columns)
    with style():
        size = (WIDTH, 0.4 + lines * (0.42 + 0.2 * len(names)))
        figure = Figure(figsize=size, layout="constrained")
        panels = np.ravel(figure.subplots(lines, columns, sharex=True, sharey=True))
        for panel, question in zip(panels, questions, strict=False):
            for place, group in enumerate(list(names)[::-1]):
                own = rows[(rows["question"] == question) & (rows["group"] == group)]
                _dots(panel, own, np.full(len(own), place), colours.get(group, INK), size=20)
            panel.set_title((titles or {}).get(question, question))
            panel.set_yticks(range(len(names)), list(names.values())[::-1])
            _bare(panel, len(names))
            panel.grid(axis="x", color=FAINT, linewidth=0.5)
            panel.set_xlim(ticks[0] if lowest is None else lowest, ticks[-1])
            panel.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
        for unused in panels[len(questions) :]:
            unused.set_axis_off()
        figure.supxlabel(words, fontsize=9)
    return figure


def favourites_figure(top: pd.DataFrame, unit: str = "annotator") -> Figure | None:
    """How many annotators have a technique among their best (P1 Figure 10), most frequent first.

    ``top`` has the columns technique, kind, n, count; techniques that nobody has there are left
    out. ``unit`` says who has favourites.
    """
    known = top[top["count"] > 0] if len(top) else top
    if known.empty:
        return None
    height = np.arange(len(known))[::-1]
    with style():
        figure = Figure(figsize=(WIDTH, 0.75 + ROW * len(known)), layout="constrained")
        panel = figure.subplots()
        colours = [KIND_COLOURS.get(str(kind), INK) for kind in known["kind"]]
        panel.barh(height, known["count"], height=0.72, color=colours)
        for place, count in zip(height, known["count"], strict=True):
            panel.text(count + 0.1, place, f"{count:.3g}", va="center", fontsize=_SMALL)
        panel.set_yticks(height, [technique_name(key, short=True) for key in known["technique"]])
        _bare(panel, len(known))
        panel.set_xlim(0, max(float(known["n"].max()) + 0.8, 1))
        panel.set_xlabel(f"{unit}s that have it among their favourites")
        _kind_words(panel, known["kind"])
    return figure


def ranking_figure(ranking: pd.DataFrame) -> Figure | None:
    """Strength of every technique with its interval; the bars join those not told apart.

    ``ranking`` has the columns technique, kind, estimate, low, high, groups; best first.
    """
    return _ordered(
        ranking.rename(columns={"technique": "item"}),
        "strength (log odds of more stars), with 95 % interval",
    )


def critical_difference_figure(
    ranks: pd.DataFrame, kinds: Mapping[str, str] | None = None, judge: str = "annotator"
) -> Figure | None:
    """Mean ranks over annotators, or images, and the critical difference (Demšar 2006).

    ``ranks`` has the columns item, estimate, critical_difference, groups; best first. The classic
    picture lies on its side so that many names find room; the best is on top.
    """
    bare = ranks.assign(low=np.nan, high=np.nan) if len(ranks) else ranks
    if len(bare) and kinds is not None:
        bare = bare.assign(kind=bare["item"].map(kinds))
    figure = _ordered(bare, f"mean rank over {judge}s (1 is best)", words_on_top=True)
    if figure is None:
        return None
    panel = figure.axes[0]
    gap = float(bare["critical_difference"].iloc[0])
    left, bottom = float(bare["estimate"].min()), 1.2
    panel.plot([left, left + gap], [bottom, bottom], color=INK, linewidth=1.6, marker="|")
    panel.annotate(
        f"critical difference {gap:.1f}", (left + gap / 2, bottom), (0, 5),
        textcoords="offset points", ha="center", fontsize=_SMALL,
    )  # fmt: skip
    return figure


def group_runs(groups: Sequence[object]) -> list[tuple[int, int]]:
    """First and last place of each letter in a column of group letters."""
    places: dict[str, list[int]] = {}
    for place, letters in enumerate(groups):
        for letter in _letters(letters if isinstance(letters, str) else ""):
            places.setdefault(letter, []).append(place)
    return [(found[0], found[-1]) for found in places.values()]


def _letters(text: str) -> list[str]:
    """``ab(a1)`` has the letters a, b and (a1)."""
    found, rest = [], text
    while rest:
        size = rest.index(")") + 1 if rest.startswith("(") else 1
        found.append(rest[:size])
        rest = rest[size:]
    return found


def _ordered(frame: pd.DataFrame, words: str, *, words_on_top: bool = False) -> Figure | None:
    known = frame.dropna(subset=["estimate"]) if len(frame) else frame
    if known.empty:
        return None
    height = np.arange(len(known))[::-1]
    kinds = known["kind"] if "kind" in known else pd.Series([""] * len(known))
    with style():
        figure = Figure(figsize=(WIDTH, 0.75 + ROW * len(known)), layout="constrained")
        panel, side = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1))
        for kind in dict.fromkeys(kinds):
            own = (kinds == kind).to_numpy()
            _dots(panel, known[own], height[own], KIND_COLOURS.get(str(kind), INK), size=16)
        panel.set_yticks(height, [technique_name(key, short=True) for key in known["item"]])
        panel.grid(axis="y", color=FAINT, linewidth=0.4)
        panel.set_axisbelow(True)
        _bare(panel, len(known))
        panel.set_xlabel(words)
        _kind_words(panel, kinds, on_top=words_on_top)
        for number, (first, last) in enumerate(group_runs(list(known["groups"]))):
            ends = [len(known) - 1 - first + 0.25, len(known) - 1 - last - 0.25]
            side.plot([number, number], ends, color=INK, linewidth=2, solid_capstyle="butt")
        side.set_axis_off()
        side.set_title("not told apart", fontsize=_SMALL, fontweight="normal")
    return figure


def _dots(panel: Axes, own: pd.DataFrame, height: np.ndarray, colour: str, size: float) -> None:
    panel.hlines(height, own["low"], own["high"], color=colour, linewidth=1.4)
    panel.scatter(own["estimate"], height, s=size, color=colour, zorder=3)


def _bare(panel: Axes, rows: int) -> None:
    panel.tick_params(axis="y", length=0, labelsize=_SMALL)
    panel.spines["left"].set_visible(False)
    panel.set_ylim(-0.7, rows - 0.3)


def _kind_words(panel: Axes, kinds: pd.Series, *, on_top: bool = False) -> None:
    """Name the colours inside the picture, in the right corner that has room."""
    there = [kind for kind in KIND_COLOURS if (kinds == kind).any()]
    for number, kind in enumerate(there if on_top else there[::-1]):
        down = -14 - 12 * number if on_top else 6 + 12 * number
        panel.annotate(
            kind, (1, 1 if on_top else 0), (-4, down), xycoords="axes fraction",
            textcoords="offset points", ha="right", color=KIND_COLOURS[kind], fontweight="bold",
        )  # fmt: skip


def positions_figure(
    positions: pd.DataFrame, ends: Mapping[str, tuple[str, str]] | None = None
) -> Figure | None:
    """Mean position of each item with its interval, a panel for each question.

    ``positions`` has the columns question, item, estimate, low, high; ``ends`` gives the words for
    the first and the last position of a question.
    """
    known = positions.dropna(subset=["estimate"]) if len(positions) else positions
    if known.empty:
        return None
    questions = list(dict.fromkeys(known["question"]))
    rows = int(known.groupby("question").size().max())
    with style():
        figure = Figure(figsize=(WIDTH, 1.0 + 0.22 * rows), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(questions)))
        for panel, question in zip(panels, questions, strict=True):
            own = known[known["question"] == question]
            height = rows - 1 - np.arange(len(own))
            last = float(np.nanmax([own["high"].max(), len(own)]))
            panel.hlines(height, own["low"], own["high"], color=PALETTE[0], linewidth=1.4)
            panel.scatter(own["estimate"], height, s=22, color=PALETTE[0], zorder=3)
            panel.set_yticks(height, list(own["item"]))
            panel.set_title(question)
            panel.set_xlim(0.8, last + 0.2)
            panel.set_xticks(range(1, int(last) + 1))
            panel.set_ylim(-0.6, rows - 0.4)
            panel.tick_params(axis="y", length=0, labelsize=8)
            panel.spines["left"].set_visible(False)
            panel.grid(axis="y", color=FAINT, linewidth=0.5)
            panel.set_axisbelow(True)
            if ends and question in ends:
                first, final = ends[question]
                words = f"1: {first.lower()}\n{len(own)}: {final.lower()}"
                panel.set_xlabel(words, fontsize=8)
            else:
                panel.set_xlabel("mean position", fontsize=8)
    return figure


# Light to dark in one hue: the order of the stars is seen without a legend, in grey too.
STAR_SHADES = ("#DCEAF4", "#A9CCE3", "#6AA6CF", "#2F7AB3", "#08467A")


def stars_figure(stars: pd.DataFrame) -> Figure | None:
    """Share of each star for each question, as bars that fill the width.

    ``stars`` has the columns question, rating, share.
    """
    if stars.empty:
        return None
    questions = list(dict.fromkeys(stars["question"]))
    ratings = sorted(stars["rating"].unique())
    with style():
        figure = Figure(figsize=(WIDTH, 0.7 + 0.3 * len(questions)), layout="constrained")
        panel = figure.subplots()
        left = np.zeros(len(questions))
        height = np.arange(len(questions))[::-1]
        for number, rating in enumerate(ratings):
            own = stars[stars["rating"] == rating].set_index("question")["share"]
            width = own.reindex(questions).fillna(0).to_numpy(np.float64)
            shade = STAR_SHADES[number % len(STAR_SHADES)]
            panel.barh(height, width, left=left, height=0.8, color=shade)
            for place, start, share in zip(height, left, width, strict=True):
                if share >= 0.04:
                    colour = "white" if number >= 3 else INK
                    panel.text(
                        start + share / 2, place, write.share(share), ha="center", va="center",
                        color=colour, fontsize=8,
                    )  # fmt: skip
            middle = left[0] + width[0] / 2
            panel.text(
                middle, height[0] + 0.55, write.count(int(rating), "star"), ha="center", fontsize=8
            )
            left += width
        panel.set_yticks(height, questions)
        panel.set_xlim(0, 1)
        panel.set_xticks([])
        panel.tick_params(axis="y", length=0)
        for side in ("left", "bottom"):
            panel.spines[side].set_visible(False)
    return figure


def perturbations_figure(perturbations: pd.DataFrame) -> Figure | None:
    """How often each perturbation was chosen, light and strong beside each other.

    ``perturbations`` has the columns strength, perturbation, n.
    """
    if perturbations.empty:
        return None
    totals = perturbations.groupby("perturbation")["n"].sum().sort_values(kind="stable")
    strengths = list(dict.fromkeys(perturbations["strength"]))
    with style():
        figure = Figure(figsize=(WIDTH, 0.7 + 0.2 * len(totals)), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(strengths), sharey=True, sharex=True))
        for number, (panel, strength) in enumerate(zip(panels, strengths, strict=True)):
            own = perturbations[perturbations["strength"] == strength]
            counts = own.set_index("perturbation")["n"].reindex(totals.index).fillna(0)
            panel.barh(range(len(totals)), counts, height=0.72, color=PALETTE[number])
            for place, count in enumerate(counts):
                panel.annotate(
                    f"{count:.0f}", (count, place), (3, 0), textcoords="offset points",
                    va="center", fontsize=8,
                )  # fmt: skip
            panel.set_title(str(strength))
            panel.set_xticks([])
            panel.tick_params(axis="y", length=0)
            panel.margins(x=0.12)
            for side in ("left", "bottom"):
                panel.spines[side].set_visible(False)
        panels[0].set_yticks(range(len(totals)), [str(n).replace("_", " ") for n in totals.index])
    return figure
