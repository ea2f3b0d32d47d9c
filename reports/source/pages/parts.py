"""What pages share: looking things up in tables that may be missing, and saying so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

Tables = Mapping[str, pd.DataFrame]
ALPHA = 0.05
Row = Mapping[str, Any]
HONEST, PUBLISHED = "mode_kappa_leave_one_out", "mode_kappa_as_published"


def table(tables: Tables | None, name: str) -> pd.DataFrame:
    """A table, or an empty one if it is not there."""
    found = None if tables is None else tables.get(name)
    return pd.DataFrame() if found is None else found


def select_known(tables: Tables | None, name: str, **where: object) -> pd.DataFrame:
    """The rows of a table that have an estimate, and the wanted values in their columns."""
    found = table(tables, name)
    rows = found.dropna(subset=["estimate"]) if "estimate" in found else pd.DataFrame()
    return select(rows, **where)


def why_missing(
    tables: Tables | None, *sections: str, otherwise: str = "this was not computed"
) -> str:
    """The reason why these sections are missing."""
    found = table(tables, "missing")
    own = found[found["section"].isin(sections)] if len(found) else found
    return str(own["why"].iloc[0]) if len(own) else otherwise


def select(frame: pd.DataFrame, **keys: object) -> pd.DataFrame:
    """The rows with these values; none if a column is not there."""
    if any(name not in frame for name in keys):
        return frame.iloc[:0]
    rows = np.ones(len(frame), bool)
    for name, value in keys.items():
        rows &= (frame[name] == value).to_numpy(bool)
    return frame[rows]


def find_row(frame: pd.DataFrame, **keys: object) -> dict[str, Any] | None:
    """The first row with these values, or None."""
    found = select(frame, **keys)
    return None if found.empty else {str(name): value for name, value in found.iloc[0].items()}


def find_known(tables: Tables, name: str, **where: object) -> Row | None:
    """The one row with an estimate and these values, or None."""
    return find_row(select_known(tables, name), **where)
