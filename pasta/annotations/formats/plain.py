"""Rows of typed tables as the plain values that JSON has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them, None for what is missing."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def tuples(frame: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    """Rows as plain Python values."""
    return zip(*(frame[name].tolist() for name in frame.columns), strict=True)
