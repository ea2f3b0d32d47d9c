"""Noisy copies of inputs that robustness metrics explain again.

Explaining again is the most expensive thing that metrics do. The noise of a copy depends on the
input, the kind of noise and the number of the draw, and on no metric: metrics that ask for the same
noise get the same copies, and each copy is explained once for all of them. What a metric wants to
know of a copy is a function of the copy and its map, the :class:`Request`'s ``measure``. All
requests of the metrics that are measured together are known beforehand (``Batch.requests``), so
that a map can be forgotten as soon as it has been looked at: never more than ``Batch.rows`` copies
are in memory, and what stays is one number per copy and request.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.masking import Masked, masked_scores
from pasta.metrics.base import Batch, Explainer, Result, require
from pasta.metrics.forward import precise
from pasta.readings import Reading

EPSILON = 1e-6  # by what the released code divides where there is a zero
# The same noise for all metrics that can have it, or that of the metric's own definition.
CopyNoise = Literal["own", "shared"]


@dataclass(frozen=True)
class Noise:
    """What is added to an input.

    Attributes
    ----------
    kind
        Uniform or Gaussian.
    size
        The largest number that is added, or the standard deviation.
    lowest
        The smallest number that is added, if it is uniform; None is minus the largest.
    spare_first
        Whether the first feature stays as it is, as in the released code of LATEC.
    """

    kind: Literal["uniform", "gaussian"]
    size: float
    lowest: float | None = None
    spare_first: bool = False


@dataclass(frozen=True)
class Copies:
    """Some copies, of one or several inputs, with their maps: all have one row per copy."""

    maps: Tensor  # of the inputs without noise
    again: Tensor  # of the copies
    images: Tensor
    noisy: Tensor


Measure = Callable[[Copies], Tensor]  # one number per row; must be hashable by what it computes


@dataclass(frozen=True)
class Request:
    """What a metric wants to know of each of its copies."""

    noise: Noise
    samples: int
    measure: Measure


def noisy_copies(batch: Batch, number: int, noise: Noise, samples: int) -> Masked:
    """Make the noisy copies of one input, when they are needed."""
    image = require(batch.images)[number]

    def copy(draw: int) -> Tensor:
        # A generator for each copy, so that it does not matter in which batch a copy is. It is
        # called as the metric that came first.
        random = batch.generator(number, "max_sensitivity", noise.kind, draw)
        if noise.kind == "gaussian":
            drawn = torch.randn(image.shape, generator=random, dtype=image.dtype)
        else:
            drawn = torch.rand(image.shape, generator=random, dtype=image.dtype)
            if noise.lowest is None:
                drawn = 2 * drawn - 1
        added = drawn.to(image.device)
        if noise.lowest is None:
            added = noise.size * added
        else:
            added = noise.lowest + (noise.size - noise.lowest) * added
        if noise.spare_first:
            added.view(-1)[0] = 0
        return image + added

    def build(rows: slice) -> Tensor:
        return torch.stack([copy(draw) for draw in range(rows.start, rows.stop)])

    return Masked(samples, build)


def measure_copies(batch: Batch, request: Request) -> Tensor:
    """Explain the copies that a metric asks for, once for all metrics with the same noise.

    Parameters
    ----------
    batch
        Maps, images, targets and the explainer.
    request
        Which copies, and what the metric wants to know of them.

    Returns
    -------
    Numbers (n, samples) in double precision.
    """
    alike = [one for one in batch.requests if one.noise == request.noise]
    if request not in alike:
        alike.append(request)
    key = ("noisy copies", request.noise, tuple(dict.fromkeys(alike)))
    found: dict[Measure, Tensor] = batch.once(key, lambda: _explain_copies(batch, alike))
    return found[request.measure][:, : request.samples]


def count_explanations(request: Request) -> dict[Hashable, int]:
    """The work of a request: copies that metrics share have equal keys."""
    return {("noisy copy", request.noise, draw): 1 for draw in range(request.samples)}


def measure_noisy(
    batch: Batch, noise: Noise, samples: int, measure: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Look at noisy copies without explaining them.

    Parameters
    ----------
    batch
        Images.
    noise, samples
        Which copies.
    measure
        Copies and the numbers of their images to one number per row.

    Returns
    -------
    Numbers (n, samples).
    """
    copies = [noisy_copies(batch, number, noise, samples) for number in range(len(batch))]
    return torch.stack(masked_scores(measure, copies, batch.rows))


def _explain_copies(batch: Batch, requests: list[Request]) -> dict[Measure, Tensor]:
    images, targets = require(batch.images), require(batch.targets)
    explainer = require(batch.explainer)
    measures = list(dict.fromkeys(one.measure for one in requests))
    samples = max(one.samples for one in requests)

    def look(noisy: Tensor, owners: Tensor) -> Tensor:
        again = ask_explainer(explainer, noisy, targets[owners], batch.maps.shape[1:])
        copies = Copies(batch.maps[owners], again, images[owners], noisy)
        return torch.stack([measure(copies) for measure in measures], 1)

    found = precise(measure_noisy(batch, requests[0].noise, samples, look))
    return {measure: found[:, :, place] for place, measure in enumerate(measures)}


