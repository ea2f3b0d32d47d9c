"""A small benchmark on disk: six images of noise, two untrained classifiers, few quick metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pasta.benchmark.catalog import all_metrics
from pasta.benchmark.material import BenchmarkSource, Observed, apply_settings
from pasta.benchmark.runner import Study, benchmark_dataset
from pasta.benchmark.settings import BenchmarkParams
from pasta.benchmark.tables import BENCHMARK_VALUES
from pasta.config import Params
from pasta.datasets.vocabulary import vocabulary
from pasta.layout import Group
from pasta.metrics import catalog as metric_catalog
from pasta.paths import DATA
from pasta.resume import KeptUnits
from pasta.seeds import generator
from tests.metrics.small_stage import DATASET, PARAMS, write_project

__all__ = [
    "DATASET",
    "METHODS",
    "METRICS",
    "made_up",
    "observed",
    "params",
    "study",
    "write_project",
]

METHODS = ("VG", "GC", "EG", "RA")
METRICS = ("FC", "SUF", "MS", "SP")
OWN = """
import torch

def edges(model, images, targets):
    return images.mean(1).diff(dim=-1, append=images.mean(1)[..., -1:])

def nothing(model, images, targets):
    return torch.zeros(len(images), *images.shape[2:])

def broken(model, images, targets):
    return torch.full((len(images), *images.shape[2:]), float("nan"))
"""


def params(**changes: Any) -> Params:
    """The demo with a small benchmark."""
    plain = {
        "datasets": (DATASET,),
        "methods": METHODS,
        "metrics": METRICS,
        "observations": 4,
        "sizes": "demo",
        **changes,
    }
    return PARAMS.model_copy(update={"benchmark": BenchmarkParams(**plain)})


def study(
    group: Group, own: tuple[str, ...] = (), kept: KeptUnits | None = None, **changes: Any
) -> Study:
    """Run the study of the group's dataset."""
    root = group.data.parent.parent
    out = group.data / "benchmark" / DATASET
    return benchmark_dataset(DATASET, params(**changes), root, root / DATA, out, kept, own)


def observed(group: Group, **changes: Any) -> Observed:
    """What units of the main reading open, after the study has run."""
    root, given = group.data.parent.parent, params(**changes)
    maps = group.data / "benchmark" / DATASET / "maps" / "corrected"
    own = apply_settings(given, vocabulary(DATASET), "corrected")
    return Observed(
        BenchmarkSource(
            "test", root, own, DATASET, root / DATA, maps, "corrected", given.benchmark.observations
        )
    )


def write_own(folder: Path) -> None:
    """A module with methods of a user."""
    (folder / "own_study.py").write_text(OWN)


def made_up(
    methods: tuple[str, ...],
    datasets: tuple[str, ...] = ("catsdogscars", "coco"),
    models: tuple[str, ...] = ("resnet50", "efficientnet_b0", "vit_b_16"),
    metrics: tuple[str, ...] = (),
    observations: int = 5,
    reading: str = "corrected",
    pull: float = 0.5,
) -> pd.DataFrame:
    """Values in which the first method is the best by every metric, the second next, ..."""
    random = generator(0, "made up", reading)
    better = {
        one.key: metric_catalog.METRICS.entry(one.key).metadata["direction"]
        for one in all_metrics()
    }
    rows: list[dict[str, Any]] = [
        {
            "dataset": dataset,
            "model": model,
            "method": method,
            "metric": metric.key,
            "criterion": metric.criterion,
            "image_id": f"{image:04d}",
            "value": (1 if better[metric.key] == "higher" else -1)
            * (random.normal() - pull * number),
            "direction": better[metric.key],
            "status": "ok",
            "reading": reading,
        }
        for dataset in datasets
        for model in models
        for number, method in enumerate(methods)
        for metric in all_metrics()
        if not metrics or metric.key in metrics
        for image in range(observations)
    ]
    return BENCHMARK_VALUES.frame(rows)


def without_values(values: pd.DataFrame, rows: pd.Series[bool], status: str) -> pd.DataFrame:
    """Some of the values are not there."""
    return values.assign(
        value=values["value"].where(~rows, np.nan), status=values["status"].where(~rows, status)
    )
