"""What the models of volumes and point clouds share: their recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pasta.models.base import BlackBox, History, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.training import fit_black_box, seeded


@dataclass(frozen=True)
class SolidRecipe:
    """Cross-entropy from random weights."""

    key: str
    make: Callable[[ModelContext, Any], BlackBox]  # from a dataset and the settings of the model

    def build(self, context: ModelContext, settings: Any) -> BlackBox:
        """A network with random weights."""
        with seeded(context, self.key):
            return self.make(context, settings)

    def fit(
        self, model: BlackBox, data: TrainingData, settings: Any, progress: Progress
    ) -> History:
        """Train all layers."""
        with seeded(data, f"{self.key} dropout"):  # torch draws it from its own state
            return fit_black_box(model, data, settings.training, self.key, progress)
