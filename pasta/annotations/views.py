"""What people saw of a sample, read back from the stored explanations, for a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta import store, tables
from pasta.annotations.formats.releasing import Rated, View

Pixels = NDArray[np.uint8]
Row = Mapping[str, Any]


class Views:
    """What belongs to a sample of one of several datasets."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.opened = {folder.name: Explained(folder) for folder in folders}

    def rated(self, sample_id: str) -> Rated:
        """Everything that a release says of a sample."""
        return self.of(sample_id).rated(sample_id)

    def of(self, sample_id: str) -> Explained:
        """The dataset of a sample."""
        return self.opened[sample_id.partition("/")[0]]


class Explained:
    """The stored explanations of a dataset, and what they explain."""

    def __init__(self, folder: Path) -> None:
        from pasta.datasets.stored import open_dataset
        from pasta.explanations.stored import StoredExplanations

        self.folder, self.stored = folder, StoredExplanations(folder)
        self.dataset = open_dataset(folder)
        self.images = {row["image_id"]: row for row in _rows(self.dataset.images)}
        self.samples = {row["sample_id"]: row for row in _rows(self.stored.table)}
        perturbed = store.read(folder / "perturbed.parquet", tables.PERTURBED)
        self.twins = {(row["sample_id"], row["strength"]): row["row"] for row in _rows(perturbed)}
        self.concepts = cache(self.stored.concepts)

    def rated(self, sample_id: str) -> Rated:
        """Everything about one sample; its twin is the lightly perturbed one."""
        sample = self.samples[sample_id]
        return Rated(
            label=self.images[sample["image_id"]]["label"],
            predicted=sample["predicted"],
            view=self.view(sample_id),
            perturbed=self.view(sample_id, "light"),
        )

    def view(self, sample_id: str, strength: str | None = None) -> View:
        """The original with its explanation, or a perturbed copy with its own."""
        sample = self.samples[sample_id]
        if strength is None:
            original: Pixels = self.dataset.pixels[self.images[sample["image_id"]]["row"]]
            return self._view(sample, sample["row"], original)
        place = self.twins[sample_id, strength]
        return self._view(sample, place, self._copy(sample, place))

    def _copy(self, sample: Row, place: int) -> Pixels:
        """The perturbed image: light ones, then strong ones, after the technique's originals."""
        file = self.folder / "explanations" / f"{sample['backbone']}.perturbed.npy"
        copies: Pixels = store.read_array(file, (None, None, None, 3))
        chosen: Pixels = copies[place - len(copies) // 2]
        return chosen

    def _view(self, sample: Row, place: int, image: Pixels) -> View:
        """An image with its attribution, as it was computed and as people see it."""
        from pasta.explanations.rendering import concept_bars, overlay
        from pasta.explanations.techniques import technique

        named = technique(f"{sample['method']}/{sample['backbone']}")
        if sample["kind"] == "concept":
            names, values = self.concepts(named)
            own = dict(zip(names, values[place].tolist(), strict=True))
            return View(image, own, concept_bars(names, values[place]))
        raw = self.stored.maps(named)[place]
        shown = self.stored.shown(named, [place])[0]
        return View(image, raw, overlay(image, shown, named.signed))


def _rows(frame: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.to_dict("records")
    return rows
