"""Plausible and faithful: techniques by what people would say and what the model really uses.

P2 (doi:10.48550/arXiv.2411.02470), Figure 1. Nothing should be chosen that another technique beats
in both; what is left is the Pareto front. Faithfulness belongs to a model, so fronts of an image
are among the techniques of one classifier.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pasta.applications.paired import FEW, mean_interval
from pasta.applications.settings import ApplicationsParams

_KEPT = ("sample_id", "dataset", "image_id", "image", "method", "backbone", "technique")


def on_front(first: ArrayLike, second: ArrayLike) -> NDArray[np.bool_]:
    """Which points no other point beats: as good in both and better in one.

    Equal points are on the front together; a point without a value is not on it.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    known = np.isfinite(one) & np.isfinite(other)
    at_least = (one[:, None] >= one) & (other[:, None] >= other)
    better = (one[:, None] > one) | (other[:, None] > other)
    beaten = (at_least & better & known[:, None]).any(axis=0)
    return np.asarray(known & ~beaten)


def place(scores: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Every measured explanation by faithfulness and score, and whether it is on the front.

    The front is that of the image and the classifier.
    """
    found = measured.merge(scores, on="sample_id", how="inner", validate="one_to_one")
    found = found.sort_values("sample_id", ignore_index=True)
    found["on_front"] = False
    for _, own in found.groupby(["image", "backbone"]):
        found.loc[own.index, "on_front"] = on_front(own["faithfulness"], own["good"])
    columns = ["held_out", "faithfulness", "why", "score", "good", "quality", "on_front"]
    return found[[*_KEPT, *columns]]


def average(placed: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Means of each technique with intervals over images, and the fronts of the means.

    ``on_front``: among all techniques; ``on_own_front``: among those of the same classifier;
    ``front_share``: on how many of its images the technique is on the front.
    """
    rows = []
    for technique, own in placed.groupby("technique", sort=False):
        known = own.dropna(subset=["faithfulness", "good"])
        row: dict[str, Any] = {
            "technique": technique,
            "method": own["method"].iloc[0],
            "backbone": own["backbone"].iloc[0],
            "n": len(known),
            "without_value": len(own) - len(known),
        }
        for name in ("faithfulness", "score", "good", "quality"):
            values = known[name].to_numpy(np.float64)
            row[name] = float(values.mean()) if len(values) else np.nan
            if name in ("faithfulness", "score"):
                low, high = mean_interval(values, resamples, seed)
                row |= {f"{name}_low": low, f"{name}_high": high}
        row["front_share"] = float(own["on_front"].mean())
        rows.append(row)
    found = pd.DataFrame(rows)
    found["on_front"] = on_front(found["faithfulness"], found["good"])
    found["on_own_front"] = False
    for _, own in found.groupby("backbone"):
        found.loc[own.index, "on_own_front"] = on_front(own["faithfulness"], own["good"])
    return found


def agreement(placed: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Whether what is faithful also scores well: Spearman's rho within images, by classifier.

    The mean over images with its interval; an image with fewer than FEW explanations, or one on
    which a value does not vary, has no rho and is counted.
    """
    rows = []
    for backbone, group in placed.groupby("backbone", sort=False):
        rhos = np.array([_spearman(own) for _, own in group.groupby("image")])
        known = rhos[np.isfinite(rhos)]
        low, high = mean_interval(known, resamples, seed)
        rows.append(
            {
                "backbone": backbone,
                "n": len(known),
                "without_value": len(rhos) - len(known),
                "estimate": float(known.mean()) if len(known) else np.nan,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(rows)


def _spearman(own: pd.DataFrame) -> float:
    known = own[["faithfulness", "good"]].dropna()
    if len(known) < FEW or (known.nunique() < 2).any():
        return float("nan")
    ranks = known.rank().to_numpy(np.float64)
    return float(np.corrcoef(ranks.T)[0, 1])


def run_pareto(
    scores: pd.DataFrame, measured: pd.DataFrame, settings: ApplicationsParams, seed: int
) -> dict[str, pd.DataFrame]:
    """Tables ``placed`` (explanations), ``places`` (techniques) and ``agreement``."""
    own = scores[scores["backbone"].isin(settings.pareto.backbones)]
    placed = place(own, measured[measured["sample_id"].isin(set(own["sample_id"]))])
    return {
        "placed": placed,
        "places": average(placed, settings.resamples, seed),
        "agreement": agreement(placed, settings.resamples, seed),
    }
