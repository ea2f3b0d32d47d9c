"""Images, maps, concepts and labels as people have them, checked and brought to one form.

Images may be PIL images, arrays or tensors with the colours first or last, bytes or floats from 0
to 1; one of them, a batch, or a list in which every image has its own size.

People were shown maps as large as the image, from 0 to 1. One of another size is stretched to the
image bilinearly, and one of another range is scaled: what is negative is lifted until the least
value is 0, and all is divided by the largest value (signed maps by the largest absolute value).
Nothing is converted quietly: each conversion is a note in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from pasta.errors import PastaError
from pasta.explanations.attribution import statuses
from pasta.registry import did_you_mean

Floats = NDArray[np.float32]
OK, CONSTANT, ZERO = "ok", "constant", "zero"


class Many(NamedTuple):
    """Some things of one kind, and whether they came as a batch."""

    items: list[Any]
    batch: bool


def images_given(given: Any) -> Many:
    """Images as bytes or floats from 0 to 1, each 3 x height x width; all of them alike."""
    many = _separated(given, single=3, what="image")
    torch_like = _is_tensor(given) or (many.batch and _all_tensors(given))
    items = [_image(one, row, torch_like) for row, one in enumerate(many.items)]
    if len({item.dtype for item in items}) > 1:
        items = [item if item.dtype != np.uint8 else item / np.float32(255) for item in items]
    return Many(items, many.batch)


class Maps(NamedTuple):
    """Maps as people see them, one for each image."""

    items: list[Floats]  # height x width
    status: list[str]
    notes: list[list[str]]  # how each was converted


def maps_given(given: Any, images: Many, signed: bool) -> Maps:
    """Maps for images, converted where that is needed."""
    many = _maps(given, images)
    maps, notes = [], []
    for row, (one, image) in enumerate(zip(many, images.items, strict=True)):
        found = np.asarray(one, dtype=np.float32)
        if found.ndim == 3 and found.shape[0] == 1:
            found = found[0]
        where = f"map {row}: " if images.batch else "the map: "
        if found.ndim != 2 or not found.size:
            raise PastaError(f"{where}it is {_sides(found.shape)} (expected height x width)")
        if not np.isfinite(found).all():
            number = int((~np.isfinite(found)).sum())
            raise PastaError(f"{where}{number} of {found.size} values are NaN or infinite")
        resized, first = _resized(found, image.shape[1:])
        scaled, second = _scaled(resized, signed)
        maps.append(scaled)
        notes.append([*first, *second])
    return Maps(maps, [_status(one) for one in maps], notes)


def _resized(values: Floats, sides: tuple[int, ...]) -> tuple[Floats, list[str]]:
    if values.shape == sides:
        return values, []
    whole = torch.from_numpy(values)[None, None]
    found = interpolate(whole, sides, mode="bilinear", antialias=True)[0, 0].numpy()
    return found, [f"the map was resized from {_sides(values.shape)} to {_sides(sides)}"]


def _scaled(values: Floats, signed: bool) -> tuple[Floats, list[str]]:
    low, high = float(values.min()), float(values.max())
    if (-1 if signed else 0) <= low and high <= 1:
        return values, []
    if signed:
        most = max(-low, high)
        return values / np.float32(most), [f"the map was divided by {most:.4g}"]
    lift = max(0.0, -low)
    most = (high + lift) or 1.0
    lifted = f"lifted by {lift:.4g} (negative values count against a class with signed=True) and "
    return (values + np.float32(lift)) / np.float32(most), [
        f"the map was {lifted if lift else ''}divided by {most:.4g}"
    ]


def concepts_given(
    given: Any,
) -> tuple[list[tuple[tuple[str, ...], NDArray[Any]]], list[str], bool]:
    """Names and values of each explanation, their statuses, and whether they came as a batch."""
    batch = not isinstance(given, Mapping)
    if batch and (isinstance(given, str) or not isinstance(given, Sequence)):
        raise PastaError(
            f"the concepts are {type(given).__name__} (expected {{name: value}} or a list of them)"
        )
    rows = list(given) if batch else [given]
    found = [
        _named(one, f"concepts {row}: " if batch else "the concepts: ")
        for row, one in enumerate(rows)
    ]
    return found, [OK if values.any() else ZERO for _, values in found], batch


class Labels(NamedTuple):
    """The class of each explanation; None where the scorer is to do without."""

    items: list[str | None]
    notes: list[list[str]]


def labels_given(
    given: Any,
    number: int,
    classes: Mapping[str, Sequence[str]],
    dataset: Any = None,
    needed: bool = False,
) -> Labels:
    """Known classes of explanations; ``dataset`` (one, or one for each) restricts them.

    A missing or unknown class is a note, or an error if a class is ``needed``.
    """
    labels, datasets = _one_each(given, number, "label"), _one_each(dataset, number, "dataset")
    found: list[str | None] = []
    notes: list[list[str]] = []
    for label, own in zip(labels, datasets, strict=True):
        problem = _label_problem(label, own, classes)
        if problem and needed:
            raise PastaError(f"{problem}; this scorer has never been without: give label=")
        found.append(None if problem else str(label))
        notes.append([f"scored without a label: {problem}"] if problem else [])
    return Labels(found, notes)


def _label_problem(label: Any, dataset: Any, classes: Mapping[str, Sequence[str]]) -> str:
    """Why there is no class to look at; empty if there is."""
    if dataset is not None and dataset not in classes:
        hint = did_you_mean(str(dataset), list(classes))
        raise PastaError(f"the scorer knows no dataset called {dataset!r}. {hint}")
    if label is None:
        return "none was given"
    known = [name for own in classes if dataset in (None, own) for name in classes[own]]
    if label in known:
        return ""
    hint = did_you_mean(str(label), known)
    near = f". {hint}" if hint.startswith("Did") else ""
    place = "" if dataset is None else f" of {dataset}"
    return f"the scorer knows no class{place} called {label!r}{near}"


def _one_each(given: Any, number: int, what: str) -> list[Any]:
    if given is None or isinstance(given, str):
        return [given] * number
    found = list(given)
    if len(found) != number:
        raise PastaError(f"there are {number} explanations but {len(found)} {what}s")
    return found


def _separated(given: Any, single: int, what: str) -> Many:
    """One thing or several: arrays tell by the number of their axes, lists are several."""
    if given is None:
        raise PastaError(f"there is no {what}: give it as {what}=")
    if isinstance(given, (list, tuple)):
        return Many([_array(one, what) for one in given], True)
    array = _array(given, what)
    if array.ndim == single:
        return Many([array], False)
    if array.ndim == single + 1:
        return Many(list(array), True)
    raise PastaError(
        f"the {what} has the shape {_sides(array.shape)} "
        "(expected height x width x 3, 3 x height x width, or a batch of such)"
    )


def _maps(given: Any, images: Many) -> list[Any]:
    if given is None:
        raise PastaError("there is no explanation: give saliency= or concepts=")
    if isinstance(given, (list, tuple)) and images.batch:
        found = [_array(one, "map") for one in given]
    else:
        array = _array(given, "map")
        found = list(array) if images.batch else [array]
    if len(found) != len(images.items):
        raise PastaError(f"there are {len(images.items)} images but {len(found)} maps")
    return found


def _array(given: Any, what: str) -> NDArray[Any]:
    """An array of numbers; a PIL picture is RGB or, as a map, grey from 0 to 1."""
    if hasattr(given, "convert") and hasattr(given, "getbands"):
        if what == "image":
            return np.asarray(given.convert("RGB"))
        grey = np.asarray(given if given.mode == "F" else given.convert("L"), np.float32)
        return grey if given.mode == "F" else grey / 255
    if _is_tensor(given):
        given = given.detach().cpu().float() if given.is_floating_point() else given.detach().cpu()
    try:
        array = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise PastaError(f"the {what} is no array: {error}") from error
    if array.dtype.kind not in "fiub":
        raise PastaError(f"the {what} is {type(given).__name__} (expected an array of numbers)")
    return array


def _is_tensor(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] == "torch"


def _all_tensors(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(map(_is_tensor, given))


def _image(array: NDArray[Any], row: int, torch_like: bool) -> NDArray[Any]:
    if array.ndim != 3 or 3 not in (array.shape[0], array.shape[2]):
        raise PastaError(
            f"image {row} has the shape {_sides(array.shape)} "
            "(expected height x width x 3 or 3 x height x width)"
        )
    last = array.shape[2] == 3 and not (torch_like and array.shape[0] == 3)
    first = array.transpose(2, 0, 1) if last else array
    if array.dtype == np.uint8:
        return first
    values = np.ascontiguousarray(first, dtype=np.float32)
    if not np.isfinite(values).all():
        raise PastaError(f"image {row} has values that are NaN or infinite")
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        raise PastaError(
            f"image {row} has values from {low:.4g} to {high:.4g} (expected bytes, or floats from "
            "0 to 1: take the image as it was before it was normalised for the classifier)"
        )
    return values


def _status(values: Floats) -> str:
    return OK if statuses(values[None])[0] == "ok" else CONSTANT


def _named(given: Any, where: str) -> tuple[tuple[str, ...], NDArray[Any]]:
    if not isinstance(given, Mapping) or not given:
        raise PastaError(f"{where}{given!r} (expected {{name: value}} with at least one concept)")
    try:
        values = np.array([float(value) for value in given.values()])
    except (TypeError, ValueError) as error:
        raise PastaError(f"{where}a value is no number: {error}") from error
    names = tuple(map(str, given))
    if not np.isfinite(values).all():
        wrong = names[int(np.argmin(np.isfinite(values)))]
        raise PastaError(f"{where}the value of {wrong!r} is NaN or infinite")
    return names, values


def _sides(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "nothing"
