"""Where the attributions of a technique are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.datasets.stored import StoredDataset
from pasta.explanations.attribution import scaled, statuses
from pasta.explanations.techniques import Technique


class Sink:
    """Takes the attributions of one technique while they are computed, batch by batch."""

    def __init__(
        self, technique: Technique, folder: Path, dataset: StoredDataset, number: int
    ) -> None:
        self.technique, self.folder, self.dataset = technique, folder, dataset
        self.number = number  # of attributions
        self.statuses: list[str] = []
        self.scales: list[float] = []
        self.concepts: list[NDArray[Any]] = []
        self.append: Callable[[NDArray[Any]], None] = self.concepts.append

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """Leave the technique's file behind when all is well, and nothing otherwise."""
        path = attribution_file(self.folder, self.technique)
        if self.technique.kind == "concept":
            yield self
            store.write(self._concept_table(), path, tables.ATTRIBUTIONS)
            return
        shape = (self.number, *self.dataset.pixels.shape[1:3])
        with store.growing_array(path, shape, np.float16) as self.append:
            yield self

    def take(self, raw: NDArray[np.float32]) -> None:
        """One more batch."""
        halves, scales = scaled(raw)
        self.statuses += statuses(raw)
        self.scales += scales.tolist()
        self.append(halves)

    def finish(self, fingerprint: str, seconds: float) -> None:
        """Write the card, which comes last: a file without its card counts as missing."""
        card = {
            "fingerprint": fingerprint,
            "seconds": round(seconds, 3),
            "statuses": self.statuses,
            "scales": self.scales,
        }
        store.write_json(card, _card_file(self.folder, self.technique))

    def _concept_table(self) -> pd.DataFrame:
        values = np.concatenate(self.concepts).astype(np.float64)
        names = np.asarray(self.dataset.vocabulary.concepts, dtype=object)
        columns = {
            "row": np.repeat(np.arange(len(values)), len(names)),
            "concept": np.tile(names, len(values)),
            "value": values.ravel(),
        }
        return pd.DataFrame(columns).astype({"concept": "str"})


def attribution_file(folder: Path, technique: Technique) -> Path:
    """Where a technique's attributions are: an array of maps, or a table of concepts."""
    suffix = "npy" if technique.kind == "saliency" else "parquet"
    return folder / f"{technique.method}.{technique.backbone}.{suffix}"


def read_card(folder: Path, technique: Technique) -> dict[str, Any]:
    """What is known about stored attributions; empty if there are none."""
    file = _card_file(folder, technique)
    if not file.is_file() or not attribution_file(folder, technique).is_file():
        return {}
    card: dict[str, Any] = store.read_json(file)
    return card


def _card_file(folder: Path, technique: Technique) -> Path:
    return folder / f"{technique.method}.{technique.backbone}.json"
