"""Multinomial logistic regression on all examples at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pasta.models.clip.concepts import Examples

Line = tuple[Tensor, Tensor]  # weights, classes x concepts, and bias


def fit_logistic(train: Examples, classes: int, inverse_penalty: float) -> Line:
    """Weights and bias that minimise C x the sum of log losses + half the squared weights."""
    weight = torch.zeros(classes, train.scores.shape[1], dtype=torch.double, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.double, requires_grad=True)
    search = torch.optim.LBFGS(
        [weight, bias],
        max_iter=200,
        tolerance_grad=1e-6,
        tolerance_change=1e-10,
        history_size=10,
        line_search_fn="strong_wolfe",
    )
    share = 1 / (2 * inverse_penalty * len(train.labels))

    def objective() -> Tensor:
        search.zero_grad()
        logits = train.scores @ weight.T + bias
        value = functional.cross_entropy(logits, train.labels) + share * weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(objective)  # type: ignore[no-untyped-call]
    return weight.detach(), bias.detach()


def line_logits(line: Line, scores: Tensor) -> Tensor:
    """What a linear layer with these weights says."""
    return scores @ line[0].T + line[1]


@torch.no_grad()
def take_line(head: nn.Linear, line: Line) -> None:
    """Put fitted weights into a layer."""
    head.weight.copy_(line[0])
    head.bias.copy_(line[1])


def still_linear(concepts: int, classes: int) -> nn.Linear:
    """A linear layer that starts at zero, so that building a model takes no chance."""
    with torch.random.fork_rng(devices=[]):
        head = nn.Linear(concepts, classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head
