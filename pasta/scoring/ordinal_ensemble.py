"""The second part of the ordinal scorer: small networks with a cumulative-link output.

A member has one hidden layer (ReLU) that all questions share, a latent number for each question and
ordered thresholds of its own; it learns from the counts of votes by their likelihood
(:mod:`pasta.scoring.ordinal_likelihood`). Members differ in their first layer; what they answer is
averaged (Lakshminarayanan et al. 2017, doi:10.48550/arXiv.1612.01474).

Training takes a fixed number of steps. The likelihood of validation votes would stop it much
earlier, since a member soon becomes too sure of itself; but the order of its expected votes still
improves then, and being too sure is mended by the average with the linear model, by the line to the
labels and by the conformal intervals.

All members of all sets are trained in one run. Each set goes through its samples again and again,
in an order drawn anew each time, and takes the same number of them for every step: so sets of
different sizes are stacked without padding, and stacking changes nothing but rounding. Members of
one set see the same batches, so their first layers are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pasta.params.ordinal import OrdinalParams
from pasta.scoring.base import Floats, Rated
from pasta.scoring.ordinal_fit import PRIOR_VOTES, standardise
from pasta.scoring.ordinal_likelihood import (
    CUTS,
    Doubles,
    distribution,
    free_of_shares,
    thresholds_of,
)
from pasta.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

_SPREAD = 2.0  # deviation of a hidden unit before its ReLU, at the start
_BIAS = 0.1  # deviation of its bias


@dataclass(frozen=True)
class Ensemble:
    """Trained members, for features as :class:`pasta.scoring.ordinal_fit.Standard` gives them."""

    member_first: Floats  # members x features x hidden
    member_bias: Floats  # members x hidden
    member_second: Floats  # members x hidden x questions
    member_thresholds: Doubles  # members x questions x 4

    def chances(self, standardised: Doubles) -> Doubles:
        """The members' mean chance of each star, samples x questions x 5."""
        total = np.zeros((len(standardised), *self.member_thresholds.shape[1:2], CUTS + 1))
        for first, bias, second, cuts in zip(
            self.member_first.astype(np.float64),
            self.member_bias.astype(np.float64),
            self.member_second.astype(np.float64),
            self.member_thresholds,
            strict=True,
        ):
            total += distribution(np.maximum(standardised @ first + bias, 0) @ second, cuts)
        result: Doubles = total / len(self.member_first)
        return result


@dataclass(frozen=True)
class Layers:
    """Weights of the members of all sets, or the slopes in them."""

    first: Tensor  # sets x features x (members * hidden)
    bias: Tensor  # sets x 1 x (members * hidden)
    second: Tensor  # sets x members x hidden x questions
    free: Tensor  # sets x members x questions x 4: the first threshold and logarithms of gaps

    def all(self) -> list[Tensor]:
        """The tensors, in the order of the fields."""
        return [self.first, self.bias, self.second, self.free]


