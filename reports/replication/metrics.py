"""P1's Tables 1, 9, 10 and 11: metrics against ratings, and metrics of each technique."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.names import PERTURBATION_TITLES
from reports.replication.names import (
    PERTURBATIONS,
    plain_variants,
    technique_keys,
    technique_titles,
)
from reports.replication.rows import beside, paper_rows

Frames = Mapping[str, pd.DataFrame]

_METHODS = {"pcc": ("pearson", "Pearson"), "scc": ("spearman", "Spearman")}
_MEASURED = {  # columns of Table 11
    "faithfulness_road": ("faithfulness", "road", "faithfulness (ROAD)"),
    "max_sensitivity_gaussian": ("max_sensitivity", "gaussian", "MaxSens. (Gaussian)"),
    "sparseness": ("sparseness", "", "Sparseness"),
}
_NO_METRIC = "this metric was not measured"


def correlation_rows(paper: pd.DataFrame, ours: Frames, metric: str) -> pd.DataFrame:
    """Tables 1, 9 and 10: one row for each question, perturbation and coefficient.

    ``ours["correlations"]`` is that of :func:`analysis.suites.correlation.correlation_tables`.
    """
    rows = []
    for line in paper.to_dict("records"):
        variant = PERTURBATIONS[line["perturbation"]] if "perturbation" in line else ""
        title = f", {PERTURBATION_TITLES[variant]}" if variant else ""
        for column, (method, name) in _METHODS.items():
            rows.append(
                {
                    "item": f"{line['question']}{title}",
                    "quantity": name,
                    "paper_value": line[column],
                    "paper_p": line[f"{column}_p"],
                    "question": line["question"],
                    "metric": metric,
                    "variant": variant,
                    "method": method,
                }
            )
    found = ours.get("correlations")
    if found is not None and len(found):
        found = plain_variants(found[found["scope"] == "overall"])
    keys = ["question", "metric", "variant", "method"]
    return beside(paper_rows(rows), found, keys, _NO_METRIC)


def value_rows(paper: pd.DataFrame, ours: Frames, released: pd.DataFrame) -> pd.DataFrame:
    """Table 11: one row for each technique and metric.

    ``ours["values"]`` is that of :func:`analysis.suites.correlation.correlation_tables`.
    """
    named = paper.assign(
        technique=technique_keys(paper, released), title=technique_titles(paper)
    ).to_dict("records")
    rows = [
        {
            "item": line["title"],
            "quantity": title,
            "paper_value": line[f"{column}_mean"],
            "paper_sd": line[f"{column}_sd"],
            "technique": line["technique"],
            "metric": metric,
            "variant": variant,
        }
        for column, (metric, variant, title) in _MEASURED.items()
        for line in named
    ]
    found = ours.get("values")
    found = None if found is None or found.empty else plain_variants(found)
    return beside(paper_rows(rows), found, ["technique", "metric", "variant"], _NO_METRIC)
