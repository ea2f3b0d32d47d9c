"""A trained classifier as an MLflow model, from code: MLflow stores no pickled Python object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import torch
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from pasta import compute
from pasta.config import load_params
from pasta.models.checkpoint import load
from pasta.models.data import as_tensor
from pasta.paths import project_root


class ServedClassifier(PythonModel):
    """Bytes (n x size x size x 3) in, class probabilities out."""

    def load_context(self, context: PythonModelContext) -> None:
        """Open the checkpoint beside the code."""
        folder = Path(context.artifacts["checkpoint"])
        self.model, self.card = load(folder, load_params(), project_root())

    def predict(
        self,
        context: PythonModelContext,
        model_input: np.ndarray,  # a type that MLflow takes as it is
        params: dict[str, Any] | None = None,
    ) -> Any:
        """Class probabilities, one row per image."""
        del context, params
        with torch.inference_mode():
            images = as_tensor(np.array(model_input))
            return compute.to_numpy(self.model.probabilities(images))


mlflow.models.set_model(ServedClassifier())
