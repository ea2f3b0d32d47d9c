"""Figures about preferences, rankings and counts: what they draw, and nothing from nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reports.source.plots.preference import (
    critical_difference_figure,
    favourites_figure,
    group_runs,
    groups_figure,
    perturbations_figure,
    positions_figure,
    ranking_figure,
    stars_figure,
)
from reports.source.plots.score import people_and_score_figure

KINDS = pd.DataFrame(
    {
        "question": ["Q1", "Q1", "Q5", "Q5"],
        "group": ["concept", "saliency"] * 2,
        "estimate": [2.0, 3.0, 2.5, 1.5],
        "low": [1.5, 2.8, 2.0, 1.2],
        "high": [2.5, 3.2, 3.0, 1.8],
    }
)
RANKING = pd.DataFrame(
    {
        "technique": ["lime/resnet50", "gradcam/vit_b_16", "own method"],
        "kind": ["saliency", "saliency", None],
        "estimate": [1.0, 0.0, -1.0],
        "low": [0.5, -0.4, np.nan],
        "high": [1.5, 0.4, np.nan],
        "groups": ["a", "ab", "b"],
    }
)
RANKS = pd.DataFrame(
    {
        "item": RANKING["technique"],
        "estimate": [1.2, 2.0, 2.8],
        "critical_difference": 1.1,
        "groups": ["a", "ab", "b"],
    }
)
TOP = pd.DataFrame(
    {
        "technique": ["lime/resnet50", "shap/resnet50", "rise/resnet50"],
        "kind": "saliency",
        "n": 4,
        "count": [4.0, 2.5, 0.0],
    }
)
POSITIONS = pd.DataFrame(
    {
        "question": ["Q7", "Q7", "Q8"],
        "item": ["Trustworthy", "Complexity", "Q1"],
        "estimate": [1.4, 1.6, 1.0],
        "low": [1.0, 1.2, 1.0],
        "high": [1.8, 2.0, 1.0],
    }
)
STARS = pd.DataFrame(
    {"question": ["Q1"] * 5, "rating": range(1, 6), "share": [0.5, 0.25, 0.2, 0.05, 0]}
)
SUMMARY = pd.DataFrame(
    {
        "study": "main",
        "level": ["ordinal", "people (leave one out)", "constant"],
        "question": "Q1",
        "measure": "qwk",
        "mean": [0.4, 0.7, 0.0],
        "sd": 0.1,
    }
)


def _words(figure: Figure | None) -> list[str]:
    """Everything that is written in a figure."""
    assert figure is not None
    found = [text.get_text() for panel in figure.axes for text in panel.texts]
    for panel in figure.axes:
        found += [label.get_text() for label in panel.get_yticklabels()]
        found += [panel.get_title(loc="left"), panel.get_xlabel()]
    return found


def test_figures_say_what_their_tables_say() -> None:
    words = _words(groups_figure(KINDS, better={"Q1": 1, "Q5": -1}))
    assert "Q1" in words and "Q5 (fewer is better)" in words
    figure = ranking_figure(RANKING)
    assert figure is not None and "own method" in _words(figure)
    top = max(figure.axes[0].get_yticklabels(), key=lambda label: label.get_position()[1])
    assert top.get_text() == "LIME · ResNet50"
    assert "critical difference 1.1" in _words(critical_difference_figure(RANKS))
    words = _words(favourites_figure(TOP))
    assert "SHAP · ResNet50" in words and "RISE · ResNet50" not in words and "2.5" in words
    words = _words(positions_figure(POSITIONS, {"Q7": ("Most important", "Least important")}))
    assert "1: most important\n2: least important" in words and "mean position" in words
    words = _words(people_and_score_figure(SUMMARY))
    assert "one annotator" in words and "always the commonest star" not in words


def test_small_counts_and_shares() -> None:
    words = _words(stars_figure(STARS))
    assert "1 star" in words and "5 stars" in words
    assert len([word for word in words if "%" in word]) == 4  # small shares have no number
    strengths = {"strength": ["light", "strong", "strong"], "perturbation": ["a", "a", "b_c"]}
    words = _words(perturbations_figure(pd.DataFrame(strengths | {"n": [1, 2, 3]})))
    assert "b c" in words and "0" in words  # one strength only is drawn with zero


@pytest.mark.parametrize("figure", [ranking_figure(RANKING), critical_difference_figure(RANKS)])
def test_bars_join_what_was_not_told_apart(figure: Figure) -> None:
    bars = figure.axes[1].lines
    ends = [sorted(np.round(np.asarray(bar.get_ydata(), float)).tolist()) for bar in bars]
    assert ends == [[1, 2], [0, 1]]


def test_letters_beyond_z_are_read_one_by_one() -> None:
    assert group_runs(["a", "a(b1)", "(b1)", "", float("nan")]) == [(0, 1), (1, 2)]


def test_empty_frames_draw_nothing() -> None:
    empty = pd.DataFrame()
    figures = [
        groups_figure(empty), groups_figure(KINDS.assign(estimate=np.nan)),
        favourites_figure(empty), favourites_figure(TOP.assign(count=0.0)), ranking_figure(empty),
        critical_difference_figure(empty),
        critical_difference_figure(RANKS.assign(estimate=np.nan)),
        positions_figure(empty), stars_figure(empty), perturbations_figure(empty),
        people_and_score_figure(empty), people_and_score_figure(SUMMARY.assign(study="split")),
    ]  # fmt: skip
    assert figures == [None] * len(figures)
