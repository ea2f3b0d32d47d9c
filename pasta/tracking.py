"""One MLflow run per unit of work, tied to the code and the data it came from.

Large files stay in DVC: MLflow gets metrics, figures, small tables, and path + md5 of the rest.
Runs inside a run carry the same tags and data as the outer one, so that any two can be compared.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from pasta.config import load_params
from pasta.errors import PastaError
from pasta.git import git_state
from pasta.paths import DATA, LOCK, project_root

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from mlflow.entities import DatasetInput

Experiment = Literal[
    "classifiers",
    "explanations",
    "annotations",
    "scorers",
    "correlations",
    "benchmark",
    "applications",
    "reports",
]
LARGEST_ARTIFACT = 2_000_000  # bytes; anything larger belongs to DVC
PATIENCE = 6.0  # seconds to wait for a tracking server


@dataclass(frozen=True)
class Run:
    """What a stage may tell about its work."""

    run_id: str
    experiment: str

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Settings, nested ones with dots in their names."""
        _mlflow().log_params(flatten(params))

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Numbers that can be compared between runs."""
        _mlflow().log_metrics({key: float(value) for key, value in metrics.items()}, step=step)

    def log_curve(self, name: str, values: Sequence[float], last: int | None = None) -> None:
        """One number per epoch, sent in one request.

        Epochs count from 1; ``last`` is that of the last value, for curves that start later.
        """
        from mlflow.entities import Metric

        before = 0 if last is None else last - len(values)
        points = [Metric(name, float(v), 0, step) for step, v in enumerate(values, before + 1)]
        client = _mlflow().MlflowClient()
        for start in range(0, len(points), 1000):
            client.log_batch(self.run_id, metrics=points[start : start + 1000])

    def log_figure(self, figure: Figure, name: str) -> None:
        """A matplotlib figure as ``name``."""
        _mlflow().log_figure(figure, name)

    def log_table(self, frame: pd.DataFrame, name: str) -> None:
        """A small table as CSV."""
        _mlflow().log_text(frame.to_csv(index=False), name)

    def log_file(self, path: Path, folder: str | None = None) -> None:
        """A small file as an artifact; of a large one only path, size and md5 are kept."""
        if path.stat().st_size <= LARGEST_ARTIFACT:
            _mlflow().log_artifact(str(path), folder)
        else:
            content = f"{file_md5(path)} {path.stat().st_size} bytes"
            _mlflow().set_tag(f"file.{_name(path)}", content)

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Words to search by."""
        _mlflow().set_tags(dict(tags))


