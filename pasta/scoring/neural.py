"""The PASTA-score's own networks: linear (first version) and with hidden layers (second).

Losses are for many models at once: predictions, targets and masks are (..., batch), and every model
on the leading axes has a batch and a loss of its own. The mask (1 or 0) leaves out the padding of
shorter batches. Equations are those of the first version of doi:10.48550/arXiv.2411.02470.

The networks of all questions of all training sets are trained as stacks: those that take the same
number of steps in an epoch at once. Stacking changes nothing but rounding, since start and batches
depend on the seed of the set and on its samples alone. Questions with votes on the same samples of
a set see the same batches, so that a batch is fetched, and goes through the first layers, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional

from pasta import compute
from pasta.errors import PastaError
from pasta.scoring.base import (
    SCORERS,
    Answer,
    Fitted,
    Floats,
    Rated,
    Scaling,
    Scorer,
    check_labels,
    check_sets,
    scaling_of,
)
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.settings import LossParams, ScorerParams
from pasta.seeds import generator

Pairs = Literal["all", "neighbours"]


def similarity_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Eq. 10: one minus the cosine of the angle between predictions and targets."""
    return 1 - functional.cosine_similarity(predicted * mask, target * mask, dim=-1)


def squared_error_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Eq. 11: the mean squared difference."""
    return ((predicted - target) ** 2 * mask).sum(-1) / mask.sum(-1)


def all_pairs_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Eq. 12: the mean of ``max(0, -(p_i - p_j)(m_i - m_j))`` over all ordered pairs.

    The number of pairs is the square of the batch: a sample with itself and ties count as pairs
    that are in order.
    """
    rise = predicted[..., None, :] - predicted[..., :, None]
    better = (target[..., :, None] - target[..., None, :]) * mask[..., :, None] * mask[..., None, :]
    return (rise * better).relu().sum((-2, -1)) / mask.sum(-1) ** 2


