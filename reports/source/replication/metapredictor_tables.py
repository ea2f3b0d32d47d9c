"""The meta-predictor: every number of its table and its tests, as rows beside ours."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.tables import Tables
from reports.source.replication.reasons import MISSING
from reports.source.replication.rows import Frames, beside, printed_rows

EXPERIMENTS = {"husky_vs_wolf": "biased", "leaves": "hard", "imagenet": "useless"}
TITLES = {"husky_vs_wolf": "Husky vs Wolf", "leaves": "Leaves", "imagenet": "ImageNet"}
CONDITIONS = {
    "Baseline": "baseline",
    "Control": "control",
    "Saliency": "saliency",
    "GradInput": "input_x_gradient",
    "IntegratedGradients": "integrated_gradients",
    "SmoothGrad": "smoothgrad",
    "GradCAM": "gradcam",
    "Occlusion": "occlusion",
}
FAITHFULNESS = "faithfulness"
_SCREENED = "screened"


def faithfulness_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 1: faithfulness of methods on three datasets.

    ``ours["method_faithfulness"]`` has experiment, condition, metric, estimate, low, high.
    """
    columns = {
        dataset: {
            "item": f"{{method}}, {TITLES[dataset]}", "quantity": FAITHFULNESS,
            "experiment": EXPERIMENTS[dataset], "metric": FAITHFULNESS,
        }
        for dataset in EXPERIMENTS
    }  # fmt: skip
    named = paper.assign(condition=paper["method"].map(CONDITIONS))
    rows = printed_rows(named, columns, keys=["condition"])
    keys = ["experiment", "condition", "metric"]
    return beside(rows, ours.get("method_faithfulness"), keys, MISSING["prediction"])


def experiment_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """The experiments: people, analysis of variance, rank correlation.

    ``ours["anova"]`` has experiment, people, n, df1, df2, f, estimate, low, high;
    ``ours["utility_correlations"]`` experiment, metric, method, over, estimate, low, high.
    """
    columns = {
        "n_participants": {"quantity": "people", "places": 0, "design": True},
        "anova_df1": {"quantity": "degrees of freedom of conditions", "places": 0, "design": True},
        "anova_df2": {"quantity": "degrees of freedom of people", "places": 0, "design": True},
        "anova_F": {"quantity": "F of the analysis of variance", "places": 2, "p": "anova_p"},
        "eta_squared": {"quantity": "eta squared", "places": 3},
        "utility_faithfulness_rho": {"quantity": "rho of utility and faithfulness", "places": 2},
    }
    for column, fields in columns.items():
        fields["measure"] = column
    named = paper.assign(
        title=paper["experiment"].map(TITLES), experiment=paper["experiment"].map(EXPERIMENTS)
    )
    rows = printed_rows(named, columns, "{title}", keys=["experiment"], by_line=True)
    rows = rows.dropna(subset="paper_value").reset_index(drop=True)
    keys = ["experiment", "measure"]
    return beside(rows, _measures(ours), keys, MISSING["prediction"])


def _screened(rows: pd.DataFrame) -> pd.DataFrame:
    """The people who passed the screening, where there was one."""
    return rows[rows["people"] == _SCREENED] if "people" in rows else rows


def _measures(ours: Frames) -> pd.DataFrame | None:
    """What we have of the experiments, a row for each measure."""
    parts = []
    anova, links = ours.get("anova"), ours.get("utility_correlations")
    if anova is not None and len(anova):
        own = _screened(anova)
        for column, value in (
            ("n_participants", "n"), ("anova_df1", "df1"), ("anova_df2", "df2"), ("anova_F", "f"),
        ):  # fmt: skip
            found = own[["experiment"]].assign(estimate=own[value], low=np.nan, high=np.nan)
            parts.append(found.assign(measure=column))
        parts.append(own.assign(measure="eta_squared"))
    if links is not None and len(links):
        kept = (links["metric"] == FAITHFULNESS) & (links["over"] == "methods")
        kept &= links["method"] == "spearman"
        parts.append(links[kept].assign(measure="utility_faithfulness_rho"))
    columns = ["experiment", "measure", "estimate", "low", "high"]
    return pd.concat([part[columns] for part in parts], ignore_index=True) if parts else None


def pair_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Tukey's tests that the text gives: which of two conditions has the larger Utility.

    ``ours["tukey"]`` has experiment, first, second, estimate (first less second), low, high.
    """
    named = paper.assign(
        title=paper["experiment"].map(TITLES), zero=0.0,
        what=[f"{one} less {two}" for one, two in zip(paper["first"], paper["second"],
                                                      strict=True)],
        experiment=paper["experiment"].map(EXPERIMENTS), first=paper["first"].map(CONDITIONS),
        second=paper["second"].map(CONDITIONS),
    )  # fmt: skip
    keys = ["experiment", "first", "second"]
    columns = {"zero": {"quantity": "difference of Utility, {where}", "p": "p"}}
    rows = printed_rows(named, columns, "{title}: {what}", keys=[*keys, "side"])
    return beside(rows, _both_ways(ours.get("tukey")), keys, MISSING["prediction"])


def _both_ways(pairs: pd.DataFrame | None) -> pd.DataFrame | None:
    """Each pair of conditions in both orders."""
    if pairs is None or pairs.empty:
        return None
    turned = pairs.assign(
        first=pairs["second"], second=pairs["first"], estimate=-pairs["estimate"],
        low=-pairs["high"], high=-pairs["low"],
    )  # fmt: skip
    return pd.concat([pairs, turned], ignore_index=True)


def figure_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Figures 4 to 6: which conditions lie above the baseline, whose Utility is 1.

    ``ours["utility"]`` has experiment, people, condition, k (missing: all sessions), estimate, low,
    high.
    """
    named = paper.assign(
        title=paper["experiment"].map(TITLES), one=1.0,
        experiment=paper["experiment"].map(EXPERIMENTS), condition=paper["method"].map(CONDITIONS),
    )  # fmt: skip
    keys = ["experiment", "condition"]
    columns = {"one": {"quantity": "Utility, {where}"}}
    rows = printed_rows(named, columns, "{title}: {method}", keys=[*keys, "side"])
    found = ours.get("utility")
    if found is not None and len(found):
        found = _screened(found)
        found = found[found["k"].isna()]
    return beside(rows, found, keys, MISSING["prediction"])


def prediction_facts(tables: Tables) -> list[dict[str, object]]:
    """What our study has of the sizes in the text, as rows with fact and estimate.

    Parameters
    ----------
    tables
        Those of :func:`pasta.studies.prediction.analyses.study_tables`.
    """
    found: dict[str, float] = {}
    flow, anova, utility = (tables.get(name) for name in ("flow", "anova", "utility"))
    if flow is not None and len(flow):
        each = flow[flow["condition"] == "all"].groupby("experiment")["came"].max()
        found |= {"people": each.sum(), "experiments": len(each)}
    if anova is not None and len(anova):
        found["kept"] = _screened(anova)["n"].min()
    if utility is not None and len(utility):
        own = _screened(utility)
        own = own[own["k"].isna()]
        found |= {"per_condition": own["n"].min(), "conditions": own["condition"].nunique()}
    design = tables.get("design")
    if design is not None and len(design):
        found["power"] = design.loc[design["what"] == "planned", "power_medium"].min()
    return [
        {"fact": f"mp_{name}", "n": None, "estimate": float(value), "note": ""}
        for name, value in found.items()
        if pd.notna(value)
    ]
