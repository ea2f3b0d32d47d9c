"""Training of many scoring networks at once: every question of every training set.

All of an epoch is indexed in tensors. Stacking changes nothing but rounding: start and batches
depend on the seed of the set and on the number of samples, and a group with fewer batches in an
epoch waits until the others have finished theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.params.scoring import LossParams, ScorerParams
from pasta.scoring.base import Rated
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.losses import Pairs, Term, scoring_loss
from pasta.scoring.networks import Network, Output
from pasta.scoring.stacking import Adam, Batch, Group, Stack, grouped, places, plan
from pasta.seeds import generator

Watch = Callable[[int, int], None]  # epochs done and all epochs


@dataclass(frozen=True)
class Trained:
    """The networks of each set, and how training went: epochs or looks x sets x questions."""

    networks: list[Network]
    losses: NDArray[np.float64]  # mean over the samples of each epoch
    kappas: NDArray[np.float64]  # of validation, at each look


@torch.inference_mode()  # slopes are in closed form; saves a tenth of the time of small steps
def train_many(
    train: Sequence[Rated],
    validation: Sequence[Rated],
    settings: ScorerParams,
    seeds: Sequence[int],
    output: Output,
    pairs: Pairs,
    watch: Watch | None = None,
) -> Trained:
    """Train a network for each set and question with Adam.

    The weights kept are those of the best look at the validation set by quadratic kappa (of equal
    ones the first), or the last ones if kappa was never defined.
    """
    groups = grouped(train)
    own_seeds = [seeds[group.member] for group in groups]
    widths = (train[0].features.shape[1], *settings.hidden, 1)
    stack = Stack(widths, len(groups[0].questions), own_seeds)
    adam = Adam(stack, len(groups), settings)
    loss = _loss(settings.loss, pairs, output.relu)
    table = _Table(train, groups, output)
    batches = plan(table.sizes, settings.batch_size)
    orders = [generator(seed, "batches") for seed in own_seeds]
    look, best = _Look(validation, groups), _Best(stack)
    losses = np.zeros((settings.epochs, len(groups), stack.together))
    for epoch in range(settings.epochs):
        table.shuffle(orders)
        losses[epoch] = _epoch(stack, adam, table, batches, loss)
        if (epoch + 1) % settings.evaluate_every == 0 or epoch + 1 == settings.epochs:
            best.consider(epoch + 1, look.kappas(stack, output), stack)
        if watch is not None:
            watch(epoch + 1, settings.epochs)
    place = places(groups, len(train), train[0].labels.shape[1])
    return Trained(
        best.networks(place, output),
        losses.reshape(len(losses), -1)[:, place],
        np.stack(best.seen)[:, place],
    )


class _Table:
    """Features and targets of all sets, one below the other, and the order of an epoch."""

    def __init__(self, sets: Sequence[Rated], groups: Sequence[Group], output: Output) -> None:
        self._features = _stacked([one.features for one in sets])
        self._targets = _stacked([output.targets(one.labels) for one in sets])
        starts = np.cumsum([0, *(len(one) for one in sets)])
        self._rows = [starts[group.member] + group.rows for group in groups]
        self.sizes = [len(rows) for rows in self._rows]
        self._questions = torch.from_numpy(np.stack([group.questions for group in groups]))
        self._order = torch.zeros(len(groups), self.sizes[0], dtype=torch.int64)
        self._largest = self._features.new_empty(0, self._features.shape[1])
        self._in_order = torch.empty(0)  # targets: groups x questions x samples

    def shuffle(self, orders: Sequence[np.random.Generator]) -> None:
        """A new order of each group's samples."""
        for group, (rows, order) in enumerate(zip(self._rows, orders, strict=True)):
            self._order[group, : len(rows)] = torch.from_numpy(order.permutation(rows))
        self._in_order = self._targets[self._order[:, None], self._questions[:, :, None]]

    def _room(self, rows: int) -> Tensor:
        """Memory for the features of a batch; fetching it anew takes longer than the copy."""
        if self._largest.shape[0] < rows:
            self._largest = self._features.new_empty(rows, self._features.shape[1])
        return self._largest[:rows]

    def batch(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Features (groups x samples x inputs) and targets (groups x questions x samples)."""
        rows = self._order[: batch.groups, batch.columns]
        room = self._room(rows.numel())
        features = torch.index_select(self._features, 0, rows.flatten(), out=room)
        targets = self._in_order[: batch.groups, :, batch.columns]
        if batch.mask is not None:  # what stands in for no sample may have no label
            targets = torch.where(batch.mask > 0, targets, 0.0)
        return features.view(*rows.shape, -1), targets


def _stacked(arrays: Sequence[NDArray[np.float32]]) -> Tensor:
    """Arrays one below the other; a single one is not copied."""
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return torch.from_numpy(np.require(whole, np.float32, ["C", "W"]))


def _epoch(
    stack: Stack,
    adam: Adam,
    table: _Table,
    batches: Sequence[Batch],
    loss: Callable[[Tensor, Tensor, Tensor | None], Term],
) -> NDArray[np.float64]:
    """One step for each batch; the mean loss of each network."""
    total = torch.zeros(len(table.sizes), stack.together)
    for batch in batches:
        features, targets = table.batch(batch)
        *inputs, given = stack.forward(features, slice(batch.groups))
        value, slope = loss(given, targets, batch.mask)
        adam.step(stack.backward(inputs, slope), batch.groups)
        samples = targets.shape[-1] if batch.mask is None else batch.mask.sum(-1)
        total[: batch.groups].add_(value * samples)
    mean: NDArray[np.float64] = total.numpy() / np.array(table.sizes)[:, None]
    return mean


def _loss(settings: LossParams, pairs: Pairs, relu: bool) -> Callable[..., Term]:
    """The loss as a function of what the last layer gives."""

    def loss(given: Tensor, targets: Tensor, mask: Tensor | None) -> Term:
        if not relu:
            return scoring_loss(given, targets, settings, pairs, mask)
        cut = given.relu()
        value, slope = scoring_loss(cut, targets, settings, pairs, mask)
        return value, slope.mul_(cut.sign())

    return loss


class _Look:
    """The validation sets, ready to be looked at."""

    def __init__(self, sets: Sequence[Rated], groups: Sequence[Group]) -> None:
        tensors = [_stacked([one.features]) for one in sets]
        self._features = [tensors[group.member][None] for group in groups]
        self._labels = [sets[group.member].labels.T[group.questions] for group in groups]

    def kappas(self, stack: Stack, output: Output) -> NDArray[np.float64]:
        """Quadratic kappa of each network, groups * questions."""
        counts = []
        for group, (features, labels) in enumerate(zip(self._features, self._labels, strict=True)):
            given = stack.forward(features, slice(group, group + 1))[-1][0]
            counts.append(star_counts(labels, output.stars(given.numpy())))
        return quadratic_kappa(np.concatenate(counts))


class _Best:
    """The weights of the best look so far."""

    def __init__(self, stack: Stack) -> None:
        self._layers = stack.copies()
        self._kappa = np.full(len(self._layers[0]), -np.inf)
        self._epoch = np.zeros(len(self._layers[0]), np.int64)
        self.seen: list[NDArray[np.float64]] = []

    def consider(self, epoch: int, kappas: NDArray[np.float64], stack: Stack) -> None:
        """Keep what is better than before; as long as kappa is undefined, the latest."""
        self.seen.append(kappas)
        found = np.where(np.isnan(kappas), -np.inf, kappas)
        better = (found > self._kappa) | np.isneginf(self._kappa)
        self._kappa[better], self._epoch[better] = found[better], epoch
        rows = torch.from_numpy(np.flatnonzero(better))
        if len(rows):
            for kept, now in zip(self._layers, stack.copies(), strict=True):
                kept[rows] = now[rows]

    def networks(self, place: NDArray[np.int64], output: Output) -> list[Network]:
        """One network of all questions for each set."""
        arrays = [layer.numpy() for layer in self._layers]
        return [
            Network(
                tuple(array[one, :-1] for array in arrays),
                tuple(array[one, -1] for array in arrays),
                output,
                {
                    "best_epoch": [int(epoch) for epoch in self._epoch[one]],
                    "validation_qwk": [_defined(kappa) for kappa in self._kappa[one]],
                },
            )
            for one in place
        ]


def _defined(kappa: np.float64) -> float | None:
    return float(kappa) if np.isfinite(kappa) else None
