"""The one validation that every submission goes through, whatever its format.

:func:`check` says everything that is wrong at once, each with its place and a fix. Only a
submission without findings becomes annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pasta.annotations.cells import Names, Part, read_part
from pasta.annotations.coding import Mask, coded_as, positions
from pasta.annotations.protocol import Protocol
from pasta.annotations.records import PARTS, Annotations, Finding, Submission
from pasta.annotations.relations import (
    Compared,
    broken_rules,
    compare,
    incomplete_rankings,
    repetitions,
    too_many_votes,
)
from pasta.registry import did_you_mean

_SHOWN_PLACES = 5


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
    names = _names(submission, known)
    compared: dict[str, Compared] = {}
    for name, table in PARTS.items():
        if name not in submission.tables:
            continue
        part, wrong = read_part(submission.tables[name], table, names.get(name, {}))
        findings += wrong
        if part is not None:
            compared[name], wrong = _related(part, known, replace)
            findings += wrong
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
    return [line for key, group in groups.items() for line in _told(key, group)]


def _told(key: tuple[str, str | None, str], group: list[Finding]) -> Iterator[str]:
    table, column, problem = key
    where = f"{table}, column {column!r}" if column else table
    yield f"{where}: {problem}" + (f" ({len(group)} times)" if len(group) > 1 else "")
    for finding in group[:_SHOWN_PLACES]:
        told = [text for text in (finding.place, finding.found) if text]
        if told:
            yield f"  {': '.join(told)}"
    if len(group) > _SHOWN_PLACES:
        yield f"  and {len(group) - _SHOWN_PLACES} more"
    fixes = list(dict.fromkeys(finding.fix for finding in group))
    for fix in fixes[:_SHOWN_PLACES]:
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


def _related(part: Part, known: Known, replace: bool) -> tuple[Compared, list[Finding]]:
    """What concerns more than one cell; a repeated row is looked at once."""
    stored: pd.DataFrame = getattr(known.stored, part.table.name)
    once, findings = repetitions(part)
    findings += broken_rules(part)
    if not once.all():
        columns = {name: column.at(once) for name, column in part.columns.items()}
        part = Part(part.table, part.place[once], columns)
    at = positions(stored, part.key())
    if part.table.name == "rankings":
        findings += incomplete_rankings(part, known.protocol)
    if part.table.name == "votes":
        findings += too_many_votes(part, stored, at, known.votes_per_sample)
    compared = compare(part, stored, at, replace)
    return compared, findings + compared.findings


def _names(submission: Submission, known: Known) -> dict[str, dict[str, Names]]:
    """Which samples and people each table may speak of."""
    shown = [known.stored.shown["sample_id"], *_given(submission, "shown", "sample_id")]
    people = [known.stored.annotators["annotator_id"]]
    people += _given(submission, "annotators", "annotator_id")
    sample = Names(
        lambda texts: _among(texts, [known.sample_ids, *shown]),
        "the sample is not known",
        "correct the id, or compute the explanation first (see the explanations table)",
    )
    annotator = Names(
        lambda texts: _among(texts, people),
        "the annotator is not known",
        "correct the id, or give an annotators table that has it",
    )
    inside = Names(
        lambda texts: ~texts.str.contains(r"(?:^|[/\\])\.\.?(?:[/\\]|$)").to_numpy(bool),
        "a path leaves the folder of the study",
        "give it below the folder, without '.' and '..'",
    )
    both = {"sample_id": sample, "annotator_id": annotator}
    return {
        "votes": both,
        "descriptions": both,
        "boxes": both,
        "rankings": {"annotator_id": annotator},
        "shown": dict.fromkeys(("sample_id", "image", "activations"), inside),
    }


def _given(submission: Submission, table: str, column: str) -> list[pd.Series[Any]]:
    """The names that a submission itself brings along."""
    frame = submission.tables.get(table)
    return [frame[column]] if frame is not None and column in frame.columns else []


def _among(texts: pd.Series[Any], names: Iterable[pd.Series[Any] | pd.Index[Any]]) -> Mask:
    found: Mask = np.zeros(len(texts), bool)
    for known in names:
        names_in_use = pd.Series(known.unique().astype("str"))
        found |= coded_as(texts, names_in_use) >= 0
    return found
