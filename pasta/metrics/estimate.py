"""What metrics of many maps would cost, without computing them.

The metrics themselves are asked about one map, with a model and an explainer that only count: so
whatever several metrics share is counted once, as it is computed once. The time of a forward pass,
of an explanation and of making the copies of one image is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from pasta.compute import to_numpy
from pasta.errors import PastaError
from pasta.explanations.attribution import statuses
from pasta.metrics.catalog import METRICS
from pasta.metrics.forward import evaluating
from pasta.metrics.inputs import Inputs
from pasta.metrics.measuring import Wanted, measure, usable

SAMPLES = 64  # of one call of `measure`, which looks at the model by one image
_BATCH = 32  # images of a timed forward pass
_ENOUGH = 0.5  # seconds of timing


@dataclass(frozen=True)
class Estimate:
    """The work for all samples, and about how long it takes here."""

    samples: int
    without_value: int  # maps that are all zero, constant or not a number
    forward_passes: int
    explanations: int
    seconds: float


class _Counting:
    """A model of two classes and an explainer that know nothing."""

    def __init__(self) -> None:
        self.images, self.explained = 0, 0

    def model(self, images: Tensor) -> Tensor:
        self.images += len(images)
        return torch.full((len(images), 2), 0.5, device=images.device)

    def explainer(self, images: Tensor, _targets: Tensor, model: Any = None) -> Tensor:  # noqa: ARG002
        self.explained += len(images)
        return images.mean(1)

    def timed(self, group: Sequence[Wanted], one: Inputs) -> float:
        """Seconds that metrics of one map take beside the model and the explainer."""
        model = self.model if one.model is not None else None
        explainer = self.explainer if one.explainer is not None else None
        started = time.perf_counter()
        measure(group, replace(one, targets=[0], model=model, explainer=explainer))
        spent = time.perf_counter() - started
        if _uses(group, "model"):
            self.images -= 1  # the look at the model, which is not for each map
        return spent


def estimate(wanted: Sequence[Wanted], inputs: Inputs, batch_size: int | None = None) -> Estimate:
    """Count the passes that ``measure`` would make in parts of :data:`SAMPLES`, and time a few."""
    passes, explanations, seconds = 0, 0, 0.0
    for group in _alike(wanted):
        kept = [
            part.start + number
            for part in inputs.chunks()
            for number in usable(inputs.maps_of(part), group[0].name)[2]
        ]
        if kept:
            counting = _Counting()
            seconds += len(kept) * counting.timed(group, inputs.part(slice(kept[0], kept[0] + 1)))
            passes += len(kept) * counting.images
            explanations += len(kept) * counting.explained
    passes += _beforehand(wanted, inputs)
    if passes:
        seconds += passes * _forward_seconds(inputs, batch_size)
    if explanations:
        seconds += explanations * _explainer_seconds(inputs)
    parts = (statuses(to_numpy(inputs.maps_of(part))) for part in inputs.chunks())
    without = sum(status != "ok" for part in parts for status in part)
    return Estimate(len(inputs), without, passes, explanations, seconds)


def _alike(wanted: Sequence[Wanted]) -> list[list[Wanted]]:
    """Metrics that look at the same maps in the same way, which share what they have in common."""
    groups: dict[tuple[Any, ...], list[Wanted]] = {}
    for one in wanted:
        about = METRICS.entry(one.name).metadata
        groups.setdefault((about["sign"], about["refuses"], about["needs"]), []).append(one)
    return list(groups.values())


def _beforehand(wanted: Sequence[Wanted], inputs: Inputs) -> int:
    """Looks at the model, and the search for predicted classes."""
    search = inputs.targets is None and _uses(wanted, "targets")
    looks = -(-len(inputs) // SAMPLES) if search or _uses(wanted, "model") else 0
    return looks + (len(inputs) if search else 0)


def _uses(wanted: Sequence[Wanted], need: str) -> bool:
    return any(need in METRICS.entry(one.name).metadata["needs"] for one in wanted)


def _forward_seconds(inputs: Inputs, batch_size: int | None) -> float:
    images = inputs.images_of(slice(0, min(len(inputs), batch_size or _BATCH)))
    with evaluating(inputs.model), torch.inference_mode():
        return _seconds(lambda: inputs.model(images), "the model") / len(images)


def _explainer_seconds(inputs: Inputs) -> float:
    explainer: Any = inputs.explainer
    images = inputs.images_of(slice(0, min(len(inputs), 2)))
    targets = torch.zeros(len(images), dtype=torch.long, device=images.device)
    if inputs.targets is not None:
        targets = inputs.targets_of(slice(0, len(images)))
    return _seconds(lambda: explainer(images, targets), "the explainer") / len(images)


def _seconds(call: Callable[[], Any], what: str) -> float:
    """Of one call, the best of a few."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < _ENOUGH:
        started = time.perf_counter()
        try:
            call()
        except (RuntimeError, AssertionError, TypeError, ValueError) as error:
            raise PastaError(f"{what} cannot take the images: {error}") from error
        times.append(time.perf_counter() - started)
    return min(times)
