"""The tables of a finished study, as the analyses read them. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from pasta import store, tables
from pasta.annotations.rateable import explained
from pasta.contracts import Table


def everywhere(folders: Sequence[Path], table: Table) -> pd.DataFrame:
    """A table that each dataset has, of all of them."""
    files = [folder / f"{table.name}.parquet" for folder in folders]
    return pd.concat([store.read(file, table) for file in files], ignore_index=True)


@dataclass(frozen=True)
class Study:
    """The votes and everything that was voted on; each table is read when it is first used."""

    annotations: Path  # folder of the votes stage
    folders: Sequence[Path]  # of the datasets

    @cached_property
    def votes(self) -> pd.DataFrame:
        """All votes."""
        return self._annotated(tables.VOTES)

    @cached_property
    def annotators(self) -> pd.DataFrame:
        """Who voted."""
        return self._annotated(tables.ANNOTATORS)

    @cached_property
    def descriptions(self) -> pd.DataFrame:
        """Q0.1."""
        return self._annotated(tables.DESCRIPTIONS)

    @cached_property
    def boxes(self) -> pd.DataFrame:
        """Q0.2."""
        return self._annotated(tables.BOXES)

    @cached_property
    def rankings(self) -> pd.DataFrame:
        """Q7 to Q9."""
        return self._annotated(tables.RANKED)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """The explanations of all datasets."""
        return explained(self.folders)

    def _annotated(self, table: Table) -> pd.DataFrame:
        return store.read(self.annotations / f"{table.name}.parquet", table)
