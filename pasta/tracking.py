"""One MLflow run per unit of work, tied to the code and the data it came from.

Large files stay in DVC: MLflow gets metrics, figures, small tables, and path + md5 of the rest.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pasta.config import load_params
from pasta.errors import PastaError
from pasta.git import git_state
from pasta.paths import LOCK, project_root

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Experiment = Literal[
    "classifiers",
    "explanations",
    "annotations",
    "scorers",
    "correlations",
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
    inputs: Sequence[Path] = (),
    params: Mapping[str, Any] | None = None,
) -> Iterator[Run]:
    """Open one run; an exception marks it as failed and passes on.

    ``inputs`` are the files and folders the work depends on: their md5s become tags. Runs are
    found again by their tags, for example ``tags.stage = 'explain@coco'``.
    """
    mlflow = connect(experiment)
    with mlflow.start_run(run_name=name) as active:
        run = Run(active.info.run_id, experiment)
        run.set_tags({**_provenance(stage), **_data_tags(inputs)})
        if params:
            run.log_params(params)
        yield run


@contextmanager
def nested_run(name: str, params: Mapping[str, Any]) -> Iterator[Run]:
    """A run inside the one that is open: a row of a study."""
    mlflow = _mlflow()
    with mlflow.start_run(run_name=name, nested=True) as active:
        run = Run(active.info.run_id, active.info.experiment_id)
        run.log_params(params)
        yield run


def connect(experiment: Experiment) -> Any:
    """Point MLflow at the tracking store and make sure that it answers."""
    uri = require_tracking()
    mlflow = _mlflow()
    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient()
    if client.get_experiment_by_name(experiment) is None:
        client.create_experiment(experiment, _artifact_location(uri, experiment))
    mlflow.set_experiment(experiment)
    return mlflow


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
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project_root() / 'mlflow.db'}"


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
    return (project_root() / ".mlflow" / experiment).as_uri()


def _provenance(stage: str) -> dict[str, str]:
    commit, changed = git_state(project_root())
    return {
        "stage": os.environ.get("DVC_STAGE", stage),
        "profile": load_params().profile,
        "git.commit": commit or "unknown",
        "git.dirty": "unknown" if changed is None else str(changed).lower(),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
    }


def _data_tags(inputs: Sequence[Path]) -> dict[str, str]:
    """The md5 of each input, as DVC has pinned it; of a file that is not pinned, its own."""
    known = locked_md5s(project_root())
    return {f"md5.{_name(path)}": known.get(_name(path)) or _md5(path) for path in inputs}


def _md5(path: Path) -> str:
    return file_md5(path) if path.is_file() else "not pinned"


def _name(path: Path) -> str:
    resolved = path.resolve()
    root = project_root()
    return (resolved.relative_to(root) if resolved.is_relative_to(root) else resolved).as_posix()
