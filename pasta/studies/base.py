"""What a study is: tables of answers, words about them, and what can be done with them.

A file is read into a :class:`Submission`: text as it was found, each row with its place. Checking
turns it into frames, typed and checked, or into a list of :class:`Finding`. Reading, checking,
batches and imports know a study only by its :class:`Study` object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.tables import Tables
from pasta.contracts import Table
from pasta.paths import DATA

if TYPE_CHECKING:
    from pasta.config import Params
    from pasta.layout import Group

Frames = Mapping[str, pd.DataFrame]  # by the name of their table

_LONGEST = 80  # value in a message


@dataclass(frozen=True)
class Finding:
    """Something wrong with a submission, and what to do about it.

    Findings of the same ``problem`` are shown together and counted.
    """

    problem: str  # in general words, the same for all findings of its sort
    fix: str  # what the user can do
    table: str
    place: str | None = None  # line, entry or task, in the words of the file's format
    column: str | None = None
    found: str | None = None


def place(value: object) -> str:
    """Where a row stood: lines are numbers, other places are words already."""
    return value if isinstance(value, str) else f"line {value}"


def quoted(value: object) -> str:
    """A value in a message, never long."""
    text = repr(value) if value != "" else "nothing"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]}...'"


@dataclass(frozen=True)
class Submission:
    """What a file says, before it is checked.

    ``tables`` holds, by the name of the table, frames with the table's columns as text, ``""``
    where nothing was given, optional columns left out. The index of each frame is ``place``: the
    line of a CSV file as an integer, or words such as ``"entry 12, Annotation 3"``.
    """

    source: str  # name of the file
    format: str
    tables: Frames
    findings: tuple[Finding, ...] = ()  # what the reader itself could not accept
    protocol: str | None = None  # version that the file claims to follow
    dropped: Mapping[str, int] = field(default_factory=dict)  # rightly left out, by reason


Check = Callable[[pd.DataFrame, pd.DataFrame], list[Finding]]  # (good rows, stored rows)


@dataclass(frozen=True)
class Part:
    """A table of a study, and how its rows are spoken of.

    Attributes
    ----------
    table
        The contract.
    thing
        What one row is, such as ``"vote"``.
    together
        Columns whose rows are one answer: they are stored, and overruled, as a whole.
    rule_cells
        Columns quoted when a row breaks a rule of the table.
    check
        The study's own rule for good rows, given the stored ones.
    """

    table: Table
    thing: str
    together: tuple[str, ...] = ()
    rule_cells: tuple[str, ...] = ()
    check: Check | None = None

    @property
    def one(self) -> str:
        """One row with its article, such as ``"a vote"``."""
        return f"{'an' if self.thing[0] in 'aeiou' else 'a'} {self.thing}"


@dataclass(frozen=True)
class Format:
    """A JSON format that answers come in, beside tables as CSV."""

    name: str
    about: str
    fits: Callable[[Any, Path], bool]  # whether parsed JSON, of this file, is in the format
    # (content, its file, tables referred to, our names of things by those of the file)
    read: Callable[[Any, Path, Frames, Mapping[str, str]], Submission]
    file: str | None = None  # its name in a folder, if it has a fixed one


@dataclass(frozen=True)
class Simulated:
    """Answers that a study begins with, of simulated people, and what is really behind them.

    ``truth`` has frames, and values that are ready for JSON.
    """

    frames: Frames
    truth: Mapping[str, Any]
    source: str = "simulated"  # or where answers came from that nobody had to simulate
    dropped: Mapping[str, int] = field(default_factory=dict)  # rightly left out, by reason


@dataclass(frozen=True)
class Study:
    """A study as the generic code and the pipeline see it, with its design bound in.

    Attributes
    ----------
    name, about
        Its name on the command line, and one line on what people do in it.
    version
        Of the protocol or design that answers must follow.
    parts
        The tables of answers by name. The first is the main one.
    people
        The table of who took part, or None.
    cells, references
        Problem and fix by column: for cells that are not as expected, and for rows that refer to
        something unknown.
    optional
        Columns that a file need not have.
    formats
        Other formats than CSV.
    outside
        The tables of the project that answers refer to, such as explanations; what is not made yet
        is not among them.
    makes_outside
        What makes these tables, for the message when one is missing.
    rated
        The column of what is answered about; a file may have other names for it than we.
    plan, simulate
        Who answers what; and the answers of simulated people. Each takes the groups of
        explanations and the parameters.
    outcomes
        The tables that analyses read, made from all answers.
    summarise
        Numbers for the metrics file, from all answers and their outcomes.
    analyses, reports
        Names of those that are about this study.
    analyse
        The tables of one of its analyses, from the project's folder and the parameters. The rating
        study has none: its analyses are listed where the stage is.
    draw
        The pictures of one of its analyses, into the folder that is given last.
    reads
        What the simulated answers are made from, where these are not the explanations.
    settings
        Parameters to note beside results.
    lenient
        Whether an answer means the same when another one is left out, so that `--lenient` may.
    batches
        Folder of the imported batches, below the project's root.
    """

    name: str
    about: str
    version: str
    parts: Mapping[str, Part]
    people: str | None = None
    cells: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset({"simulated"})
    formats: tuple[Format, ...] = ()
    outside: Callable[[Path], Frames] = lambda _: {}
    makes_outside: str = "dvc repro"
    rated: str | None = None
    plan: Callable[[Sequence[Group], Params], pd.DataFrame] | None = None
    simulate: Callable[[Sequence[Group], Params], Simulated] | None = None
    outcomes: Callable[[Frames, Params], Sequence[tuple[Table, pd.DataFrame]]] | None = None
    summarise: Callable[[Frames, Frames], dict[str, Any]] | None = None
    analyses: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    analyse: Callable[[str, Path, Params], Tables] | None = None
    draw: Callable[[str, Path, Params, Path], None] | None = None
    reads: Callable[[Path], Sequence[Path]] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    lenient: bool = False
    batches: Path | None = None

    @property
    def main(self) -> Part:
        """The table of the answers that the study is about."""
        return next(iter(self.parts.values()))

    @property
    def batch_folder(self) -> Path:
        """Where imported batches are, below the project's root."""
        return self.batches or Path("pipelines/annotations") / self.name / "batches"

    @property
    def simulated_folder(self) -> Path:
        """The batch of the simulated people, below the project's root."""
        return DATA / "simulate" / self.name / "batch"

    @property
    def planted_folder(self) -> Path:
        """What is really behind the simulated answers, below the project's root."""
        return DATA / "simulate" / self.name / "planted"

    @property
    def folder(self) -> Path:
        """The tables of all answers, below the project's root."""
        return DATA / "votes" / self.name

    def frames(self, given: Frames) -> dict[str, pd.DataFrame]:
        """All tables of the study; those that are not given are empty."""
        return complete_frames({name: part.table for name, part in self.parts.items()}, given)

    def tally(self, frames: Frames) -> dict[str, int]:
        """Rows of the main table for each question, if it has questions."""
        answers = frames[self.main.table.name]
        if "question" not in answers:
            return {}
        counts = answers["question"].value_counts().sort_index()
        return {str(name): int(number) for name, number in counts.items()}


