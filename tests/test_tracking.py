"""Tracking: one run per unit of work, tied to its code and data."""

from __future__ import annotations

import hashlib
import logging
import socket
import time
import warnings
from pathlib import Path

import mlflow
import pandas as pd
import pytest

from pasta.errors import PastaError
from pasta.tracking import flatten, quiet, require_server, tracked_run


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project, as a stage does."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    monkeypatch.setenv("DVC_EXP_NAME", "wild-guess")
    return project


def test_a_run_knows_its_commit_its_data_and_its_stage(inside: Path) -> None:
    data = inside / "pipelines/data/a.bin"
    data.parent.mkdir(parents=True)
    data.write_bytes(b"content")
    with tracked_run(
        "classifiers", "train", "coco-resnet", inputs=[data], params={"a": {"b": 1}}
    ) as run:
        run.log_metrics({"accuracy": 0.9})
        run.log_curve("loss", [3.0, 2.0, 1.0])
        run.log_curve("accuracy by epoch", [0.5, 0.6], last=5)
        run.log_table(pd.DataFrame({"x": [1]}), "x.csv")
        run.log_file(data)
    stored = mlflow.MlflowClient().get_run(run.run_id)
    tags = stored.data.tags
    assert stored.info.run_name == "coco-resnet" and stored.info.status == "FINISHED"
    assert len(tags["git.commit"]) == 40 and tags["git.dirty"] == "false"
    assert (tags["stage"], tags["profile"], tags["dvc.experiment"]) == ("train", "ci", "wild-guess")
    assert tags["md5.pipelines/data/a.bin"] == hashlib.md5(b"content").hexdigest()  # noqa: S324
    assert stored.data.params == {"a.b": "1"} and stored.data.metrics["accuracy"] == 0.9
    history = mlflow.MlflowClient().get_metric_history(run.run_id, "loss")
    assert [(point.step, point.value) for point in history] == [(1, 3.0), (2, 2.0), (3, 1.0)]
    late = mlflow.MlflowClient().get_metric_history(run.run_id, "accuracy by epoch")
    assert [(point.step, point.value) for point in late] == [(4, 0.5), (5, 0.6)]
    names = {file.path for file in mlflow.MlflowClient().list_artifacts(run.run_id)}
    assert names == {"a.bin", "x.csv"}
    assert (inside / "mlflow.db").exists() and (inside / ".mlflow/classifiers").is_dir()


def test_the_md5_comes_from_the_lock_when_it_is_there(inside: Path) -> None:
    data = inside / "pipelines/data/a.bin"
    data.parent.mkdir(parents=True)
    data.write_bytes(b"content")
    lock = (
        "stages:\n  x:\n    cmd: x\n    outs:\n    - path: pipelines/data/a.bin\n      md5: abc\n"
    )
    (inside / "dvc.lock").write_text(lock)
    with tracked_run("reports", "s", "n", inputs=[data]) as run:
        pass
    tags = mlflow.MlflowClient().get_run(run.run_id).data.tags
    assert tags["md5.pipelines/data/a.bin"] == "abc"


def test_a_failed_run_is_marked(inside: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="boom"),
        tracked_run("reports", "s", "n") as run,
    ):
        raise RuntimeError("boom")
    assert mlflow.MlflowClient().get_run(run.run_id).info.status == "FAILED"


def test_a_large_file_is_remembered_by_its_md5_only(inside: Path) -> None:
    large = inside / "large.bin"
    large.write_bytes(bytes(2_000_001))
    with tracked_run("reports", "s", "n") as run:
        run.log_file(large)
    assert mlflow.MlflowClient().list_artifacts(run.run_id) == []
    tags = mlflow.MlflowClient().get_run(run.run_id).data.tags
    assert tags["file.large.bin"].endswith("2000001 bytes")


def test_a_server_that_refuses_is_reported_before_any_work(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    started = time.monotonic()
    with pytest.raises(PastaError, match="cannot be reached"), tracked_run("reports", "s", "n"):
        pytest.fail("work must not start")
    assert time.monotonic() - started < 10


def test_a_server_that_never_answers_is_given_up_on() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(PastaError, match="cannot be reached"):
            require_server(f"http://127.0.0.1:{port}", patience=0.3)


def test_nested_settings_become_one_level() -> None:
    assert flatten({"a": {"b": {"c": 1}}, "d": 2}) == {"a.b.c": 1, "d": 2}


def test_mlflow_is_quiet_for_a_while_and_speaks_again_after_an_error() -> None:
    logger = logging.getLogger("mlflow")
    before = logger.level
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(KeyError), quiet():
            warnings.warn("advice", stacklevel=1)
            assert logger.level == logging.ERROR
            raise KeyError
        warnings.warn("news", stacklevel=1)
    assert [str(one.message) for one in heard] == ["news"] and logger.level == before
