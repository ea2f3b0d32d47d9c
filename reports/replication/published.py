"""Read the papers' numbers; see the README beside the files for what they are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).resolve().parents[1] / "published"
# p-values are printed in many ways ("<.001", "1e-5"), and levels of ablations may be numbers.
_TEXT = {"pcc_p", "scc_p", "p", "anova_p", "level", "question", "where"}


def published_table(name: str) -> pd.DataFrame:
    """One file of printed numbers, by its name without ``.csv``."""
    path = FOLDER / f"{name}.csv"
    head = pd.read_csv(path, nrows=0).columns
    return pd.read_csv(path, dtype={column: str for column in head if column in _TEXT})


def published_tables() -> dict[str, pd.DataFrame]:
    """All files of printed numbers."""
    return {path.stem: published_table(path.stem) for path in sorted(FOLDER.glob("*.csv"))}