def scale_maps(maps: Tensor) -> Tensor:
    """Divide each map by its largest absolute value, (n, ...) to (n, features) in double precision.

    A map that is all zero stays as it is.
    """
    values = precise(maps.flatten(1))
    largest = values.abs().amax(1, keepdim=True)
    return values / torch.where(largest == 0, 1, largest)


def find_change(before: Tensor, after: Tensor, floor: float | None) -> Tensor:
    """The norm of the relative change of all features.

    Parameters
    ----------
    before, after
        Shape (n, features).
    floor
        A share of the largest absolute value of ``before``: features below count as large as this
        when their change is divided by them. None divides by what is there, and by
        :data:`EPSILON` where it is exactly zero, as the released code does.

    Returns
    -------
    Norms (n,).
    """
    if floor is None:
        size = torch.where(before == 0, EPSILON, before)
    else:
        least = floor * before.abs().amax(1, keepdim=True)
        size = torch.maximum(before.abs(), least)
        size = torch.where(size == 0, 1, size)  # nothing is there, and nothing is divided
    changes: Tensor = torch.linalg.vector_norm((before - after) / size, dim=1)
    return changes


@dataclass(frozen=True)
class MapChange:
    """The relative change of the map, and of the input if ``per_input``, as their ratio.

    The three relative stabilities have it in common. The paper normalises maps by their largest
    value, the released code by their root mean square.
    """

    reading: Reading
    floor: float
    per_input: bool = False

    def __call__(self, copies: Copies) -> Tensor:
        """One number per copy."""
        floor = self.floor if self.reading == "corrected" else None
        normalise = _divide_by_second_moment if self.reading == "released" else scale_maps
        change = find_change(normalise(copies.maps), normalise(copies.again), floor)
        if not self.per_input:
            return change
        before, after = (precise(one.flatten(1)) for one in (copies.images, copies.noisy))
        return change / find_change(before, after, floor)


def _divide_by_second_moment(maps: Tensor) -> Tensor:
    values = precise(maps.flatten(1))
    size = values.square().mean(1, keepdim=True).sqrt()
    return values / torch.where(size == 0, 1, size)


def divide_by_change(numerators: Tensor, changes: Tensor, reading: Reading) -> Tensor:
    """Relate changes of maps to changes of something else, and take the largest.

    Parameters
    ----------
    numerators, changes
        Shape (n, samples).
    reading
        Copies that change nothing are left out in the corrected reading. In the others they are
        divided by :data:`EPSILON`.

    Returns
    -------
    The largest ratio of each row; NaN if there is none, or one that is not a number.
    """
    still = changes == 0
    if reading != "corrected":
        ratios = numerators / torch.where(still, EPSILON, changes)
    else:
        ratios = torch.where(still & ~numerators.isnan(), -torch.inf, numerators / changes)
    largest = ratios.amax(1)
    return torch.where(still.all(1), torch.nan, largest)


def give_status(batch: Batch, values: Tensor, numbers: Tensor | None = None) -> Result:
    """Values of maps that are not all zero, and the statuses of the others.

    ``numbers`` (n, samples) are what the explanations of the copies said, if not the values.
    """
    zero = (batch.maps == 0).flatten(1).all(1)
    broken = values.isnan() if numbers is None else numbers.isnan().any(1)
    found = torch.where(zero | broken, torch.nan, values)
    return Result(found, {"zero": zero, "nan explanation": broken})


def ask_explainer(
    explainer: Explainer, images: Tensor, targets: Tensor, size: torch.Size
) -> Tensor:
    """Ask an explainer, which may use gradients, and check what it returns.

    Parameters
    ----------
    explainer
        Images and targets to maps.
    images
        Shape (n, channels, *spatial).
    targets
        The class to explain for each image.
    size
        Height and width, or other sides, that the maps must have; with the channels in front for
        maps that have channels.

    Returns
    -------
    Maps (n, *size).
    """
    # The scores of copies are computed where gradients are off for good; copies made outside of
    # that are ordinary tensors again.
    with torch.inference_mode(False), torch.enable_grad():
        found: Any = explainer(images.clone(), targets.clone())
    maps = found.detach() if isinstance(found, Tensor) else torch.from_numpy(np.asarray(found))
    if maps.ndim == len(size) + 2 and maps.shape[1] == 1:
        maps = maps[:, 0]
    if maps.shape != (len(images), *size):
        raise PastaError(
            f"the explainer returns {tuple(maps.shape)}, expected {(len(images), *size)}: one map "
            "for each image, of the same size as the maps that were given"
        )
    return maps.float().to(images.device)
