"""What the trained black boxes have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pasta.models.base import BlackBox, History, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.training import accuracy, train
from pasta.params.networks import GradientParams
from pasta.seeds import entropy


@contextmanager
def seeded(context: ModelContext, purpose: str) -> Iterator[None]:
    """Draw initial weights from (seed, dataset, purpose) and leave torch's own state alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entropy(context.seed, "weights", context.name, purpose) % 2**63)
        yield


def fit_black_box(
    model: BlackBox,
    data: TrainingData,
    settings: GradientParams,
    purpose: str,
    progress: Progress,
    criterion: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
) -> History:
    """Train on the labels, early stopping on validation accuracy."""

    def loss(images: Tensor, rows: Tensor, _flipped: Tensor) -> Tensor:
        return criterion(model(images), data.labels[rows])

    def validate() -> float:
        return accuracy(model, data, "validation", settings.batch_size)

    return train(
        model, data, settings, loss=loss, validate=validate, purpose=purpose, progress=progress
    )
