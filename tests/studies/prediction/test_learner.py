"""Simulated people: what helps helps, and the screening brings estimates nearer to the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.utility import utility_table
from pasta import store
from pasta.studies.prediction.analyses import (
    asked_trials,
    compare_planted,
    study_tables,
    trial_tables,
)
from pasta.studies.prediction.design import make_plan, seats
from pasta.studies.prediction.learner import look_at, planted_accuracy, simulate_experiment
from pasta.studies.prediction.screening import screen
from pasta.studies.prediction.shown import METRICS, Shown
from pasta.studies.prediction.tables import PARTICIPANTS, SCREENING, TRIALS
from tests.studies.prediction.small import CONDITIONS, DESIGN, STUDY, write_experiment


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return write_experiment(tmp_path_factory.mktemp("study"))


def planted(shown: Shown) -> pd.Series:
    """Accuracies of people whose own look takes in the middle and the background alike."""
    learner = STUDY.learner.model_copy(update={"centre": 0.5})
    sight = look_at(shown, CONDITIONS, learner, 0)
    plan = make_plan(shown.pool, seats("small", ["baseline"], 20), DESIGN, 0, "small")
    found = planted_accuracy(sight, CONDITIONS, plan, learner, 0, "small")
    return found.groupby("condition")["accuracy"].mean()


def test_a_map_of_the_true_cue_helps_and_a_misleading_one_hurts(shown: Shown) -> None:
    levels = planted(shown)
    assert levels["good"] > levels["baseline"] + 0.03
    assert levels["control"] < levels["baseline"] - 0.01


def test_people_learn_from_session_to_session(shown: Shown) -> None:
    sight = look_at(shown, CONDITIONS, STUDY.learner, 0)
    plan = make_plan(shown.pool, seats("small", ["baseline"], 20), DESIGN, 0, "small")
    found = planted_accuracy(sight, ["good"], plan, STUDY.learner, 0, "small")
    assert (np.diff(found.sort_values("session")["accuracy"]) > -0.01).all()


def test_the_same_seed_gives_the_same_answers_in_the_tables_types(shown: Shown) -> None:
    one, other = (simulate_experiment(shown, STUDY, 3) for _ in range(2))
    for left, right in zip(one, other, strict=True):
        pd.testing.assert_frame_equal(left, right)
    PARTICIPANTS.schema.validate(one[0])
    TRIALS.schema.validate(one[1])
    assert one[1]["simulated"].all() and len(one[0]) == STUDY.participants


def test_the_screening_brings_estimates_nearer_to_the_truth(shown: Shown) -> None:
    """20 % of the people answer at random: over fifty studies the bias falls."""
    study = STUDY.model_copy(update={"participants": 45})
    distances: dict[str, list[float]] = {"screened": [], "everybody": []}
    for seed in range(50):
        people, trials, _, expected = simulate_experiment(shown, study, seed)
        kept = screen(people, trials, DESIGN).query("kept")["participant_id"]
        every = asked_trials(trials, people)
        parts = []
        for name, own in (
            ("screened", every[every["participant"].isin(kept)]),
            ("everybody", every),
        ):
            found = utility_table(own, "baseline", examples=DESIGN.examples, resamples=2)
            parts.append(found.assign(people=name, experiment="small"))
        compared = compare_planted(expected, {"utility": pd.concat(parts)}, study)
        for people_kept, own in compared.groupby("people"):
            good = own[own["condition"] == "good"]
            distances[str(people_kept)].append(float((good["estimate"] - good["expected"]).mean()))
    mean = {name: abs(float(np.mean(values))) for name, values in distances.items()}
    assert mean["screened"] < 0.03 < mean["everybody"]


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        (lambda one: one.iloc[:0], "nobody is left after the screening"),
        (lambda one: one[one["condition"] == "good"], "nobody is in the baseline condition"),
        (lambda one: one[one["condition"] == "baseline"], "there is one condition only"),
    ],
)
def test_what_cannot_be_analysed_is_missing_with_a_reason(shown, keep, why) -> None:  # type: ignore[no-untyped-def]
    people, trials, _, _ = simulate_experiment(shown, STUDY, 1)
    found = trial_tables(keep(asked_trials(trials, people)), resamples=50)
    assert any(why in reason for reason in found["missing"]["why"])
    if "utility" in found:
        area = found["utility"].query("condition != 'baseline'")
        assert area["estimate"].isna().all()


def test_a_whole_study_is_analysed(shown: Shown, tmp_path: Path) -> None:
    people, trials, _, _ = simulate_experiment(shown, STUDY, 2)
    found = trial_tables(asked_trials(trials, people), examples=DESIGN.examples, resamples=100)
    assert set(found["utility"]["condition"]) == set(CONDITIONS)
    assert found["missing"].empty


def test_the_tables_of_a_study_say_who_is_missing_and_need_no_other_study(
    shown: Shown, tmp_path: Path
) -> None:
    """Everybody of the condition `good` failed the quiz; nobody was seen in `gradcam`."""
    people, trials, _, expected = simulate_experiment(shown, STUDY, 4)
    failed = people["condition"] == "good"
    people = people.assign(quiz_right=people["quiz_right"].mask(failed, 0))
    folder = tmp_path / "votes" / "prediction"
    for frame, table in (
        (people, PARTICIPANTS),
        (trials, TRIALS),
        (screen(people, trials, DESIGN), SCREENING),
        (shown.metrics, METRICS),
    ):
        store.write(frame, folder / f"{table.name}.parquet", table)
    (tmp_path / "planted").mkdir()
    expected.to_parquet(tmp_path / "planted" / "expected.parquet")
    settings = STUDY.model_copy(update={"conditions": (*CONDITIONS, "gradcam")})
    found = study_tables(tmp_path / "votes", tmp_path / "planted", settings, resamples=100, seed=0)
    missing = dict(found["missing"].itertuples(index=False, name=None))
    assert missing["good (small)"] == "nobody is left in this condition"
    assert missing["gradcam (small)"] == "nobody is left in this condition"
    utility = found["utility"]
    screened = utility[utility["people"] == "screened"]
    assert set(screened["condition"]) == {"baseline", "control"}
    everybody = utility[utility["people"] == "everybody"]
    assert set(everybody["condition"]) == set(CONDITIONS)
    kept = found["flow"].query("condition == 'good'")
    assert kept["left"].sum() == failed.sum()
    assert all("experiment" in one for name, one in found.items() if name != "missing")
