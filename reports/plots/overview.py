"""The figure of the overview: scorers beside people."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from reports.names import BEST, LEAVE_ONE_OUT, scorer_name
from reports.plots.preference import panels_figure
from reports.plots.style import INK, PALETTE

SHOWN = (BEST, "pasta-mlp", "pasta-linear", LEAVE_ONE_OUT)


def people_and_score_figure(summary: pd.DataFrame) -> Figure | None:
    """Quadratic kappa of the main scorers and of people, a panel for each question.

    ``summary`` has the columns study, level, question, measure, mean, sd.
    """
    if summary.empty:
        return None
    own = summary[(summary["study"] == "main") & (summary["measure"] == "qwk")]
    own = own[own["level"].isin(SHOWN)].dropna(subset=["mean"])
    if own.empty:
        return None
    rows = pd.DataFrame(
        {
            "question": own["question"],
            "group": own["level"],
            "estimate": own["mean"],
            "low": own["mean"] - own["sd"],
            "high": own["mean"] + own["sd"],
        }
    ).sort_values("question", kind="stable")
    levels = [level for level in SHOWN if (own["level"] == level).any()]
    colours = dict(zip(levels, PALETTE, strict=False))
    colours |= {level: INK for level in levels if level.startswith("people")}
    names = {level: scorer_name(level) for level in levels}
    lowest = min(-0.1, float(rows["low"].min()) - 0.03)
    words = "quadratic kappa with the label, and one standard deviation to each side"
    return panels_figure(rows, names, colours, (0, 0.25, 0.5, 0.75, 1), words, lowest=lowest)
