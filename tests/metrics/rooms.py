"""Inputs with one, two and three spatial axes, networks for them, and an explainer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pasta.explanations.image import IMAGE
from pasta.explanations.modality import Modality
from pasta.explanations.spatial import grid_labels, shift_content

CLASSES = 4
SHAPES = {"cloud": (3, 30), "image": (3, 12, 12), "volume": (1, 6, 6, 6)}


def _add_to_x(inputs: Tensor, share: float) -> Tensor:
    """Points of a box from -1 to 1 that leave it are put into the centre."""
    moved = inputs.clone()
    moved[:, 0] += 2 * share
    return torch.where(moved[:, :1] > 1, 0.0, moved)


def _make(name: str, axes: tuple[str, ...], **abilities: Any) -> Modality:
    def nothing(*_: Any) -> Any:
        raise AssertionError("not used here")

    return Modality(name, axes, None, nothing, nothing, **abilities)


MODALITIES = {
    "cloud": _make("cloud", ("points",), split=grid_labels, shift=_add_to_x),
    "image": IMAGE,
    "volume": _make("volume", ("d", "h", "w"), split=grid_labels, shift=shift_content),
}


class Bent(nn.Module):
    """A hidden layer of all features and a linear layer."""

    def __init__(self, shape: tuple[int, ...], seed: int = 0) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        number = math.prod(shape)
        first, self.head = nn.Linear(number, 8), nn.Linear(8, CLASSES)
        self.hidden = nn.Sequential(first, nn.ReLU())
        for layer in (first, self.head):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=random)
            nn.init.normal_(layer.bias, std=0.1, generator=random)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.hidden(inputs.flatten(1)))
        return outputs


class Linear(nn.Module):
    """Scores are weighted sums of all features; ``weight`` has the shape (classes, *shape)."""

    def __init__(self, shape: tuple[int, ...], seed: int = 0) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.weight = nn.Buffer(torch.randn(CLASSES, *shape, generator=random))

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.flatten(1) @ self.weight.flatten(1).T


def draw(kind: str, number: int = 3, seed: int = 1) -> Tensor:
    """Inputs with some zeros, within the box of clouds."""
    random = torch.Generator().manual_seed(seed)
    return (2 * torch.rand(number, *SHAPES[kind], generator=random) - 0.8).clamp_min(0)


def explain_brightness(inputs: Any, entries: bool) -> Any:
    """Maps with zeros, of tensors or arrays: what exceeds a level, which differs by the place, and
    speaks against the class at every other place."""
    width = inputs.shape[-1]
    levels = [0.1 + 0.4 * place / width for place in range(width)]
    signs = [(-1.0) ** (place + 1) for place in range(width)]
    table = np.array([levels, signs])
    low, sign = inputs.new_tensor(table) if isinstance(inputs, Tensor) else table
    rest = sign * (inputs + inputs**2 - low).clip(0)
    return rest if entries else rest.sum(1)


@dataclass
class Remembering:
    """Explains brightness, and keeps the copies that it was given, in their order."""

    entries: bool = False

    def __post_init__(self) -> None:
        self.copies: list[Tensor] = []

    def __call__(self, inputs: Tensor, targets: Tensor) -> Tensor:
        assert len(inputs) == len(targets)
        self.copies.append(inputs.clone())
        found: Tensor = explain_brightness(inputs, self.entries)
        return found

    def of(self, number: int, samples: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The copies of one input in double precision."""
        every = torch.cat(self.copies)[number * samples : (number + 1) * samples]
        return every.double().numpy()
