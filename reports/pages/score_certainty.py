"""How sure the score's results are: differences between scorers, intervals of single scores."""

from __future__ import annotations

import pandas as pd

from reports.document import Block, Column, Heading, Table, Text
from reports.names import TITLES
from reports.pages.parts import chosen, picture
from reports.plots.ablations import differences_figure
from reports.words import count, number, share


def difference_blocks(differences: pd.DataFrame) -> list[Block]:
    """The ordinal model against the others, run by run."""
    if differences.empty:
        return []
    rivals = {str(name): TITLES.get(str(name), str(name)) for name in differences["than"].unique()}
    figure = differences_figure(differences, rivals)
    own = chosen(differences, measure="qwk")
    own = own.assign(than=own["than"].map(lambda name: rivals[str(name)]))
    runs = count(int(differences["n"].max()), "run")
    return [
        Heading("Differences between scorers", 2),
        Text(
            f"Every run gives all scorers the same split, so that they can be compared run by run. "
            f"The intervals are t intervals of the paired difference over {runs}. The runs share "
            "their data: the intervals say what further splits of the same ratings would show, "
            "not what other ratings would."
        ),
        *picture(
            figure,
            "Quadratic kappa of the ordinal model less that of others, with 95 % intervals over "
            "runs. Right of the line, the ordinal model is better.",
            "Differences of kappa between the ordinal model and others, by question.",
        ),
        Table(
            own,
            [
                Column("question", ""),
                Column("than", "compared with"),
                Column("n", "runs", "0"),
                Column("estimate", "difference of kappa", "signed"),
                Column("low", "95 % interval", "interval"),
                Column("p", "p", "p"),
            ],
            "Quadratic kappa of the ordinal model less that of other scorers.",
        ),
    ]


def coverage_blocks(main: pd.DataFrame) -> list[Block]:
    """How often conformal intervals contain the label, and how wide they are."""
    own = chosen(main, measure="coverage").dropna(subset="mean")
    if own.empty:
        return []
    width = chosen(main, measure="width").set_index(["level", "question"])["mean"]
    keys = list(zip(own["level"], own["question"], strict=True))
    frame = own.assign(
        width=[float(width.get(key, float("nan"))) for key in keys],
        scorer=own["level"].map(lambda name: TITLES.get(str(name), str(name))),
    )
    low, high = own["mean"].min(), own["mean"].max()
    return [
        Heading("Intervals of single scores", 2),
        Text(
            "A score comes with a conformal interval that should contain the label nine times out "
            f"of ten. On unseen explanations it does in {share(low)} to {share(high)} of the "
            f"cases, depending on the question.{_wide_words(frame['width'])}"
        ),
        Table(
            frame,
            [
                Column("scorer", "scorer"),
                Column("question", ""),
                Column("mean", "coverage", "percent"),
                Column("sd", "standard deviation", "0.00"),
                Column("width", "mean width in stars", "0.00"),
                Column("n", "runs", "0"),
            ],
            "Coverage of conformal intervals at a level of 90 %, mean over runs.",
        ),
    ]


def _wide_words(width: pd.Series) -> str:
    known = width.dropna()
    if known.empty:
        return ""
    return (
        f" The price is the width: {number(known.min(), 1)} to {number(known.max(), 1)} of the "
        "five stars on average, so that a single score says little and the mean of many says more."
    )
