"""Neighbours and samples of point clouds (n, channels, points), for the networks that use them.

Everything here is a function of the points alone, not of their order: permuted clouds give
permuted neighbours and the same samples, unless distances are equal.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from pasta.errors import PastaError


def find_nearest(queries: Tensor, points: Tensor, number: int) -> Tensor:
    """Find the nearest points of each query.

    Parameters
    ----------
    queries
        Shape (n, channels, queries).
    points
        Shape (n, channels, points).
    number
        How many; where there are fewer points, all of them.

    Returns
    -------
    Places among the points (n, queries, number), the nearest first.
    """
    with torch.no_grad():
        products = queries.transpose(1, 2) @ points
        distances = (points**2).sum(1)[:, None] - 2 * products  # less the query's own square
        return distances.topk(min(number, points.shape[2]), -1, largest=False).indices


def take_points(points: Tensor, places: Tensor) -> Tensor:
    """Take the points at some places (n, ...) of each cloud: (n, channels, ...)."""
    flat = places.flatten(1)[:, None].expand(-1, points.shape[1], -1)
    return points.gather(2, flat).view(len(points), points.shape[1], *places.shape[1:])


def sample_farthest(points: Tensor, number: int) -> Tensor:
    """Choose points far from each other (farthest point sampling, from a fixed start).

    The first is the point farthest from the middle of the cloud, each further one the farthest from
    those chosen before: the same cloud has the same sample each time, in any order of its points.

    Parameters
    ----------
    points
        Shape (n, 3, points).
    number
        How many to choose.

    Returns
    -------
    Places (n, number).
    """
    if points.shape[2] < number:
        raise PastaError(f"a cloud has {points.shape[2]} points, the model samples {number}")
    with torch.no_grad():
        middle = points.mean(2, keepdim=True)
        chosen = [((points - middle) ** 2).sum(1).argmax(1, keepdim=True)]
        nearest = torch.full_like(points[:, 0], float("inf"))
        for _ in range(number - 1):
            last = take_points(points, chosen[-1])
            nearest = torch.minimum(nearest, ((points - last) ** 2).sum(1))
            chosen.append(nearest.argmax(1, keepdim=True))
        return torch.cat(chosen, 1)


def interpolate_points(
    values: Tensor, places: Tensor, points: Tensor, neighbours: int = 3
) -> Tensor:
    """Interpolate values at some places onto the points of a cloud.

    Parameters
    ----------
    values
        Shape (n, places).
    places
        Where they are known, shape (n, 3, places).
    points
        Where they are wanted, shape (n, 3, points).
    neighbours
        How many of the nearest places a point hears, each with the inverse of its squared distance
        as weight (PointNet++, doi:10.48550/arXiv.1706.02413).

    Returns
    -------
    Shape (n, points). A point at one of the places has its value.

    Examples
    --------
    >>> places = torch.tensor([[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]])
    >>> middle = torch.tensor([[[0.5], [0.0], [0.0]]])
    >>> interpolate_points(torch.tensor([[2.0, 4.0]]), places, middle, neighbours=2)
    tensor([[3.]])
    """
    squares = torch.cdist(
        points.transpose(1, 2), places.transpose(1, 2), compute_mode="donot_use_mm_for_euclid_dist"
    ).square()
    nearest = squares.topk(min(neighbours, places.shape[2]), dim=2, largest=False)
    weights = 1 / nearest.values.clamp_min(1e-16)
    near = values[:, None].expand(-1, points.shape[2], -1).gather(2, nearest.indices)
    return (weights * near).sum(2) / weights.sum(2)


def pointwise(*widths: int, slope: float = 0.0) -> nn.Sequential:
    """Layers that see each point alone: convolutions of width 1, batch norms, (leaky) ReLU."""
    layers: list[nn.Module] = []
    for entering, leaving in pairwise(widths):
        layers += [nn.Conv1d(entering, leaving, 1, bias=False), nn.BatchNorm1d(leaving)]
        layers.append(nn.LeakyReLU(slope) if slope else nn.ReLU())
    return nn.Sequential(*layers)


def dense_head(entering: int, hidden: tuple[int, ...], outputs: int, dropout: float) -> nn.Module:
    """Fully connected layers; without batch norms, which cannot learn from a batch of one."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(entering, width), nn.ReLU(), nn.Dropout(dropout)]
        entering = width
    return nn.Sequential(*layers, nn.Linear(entering, outputs))
