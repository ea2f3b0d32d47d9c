"""LATEC's faithfulness metrics written down slowly, in double precision, feature by feature.

Inputs are one image (channels, *spatial) and its map, as large as the image or without channels. A
feature is a number of the map; ``remove`` puts a filling into the features with given numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import pearsonr, spearmanr
from torch import Tensor, nn

from pasta.explanations.image import IMAGE
from pasta.explanations.modality import Modality
from pasta.explanations.spatial import grid_labels, shift_content

Floats = NDArray[np.float64]
Ask = Callable[[Floats], float]


class SmallNetOf(nn.Module):
    """A convolution over one, two or three axes, pooling, and a linear layer."""

    def __init__(self, axes: int, channels: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(axes)
            kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1]
            self.first, self.head = kind(channels, 6, 3), nn.Linear(12, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        values = self.first(inputs).relu().flatten(2)
        outputs: Tensor = self.head(torch.cat([values.mean(2), 3 * values.amax(2)], 1))
        return 2 * outputs


def halves(one: Tensor, *_: object) -> Tensor:
    """Parts: both halves of each axis."""
    size = one.shape[1:]
    return grid_labels(size, -(-max(size) // 2))


VOLUME = Modality(
    "small volume",
    axes=("depth", "height", "width"),
    channels=1,
    load=torch.from_numpy,
    resize=lambda maps, _: maps,
    segment=halves,
    split=grid_labels,
    shift=shift_content,
)
CLOUD = Modality(
    "small cloud",
    axes=("points",),
    channels=3,
    load=torch.from_numpy,
    resize=lambda maps, _: maps,
    segment=lambda one, *_: grid_labels(one.shape[1:], 7),
    split=grid_labels,
)
KINDS: dict[str, tuple[Modality, tuple[int, ...]]] = {
    "image": (IMAGE, (3, 12, 12)),
    "volume": (VOLUME, (1, 6, 5, 6)),
    "cloud": (CLOUD, (3, 26)),
}


def probabilities_of(network: nn.Module, target: int, logit: bool = False) -> Ask:
    """What a model says of one image, in double precision."""
    exact = deepcopy(network).double().eval()

    def ask(image: Floats) -> float:
        with torch.no_grad():
            outputs: Tensor = exact(torch.from_numpy(image)[None])
        return float((outputs if logit else outputs.softmax(1))[0, target])

    return ask


def remove(image: Floats, one: Floats, features: Sequence[int], filling: Floats | float) -> Floats:
    """The image with a filling in some features."""
    result, whole = image.copy(), np.broadcast_to(np.asarray(filling), image.shape)
    for number in features:
        place: Any = np.unravel_index(number, one.shape)
        place = place if one.ndim == image.ndim else (slice(None), *place)
        result[place] = whole[place]
    return result


def in_step(image: Floats, one: Floats, entries: int) -> int:
    """How many features of the map are so many entries."""
    return entries if one.ndim == image.ndim else max(1, round(entries / len(image)))


def groups_of(order: NDArray[np.intp], size: int) -> list[list[int]]:
    return [list(map(int, order[at : at + size])) for at in range(0, len(order), size)]


def faithfulness_estimate(image: Floats, one: Floats, entries: int, logit: Ask) -> float:
    sums, falls = [], []
    for group in groups_of(np.argsort(-one.ravel()), in_step(image, one, entries)):
        sums.append(one.ravel()[group].sum())
        falls.append(logit(image) - logit(remove(image, one, group, image.min())))
    return float(pearsonr(sums, falls)[0])


def monotonicity_correlation(
    image: Floats,
    one: Floats,
    entries: int,
    samples: int,
    draw: Callable[[int, int], Floats | float],
    probability: Ask,
) -> float:
    """``draw`` gives what stands in group g in sample s."""
    sums, changes = [], []
    p = probability(image)
    for number, group in enumerate(
        groups_of(np.argsort(one.ravel()), in_step(image, one, entries))
    ):
        answers = [
            probability(remove(image, one, group, draw(number, sample)))
            for sample in range(samples)
        ]
        sums.append(one.ravel()[group].sum())
        changes.append(np.mean((np.array(answers) - p) ** 2) / p**2)
    return float(spearmanr(sums, changes)[0])


def removal_curve(
    start: Floats, finish: Floats, one: Floats, entries: int, ask: Ask, whole_pixels: bool = False
) -> Floats:
    """The answer from none to all features, step by step. Pixels may go with all channels."""
    points, now = [ask(start)], start.copy()
    for group in groups_of(np.argsort(-one.ravel()), in_step(start, one, entries)):
        if whole_pixels:
            for number in group:
                place: Any = (slice(None), *np.unravel_index(number, one.shape)[1:])
                now[place] = finish[place]
        else:
            now = remove(now, one, group, finish)
        points.append(ask(now))
    return np.array(points)


def region_perturbation(
    image: Floats,
    one: Floats,
    patch: int,
    regions: int,
    reading: str,
    draw: Callable[[int], Floats | float],
    ask: Ask,
) -> float:
    """``draw`` gives what stands in the region with a number."""
    values = one.sum(0) if one.ndim == image.ndim else one
    size = values.shape
    side = 1 if reading == "paper" and len(size) == 1 else patch
    if reading == "corrected":
        starts = list(product(*(range(0, length, side) for length in size)))
    else:
        starts = list(product(*map(range, size)))

    def window(start: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(slice(at, at + side) for at in start)

    starts.sort(key=lambda start: -values[window(start)].sum())
    taken = np.zeros([length + side for length in size], bool)  # windows reach over the far border
    falls, now = [0.0], image.copy()
    for start in starts:
        if taken[window(start)].any() or len(falls) > regions:
            continue
        taken[window(start)] = True
        place = (slice(None), *window(start))
        now[place] = np.broadcast_to(np.asarray(draw(len(falls) - 1)), image.shape)[place]
        falls.append(ask(image) - ask(now))
    if reading == "corrected":
        return float(np.trapezoid(falls) / (len(falls) - 1))
    return float(np.trapezoid(falls[1:]))


def irof(
    image: Floats, one: Floats, labels: NDArray[np.int64], filling: str, reading: str, ask: Ask
) -> float:
    """The filling is the mean or the minimum of the image."""
    relevance = one
    while relevance.ndim > labels.ndim:
        relevance = relevance.mean(0)
    means = [relevance[labels == part].mean() for part in range(labels.max() + 1)]
    now, shares = image.copy(), []
    for part in np.argsort(-np.array(means)):
        if reading == "released":
            numbers = np.flatnonzero((labels == part).ravel())  # of places, taken for entries
            now.ravel()[numbers] = now.mean() if filling == "mean" else image.min()
        else:
            for channel in range(len(image)):
                value = image[channel].mean() if filling == "mean" else image.min()
                now[channel][labels == part] = value
        shares.append(ask(now) / ask(image))
    if reading == "corrected":
        return float(1 - np.trapezoid([1.0, *shares]) / len(shares))
    return float(len(shares) - np.trapezoid(shares))


def neighbour_sufficiency(
    maps: Floats, classes: Sequence[int], threshold: float, distance: Any, reading: str
) -> list[float]:
    """Chunks of two, where released."""
    flat = maps.reshape(len(maps), -1)
    if reading == "corrected":
        flat = flat / np.abs(flat).max(1, keepdims=True)
    if reading != "released":
        flat = flat[:, np.ptp(flat, 0) > 0]
        apart = cdist(flat, flat, distance)
        near = apart / apart.max() <= threshold
    else:
        parts = []
        for start in range(0, len(flat), 2):
            part = cdist(flat[start : start + 2], flat, distance)
            parts.append(part / part.max() <= threshold)
        near = np.concatenate(parts)
    found = []
    for row in range(len(flat)):
        others = [n for n in range(len(flat)) if n != row and near[row, n]]
        none = np.nan if reading == "corrected" else 0.0
        same = [classes[n] == classes[row] for n in others]
        found.append(float(np.mean(same)) if others else none)
    return found
