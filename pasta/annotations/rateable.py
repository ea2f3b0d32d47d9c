"""What can be rated: the explanations of all datasets in one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pasta import store, tables
from pasta.annotations.formats.released_ids import NOT_IN_TABLE, TECHNIQUES
from pasta.errors import PastaError


def explained(folders: Sequence[Path]) -> pd.DataFrame:
    """The explanations of several datasets in one table."""
    if not folders:
        raise PastaError(
            "there is nothing to rate yet: `dvc repro explain` computes the explanations"
        )
    parts = [store.read(one / "explanations.parquet", tables.EXPLANATIONS) for one in folders]
    return pd.concat(parts, ignore_index=True)


def published(explanations: pd.DataFrame) -> pd.DataFrame:
    """Only the explanations by the papers' 46 techniques: extras are not rated."""
    technique = explanations["method"] + "/" + explanations["backbone"]
    return explanations[technique.isin(set(TECHNIQUES.values()) - set(NOT_IN_TABLE))]
