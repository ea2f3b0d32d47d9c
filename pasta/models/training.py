"""One gradient loop for every network: AdamW, one-cycle schedule, flips, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.models.base import History, Progress, torch_generator
from pasta.models.data import TrainingData, shrunk
from pasta.params.networks import GradientParams


class Loss(Protocol):
    """The loss of one batch; ``flipped`` says which images were mirrored."""

    def __call__(self, images: Tensor, rows: Tensor, flipped: Tensor, /) -> Tensor: ...


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
    optimizer, schedule = _optimizer(network, settings, len(rows))
    history, best, waited = History(), float("-inf"), 0
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    for epoch in range(settings.epochs):
        small = epoch < round(settings.small_share * settings.epochs)
        size = settings.small_size if small else data.size
        mean = _epoch(
            network, data, rows, settings.batch_size, size, loss, optimizer, schedule, random
        )
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


def accuracy(network: nn.Module, data: TrainingData, split: str, batch_size: int = 128) -> float:
    """Share of the split's images whose largest logit is the label's."""
    rows = data.rows(split)
    predicted = outputs(network, data, rows, batch_size).argmax(1)
    return float((predicted == data.labels[rows]).float().mean())


def outputs(
    network: Callable[[Tensor], Tensor], data: TrainingData, rows: Tensor, batch_size: int = 128
) -> Tensor:
    """The network's outputs for these rows, without gradients, in evaluation mode."""
    if isinstance(network, nn.Module):
        network.eval()
    with torch.inference_mode():
        parts = [network(images) for _, images in data.batches(rows, batch_size)]
    return torch.cat(parts).clone()


def _optimizer(
    network: nn.Module, settings: GradientParams, images: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    trained = [value for value in network.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(
        trained, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    steps = settings.epochs * -(-images // settings.batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.learning_rate, total_steps=steps, pct_start=0.2
    )
    return optimizer, schedule


def _epoch(
    network: nn.Module,
    data: TrainingData,
    rows: Tensor,
    batch_size: int,
    size: int,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    random: torch.Generator,
) -> float:
    network.train()
    order = rows[torch.randperm(len(rows), generator=random)]
    total = 0.0
    for batch, images in data.batches(order, batch_size):
        flipped = torch.rand(len(batch), generator=random) < 0.5
        mirrored = torch.where(flipped[:, None, None, None], images.flip(3), images)
        value = loss(shrunk(mirrored, size), batch, flipped)
        optimizer.zero_grad(set_to_none=True)
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        total += value.item() * len(batch)
    return total / len(rows)
