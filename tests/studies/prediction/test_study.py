"""Checks and imports of answers: CSV and jsPsych, and every kind of bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pasta.json_files import load_json
from pasta.store import write_json
from pasta.studies.base import Study, Submission
from pasta.studies.checking import Checked, Known, check
from pasta.studies.importing import import_file
from pasta.studies.prediction import jspsych
from pasta.studies.prediction.checks import check_trials
from pasta.studies.prediction.design import make_plan, seats
from pasta.studies.prediction.shown import SHOWN
from pasta.studies.prediction.study import prediction_study
from tests.studies.prediction.small import CONDITIONS, DESIGN, STUDY, make_images

Tables = dict[str, pd.DataFrame]
IMAGES = make_images()


def study() -> Study:
    """The study with its images in memory."""
    made = prediction_study(STUDY)
    rule = partial(check_trials, design=DESIGN, images=lambda: IMAGES)
    return replace(made, parts={**made.parts, "trials": replace(made.parts["trials"], check=rule)})


def answers(people: int = 3) -> Tables:
    """Good answers as text, each with its line."""
    plan = make_plan(IMAGES, seats("small", CONDITIONS, people), DESIGN, 0, "small")
    asked = plan["phase"] != "training"
    trials = plan.assign(
        answer=plan["shown"].where(asked, ""),
        right=asked.map({True: "true", False: ""}),
        seconds="2.5",
    )
    who = plan.drop_duplicates("participant_id")[["participant_id", "experiment", "condition"]]
    who = who.assign(practice_tries="1", practice_passed="true", quiz_right="3")
    trials = trials.drop(columns=["experiment", "condition"])
    tables = {"trials": trials.astype("str"), "participants": who.astype("str")}
    return {name: one.set_index(pd.RangeIndex(2, len(one) + 2)) for name, one in tables.items()}


def checked(tables: Tables) -> Checked:
    known = Known({SHOWN.name: IMAGES[["image_id"]]}, study().frames({}))
    return check(Submission("answers", "tidy", tables), study(), known)


def test_good_answers_become_tables_with_their_types() -> None:
    found = checked(answers())
    assert found.findings == () and found.answers is not None
    trials = found.answers["trials"]
    assert trials["right"].dtype == "boolean"
    assert trials.loc[trials["phase"] == "training", "right"].isna().all()


def first(tables: Tables, phase: str) -> int:
    trials = tables["trials"]
    return int(trials.index[trials["phase"] == phase][0])


def change(column: str, value: str, phase: str = "test") -> Callable[[Tables], None]:
    def apply(tables: Tables) -> None:
        tables["trials"].loc[first(tables, phase), column] = value

    return apply


def twice(tables: Tables) -> None:
    row = tables["trials"].loc[[first(tables, "test")]]
    tables["trials"] = pd.concat([tables["trials"], row.set_index(pd.Index([900]))])


def two_conditions(tables: Tables) -> None:
    other = tables["participants"].iloc[[0]].assign(condition="good")
    tables["participants"] = pd.concat([tables["participants"], other.set_index(pd.Index([90]))])


def six(tables: Tables) -> None:
    tables["trials"] = tables["trials"].drop(index=first(tables, "test"))


def rain(tables: Tables) -> None:
    row = first(tables, "test")
    tables["trials"].loc[row, ["answer", "right"]] = ["rain", "false"]


def unknown_person(tables: Tables) -> None:
    tables["participants"] = tables["participants"].iloc[1:]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (change("image_id", "elsewhere-1"), "the image was not shown in any experiment"),
        (twice, "the same answer stands there twice"),
        (two_conditions, "a participant contradicts another of the same file"),
        (six, "a session has not 7 test trials, numbered from 1"),
        (change("seconds", "-3"), "a time runs backwards"),
        (rain, "an answer is none of the classes"),
        (change("right", "false"), "true exactly if the answer is the class shown"),
        (change("answer", "snow", "training"), "an answer outside of training, and none within"),
        (change("session", "0"), "session 0 for the practice"),
        (change("session", "9"), "a session beyond the 3 of the design"),
        (change("phase", "tset"), "the phase is not known"),
        (unknown_person, "the participant is not known"),
    ],
)
def test_bad_answers_are_findings_and_nothing_is_stored(
    spoil: Callable[[Tables], None], words: str
) -> None:
    tables = answers()
    spoil(tables)
    found = checked(tables)
    assert found.answers is None
    problems = " / ".join(one.problem for one in found.findings)
    assert words in problems, problems
    assert all(one.fix for one in found.findings)


def test_another_class_than_the_model_predicts_is_a_finding() -> None:
    tables = answers()
    row = first(tables, "training")
    other = {"snow": "grass", "grass": "snow"}[str(tables["trials"].loc[row, "shown"])]
    tables["trials"].loc[row, "shown"] = other
    problems = [one.problem for one in checked(tables).findings]
    assert "the class shown is not the one that the model predicts" in problems


def as_jspsych(tables: Tables) -> list[dict[str, Any]]:
    """The same answers as a browser saves them."""
    who = tables["participants"].set_index("participant_id")
    entries: list[dict[str, Any]] = []
    for person, own in tables["trials"].groupby("participant_id", sort=False):
        about = {key: str(who.loc[str(person), key]) for key in ("experiment", "condition")}
        clock = 1000
        base: dict[str, Any] = {"trial_type": "html", "participant_id": str(person)} | about
        entries.append(base | {"trial_index": 0, "time_elapsed": clock, "quiz_right": 3})
        entries[-1] |= {"practice_tries": 1, "practice_passed": True}
        for number, row in enumerate(own.to_dict("records"), start=1):
            clock += 2500
            entry = base | {"trial_index": number, "time_elapsed": clock, "rt": 2500}
            kept = ("session", "phase", "position", "image_id", "shown")
            entry |= {str(key): row[key] for key in kept}
            if row["answer"]:
                entry["answer"] = row["answer"]
            entries.append(entry)
    return entries


def test_jspsych_gives_the_same_answers_as_csv(tmp_path: Path) -> None:
    tables = answers()
    file = tmp_path / "data.json"
    write_json(as_jspsych(tables), file)
    content = load_json(file)
    assert jspsych.is_jspsych(content)
    read = jspsych.from_content(content, file, {})
    assert read.findings == () and read.dropped
    known = Known({SHOWN.name: IMAGES[["image_id"]]}, study().frames({}))
    one, other = check(read, study(), known).answers, checked(tables).answers
    assert one is not None and other is not None
    for name in ("trials", "participants"):
        pd.testing.assert_frame_equal(one[name], other[name])


def test_jspsych_times_that_run_backwards_and_two_conditions_are_findings(tmp_path: Path) -> None:
    content = as_jspsych(answers())
    content[5]["time_elapsed"] = 10
    content[6]["condition"] = "good"
    found = jspsych.from_content(content, tmp_path / "data.json", {})
    problems = {one.problem for one in found.findings}
    assert "the time of a participant runs backwards" in problems
    assert "a participant is in two conditions" in problems


def test_an_import_is_stored_once_and_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    for name, table in answers().items():
        table.to_csv(folder / f"{name}.csv", index=False)
    outside = {SHOWN.name: IMAGES[["image_id"]]}
    batches = tmp_path / "batches"
    once = import_file(folder, study(), batches, outside, False, tmp_path / "none", None, None)
    assert once.batch is not None and once.counts["trials"].new == 3 * 39
    again = import_file(folder, study(), batches, outside, False, tmp_path / "none", None, None)
    assert again.batch is None
