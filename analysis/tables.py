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

    Parameters
    ----------
    tables
        Tables by the name of their section.
    lacks
        Why a section is missing, by its name.

    Returns
    -------
    dict of DataFrame
        The tables with ``missing``.

    Examples
    --------
    >>> tables = {"age": pd.DataFrame({"estimate": [float("nan")], "note": ["nobody stated it"]})}
    >>> list_missing(tables)["missing"]
      section               why
    0     age  nobody stated it
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
    """Add rows to the table ``missing``.

    Parameters
    ----------
    tables
        With a table ``missing``, as :func:`list_missing` returns them.
    more
        (section, why) of each row.

    Returns
    -------
    dict of DataFrame

    Examples
    --------
    >>> add_missing(list_missing({}), [("speed", "no vote has a time")])["missing"]
      section                 why
    0   speed  no vote has a time
    """
    said = pd.DataFrame(more, columns=["section", "why"])
    return {**tables, MISSING: pd.concat([tables[MISSING], said], ignore_index=True)}


def _nothing(table: pd.DataFrame) -> str:
    """Why no row has an estimate; empty if one has, or if the table has no such column."""
    if "estimate" not in table or table["estimate"].notna().any():
        return ""
    given = [note for note in table.get("note", pd.Series(dtype=object)).dropna() if note]
    return str(given[0]) if given else "there is nothing to estimate from"


def joined(*parts: Tables) -> Tables:
    """Put several sets of tables into one, with one table of what is missing.

    Parameters
    ----------
    *parts
        Sets of tables; of two with the same name the last one stays.

    Returns
    -------
    dict of DataFrame

    Examples
    --------
    >>> ages, speeds = list_missing({}, {"age": "no ages"}), list_missing({"speed": pd.DataFrame()})
    >>> sorted(joined(ages, speeds))
    ['missing', 'speed']
    """
    tables = {name: table for part in parts for name, table in part.items()}
    lacks = [part[MISSING] for part in parts if MISSING in part]
    return {**tables, MISSING: pd.concat(lacks, ignore_index=True)} if lacks else tables
