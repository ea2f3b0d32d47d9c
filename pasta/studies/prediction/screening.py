"""The screening in three stages, and the flow of people through it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pasta.studies.prediction.settings import DesignParams
from pasta.studies.prediction.tables import SCREENING, STAGES

NO_ANSWERS = "no answers"


def screen(participants: pd.DataFrame, trials: pd.DataFrame, design: DesignParams) -> pd.DataFrame:
    """Say who stays: all of the practice right at the first try, the quiz, and every catch trial.

    What is not known of a person is no reason to leave them out. Practice trials tell where the
    participants table does not.

    Parameters
    ----------
    participants, trials
        Tables of the study.
    design
        How many questions the quiz has.

    Returns
    -------
    DataFrame
        The table ``screening``.
    """
    who = participants.set_index("participant_id", drop=False)
    found = pd.DataFrame(index=who.index)
    found["practice"] = who["practice_passed"].astype("boolean") & (
        who["practice_tries"].isna() | (who["practice_tries"] == 1)
    ).astype("boolean")
    for stage in ("practice", "catch"):
        own = trials[trials["phase"] == stage]
        right = own.groupby("participant_id")["right"].min().astype("boolean")
        passed = right.reindex(who.index)
        found[stage] = passed if stage == "catch" else found[stage].fillna(passed)
    found["quiz"] = (who["quiz_right"] >= design.quiz).astype("boolean")
    found.loc[who["quiz_right"].isna(), "quiz"] = pd.NA
    asked = set(trials.loc[trials["phase"] == "test", "participant_id"])
    left = np.full(len(who), None, object)
    for stage in reversed(STAGES):
        left[~found[stage].fillna(True).to_numpy(bool)] = stage
    silent = ~who.index.isin(asked) & pd.isna(left)
    left[silent] = NO_ANSWERS
    result = who[["participant_id", "experiment", "condition", "simulated"]].reset_index(drop=True)
    for stage in STAGES:
        result[stage] = found[stage].to_numpy()
        result[stage] = result[stage].astype("boolean")
    result["left"] = pd.Series(left, dtype="str")
    result["kept"] = pd.isna(left)
    return result[list(SCREENING.columns)]


def flow(screening: pd.DataFrame) -> pd.DataFrame:
    """How many people come to each stage of the screening, and how many leave there.

    Parameters
    ----------
    screening
        The table of :func:`screen`.

    Returns
    -------
    DataFrame
        experiment, condition (``all`` of them first), stage, came, left, unknown (of whom nobody
        knows whether they passed).
    """
    rows = []
    for experiment, whole in screening.groupby("experiment", sort=True):
        parts = [("all", whole), *whole.groupby("condition", sort=True)]
        for condition, own in parts:
            came = len(own)
            for stage in (*STAGES, NO_ANSWERS):
                here = own["left"] == stage
                gone = [*STAGES, NO_ANSWERS][: [*STAGES, NO_ANSWERS].index(stage)]
                still = own[~own["left"].isin(gone)]
                unknown = int(still[stage].isna().sum()) if stage in STAGES else 0
                rows.append((experiment, condition, stage, came, int(here.sum()), unknown))
                came -= int(here.sum())
    columns = ["experiment", "condition", "stage", "came", "left", "unknown"]
    return pd.DataFrame(rows, columns=columns)
