"""Scores of towers of growing size: means of each, and whether the families go apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from pasta.applications.paired import COLUMNS, mean_interval, paired_difference

MEASURES = ("score", "quality")
SUMMARY_COLUMNS = (
    *("tower", "parameters", "group", "family", "measure", "n", "mean", "low", "high"),
    *("missing", "accuracy"),
)
TREND_COLUMNS = ("group", "family", "measure", "from_tower", "to_tower", *COLUMNS)
ALL = "all methods"
CONTRAST = "activation - perturbation"


def summarise_towers(scores: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Means with bootstrap intervals over images, of each tower and method and family.

    ``group`` is a method or ``all methods`` (of the family: an image counts once, with the mean of
    those of its maps that have a value). ``missing`` counts maps without a value, ``accuracy`` is
    the share of right predictions among the images.
    """
    rows = [
        {"tower": tower, "parameters": int(own["parameters"].iloc[0]), **row}
        for tower, own in scores.groupby("tower", sort=False)
        for row in _summaries(own, resamples, seed)
    ]
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def tower_trends(scores: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Differences of the last tower (``first``) from the first one (``second``), image by image.

    For each method, each family (mean over its methods with a value on both towers) and, as the
    last rows, for the difference between the families: the paper's claim is that it is negative.
    There ``first`` is the change of the activation-based methods, ``second`` that of the others.
    """
    towers = list(scores["tower"].unique())
    ends = {"from_tower": towers[0], "to_tower": towers[-1]}
    rows: list[dict[str, Any]] = []
    for measure in _measures(scores):
        wide = _wide(scores, measure)
        changes = {}
        for family, methods in _families(scores).items():
            for name in methods:
                last, first = wide[towers[-1]][name], wide[towers[0]][name]
                found = paired_difference(last, first, resamples, seed)
                rows.append({"group": name, "family": family, "measure": measure, **ends, **found})
            both = wide[towers[-1]][methods].notna() & wide[towers[0]][methods].notna()
            last = wide[towers[-1]][methods].where(both).mean(axis=1)
            first = wide[towers[0]][methods].where(both).mean(axis=1)
            changes[family] = last - first
            found = paired_difference(last, first, resamples, seed)
            rows.append({"group": ALL, "family": family, "measure": measure, **ends, **found})
        if set(changes) == {"activation", "perturbation"}:
            found = paired_difference(
                changes["activation"], changes["perturbation"], resamples, seed
            )
            rows.append({"group": ALL, "family": CONTRAST, "measure": measure, **ends, **found})
    return pd.DataFrame(rows, columns=list(TREND_COLUMNS))


def _summaries(own: pd.DataFrame, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    image = own["dataset"] + "/" + own["image_id"]
    for measure in _measures(own):
        groups = [(name, part) for name, part in own.groupby("method", sort=False)]
        groups += [(ALL, part) for _, part in own.groupby("family", sort=False)]
        for group, part in groups:
            each = part[measure].groupby(image.loc[part.index], sort=False).mean()
            values = each.dropna().to_numpy(np.float64)
            low, high = mean_interval(values, resamples, seed)
            yield {
                "group": group,
                "family": part["family"].iloc[0],
                "measure": measure,
                "n": len(values),
                "mean": float(values.mean()) if len(values) else float("nan"),
                "low": low,
                "high": high,
                "missing": int(part[measure].isna().sum()),
                "accuracy": float(part["correct"].mean()),
            }


def _measures(scores: pd.DataFrame) -> list[str]:
    """Quality is left out where there is no judge."""
    return [name for name in MEASURES if scores[name].notna().any()]


def _families(scores: pd.DataFrame) -> dict[str, list[str]]:
    pairs = scores[["family", "method"]].drop_duplicates()
    return {str(name): list(own["method"]) for name, own in pairs.groupby("family", sort=False)}


def _wide(scores: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Images x (tower, method)."""
    key = ["dataset", "image_id"]  # an image of each dataset, not every name with every dataset
    return scores.pivot(index=key, columns=["tower", "method"], values=measure)  # noqa: PD010