def neighbours_loss(predicted: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """The released second version: margin ranking with margin 0 over neighbours in the batch.

    The mean of ``max(0, -(p_i - p_(i+1)) sign(m_i - m_(i+1)))``; a batch of one has no neighbours
    and no loss.
    """
    both = mask[..., 1:] * mask[..., :-1]
    order = target.diff(dim=-1).sign() * both
    return (-predicted.diff(dim=-1) * order).relu().sum(-1) / both.sum(-1).clamp(min=1)


def scoring_loss(
    predicted: Tensor, target: Tensor, mask: Tensor, weights: LossParams, pairs: Pairs
) -> Tensor:
    """Eq. 3: the weighted sum of the three terms; a term of weight zero is not computed."""
    ranking = all_pairs_loss if pairs == "all" else neighbours_loss
    terms = (
        (weights.similarity, similarity_loss),
        (weights.squared_error, squared_error_loss),
        (weights.ranking, ranking),
    )
    parts = [weight * term(predicted, target, mask) for weight, term in terms if weight]
    if not parts:
        raise PastaError("all weights of the scoring loss are zero, expected at least one above")
    return torch.stack(parts).sum(0)


class Stack:
    """Modules of one shape, whose weights are stacked along a leading axis."""

    def __init__(self, modules: Sequence[nn.Module], where: torch.device) -> None:
        self._shape = deepcopy(modules[0]).to("meta")
        self.weights, _ = stack_module_state([one.to(where) for one in modules])

    def __call__(self, *inputs: Tensor) -> Tensor:
        """What each module gives for its own inputs, which have the same leading axis."""
        found: Tensor = vmap(self._call)(self.weights, *inputs)
        return found

    @torch.no_grad()
    def one(self, number: int, *inputs: Tensor) -> Tensor:
        """What one module gives."""
        return self._call({name: own[number] for name, own in self.weights.items()}, *inputs)

    def _call(self, weights: dict[str, Tensor], *inputs: Tensor) -> Tensor:
        given: Tensor = functional_call(self._shape, weights, inputs)
        return given


def descend(losses: Tensor, optimiser: torch.optim.Optimizer) -> Tensor:
    """Move all modules of a stack by one step; their losses."""
    optimiser.zero_grad()
    losses.sum().backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return losses.detach()


class Network(Fitted):
    """Layers with ReLU between them, the same shape for each question; none hidden is linear.

    The buffers ``weight_i`` (questions x inputs x outputs) and ``bias_i`` (questions x outputs)
    are those of layer i. ``about`` says how many there are, whether the output has a ReLU and
    whether it is on the scale 0-1 instead of in stars, and has notes about the training.
    """

    @property
    def width(self) -> int:
        """How many features it looks at."""
        return int(self.get_buffer("weight_0").shape[1])

    def forward(self, features: Tensor) -> Answer:
        """Stars for all questions."""
        hidden = features
        for layer in range(self.about["layers"]):
            hidden = hidden if layer == 0 else hidden.relu()
            bias = self.get_buffer(f"bias_{layer}")
            hidden = hidden @ self.get_buffer(f"weight_{layer}") + bias[:, None]
        given = hidden[..., 0].T
        return Answer(
            limit_stars(given.relu() if self.about["relu"] else given, self.about["unit"])
        )


def limit_stars(given: Tensor, unit: bool) -> Tensor:
    """Stars from what a network gave; those outside the scale are cut off."""
    return (1 + 4 * given if unit else given).clamp(1, 5)


def network(
    layers: Sequence[tuple[Any, Any]],
    relu: bool = False,
    unit: bool = False,
    notes: Mapping[str, Any] | None = None,
) -> Network:
    """From weight and bias of each layer."""
    arrays: dict[str, NDArray[np.float32]] = {}
    for number, (weight, bias) in enumerate(layers):
        arrays[f"weight_{number}"] = np.asarray(weight, np.float32)
        arrays[f"bias_{number}"] = np.asarray(bias, np.float32)
    about = {"layers": len(layers), "relu": relu, "unit": unit, "notes": dict(notes or {})}
    return Network(arrays, about)


_DOI = "10.48550/arXiv.2411.02470"


@dataclass(frozen=True)
class NeuralScorer(Scorer):
    """Networks trained with the similarity, squared error and ranking losses."""

    pairs: Pairs
    relu: bool = False  # at the output
    unit: bool = False  # whether the output is on the scale 0-1 instead of in stars
    model = Network

    def fit_many(
        self,
        train: Sequence[Rated],
        validation: Sequence[Rated],
        settings: ScorerParams,
        seeds: Sequence[int],
    ) -> list[Network]:
        """A network for each question of each set.

        The weights kept are those of the best look at the validation set by quadratic kappa (of
        equal ones the first), or the last ones if kappa was never defined.
        """
        check_sets(train, validation, seeds)
        check_labels(train, "training")
        check_labels(validation, "validation")
        scalings = [scaling_of(one.features, settings.inputs) for one in train]
        train = [_scaled(one, own) for one, own in zip(train, scalings, strict=True)]
        validation = [_scaled(one, own) for one, own in zip(validation, scalings, strict=True)]
        members = [
            Member(one, other, questions, seed, number)
            for number, (one, other, seed) in enumerate(zip(train, validation, seeds, strict=True))
            for questions in asked_alike(one)
        ]

        def size(member: Member) -> tuple[int, int]:
            return math.ceil(len(member.rows) / settings.batch_size), len(member.questions)

        found: dict[tuple[int, int], Trained] = {}
        for _, group in groupby(sorted(members, key=size), size):
            together = list(group)
            for member, own in zip(together, self._train(together, settings), strict=True):
                found |= {
                    (member.number, question): one
                    for question, one in zip(member.questions, own, strict=True)
                }
        every = range(train[0].labels.shape[1])
        return [
            self._joined([found[number, question] for question in every], scaling)
            for number, scaling in enumerate(scalings)
        ]

    def _train(self, members: Sequence[Member], settings: ScorerParams) -> list[list[Trained]]:
        """Networks with equally many batches in an epoch and questions, all at once."""
        where = compute.device()
        stack = Stack([member.start(settings.hidden) for member in members], where)
        adam = torch.optim.Adam(
            stack.weights.values(),
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=can_fuse(where),
        )
        table = Table(members, self.unit, where)
        orders = [generator(member.seed, "batches") for member in members]
        looks = [torch.from_numpy(member.validation.features).to(where) for member in members]
        best = [[Trained() for _ in member.questions] for member in members]
        for epoch in range(1, settings.epochs + 1):
            shuffled = [
                order.permutation(member.rows)
                for order, member in zip(orders, members, strict=True)
            ]
            for batch in table.batches(shuffled, settings.batch_size):
                self.step(stack, adam, batch, settings)
            if epoch % settings.evaluate_every == 0 or epoch == settings.epochs:
                for number, (member, features) in enumerate(zip(members, looks, strict=True)):
                    given = limit_stars(self._given(stack.one(number, features)), self.unit)
                    every = zip(member.questions, compute.to_numpy(given), strict=True)
                    for place, (question, stars) in enumerate(every):
                        kappa = member.kappa(question, stars)
                        if best[number][place].beaten_by(kappa):
                            layers = _layers(stack, number, place)
                            best[number][place] = Trained(epoch, kappa, layers)
        return best

    def step(
        self, stack: Stack, adam: torch.optim.Optimizer, batch: Batch, settings: ScorerParams
    ) -> Tensor:
        """Move all networks once; the loss of each, members x questions."""
        given = self._given(stack(batch.features))
        losses = scoring_loss(given, batch.targets, batch.mask, settings.loss, self.pairs)
        return descend(losses, adam)

    def _given(self, outputs: Tensor) -> Tensor:
        return outputs.relu() if self.relu else outputs

    def _joined(self, questions: Sequence[Trained], scaling: Scaling) -> Network:
        """One network of all questions, for features as they come."""
        every = [[scaling.fold(*one.layers[0]), *one.layers[1:]] for one in questions]
        layers = [
            (np.stack([weight for weight, _ in layer]), np.stack([bias for _, bias in layer]))
            for layer in zip(*every, strict=True)
        ]
        kappas = [one.kappa if math.isfinite(one.kappa) else None for one in questions]
        notes = {"best_epoch": [one.epoch for one in questions], "validation_qwk": kappas}
        return network(layers, self.relu, self.unit, notes)


def _scaled(rated: Rated, scaling: Scaling) -> Rated:
    return replace(rated, features=scaling(rated.features))


@dataclass(frozen=True)
class Trained:
    """What one network was at its best look."""

    epoch: int = 0
    kappa: float = -math.inf  # of the validation set
    layers: Sequence[tuple[Floats, Floats]] = ()  # weight (inputs x outputs) and bias

    def beaten_by(self, kappa: float) -> bool:
        """Whether a later look is better; as long as kappa is undefined, the latest is."""
        return not math.isfinite(self.kappa) or kappa > self.kappa


@dataclass(frozen=True)
class Member:
    """Questions of one training set that have votes on the same samples."""

    train: Rated
    validation: Rated
    questions: tuple[int, ...]
    seed: int
    number: int = 0  # of the set

    @property
    def rows(self) -> NDArray[np.int64]:
        """Those with votes."""
        return np.flatnonzero(~np.isnan(self.train.labels[:, self.questions[0]]))

    def start(self, hidden: Sequence[int]) -> nn.Module:
        """The networks before training: the same for each question."""
        one = perceptron((self.train.features.shape[1], *hidden, 1), self.seed)
        return SideBySide(one, len(self.questions))

    def kappa(self, question: int, stars: Floats) -> float:
        """How well stars agree with the validation labels."""
        labels = self.validation.labels[:, question]
        return float(quadratic_kappa(star_counts(labels, stars)))


def asked_alike(rated: Rated) -> list[tuple[int, ...]]:
    """The questions of a set, those with votes on the same samples together."""
    found: dict[bytes, list[int]] = {}
    for question, labels in enumerate(rated.labels.T):
        found.setdefault(np.isnan(labels).tobytes(), []).append(question)
    return [tuple(questions) for questions in found.values()]


def perceptron(widths: Sequence[int], seed: int) -> nn.Sequential:
    """Layers as PyTorch draws them: weights and bias within one over the root of the inputs.

    The output is one number for each sample.
    """
    rng = generator(seed, "weights")
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        drawn = (rng.uniform(-1, 1, (inputs + 1, outputs)) / math.sqrt(inputs)).astype(np.float32)
        layer = nn.Linear(inputs, outputs)
        layer.weight.data, layer.bias.data = torch.tensor(drawn[:-1].T), torch.tensor(drawn[-1])
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1], nn.Flatten(-2))


