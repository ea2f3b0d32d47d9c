"""What an encoder is given of an explanation (P1, section 4.1 and Appendix C.6).

A saliency map becomes a picture: the heat map over the image that people see (Eq. 1), the image
times the map (Eq. 13), or the image blurred where the map is low. P1 calls its second row of
Table 18 "Blur" and describes it as a blur, yet Eq. 13 is a product, which darkens; so here are
both. Concept attributions become the sum of the concepts' vectors (Eq. 14) or a sentence
(:mod:`pasta.embedding.sentences`).

Images are bytes or floats from 0 to 1, n x 3 x height x width; maps are as shown to people, n x
height x width, from 0 to 1 or, if ``signed``, from -1 to 1. What is drawn has light from 0 to 255,
and is rounded to bytes once, at the end. In a product or a blur what speaks against the class
counts like what does not matter, since light cannot be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from pasta.datasets.vocabulary import vocabulary
from pasta.embedding.settings import EmbeddingParams
from pasta.errors import PastaError
from pasta.explanations.rendering import AGAINST, DIM, FOR, GLOW, STEP, STRONGEST, heat_colours
from pasta.registry import did_you_mean

Floats = NDArray[np.float32]
Numbers = NDArray[np.floating[Any]]
Bytes = NDArray[np.uint8]
_AT_ONCE = 8  # pictures drawn together: more of them leave the processor's cache


def overlay(images: Numbers | Bytes, maps: Numbers, signed: bool) -> Floats:
    """The heat map over the image, in the colours that people see (P1, Eq. 1).

    It is :func:`pasta.explanations.rendering.overlay` for many images of equal size. People see 256
    steps of each colour, so this does too; a flat map leaves the image as it is.
    """
    _require_alike(images, maps)
    light = _light(images)
    heat = np.asarray(maps, dtype=np.float32)
    strength = np.clip(np.abs(heat) if signed else heat, 0, 1)
    weight = STRONGEST * strength if signed else DIM + (GLOW - DIM) * strength
    table = np.array((AGAINST, FOR) if signed else heat_colours(), dtype=np.float32)
    number = heat >= 0 if signed else np.rint(255 * strength)
    places = number.astype(np.intp)
    weight[np.ptp(heat, axis=(1, 2)) < STEP] = 0
    mixed = np.empty_like(light)
    for channel in range(3):  # long rows of equal colour: three times as fast as pixel by pixel
        np.take(table[:, channel], places, out=mixed[:, channel])
    mixed *= weight[:, None]
    light *= (1 - weight)[:, None]
    mixed += light
    return mixed


def masked(images: Numbers | Bytes, maps: Numbers) -> Floats:
    """The image times the map (P1, Eq. 13)."""
    _require_alike(images, maps)
    light = _light(images)
    light *= _clear(maps)
    return light


def selectively_blurred(images: Numbers | Bytes, soft: Numbers, maps: Numbers) -> Floats:
    """The image where the map is 1, its blurred copy where it is 0, a mixture between."""
    _require_alike(images, maps)
    clear = _clear(maps)
    return clear * _light(images) + (1 - clear) * np.asarray(soft, np.float32)


def blurred(images: Numbers | Bytes, blur: float) -> Floats:
    """The images through a Gaussian of standard deviation ``blur`` x the shorter side."""
    spread = blur * min(images.shape[2:])
    soft = gaussian_filter(_light(images), (0, 0, spread, spread), mode="nearest")
    return np.asarray(soft, dtype=np.float32)


def render(
    images: Numbers | Bytes,
    maps: Numbers,
    signed: bool,
    settings: EmbeddingParams,
    soft: Numbers | None = None,
) -> Bytes:
    """What the encoder sees of saliency maps: pictures of 256 steps, as in a file.

    ``soft`` may have the blurred images, for those who need them more than once.
    """
    _require_alike(images, maps)
    if settings.image == "blur" and soft is None:
        soft = blurred(images, settings.blur)
    pictures = np.empty(images.shape, dtype=np.uint8)
    for start in range(0, len(images), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        match settings.image:
            case "seen" | "overlay":
                light = overlay(images[some], maps[some], signed)
            case "masked":
                light = masked(images[some], maps[some])
            case "blur":
                light = selectively_blurred(images[some], cast(Numbers, soft)[some], maps[some])
        light += 0.5  # and cut: halves go up, as in what people see
        pictures[some] = light
    return pictures


def weighted_sum(values: Numbers, vectors: Numbers) -> Floats:
    """Concept vectors weighted by attribution, over the attribution's length (P1, Eq. 14).

    ``values`` is n x concepts, ``vectors`` concepts x width. How long the result is says how much
    the named concepts agree.
    """
    values = np.asarray(values, dtype=np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    if not np.all(lengths > 0):
        row = int(np.argmin(lengths > 0))
        raise PastaError(f"row {row}: the attribution of every concept is zero or not a number")
    return np.asarray(values @ vectors / lengths, dtype=np.float32)


def classes_of(datasets: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The classes of some datasets, each dataset once."""
    return {dataset: vocabulary(dataset).classes for dataset in dict.fromkeys(datasets)}


def label_order(classes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The classes of all datasets, each once: the columns of a scorer's one-hot labels."""
    return tuple(dict.fromkeys(label for own in classes.values() for label in own))


def with_label(features: Numbers, labels: Sequence[str | None], classes: Sequence[str]) -> Floats:
    """Features with the predicted class as a one-hot vector appended (P1, Appendix C.3).

    ``classes`` are the columns of that vector; a label that is not among them is an error. All
    columns are zero where the label is None.
    """
    if len(labels) != len(features):
        raise PastaError(f"there are {len(features)} rows of features but {len(labels)} labels")
    place = {name: column for column, name in enumerate(classes)}
    known = [row for row, label in enumerate(labels) if label is not None]
    for row in known:
        label = str(labels[row])
        if label not in place:
            hint = did_you_mean(label, list(classes))
            raise PastaError(f"row {row}: there is no class called {label!r}. {hint}")
    hot = np.zeros((len(features), len(classes)), dtype=np.float32)
    hot[known, [place[str(labels[row])] for row in known]] = 1
    return np.concatenate([np.asarray(features, dtype=np.float32), hot], axis=1)


def _light(images: Numbers | Bytes) -> Floats:
    """Steps from 0 to 255, in a new array."""
    if images.dtype == np.uint8:
        return images.astype(np.float32)
    light = np.multiply(images, 255, dtype=np.float32)
    return np.rint(light, out=light)


def _clear(maps: Numbers) -> Floats:
    """How much of the image stays, with an axis for the colours."""
    return np.clip(np.asarray(maps, dtype=np.float32), 0, 1)[:, None]


def _require_alike(images: Numbers | Bytes, maps: Numbers) -> None:
    sides = (len(images), *images.shape[2:])
    if images.ndim != 4 or images.shape[1] != 3 or sides != maps.shape:
        found = " x ".join(map(str, images.shape)), " x ".join(map(str, maps.shape))
        raise PastaError(
            f"the images are {found[0]} and the maps {found[1]} "
            "(expected n x 3 x height x width and n x height x width)"
        )
