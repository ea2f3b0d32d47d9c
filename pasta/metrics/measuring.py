"""Several metrics of the same samples, a few samples at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import Tensor

from pasta.compute import to_numpy
from pasta.errors import PastaError
from pasta.explanations.attribution import Status
from pasta.explanations.attribution import statuses as map_statuses
from pasta.metrics.base import Batch, Result, Sign, variant_name
from pasta.metrics.catalog import METRICS
from pasta.metrics.forward import Scorer, evaluating, forward_rows, scorer_of
from pasta.metrics.inputs import Inputs, check, check_finite, same_size
from pasta.metrics.robustness import explained
from pasta.metrics.settings import DEFAULTS, MetricsParams
from pasta.registry import did_you_mean
from pasta.sections import Section

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Wanted:
    """A metric and the options that make its variant."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Measured:
    """A metric of all samples: NaN where the status is not ok."""

    name: str
    variant: str
    direction: str
    values: Floats
    statuses: list[str]
    seconds: Floats  # per sample; what metrics share is counted for the first one
    curves: Floats | None = None  # (n, points), for metrics that look at curves


def measure(
    wanted: Sequence[Wanted],
    inputs: Inputs,
    *,
    seed: int = 0,
    batch_size: int | None = None,
    softmax: bool | None = None,
    finite: bool = False,
    base: MetricsParams = DEFAULTS,
) -> list[Measured]:
    """Several metrics of the same samples, which share the forward passes they have in common.

    With ``finite``, maps that hold NaN are an error before any work; else they get a status.
    """
    names = [one.name for one in wanted]
    settings = [settings_of(one.name, one.options, base) for one in wanted]
    if batch_size is not None and batch_size < 1:
        raise PastaError(f"the batch size is {batch_size}, expected at least 1")
    check(inputs, names)
    if finite and inputs.maps is not None:
        check_finite(inputs)
    found = [
        Measured(
            one.name,
            variant_name(one.name, own),
            METRICS.entry(one.name).metadata["direction"],
            np.full(len(inputs), np.nan),
            [""] * len(inputs),
            np.zeros(len(inputs)),
        )
        for one, own in zip(wanted, settings, strict=True)
    ]
    with evaluating(inputs.model):
        scorer = _scorer(inputs, names, softmax)
        for part in inputs.chunks():
            whole = _batch(inputs, part, names, scorer, seed, batch_size)
            batches: dict[tuple[Any, ...], Batch] = {}
            for one, own in zip(found, settings, strict=True):
                _measure_part(one, own, whole, part, batches)
    return found


def _scorer(inputs: Inputs, names: Sequence[str], softmax: bool | None) -> Scorer | None:
    """The model, looked at before any work, if a metric needs it or targets are to be found."""
    needing = [name for name in names if "model" in METRICS.entry(name).metadata["needs"]]
    targets = any("targets" in METRICS.entry(name).metadata["needs"] for name in names)
    if not needing and (not targets or inputs.targets is not None):
        return None
    probabilities = any(METRICS.entry(name).metadata["probabilities"] for name in needing)
    scorer = scorer_of(inputs.model, inputs.images_of(slice(0, 1)), softmax, probabilities)
    if inputs.targets is not None:
        chosen = inputs.targets_of(slice(None))
        wrong = chosen[(chosen < 0) | (chosen >= scorer.classes)]
        if len(wrong):
            raise PastaError(
                f"a target is {int(wrong[0])}, but the model has {scorer.classes} classes, "
                f"expected 0 to {scorer.classes - 1}"
            )
    return scorer


