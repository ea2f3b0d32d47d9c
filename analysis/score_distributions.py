"""How the values of metrics are distributed over methods, on one scale for all metrics.

Average ranks hide how far apart methods are; distributions of normalised values show it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.metric_ranks import Scores

QUANTILES = {"lowest": 0.05, "low": 0.25, "estimate": 0.5, "high": 0.75, "highest": 0.95}
COLUMNS = ["criterion", "metric", "method", "n", *QUANTILES]


def score_distributions(scores: Scores) -> pd.DataFrame:
    r"""Quantiles of each method's values by each metric, from 0 (worst) to 1 (best).

    Values are turned so that higher is better and brought to [0, 1] within each cell and metric,
    over all methods and observations,

    .. math:: \frac{x - \min x}{\max x - \min x},

    and then put together over cells. A cell in which all values are equal says nothing about
    methods and is left out.

    Parameters
    ----------
    scores
        See :func:`analysis.metric_ranks.read_scores`.

    Returns
    -------
    DataFrame
        criterion, metric, method, n (values), lowest (5 %), low (25 %), estimate (median), high
        (75 %), highest (95 %); a row for each metric and method that has a value.

    Examples
    --------
    >>> from analysis.metric_ranks import read_scores
    >>> frame = pd.DataFrame({"data": "d", "method": list("xyz"), "metric": "m"})
    >>> frame = frame.assign(observation=0, value=[5.0, 7.0, 9.0])
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [-1]})
    >>> score_distributions(read_scores(frame, metrics, ["data"]))[["method", "n", "estimate"]]
      method  n  estimate
    0      x  1       1.0
    1      y  1       0.5
    2      z  1       0.0
    """
    signs = scores.metrics["direction"].to_numpy(np.float64)[None, :, None, None]
    values = scores.array * signs
    known = np.isfinite(values)
    low = np.where(known, values, np.inf).min(axis=(2, 3), keepdims=True, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=(2, 3), keepdims=True, initial=-np.inf)
    width = np.where(high > low, high - low, np.nan)
    level = np.where(known, values, np.nan) - np.where(np.isfinite(low), low, np.nan)
    level = level / width
    rows: list[list[object]] = []
    for number, about in enumerate(scores.metrics.to_dict("records")):
        for place, method in enumerate(scores.methods):
            own = level[:, number, place]
            there = own[np.isfinite(own)]
            if len(there):
                found = np.quantile(there, list(QUANTILES.values()))
                rows.append([about["criterion"], about["metric"], method, len(there), *found])
    return pd.DataFrame(rows, columns=COLUMNS)
