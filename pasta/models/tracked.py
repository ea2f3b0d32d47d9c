"""What MLflow gets to know about a trained classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pasta.models.data import TrainingData
from pasta.tracking import LARGEST_ARTIFACT, Run, quiet

SERVED = Path(__file__).with_name("served.py")


def register(run: Run, data: TrainingData, name: str, folder: Path) -> None:
    """Register a checkpoint as ``{dataset}-{model}`` with a signature and an input example.

    Large weights stay in DVC; then the run only carries the card with their md5.
    """
    import mlflow
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    size = sum(file.stat().st_size for file in folder.iterdir())
    if size > 20 * LARGEST_ARTIFACT:
        run.log_file(folder / "model.json")
        return
    side = data.size
    signature = ModelSignature(
        Schema([TensorSpec(np.dtype("uint8"), (-1, side, side, 3))]),
        Schema([TensorSpec(np.dtype("float32"), (-1, len(data.classes)))]),
    )
    with quiet():
        mlflow.pyfunc.log_model(
            name="model",
            python_model=str(SERVED),
            artifacts={"checkpoint": str(folder)},
            signature=signature,
            input_example=_example(data),
            pip_requirements=["pasta-xai"],
            registered_model_name=f"{data.name}-{name}",
        )


def _example(data: TrainingData) -> Any:
    row = data.rows("test")[:1].numpy()
    return np.ascontiguousarray(data.dataset.pixels[row])
