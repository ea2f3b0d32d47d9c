"""The tables of a study by name, and the list of what is missing in them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

Tables = dict[str, pd.DataFrame]

MISSING = "missing"


def list_missing(tables: Tables, lacks: Mapping[str, str] | None = None) -> Tables:
    """Add the table ``missing`` (section, why), or add to the one there is.

    A section is missing if ``lacks`` gives a reason, or if its table has estimates of which none
    is a number; then the reason is that of its first note.
    """
    known = dict(lacks or {})
    before = tables.get(MISSING)
    rows = [] if before is None else list(before.itertuples(index=False, name=None))
    said = {section for section, _ in rows}
    for name, table in tables.items():
        why = known.get(name) or _nothing(table)
        if name != MISSING and name not in said and why:
            rows.append((name, why))
    return {**tables, MISSING: pd.DataFrame(rows, columns=["section", "why"])}


def add_missing(tables: Tables, more: list[tuple[str, str]]) -> Tables:
    """The tables with more rows (section, why) in ``missing``."""
    said = pd.DataFrame(more, columns=["section", "why"])
    return {**tables, MISSING: pd.concat([tables[MISSING], said], ignore_index=True)}


def _nothing(table: pd.DataFrame) -> str:
    """Why no row has an estimate; empty if one has, or if the table has no such column."""
    if "estimate" not in table or table["estimate"].notna().any():
        return ""
    given = [note for note in table.get("note", pd.Series(dtype=object)).dropna() if note]
    return str(given[0]) if given else "there is nothing to estimate from"


def joined(*parts: Tables) -> Tables:
    """Several sets of tables in one, with one table of what is missing."""
    tables = {name: table for part in parts for name, table in part.items()}
    lacks = [part[MISSING] for part in parts if MISSING in part]
    return {**tables, MISSING: pd.concat(lacks, ignore_index=True)} if lacks else tables
