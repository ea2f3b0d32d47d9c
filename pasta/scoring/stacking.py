"""Networks stacked along a leading axis, and the batches they see.

Questions of one set see the same batches as long as the same samples have votes on them; then they
share their features as well, and the first layer of all of them is one matrix product. If votes
are missing on some questions, each question has its own batches, of its own samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.params.scoring import ScorerParams
from pasta.scoring.base import Floats, Rated
from pasta.seeds import generator

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8
_AT_ONCE = 2**16


@dataclass(frozen=True)
class Group:
    """Networks that see the same batches: some questions of one set, which share its samples."""

    member: int  # which set
    questions: NDArray[np.int64]
    rows: NDArray[np.int64]  # of the set, those with votes


@dataclass(frozen=True)
class Batch:
    """One step of an epoch, the same in every epoch: only the samples change."""

    groups: int  # the first so many groups still have samples
    columns: slice  # of the epoch's order
    mask: Tensor | None  # groups x 1 x samples, if some have fewer


def grouped(sets: Sequence[Rated]) -> list[Group]:
    """Whole sets if all questions have votes on the same samples, else single questions.

    Sorted by size, the largest first, so that those with samples left are always in front.
    """
    groups = []
    given = [~np.isnan(one.labels) for one in sets]
    whole = all(bool((one == one[:, :1]).all()) for one in given)
    for member, mask in enumerate(given):
        questions = np.arange(mask.shape[1])
        for part in [questions] if whole else questions[:, None]:
            groups.append(Group(member, part, np.flatnonzero(mask[:, part[0]])))
    return sorted(groups, key=lambda group: -len(group.rows))


def places(groups: Sequence[Group], sets: int, questions: int) -> NDArray[np.int64]:
    """Where the network of each set and question stands among groups x questions."""
    found = np.zeros((sets, questions), np.int64)
    for number, group in enumerate(groups):
        together = len(group.questions)
        found[group.member, group.questions] = number * together + np.arange(together)
    return found


def plan(sizes: Sequence[int], batch_size: int) -> list[Batch]:
    """The steps of an epoch for groups of these decreasing sizes; no sample is dropped."""
    batches = []
    for start in range(0, sizes[0], batch_size):
        left = np.minimum([size - start for size in sizes if size > start], batch_size)
        mask = None
        if left.min() < left.max():
            here = np.arange(left.max()) < left[:, None, None]
            mask = torch.from_numpy(here.astype(np.float32))
        batches.append(Batch(len(left), slice(start, start + int(left.max())), mask))
    return batches


def first_weights(widths: Sequence[int], seed: int) -> list[Floats]:
    """Layers as PyTorch draws them: weights and bias within one over the root of the inputs."""
    rng = generator(seed, "weights")
    return [
        (rng.uniform(-1, 1, (inputs + 1, outputs)) / math.sqrt(inputs)).astype(np.float32)
        for inputs, outputs in pairwise(widths)
    ]


class Stack:
    """Weights of all networks; ``together`` of them share a group's batches.

    Each layer is one tensor whose last row is the bias: (groups, inputs + 1, questions * outputs)
    for the first, side by side for one product, and (groups * questions, inputs + 1, outputs) for
    the others. All networks of a group start alike.
    """

    def __init__(self, widths: Sequence[int], together: int, seeds: Sequence[int]) -> None:
        self.together = together
        starts = [first_weights(widths, seed) for seed in seeds]
        first, *others = (torch.from_numpy(np.stack(layer)) for layer in zip(*starts, strict=True))
        below = [layer.repeat_interleave(together, dim=0) for layer in others]
        self.layers = [first.repeat(1, 1, together), *below]

    def forward(self, features: Tensor, groups: slice) -> list[Tensor]:
        """Inputs of each layer for (groups x samples x inputs), and the outputs at the end.

        The outputs are groups x questions x samples.
        """
        every = self.together
        models = slice((groups.start or 0) * every, groups.stop * every)
        first = self.layers[0][groups]
        hidden = torch.baddbmm(first[:, -1:], features, first[:, :-1])
        hidden = hidden.view(*features.shape[:2], every, -1).transpose(1, 2).flatten(0, 1)
        inputs = [features]
        for layer in self.layers[1:]:
            inputs.append(hidden.relu_())
            hidden = torch.baddbmm(layer[models, -1:], inputs[-1], layer[models, :-1])
        return [*inputs, hidden.view(-1, every, features.shape[1])]

    def backward(self, inputs: Sequence[Tensor], slope: Tensor) -> list[Tensor]:
        """Slopes of the layers of the first groups from the slope in the outputs."""
        groups, every, samples = slope.shape
        found = []
        slope = slope.reshape(groups * every, samples, 1)
        for layer, given in zip(self.layers[:0:-1], inputs[:0:-1], strict=True):
            found.append(_slope_of_layer(given, slope))
            weight = layer[: groups * every, :-1]
            slope = through_relu(torch.bmm(slope, weight.transpose(1, 2)), given)
        slope = slope.view(groups, every, samples, -1).transpose(1, 2).flatten(2)
        found.append(_slope_of_layer(inputs[0], slope))
        return found[::-1]

    def copies(self) -> list[Tensor]:
        """All layers as (groups * questions) x (inputs + 1) x outputs."""
        first, *others = self.layers
        apart = first.view(*first.shape[:2], self.together, -1).transpose(1, 2).flatten(0, 1)
        return [layer.clone() for layer in (apart, *others)]


def through_relu(slope: Tensor, units: Tensor) -> Tensor:
    """The slope before ReLU from the one after it, in place: zero where a unit is zero."""
    torch.ops.aten.threshold_backward.grad_input(slope, units, 0, grad_input=slope)
    return slope


def _slope_of_layer(inputs: Tensor, slope: Tensor) -> Tensor:
    return torch.cat([torch.bmm(inputs.transpose(1, 2), slope), slope.sum(1, keepdim=True)], 1)


class Adam:
    """Adam for stacked networks, where each group counts its own steps.

    The update of doi:10.48550/arXiv.1412.6980 with the weight decay added to the slope, as
    ``torch.optim.Adam`` does it; large layers in pieces that stay in the cache.
    """

    def __init__(self, stack: Stack, groups: int, settings: ScorerParams) -> None:
        self._settings = settings
        self._weights = [layer.view(groups, -1) for layer in stack.layers]
        self._means = [torch.zeros_like(layer) for layer in self._weights]
        self._squares = [torch.zeros_like(layer) for layer in self._weights]
        self._steps = np.zeros((groups, 1))

    def step(self, slopes: Sequence[Tensor], groups: int) -> None:
        """Move the first groups; the others wait."""
        self._steps[:groups] += 1
        first, second = (1 - beta ** self._steps[:groups] for beta in _BETAS)
        rate = self._settings.learning_rate
        scale = torch.from_numpy((first / np.sqrt(second) / rate).astype(np.float32))
        least = torch.from_numpy((_EPSILON * first / rate).astype(np.float32))
        for weight, mean, square, slope in zip(
            self._weights, self._means, self._squares, slopes, strict=True
        ):
            for start in range(0, weight.shape[1], _AT_ONCE):
                part = slice(groups), slice(start, start + _AT_ONCE)
                own = slope.view(groups, -1)[part]
                self._move(weight[part], mean[part], square[part], own, scale, least)

    def _move(
        self,
        weight: Tensor,
        mean: Tensor,
        square: Tensor,
        slope: Tensor,
        scale: Tensor,
        least: Tensor,
    ) -> None:
        if self._settings.weight_decay:
            slope.add_(weight, alpha=self._settings.weight_decay)
        mean.lerp_(slope, 1 - _BETAS[0])
        square.mul_(_BETAS[1]).addcmul_(slope, slope, value=1 - _BETAS[1])
        weight.addcdiv_(mean, torch.addcmul(least, square.sqrt(), scale), value=-1)
