"""Images, maps, concepts and labels as people have them, checked and brought to one form.

Images may be PIL images, arrays or tensors with the colours first or last, bytes or floats from 0
to 1; one of them, a batch, or a list in which every image has its own size. Nothing is scaled
quietly: a map that is not from 0 to 1 would be drawn in other colours than people were shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def maps_given(given: Any, images: Many, signed: bool) -> tuple[list[Floats], list[str]]:
    """Maps (height x width), one for each image, and the status of each."""
    many = _maps(given, images)
    maps = []
    for row, (one, image) in enumerate(zip(many, images.items, strict=True)):
        found = np.asarray(one, dtype=np.float32)
        if found.ndim == 3 and found.shape[0] == 1:
            found = found[0]
        where = f"map {row}: " if images.batch else "the map: "
        if found.shape != image.shape[1:]:
            raise PastaError(
                f"{where}it is {_sides(found.shape)} and the image {_sides(image.shape[1:])}: "
                "enlarge the map to the image first, as people see it"
            )
        _require_range(found, where, signed)
        maps.append(found)
    return maps, [_status(one) for one in maps]


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


def labels_given(
    given: Any, number: int, classes: Mapping[str, Sequence[str]], dataset: Any = None
) -> list[str]:
    """One class for each explanation; ``dataset`` (one, or one for each) restricts the classes."""
    if given is None:
        raise PastaError(
            "this scorer looks at the class that was predicted: give it as label=, "
            "for instance label='cat'"
        )
    labels, datasets = _one_each(given, number, "label"), _one_each(dataset, number, "dataset")
    every = list(dict.fromkeys(name for names in classes.values() for name in names))
    for label, own in zip(labels, datasets, strict=True):
        if own is not None and own not in classes:
            hint = did_you_mean(str(own), list(classes))
            raise PastaError(f"the scorer knows no dataset called {own!r}. {hint}")
        known = every if own is None else list(classes[own])
        if label not in known:
            place = "" if own is None else f" of {own}"
            raise PastaError(
                f"the scorer knows no class{place} called {label!r}. "
                f"{did_you_mean(str(label), known)}"
            )
    return labels


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


def _require_range(values: Floats, where: str, signed: bool) -> None:
    if not np.isfinite(values).all():
        number = int((~np.isfinite(values)).sum())
        raise PastaError(f"{where}{number} of {values.size} values are NaN or infinite")
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    least = -1 if signed else 0
    if least <= low and high <= 1:
        return
    advice = (
        "divide it by its largest absolute value"
        if signed
        else "subtract its least value and divide by the range, as people see positive maps; a map "
        "whose negative values speak against the class goes from -1 to 1 with signed=True"
    )
    raise PastaError(
        f"{where}its values are from {low:.4g} to {high:.4g} (expected {least} to 1: {advice})"
    )


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
