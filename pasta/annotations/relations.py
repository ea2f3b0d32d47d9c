"""The second half of checking: rows against each other, against the protocol and what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pasta.annotations.cells import Part, found, place
from pasta.annotations.coding import Codes, Mask, coded_as, joint_key
from pasta.annotations.protocol import Protocol
from pasta.annotations.records import Finding
from pasta.tables import BOX

# Boxes are one answer together: a set of them is stored, and overruled, as a whole.
TOGETHER: Mapping[str, tuple[str, ...]] = {"boxes": ("sample_id", "annotator_id")}

_THINGS = {
    "votes": "vote",
    "annotators": "annotator",
    "descriptions": "description",
    "boxes": "box",
    "rankings": "position",
    "shown": "sample",
}


@dataclass(frozen=True)
class Compared:
    """A table of a submission beside the stored one."""

    rows: pd.DataFrame  # all good rows, sorted by key
    new: pd.DataFrame  # those that change what is stored
    replaced: int  # stored rows that the new ones overrule
    findings: list[Finding]


def broken_rules(part: Part) -> list[Finding]:
    """Rows that break a rule between their columns."""
    findings = []
    everything = np.ones(len(part.place), bool)
    for rule in part.table.rules:
        for row in _rows(~rule.holds(part.frame(everything)).to_numpy(bool)):
            values = ", ".join(_value(part, name, row) for name in _box(part))
            text = f"a {_THINGS[part.table.name]} has not: {rule.expected}"
            findings.append(_finding(part, row, text, "correct or remove it", rule.column, values))
    return findings


def repetitions(part: Part) -> tuple[Mask, list[Finding]]:
    """Which rows have a key of their own, and findings for the others.

    The first row of a key counts; each later one says the same, or contradicts it.
    """
    keys = pd.Series(joint_key(list(part.key().values())))
    later = keys.duplicated().to_numpy(bool)
    if not later.any():
        return ~later, []
    first = dict(zip(keys[~later], np.flatnonzero(~later), strict=True))
    name = _THINGS[part.table.name]
    findings = []
    for row in _rows(later):
        other = first[keys[row]]
        changed = next(_differences(part, row, other), None)
        if changed is None:
            problem, fix = f"the same {name} stands there twice", "remove the second one"
            column = part.table.key[0]
        else:
            problem, fix = f"a {name} contradicts another of the same file", "keep one of the two"
            column = changed
        where = f"{_value(part, column, row)}, and at {place(part.place[other])} "
        where += _value(part, column, other)
        findings.append(_finding(part, row, problem, fix, column, where))
    return ~later, findings


def compare(part: Part, stored: pd.DataFrame, at: Codes, replace: bool) -> Compared:
    """Hold rows of different keys against the stored ones; ``replace`` lets them overrule.

    ``at`` says where the key of each row is stored, -1 if it is not.
    A value that is missing on one side contradicts nothing: the row then keeps the other.
    """
    order = np.argsort(joint_key(list(part.key().values())), kind="stable")
    rows = part.frame(order)
    at = at[order]
    changed, conflict = at < 0, np.zeros(len(rows), bool)
    columns: dict[str, Mask] = {}
    both = np.flatnonzero(at >= 0)
    if len(both):
        rows, differs, columns = _filled(rows, stored, at, both, part.table.key)
        conflict[both] = np.any(list(columns.values()), axis=0) if columns else False
        changed[both] = differs
    group = TOGETHER.get(part.table.name)
    overruled = int(conflict.sum())
    if group is not None and not stored.empty:
        changed, torn, overruled = _whole_groups(rows, stored, group, changed)
        conflict |= torn
    findings = [] if replace else list(_conflicts(part, order, rows, stored, at, conflict, columns))
    new = rows if changed.all() else rows[changed].reset_index(drop=True)
    return Compared(rows, new, overruled, findings)


def too_many_votes(part: Part, stored: pd.DataFrame, at: Codes, limit: int) -> list[Finding]:
    """Votes beyond the limit for a sample and question, the stored ones counted first."""
    names = ("sample_id", "question")
    pair = joint_key([part.columns[name] for name in names])
    room = int(np.prod([len(part.columns[name].levels) for name in names]))
    there = at >= 0
    votes = np.bincount(pair[~there], minlength=room)
    if not stored.empty:
        sample, question = (coded_as(stored[name], part.columns[name].levels) for name in names)
        both = (sample >= 0) & (question >= 0)
        width = len(part.columns["question"].levels)
        votes = votes + np.bincount(sample[both] * width + question[both], minlength=room)
    if not (votes > limit).any():
        return []
    rows = np.flatnonzero(~there & (votes[pair] > limit))
    rank = pd.Series(pair[rows]).groupby(pair[rows]).cumcount().to_numpy()
    fresh = np.bincount(pair[rows], minlength=room)
    number = votes[pair[rows]] - fresh[pair[rows]] + rank + 1
    fix = "remove votes until each sample and question has enough, or allow more votes per sample"
    return [
        _finding(part, row, f"more than {limit} votes for a sample and question", fix, "sample_id",
                 f"vote {n} on {_value(part, 'question', row)} of "
                 f"{_value(part, 'sample_id', row)}")
        for row, n in zip(rows.tolist(), number.tolist(), strict=True)
        if n > limit
    ]  # fmt: skip


def incomplete_rankings(part: Part, protocol: Protocol) -> list[Finding]:
    """Rankings that are not the protocol's items at positions 1 to n, each once."""
    frame = part.frame(np.ones(len(part.place), bool))
    findings = []
    for (_, question), group in frame.groupby(["annotator_id", "question"], sort=False):
        items = protocol.question(str(question)).item_ids
        row = int(group.index[0])
        if sorted(group["item"]) != sorted(items):
            problem = "a ranking does not have exactly the items of the protocol"
            fix = f"rank each once: {', '.join(items)}"
            said = ", ".join(map(found, group["item"]))
            findings.append(_finding(part, row, problem, fix, "item", said))
        elif sorted(group["position"]) != list(range(1, len(items) + 1)):
            problem = "the positions of a ranking are not 1, 2, 3 ... each once"
            fix = "correct the positions, or remove a ranking that was left untouched"
            said = ", ".join(map(str, group["position"]))
            findings.append(_finding(part, row, problem, fix, "position", said))
    return findings