def train_ensembles(
    train: Sequence[Rated], settings: OrdinalParams, seeds: Sequence[int]
) -> list[Ensemble]:
    """The ensemble of each set and seed, trained side by side with AdamW."""
    import torch

    standards = [standardise(one.features) for one in train]
    # Adam moves all weights alike, whatever their inputs: these should have deviation 1
    widths = [np.sqrt(max(int(np.isfinite(one.scale).sum()), 1)) for one in standards]
    features = [
        torch.from_numpy((standard(one.features) * width).astype(np.float32))
        for one, standard, width in zip(train, standards, widths, strict=True)
    ]
    counts = [torch.from_numpy(one.counts.astype(np.float32)) for one in train]
    votes = torch.tensor([max(float(one.sum()) / one.shape[1], 1.0) / len(one) for one in counts])
    layers = starts(train, settings, seeds)
    optimiser = torch.optim.AdamW(
        [
            {"params": [layers.first, layers.second], "weight_decay": settings.weight_decay},
            {"params": [layers.bias, layers.free], "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        fused=True,
    )
    orders = [
        torch.from_numpy(batches(len(one), settings, seed))
        for one, seed in zip(train, seeds, strict=True)
    ]
    scale = votes[:, None, None, None] * settings.batch_size
    with torch.inference_mode():  # the slopes are in closed form
        size = (len(train), settings.batch_size)
        seen = torch.empty(*size, *features[0].shape[1:])
        given = torch.empty(*size, *counts[0].shape[1:])
        for step in range(settings.steps):
            for place, order in enumerate(orders):
                torch.index_select(features[place], 0, order[step], out=seen[place])
                torch.index_select(counts[place], 0, order[step], out=given[place])
            found = slopes(layers, seen, given, scale)
            for weight, slope in zip(layers.all(), found.all(), strict=True):
                weight.grad = slope
            optimiser.step()
    return [_ensemble(layers, number, float(width)) for number, width in enumerate(widths)]


def starts(train: Sequence[Rated], settings: OrdinalParams, seeds: Sequence[int]) -> Layers:
    """Random first layers, no second ones: at first all members give the shares of the votes."""
    import torch

    width, questions = train[0].features.shape[1], train[0].counts.shape[1]
    members, hidden = settings.members, settings.hidden
    first = np.zeros((len(train), width, members, hidden), np.float32)
    bias = np.zeros((len(train), 1, members, hidden), np.float32)
    free = np.zeros((len(train), members, questions, CUTS), np.float32)
    for number, (one, seed) in enumerate(zip(train, seeds, strict=True)):
        total = one.counts.sum(axis=0) + PRIOR_VOTES / (CUTS + 1)
        free[number] = free_of_shares(total / total.sum(axis=1, keepdims=True))
        for member in range(members):
            random = generator(seed, "ordinal member", member)
            first[number, :, member] = random.standard_normal((width, hidden))
            bias[number, :, member] = random.standard_normal(hidden)
    first *= _SPREAD / np.sqrt(width)
    bias *= _BIAS
    return Layers(
        torch.from_numpy(first.reshape(len(train), width, -1)),
        torch.from_numpy(bias.reshape(len(train), 1, -1)),
        torch.zeros(len(train), members, hidden, questions),
        torch.from_numpy(free),
    )


def batches(samples: int, settings: OrdinalParams, seed: int) -> NDArray[np.int64]:
    """Rows of every step, steps x batch size: all samples in a new order, again and again."""
    random = generator(seed, "ordinal batches")
    rows = settings.steps * settings.batch_size
    orders = [random.permutation(samples) for _ in range(-(-rows // samples))]
    return np.concatenate(orders)[:rows].reshape(settings.steps, settings.batch_size)


def slopes(layers: Layers, features: Tensor, counts: Tensor, scale: Tensor) -> Layers:
    """Slopes of the negative log likelihood divided by ``scale`` (sets x 1 x 1 x 1).

    ``features`` are sets x samples x features, ``counts`` sets x samples x questions x 5.
    """
    import torch

    from pasta.scoring.stacking import through_relu

    sets, members, hidden, questions = layers.second.shape
    samples = features.shape[1]
    second = layers.second.reshape(sets * members, hidden, questions)
    units = torch.baddbmm(layers.bias, features, layers.first).relu_()
    units = units.view(sets, samples, members, hidden).transpose(1, 2).flatten(0, 1)
    latent = torch.bmm(units, second).view(sets, members, samples, questions)
    at_latent, at_free = _likelihood_slopes(latent, layers.free, counts[:, None])
    at_latent = (at_latent / scale).view(sets * members, samples, questions)
    at_second = torch.bmm(units.transpose(1, 2), at_latent).view_as(layers.second)
    at_units = through_relu(torch.bmm(at_latent, second.transpose(1, 2)), units)
    at_units = at_units.view(sets, members, samples, hidden).transpose(1, 2).flatten(2)
    at_first = torch.bmm(features.transpose(1, 2), at_units)
    return Layers(at_first, at_units.sum(1, keepdim=True), at_second, at_free / scale)


def _likelihood_slopes(latent: Tensor, free: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Slopes in the latent numbers and in the thresholds' free numbers.

    The formulas of :func:`pasta.scoring.ordinal_likelihood.negative_log_likelihood`, stacked.
    """
    import torch

    gaps = free[..., 1:].exp()
    cuts = torch.cat([free[..., :1], gaps], -1).cumsum(-1)
    beyond = torch.sigmoid(latent[..., None] - cuts[:, :, None])
    below, above = counts[..., :-1], counts[..., 1:]
    slope = torch.sub(above, beyond.mul_(below + above), out=beyond)
    at_cuts = slope.sum(2)
    pull = counts[..., 1:-1].sum(2) / torch.expm1(gaps)
    at_cuts[..., 1:] -= pull
    at_cuts[..., :-1] += pull
    at_free = at_cuts.flip(-1).cumsum(-1).flip(-1)
    at_free[..., 1:] *= gaps
    return -slope.sum(-1), at_free


def _ensemble(layers: Layers, number: int, width: float) -> Ensemble:
    """One set's members in plain arrays; ``width`` is what its features were multiplied by."""
    _, members, hidden, _ = layers.second.shape
    first, bias, second, free = (layer[number].numpy() for layer in layers.all())
    cuts = [thresholds_of(one.astype(np.float64)) for one in free]
    return Ensemble(
        (first.reshape(-1, members, hidden).transpose(1, 0, 2) * width).astype(np.float32),
        bias.reshape(members, hidden).copy(),
        second.copy(),
        np.stack(cuts),
    )
