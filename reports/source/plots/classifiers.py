"""Figures about the classifiers: accuracy (P1, Figure 6), learning curves, confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reports.source.plots.style import FAINT, INK, PALETTE, style


def accuracy_figure(scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Accuracy of every model on every dataset with its interval, one panel per dataset.

    ``scores`` has the columns dataset, model, estimate, low, high; ``titles`` names the models in
    the order of the picture.
    """
    datasets = list(dict.fromkeys(scores["dataset"]))
    with style():
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        if not datasets:
            figure.text(0.5, 0.5, "no classifier was trained here", ha="center", color=INK)
            return figure
        panels = np.atleast_1d(figure.subplots(1, len(datasets), sharey=True, sharex=True))
        places = {model: len(titles) - 1 - place for place, model in enumerate(titles)}
        for panel, dataset in zip(panels, datasets, strict=True):
            chosen = scores[scores["dataset"] == dataset]
            height = chosen["model"].map(places)
            panel.barh(height, chosen["estimate"], height=0.66, color=PALETTE[0])
            panel.hlines(height, chosen["low"], chosen["high"], color=INK, linewidth=1.4)
            for place, value in zip(height, chosen["estimate"], strict=True):
                panel.text(0.02, place, f"{value:.0%}", color="white", va="center", fontsize=8)
            panel.set_title(dataset)
            panel.set_xlim(0, 1)
            panel.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
            panel.tick_params(axis="y", length=0)
            panel.spines["left"].set_visible(False)
        panels[0].set_yticks(list(places.values()), list(titles.values()))
        figure.supxlabel("test accuracy, with 95 % interval", fontsize=9)
    return figure


def curves_figure(curves: Mapping[str, Sequence[float]], best_epoch: int | None) -> Figure:
    """Loss and validation accuracy by epoch, the kept epoch marked."""
    with style():
        figure = Figure(figsize=(2.8 * len(curves), 2.4))
        # Fixed margins: solving for them takes longer than drawing, and there are many of these.
        figure.subplots_adjust(left=0.1, right=0.97, top=0.86, bottom=0.2, wspace=0.3)
        panels = np.atleast_1d(figure.subplots(1, len(curves)))
        for panel, (name, values) in zip(panels, curves.items(), strict=True):
            epochs = np.arange(1, len(values) + 1)
            panel.plot(epochs, values, marker="o", markersize=3)
            if best_epoch is not None and best_epoch <= len(values):
                panel.axvline(best_epoch, color=FAINT, zorder=0)
                panel.annotate(
                    "kept", (best_epoch, values[best_epoch - 1]), (4, 4),
                    textcoords="offset points", fontsize=8,
                )  # fmt: skip
            panel.set_title(name)
            panel.set_xlabel("epoch")
    return figure


def confusion_figure(counts: NDArray[np.int64], classes: Sequence[str]) -> Figure:
    """Labels in rows, predictions in columns, shares of the row as shades, counts as numbers."""
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    side, left, bottom, rest = 0.42 * len(classes), 1.7, 1.6, 0.15  # inches
    wide, high = left + side + rest, bottom + side + rest
    with style():
        figure = Figure(figsize=(wide, high))
        figure.subplots_adjust(left / wide, bottom / high, 1 - rest / wide, 1 - rest / high)
        panel = figure.subplots()
        panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, column in np.argwhere(counts > 0):
            shade = "white" if shares[row, column] > 0.6 else INK
            text = str(counts[row, column])
            panel.text(column, row, text, ha="center", va="center", color=shade, fontsize=8)
        names = [name.replace("_", " ") for name in classes]
        panel.set_xticks(range(len(names)), names, rotation=45, ha="right")
        panel.set_yticks(range(len(names)), names)
        panel.tick_params(length=0)
        panel.set_xlabel("predicted")
        panel.set_ylabel("label")
        for side_line in panel.spines.values():
            side_line.set_visible(False)
    return figure
