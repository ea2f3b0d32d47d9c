"""What a user gives on the command line, read and checked, and how much work it would be.

An estimate asks the metrics about one map, with a model and an explainer that only count: so
whatever several metrics share is counted once, as it is computed once. The time of a forward pass,
of an explanation and of making the copies of one image is measured.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta import store
from pasta.compute import to_numpy
from pasta.errors import InputError, PastaError
from pasta.explanations.attribution import statuses
from pasta.explanations.hooks import evaluating
from pasta.metrics.api import Inputs, Wanted, cost, find_usable, get_settings, measure
from pasta.metrics.catalog import METRICS
from pasta.text_files import read_csv

Array = NDArray[Any]
_ROWS = 64  # that are looked at at a time


def read_maps(file: Path) -> Array:
    """Read maps, memory-mapped.

    Parameters
    ----------
    file
        An array (n, height, width) or (n, 1, height, width).

    Returns
    -------
    Maps (n, height, width).
    """
    expected = "numbers of the shape n x height x width"
    maps = _read_numbers(file, expected)
    if maps.ndim == 4 and maps.shape[1] == 1:
        maps = maps[:, 0]
    if maps.ndim != 3 or 0 in maps.shape:
        raise InputError(f"has the shape {_shape(maps)}", file=file, expected=expected)
    return maps


def read_images(file: Path, maps: Array) -> Array:
    """Read images, memory-mapped, and check that they fit the maps.

    Parameters
    ----------
    file
        Floats (n, channels, height, width), or bytes (n, height, width, channels) as image files
        hold them, which :func:`as_floats` makes floats from 0 to 1.
    maps
        The maps (n, height, width) that belong to them.

    Returns
    -------
    Images (n, channels, height, width), floats or bytes.
    """
    expected = "floats n x channels x height x width, or bytes n x height x width x channels"
    images = _read_numbers(file, expected)
    if images.ndim == 4 and images.dtype == np.uint8 and images.shape[-1] in (1, 3):
        images = np.moveaxis(images, -1, 1)
    elif images.ndim != 4 or not np.issubdtype(images.dtype, np.floating):
        found = f"holds {images.dtype} of the shape {_shape(images)}"
        raise InputError(found, file=file, expected=expected)
    _check_size(file, images.shape[:1] + images.shape[2:], maps)
    _check_finite_images(file, images)
    return images


def as_floats(images: Array) -> NDArray[np.float32]:
    """A few images as the model gets them."""
    floats = np.asarray(images, dtype=np.float32)
    return floats / np.float32(255) if images.dtype == np.uint8 else floats


def read_masks(file: Path, maps: Array) -> Array:
    """Read masks, memory-mapped, and check that they fit the maps.

    Parameters
    ----------
    file
        Numbers from 0 to 1 (n, height, width).
    maps
        The maps that belong to them.

    Returns
    -------
    Masks (n, height, width).
    """
    masks = _read_numbers(file, "numbers from 0 to 1 of the shape n x height x width")
    _check_size(file, masks.shape, maps)
    for start in range(0, len(masks), _ROWS):
        part = masks[start : start + _ROWS].reshape(len(masks[start : start + _ROWS]), -1)
        wrong = np.flatnonzero(~((part >= 0) & (part <= 1)).all(1))
        if len(wrong):
            row = start + int(wrong[0])
            raise InputError("the mask is wrong", file=file, row=row, expected="0 to 1")
    return masks


def read_targets(file: Path, number: int) -> NDArray[np.int64]:
    """Read class numbers.

    Parameters
    ----------
    file
        An array, or a CSV file with a column ``target`` or one column only.
    number
        How many there must be.

    Returns
    -------
    Class numbers (n,).
    """
    expected = f"{number} class numbers from 0 on, one for each map"
    if file.suffix == ".csv":
        found = _read_csv_targets(file)
    else:
        array = _read_numbers(file, expected)
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
            words = f"holds {array.dtype} of the shape {_shape(array)}"
            raise InputError(words, file=file, expected=expected)
        found = np.asarray(array, dtype=np.int64)
    if len(found) != number:
        raise InputError(f"has {len(found)} targets", file=file, expected=expected)
    if (found < 0).any():
        row = int(np.flatnonzero(found < 0)[0])
        raise InputError(f"the target is {found[row]}", file=file, row=row, expected=expected)
    return found


def _read_csv_targets(file: Path) -> NDArray[np.int64]:
    table = read_csv(file, ["target"], "a column 'target'").complete()
    if "target" not in table and len(table.columns) != 1:
        raise InputError(
            f"has the columns {', '.join(table.columns)}", file=file, expected="a column 'target'"
        )
    name = "target" if "target" in table else table.columns[0]
    for line, text in zip(table.index, table[name], strict=True):
        if not text.strip().isdecimal():
            raise InputError(
                f"found {text!r}", file=file, row=line, column=name, expected="a class number"
            )
    return np.asarray(table[name].astype("int64"), dtype=np.int64)


def import_object(name: str, what: str) -> Any:
    """Import what a user names; modules are also looked for in the working directory.

    Parameters
    ----------
    name
        ``module:function``.
    what
        What it should be, for error messages.

    Returns
    -------
    Something to call.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise PastaError(f"the {what} is {name!r}, expected module:function, e.g. mine:{what}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
        for step in attribute.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError) as error:
        raise PastaError(f"the {what} {name!r} cannot be found: {error}") from error
    except Exception as error:  # whatever somebody else's code raises
        kind = type(error).__name__
        raise PastaError(f"the {what} {name!r} cannot be imported: {kind}: {error}") from error
    if not callable(found):
        kind = type(found).__name__
        raise PastaError(f"the {what} {name!r} is a {kind}, expected something to call")
    return found


