"""The one check that every submission goes through, whatever its format.

:func:`check` finds everything that is wrong at once, each with its place and a fix: cells, columns,
keys and references by the contracts (:mod:`pasta.contracts`), the rest by
:mod:`~pasta.studies.ratings.relations`. Only a submission without findings becomes annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pasta.contracts import Problem, Table, parse
from pasta.registry import did_you_mean
from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.records import PARTS, Annotations, Finding, Submission, place, quoted
from pasta.studies.ratings.relations import (
    THINGS,
    Compared,
    compare,
    first_rows,
    incomplete_rankings,
    repetition,
    too_many_votes,
)
from pasta.tables import BOX

OPTIONAL = frozenset({"submitted_at", "age", "sex", "country", "simulated"})
_SHOWN_PLACES = 5
_BAD_PATH = ("a path leaves the folder of the study", "give it below the folder, without '..'")
_CELLS: Mapping[str, tuple[str, str]] = {
    "rating": (
        "the rating is not a whole number from 1 to 5",
        "give 1, 2, 3, 4 or 5 stars, or remove the row",
    ),
    "sample_id": (
        "the sample is not written as dataset/image/method/backbone",
        "correct the id, for example coco/1323/gradcam/resnet50",
    ),
    "annotator_id": (
        "the annotator's id is empty or has a slash or a space in it",
        "give each annotator a name of letters and digits",
    ),
    "submitted_at": (
        "the time cannot be read or has no zone",
        "write it like 2024-05-01T12:30:00Z, or leave it empty",
    ),
    "age": (
        "the age is not a whole number of years from 0 to 130",
        "correct the age, or leave it empty",
    ),
    "simulated": ("the mark of simulated votes is not true or false", "write true or false"),
    "text": ("the description is empty", "give the words, or remove the row"),
    "image": _BAD_PATH,
    "activations": _BAD_PATH,
    **dict.fromkeys(
        BOX, ("a side of a box is not between 0 and 1", "give it as a fraction of the image")
    ),
}
_REFERENCES = {
    "sample_id": (
        "the sample is not known",
        "correct the id, or compute the explanation first (see the explanations table)",
    ),
    "annotator_id": (
        "the annotator is not known",
        "correct the id, or give an annotators table that has it",
    ),
}


@dataclass(frozen=True)
class Known:
    """What a submission is held against."""

    sample_ids: pd.Index[Any]  # of the explanations that were computed here
    stored: Annotations
    protocol: Protocol
    votes_per_sample: int = 5


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
    """The outcome of a check: annotations, or the findings that stand in their way."""

    annotations: Annotations | None  # everything the submission says, sorted by key
    new: Annotations | None  # the rows among it that change what is stored
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=dict)  # by table


def check(submission: Submission, known: Known, replace: bool = False) -> Checked:
    """Check a submission against the contracts, the protocol and what is stored.

    ``replace`` allows it to overrule stored rows. A row that is stored already, with the same
    values, is fine.
    """
    findings = [*submission.findings, *_protocol(submission, known), *_unknown_tables(submission)]
    parents = _parents(submission, known)
    compared: dict[str, Compared] = {}
    for name, table in PARTS.items():
        if name not in submission.tables:
            continue
        rows, wrong = _parsed(submission.tables[name], table, parents)
        findings += wrong
        if rows is None:
            continue
        stored: pd.DataFrame = getattr(known.stored, name)
        if name == "rankings":
            findings += incomplete_rankings(rows, known.protocol)
        if name == "votes":
            findings += too_many_votes(rows, stored, known.votes_per_sample)
        compared[name] = compare(rows, stored, table, replace)
        findings += compared[name].findings
    if findings:
        return Checked(None, None, tuple(findings))
    return Checked(
        Annotations.of({name: one.rows for name, one in compared.items()}),
        Annotations.of({name: one.new for name, one in compared.items()}),
        counts={
            name: Counts(len(one.rows), len(one.new), one.replaced)
            for name, one in compared.items()
        },
    )


def summary(findings: Iterable[Finding]) -> list[str]:
    """Findings for people: alike ones together with their number, first places and fixes."""
    groups: dict[tuple[str, str | None, str], list[Finding]] = {}
    for finding in findings:
        key = (finding.table, finding.column, finding.problem)
        groups.setdefault(key, []).append(finding)
    return [line for key, group in groups.items() for line in _lines(key, group)]


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


def _protocol(submission: Submission, known: Known) -> Iterator[Finding]:
    claimed, ours = submission.protocol, known.protocol.version
    if claimed is not None and claimed != ours:
        problem = "the file follows another version of the protocol"
        fix = f"import it into a study with protocol {claimed!r}; this one follows {ours!r}"
        yield Finding(problem, fix, table="protocol", found=claimed)


def _unknown_tables(submission: Submission) -> Iterator[Finding]:
    for name in submission.tables:
        if name not in PARTS:
            fix = f"rename or remove it. {did_you_mean(name, list(PARTS))}"
            yield Finding("a table is not known", fix, table=name)


def _parents(submission: Submission, known: Known) -> dict[str, pd.DataFrame]:
    """Which samples and people votes may speak of: those known here, and those of the file."""

    def names(column: str, stored: pd.DataFrame, table: str, *more: pd.Series) -> pd.DataFrame:
        given = submission.tables.get(table)
        own = [given[column].astype("str")] if given is not None and column in given else []
        return pd.concat([stored[column], *own, *more], ignore_index=True).to_frame(column)

    here = known.sample_ids.to_series().astype("str")
    return {
        "explanations": names("sample_id", known.stored.shown, "shown", here),
        "annotators": names("annotator_id", known.stored.annotators, "annotators"),
    }


def _parsed(
    given: pd.DataFrame, table: Table, parents: Mapping[str, pd.DataFrame]
) -> tuple[pd.DataFrame | None, list[Finding]]:
    """The good rows in the table's types, by their places, and what is wrong with the others.

    There are none if columns are missing or unknown.
    """
    text = given.astype("str").fillna("")
    for name in OPTIONAL.intersection(table.columns).difference(text.columns):
        text[name] = ""
    if "simulated" in table.columns:
        text["simulated"] = text["simulated"].replace("", "false")
    ours = [name for name in table.columns if name in text.columns]
    text = text[[*ours, *text.columns.difference(ours, sort=False)]]
    frame, problems = parse(text, table, parents)
    frame.index = given.index
    order = {name: number for number, name in enumerate(text.columns)}
    problems.sort(key=lambda one: (order.get(one.column or "", -1), one.row or 0))
    findings = list(_findings(problems, text, frame, table))
    if any(problem.row is None for problem in problems):
        return None, findings
    bad = {problem.row for problem in problems}
    return frame[[row not in bad for row in range(len(frame))]] if bad else frame, findings


def _findings(
    problems: list[Problem], text: pd.DataFrame, frame: pd.DataFrame, table: Table
) -> Iterator[Finding]:
    cells = {name: text[name].to_numpy(object) for name in table.columns if name in text.columns}
    twice = any(problem.kind == "key" for problem in problems)
    first = first_rows(frame, list(table.key)) if twice else None
    for problem in problems:
        row, column = problem.row, problem.column or ""
        if row is None:
            yield Finding(*_words(problem, table, ""), table.name, column=column)
        elif problem.kind == "key" and first is not None:
            yield repetition(frame, row, int(first[row]), table)
        else:
            looked_at = BOX if problem.kind == "rule" else (column,)
            found = ", ".join(quoted(cells[name][row]) for name in looked_at)
            words = _words(problem, table, cells[column][row])
            yield Finding(*words, table.name, place(text.index[row]), column, found)


def _words(problem: Problem, table: Table, text: str) -> tuple[str, str]:
    """What is wrong, in general words, and what can be done about it."""
    column = problem.column or ""
    match problem.kind:
        case "missing column":
            about = table.columns[column].description
            return "a column is missing", f"add the column {column!r}: {about}"
        case "unknown column":
            hint = did_you_mean(column, list(table.columns))
            return "a column is not known", f"rename or remove it. {hint}"
        case "reference":
            return _REFERENCES[column]
        case "rule":
            return f"a {THINGS[table.name]} has not: {problem.expected}", "correct or remove it"
    if problem.expected.startswith("one of "):
        choices = problem.expected.removeprefix("one of ").split(", ")
        by_lower = {choice.lower(): choice for choice in choices}
        nearest = by_lower.get(text.strip().lower(), text)
        return f"the {column} is not known", did_you_mean(nearest, choices)
    default = (f"the {column} is not as expected: {problem.expected}", "correct the value")
    return _CELLS.get(column, default)
