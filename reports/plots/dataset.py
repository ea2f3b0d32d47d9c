"""Figures about what a study has: stars given, and perturbations chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports import words
from reports.plots.preference import WIDTH
from reports.plots.style import INK, PALETTE, style

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
                        start + share / 2, place, words.share(share), ha="center", va="center",
                        color=colour, fontsize=8,
                    )  # fmt: skip
            middle = left[0] + width[0] / 2
            panel.text(
                middle, height[0] + 0.55, words.count(int(rating), "star"), ha="center", fontsize=8
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
