"""Scores of a suite of classifiers, and one MLflow run for each that was trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.classification import classification_scores, confusion
from pasta import store
from pasta.datasets.stored import CONCEPTS, IMAGES, PIXELS, REGIONS
from pasta.models.base import MODELS
from pasta.models.catalog import ORDER
from pasta.models.data import TrainingData
from pasta.models.suite import Trained, settings
from pasta.models.tracked import register
from pasta.tracking import tracked_run

Score = dict[str, Any]
Figures = tuple[Callable[..., Any], Callable[..., Any]]  # learning curves, confusion


def describe(data: TrainingData, trained: Trained) -> Score:
    """Accuracy and macro-F1 with intervals, kind and size of a model."""
    labels = data.labels[data.rows("test")].numpy()
    predicted = trained.probabilities.argmax(1).numpy()
    table = classification_scores(labels, predicted, len(data.classes), seed=data.seed)
    measures = {
        str(row["measure"]): {key: round(float(row[key]), 4) for key in ("estimate", "low", "high")}
        for row in table.to_dict("records")
    }
    return {
        **measures,
        "n": len(labels),
        "kind": trained.model.kind,
        "parameters": trained.card["parameters"],
    }


def collect(files: Mapping[str, Path]) -> pd.DataFrame:
    """The scores of several datasets as one tidy table."""
    rows = [
        {"dataset": dataset, "model": model, "measure": measure, "n": own["n"], **own[measure]}
        for dataset, file in files.items()
        for model, own in store.read_json(file).items()
        for measure in ("accuracy", "macro_f1")
    ]
    return pd.DataFrame(rows)


def titles() -> dict[str, str]:
    """How the papers call the models, in their order."""
    return {name: _title(name) for name in ORDER}


def track(data: TrainingData, trained: Trained, folder: Path, own: Score, figures: Figures) -> None:
    """One run: settings, curves, confusion, scores, the data's md5s and the registered model."""
    name, history = trained.name, trained.history
    inputs = [folder / file for file in (IMAGES, REGIONS, CONCEPTS, PIXELS)]
    record = folder / "models" / f"{name}.run.json"
    sections = {
        "dataset": data.name,
        "model": name,
        **settings(data, name).model_dump(mode="json"),
    }
    with tracked_run(
        "classifiers", "train", f"{data.name}-{name}",
        inputs=inputs, params=sections, record=record,
    ) as run:  # fmt: skip
        run.set_tags({"dataset": data.name, "model": name, "title": _title(name)})
        run.log_metrics(
            {
                "accuracy": own["accuracy"]["estimate"],
                "accuracy_low": own["accuracy"]["low"],
                "accuracy_high": own["accuracy"]["high"],
                "macro_f1": own["macro_f1"]["estimate"],
                "macro_f1_low": own["macro_f1"]["low"],
                "macro_f1_high": own["macro_f1"]["high"],
                "seconds": trained.card["seconds"],
                "parameters": own["parameters"],
            }
        )
        if history is not None and history.curves:
            for curve, values in history.curves.items():
                run.log_curve(curve, values)
            run.log_figure(figures[0](history.curves, history.best_epoch), "curves.png")
        labels = data.labels[data.rows("test")].numpy()
        counts = confusion(labels, trained.probabilities.argmax(1).numpy(), len(data.classes))
        run.log_figure(figures[1](counts, data.classes), "confusion.png")
        register(run, data, name, folder / "models" / name)


def _title(name: str) -> str:
    return str(MODELS.entry(name).metadata["title"])
