"""Stored explanations as metrics want them: maps, images, targets and masks, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import compute
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, class_parts, open_dataset
from pasta.errors import InputError
from pasta.explanations.base import View
from pasta.explanations.engine import view_of
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.metrics.inputs import Inputs
from pasta.models import checkpoint
from pasta.models.base import Classifier
from pasta.models.data import as_tensor


@dataclass(frozen=True)
class Loaded:
    """Rows of an array that are read when a slice of them is asked for."""

    shape: tuple[int, ...]
    load: Callable[[slice], NDArray[Any]]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[Any]:
        return self.load(part)


@dataclass(frozen=True)
class Subject(Inputs):
    """Maps of one technique on the originals, up to the rounding of half precision, with what
    belongs to them; masks are where the labelled object is."""

    samples: tuple[str, ...] = ()


class Subjects:
    """The saliency techniques of a group, and its classifiers on the device of this process."""

    def __init__(self, group: Group, params: Params, root: Path) -> None:
        self.group, self.params, self.root = group, params, root
        self.dataset: StoredDataset = open_dataset(group.images)
        self.stored = StoredExplanations(group.explanations)
        self._models: dict[str, Classifier] = {}
        self._shared: dict[str, Any] = {}  # what several classifiers need

    @cached_property
    def techniques(self) -> list[Technique]:
        """In the order of the explanations table; concept explanations have no map."""
        table = self.stored.table[self.stored.table["kind"] == "saliency"]
        names = table["method"].astype(str), table["backbone"].astype(str)
        return [Technique(*pair) for pair in dict.fromkeys(zip(*names, strict=True))]

    def view(self, backbone: str) -> View:
        """A trained classifier; one at a time is kept."""
        if backbone not in self._models:
            folder = self.group.models / backbone
            model, _ = checkpoint.load(folder, self.params, self.root, self._shared)
            self._models = {backbone: compute.place(model)}
        return view_of(self._models[backbone])

    def __getitem__(self, technique: Technique) -> Subject:
        rows, maps = self.stored.rows(technique), self.stored.maps(technique)
        places, scales = rows["row"].to_numpy(np.int64), rows["scale"].to_numpy(np.float32)
        size = self.dataset.pixels.shape[1:3]
        if maps.shape[1:] != size or len(maps) <= places.max():
            raise InputError(
                f"the maps of {technique.key} have the shape {maps.shape}",
                file=self.stored.folder,
                expected=f"at least {places.max() + 1} maps of {size[0]} x {size[1]}, "
                "as the images",
            )
        images = self._row_of.loc[rows["image_id"].astype(str)].to_numpy(np.int64)
        labels, typical = self.dataset.labels()[images], self._typical
        classes = self.dataset.vocabulary.classes

        def scaled(part: slice) -> NDArray[Any]:
            halves = np.asarray(maps[places[part]], dtype=np.float32)
            found: NDArray[Any] = halves * scales[part, None, None]
            return found

        def inside(part: slice) -> NDArray[Any]:
            parts = np.asarray(self.dataset.parts[images[part]])
            found: NDArray[Any] = typical[labels[part, None, None], parts]
            return found

        return Subject(
            Loaded((len(rows), *size), scaled),
            lambda part: as_tensor(self.dataset.pixels[images[part]]),
            np.array([classes.index(str(one)) for one in rows["predicted"]], dtype=np.int64),
            Loaded((len(rows), *size), inside),
            samples=tuple(rows["sample_id"].astype(str)),
        )

    @cached_property
    def _row_of(self) -> pd.Series[int]:
        return self.dataset.images.set_index("image_id")["row"]

    @cached_property
    def _typical(self) -> NDArray[np.bool_]:
        """Classes x values of the part-index array: which parts belong to the class."""
        words = self.dataset.vocabulary
        table = self.dataset.concepts()
        # the key is unique, so there is nothing to average as pivot_table would
        seen = table.pivot(index="image_id", columns="concept", values="present")  # noqa: PD010
        seen = seen.reindex(columns=list(words.concepts)).astype(bool)
        parts = class_parts(seen, self.dataset.images)
        known = parts.reindex(list(words.classes), fill_value=False).to_numpy(bool)
        return np.pad(known, ((0, 0), (1, 0)))  # 0 in the array is no part
