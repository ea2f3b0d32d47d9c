"""Importing: a file of ratings becomes a stored batch, or nothing changes at all.

Imports wait for each other. One that is killed leaves at most a hidden temporary folder, which the
next one removes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store
from pasta.errors import PastaError
from pasta.studies.ratings.batches import (
    counted,
    describe,
    list_batches,
    merged,
    number_of,
    sha256,
    write_batch,
)
from pasta.studies.ratings.checking import Checked, Counts, Known, check, summary
from pasta.studies.ratings.formats.base import read
from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.records import Finding, Submission

_LONGEST_SLUG = 40


class SubmissionError(PastaError):
    """A submission was refused; ``findings`` has every problem, the message the first of each."""

    def __init__(self, source: str, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        number = "1 problem" if len(findings) == 1 else f"{len(findings)} problems"
        lines = [f"{source}: {number}, nothing was stored", *summary(findings)]
        super().__init__("\n  ".join(lines))


@dataclass(frozen=True)
class Outcome:
    """What an import did."""

    batch: Path | None  # the new folder; None if everything was known already
    message: str
    counts: Mapping[str, Counts] = field(default_factory=dict)  # by table
    questions: Mapping[str, int] = field(default_factory=dict)  # new votes by question
    dropped: Mapping[str, int] = field(default_factory=dict)  # rightly left out, by reason


def import_file(
    path: Path,
    root: Path,
    known_samples: pd.Index[Any],
    protocol: Protocol,
    votes_per_sample: int = 5,
    replace: bool = False,
    simulated_folder: Path | None = None,
    annotators: Path | None = None,
) -> Outcome:
    """Read a file in any of the formats and store what is new in it as a batch below ``root``.

    Parameters
    ----------
    path
        A file, or a folder with a release or with tables.
    root
        The folder of the batches.
    known_samples
        Sample ids of the explanations computed here.
    protocol
        The protocol that the study follows.
    votes_per_sample
        How many people may rate a sample on a question.
    replace
        Let the file overrule what is stored.
    simulated_folder
        A batch that counts as stored before all others, if it is there.
    annotators
        A CSV file with who rated, to be read along.

    Raises
    ------
    SubmissionError
        If anything is wrong; nothing is stored then.
    """
    digest = source_digest(path, annotators)
    with store.exclusive(lock_of(root)):
        if root.is_dir():
            store.sweep_folders(root)
        twin = None if replace else _twin(root, digest)
        if twin is not None:
            return Outcome(None, f"already imported as batch {twin.name}: nothing changes")
        submission = read(path, protocol, known_samples, annotators)
        stored = merged(stored_folders(root, simulated_folder))
        known = Known(known_samples, stored, protocol, votes_per_sample)
        return _store(submission, known, replace, root, digest)


def stored_folders(root: Path, simulated_folder: Path | None = None) -> list[Path]:
    """The batches in the order in which they overrule each other, the simulated one first."""
    simulated = simulated_folder is not None and simulated_folder.is_dir()
    first = [simulated_folder] if simulated and simulated_folder is not None else []
    return [*first, *list_batches(root)]


def lock_of(root: Path) -> Path:
    """The lock file of a folder of batches; it stands beside it, so it is no part of the data."""
    return root.with_name(f".{root.name}.lock")


def source_digest(path: Path, annotators: Path | None = None) -> str:
    """The sha256 of what is imported: a file, or the tables and JSON files of a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix.lower() in (".csv", ".json"))
    files += [annotators] if annotators is not None else []
    try:
        digests = [sha256(file) for file in files]
    except OSError as error:
        raise PastaError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _store(submission: Submission, known: Known, replace: bool, root: Path, digest: str) -> Outcome:
    """Check and write; the caller holds the lock."""
    checked = check(submission, known, replace)
    if checked.new is None:
        raise SubmissionError(submission.source, checked.findings)
    questions: dict[str, int] = counted(checked.new)["questions"]
    numbers = (checked.counts, questions, submission.dropped)
    if not any(counts.new for counts in checked.counts.values()):
        return Outcome(None, "everything in it is stored already: nothing changes", *numbers)
    number = max(map(number_of, list_batches(root)), default=0) + 1
    folder = root / f"{number:04d}-{_slug(submission.source)}"
    write_batch(folder, checked.new, _about(submission, known, number, digest, checked))
    return Outcome(folder, f"stored as batch {folder.name}", *numbers)


def _about(
    submission: Submission, known: Known, number: int, digest: str, checked: Checked
) -> dict[str, Any]:
    return {
        "number": number,
        "source": submission.source,
        "format": submission.format,
        "protocol": known.protocol.version,
        "sha256": digest,
        "imported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "replaced": sum(counts.replaced for counts in checked.counts.values()),
        "dropped": dict(submission.dropped),
    }


def _twin(root: Path, digest: str) -> Path | None:
    """The batch that was made of the same file."""
    return next((one for one in list_batches(root) if describe(one).get("sha256") == digest), None)


def _slug(source: str) -> str:
    stem = Path(source).stem.lower()
    return re.sub(r"[^a-z0-9]+", "-", stem)[:_LONGEST_SLUG].strip("-") or "votes"
