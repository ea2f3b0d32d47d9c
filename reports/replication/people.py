"""What people preferred and who they were: P1's Tables 12 to 14 and numbers in the text."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.replication.names import technique_keys, technique_titles
from reports.replication.rows import beside, paper_rows

Frames = Mapping[str, pd.DataFrame]

_DIMENSIONS = {
    "fidelity_q1": ("fidelity", "fidelity (Q1)"),
    "complexity_q2_q3": ("complexity", "complexity (Q2, Q3)"),
    "objectivity_q4": ("objectivity", "objectivity (Q4)"),
    "robustness_q5_q6": ("robustness", "robustness (Q5, Q6)"),
}
_NO_TECHNIQUE = "no explanation of this technique was rated"
_NO_RANKING = "nobody ranked it"


def technique_rows(paper: pd.DataFrame, ours: Frames, released: pd.DataFrame) -> pd.DataFrame:
    """Table 12: one row for each technique and dimension.

    ``ours["technique_scores"]`` is that of :func:`analysis.preference.technique_scores`.
    """
    named = paper.assign(
        technique=technique_keys(paper, released), title=technique_titles(paper)
    ).to_dict("records")
    rows = [
        {
            "item": line["title"],
            "quantity": title,
            "paper_value": line[column],
            "technique": line["technique"],
            "dimension": dimension,
        }
        for column, (dimension, title) in _DIMENSIONS.items()
        for line in named
    ]
    found = ours.get("technique_scores")
    return beside(paper_rows(rows), found, ["technique", "dimension"], _NO_TECHNIQUE)


def quality_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 13: mean position of the five qualities (Q7).

    ``ours["positions"]`` is that of :func:`analysis.rankings.mean_positions`.
    """
    rows = [
        {
            "item": line["axiom"],
            "quantity": "mean position (Q7)",
            "paper_value": line["mean_position"],
            "paper_sd": line["sd"],
            "question": "Q7",
            "ranked": line["axiom"],
        }
        for line in paper.to_dict("records")
    ]
    return beside(paper_rows(rows), _positions(ours), ["question", "ranked"], _NO_RANKING)


def question_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 14: mean position of the six questions by importance (Q8) and easiness (Q9)."""
    rows = [
        {
            "item": line["question"],
            "quantity": f"mean position ({question})",
            "paper_value": line[f"{column}_mean"],
            "paper_sd": line[f"{question.lower()}_sd"],
            "question": question,
            "ranked": line["question"],
        }
        for question, column in (("Q8", "q8_importance"), ("Q9", "q9_easiness"))
        for line in paper.to_dict("records")
    ]
    return beside(paper_rows(rows), _positions(ours), ["question", "ranked"], _NO_RANKING)


def text_rows(paper: pd.DataFrame, ours: Frames, version: str) -> pd.DataFrame:
    """Numbers in the running text.

    ``ours["facts"]`` has fact, estimate, low, high, n (see :mod:`reports.replication.measured`).
    """
    rows = [
        {
            "item": line["what"],
            "quantity": line["where"],
            "paper_value": line["value"],
            "places": line["places"],
            "design": line["kind"] == "design",
            "fact": line["fact"],
        }
        for line in paper[paper["paper"] == version].to_dict("records")
    ]
    absent = "nothing in this project's tables says it yet"
    return beside(paper_rows(rows), ours.get("facts"), ["fact"], absent)


def _positions(ours: Frames) -> pd.DataFrame | None:
    found = ours.get("positions")
    return None if found is None else found.rename(columns={"item": "ranked"})