def rename(submission: Submission, column: str, ids: Mapping[str, str]) -> Submission:
    """The submission with our names in a column, in place of those that its file has."""
    if not ids:
        return submission
    tables = {
        name: frame.assign(**{column: frame[column].map(lambda one: ids.get(one, one))})
        if column in frame
        else frame
        for name, frame in submission.tables.items()
    }
    return replace(submission, tables=tables)


def fill_optional(text: pd.DataFrame, table: Table, optional: frozenset[str]) -> pd.DataFrame:
    """Rows as text with all optional columns; a flag that is not given is false."""
    text = text.copy()
    for name in optional.intersection(table.columns):
        if name not in text:
            text[name] = ""
        if str(table.columns[name].dtype) == "bool":
            text[name] = text[name].replace("", "false")
    ours = [name for name in table.columns if name in text.columns]
    return text[[*ours, *text.columns.difference(ours, sort=False)]]


def reference_rows(study: Study, outside: Frames, *own: Frames) -> dict[str, pd.DataFrame]:
    """The rows that answers may refer to: of tables outside, and of the study's own frames."""
    found: dict[str, list[pd.DataFrame]] = {name: [one] for name, one in outside.items()}
    references = [one for part in study.parts.values() for one in part.table.references]
    referred = {one.table for one in references}
    for name, part in study.parts.items():
        key = list(part.table.key)
        if name in referred:
            frames = [one[name] for one in own if name in one]
            with_key = [one[key].astype("str") for one in frames if set(key) <= set(one.columns)]
            found.setdefault(name, []).extend(with_key)
    return {name: pd.concat(rows, ignore_index=True) for name, rows in found.items() if rows}


def complete_frames(tables: Mapping[str, Table], given: Frames) -> dict[str, pd.DataFrame]:
    """The given frames in the order of the tables, and empty ones for the others."""
    return {
        name: given[name] if name in given else table.frame([]) for name, table in tables.items()
    }


def has_people(study: Study, frames: Frames) -> bool:
    """Whether there is an answer that a person gave; to be known as a person is no answer."""
    return any(
        not frame["simulated"].all()
        for name, frame in frames.items()
        if name != study.people and "simulated" in frame
    )


def people_only(frames: Frames) -> dict[str, pd.DataFrame]:
    """The frames without simulated rows."""
    return {
        name: frame[~frame["simulated"]].reset_index(drop=True) if "simulated" in frame else frame
        for name, frame in frames.items()
    }


def simulated_rows(study: Study, frames: Frames) -> int:
    """How many answers are simulated."""
    main = frames[study.main.table.name]
    return int(main["simulated"].sum()) if "simulated" in main else 0
