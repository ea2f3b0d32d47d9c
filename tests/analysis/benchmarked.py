"""Made-up scores of methods by metrics in cells, with a planted order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.metric_ranks import Scores, read_scores

METRICS = pd.DataFrame(
    {
        "metric": ["a1", "a2", "a3", "b1", "b2", "c1"],
        "criterion": ["a", "a", "a", "b", "b", "c"],
        "direction": [1, -1, 1, 1, -1, 1],
    }
)
CELLS = ["dataset", "model"]


def score_frame(
    *,
    datasets: int = 2,
    models: Sequence[str] = ("cnn", "former"),
    methods: int = 5,
    observations: int = 7,
    pull: float = 0.0,
    only: int = 0,
    decimals: int = 6,
    seed: int = 0,
) -> pd.DataFrame:
    """A tidy frame. ``pull`` makes f0 better than f1 and so on; the last ``only`` methods are
    there for the last model alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for dataset in range(datasets):
        for model in models:
            for method in range(methods):
                if method >= methods - only and model != models[-1]:
                    continue
                for name, _, direction in METRICS.itertuples(index=False, name=None):
                    noise = rng.normal(size=observations) - pull * method
                    for observation, value in enumerate(np.round(direction * noise, decimals)):
                        row = (f"d{dataset}", model, f"f{method}", name, observation, value)
                        rows.append(row)
    columns = [*CELLS, "method", "metric", "observation", "value"]
    return pd.DataFrame(rows, columns=columns).assign(status="ok")


def arranged(frame: pd.DataFrame, metrics: pd.DataFrame = METRICS) -> Scores:
    return read_scores(frame, metrics, CELLS, blocks=["dataset"])
