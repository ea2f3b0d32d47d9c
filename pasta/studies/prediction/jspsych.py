"""Answers as jsPsych saves them: a JSON list of trials, one object each.

Trials of the study carry ``participant_id``, ``experiment``, ``condition``, ``phase``, ``session``,
``position``, ``image_id`` and ``shown`` as data, and ``answer`` where something was asked; ``rt``
is the time of the answer in milliseconds and ``time_elapsed`` that since the start. Screens that
carry no phase (consent, instructions, pauses) are passed over. ``practice_tries``,
``practice_passed``, ``quiz_right``, ``age``, ``sex`` and ``country`` may stand in any trial of the
person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.studies.base import Finding, Submission, quoted
from pasta.studies.prediction.tables import PARTICIPANTS, TRIALS

ABOUT = [name for name in PARTICIPANTS.columns if name not in ("participant_id", "simulated")]
_NEEDED = ("participant_id", "experiment", "condition")


def is_jspsych(content: Any) -> bool:
    """Whether parsed JSON is a list of jsPsych's trials."""
    return (
        isinstance(content, list)
        and bool(content)
        and isinstance(content[0], dict)
        and {"trial_type", "trial_index"} <= set(content[0])
    )


def from_content(content: Any, file: Path, ids: Mapping[str, str]) -> Submission:
    """Read the trials of one person or several; ``ids`` are our names of images by theirs."""
    rows: list[dict[str, str]] = []
    places: list[str] = []
    people: dict[str, dict[str, str]] = {}
    found: list[Finding] = []
    screens = 0
    for number, entry in enumerate(content, start=1):
        where = f"entry {number}"
        if not isinstance(entry, dict):
            found.append(_finding("an entry is no object", "remove it", where, None, entry))
            continue
        person = _text(entry.get("participant_id"))
        about = people.setdefault(person, {}) if person else {}
        found += _describe(entry, about, where)
        if "phase" not in entry:
            screens += 1
            continue
        if not person:
            problem = "a trial does not say whose it is"
            fix = "add participant_id to the data of every trial (jsPsych.data.addProperties)"
            found.append(_finding(problem, fix, where, "participant_id", None))
            continue
        found += _time(entry, about, where)
        rows.append(_row(entry, ids))
        places.append(where)
    trials = pd.DataFrame(rows, columns=[*TRIALS.columns][:-1], index=places, dtype="str")
    who = [
        {"participant_id": person} | {name: about.get(name, "") for name in ABOUT}
        for person, about in people.items()
    ]
    first = [f"participant {quoted(one['participant_id'])}" for one in who]
    participants = pd.DataFrame(who, index=first, dtype="str")
    dropped = {"screens without a phase, such as instructions": screens} if screens else {}
    tables = {"trials": trials, "participants": participants}
    return Submission(file.name, "jspsych", tables, tuple(found), dropped=dropped)


def _describe(entry: Mapping[str, Any], about: dict[str, str], where: str) -> Iterator[Finding]:
    """Take up what an entry says of its person; a contradiction is a finding."""
    for name in ABOUT:
        value = _text(entry.get(name))
        if not value:
            continue
        known = about.setdefault(name, value)
        if known != value and name in _NEEDED:
            problem = f"a participant is in two {name}s"
            fix = "give each participant one condition of one experiment, and a name of their own"
            yield _finding(problem, fix, where, name, f"{value}, before {known}")


def _time(entry: Mapping[str, Any], about: dict[str, str], where: str) -> Iterator[Finding]:
    elapsed = _number(entry.get("time_elapsed"))
    if elapsed is None:
        return
    before = float(about.get("time_elapsed", "-inf"))
    if elapsed < before:
        fix = "keep each session as it was saved; merge files of different people by name"
        found = f"{elapsed:g} ms after {before:g} ms"
        yield _finding("the time of a participant runs backwards", fix, where, "seconds", found)
    about["time_elapsed"] = repr(elapsed)


def _row(entry: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, str]:
    image, shown, answer = (_text(entry.get(key)) for key in ("image_id", "shown", "answer"))
    waited = _number(entry.get("rt"))
    asked = _text(entry["phase"]) != "training"
    return {
        "participant_id": _text(entry.get("participant_id")),
        "session": _text(entry.get("session")),
        "phase": _text(entry.get("phase")),
        "position": _text(entry.get("position")),
        "image_id": ids.get(image, image),
        "shown": shown,
        "answer": answer,
        "right": str(answer == shown).lower() if asked and answer else "",
        "seconds": "" if waited is None else repr(round(waited / 1000, 3)),
    }


def _number(value: Any) -> float | None:
    """A number, which our JSON reader may have left as text; None for anything else."""
    if value is None or isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _finding(problem: str, fix: str, where: str, column: str | None, found: Any) -> Finding:
    text = None if found is None else str(found)[:80]
    return Finding(problem, fix, "trials", where, column, text)