@contextmanager
def tracked_run(
    experiment: Experiment,
    stage: str,
    name: str,
    *,
    about: str,
    inputs: Sequence[Path] = (),
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> Iterator[Run]:
    """Open one run; an exception marks it as failed and passes on.

    Parameters
    ----------
    experiment, stage, name
        Where the run belongs, which stage it is of, and what it is called. Runs are found again by
        their tags, for example ``tags.stage = 'explain@coco'``.
    about
        What was done, in a sentence or two: the description that the user interface shows.
    inputs
        The files and folders that the work depends on. They become the run's datasets, with the
        md5 by which DVC knows them.
    params
        Settings, nested ones with dots in their names.
    tags
        What tells this run from others: study, dataset, encoder, scorer, model.
    seconds
        How long the work took, if it was done before the run was opened.
    """
    mlflow = connect(experiment)
    known = mlflow.get_experiment_by_name(experiment).experiment_id
    md5s = {_name(path): _md5(path) for path in inputs}
    words = {
        **_provenance(stage),
        "data": hashlib.sha256(repr(sorted(md5s.items())).encode()).hexdigest()[:12],
        **{f"md5.{path}": md5 for path, md5 in md5s.items()},
        **(tags or {}),
    }
    datasets = [_dataset(path, md5) for path, md5 in md5s.items()]
    with _open_run(known, name, about, words, datasets, seconds, None) as run:
        if params:
            run.log_params(params)
        yield run


@contextmanager
def nested_run(
    name: str,
    params: Mapping[str, Any],
    *,
    about: str,
    tags: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> Iterator[Run]:
    """A run inside the one that is open, with its tags and data: a row of a study."""
    mlflow = _mlflow()
    outer = mlflow.MlflowClient().get_run(mlflow.active_run().info.run_id)
    words = {key: value for key, value in outer.data.tags.items() if not key.startswith("mlflow.")}
    datasets = outer.inputs.dataset_inputs
    own = {**words, **(tags or {})}
    experiment, parent = outer.info.experiment_id, outer.info.run_id
    with _open_run(experiment, name, about, own, datasets, seconds, parent) as run:
        run.log_params(params)
        yield run


@contextmanager
def _open_run(
    experiment: str,
    name: str,
    about: str,
    tags: Mapping[str, str],
    datasets: Sequence[DatasetInput],
    seconds: float | None,
    parent: str | None,
) -> Iterator[Run]:
    """Start a run and end it; work that is done already gives it its times."""
    mlflow = _mlflow()
    client, opened = mlflow.MlflowClient(), time.time()
    started = opened - (seconds or 0)
    own = {
        **tags,
        "mlflow.note.content": about,
        "mlflow.source.name": tags["stage"],
        "mlflow.source.git.commit": tags["git.commit"],
        **({} if parent is None else {"mlflow.parentRunId": parent}),
    }
    made = client.create_run(experiment, int(1000 * started), own, run_name=name)
    if datasets:
        client.log_inputs(made.info.run_id, datasets)
    with mlflow.start_run(made.info.run_id, nested=parent is not None):
        yield Run(made.info.run_id, experiment)
    if seconds is not None:
        client.set_terminated(made.info.run_id, end_time=int(1000 * opened))


def connect(experiment: Experiment) -> Any:
    """Point MLflow at the tracking store and make sure that it answers."""
    uri = require_tracking()
    if uri == _own_store():
        adopt_artifacts(project_root())
    mlflow = _mlflow()
    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient()
    if client.get_experiment_by_name(experiment) is None:
        kind = {"mlflow.experimentKind": "custom_model_development"}  # else it opens as "GenAI"
        client.create_experiment(experiment, _artifact_location(uri, experiment), kind)
    mlflow.set_experiment(experiment)
    return mlflow


def adopt_artifacts(root: Path) -> None:
    """Point the runs of a project that was moved or copied at the artefacts beside them.

    MLflow stores absolute locations only (https://github.com/mlflow/mlflow/pull/7670) and has no
    call that changes them, so the database of a copy would make MLflow write into the original.
    Here every location below the old project becomes the same one below this project.
    """
    store = root / STORE
    if not store.is_file():
        return
    with closing(sqlite3.connect(store)) as database, database:
        here = (root / ARTIFACTS).as_uri()
        for (location,) in database.execute(
            "SELECT DISTINCT artifact_location FROM experiments WHERE artifact_location LIKE ?",
            (f"%/{ARTIFACTS}/%",),
        ).fetchall():
            old = location.rpartition(f"/{ARTIFACTS}/")[0]
            if f"{old}/{ARTIFACTS}" == here:
                continue
            as_path = urllib.request.url2pathname(urllib.parse.urlsplit(old).path)
            for before, now in ((old, root.as_uri()), (as_path, root.as_posix())):
                for table, column in _LOCATIONS:
                    database.execute(
                        f"UPDATE {table} SET {column} = ? || substr({column}, ?) "  # noqa: S608
                        f"WHERE substr({column}, 1, ?) = ?",
                        (now, len(before) + 1, len(before) + 1, f"{before}/"),
                    )


STORE, ARTIFACTS = "mlflow.db", ".mlflow"  # at the root of the project
_LOCATIONS = (
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
    ("experiments", "artifact_location"),
)


@contextmanager
def quiet() -> Iterator[None]:
    """MLflow tells at length what it does and would like; a stage's own lines are enough."""
    logger = logging.getLogger("mlflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def require_tracking() -> str:
    """The tracking store; raises if it is a server that cannot be reached."""
    uri = tracking_uri()
    if uri.startswith("http"):
        require_server(uri)
    return uri


def tracking_uri() -> str:
    """``MLFLOW_TRACKING_URI``, or the project's own SQLite file."""
    return os.environ.get("MLFLOW_TRACKING_URI") or _own_store()


def _own_store() -> str:
    return f"sqlite:///{project_root() / STORE}"


def require_server(uri: str, patience: float = PATIENCE) -> None:
    """Raise within seconds when a tracking server does not answer.

    The question runs in a thread because no timeout covers the look-up of a host name.
    """
    answer: list[str] = ["no answer"]

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=patience):  # noqa: S310
                answer[0] = ""
        except urllib.error.HTTPError as error:
            answer[0] = f"HTTP {error.code}"
        except (OSError, ValueError) as error:
            answer[0] = str(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(patience + 1)
    if answer[0]:
        raise PastaError(
            f"the MLflow server {uri} cannot be reached ({answer[0]}). Nothing was started. "
            "Start it, or unset MLFLOW_TRACKING_URI to track into mlflow.db."
        )


def flatten(params: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as one level: ``{"a": {"b": 1}}`` becomes ``{"a.b": 1}``."""
    flat: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def file_md5(path: Path) -> str:
    """The md5 of a file's content, as DVC names it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def locked_md5s(root: Path) -> dict[str, str]:
    """The md5 of every output in ``dvc.lock``, by its path."""
    lock = root / LOCK
    return _md5s_in(lock.read_text()) if lock.exists() else {}


@lru_cache(maxsize=1)  # a stage has many runs, and a long lock takes a second to parse
def _md5s_in(lock: str) -> dict[str, str]:
    from ruamel.yaml import YAML

    stages = (YAML(typ="safe").load(lock) or {}).get("stages", {})
    outs = (out for stage in stages.values() for out in stage.get("outs", ()))
    return {out["path"]: out["md5"] for out in outs if "md5" in out}


def _mlflow() -> Any:
    # Telemetry would look for the network; it must be off before the import.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    import mlflow

    # It logs the traceback of every error of its database, and raises it as well.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    return mlflow


def _artifact_location(uri: str, experiment: str) -> str | None:
    """Beside the local database; a server decides for itself."""
    if not uri.startswith("sqlite"):
        return None
    return (project_root() / ARTIFACTS / experiment).as_uri()


def _provenance(stage: str) -> dict[str, str]:
    commit, changed = git_state(project_root())
    params = load_params()
    return {
        "stage": os.environ.get("DVC_STAGE", stage),
        "profile": params.profile,
        "seeds": " ".join(f"{use}={seed}" for use, seed in params.seeds),
        "git.commit": commit or "unknown",
        "git.dirty": "unknown" if changed is None else str(bool(changed)).lower(),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
    }


def _md5(path: Path) -> str:
    """As DVC has pinned an input or the folder that it is in, or a file's own."""
    name, known = _name(path), locked_md5s(project_root())
    if name not in known and path.is_file():
        return file_md5(path)
    around = (name, *(one.as_posix() for one in PurePosixPath(name).parents))
    return next((known[one] for one in around if one in known), "not pinned")


def _dataset(path: str, md5: str) -> DatasetInput:
    """An input as MLflow shows it: by a short name and its digest."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = json.dumps({"path": path, "md5": md5})
    short = path.removeprefix(f"{DATA.as_posix()}/")
    tags = [InputTag("mlflow.data.context", "input")]
    return DatasetInput(Dataset(short, md5, "dvc", source), tags)


def _name(path: Path) -> str:
    resolved = path.resolve()
    root = project_root()
    return (resolved.relative_to(root) if resolved.is_relative_to(root) else resolved).as_posix()


def name_model(name: str, version: str) -> None:
    """Let ``models:/NAME@ALIAS`` mean this version, from now on.

    The alias is the profile, or the name of the DVC experiment that the version was made in.
    """
    alias = os.environ.get("DVC_EXP_NAME") or load_params().profile
    _mlflow().MlflowClient().set_registered_model_alias(name, alias, version)


if __name__ == "__main__":
    adopt_artifacts(project_root())
