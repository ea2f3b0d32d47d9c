"""The meta-predictor study as generic code and the pipeline see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.tables import Tables
from pasta.config import Params
from pasta.contracts import Table
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.paths import DATA, project_root
from pasta.studies.base import Format, Frames, Simulated, Study, complete_frames
from pasta.studies.prediction import jspsych, tables
from pasta.studies.prediction.analyses import study_tables
from pasta.studies.prediction.checks import check_trials
from pasta.studies.prediction.design import make_plan, seats
from pasta.studies.prediction.learner import simulated_study
from pasta.studies.prediction.screening import flow, screen
from pasta.studies.prediction.settings import FOLDER, NAME, PredictionParams
from pasta.studies.prediction.shown import METRICS, SHOWN, shown_experiments
from pasta.studies.registry import STUDIES

VERSION = "mp-2021"  # the design of the paper: practice, quiz, sessions with a reservoir


@STUDIES.register(NAME)
def prediction(params: Params) -> Study:
    """The meta-predictor study as the parameters describe it."""
    settings = params.prediction
    study = prediction_study(settings)
    return replace(study, settings=settings.model_dump(mode="json"))


def prediction_study(settings: PredictionParams) -> Study:
    """A study of a design."""
    parts = dict(tables.PARTS)
    rule = partial(check_trials, design=settings.design, images=known_images)
    parts["trials"] = replace(parts["trials"], check=rule)
    return Study(
        NAME,
        "people learn from explanations to predict a classifier",
        VERSION,
        parts,
        people="participants",
        cells=tables.CELLS,
        references=tables.REFERENCES,
        optional=tables.OPTIONAL,
        formats=(
            Format(
                "jspsych",
                "trials as jsPsych saves them, in JSON",
                lambda content, _: jspsych.is_jspsych(content),
                lambda content, file, _, ids: jspsych.from_content(content, file, ids),
            ),
        ),
        outside=_outside,
        makes_outside=f"dvc repro {FOLDER}",
        rated="image_id",
        plan=planned,
        simulate=first_answers,
        outcomes=outcomes,
        summarise=summarise,
        analyses=("utility",),
        reports=("utility",),
        analyse=analyse,
        reads=lambda root: [one.folder for one in shown_experiments(root)],
    )


def known_images() -> pd.DataFrame:
    """Every image that some experiment shows; none before the first is made."""
    found = [one.images for one in shown_experiments(project_root())]
    return pd.concat(found, ignore_index=True) if found else SHOWN.frame([])


def _outside(root: Path) -> Frames:
    found = [one.images[["image_id"]] for one in shown_experiments(root)]
    return {SHOWN.name: pd.concat(found, ignore_index=True)} if found else {}


def planned(_groups: Sequence[Group], params: Params) -> pd.DataFrame:
    """The plan that the parameters describe, for all experiments that are made."""
    settings, seed = params.prediction, params.seeds.simulating
    experiments = shown_experiments(project_root())
    if not experiments:
        raise PastaError("there are no images to show yet: `dvc repro experiments` makes them")
    return pd.concat(
        [
            make_plan(
                one.pool,
                seats(one.experiment, settings.conditions, settings.participants),
                settings.design,
                seed,
                one.experiment,
            )
            for one in experiments
        ],
        ignore_index=True,
    )


def first_answers(_groups: Sequence[Group], params: Params) -> Simulated:
    """The answers that are there before anything is imported."""
    contracts = {name: part.table for name, part in tables.PARTS.items()}
    if params.prediction.source == "imported":
        return Simulated(complete_frames(contracts, {}), {})
    experiments = shown_experiments(project_root())
    if not experiments:
        raise PastaError("there are no images to show yet: `dvc repro experiments` makes them")
    return simulated_study(experiments, params.prediction, params.seeds.simulating)


def outcomes(frames: Frames, params: Params) -> Sequence[tuple[Table, pd.DataFrame]]:
    """Who stays after the screening, and the metrics of what they were shown."""
    kept = screen(frames["participants"], frames["trials"], params.prediction.design)
    found = [one.metrics for one in shown_experiments(project_root())]
    metrics = pd.concat(found, ignore_index=True) if found else METRICS.frame([])
    return [(tables.SCREENING, kept), (METRICS, metrics)]


def summarise(frames: Frames, outcomes: Frames) -> dict[str, Any]:
    """How much there is, for the metrics file."""
    screening = outcomes[tables.SCREENING.name]
    people = flow(screening)
    every = people[people["condition"] == "all"]
    return {
        "participants": len(frames["participants"]),
        "trials": len(frames["trials"]),
        "simulated": int(frames["trials"]["simulated"].sum()),
        "kept": int(screening["kept"].sum()),
        "left": {
            str(stage): int(number)
            for stage, number in every.groupby("stage")["left"].sum().items()
        },
        "experiments": {
            str(name): int(number)
            for name, number in screening.groupby("experiment")["kept"].sum().items()
        },
    }


def analyse(name: str, root: Path, params: Params) -> Tables:
    """The tables of the analysis ``utility``."""
    if name != "utility":
        raise PastaError(f"the study {NAME!r} has no analysis {name!r}")
    return study_tables(
        root / DATA / "votes",
        root / DATA / "simulate" / NAME / "planted",
        params.prediction,
        resamples=params.analysis.resamples,
        seed=params.seeds.analysing,
    )
