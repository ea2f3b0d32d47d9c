"""Three stages of screening, and the flow of people through them."""

from __future__ import annotations

import pandas as pd

from pasta.studies.prediction.screening import NO_ANSWERS, flow, screen
from pasta.studies.prediction.settings import DesignParams
from pasta.studies.prediction.tables import PARTICIPANTS, SCREENING, TRIALS

DESIGN = DesignParams()


def people(*rows: dict[str, object]) -> pd.DataFrame:
    base = {"experiment": "small", "condition": "baseline", "simulated": False}
    return PARTICIPANTS.frame(
        [{"participant_id": f"p{n}", **base, **row} for n, row in enumerate(rows)]
    )


def trials(catches: dict[str, list[bool]], phase: str = "catch") -> pd.DataFrame:
    rows = []
    for person, answers in catches.items():
        base = {"participant_id": person, "image_id": "i", "shown": "a", "simulated": False}
        test = {"session": 1, "phase": "test", "position": 1, "answer": "a", "right": True}
        rows.append(base | test)
        for number, right in enumerate(answers, start=1):
            asked = {"phase": phase, "position": 1, "answer": "a" if right else "b"}
            rows.append(base | asked | {"session": number, "right": right})
    return TRIALS.frame(rows)


def test_each_stage_leaves_out_its_own_people() -> None:
    who = people(
        {"practice_passed": True, "practice_tries": 1, "quiz_right": 3},
        {"practice_passed": False, "practice_tries": 1, "quiz_right": 3},
        {"practice_passed": True, "practice_tries": 2, "quiz_right": 3},
        {"practice_passed": True, "practice_tries": 1, "quiz_right": 2},
        {"practice_passed": True, "practice_tries": 1, "quiz_right": 3},
    )
    fine = [True, True, True]
    answers = trials({f"p{n}": fine for n in range(4)} | {"p4": [True, False, True]})
    found = screen(who, answers, DESIGN)
    SCREENING.schema.validate(found)
    assert found["left"].fillna("").tolist() == ["", "practice", "practice", "quiz", "catch"]
    assert found["kept"].tolist() == [True, False, False, False, False]


def test_what_is_not_known_leaves_nobody_out_and_is_counted() -> None:
    found = screen(people({}, {}), trials({"p0": [True]}), DESIGN)
    assert found["left"].fillna("").tolist() == ["", NO_ANSWERS]
    steps = flow(found).query("condition == 'all'").set_index("stage")
    assert steps.loc["practice", "unknown"] == 2
    assert steps.loc[NO_ANSWERS, "left"] == 1


def test_practice_trials_tell_where_the_table_does_not() -> None:
    answers = trials({"p0": [True], "p1": [False]}, phase="practice")
    found = screen(people({}, {}), answers, DESIGN)
    assert found["left"].fillna("").tolist() == ["", "practice"]


def test_everybody_who_came_is_kept_or_left_at_one_stage() -> None:
    who = people({"quiz_right": 1}, {"quiz_right": 3}, {"practice_passed": False, "quiz_right": 0})
    found = screen(who, trials({f"p{n}": [True] for n in range(3)}), DESIGN)
    steps = flow(found).query("condition == 'all'")
    assert steps["left"].sum() + found["kept"].sum() == 3
    assert (steps["came"].to_numpy()[1:] == (steps["came"] - steps["left"]).to_numpy()[:-1]).all()
