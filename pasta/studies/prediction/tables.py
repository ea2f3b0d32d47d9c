"""The tables of the meta-predictor study, and the words for what stands in them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pasta.contracts import (
    Reference,
    Rule,
    Table,
    a_flag,
    a_name,
    a_number,
    a_text,
    a_whole,
    one_of,
)
from pasta.studies.base import Part
from pasta.studies.prediction.shown import SHOWN
from pasta.studies.scales import DEMOGRAPHICS, SIMULATED, demographics, participants_table
from pasta.tables import add_table

PHASES = ("practice", "training", "test", "catch")
STAGES = ("practice", "quiz", "catch")  # of the screening

PARTICIPANTS = add_table(
    participants_table(
        "participants",
        "who took part in which experiment, under which condition",
        experiment=a_name("the experiment"),
        condition=a_name("baseline, control or an explanation method"),
        practice_tries=a_whole("tries at the practice from 1, or empty", 1, nullable=True),
        practice_passed=a_flag("true or false, or empty", nullable=True),
        quiz_right=a_whole("right answers of the quiz, or empty", 0, nullable=True),
        **demographics(),
    )
)


def _right_as_said(frame: pd.DataFrame) -> pd.Series[bool]:
    training = frame["phase"] == "training"
    asked = frame["right"].fillna(False).astype(bool) == (frame["answer"] == frame["shown"])
    return training | (frame["right"].notna() & asked)


def _answered(frame: pd.DataFrame) -> pd.Series[bool]:
    training = frame["phase"] == "training"
    nothing = frame["answer"].isna() & frame["right"].isna()
    return (training & nothing) | (~training & frame["answer"].notna())


def _session_of_phase(frame: pd.DataFrame) -> pd.Series[bool]:
    return (frame["session"] == 0) == (frame["phase"] == "practice")


TRIALS = add_table(
    Table(
        "trials",
        "what a participant was shown, and which answer of the model they expected",
        ("participant_id", "phase", "session", "position"),
        {
            "participant_id": a_name("a participant"),
            "session": a_whole("from 1; 0 for the practice", 0),
            "phase": one_of(PHASES),
            "position": a_whole("from 1, within session and phase", 1),
            "image_id": a_name("an image of the experiment"),
            "shown": a_text("the class that the model predicts for the image"),
            "answer": a_text(
                "the class that the participant expects, empty in training", nullable=True
            ),
            "right": a_flag("true or false, empty in training", nullable=True),
            "seconds": a_number("how long the answer took, or empty", 0, nullable=True),
            "simulated": a_flag(SIMULATED),
        },
        (
            Reference(("participant_id",), "participants"),
            Reference(("image_id",), SHOWN.name),
        ),
        (
            Rule("answer", "an answer outside of training, and none within", _answered),
            Rule("right", "true exactly if the answer is the class shown", _right_as_said),
            Rule("session", "session 0 for the practice, and for nothing else", _session_of_phase),
        ),
    )
)

SCREENING = add_table(
    Table(
        "screening",
        "who stays in the analysis, and at which stage others leave",
        ("participant_id",),
        {
            "participant_id": a_name("a participant"),
            "experiment": a_name("the experiment"),
            "condition": a_name("the condition"),
            **{
                stage: a_flag(f"passed the {stage}, or empty if nobody knows", nullable=True)
                for stage in STAGES
            },
            "left": a_text("the stage at which they leave, or empty", nullable=True),
            "kept": a_flag("whether they stay"),
            "simulated": a_flag(SIMULATED),
        },
        (Reference(("participant_id",), "participants"),),
    )
)

PARTS: Mapping[str, Part] = {
    part.table.name: part
    for part in (
        Part(TRIALS, "answer", rule_cells=("phase", "session", "shown", "answer", "right")),
        Part(PARTICIPANTS, "participant"),
    )
}
OPTIONAL = frozenset(
    {"simulated", "seconds", "practice_tries", "practice_passed", "quiz_right", *DEMOGRAPHICS}
)
CELLS: Mapping[str, tuple[str, str]] = {
    "seconds": (
        "the seconds are not a number of 0 or more: a time runs backwards",
        "correct the time, or leave it empty",
    ),
    "session": (
        "the session is not a whole number from 0",
        "number the sessions from 1; 0 is the practice",
    ),
    "practice_passed": ("it is not said whether the practice was passed", "true, false or nothing"),
    "quiz_right": (
        "the right answers of the quiz are not a whole number",
        "give their number, or leave the cell empty",
    ),
    "simulated": ("the mark of simulated answers is not true or false", "write true or false"),
}
REFERENCES = {
    "participant_id": (
        "the participant is not known",
        "say who took part, with experiment and condition: a participants table as CSV",
    ),
    "image_id": (
        "the image was not shown in any experiment",
        "correct the id, or make the experiment first (see the table prediction_images)",
    ),
}
