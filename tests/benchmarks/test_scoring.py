"""Training a scorer in stacked tensors against the plain PyTorch way, on the same batches.

The plain way: a DataLoader that collates samples, autograd, ``torch.optim.Adam``, and every fifth
epoch a loop over single validation samples. Both are timed over periods of five epochs with one
look at the validation set, without what is done once; 600 epochs are 120 such periods.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch
from pasta.scoring.stacking import first_weights
from pasta.scoring.training import Trained
from sklearn.metrics import cohen_kappa_score
from torch import Tensor
from torch.utils.data import DataLoader, Sampler, TensorDataset

from pasta.params.scoring import ScorerParams
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.neural import NeuralScorer
from pasta.seeds import generator
from tests.benchmarks.test_ratios import timed
from tests.scoring.planted import SECOND_LOSS, planted, settings

SAMPLES, VALIDATION, WIDTH = 21_110, 2_111, 1_050
PERIOD, PERIODS = 5, 120
LINEAR = settings(learning_rate=1e-3, batch_size=256, epochs=PERIOD)
HIDDEN = settings(
    hidden=(512, 64),
    learning_rate=2e-6,
    weight_decay=1e-6,
    batch_size=256,
    epochs=PERIOD,
    loss=SECOND_LOSS,
)


class SameOrder(Sampler[int]):
    """The order of samples that our training draws."""

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._rng = size, generator(seed, "batches")

    def __iter__(self) -> Iterator[int]:
        return iter(self._rng.permutation(self._size).tolist())

    def __len__(self) -> int:
        return self._size


def plain_loss(p: Tensor, m: Tensor, own: ScorerParams, unit: bool) -> Tensor:
    if unit:
        order = (m[:-1] - m[1:]).sign()
        ranking = torch.nn.functional.margin_ranking_loss(p[:-1], p[1:], order)
    else:
        ranking = (-(p[:, None] - p) * (m[:, None] - m)).clamp(min=0).mean()
    similarity = 1 - torch.cosine_similarity(p, m, dim=0)
    squares = torch.nn.functional.mse_loss(p, m)
    loss = own.loss
    return loss.similarity * similarity + loss.squared_error * squares + loss.ranking * ranking


def plain_training(
    train: Rated, validation: Rated, own: ScorerParams, seed: int, unit: bool
) -> tuple[list[float], list[float]]:
    """Losses of all epochs and kappas of all looks."""
    modules: list[torch.nn.Module] = []
    for layer in first_weights((WIDTH, *own.hidden, 1), seed):
        linear = torch.nn.Linear(len(layer) - 1, layer.shape[1])
        linear.weight.data = torch.tensor(layer[:-1].T.copy())
        linear.bias.data = torch.tensor(layer[-1])
        modules += [linear, torch.nn.ReLU()]
    network = torch.nn.Sequential(*(modules if unit else modules[:-1]))
    adam = torch.optim.Adam(network.parameters(), own.learning_rate, weight_decay=own.weight_decay)
    lowest, step = (1, 4) if unit else (0, 1)
    targets = (torch.tensor(train.labels[:, 0]) - lowest) / step
    data = TensorDataset(torch.tensor(train.features), targets)
    loader = DataLoader(data, own.batch_size, sampler=SameOrder(len(train), seed))
    losses, kappas = [], []
    for epoch in range(1, own.epochs + 1):
        total = 0.0
        for features, wanted in loader:
            loss = plain_loss(network(features)[:, 0], wanted, own, unit)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            total += loss.item() * len(wanted)
        losses.append(total / len(train))
        if epoch % own.evaluate_every == 0:
            stars = []
            with torch.no_grad():
                for one in torch.tensor(validation.features):
                    given = network(one[None]).item() * step + lowest
                    stars.append(round(min(max(given, 1), 5)))
            truth = validation.labels[:, 0].astype(int)
            scale = [1, 2, 3, 4, 5]
            kappas.append(cohen_kappa_score(truth, stars, labels=scale, weights="quadratic"))
    return losses, kappas


def one_period(
    scorer: NeuralScorer, train: Rated, validation: Rated, own: ScorerParams, seed: int
) -> tuple[float, Trained]:
    """Seconds of five epochs and a look; the first epoch is not counted, it prepares all."""
    clock: list[float] = []
    trained = scorer.train_many(
        [train], [validation], own, [seed], lambda _done, _all: clock.append(time.perf_counter())
    )
    return (clock[-1] - clock[0]) * PERIOD / (own.epochs - 1), trained


def compared(name: str, own: ScorerParams, seed: int, questions: int = 1) -> float:
    """How many times faster, after the curves were found equal; the best of three, in turn.

    A scorer answers several questions; the plain way trains a network for each, one after the
    other, of which the first is timed.
    """
    everything = planted(SAMPLES + VALIDATION, WIDTH, questions)
    train = everything.at(np.arange(SAMPLES))
    validation = everything.at(np.arange(SAMPLES, SAMPLES + VALIDATION))
    scorer = SCORERS[name]
    assert isinstance(scorer, NeuralScorer)
    ours, plain = [], []
    for _ in range(3):
        seconds, trained = one_period(scorer, train, validation, own, seed)
        ours.append(seconds)
        seconds, (losses, kappas) = timed(
            lambda: plain_training(train, validation, own, seed, scorer.output.unit)
        )
        plain.append(questions * seconds)
        np.testing.assert_allclose(trained.losses[:, 0, 0], losses, atol=1e-4)
        np.testing.assert_allclose(trained.kappas[:, 0, 0], kappas, atol=0.01)
    fast, slow = min(ours), min(plain)
    print(
        f"\n{name}, {questions} questions, {SAMPLES} x {WIDTH}: {slow / fast:.1f}x plain PyTorch; "
        "five epochs and a look "
        f"{fast:.2f} s against {slow:.2f} s, so 600 epochs about {fast * PERIODS:.0f} s against "
        f"{slow * PERIODS:.0f} s"
    )
    return slow / fast


def test_a_scorer_of_all_questions_trains_eight_times_faster_at_the_same_loss() -> None:
    assert compared("pasta-linear", LINEAR, 0, questions=6) >= 8


def test_a_scorer_of_one_question_trains_faster_at_the_same_loss() -> None:
    assert compared("pasta-linear", LINEAR, 0) > 3


def test_the_scorer_with_hidden_layers_trains_at_the_same_loss() -> None:
    assert compared("pasta-mlp", HIDDEN, 0) > 1