class SideBySide(nn.Module):
    """Copies of a perceptron that see the same features, one for each question."""

    def __init__(self, one: nn.Sequential, copies: int) -> None:
        super().__init__()
        layers = [layer for layer in one if isinstance(layer, nn.Linear)]
        # copies x outputs x inputs, and copies x outputs
        self.weights = nn.ParameterList([layer.weight.repeat(copies, 1, 1) for layer in layers])
        self.biases = nn.ParameterList([layer.bias.repeat(copies, 1) for layer in layers])

    def forward(self, features: Tensor) -> Tensor:
        """Answers (questions x samples) for features (samples x width)."""
        weight, bias = self.weights[0], self.biases[0]
        every = functional.linear(features, weight.flatten(0, 1), bias.flatten())
        hidden = every.view(len(features), *bias.shape).transpose(0, 1)
        for layer in range(1, len(self.weights)):  # slices would be copies without slopes
            weight, bias = self.weights[layer], self.biases[layer]
            hidden = torch.baddbmm(bias[:, None], hidden.relu(), weight.transpose(1, 2))
        return hidden[..., 0]


def can_fuse(where: torch.device) -> bool:
    """Whether Adam can move all weights in one pass over memory there."""
    return where.type in ("cpu", "cuda")


def _layers(stack: Stack, number: int, question: int) -> list[tuple[Floats, Floats]]:
    """Weight (inputs x outputs) and bias of each layer of one network."""
    own = {
        name: compute.to_numpy(array[number, question]).copy()
        for name, array in stack.weights.items()
    }
    layers = range(len(own) // 2)
    return [(own[f"weights.{layer}"].T, own[f"biases.{layer}"]) for layer in layers]


@dataclass(frozen=True)
class Batch:
    """What each network of a stack sees in one step."""

    features: Tensor  # members x samples x width
    targets: Tensor  # members x questions x samples
    mask: Tensor  # members x 1 x samples: 1 where there is a sample, else 0


class Table:
    """Features and targets of all training sets, one below the other."""

    def __init__(self, members: Sequence[Member], unit: bool, where: torch.device) -> None:
        sets = list({id(member.train): member.train for member in members}.values())
        starts = dict(zip(map(id, sets), np.cumsum([0, *map(len, sets)]), strict=False))
        self._starts = [starts[id(member.train)] for member in members]
        labels = np.concatenate([one.labels for one in sets])
        targets = ((labels - 1) / 4 if unit else labels).astype(np.float32)
        features = np.concatenate([one.features for one in sets]).astype(np.float32)
        self._features = torch.from_numpy(features).to(where)
        self._targets = torch.from_numpy(targets).to(where)
        self._questions = torch.tensor([member.questions for member in members], device=where)

    def batches(self, rows: Sequence[NDArray[np.int64]], size: int) -> Iterator[Batch]:
        """An epoch in the given order; no sample is dropped, shorter batches are padded."""
        order = np.full((len(rows), max(map(len, rows))), -1)
        for number, (own, start) in enumerate(zip(rows, self._starts, strict=True)):
            order[number, : len(own)] = start + own
        every = torch.from_numpy(order).to(self._features.device)
        return map(self._batch, torch.split(every, size, dim=1))

    def _batch(self, rows: Tensor) -> Batch:
        there = rows >= 0
        targets = self._targets[rows[:, None], self._questions[..., None]]
        mask = there[:, None]
        return Batch(self._features[rows], targets.where(mask, 0.0), mask.float())


SCORERS.register("pasta-linear", title="PASTA, linear (first version)", doi=_DOI)(
    NeuralScorer("all")
)
SCORERS.register("handcrafted-pasta", title="Handcrafted features, PASTA, linear", doi=_DOI)(
    NeuralScorer("all")  # P1, Appendix D: the same network on other features
)
# With ReLU at the output, a network that starts below zero for all samples never learns. This is
# how it was published; beside it stands the same without.
SCORERS.register("pasta-mlp", title="PASTA, MLP (second version)", doi=_DOI)(
    NeuralScorer("neighbours", relu=True, unit=True)
)
SCORERS.register("pasta-mlp-open", title="PASTA, MLP without ReLU at the output", doi=_DOI)(
    NeuralScorer("neighbours", unit=True)
)
