"""DGCNN: convolutions of edges between neighbours (Wang et al. 2019, doi:10.1145/3326362)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from pasta.models.base import MODELS, BlackBox
from pasta.models.points import dense_head, find_nearest, pointwise, take_points
from pasta.models.settings import DgcnnParams
from pasta.models.solids import SolidRecipe

SLOPE = 0.2  # of the leaky ReLU


class EdgeConvolution(nn.Module):
    """A layer on each point and its difference to each neighbour; the largest value counts.

    Neighbours are those in the space of the features that enter.
    """

    def __init__(self, entering: int, leaving: int, neighbours: int) -> None:
        super().__init__()
        self.neighbours = neighbours
        self.edges = nn.Sequential(
            nn.Conv2d(2 * entering, leaving, 1, bias=False),
            nn.BatchNorm2d(leaving),
            nn.LeakyReLU(SLOPE),
        )

    def forward(self, points: Tensor) -> Tensor:
        """Features of each point."""
        places = find_nearest(points, points, self.neighbours)
        near, own = (
            take_points(points, places),
            points[..., None].expand(*points.shape, places.shape[2]),
        )
        features: Tensor = self.edges(torch.cat([near - own, own], 1))
        return features.amax(-1)


class Dgcnn(nn.Module):
    """Edge convolutions one after the other; all their features together decide."""

    def __init__(self, settings: DgcnnParams, outputs: int) -> None:
        super().__init__()
        widths = (3, *settings.widths)
        self.layers = nn.ModuleList(
            EdgeConvolution(entering, leaving, settings.neighbours)
            for entering, leaving in pairwise(widths)
        )
        self.points = pointwise(sum(settings.widths), settings.features, slope=SLOPE)
        self.largest, self.mean = nn.AdaptiveMaxPool1d(1), nn.AdaptiveAvgPool1d(1)
        self.flatten = nn.Flatten()
        self.head = dense_head(2 * settings.features, settings.hidden, outputs, settings.dropout)

    def forward(self, clouds: Tensor) -> Tensor:
        """Logits."""
        found, features = [], clouds
        for layer in self.layers:
            features = layer(features)
            found.append(features)
        points = self.points(torch.cat(found, 1))
        pooled = torch.cat([self.largest(points), self.mean(points)], 1)
        logits: Tensor = self.head(self.flatten(pooled))
        return logits


class DgcnnClassifier(BlackBox):
    """DGCNN on clouds (n, 3, points) of any number of points."""

    def __init__(self, classes: Sequence[str], settings: DgcnnParams) -> None:
        super().__init__(classes)
        self.network = Dgcnn(settings, len(self.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(images)
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The features of each point before they are pooled."""
        return [self.network.points]


MODELS.register(
    "dgcnn",
    title="DGCNN",
    family="convolutional",
    doi="10.1145/3326362",
    modality="point cloud",
)(SolidRecipe("dgcnn", lambda context, settings: DgcnnClassifier(context.classes, settings)))
