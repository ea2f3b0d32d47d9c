"""One gradient loop for every network: AdamW, one-cycle schedule, flips, early stopping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pasta import compute
from pasta.errors import PastaError
from pasta.models.base import BlackBox, ConceptModel, History, Progress, torch_generator
from pasta.models.data import ModelContext, TrainingData, shrunk
from pasta.models.settings import GradientParams
from pasta.seeds import entropy

CLOUD_AXES = 3  # of batches: observations, coordinates, points
Schedule = torch.optim.lr_scheduler.LRScheduler


class Loss(Protocol):
    """The loss of one batch; ``flipped`` says which images were mirrored."""

    def __call__(self, images: Tensor, rows: Tensor, flipped: Tensor, /) -> Tensor: ...


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
        return criterion(model(images), data.labels[rows].to(images.device))

    def validate() -> float:
        return accuracy(model, data, "validation", settings.batch_size)

    return train(
        model, data, settings, loss=loss, validate=validate, purpose=purpose, progress=progress
    )


def fit_extractor(
    model: ConceptModel,
    data: TrainingData,
    settings: GradientParams,
    purpose: str,
    progress: Progress,
    loss: Loss,
) -> History:
    """Train the first half; early stopping looks at the concepts, not at the classes."""

    def validate() -> float:
        return concept_auc(model, data, "validation")

    return train(
        model.extractor,
        data,
        settings,
        loss=loss,
        validate=validate,
        purpose=purpose,
        progress=progress,
    )


def train(
    network: nn.Module,
    data: TrainingData,
    settings: GradientParams,
    *,
    loss: Loss,
    validate: Callable[[], float],
    purpose: str,
    progress: Progress,
) -> History:
    """Train in place and keep the weights of the best epoch.

    ``validate`` gives the validation score of the network as it is, higher is better. Training
    stops after ``patience`` epochs without a better one.
    """
    random = torch_generator(data.seed, "train", data.name, purpose)
    rows = data.rows("train")
    optimizer, schedule = optimizer_of(network, settings, len(rows))
    history, best, waited = History(), float("-inf"), 0
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    for epoch in range(settings.epochs):
        small = epoch < round(settings.small_share * settings.epochs)
        size = settings.small_size if small else data.size
        network.train()
        order = rows[torch.randperm(len(rows), generator=random)]
        losses: list[tuple[Tensor, int]] = []
        for batch, images in data.batches(order, settings.batch_size):
            flipped = torch.rand(len(batch), generator=random) < 0.5
            value = step(loss, optimizer, images, batch, flipped, size)
            schedule.step()
            losses.append((value, len(batch)))
        mean = sum(float(value) * count for value, count in losses) / len(rows)
        if mean != mean:  # noqa: PLR0124 (only NaN differs from itself)
            raise PastaError(
                f"{data.name}/{purpose}: the loss is not a number in epoch {epoch + 1}"
            )
        score = validate()
        history.add(loss=mean, validation=score)
        words = f"epoch {epoch + 1}/{settings.epochs}, loss {mean:.3f}, validation {score:.1%}"
        progress(words, epoch + 1, settings.epochs)
        # Batch statistics of small images are no use at full size: such epochs are not kept.
        if small:
            continue
        if score > best:
            best, waited, history.best_epoch = score, 0, epoch + 1
            kept = {name: value.clone() for name, value in network.state_dict().items()}
        else:
            waited += 1
            if waited >= settings.patience:
                break
    network.load_state_dict(kept)
    network.eval()
    return history


def step(
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    images: Tensor,
    rows: Tensor,
    flipped: Tensor,
    size: int,
) -> Tensor:
    """One step on one batch, mirrored as ``flipped`` says; returns the loss."""
    with compute.autocast(images.device):
        value = loss(shrunk(mirrored(images, flipped), size), rows, flipped)
    optimizer.zero_grad(set_to_none=True)
    value.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return value.detach()


def mirrored(inputs: Tensor, flipped: Tensor) -> Tensor:
    """Images and volumes mirrored along their last axis, clouds (n, 3, points) at x = 0."""
    chosen = flipped.to(inputs.device).view(-1, *[1] * (inputs.ndim - 1))
    if inputs.ndim == CLOUD_AXES:
        other = torch.cat([-inputs[:, :1], inputs[:, 1:]], 1)
    else:
        other = inputs.flip(-1)
    return torch.where(chosen, other, inputs)


def optimizer_of(
    network: nn.Module, settings: GradientParams, images: int
) -> tuple[torch.optim.Optimizer, Schedule]:
    """AdamW for everything that has a gradient, and its one-cycle schedule."""
    trained = [value for value in network.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(
        trained,
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=has_fused(compute.device_of(network)),
    )
    # of fewer than six, the fifth in which the rate rises would be no step at all
    steps = max(settings.epochs * -(-images // settings.batch_size), 6)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.learning_rate, total_steps=steps, pct_start=0.2
    )
    return optimizer, schedule


def has_fused(where: torch.device) -> bool:
    """Whether torch has an optimiser there that steps all parameters at once."""
    return where.type in ("cpu", "cuda")


def accuracy(network: nn.Module, data: TrainingData, split: str, batch_size: int = 128) -> float:
    """Share of the split's images whose largest logit is the label's."""
    rows = data.rows(split)
    predicted = outputs(network, data, rows, batch_size).argmax(1)
    return float((predicted == data.labels[rows]).float().mean())


def outputs(
    network: Callable[[Tensor], Tensor], data: TrainingData, rows: Tensor, batch_size: int = 128
) -> Tensor:
    """The network's outputs for these rows, in main memory; in evaluation mode, full precision."""
    if isinstance(network, nn.Module):
        network.eval()
    with torch.inference_mode():
        parts = [network(images).cpu() for _, images in data.batches(rows, batch_size)]
    return torch.cat(parts).clone()


def seen_concepts(data: TrainingData) -> Tensor:
    """For every concept, whether any training image shows it."""
    return data.presence[data.rows("train")].amax(0) > 0


def mean_auc(scores: Tensor, presence: Tensor) -> float:
    """Mean area under the ROC curve of the concepts that some images show and others do not."""
    ranks = scores.argsort(0).argsort(0).double() + 1
    shown = presence.double().sum(0)
    hidden = len(presence) - shown
    useful = (shown > 0) & (hidden > 0)
    area = ((ranks * presence).sum(0) - shown * (shown + 1) / 2) / (shown * hidden)
    return float(area[useful].mean()) if bool(useful.any()) else 0.5


def concept_auc(model: ConceptModel, data: TrainingData, split: str) -> float:
    """How well the concept scores of a split tell images with a concept from those without."""
    rows, seen = data.rows(split), seen_concepts(data)
    scores = outputs(model.extractor, data, rows)
    return mean_auc(scores[:, seen], data.presence[rows][:, seen])
