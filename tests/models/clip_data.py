"""A few drawn images and small settings for the tests of CLIP models."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pasta import compute
from pasta.datasets.build import build_dataset
from pasta.datasets.drawn.source import DrawnSource
from pasta.datasets.stored import open_dataset
from pasta.models.base import silent
from pasta.models.data import TrainingData
from pasta.models.settings import ClipParams, ClipTrainingParams

__all__ = ["SIZE", "TEMPLATE", "clip_params", "drawn_data", "silent"]
compute.limit_threads()
SIZE, TEMPLATE = 48, "a photo of a {}"


def clip_params(weights: str = "trained", **changes: Any) -> ClipParams:
    """Two epochs, the first on small images; ``changes`` are those of the training."""
    quick = {"epochs": 2, "learning_rate": 0.004, "batch_size": 16, "patience": 2}
    small = {"small_size": 32, "small_share": 0.5}
    training = ClipTrainingParams(**{**quick, **small, **changes})
    return ClipParams(weights=weights, image_size=SIZE, training=training)


def drawn_data(root: Path, name: str, counts: tuple[int, int, int] = (24, 8, 8)) -> TrainingData:
    folder = root / name
    source = DrawnSource(name, 0, counts)
    build_dataset(name, source, list(source.items()), SIZE, folder)
    params: Any = SimpleNamespace(clip=clip_params())
    return TrainingData(open_dataset(folder), 0, params, root)
