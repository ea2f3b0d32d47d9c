"""PointNet (Qi et al. 2017, doi:10.1109/CVPR.2017.16)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pasta.models.base import MODELS, BlackBox
from pasta.models.points import dense_head, pointwise
from pasta.models.settings import PointNetParams
from pasta.models.solids import SolidRecipe


class Transform(nn.Module):
    """A small PointNet that turns its cloud by a matrix; at first it leaves it as it is."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.channels = channels
        self.points = pointwise(channels, width, 2 * width, 16 * width)
        self.pool, self.flatten = nn.AdaptiveMaxPool1d(1), nn.Flatten()
        last = nn.Linear(4 * width, channels**2)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.head = nn.Sequential(nn.Linear(16 * width, 4 * width), nn.ReLU(), last)

    def forward(self, points: Tensor) -> Tensor:
        """The cloud, turned."""
        change: Tensor = self.head(self.flatten(self.pool(self.points(points))))
        matrix = change.view(-1, self.channels, self.channels)
        unit = torch.eye(self.channels, dtype=points.dtype, device=points.device)
        return (matrix + unit) @ points


class PointNet(nn.Module):
    """Layers for each point alone, the largest value over all points, a head.

    Width 64 with a transform of features is the network of the paper.
    """

    def __init__(self, settings: PointNetParams, outputs: int) -> None:
        super().__init__()
        width = settings.width
        self.transform = Transform(3, width)
        self.first = pointwise(3, width, width)
        self.turn = Transform(width, width) if settings.feature_transform else nn.Identity()
        self.points = pointwise(width, width, 2 * width, 16 * width)
        self.pool, self.flatten = nn.AdaptiveMaxPool1d(1), nn.Flatten()
        self.head = dense_head(16 * width, (8 * width, 4 * width), outputs, settings.dropout)

    def forward(self, clouds: Tensor) -> Tensor:
        """Logits."""
        features = self.points(self.turn(self.first(self.transform(clouds))))
        logits: Tensor = self.head(self.flatten(self.pool(features)))
        return logits


class PointNetClassifier(BlackBox):
    """PointNet on clouds (n, 3, points) of any number of points."""

    def __init__(self, classes: Sequence[str], settings: PointNetParams) -> None:
        super().__init__(classes)
        self.network = PointNet(settings, len(self.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(images)
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The features of each point before the largest are taken."""
        return [self.network.points]


MODELS.register(
    "pointnet",
    title="PointNet",
    family="convolutional",
    doi="10.1109/CVPR.2017.16",
    modality="point cloud",
)(SolidRecipe("pointnet", lambda context, own: PointNetClassifier(context.classes, own)))
