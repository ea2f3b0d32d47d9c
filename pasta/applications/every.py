"""All applications, each with its tables, pictures and MLflow run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pasta import store, tables
from pasta.annotations.studied import everywhere
from pasta.applications.backbones import Backbones, run_backbones
from pasta.applications.judge import Judges, judges_of
from pasta.applications.report_pictures import applications_pictures, readme_picture
from pasta.applications.steering_study import Steered, run_steering
from pasta.applications.stored import run_stored
from pasta.applications.tuning import Tuned, run_tuning
from pasta.applications.tuning_tracking import log_candidate, log_tuned
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.params import Params
from pasta.params.applications import ApplicationsParams
from pasta.progress import bar
from pasta.scoring.score import PastaScore
from pasta.tracking import tracked_run
from pasta.workers import as_finished


@dataclass(frozen=True)
class Given:
    """What the applications have in common."""

    folders: Sequence[Path]
    params: Params
    score: PastaScore
    datasets: Mapping[str, StoredDataset]
    judges: Judges
    prepared: Path
    out: Path

    @property
    def settings(self) -> ApplicationsParams:
        """Of all applications."""
        return self.params.applications


def run_applications(
    folders: Sequence[Path],
    params: Params,
    *,
    labels: Path,
    scorer: Path,
    planted: Path,
    prepared: Path,
    memory: Path,
    out: Path,
    figure: Path,
) -> None:
    """Write a folder in ``out`` for each, and one picture of the best change to ``figure``.

    Tuning is tracked while it runs, by this process; the others run beside it in copies of it.
    """
    question = params.applications.question
    datasets = {folder.name: open_dataset(folder) for folder in folders}
    judges = judges_of(planted, question, datasets)
    score = PastaScore.load(question, scorer)
    given = Given(folders, params, score, datasets, judges, prepared, out)
    work = {
        "mixture of methods": lambda: _mix(given, labels, scorer, planted),
        "steering": lambda: _steer(given, figure),
        "backbone size": lambda: _compare_towers(given),
    }
    with bar("applications", len(work) + 1, "applications") as line:

        def meanwhile() -> None:
            _tune(given, memory)
            line.advance(words="tuning")

        for place, _ in as_finished(list(work.values()), meanwhile=meanwhile):
            line.advance(words=list(work)[place])
    _track(params, labels, out)


def _mix(given: Given, labels: Path, scorer: Path, planted: Path) -> None:
    measured = everywhere(given.folders, tables.METRIC_VALUES)
    found = run_stored(
        given.folders, labels, given.params, given.settings, scorer, planted, measured
    )
    _keep(given, "stored", found, stored=found)


def _steer(given: Given, figure: Path) -> None:
    place = given.prepared / "masks"
    found = run_steering(
        given.datasets, given.params, given.settings, given.score, place, given.judges
    )
    drawn = _keep(given, "steering", found.tables, steering=found)
    if readme_picture(figure, found) is None:  # nobody gains: show the images all the same
        shutil.copy(drawn["steering-0"], figure)


def _compare_towers(given: Given) -> None:
    place = given.prepared / "towers"
    found = run_backbones(
        given.datasets, given.params, given.settings, given.score, place, given.judges
    )
    own = {name: getattr(found, name) for name in ("scores", "towers", "summary", "trends")}
    _keep(given, "backbones", own, backbones=found)


def _tune(given: Given, memory: Path) -> None:
    """Each candidate is a nested run."""
    record = given.out / "tuning.run.json"
    with tracked_run("applications", "tuning", "tuning", record=record) as run:
        studies = run_tuning(
            given.datasets,
            given.params,
            given.settings,
            given.score,
            given.prepared / "candidates",
            memory,
            given.judges,
            log_candidate,
        )
        for study in studies:
            log_tuned(run, study)
    own = {
        name: pd.concat([getattr(study, name) for study in studies], ignore_index=True)
        for name in ("candidates", "verdict", "images")
    }
    _keep(given, "tuning", own, tuning=studies)


def _keep(
    given: Given,
    name: str,
    found: dict[str, pd.DataFrame],
    *,
    stored: dict[str, pd.DataFrame] | None = None,
    steering: Steered | None = None,
    backbones: Backbones | None = None,
    tuning: Sequence[Tuned] = (),
) -> dict[str, Path]:
    out = given.out / name
    store.write_csvs(found, out)
    return applications_pictures(
        out / "pictures",
        given.folders,
        stored=stored,
        steering=steering,
        backbones=backbones,
        tuning=tuning,
    )


def _track(params: Params, labels: Path, out: Path) -> None:
    """A run for each of the other applications, with its settings and tables."""
    settings = params.applications
    for stage, folder, title, about, names in (
        ("mixture", "stored", "mixture of methods", settings.mixture.model_dump(),
         ("comparison", "wins", "places", "examples")),
        ("steering", "steering", "steering RISE", settings.steering.model_dump(),
         ("steered", "curve")),
        ("backbones", "backbones", "backbone size",
         settings.backbones.model_dump(exclude={"towers"}),
         ("scores", "towers", "summary", "trends")),
    ):  # fmt: skip
        record = out / f"{stage}.run.json"
        with tracked_run(
            "applications", stage, title, inputs=[labels], params=about, record=record
        ) as run:
            for name in names:
                run.log_file(out / folder / f"{name}.csv", "tables")
