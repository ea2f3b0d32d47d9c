"""PCT: a transformer of points with offset attention (Guo et al. 2021, 10.1007/s41095-021-0229-5).

The released code samples its points from a random start, so that its output is no function of its
input; here the start is fixed (:func:`pasta.models.points.sample_farthest`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pasta.models.base import MODELS, BlackBox
from pasta.models.points import (
    dense_head,
    find_nearest,
    interpolate_points,
    pointwise,
    sample_farthest,
    take_points,
)
from pasta.models.settings import PctParams
from pasta.models.solids import SolidRecipe

SLOPE = 0.2  # of the leaky ReLU


class Grouping(nn.Module):
    """Samples points and gathers what is around each of them."""

    def __init__(self, entering: int, leaving: int, groups: int, neighbours: int) -> None:
        super().__init__()
        self.groups, self.neighbours = groups, neighbours
        self.edges = nn.Sequential(
            nn.Conv2d(2 * entering, leaving, 1, bias=False),
            nn.BatchNorm2d(leaving),
            nn.ReLU(),
            nn.Conv2d(leaving, leaving, 1, bias=False),
            nn.BatchNorm2d(leaving),
            nn.ReLU(),
        )

    def forward(self, places: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Coordinates (n, 3, points) and features to those of the groups."""
        chosen = sample_farthest(places, self.groups)
        centres = take_points(places, chosen)
        near = take_points(features, find_nearest(centres, places, self.neighbours))
        own = take_points(features, chosen)[..., None].expand_as(near)
        found: Tensor = self.edges(torch.cat([near - own, own], 1))
        return centres, found.amax(-1)


class OffsetAttention(nn.Module):
    """Attention whose result is taken away from what entered before it is added to it.

    As released: shares are normalised over the keys, then over the queries.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query = nn.Conv1d(channels, channels // 4, 1, bias=False)
        self.key = nn.Conv1d(channels, channels // 4, 1, bias=False)
        self.value = nn.Conv1d(channels, channels, 1)
        self.share = nn.Softmax(-1)
        self.change = nn.Sequential(
            nn.Conv1d(channels, channels, 1), nn.BatchNorm1d(channels), nn.ReLU()
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (n, channels, tokens) that have looked at each other."""
        shares = self.share(self.query(tokens).transpose(1, 2) @ self.key(tokens))
        shares = shares / (1e-9 + shares.sum(1, keepdim=True))
        change: Tensor = self.change(tokens - self.value(tokens) @ shares)
        return tokens + change


class PointTransformer(nn.Module):
    """Points to groups, groups to tokens, attention, the largest value over all tokens, a head."""

    def __init__(self, settings: PctParams, outputs: int) -> None:
        super().__init__()
        width = settings.embedding
        self.embed = pointwise(3, width, width)
        self.groups = tuple(groups for groups, _, _ in settings.stages)
        self.grouping = nn.ModuleList()
        for groups, neighbours, leaving in settings.stages:
            self.grouping.append(Grouping(width, leaving, groups, neighbours))
            width = leaving
        self.attention = nn.ModuleList(OffsetAttention(width) for _ in range(settings.layers))
        self.fuse = pointwise(width * (settings.layers + 1), settings.features, slope=SLOPE)
        self.pool, self.flatten = nn.AdaptiveMaxPool1d(1), nn.Flatten()
        self.head = dense_head(settings.features, settings.hidden, outputs, settings.dropout)

    def forward(self, clouds: Tensor) -> Tensor:
        """Logits."""
        places, features = clouds, self.embed(clouds)
        for grouping in self.grouping:
            places, features = grouping(places, features)
        found = [features]
        for layer in self.attention:
            found.append(layer(found[-1]))
        logits: Tensor = self.head(self.flatten(self.pool(self.fuse(torch.cat(found, 1)))))
        return logits

    def places_of_tokens(self, clouds: Tensor) -> Tensor:
        """Where the tokens are that attention mixes: (n, 3, tokens), some of the points."""
        places = clouds
        for groups in self.groups:
            places = take_points(places, sample_farthest(places, groups))
        return places


class PctClassifier(BlackBox):
    """PCT on clouds (n, 3, points) of at least as many points as it samples."""

    def __init__(self, classes: Sequence[str], settings: PctParams) -> None:
        super().__init__(classes)
        self.network = PointTransformer(settings, len(self.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(images)
        return logits

    def places_of_tokens(self, images: Tensor) -> Tensor:
        """Where the tokens of attention are: (n, 3, tokens)."""
        return self.network.places_of_tokens(images)

    def place_attention(self, attention: Tensor, images: Tensor) -> Tensor:
        """What all tokens take from each token on average, interpolated onto the points.

        Parameters
        ----------
        attention
            Shape (n, queries, keys).
        images
            Clouds (n, 3, points).
        """
        return interpolate_points(attention.mean(1), self.places_of_tokens(images), images)

    def cam_layers(self) -> list[nn.Module]:
        """The features of each token before the largest are taken."""
        return [self.network.fuse]


MODELS.register(
    "pct",
    title="PCT",
    family="transformer",
    doi="10.1007/s41095-021-0229-5",
    modality="point cloud",
)(SolidRecipe("pct", lambda context, settings: PctClassifier(context.classes, settings)))
