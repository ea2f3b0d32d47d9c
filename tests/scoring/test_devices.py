"""Training steps and trained scorers stay on the device of their tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.scoring import ordinal  # noqa: F401 (it registers itself)
from pasta.scoring.base import SCORERS, Answer, Fitted
from pasta.scoring.neural import Batch, NeuralScorer, SideBySide, Stack, descend, perceptron
from pasta.scoring.ordinal import Member, optimiser_of
from pasta.seeds import generator
from tests.models.small import NO_GPU
from tests.scoring.ordinal_votes import settings as ordinal_settings
from tests.scoring.planted import SECOND_LOSS, planted, settings
from tests.scoring.test_scorers import SETTINGS

devices = pytest.mark.parametrize(
    "where",
    [torch.device("meta"), pytest.param(torch.device("cuda"), marks=[pytest.mark.gpu, NO_GPU])],
    ids=str,
)
QUICK: dict[str, Any] = {
    **{name: own for name, own in SETTINGS.items() if not name.startswith(("pasta", "mlp"))},
    "pasta-linear": settings(epochs=1),
    "pasta-mlp": settings(epochs=1, hidden=(4,), loss=SECOND_LOSS),
    "pasta-mlp-open": settings(epochs=1, hidden=(4,), loss=SECOND_LOSS),
    "ordinal": ordinal_settings(share=0.5, steps=2, strengths=(0.1,), iterations=5),
}


@devices
@pytest.mark.parametrize("name", [name for name in QUICK if name.startswith("pasta")])
def test_a_step_of_the_networks_stays_where_its_tensors_are(name: str, where: torch.device) -> None:
    own, scorer = QUICK[name], SCORERS[name]
    assert isinstance(scorer, NeuralScorer)
    starts = [perceptron((5, *own.hidden, 1), seed) for seed in range(3)]
    stack = Stack([SideBySide(one, 2) for one in starts], where)
    adam = torch.optim.Adam(stack.weights.values(), own.learning_rate)
    batch = Batch(*(torch.ones(shape, device=where) for shape in ((3, 7, 5), (3, 2, 7), (3, 1, 7))))
    losses = scorer.step(stack, adam, batch, own)
    assert losses.shape == (3, 2)
    assert_there(where, losses, *stack.weights.values())
    assert_there(where, *(weight.grad for weight in stack.weights.values()))


@devices
def test_a_step_of_the_ordinal_networks_stays_where_its_tensors_are(where: torch.device) -> None:
    rated = planted(9, 5, 2)
    members = [Member(rated, 4, generator(seed, "test")) for seed in range(3)]
    stack = Stack(members, where)
    given = stack(torch.ones(3, 9, 5, device=where), torch.ones(3, 9, 2, 5, device=where))
    losses = descend(given, optimiser_of(stack, QUICK["ordinal"]))
    assert_there(where, losses, *stack.weights.values())
    assert_there(where, *(weight.grad for weight in stack.weights.values()))


@devices
@pytest.mark.parametrize("name", QUICK)
def test_a_trained_scorer_answers_where_it_is(name: str, where: torch.device) -> None:
    """This is what PastaScore asks after the encoder."""
    fitted = trained(name).follow(where)
    answer: Answer = fitted(torch.ones(6, 5, device=where))
    assert answer.stars.shape == (6, 2)
    assert_there(where, *answer)


@pytest.mark.gpu
@NO_GPU
@pytest.mark.parametrize("name", QUICK)
def test_a_gpu_predicts_what_the_processor_predicts(name: str) -> None:
    features = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    before = trained(name).predict(features)
    after = trained(name).follow(torch.device("cuda")).predict(features)
    np.testing.assert_allclose(before.stars, after.stars, atol=1e-4)


def trained(name: str) -> Fitted:
    return SCORERS[name].fit(planted(60, 5, 2), planted(30, 5, 2, 1), QUICK[name], 0)


def assert_there(where: torch.device, *tensors: Tensor | None) -> None:
    found = [one for one in tensors if one is not None]
    assert found
    assert {one.device.type for one in found} == {where.type}
