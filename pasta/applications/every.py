"""All applications one after the other, each with its tables, pictures and MLflow run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

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
from pasta.progress import bar
from pasta.scoring.score import PastaScore
from pasta.tracking import tracked_run

NAMES = ("stored", "steering", "backbones", "tuning")


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
    connecting: Thread,
) -> None:
    """Write ``out/NAME`` for each of NAMES, and one picture of the best change to ``figure``.

    ``connecting`` opens the way to MLflow meanwhile.
    """
    settings = params.applications
    score = PastaScore.load(settings.question, scorer)
    datasets = {folder.name: open_dataset(folder) for folder in folders}
    judges = judges_of(planted, settings.question, datasets)
    with bar("applications", len(NAMES), "applications") as line:
        measured = everywhere(folders, tables.METRIC_VALUES)
        found = run_stored(folders, labels, params, settings, scorer, planted, measured)
        _keep(out / "stored", found, folders, stored=found)
        line.advance(words="mixture of methods")
        steered = run_steering(datasets, params, settings, score, prepared / "masks", judges)
        drawn = _keep(out / "steering", steered.tables, folders, steering=steered)
        if readme_picture(figure, steered) is None:  # nobody gains: show the images all the same
            shutil.copy(drawn["steering-0"], figure)
        line.advance(words="steering")
        towers = run_backbones(datasets, params, settings, score, prepared / "towers", judges)
        _keep(out / "backbones", _tables_of(towers), folders, backbones=towers)
        line.advance(words="backbone size")
        connecting.join()
        studies = _tune(datasets, params, score, prepared / "candidates", memory, judges, out)
        _keep(out / "tuning", _joined(studies), folders, tuning=studies)
        line.advance(words="tuning")
    _track(params, labels, out)


def _keep(
    out: Path,
    found: dict[str, pd.DataFrame],
    folders: Sequence[Path],
    *,
    stored: dict[str, pd.DataFrame] | None = None,
    steering: Steered | None = None,
    backbones: Backbones | None = None,
    tuning: Sequence[Tuned] = (),
) -> dict[str, Path]:
    store.write_csvs(found, out)
    return applications_pictures(
        out / "pictures",
        folders,
        stored=stored,
        steering=steering,
        backbones=backbones,
        tuning=tuning,
    )


def _tables_of(found: Backbones) -> dict[str, pd.DataFrame]:
    return {name: getattr(found, name) for name in ("scores", "towers", "summary", "trends")}


def _joined(studies: Sequence[Tuned]) -> dict[str, pd.DataFrame]:
    return {
        name: pd.concat([getattr(study, name) for study in studies], ignore_index=True)
        for name in ("candidates", "verdict", "images")
    }


def _tune(
    datasets: Mapping[str, StoredDataset],
    params: Params,
    score: PastaScore,
    prepared: Path,
    memory: Path,
    judges: Judges,
    out: Path,
) -> list[Tuned]:
    """Tuning is tracked while it runs: each candidate is a nested run."""
    with tracked_run("applications", "tuning", "tuning", record=out / "tuning.run.json") as run:
        studies = run_tuning(
            datasets, params, params.applications, score, prepared, memory, judges, log_candidate
        )
        for study in studies:
            log_tuned(run, study)
    return studies


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
