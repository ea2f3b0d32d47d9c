"""Rows against each other, against the protocol and against what is stored.

Frames are in their tables' types; their index is the place of each row in the submission.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.contracts import Table
from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.records import Finding, place, quoted

# Boxes are one answer together: a set of them is stored, and overruled, as a whole.
TOGETHER: Mapping[str, tuple[str, ...]] = {"boxes": ("sample_id", "annotator_id")}
THINGS = {
    "votes": "vote",
    "annotators": "annotator",
    "descriptions": "description",
    "boxes": "box",
    "rankings": "position",
    "shown": "sample",
}
_STORED = " stored"  # suffix of columns

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Compared:
    """A table of a submission beside the stored one."""

    rows: pd.DataFrame  # all good rows, sorted by key
    new: pd.DataFrame  # those that change what is stored
    replaced: int  # stored rows that the new ones overrule
    findings: list[Finding]


def first_rows(frame: pd.DataFrame, key: list[str]) -> Places:
    """For each row the number of the first row that has its key."""
    codes = frame.groupby(key, sort=False, dropna=False).ngroup().to_numpy()
    first: Places = np.unique(codes, return_index=True)[1][codes]
    return first


def repetition(frame: pd.DataFrame, row: int, other: int, table: Table) -> Finding:
    """The finding on a row whose key stands in an earlier row too."""
    name, where = THINGS[table.name], place(frame.index[row])
    problem, fix = f"the same {name} stands there twice", "remove the second one"
    column = table.key[0]
    for differing in table.columns:
        here, there = frame[differing].iloc[row], frame[differing].iloc[other]
        if not (pd.isna(here) and pd.isna(there)) and _word(here) != _word(there):
            problem = f"a {name} contradicts another of the same file"
            fix, column = "keep one of the two", differing
            break
    values = [_word(frame[column].iloc[one]) for one in (row, other)]
    found = f"{values[0]}, and at {place(frame.index[other])} {values[1]}"
    return Finding(problem, fix, table.name, where, column, found)


def too_many_votes(votes: pd.DataFrame, stored: pd.DataFrame, limit: int) -> list[Finding]:
    """Votes beyond the limit for a sample and question, the stored ones counted first."""
    pair = ["sample_id", "question"]
    keys = [*pair, "annotator_id"]
    known = pd.MultiIndex.from_frame(votes[keys]).isin(pd.MultiIndex.from_frame(stored[keys]))
    fresh = votes[~known]
    before = stored.groupby(pair).size().reindex(pd.MultiIndex.from_frame(fresh[pair])).fillna(0)
    number = fresh.groupby(pair).cumcount().to_numpy() + before.to_numpy(np.int64) + 1
    over = fresh[number > limit]
    fix = "remove votes until each sample and question has enough, or allow more votes per sample"
    return [
        Finding(
            f"more than {limit} votes for a sample and question",
            fix,
            "votes",
            place(where),
            "sample_id",
            f"vote {n} on {quoted(question)} of {quoted(sample)}",
        )
        for where, sample, question, n in zip(
            over.index, over["sample_id"], over["question"], number[number > limit], strict=True
        )
    ]


def incomplete_rankings(rankings: pd.DataFrame, protocol: Protocol) -> list[Finding]:
    """Rankings that are not the protocol's items at positions 1 to n, each once."""
    findings = []
    for (_, question), group in rankings.groupby(["annotator_id", "question"], sort=False):
        items = protocol.question(str(question)).item_ids
        where = place(group.index[0])
        if sorted(group["item"]) != sorted(items):
            problem = "a ranking does not have exactly the items of the protocol"
            fix = f"rank each once: {', '.join(items)}"
            found = ", ".join(map(quoted, group["item"]))
            findings.append(Finding(problem, fix, "rankings", where, "item", found))
        elif sorted(group["position"]) != list(range(1, len(items) + 1)):
            problem = "the positions of a ranking are not 1, 2, 3 ... each once"
            fix = "correct the positions, or remove a ranking that was left untouched"
            found = ", ".join(map(str, group["position"]))
            findings.append(Finding(problem, fix, "rankings", where, "position", found))
    return findings


def compare(rows: pd.DataFrame, stored: pd.DataFrame, table: Table, replace: bool) -> Compared:
    """Hold rows of different keys against the stored ones; ``replace`` lets them overrule.

    A value that is missing on one side contradicts nothing: the row then keeps the other.
    """
    key = list(table.key)
    if stored.empty:
        ordered = rows.sort_values(key, ignore_index=True)
        return Compared(ordered, ordered, 0, [])
    both = rows.merge(stored, on=key, how="left", suffixes=("", _STORED), indicator="there")
    there = (both["there"] == "both").to_numpy()
    changed = ~there
    conflicts: dict[str, Mask] = {}
    for name, column in table.columns.items():
        if name in key:
            continue
        ours, theirs = both[name], both[f"{name}{_STORED}"]
        given = ours.notna().to_numpy()
        different = there & given & ~(ours == theirs).fillna(False).to_numpy(bool)
        changed |= different
        conflicts[name] = different & theirs.notna().to_numpy()
        if column.nullable:
            both[name] = ours.where(given | ~there, theirs)
    conflict: Mask = np.any([np.zeros(len(both), bool), *conflicts.values()], axis=0)
    replaced = int(conflict.sum())
    if table.name in TOGETHER:
        changed, torn, replaced = _whole_groups(both, stored, TOGETHER[table.name], changed)
        conflict |= torn
    findings = [] if replace else list(_conflicts(rows.index, both, table, conflict, conflicts))
    order = both[key].sort_values(key).index
    complete = both[list(table.columns)]
    return Compared(
        complete.loc[order].reset_index(drop=True),
        complete.loc[order[changed[order]]].reset_index(drop=True),
        replaced,
        findings,
    )


def _whole_groups(
    rows: pd.DataFrame, stored: pd.DataFrame, group: tuple[str, ...], changed: Mask
) -> tuple[Mask, Mask, int]:
    """Answers of several rows: all rows of one that changed; those that overrule; stored rows."""
    names = list(group)
    here = pd.MultiIndex.from_frame(rows[names])
    there = pd.MultiIndex.from_frame(stored[names])
    before, now = there.value_counts(), here.value_counts()
    shorter = (before.reindex(here).fillna(0) > now.reindex(here)).to_numpy(bool)
    whole = np.asarray(here.isin(here[changed | shorter]))
    torn = whole & np.asarray(here.isin(there))
    return whole, torn, int(there.isin(here[torn]).sum())


def _conflicts(
    places: pd.Index[Any],
    both: pd.DataFrame,
    table: Table,
    conflict: Mask,
    conflicts: Mapping[str, Mask],
) -> Iterator[Finding]:
    problem = f"a {THINGS[table.name]} contradicts what is stored"
    fix = "correct it, or import with --replace to overrule what is stored"
    for row in np.flatnonzero(conflict).tolist():
        hit = [column for column, mask in conflicts.items() if mask[row]]
        for column in hit or [table.key[-1]]:
            found = _word(both[column].iloc[row])
            if hit:
                found += f", stored {_stored(both, column, row)}"
            yield Finding(problem, fix, table.name, place(places[row]), column, found)


def _stored(both: pd.DataFrame, column: str, row: int) -> str:
    value = both[f"{column}{_STORED}"].iloc[row]
    # A join with rows that are missing turns whole numbers into floats.
    return _word(int(value) if pd.api.types.is_integer_dtype(both[column].dtype) else value)


def _word(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return quoted(value.isoformat())
    return quoted(value.item() if isinstance(value, np.generic) else value)
