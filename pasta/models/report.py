"""One MLflow run for each trained classifier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pasta import store
from pasta.datasets.stored import open_dataset
from pasta.layout import Group
from pasta.models.base import MODELS
from pasta.models.suite import Trained
from pasta.tracking import LARGEST_ARTIFACT, Run, quiet, tracked_run

SERVED = Path(__file__).with_name("served.py")


@contextmanager
def tracked(group: Group, trained: Trained) -> Iterator[Run]:
    """One run: settings, curves, scores, the data's md5s and the registered model.

    Figures are added by the caller.
    """
    name, card, score = trained.name, trained.card, trained.score
    with tracked_run(
        "classifiers",
        "train",
        f"{group.key}-{name}",
        inputs=[group.images],
        params={"dataset": group.dataset, "model": name, **card["settings"]},
    ) as run:
        tags = {"group": group.key, "dataset": group.dataset, "model": name, "title": _title(name)}
        run.set_tags(tags)
        run.log_metrics(
            {
                **{
                    measure + suffix: score[measure][key]
                    for measure in ("accuracy", "macro_f1")
                    for key, suffix in {"estimate": "", "low": "_low", "high": "_high"}.items()
                },
                "seconds": trained.seconds,
                "parameters": card["parameters"],
            }
        )
        for curve, values in trained.history.curves.items():
            run.log_curve(curve, values)
        register(run, group, name)
        yield run


def register(run: Run, group: Group, name: str) -> None:
    """Register a checkpoint as ``{group}-{model}`` with a signature and an input example.

    Large weights stay in DVC; then the run only carries the card with their md5.
    """
    import mlflow  # not before the run is open: its telemetry must be off by then
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    folder, pixels = group.models / name, open_dataset(group.images).pixels
    if sum(file.stat().st_size for file in folder.iterdir()) > 20 * LARGEST_ARTIFACT:
        run.log_file(folder / "model.json")
        return
    classes = len(store.read_json(folder / "model.json")["classes"])
    signature = ModelSignature(
        Schema([TensorSpec(np.dtype("uint8"), (-1, *pixels.shape[1:]))]),
        Schema([TensorSpec(np.dtype("float32"), (-1, classes))]),
    )
    with quiet():
        mlflow.pyfunc.log_model(
            name="model",
            python_model=str(SERVED),
            artifacts={"checkpoint": str(folder)},
            signature=signature,
            input_example=np.array(pixels[:1]),
            pip_requirements=["pasta-xai"],
            registered_model_name=f"{group.key}-{name}",
        )


def _title(name: str) -> str:
    return str(MODELS.entry(name).metadata["title"])
