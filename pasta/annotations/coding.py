"""Columns as codes: a table of a million rows has few different values, so work on those.

A check or a conversion is done once for each different value and spread over the rows by integer
codes. Values are sorted, so the codes sort like the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.contracts import Table
from pasta.validation import find_problems

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LARGEST_KEY = 2**62


@dataclass(frozen=True)
class Coded:
    """A column: row ``i`` holds ``levels[codes[i]]``."""

    codes: Codes
    levels: pd.Series[Any]  # the different values

    def series(self) -> pd.Series[Any]:
        """The column itself."""
        return pd.Series(self.levels.array.take(self.codes))

    def at(self, rows: Mask | Codes) -> Coded:
        """Some of the rows; all levels stay."""
        return Coded(self.codes[rows], self.levels)


def encode(column: pd.Series[Any], sort: bool = True) -> Coded:
    """Codes of any column; missing values come last and are values too.

    Without ``sort``, levels are in no order and may be unused or missing, but never repeated.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        found, different = pd.factorize(column, sort=sort, use_na_sentinel=False)
        return Coded(found.astype(np.int64), pd.Series(different))
    codes: Codes = column.cat.codes.to_numpy().astype(np.int64)
    levels: pd.Series[Any] = column.cat.categories.to_series().reset_index(drop=True)
    if (codes < 0).any():
        codes = np.where(codes < 0, len(levels), codes)
        levels = levels.reindex(range(len(levels) + 1))
    coded = Coded(codes, levels)
    return sorted_levels(coded) if sort else coded


def sorted_levels(column: Coded) -> Coded:
    """The same column with levels in order, each once."""
    order, different = pd.factorize(column.levels, sort=True, use_na_sentinel=False)
    return Coded(order.astype(np.int64)[column.codes], pd.Series(different))


def joint_key(columns: Sequence[Coded]) -> Codes:
    """One number for each row that is equal, and sorts, as the tuple of the columns does."""
    key: Codes = np.zeros(len(columns[0].codes), np.int64)
    size = 1
    for column in columns:
        if size * len(column.levels) > _LARGEST_KEY:
            key, different = pd.factorize(key, sort=True)
            key, size = key.astype(np.int64), len(different)
        key = key * len(column.levels) + column.codes
        size *= len(column.levels)
    return key


def coded_as(column: pd.Series[Any], levels: pd.Series[Any]) -> Codes:
    """Codes of a column into levels that are given, -1 for what is not among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(pa.array(column), value_set=pa.array(levels))
    return np.asarray(found.fill_null(-1)).astype(np.int64)


def positions(stored: pd.DataFrame, columns: Mapping[str, Coded]) -> Codes:
    """Where each row's key is found in a stored table whose keys differ, or -1."""
    rows = len(next(iter(columns.values())).codes)
    if stored.empty:
        return np.full(rows, -1, np.int64)
    there: dict[str, Coded] = {}
    known = np.ones(len(stored), bool)
    for name, column in columns.items():
        codes = coded_as(stored[name], column.levels)
        known &= codes >= 0
        there[name] = Coded(codes, column.levels)
    rank = known.nonzero()[0]
    keys = pd.Index(joint_key([column.at(rank) for column in there.values()]))
    at = keys.get_indexer(pd.Index(joint_key(list(columns.values()))))
    return np.where(at < 0, -1, rank[at] if len(rank) else -1).astype(np.int64)


def fulfils(frame: pd.DataFrame, table: Table) -> bool:
    """Whether :func:`pasta.validation.check` accepts a frame, and its rows are sorted by key.

    Much faster on many rows, because texts are looked at once for each different one.
    """
    if list(frame.columns) != list(table.columns):
        return False
    coded = {}
    for name, column in frame.items():
        looked_at = column
        if name in table.key or pd.api.types.is_string_dtype(column.dtype):
            coded[name] = encode(column, sort=name in table.key)
            looked_at = coded[name].levels.astype(column.dtype)
        alone = Table(str(name), "", (), {str(name): table.columns[str(name)]})
        if find_problems(looked_at.to_frame(name), alone):
            return False
    key = joint_key([coded[name] for name in table.key])
    increasing = bool((np.diff(key) > 0).all())
    return increasing and all(bool(rule.holds(frame).all()) for rule in table.rules)
