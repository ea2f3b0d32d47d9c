"""Normalisation as the first layer, so that every model takes plain images from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

IMAGENET_MEAN, IMAGENET_SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Normalise(nn.Module):
    """Subtract a mean and divide by a spread, channel by channel."""

    def __init__(
        self, mean: Sequence[float] = IMAGENET_MEAN, spread: Sequence[float] = IMAGENET_SPREAD
    ) -> None:
        super().__init__()
        self.mean: Tensor
        self.spread: Tensor
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(spread).view(1, 3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Images from 0 to 1 in, roughly standardised images out."""
        return (images - self.mean) / self.spread
