"""Numbers of the other studies: LATEC, the meta-predictor and human attention.

They are listed so that nothing printed is forgotten; a study that has been rerun puts its numbers
into ``ours["latec"]``, ``ours["metapredictor"]`` or ``ours["human_attention"]`` with the columns
item, quantity, estimate, low, high.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.replication.rows import OUT_OF_REACH, beside, paper_rows

Frames = Mapping[str, pd.DataFrame]

LATEC = "needs LATEC's models, volumes and point clouds, and its 20 metrics"
METAPREDICTOR = "needs the experiment with participants who predict the model"
ATTENTION = "needs the attention masks that people drew, and their ratings"

_KEYS = ["item", "quantity"]


def latec_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """LATEC's Table 2: average ranks, and the standard deviation over metrics."""
    rows = [
        {
            "item": f"{line['method']}, {str(line['modality']).replace('_', ' ')}",
            "quantity": f"rank in {line['criterion']}",
            "paper_value": line["average_rank"],
            "paper_sd": line["metric_sd"],
            "places": 1,
        }
        for line in paper.to_dict("records")
        if not pd.isna(line["average_rank"])  # a method that does not exist for point clouds
    ]
    return _listed(rows, ours.get("latec"), LATEC)


def faithfulness_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """The meta-predictor's Table 1: faithfulness of methods on three datasets."""
    rows = [
        {
            "item": f"{line['method']}, {dataset.replace('_', ' ')}",
            "quantity": "faithfulness",
            "paper_value": line[dataset],
        }
        for dataset in ("husky_vs_wolf", "leaves", "imagenet")
        for line in paper.to_dict("records")
    ]
    return _listed(rows, ours.get("metapredictor"), METAPREDICTOR)


def experiment_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """The meta-predictor's experiments: people, analysis of variance, rank correlation."""
    columns = {
        "n_participants": ("participants", 0),
        "anova_F": ("F of the analysis of variance", 2),
        "eta_squared": ("eta squared", 3),
        "utility_faithfulness_rho": ("rho of utility and faithfulness", 2),
    }
    rows = [
        {
            "item": str(line["experiment"]).replace("_", " "),
            "quantity": title,
            "paper_value": line[column],
            "paper_p": line["anova_p"] if column == "anova_F" else "",
            "places": places,
        }
        for line in paper.to_dict("records")
        for column, (title, places) in columns.items()
        if not pd.isna(line[column])
    ]
    return _listed(rows, ours.get("metapredictor"), METAPREDICTOR)


def attention_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Human attention: correlations, slopes and intercepts."""
    columns = {"pearson_r": "Pearson's r", "slope": "slope", "intercept": "intercept"}
    rows = [
        {
            "item": str(line["comparison"]).replace("_", " "),
            "quantity": title,
            "paper_value": line[column],
            "paper_p": line["p"] if column == "pearson_r" else "",
            "places": 3,
        }
        for line in paper.to_dict("records")
        for column, title in columns.items()
        if not pd.isna(line[column])
    ]
    return _listed(rows, ours.get("human_attention"), ATTENTION)


def _listed(rows: list[dict[str, object]], ours: pd.DataFrame | None, reason: str) -> pd.DataFrame:
    found = beside(paper_rows(rows), ours, _KEYS, reason)
    lacking = found["ours"].isna()
    found.loc[lacking, "reach"] = OUT_OF_REACH
    found.loc[lacking, "reason"] = reason
    return found
