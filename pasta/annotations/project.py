"""The rating study of this project: where its parts are, and what can be rated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pasta import store, tables
from pasta.annotations.formats.released_ids import TECHNIQUES
from pasta.annotations.importing import stored_folders
from pasta.errors import PastaError
from pasta.paths import DATA

BATCHES = Path("pipelines/annotations/batches")
SIMULATED = DATA / "simulated"


def explained_folders(root: Path) -> list[Path]:
    """The folders of the datasets that have explanations."""
    return sorted(file.parent for file in (root / DATA).glob("*/explanations.parquet"))


def explained(folders: Sequence[Path]) -> pd.DataFrame:
    """The explanations of several datasets in one table."""
    if not folders:
        raise PastaError(
            "there is nothing to rate yet: `dvc repro explain` computes the explanations"
        )
    parts = [store.read(one / "explanations.parquet", tables.EXPLANATIONS) for one in folders]
    return pd.concat(parts, ignore_index=True)


def published(explanations: pd.DataFrame) -> pd.DataFrame:
    """Only the explanations by techniques of the papers: extras are not rated."""
    technique = explanations["method"] + "/" + explanations["backbone"]
    return explanations[technique.isin(set(TECHNIQUES.values()))]


def batches_of(root: Path) -> list[Path]:
    """All stored batches of a project, the simulated one first."""
    return stored_folders(root / BATCHES, root / SIMULATED)