def make_model(name: str) -> Any:
    """Make the model that a user names.

    Parameters
    ----------
    name
        ``module:function`` of a function that returns a model, or of a model.

    Returns
    -------
    The model.
    """
    found = import_object(name, "model")
    try:
        model = found if isinstance(found, nn.Module) else found()
    except Exception as error:  # whatever somebody else's code raises
        kind = type(error).__name__
        raise PastaError(f"the model {name!r} cannot be made: {kind}: {error}") from error
    if not callable(model):
        kind = type(model).__name__
        raise PastaError(f"{name} returns a {kind}, expected a model that can be called")
    return model


def parse_metrics(names: str, options: Sequence[str]) -> list[Wanted]:
    """Parse the metrics and options of a command line.

    Parameters
    ----------
    names
        Metrics with commas between.
    options
        ``option=value`` for all metrics that have it, or ``metric.option=value`` for one.

    Returns
    -------
    Each metric with its options, which have been checked.
    """
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if not chosen:
        raise PastaError("there is no metric to measure; `pasta metrics` lists them")
    own: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    for text in options:
        _add_option(text, own)
    wanted = [Wanted(name, own[name]) for name in own]
    for one in wanted:
        get_settings(one.name, one.options)  # an error here, before any file is read
    return wanted


def _add_option(text: str, own: Mapping[str, dict[str, Any]]) -> None:
    key, equals, value = text.partition("=")
    metric, dot, option = key.rpartition(".")
    if not equals or not option:
        raise PastaError(f"the option is {text!r}, expected name=value or metric.name=value")
    if dot and metric not in own:
        METRICS.entry(metric)
        raise PastaError(f"the option {text!r} is for {metric}, which is not among the metrics")
    having = (
        [metric] if dot else [name for name in own if option in dict(get_settings(name, {}) or {})]
    )
    if not having:
        raise PastaError(f"none of {', '.join(own)} has an option {option!r}")
    for name in having:
        own[name][option] = _parse_value(value)


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_numbers(file: Path, expected: str) -> Array:
    if file.suffix != ".npy":
        raise InputError(f"ends in {file.suffix!r}", file=file, expected=f".npy with {expected}")
    array = store.read_array(file)
    if array.dtype.kind not in "fiub":
        raise InputError(f"holds {array.dtype}", file=file, expected=expected)
    return array


