"""Stored explanations, read back as they were computed or as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.explanations.attribution import shown_maps
from pasta.explanations.sink import attribution_file
from pasta.explanations.techniques import Technique


@dataclass(frozen=True)
class StoredExplanations:
    """The explanations of one dataset; arrays stay memory-mapped."""

    folder: Path  # of the dataset

    @cached_property
    def table(self) -> pd.DataFrame:
        """The explanations table."""
        return store.read(self.folder / "explanations.parquet", tables.EXPLANATIONS)

    def rows(self, technique: Technique) -> pd.DataFrame:
        """The explanations of one technique, in the order of its file."""
        chosen = self.table["method"] == technique.method
        return self.table[chosen & (self.table["backbone"] == technique.backbone)]

    def maps(self, technique: Technique) -> NDArray[Any]:
        """Maps of a saliency technique, each divided by its scale."""
        return store.read_array(self._file(technique), (None, None, None))

    def shown(self, technique: Technique, rows: Sequence[int]) -> NDArray[np.float32]:
        """Maps as people see them."""
        return shown_maps(np.asarray(self.maps(technique)[list(rows)]), technique.about["sign"])

    def concepts(self, technique: Technique) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The concepts' names, and rows x concepts of attributions, each row by its scale."""
        table = store.read(self._file(technique), tables.ATTRIBUTIONS)
        names = tuple(table.loc[table["row"] == table["row"].iloc[0], "concept"])
        return names, table["value"].to_numpy(np.float64).reshape(-1, len(names))

    def _file(self, technique: Technique) -> Path:
        return attribution_file(self.folder / "explanations", technique)
