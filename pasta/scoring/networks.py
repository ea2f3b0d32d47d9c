"""Networks: stacks of them while they are trained, and one for each question afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from pasta.scoring.base import Answer, Fitted


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
        return Answer(to_stars(given.relu() if self.about["relu"] else given, self.about["unit"]))


def to_stars(given: Tensor, unit: bool) -> Tensor:
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
