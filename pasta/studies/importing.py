"""Importing: a file of answers becomes a stored batch, or nothing changes at all.

Imports wait for each other, and so do withdrawals of batches. One that is killed leaves at most
something hidden and temporary, which the next one removes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pasta import store
from pasta.errors import PastaError
from pasta.registry import did_you_mean
from pasta.studies.base import Finding, Frames, Study, Submission
from pasta.studies.batches import (
    WITHDRAWN,
    describe,
    list_batches,
    merged,
    number_of,
    sha256,
    stored_folders,
    withdrawal,
    write_batch,
)
from pasta.studies.checking import (
    Checked,
    Counts,
    Known,
    check,
    find_first,
    leave_out,
    summary,
    unchecked,
)
from pasta.studies.reading import read, read_ids, read_in_parts

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
    questions: Mapping[str, int] = field(default_factory=dict)  # new answers by question
    dropped: Mapping[str, int] = field(default_factory=dict)  # rightly left out, by reason
    gives_way: int = 0  # simulated answers that do not count, because people have answered


def import_file(
    path: Path,
    study: Study,
    root: Path,
    outside: Frames,
    replace: bool = False,
    simulated_folder: Path | None = None,
    people: Path | None = None,
    ids: Path | None = None,
    lenient: bool = False,
) -> Outcome:
    """Read a file in any format of a study and store what is new in it as a batch below ``root``.

    Parameters
    ----------
    path
        A file, or a folder of files.
    study
        The study that the answers belong to.
    root
        The folder of the batches.
    outside
        The tables that answers refer to, such as explanations.
    replace
        Let the file overrule what is stored.
    simulated_folder
        A batch that counts as stored before all others, if it is there.
    people
        A CSV file with who took part, to be read along.
    ids
        A CSV file with our names of what was rated, see :func:`pasta.studies.reading.read_ids`.
    lenient
        Leave out answers that cannot be used, each named in the outcome, and store the others.

    Raises
    ------
    SubmissionError
        If anything is wrong; nothing is stored then.
    """
    digest = source_digest(path, people, ids)
    names = {} if ids is None else read_ids(ids, study)
    with store.exclusive(lock_of(root)):
        if root.is_dir():
            store.sweep_folders(root)
        batches = list_batches(root)
        anything_withdrawn = any(withdrawal(one) is not None for one in batches)
        # After a withdrawal even a file that was imported may have something new in it.
        twin = None if replace or anything_withdrawn else _twin(study, batches, digest)
        if twin is not None:
            return Outcome(None, f"already imported as batch {twin.name}: nothing changes")
        known = Known(outside, merged(study, stored_folders(root, simulated_folder)))
        submission, checked = read_and_check(path, study, known, people, names, replace, lenient)
        return _store(submission, checked, study, root, digest)


def read_and_check(
    path: Path,
    study: Study,
    known: Known,
    people: Path | None = None,
    ids: Mapping[str, str] | None = None,
    replace: bool = False,
    lenient: bool = False,
) -> tuple[Submission, Checked]:
    """Read answers and hold them against what is known; a large file only as far as it is good.

    ``lenient`` leaves out answers that cannot be used, and those that refer to what was left out.
    """
    if lenient and not study.lenient:
        raise PastaError(
            f"answers to the study {study.name!r} belong together: none can be left out. Correct "
            "the file, and import it without --lenient"
        )
    findings = () if lenient else find_first(read_in_parts(path, study, people, ids), study, known)
    if findings:
        return Submission(path.name, "tidy", {}, findings), Checked(None, None, findings)
    submission = read(path, study, known.outside, people, ids=ids)
    checked = check(submission, study, known, replace)
    while lenient and checked.findings:
        rest = leave_out(submission, checked.findings, study)
        if rest is None:
            break
        submission, checked = rest, check(rest, study, known, replace)
    return submission, checked


def withdraw(name: str, study: Study, root: Path, reason: str = "") -> str:
    """Take a batch back: from now on none of its answers counts. Its folder stays as a record.

    Parameters
    ----------
    name
        The batch: its number, or the name of its folder.
    study, root
        The study, and the folder of its batches.
    reason
        Why, for the ledger.

    Returns
    -------
    What was done, in words. A batch that is withdrawn already stays as it is.
    """
    with store.exclusive(lock_of(root)):
        folder = _find_batch(name, root)
        before = withdrawal(folder)
        if before is not None:
            why = f" ({before['reason']})" if before["reason"] else ""
            when = before["withdrawn_at"]
            return f"{folder.name} was withdrawn on {when}{why} already: nothing changes"
        describe(study, folder)  # a folder that is no batch of this study is left alone
        now = datetime.now(UTC).isoformat(timespec="seconds")
        store.write_json({"withdrawn_at": now, "reason": reason}, folder / WITHDRAWN)
        return f"withdrew batch {folder.name}; its file can be imported again"


def _find_batch(name: str, root: Path) -> Path:
    batches = list_batches(root)
    for folder in batches:
        if name == folder.name or (name.isdecimal() and int(name) == number_of(folder)):
            return folder
    if not batches:
        raise PastaError("there is nothing to withdraw: no batch was imported yet")
    hint = did_you_mean(name, [folder.name for folder in batches])
    raise PastaError(f"there is no batch {name!r}. {hint}")


def lock_of(root: Path) -> Path:
    """The lock file of a folder of batches; it stands beside it, so it is no part of the data."""
    return root.with_name(f".{root.name}.lock")


def source_digest(path: Path, *more: Path | None) -> str:
    """The sha256 of what is imported: a file, or the tables and JSON files of a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix.lower() in (".csv", ".json"))
    files += [one for one in more if one is not None]
    try:
        digests = [sha256(file) for file in files]
    except OSError as error:
        raise PastaError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _store(
    submission: Submission, checked: Checked, study: Study, root: Path, digest: str
) -> Outcome:
    """Write what is new; the caller holds the lock."""
    if checked.new is None:
        raise SubmissionError(submission.source, checked.findings)
    if checked.unchecked:
        raise PastaError(f"{submission.source}: nothing was stored: {unchecked(checked, study)}")
    new = study.tally(checked.new)
    numbers = (checked.counts, new, submission.dropped, checked.gives_way)
    if not any(counts.new for counts in checked.counts.values()):
        return Outcome(None, "everything in it is stored already: nothing changes", *numbers)
    number = max(map(number_of, list_batches(root)), default=0) + 1
    folder = root / f"{number:04d}-{_slug(submission.source, study)}"
    write_batch(study, folder, checked.new, _about(submission, study, number, digest, checked))
    return Outcome(folder, f"stored as batch {folder.name}", *numbers)


def _about(
    submission: Submission, study: Study, number: int, digest: str, checked: Checked
) -> dict[str, Any]:
    return {
        "number": number,
        "source": submission.source,
        "format": submission.format,
        "protocol": study.version,
        "sha256": digest,
        "imported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "replaced": sum(counts.replaced for counts in checked.counts.values()),
        "dropped": dict(submission.dropped),
    }


def _twin(study: Study, batches: list[Path], digest: str) -> Path | None:
    """The batch that was made of the same file."""
    return next((one for one in batches if describe(study, one).get("sha256") == digest), None)


def _slug(source: str, study: Study) -> str:
    stem = Path(source).stem.lower()
    return re.sub(r"[^a-z0-9]+", "-", stem)[:_LONGEST_SLUG].strip("-") or study.main.table.name