def _batch(
    inputs: Inputs,
    part: slice,
    names: Sequence[str],
    scorer: Scorer | None,
    seed: int,
    batch_size: int | None,
) -> Batch:
    """The samples of a chunk with what any of the metrics needs."""
    needs = {need for name in names for need in METRICS.entry(name).metadata["needs"]}
    images = inputs.images_of(part) if "images" in needs else None
    rows = 1 if images is None else forward_rows(images, batch_size)
    targets = None
    if images is not None:
        targets = inputs.targets_of(part) if inputs.targets is not None else None
        if targets is None and scorer is not None:
            targets = scorer.predicted(images, rows)
    if inputs.maps is not None:
        maps = inputs.maps_of(part)
        if images is not None:
            same_size("images", tuple(images.shape[-2:]), tuple(maps.shape[-2:]))
    else:
        maps = _explained(inputs, images, targets, rows)
    masks = inputs.masks_of(part) if "masks" in needs else None
    return Batch(
        maps, seed, rows, images, targets, masks, scorer, inputs.explainer, memory=inputs.memory
    )


def _explained(inputs: Inputs, images: Any, targets: Any, rows: int) -> Tensor:
    explainer: Any = inputs.explainer
    parts = zip(torch.split(images, rows), torch.split(targets, rows), strict=True)
    return torch.cat([explained(explainer, one, of, images.shape[2:]) for one, of in parts])


def _measure_part(
    found: Measured,
    settings: Any,
    whole: Batch,
    part: slice,
    batches: dict[tuple[Any, ...], Batch],
) -> None:
    """Measure the samples of a chunk that the metric has something to say about."""
    started = time.perf_counter()
    maps, seen, keep = usable(whole.maps, found.name)
    found.statuses[part] = seen
    if keep:
        key = (METRICS.entry(found.name).metadata["sign"], keep)
        if key not in batches:
            batches[key] = _chosen(whole, maps, list(keep))
        result = METRICS[found.name](batches[key], settings)
        _write(found, result, [part.start + number for number in keep])
    found.seconds[part] = (time.perf_counter() - started) / len(whole)


def _write(found: Measured, result: Result, places: Sequence[int]) -> None:
    values = to_numpy(result.values)
    found.values[list(places)] = np.where(np.isfinite(values), values, np.nan)
    for place, status in zip(places, result.statuses(), strict=True):
        found.statuses[place] = status
    if result.curves is not None:
        if found.curves is None:
            found.curves = np.full((len(found.values), result.curves.shape[1]), np.nan)
        found.curves[list(places)] = to_numpy(result.curves)


def usable(maps: Tensor, name: str) -> tuple[Tensor, list[Status], tuple[int, ...]]:
    """Maps as a metric looks at them, what they are, and those it has something to say about."""
    about = METRICS.entry(name).metadata
    sign: Sign = about["sign"]
    if sign != "signed":
        maps = maps.abs() if sign == "absolute" else maps.clamp_min(0)
    seen = map_statuses(to_numpy(maps))
    return maps, seen, tuple(n for n, status in enumerate(seen) if status not in about["refuses"])


def _chosen(whole: Batch, maps: Tensor, keep: list[int]) -> Batch:
    names = ("images", "targets", "masks")
    some = {name: getattr(whole, name) for name in names if getattr(whole, name) is not None}
    chosen = {name: values[keep] for name, values in some.items()}
    return replace(whole, maps=maps[keep], shared={}, **chosen)


def settings_of(name: str, options: Mapping[str, Any], base: MetricsParams = DEFAULTS) -> Any:
    """The settings of a metric with some of them replaced, or an error that names the option.

    They are a section of the parameters, None where there is nothing to set, or a dictionary for
    the metrics of Quantus.
    """
    about = METRICS.entry(name).metadata
    if about["check_options"] is not None:
        return about["check_options"]({**base.quantus.get(name.partition("/")[2], {}), **options})
    section_name = about["settings"]
    section: Section | None = getattr(base, section_name) if section_name else None
    known = dict(section) if section is not None else {}
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known)
            raise PastaError(f"{name} has no option {option!r}. {hint}")
    if section is None or not options:
        return section
    try:
        return type(section).model_validate({**known, **options})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        expected = first["msg"].replace("Input should be", "expected")
        raise PastaError(f"{name}: {place} is {first['input']!r}, {expected}") from None
