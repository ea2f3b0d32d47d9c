"""What score.pdf says of single predictions for explanations that the scorer has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from reports.source.format import cells, number
from reports.source.names import dataset_name
from reports.source.plots.predictions import predicted_figure, reliability_figure

STARS = range(1, 6)
SHARES, COUNTS = [f"p{star}" for star in STARS], [f"n{star}" for star in STARS]
BINS = 10  # groups of explanations or of predicted shares, all of one size
Z = 1.96


def describe_predictions(predictions: pd.DataFrame) -> dict[str, Any] | None:
    """Collect what the section on single predictions shows; None without predictions.

    ``predictions`` is the table of :func:`pasta.scoring.held_out.list_predictions`.
    """
    if predictions.empty:
        return None
    votes = predictions[COUNTS].to_numpy(np.float64)
    rows = predictions.assign(vote=votes @ np.array(STARS) / votes.sum(axis=1))
    bins = reliability_bins(rows)
    off = calibration_errors(bins)
    return {
        "n": rows["sample_id"].nunique(),
        "figure": predicted_figure(rows, group_predictions(rows)),
        "reliability": reliability_figure(bins),
        "off": [f"{number(100 * off.min(), 1)}", f"{number(100 * off.max(), 1)}"]
        if len(off)
        else [],
        "table": _tabulate_datasets(rows),
    }


def group_predictions(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean vote of explanations with about the same prediction, ten groups for each question.

    Columns: question, stars, vote, low, high (95 % interval of the mean), n.
    """
    found = []
    for question, own in rows.groupby("question", sort=True):
        places = _equal_groups(own["stars"])
        for _, part in own.groupby(places):
            mean, low, high = _mean_and_ends(part["vote"])
            ends = {"low": low, "high": high, "n": len(part)}
            found.append({"question": question, "stars": part["stars"].mean(), "vote": mean} | ends)
    return pd.DataFrame(found)


def reliability_bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Predicted shares of stars in ten groups of one size, beside the shares among the votes.

    Columns: question, predicted, observed, low, high (95 % interval over explanations), n. Empty if
    the scorer predicts no shares.
    """
    known = rows.dropna(subset=SHARES)
    found = []
    for question, own in known.groupby("question", sort=True):
        counts = own[COUNTS].to_numpy(np.float64)
        pairs = pd.DataFrame(
            {
                "predicted": own[SHARES].to_numpy(np.float64).ravel(),
                "observed": (counts / counts.sum(axis=1, keepdims=True)).ravel(),
            }
        )
        for _, part in pairs.groupby(_equal_groups(pairs["predicted"])):
            mean, low, high = _mean_and_ends(part["observed"])
            row = {"question": question, "predicted": part["predicted"].mean(), "observed": mean}
            found.append(row | {"low": max(low, 0.0), "high": high, "n": len(part)})
    columns = ["question", "predicted", "observed", "low", "high", "n"]
    return pd.DataFrame(found, columns=columns)


def calibration_errors(bins: pd.DataFrame) -> pd.Series:
    """By question, how far predicted shares are from the observed ones on average."""
    far = (bins["predicted"] - bins["observed"]).abs()
    weighed = (far * bins["n"]).groupby(bins["question"]).sum()
    return weighed / bins["n"].groupby(bins["question"]).sum()


def _mean_and_ends(values: pd.Series) -> tuple[float, float, float]:
    """A mean with its 95 % interval."""
    numbers = values.to_numpy(np.float64)
    mean = float(numbers.mean())
    spread = float(numbers.std(ddof=1)) if len(numbers) > 1 else np.nan
    half = Z * spread / np.sqrt(len(numbers))
    return mean, mean - half, mean + half


def _equal_groups(values: pd.Series) -> pd.Series:
    """A group for each value: ten of one size in the order of the values."""
    ranks = values.rank(method="first") - 1
    return (ranks * min(BINS, len(values)) // len(values)).astype(int)


def _tabulate_datasets(rows: pd.DataFrame) -> dict[str, Any]:
    """Kappa and squared error of each dataset and question, all runs together."""
    questions = sorted(rows["question"].unique())
    found = []
    for dataset, own in rows.groupby("dataset", sort=True):
        line: dict[str, Any] = {"dataset": dataset_name(str(dataset)), "n": len(own)}
        for question in questions:
            part = own[own["question"] == question]
            line[question] = _write_fit(part) if len(part) else ""
        found.append(line | {"n": own["sample_id"].nunique()})
    return cells(pd.DataFrame(found), ["dataset", "n:0", *questions])


def _write_fit(part: pd.DataFrame) -> str:
    label = np.rint(part["label"]).astype(int)
    stars = np.rint(part["stars"].clip(1, 5)).astype(int)
    kappa = np.nan
    if len({*label, *stars}) > 1:  # else there is nothing to disagree on
        kappa = cohen_kappa_score(label, stars, labels=list(STARS), weights="quadratic")
    error = float((part["stars"] - part["label"]).pow(2).mean())
    return f"{number(kappa)} ({number(error)})"
