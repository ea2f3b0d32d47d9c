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

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[int]]:
        """Where the explanations of each technique are in the table."""
        places: dict[tuple[str, str], list[int]] = {}
        keys = zip(self.table["method"].tolist(), self.table["backbone"].tolist(), strict=True)
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        return places

    @cached_property
    def _concepts(self) -> dict[Technique, tuple[tuple[str, ...], NDArray[np.float64]]]:
        """What was read already: tables take longer to check than to use."""
        return {}

    def rows(self, technique: Technique) -> pd.DataFrame:
        """The explanations of one technique, in the order of its file."""
        return self.table.iloc[self._places.get((technique.method, technique.backbone), [])]

    def maps(self, technique: Technique) -> NDArray[Any]:
        """Maps of a saliency technique, each divided by its scale."""
        return store.read_array(self._file(technique), (None, None, None))

    def shown(self, technique: Technique, rows: Sequence[int]) -> NDArray[np.float32]:
        """Maps as people see them."""
        return shown_maps(np.asarray(self.maps(technique)[list(rows)]), technique.about["sign"])

    def concepts(self, technique: Technique) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The concepts' names, and rows x concepts of attributions, each row by its scale."""
        if technique not in self._concepts:
            table = store.read(self._file(technique), tables.ATTRIBUTIONS)
            names = tuple(table.loc[table["row"] == table["row"].iloc[0], "concept"])
            values = table["value"].to_numpy(np.float64).reshape(-1, len(names))
            values.flags.writeable = False
            self._concepts[technique] = names, values
        return self._concepts[technique]

    def _file(self, technique: Technique) -> Path:
        return attribution_file(self.folder / "explanations", technique)