def _check_size(file: Path, shape: tuple[int, ...], maps: Array) -> None:
    if shape != maps.shape:
        words = "holds {} of {}".format(shape[0] if shape else 0, " x ".join(map(str, shape[1:])))
        count, *size = maps.shape
        expected = f"{count} of {' x '.join(map(str, size))} pixels, as the maps are"
        raise InputError(words, file=file, expected=expected)


def _check_finite_images(file: Path, images: Array) -> None:
    if images.dtype == np.uint8:
        return
    for row, image in enumerate(images):
        if not np.isfinite(image).all():
            raise InputError("holds NaN or infinity", file=file, row=row, expected="finite numbers")


def _shape(array: Array) -> str:
    return " x ".join(map(str, array.shape))


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
        if _any_needs(group, "model"):
            self.images -= 1  # the look at the model, which is not for each map
        return spent


def estimate(wanted: Sequence[Wanted], inputs: Inputs, batch_size: int | None = None) -> Estimate:
    """Count the passes that ``measure`` would make in parts of :data:`SAMPLES`, and time a few.

    Parameters
    ----------
    wanted
        Metrics with their options.
    inputs
        Maps, images and whatever else the metrics need.
    batch_size
        Images in one forward pass.

    Returns
    -------
    The work for all samples, and about how long it takes here.
    """
    passes, explanations, seconds = 0, 0, 0.0
    for group in _group_alike(wanted):
        kept = [
            part.start + number
            for part in inputs.chunks()
            for number in find_usable(inputs.maps_of(part), group[0].name)[2]
        ]
        if kept and _any_needs(group, "layers"):  # which the model that knows nothing has not
            for one in group:
                each = cost(one.name, len(kept), **one.options)
                passes += each.forward_passes
                explanations += each.explanations
        elif kept:
            counting = _Counting()
            seconds += len(kept) * counting.timed(group, inputs.part(slice(kept[0], kept[0] + 1)))
            passes += len(kept) * counting.images
            explanations += len(kept) * counting.explained
    passes += _count_beforehand(wanted, inputs)
    if passes:
        seconds += passes * _time_model(inputs, batch_size)
    if explanations:
        seconds += explanations * _time_explainer(inputs)
    parts = (statuses(to_numpy(inputs.maps_of(part))) for part in inputs.chunks())
    without = sum(status != "ok" for part in parts for status in part)
    return Estimate(len(inputs), without, passes, explanations, seconds)


def _group_alike(wanted: Sequence[Wanted]) -> list[list[Wanted]]:
    """Metrics that look at the same maps in the same way, which share what they have in common."""
    groups: dict[tuple[Any, ...], list[Wanted]] = {}
    for one in wanted:
        about = METRICS.entry(one.name).metadata
        inside = "layers" in about["needs"]
        groups.setdefault((about["sign"], about["refuses"], inside), []).append(one)
    return list(groups.values())


def _count_beforehand(wanted: Sequence[Wanted], inputs: Inputs) -> int:
    """Looks at the model, and the search for predicted classes."""
    search = inputs.targets is None and _any_needs(wanted, "targets")
    looks = -(-len(inputs) // SAMPLES) if search or _any_needs(wanted, "model") else 0
    return looks + (len(inputs) if search else 0)


def _any_needs(wanted: Sequence[Wanted], need: str) -> bool:
    return any(need in METRICS.entry(one.name).metadata["needs"] for one in wanted)


def _time_model(inputs: Inputs, batch_size: int | None) -> float:
    images = inputs.images_of(slice(0, min(len(inputs), batch_size or _BATCH)))
    with evaluating(inputs.model), torch.inference_mode():
        return _time_call(lambda: inputs.model(images), "the model") / len(images)


def _time_explainer(inputs: Inputs) -> float:
    explainer: Any = inputs.explainer
    images = inputs.images_of(slice(0, min(len(inputs), 2)))
    targets = torch.zeros(len(images), dtype=torch.long, device=images.device)
    if inputs.targets is not None:
        targets = inputs.targets_of(slice(0, len(images)))
    return _time_call(lambda: explainer(images, targets), "the explainer") / len(images)


def _time_call(call: Callable[[], Any], what: str) -> float:
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
