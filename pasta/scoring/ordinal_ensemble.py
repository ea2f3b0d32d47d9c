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
different sizes are stacked without padding, and stacking changes nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta import compute
from pasta.scoring.base import Rated
from pasta.scoring.networks import Stack, descend
from pasta.scoring.ordinal_fit import standardise, vote_shares
from pasta.scoring.ordinal_likelihood import (
    distribution,
    free_of_shares,
    negative_log_likelihood,
    thresholds_of,
)
from pasta.scoring.settings import OrdinalParams
from pasta.seeds import generator

ARRAYS = ("member_first", "member_bias", "member_second", "member_thresholds")
_SPREAD = 2.0  # deviation of a hidden unit before its ReLU, at the start
_BIAS = 0.1  # deviation of its bias


class Member(nn.Module):
    """A network with a random first layer and no second one: at first all give the vote shares."""

    def __init__(self, rated: Rated, hidden: int, random: np.random.Generator) -> None:
        super().__init__()
        width, questions = rated.features.shape[1], rated.counts.shape[1]
        first = random.standard_normal((width, hidden)) * (_SPREAD / np.sqrt(width))
        bias = random.standard_normal(hidden) * _BIAS
        shares = vote_shares(torch.from_numpy(rated.counts.astype(np.float64)))
        self.first = nn.Parameter(torch.from_numpy(first).float())
        self.bias = nn.Parameter(torch.from_numpy(bias).float())
        self.second = nn.Parameter(torch.zeros(hidden, questions))
        self.free = nn.Parameter(free_of_shares(shares).float())

    def forward(self, features: Tensor, counts: Tensor) -> Tensor:
        """The negative log likelihood of votes."""
        latent = (features @ self.first + self.bias).relu() @ self.second
        return negative_log_likelihood(latent, thresholds_of(self.free), counts).sum()


def optimiser_of(stack: Stack, settings: OrdinalParams) -> torch.optim.Optimizer:
    """AdamW; thresholds and biases do not decay."""
    decays = {"first": settings.weight_decay, "second": settings.weight_decay}
    groups = [
        {"params": [weight], "weight_decay": decays.get(name, 0.0)}
        for name, weight in stack.weights.items()
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate)


def train_ensembles(
    train: Sequence[Rated], settings: OrdinalParams, seeds: Sequence[int]
) -> list[dict[str, NDArray[Any]]]:
    """The arrays of each set's and seed's members, for standardised features."""
    where = compute.device()
    standards = [standardise(one.features) for one in train]
    # Adam moves all weights alike, whatever their inputs: these should have deviation 1
    widths = [np.sqrt(max(int(np.isfinite(one.scale).sum()), 1)) for one in standards]
    features = np.concatenate(
        [
            standard(one.features) * width
            for one, standard, width in zip(train, standards, widths, strict=True)
        ]
    )
    counts = np.concatenate([one.counts for one in train])
    members = [
        Member(one, settings.hidden, generator(seed, "ordinal member", number))
        for one, seed in zip(train, seeds, strict=True)
        for number in range(settings.members)
    ]
    starts = np.cumsum([0, *map(len, train)])
    orders = [
        start + batches(len(one), settings, seed)
        for start, one, seed in zip(starts, train, seeds, strict=False)
    ]
    rows = torch.from_numpy(np.stack(orders, axis=1)).to(where)  # steps x sets x samples
    rows = rows.repeat_interleave(settings.members, dim=1)
    votes = [max(one.counts.sum() / one.counts.shape[1], 1.0) / len(one) for one in train]
    scale = settings.batch_size * torch.tensor(votes, dtype=torch.float32, device=where)
    scale = scale.repeat_interleave(settings.members)
    seen = torch.from_numpy(features.astype(np.float32)).to(where)
    given = torch.from_numpy(counts.astype(np.float32)).to(where)
    stack = Stack(members, where)
    optimiser = optimiser_of(stack, settings)
    for step in rows:
        descend(stack(seen[step], given[step]) / scale, optimiser)
    every = {name: compute.to_numpy(value) for name, value in stack.weights.items()}
    bounds = range(0, len(members), settings.members)
    return [
        _arrays({name: value[start : start + settings.members] for name, value in every.items()}, w)
        for start, w in zip(bounds, widths, strict=True)
    ]


def batches(samples: int, settings: OrdinalParams, seed: int) -> NDArray[np.int64]:
    """Rows of every step, steps x batch size: all samples in a new order, again and again."""
    random = generator(seed, "ordinal batches")
    rows = settings.steps * settings.batch_size
    orders = [random.permutation(samples) for _ in range(-(-rows // samples))]
    return np.concatenate(orders)[:rows].reshape(settings.steps, settings.batch_size)


def _arrays(weights: Mapping[str, NDArray[Any]], width: float) -> dict[str, NDArray[Any]]:
    """One set's members; ``width`` is what its features were multiplied by."""
    cuts = thresholds_of(torch.from_numpy(weights["free"].astype(np.float64))).numpy()
    first = (weights["first"] * width).astype(np.float32)
    parts = (first, weights["bias"], weights["second"], cuts)
    return dict(zip(ARRAYS, parts, strict=True))


def mean_chances(standardised: Tensor, arrays: Sequence[Tensor]) -> Tensor:
    """The members' mean chance of each star, samples x questions x 5."""
    first, bias, second, cuts = (array.to(standardised.dtype) for array in arrays)
    latent = (standardised @ first + bias[:, None]).relu() @ second  # members x samples x questions
    return distribution(latent, cuts[:, None]).mean(0)
