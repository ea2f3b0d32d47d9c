"""Models whose metrics are known, and the papers' formulas written down slowly, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]


class WeightedSum(nn.Module):
    """The probability of class 1 is a weighted sum of the pixels (the mean of their channels)."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Buffer(weights / weights.sum())

    def forward(self, images: Tensor) -> Tensor:
        share = (images.mean(1) * self.weights).sum((1, 2))
        return torch.stack([1 - share, share], 1)


def distinct_weights(size: int = 8, seed: int = 0) -> Tensor:
    """Positive weights, no two alike."""
    random = torch.Generator().manual_seed(seed)
    return (1.0 + torch.randperm(size * size, generator=random).float()).view(size, size)


def bright_points(size: int = 12, seed: int = 0) -> tuple[Tensor, Tensor]:
    """An image of bright points on black, and weights that look at the points only: what linear
    imputation puts in place of a point is black."""
    random = torch.Generator().manual_seed(seed)
    image, weights = torch.zeros(3, size, size), torch.zeros(size, size)
    image[:, 1::3, 1::3] = 1
    points = weights[1::3, 1::3]
    points += 1.0 + torch.randperm(points.numel(), generator=random).float().view_as(points)
    return image, weights


def random_maps(number: int, size: int = 16, seed: int = 5) -> Tensor:
    return torch.rand(number, size, size, generator=torch.Generator().manual_seed(seed))


def probability_of(model: nn.Module, softmax: bool = True) -> Callable[[Floats, int], float]:
    """The target's probability for one image, in double precision."""
    from copy import deepcopy

    exact = deepcopy(model).double().eval()

    def ask(image: Floats, target: int) -> float:
        with torch.no_grad():
            outputs: Tensor = exact(torch.from_numpy(image)[None])
        return float((outputs.softmax(1) if softmax else outputs)[0, target])

    return ask


def order_of(one: Floats, descending: bool) -> NDArray[np.intp]:
    """Pixel numbers in the order of relevance, for maps without ties."""
    return np.argsort(-one.ravel() if descending else one.ravel())


def literal_imputation(image: Floats, removed: NDArray[np.bool_]) -> Floats:
    """Equation by equation: a removed pixel is the weighted mean of the neighbours it has."""
    from scipy.sparse import lil_matrix
    from scipy.sparse.linalg import spsolve

    channels, height, width = image.shape
    pixels = list(zip(*np.nonzero(removed), strict=True))
    numbers = {place: number for number, place in enumerate(pixels)}
    matrix: Any = lil_matrix((len(pixels), len(pixels)))
    right = np.zeros((len(pixels), channels))
    for (row, column), number in numbers.items():
        for down in (-1, 0, 1):
            for across in (-1, 0, 1):
                other = (row + down, column + across)
                inside = 0 <= other[0] < height and 0 <= other[1] < width
                if (down, across) == (0, 0) or not inside:
                    continue
                weight = 1 / 6 if 0 in (down, across) else 1 / 12
                matrix[number, number] += weight
                if other in numbers:
                    matrix[number, numbers[other]] -= weight
                else:
                    right[number] += weight * image[:, other[0], other[1]]
    result = image.copy()
    if pixels:
        result[:, removed] = spsolve(matrix.tocsc(), right).reshape(len(pixels), channels).T
    return result


def sparse_solve(image: Floats, removed: NDArray[np.bool_]) -> Floats:
    """One image and one step, the matrix put together at once and not entry by entry."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import spsolve

    inside, unknown = np.pad(np.ones_like(removed), 1), np.pad(removed, 1)
    values = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    rows, columns = np.nonzero(unknown)
    count = len(rows)
    numbers = np.zeros(unknown.shape, int)
    numbers[unknown] = np.arange(count)
    diagonal, right, parts = np.zeros(count), np.zeros((count, len(image))), []
    for down in (-1, 0, 1):
        for across in (-1, 0, 1):
            if (down, across) == (0, 0):
                continue
            weight = 1 / 6 if 0 in (down, across) else 1 / 12
            there = rows + down, columns + across
            diagonal += weight * inside[there]
            known = inside[there] & ~unknown[there]
            right[known] += weight * values[:, there[0][known], there[1][known]].T
            linked = np.nonzero(unknown[there])[0]
            others = numbers[there[0][linked], there[1][linked]]
            parts.append((np.full(len(linked), -weight), linked, others))
    parts.append((diagonal, np.arange(count), np.arange(count)))
    entries, first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
    matrix = coo_matrix((entries, (first, second))).tocsc()
    result = image.copy()
    result[:, removed] = np.reshape(spsolve(matrix, right), (count, -1)).T
    return result


def blackened(image: Floats, removed: NDArray[np.bool_]) -> Floats:
    return np.where(removed, 0.0, image)


def algorithm_1(
    image: Floats,
    one: Floats,
    thresholds: tuple[int, ...],
    sufficiency: bool,
    perturb: Callable[[Floats, NDArray[np.bool_]], Floats],
    probability: Callable[[Floats], float],
) -> tuple[float, float]:
    """Line by line; returns max(values), as the text says, and max(arr), as it is printed."""
    values: list[float] = []
    arr: list[float] = []
    for threshold in thresholds:
        order = order_of(one, descending=not sufficiency)
        arr = []
        for i in range(1, threshold, 2):
            removed = np.zeros(one.size, bool)
            removed[order[: int(one.size * i / 100)]] = True
            changed = perturb(image, removed.reshape(one.shape))
            arr.append(abs(probability(image) - probability(changed)))
        mean = float(np.mean(arr))
        values.append(float(np.exp(-mean) if sufficiency else 1 - np.exp(-mean)))
    return max(values), max(arr)
