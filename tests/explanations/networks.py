"""Small networks whose explanations can be checked."""

from __future__ import annotations

import pickle

import numpy as np
import torch
from torch import Tensor, nn

from pasta.explanations.base import View


class SmallNet(nn.Module):
    """Two convolutions, pooling, and a linear layer."""

    def __init__(self, seed: int = 0, channels: int = 6, classes: int = 4) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.first = nn.Conv2d(3, channels, 3, stride=2, padding=1)
            self.last = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
            self.head = nn.Linear(channels, classes)
        self.active = nn.ReLU()

    def forward(self, images: Tensor) -> Tensor:
        maps = self.active(self.last(self.first(images).relu()))
        result: Tensor = self.head(maps.mean((2, 3)) + maps.square().mean((2, 3)))
        return result


class QuadrantNet(nn.Module):
    """Class 1 is how bright the upper left quadrant is; nothing else is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Conv2d(3, 2, 1, bias=False)
        with torch.no_grad():
            self.maps.weight.fill_(1 / 3)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.maps(images)
        half_height, half_width = maps.shape[2] // 2, maps.shape[3] // 2
        seen = maps[:, :, :half_height, :half_width].square().mean((1, 2, 3))
        return torch.stack([1 - 4 * seen, 4 * seen], 1)


class CoveredNet(nn.Module):
    """All but the upper left quadrant is covered before the first layer, which has no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Conv2d(3, 2, 1, bias=False)
        with torch.no_grad():
            self.maps.weight.copy_(torch.tensor([1.0, 0.5])[:, None, None, None] / 3)

    def forward(self, images: Tensor) -> Tensor:
        seen = torch.zeros_like(images)
        half_height, half_width = images.shape[2] // 2, images.shape[3] // 2
        seen[:, :, :half_height, :half_width] = images[:, :, :half_height, :half_width]
        brightness = self.maps(seen).square().mean((1, 2, 3))
        return torch.stack([1 - 4 * brightness, 4 * brightness], 1)


def small_view(double: bool = False) -> View:
    network = SmallNet().eval()
    network = network.double() if double else network
    return View(network, network.last)


def quadrant_view() -> View:
    network = QuadrantNet().eval()
    return View(network, network.maps)


def covered_view() -> View:
    network = CoveredNet().eval()
    return View(network, network.maps)


def pictures(number: int = 3, size: int = 16, seed: int = 1) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.rand(number, 3, size, size, generator=random)


def global_states() -> bytes:
    """What the global generators of torch and NumPy would draw next."""
    numpy_state = np.random.get_state()  # noqa: NPY002
    return pickle.dumps((numpy_state, torch.get_rng_state().tolist()))


def in_quadrant(maps: Tensor) -> Tensor:
    """The share of each map's positive mass that lies in the upper left quadrant."""
    positive = maps.clamp_min(0)
    height, width = maps.shape[1] // 2, maps.shape[2] // 2
    return positive[:, :height, :width].sum((1, 2)) / positive.sum((1, 2))


class Sum(nn.Module):
    """Class 1 is a weighted sum of pixels."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = weights

    def forward(self, images: Tensor) -> Tensor:
        total = (images * self.weights).sum((1, 2, 3))
        return torch.stack([-total, total], 1)
