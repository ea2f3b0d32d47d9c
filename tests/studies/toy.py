"""A study as somebody adds it: one table of answers on a scale from 1 to 7, and who took part."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pasta.config import Params
from pasta.contracts import Reference
from pasta.studies.base import Part, Simulated, Study
from pasta.studies.scales import TRIAL_OPTIONAL, participants_table, rating_scale, trials_table

SCALES = {"clear": rating_scale(7), "odd": rating_scale(7, direction=-1)}
PEOPLE = participants_table("listeners", "who listened")
TRIALS = trials_table(
    "sounds", "how a sound was rated", SCALES, (Reference(("participant_id",), "listeners"),)
)


def toy_study() -> Study:
    """People rate sounds."""
    return Study(
        "toy",
        "people rate sounds",
        "1",
        {"sounds": Part(TRIALS, "answer"), "listeners": Part(PEOPLE, "listener")},
        people="listeners",
        optional=TRIAL_OPTIONAL,
        simulate=lambda groups, params: simulated(len(groups), params.seeds.simulating),
    )


def simulated(groups: int, seed: int) -> Simulated:
    """One listener, who answers by the seed."""
    person = PEOPLE.frame([{"participant_id": "robot", "simulated": True}])
    answer = {"participant_id": "robot", "trial": "sound0", "question": "odd", "simulated": True}
    frames = {"listeners": person, "sounds": TRIALS.frame([{**answer, "answer": seed % 7 + 1}])}
    return Simulated(frames, {"groups": groups})


def toy(params: Params) -> Study:
    """The study, which has no parameters."""
    return toy_study()


def write_answers(folder: Path, people: list[str], sounds: int = 4, answer: int = 1) -> Path:
    """A folder of CSV files as a user makes it."""
    rows = [
        {
            "participant_id": person,
            "trial": f"sound{sound}",
            "question": question,
            "answer": (answer + sound) % 7 + 1,
        }
        for person in people
        for sound in range(sounds)
        for question in SCALES
    ]
    folder.mkdir(parents=True)
    pd.DataFrame(rows).to_csv(folder / "sounds.csv", index=False)
    pd.DataFrame({"participant_id": people}).to_csv(folder / "listeners.csv", index=False)
    return folder
