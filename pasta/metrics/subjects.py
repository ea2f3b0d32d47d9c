"""Stored explanations as metrics want them: maps, images, targets and masks, a few at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pasta.annotations.simulation.properties import class_parts
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import InputError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.models.data import as_tensor

_CHUNK = 64  # rows that are hashed at a time


@dataclass(frozen=True)
class Loaded:
    """Rows of an array that are read when a slice of them is asked for."""

    shape: tuple[int, ...]
    load: Callable[[slice], NDArray[Any]]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[Any]:
        return self.load(part)

    @cached_property
    def digest(self) -> str:
        """The sha256 of all rows."""
        found = hashlib.sha256(str(self.shape).encode())
        for start in range(0, len(self), _CHUNK):
            part = np.ascontiguousarray(self[start : min(start + _CHUNK, len(self))])
            found.update(part.tobytes())
        return found.hexdigest()


@dataclass(frozen=True, eq=False)
class Subject:
    """The maps of one technique on the originals of a dataset, with what belongs to them."""

    technique: Technique
    samples: tuple[str, ...]
    maps: Loaded  # as they were computed, up to the rounding of half precision
    pixels: Loaded  # (n, height, width, 3), bytes
    targets: Loaded  # (n,), the class that was explained
    masks: Loaded  # (n, height, width), where the labelled object is

    def __len__(self) -> int:
        return len(self.samples)

    def images(self, part: slice) -> Tensor:
        """A batch for the model."""
        return as_tensor(self.pixels[part])


def subjects(folder: Path) -> list[Subject]:
    """All saliency techniques of a dataset, in the order of its explanations table."""
    dataset, stored = open_dataset(folder), StoredExplanations(folder)
    table = stored.table[stored.table["kind"] == "saliency"]
    names = table["method"].astype(str), table["backbone"].astype(str)
    pairs = dict.fromkeys(zip(*names, strict=True))
    views = _Views(dataset)
    return [_subject(stored, views, Technique(*pair)) for pair in pairs]


def _subject(stored: StoredExplanations, views: _Views, technique: Technique) -> Subject:
    rows = stored.rows(technique)
    maps = stored.maps(technique)
    places, scales = rows["row"].to_numpy(np.int64), rows["scale"].to_numpy(np.float64)
    size = views.dataset.pixels.shape[1:3]
    if maps.shape[1:] != size or len(maps) <= places.max():
        raise InputError(
            f"the maps of {technique.key} have the shape {maps.shape}",
            file=stored.folder / "explanations",
            expected=f"at least {places.max() + 1} maps of {size[0]} x {size[1]}, as the images",
        )

    def load(part: slice) -> NDArray[Any]:
        halves = np.asarray(maps[places[part]], dtype=np.float32)
        return halves * scales[part, None, None].astype(np.float32)

    classes = views.dataset.vocabulary.classes
    targets = np.array([classes.index(str(one)) for one in rows["predicted"]], dtype=np.int64)
    images = tuple(str(one) for one in rows["image_id"])
    return Subject(
        technique,
        tuple(str(one) for one in rows["sample_id"]),
        Loaded((len(rows), *size), load),
        views.pixels(images),
        Loaded(targets.shape, lambda part: targets[part]),
        views.masks(images),
    )


class _Views:
    """Images and masks; techniques that explain the same images share them."""

    def __init__(self, dataset: StoredDataset) -> None:
        self.dataset = dataset
        self._rows = dataset.images.set_index("image_id")["row"]
        self._pixels: dict[tuple[str, ...], Loaded] = {}
        self._masks: dict[tuple[str, ...], Loaded] = {}

    def pixels(self, images: tuple[str, ...]) -> Loaded:
        if images not in self._pixels:
            rows = self._rows.loc[list(images)].to_numpy(np.int64)
            shape = (len(rows), *self.dataset.pixels.shape[1:])
            self._pixels[images] = Loaded(shape, lambda part: self.dataset.pixels[rows[part]])
        return self._pixels[images]

    def masks(self, images: tuple[str, ...]) -> Loaded:
        if images not in self._masks:
            rows = self._rows.loc[list(images)].to_numpy(np.int64)
            labels = self.dataset.labels()[rows]

            def load(part: slice) -> NDArray[Any]:
                parts = np.asarray(self.dataset.parts[rows[part]])
                inside: NDArray[Any] = self._typical[labels[part, None, None], parts]
                return inside

            self._masks[images] = Loaded((len(rows), *self.dataset.parts.shape[1:]), load)
        return self._masks[images]

    @cached_property
    def _typical(self) -> NDArray[np.bool_]:
        """Classes x values of the part-index array: which parts belong to the class."""
        words = self.dataset.vocabulary
        table = self.dataset.concepts()
        # the key is unique, so there is nothing to average as pivot_table would
        seen = table.pivot(index="image_id", columns="concept", values="present")
        seen = seen.reindex(columns=list(words.concepts)).astype(bool)
        parts = class_parts(seen, self.dataset.images)
        known = parts.reindex(list(words.classes), fill_value=False).to_numpy(bool)
        return np.pad(known, ((0, 0), (1, 0)))  # 0 in the array is no part


def by_backbone(found: list[Subject]) -> Iterator[tuple[str, list[Subject]]]:
    """The subjects of each backbone."""
    for name in dict.fromkeys(one.technique.backbone for one in found):
        yield name, [one for one in found if one.technique.backbone == name]