def _filled(
    rows: pd.DataFrame, stored: pd.DataFrame, at: Codes, both: Codes, key: tuple[str, ...]
) -> tuple[pd.DataFrame, Mask, dict[str, Mask]]:
    """Rows completed by what is stored; which then differ, and which columns contradict."""
    differs, columns = np.zeros(len(both), bool), {}
    rows = rows.copy(deep=False)
    for name in rows.columns:
        if name in key:
            continue
        here = rows[name].iloc[both].reset_index(drop=True)
        there = stored[name].iloc[at[both]].reset_index(drop=True)
        same = (here == there).fillna(False).to_numpy(bool)
        given, known = here.notna().to_numpy(bool), there.notna().to_numpy(bool)
        if (given & known & ~same).any():
            columns[name] = given & known & ~same
        differs |= given & ~same
        if (known & ~given).any():
            whole = rows[name].copy()
            whole.iloc[both[known & ~given]] = there[known & ~given].array
            rows[name] = whole
    return rows, differs, columns


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
    part: Part,
    order: Codes,
    rows: pd.DataFrame,
    stored: pd.DataFrame,
    at: Codes,
    conflict: Mask,
    columns: Mapping[str, Mask],
) -> Iterator[Finding]:
    name = _THINGS[part.table.name]
    problem = f"a {name} contradicts what is stored"
    fix = "correct it, or import with --replace to overrule what is stored"
    rank = np.cumsum(at >= 0) - 1
    for row in _rows(conflict):
        hit = [column for column, mask in columns.items() if at[row] >= 0 and mask[rank[row]]]
        for column in hit or [part.table.key[-1]]:
            said = found(_plain(rows[column].iloc[row]))
            if hit:
                said += f", stored {found(_plain(stored[column].iloc[at[row]]))}"
            yield _finding(part, int(order[row]), problem, fix, column, said)


def _differences(part: Part, row: int, other: int) -> Iterator[str]:
    for name, column in part.columns.items():
        here, there = column.at(np.array([row, other])).series()
        if name not in part.table.key and not (here == there or pd.isna([here, there]).all()):
            yield name


def _box(part: Part) -> list[str]:
    return [name for name in BOX if name in part.columns]


def _rows(mask: Mask) -> list[int]:
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows


def _value(part: Part, name: str, row: int) -> str:
    column = part.columns[name]
    return found(_plain(column.levels[column.codes[row]]))


def _plain(value: Any) -> object:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


def _finding(part: Part, row: int, problem: str, fix: str, column: str, said: str) -> Finding:
    return Finding(problem, fix, part.table.name, place(part.place[row]), column, said)
