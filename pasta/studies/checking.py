"""The one check that every submission of every study goes through, whatever its format.

:func:`check` finds everything that is wrong at once, each with its place and a fix: cells, columns,
keys and references by the contracts (:mod:`pasta.contracts`), the rules of the study, and what is
stored already. Only a submission without findings becomes answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.contracts import Problem, parse
from pasta.registry import did_you_mean
from pasta.studies.base import (
    Finding,
    Frames,
    Part,
    Study,
    Submission,
    fill_optional,
    has_people,
    people_only,
    place,
    quoted,
    reference_rows,
    simulated_rows,
)

_SHOWN_PLACES = 5
_STORED = " stored"  # suffix of columns

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Known:
    """What a submission is held against."""

    outside: Frames  # tables that answers refer to and that are not the study's own
    stored: Frames


@dataclass(frozen=True)
class Counts:
    """Rows of one table of a submission."""

    rows: int
    new: int  # to be stored; the others are known already
    replaced: int  # stored rows that the new ones overrule

    @property
    def known(self) -> int:
        """Rows that are stored already."""
        return self.rows - self.new


@dataclass(frozen=True)
class Checked:
    """The outcome of a check: answers, or the findings that stand in their way."""

    answers: Frames | None  # everything the submission says, sorted by key
    new: Frames | None  # the rows among it that change what is stored
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=dict)  # by table
    gives_way: int = 0  # simulated answers that do not count, because people have answered
    unchecked: Mapping[str, int] = field(default_factory=dict)  # rows by the table that is missing


@dataclass(frozen=True)
class Compared:
    """A table of a submission beside the stored one."""

    rows: pd.DataFrame  # all good rows, sorted by key
    new: pd.DataFrame  # those that change what is stored
    replaced: int  # stored rows that the new ones overrule
    findings: list[Finding]


def check(submission: Submission, study: Study, known: Known, replace: bool = False) -> Checked:
    """Check a submission against the study's tables and rules, and against what is stored.

    ``replace`` allows it to overrule stored rows. A row that is stored already, with the same
    values, is fine. Answers of people are held against those of people only: simulated ones give
    way to them.
    """
    before = known.stored
    if from_people(submission, study):
        known = Known(known.outside, people_only(known.stored))
    findings = [
        *submission.findings,
        *_other_version(submission, study),
        *_unknown_tables(submission, study),
    ]
    parents, absent = _parents(submission, study, known)
    compared: dict[str, Compared] = {}
    open_rows: dict[str, int] = {}
    for name, part in study.parts.items():
        if name not in submission.tables:
            continue
        rows, wrong, not_known = _parsed(submission.tables[name], part, study, parents, absent)
        findings += wrong
        for table, number in not_known.items():
            open_rows[table] = open_rows.get(table, 0) + number
        if rows is None:
            continue
        stored = known.stored[name]
        if part.check is not None:
            findings += part.check(rows, stored)
        compared[name] = compare(rows, stored, part, replace)
        findings += compared[name].findings
    if findings:
        return Checked(None, None, tuple(findings), unchecked=open_rows)
    answers = study.frames({name: one.rows for name, one in compared.items()})
    new = study.frames({name: one.new for name, one in compared.items()})
    people = has_people(study, before) or has_people(study, new)
    simulated = simulated_rows(study, before) + simulated_rows(study, new)
    return Checked(
        answers,
        new,
        counts={
            name: Counts(len(one.rows), len(one.new), one.replaced)
            for name, one in compared.items()
        },
        gives_way=simulated if people else 0,
        unchecked=open_rows,
    )


def leave_out(
    submission: Submission, findings: Sequence[Finding], study: Study
) -> Submission | None:
    """The submission without the answers that findings are about, each noted as dropped.

    An answer of several rows goes as a whole, so far as they could be read. None if a finding is
    about more than answers (a column, say, or a table), or if no answer would be left.
    """
    tables, dropped = dict(submission.tables), dict(submission.dropped)
    for finding in findings:
        if finding.table not in study.parts or finding.place is None:
            return None
        shown = f", {finding.found}" if finding.found else ""
        thing = study.parts[finding.table].thing
        reason = f"{thing} at {finding.place}: {finding.problem}{shown}"
        dropped[reason] = dropped.get(reason, 0) + 1
    for name, frame in submission.tables.items():
        places = {one.place for one in findings if one.table == name}
        bad = np.array([place(where) in places for where in frame.index], bool)
        together = [one for one in study.parts[name].together if one in frame]
        if together:
            answers = pd.MultiIndex.from_frame(frame[together])
            bad = np.asarray(answers.isin(answers[bad]))
        tables[name] = frame[~bad]
    before, left = (sum(map(len, one.values())) for one in (submission.tables, tables))
    if not any(len(frame) for name, frame in tables.items() if name != study.people):
        return None
    if left == before and not submission.findings:  # a place that is no row's
        return None
    return dataclasses.replace(submission, tables=tables, findings=(), dropped=dropped)


def find_first(
    parts: Iterable[Submission], study: Study, known: Known, most: int = 1_000
) -> tuple[Finding, ...]:
    """What is wrong with the cells and references of a large file, given in parts.

    Stops at the first part by which there are more than ``most`` findings. With fewer there are
    none in the answer: the check of the whole file will tell them.
    """
    findings: list[Finding] = []
    last: object = ""
    for submission in parts:
        people = from_people(submission, study)
        held = Known(known.outside, people_only(known.stored)) if people else known
        parents, absent = _parents(submission, study, held)
        main = study.main.table.name
        rows = submission.tables[main]
        _, wrong, _ = _parsed(rows, study.main, study, parents, absent)
        findings += [*submission.findings, *wrong]
        last = rows.index[-1] if len(rows) else last
        if len(findings) > most:
            problem = "there are too many problems: what follows was not looked at"
            fix = "correct these first, then check again"
            return (*findings[:most], Finding(problem, fix, main, place(last)))
    return ()


def _parents(
    submission: Submission, study: Study, known: Known
) -> tuple[dict[str, pd.DataFrame], set[str]]:
    """The rows that answers may refer to, and the tables that are not there yet."""
    parents = reference_rows(study, known.outside, known.stored, submission.tables)
    absent = {
        reference.table
        for part in study.parts.values()
        for reference in part.table.references
        if reference.table not in study.parts and reference.table not in known.outside
    }
    parents |= {name: _no_rows(study, name) for name in absent if name not in parents}
    return parents, absent


def summary(findings: Iterable[Finding]) -> list[str]:
    """Findings for people: alike ones together with their number, first places and fixes."""
    groups: dict[tuple[str, str | None, str], list[Finding]] = {}
    for finding in findings:
        key = (finding.table, finding.column, finding.problem)
        groups.setdefault(key, []).append(finding)
    return [line for key, group in groups.items() for line in _lines(key, group)]


def unchecked(checked: Checked, study: Study) -> str:
    """What could not be looked at, and why."""
    return "; ".join(
        f"{number:,} rows refer to the {table} table, which is not there yet: "
        f"`{study.makes_outside}` makes it"
        for table, number in checked.unchecked.items()
    )


def _no_rows(study: Study, table: str) -> pd.DataFrame:
    references = [one for part in study.parts.values() for one in part.table.references]
    columns = next(one.columns for one in references if one.table == table)
    return pd.DataFrame({name: pd.Series(dtype="str") for name in columns})


def _lines(key: tuple[str, str | None, str], group: list[Finding]) -> Iterator[str]:
    table, column, problem = key
    where = f"{table}, column {column!r}" if column else table
    yield f"{where}: {problem}" + (f" ({len(group)} times)" if len(group) > 1 else "")
    for finding in group[:_SHOWN_PLACES]:
        words = [text for text in (finding.place, finding.found) if text]
        if words:
            yield f"  {': '.join(words)}"
    if len(group) > _SHOWN_PLACES:
        yield f"  and {len(group) - _SHOWN_PLACES} more"
    for fix in list(dict.fromkeys(finding.fix for finding in group))[:_SHOWN_PLACES]:
        yield f"  fix: {fix}"


def from_people(submission: Submission, study: Study) -> bool:
    """Whether a person has answered: rows count as such unless they are marked as simulated."""
    for name, frame in submission.tables.items():
        part = study.parts.get(name)
        if name == study.people or part is None or "simulated" not in part.table.columns:
            continue
        if len(frame) and "simulated" not in frame:
            return True
        if len(frame) and (frame["simulated"].astype("str").str.lower() != "true").any():
            return True
    return False


def _other_version(submission: Submission, study: Study) -> Iterator[Finding]:
    claimed, ours = submission.protocol, study.version
    if claimed is not None and claimed != ours:
        problem = "the file follows another version of the protocol"
        fix = f"import it into a study with protocol {claimed!r}; this one follows {ours!r}"
        yield Finding(problem, fix, table="protocol", found=claimed)


def _unknown_tables(submission: Submission, study: Study) -> Iterator[Finding]:
    for name in submission.tables:
        if name not in study.parts:
            fix = f"rename or remove it. {did_you_mean(name, list(study.parts))}"
            yield Finding("a table is not known", fix, table=name)


def _parsed(
    given: pd.DataFrame,
    part: Part,
    study: Study,
    parents: Mapping[str, pd.DataFrame],
    absent: set[str],
) -> tuple[pd.DataFrame | None, list[Finding], dict[str, int]]:
    """The good rows in the table's types, by their places, and what is wrong with the others.

    There are none if columns are missing or unknown. Last, how many rows refer to each of the
    tables that are not there yet: that is not wrong, but not checked.
    """
    table = part.table
    text = fill_optional(given.astype("str").fillna(""), table, study.optional)
    frame, problems = parse(text, table, parents)
    frame.index = given.index
    into = {one.columns[-1]: one.table for one in table.references if one.table in absent}
    open_rows: dict[str, int] = {}
    for problem in problems:
        if problem.kind == "reference" and problem.column in into:
            name = into[problem.column]
            open_rows[name] = open_rows.get(name, 0) + 1
    problems = [one for one in problems if one.kind != "reference" or one.column not in into]
    order = {name: number for number, name in enumerate(text.columns)}
    problems.sort(key=lambda one: (order.get(one.column or "", -1), one.row or 0))
    findings = list(_findings(problems, text, frame, part, study))
    if any(problem.row is None for problem in problems):
        return None, findings, open_rows
    bad = {problem.row for problem in problems}
    good = frame[[row not in bad for row in range(len(frame))]] if bad else frame
    return good, findings, open_rows


def _findings(
    problems: list[Problem], text: pd.DataFrame, frame: pd.DataFrame, part: Part, study: Study
) -> Iterator[Finding]:
    table = part.table
    cells = {name: text[name].to_numpy(object) for name in table.columns if name in text.columns}
    twice = any(problem.kind == "key" for problem in problems)
    first = first_rows(frame, list(table.key)) if twice else None
    for problem in problems:
        row, column = problem.row, problem.column or ""
        if row is None:
            yield Finding(*_words(problem, part, study, ""), table.name, column=column)
        elif problem.kind == "key" and first is not None:
            yield _repetition(frame, row, int(first[row]), part)
        else:
            looked_at = (problem.kind == "rule" and part.rule_cells) or (column,)
            found = ", ".join(quoted(cells[name][row]) for name in looked_at)
            words = _words(problem, part, study, cells[column][row])
            yield Finding(*words, table.name, place(text.index[row]), column, found)


def _words(problem: Problem, part: Part, study: Study, text: str) -> tuple[str, str]:
    """What is wrong, in general words, and what can be done about it."""
    column, table = problem.column or "", part.table
    match problem.kind:
        case "missing column":
            about = table.columns[column].description
            return "a column is missing", f"add the column {column!r}: {about}"
        case "unknown column":
            hint = did_you_mean(column, list(table.columns))
            return "a column is not known", f"rename or remove it. {hint}"
        case "reference":
            unknown = (f"the {column} is not known", f"correct it, or give {problem.expected}")
            return study.references.get(column, unknown)
        case "rule":
            return f"{part.one} has not: {problem.expected}", "correct or remove it"
    if problem.expected.startswith("one of "):
        choices = problem.expected.removeprefix("one of ").split(", ")
        by_lower = {choice.lower(): choice for choice in choices}
        nearest = by_lower.get(text.strip().lower(), text)
        return f"the {column} is not known", did_you_mean(nearest, choices)
    default = (f"the {column} is not as expected: {problem.expected}", "correct the value")
    return study.cells.get(column, default)


def first_rows(frame: pd.DataFrame, key: list[str]) -> Places:
    """For each row the number of the first row that has its key."""
    codes = frame.groupby(key, sort=False, dropna=False).ngroup().to_numpy()
    first: Places = np.unique(codes, return_index=True)[1][codes]
    return first


def _repetition(frame: pd.DataFrame, row: int, other: int, part: Part) -> Finding:
    """The finding on a row whose key stands in an earlier row too."""
    table, name, where = part.table, part.thing, place(frame.index[row])
    problem, fix = f"the same {name} stands there twice", "remove the second one"
    column = table.key[0]
    for differing in table.columns:
        here, there = frame[differing].iloc[row], frame[differing].iloc[other]
        if not (pd.isna(here) and pd.isna(there)) and _word(here) != _word(there):
            problem = f"{part.one} contradicts another of the same file"
            fix, column = "keep one of the two", differing
            break
    values = [_word(frame[column].iloc[one]) for one in (row, other)]
    found = f"{values[0]}, and at {place(frame.index[other])} {values[1]}"
    return Finding(problem, fix, table.name, where, column, found)


def compare(rows: pd.DataFrame, stored: pd.DataFrame, part: Part, replace: bool) -> Compared:
    """Hold rows of different keys against the stored ones; ``replace`` lets them overrule.

    A value that is missing on one side contradicts nothing: the row then keeps the other.
    """
    table = part.table
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
    if part.together:
        changed, torn, replaced = _whole_groups(both, stored, part.together, changed)
        conflict |= torn
    findings = [] if replace else list(_conflicts(rows.index, both, part, conflict, conflicts))
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
    part: Part,
    conflict: Mask,
    conflicts: Mapping[str, Mask],
) -> Iterator[Finding]:
    problem = f"{part.one} contradicts what is stored"
    fix = "correct it, or import with --replace to overrule what is stored"
    for row in np.flatnonzero(conflict).tolist():
        hit = [column for column, mask in conflicts.items() if mask[row]]
        for column in hit or [part.table.key[-1]]:
            found = _word(both[column].iloc[row])
            if hit:
                found += f", stored {_stored(both, column, row)}"
            yield Finding(problem, fix, part.table.name, place(places[row]), column, found)


def _stored(both: pd.DataFrame, column: str, row: int) -> str:
    value = both[f"{column}{_STORED}"].iloc[row]
    # A join with rows that are missing turns whole numbers into floats.
    return _word(int(value) if pd.api.types.is_integer_dtype(both[column].dtype) else value)


def _word(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return quoted(value.isoformat())
    return quoted(value.item() if isinstance(value, np.generic) else value)
