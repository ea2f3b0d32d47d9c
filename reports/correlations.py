"""What an MLflow run keeps of the study of metrics against people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pasta.tracking import Run
from reports.names import metric_titles
from reports.plots.correlation import metric_heatmap


def track(run: Run, tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Log the correlations over all samples as metrics, their picture, and all tables."""
    rows = tables["correlations"]
    run.log_metrics(overall(rows))
    figure = metric_heatmap(rows, metric_titles(rows)) if len(rows) else None
    if figure is not None:
        run.log_figure(figure, "correlations.svg")
    for name in tables:
        run.log_file(folder / f"{name}.csv", "tables")


def overall(correlations: pd.DataFrame) -> dict[str, float]:
    """Pearson and Spearman over all samples, as ``spearman.Q1.faithfulness road``."""
    rows = correlations[(correlations["scope"] == "overall") & correlations["estimate"].notna()]
    names = rows["method"] + "." + rows["question"] + "." + rows["metric"] + " " + rows["variant"]
    return dict(zip(names.str.strip(), rows["estimate"].astype(float), strict=True))
