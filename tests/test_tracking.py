"""Tracking: one run per unit of work, tied to its code and data."""

from __future__ import annotations

import hashlib
import logging
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing
from pathlib import Path

import mlflow
import pandas as pd
import pytest

from pasta.errors import PastaError
from pasta.tracking import (
    adopt_artifacts,
    flatten,
    nested_run,
    quiet,
    require_server,
    tracked_run,
)
from tests.conftest import environment


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project, as a stage does."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # MLflow sets it in its process
    monkeypatch.setenv("DVC_EXP_NAME", "wild-guess")
    return project


def test_a_run_knows_its_commit_its_data_and_its_stage(inside: Path) -> None:
    data = inside / "pipelines/data/a.bin"
    data.parent.mkdir(parents=True)
    data.write_bytes(b"content")
    with tracked_run(
        "classifiers", "train", "coco-resnet", about="A net.", inputs=[data], params={"a": {"b": 1}}
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
    with tracked_run("reports", "s", "n", about="x", inputs=[data]) as run:
        pass
    tags = mlflow.MlflowClient().get_run(run.run_id).data.tags
    assert tags["md5.pipelines/data/a.bin"] == "abc"


def test_runs_inside_a_run_carry_its_tags_its_data_and_a_description(inside: Path) -> None:
    """Three runs of one scorer before and after new votes must not look alike."""
    votes = inside / "pipelines/data/votes/ratings/votes.parquet"
    votes.parent.mkdir(parents=True)
    votes.write_bytes(b"votes")
    lock = (
        "stages:\n  x:\n    cmd: x\n    outs:\n    - path: pipelines/data/embed\n      md5: e.dir\n"
    )
    (inside / "dvc.lock").write_text(lock)
    inputs = [votes, inside / "pipelines/data/embed/coco"]
    with (
        tracked_run(
            "scorers", "score", "main", about="All.", inputs=inputs, tags={"study": "ratings"}
        ) as outer,
        nested_run("main: ordinal", {"a": 1}, about="One.", tags={"scorer": "ordinal"}) as inner,
    ):
        inner.log_metrics({"qwk.Q1": 0.3})
    first, second = (mlflow.MlflowClient().get_run(run.run_id) for run in (outer, inner))
    assert second.data.tags["mlflow.parentRunId"] == outer.run_id
    assert second.data.tags["mlflow.note.content"] == "One."
    assert second.data.tags["scorer"] == "ordinal" and "scorer" not in first.data.tags
    for tag in ("study", "stage", "git.commit", "seeds", "data", "profile"):
        assert second.data.tags[tag] == first.data.tags[tag] != ""
    assert "training=0" in first.data.tags["seeds"]
    for one in (first, second):
        assert one.inputs is not None
        digests = {
            entry.dataset.name: (entry.dataset.digest, entry.dataset.source_type)
            for entry in one.inputs.dataset_inputs
        }
        assert digests == {
            "votes/ratings/votes.parquet": (
                hashlib.md5(b"votes").hexdigest(),  # noqa: S324
                "dvc",
            ),
            "embed/coco": ("e.dir", "dvc"),  # of the folder that DVC has pinned
        }


def test_equal_data_have_an_equal_name_and_other_data_another(inside: Path) -> None:
    file = inside / "votes.csv"
    found = []
    for content in ("a", "a", "b"):
        file.write_text(content)
        with tracked_run("scorers", "score", "main", about="x", inputs=[file]) as run:
            pass
        found.append(mlflow.MlflowClient().get_run(run.run_id).data.tags["data"])
    assert found[0] == found[1] != found[2]


def test_a_run_lasts_as_long_as_its_work_not_as_its_logging(inside: Path) -> None:
    with tracked_run("classifiers", "train", "n", about="x", seconds=90.5) as run:
        time.sleep(0.3)
    info = mlflow.MlflowClient().get_run(run.run_id).info
    assert info.end_time - info.start_time == pytest.approx(90_500, abs=2)
    assert info.status == "FINISHED" and info.start_time < 1000 * time.time() - 90_000


def log_a_file(project: Path, text: str) -> str:
    """Track a run in a process of its own, as a stage of that checkout does."""
    script = (
        "from pathlib import Path\nfrom pasta.tracking import tracked_run\n"
        f"Path('note.txt').write_text({text!r})\n"
        "with tracked_run('reports', 's', 'n', about='x') as run:\n"
        "    run.log_file(Path('note.txt'))\nprint(run.run_id)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
        env={**environment(project), "MLFLOW_TRACKING_URI": ""},  # MLflow sets it in this process
    )
    return done.stdout.split()[-1]


def read_artifact(project: Path, run: str) -> str:
    mlflow.set_tracking_uri(f"sqlite:///{project / 'mlflow.db'}")
    file = mlflow.artifacts.download_artifacts(run_id=run, artifact_path="note.txt")
    return Path(file).read_text()


def test_a_copied_checkout_keeps_its_artefacts_and_leaves_the_original_alone(
    project: Path, tmp_path: Path
) -> None:
    first = log_a_file(project, "one")
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    before = {file: file.stat().st_mtime_ns for file in project.rglob("*") if file.is_file()}
    second = log_a_file(copy, "two")
    after = {file: file.stat().st_mtime_ns for file in project.rglob("*") if file.is_file()}
    assert {file for file in after if before.get(file) != after[file]} == set()
    moved = tmp_path / "moved"
    shutil.rmtree(project)
    copy.rename(moved)
    adopt_artifacts(moved)
    assert read_artifact(moved, first) == "one" and read_artifact(moved, second) == "two"
    with closing(sqlite3.connect(moved / "mlflow.db")) as database:
        cells = database.execute("SELECT artifact_location FROM experiments").fetchall()
    assert all(str(moved) in cell for (cell,) in cells)
    adopt_artifacts(tmp_path / "nowhere")  # nothing to adopt


def test_a_failed_run_is_marked(inside: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="boom"),
        tracked_run("reports", "s", "n", about="x") as run,
    ):
        raise RuntimeError("boom")
    assert mlflow.MlflowClient().get_run(run.run_id).info.status == "FAILED"


def test_a_large_file_is_remembered_by_its_md5_only(inside: Path) -> None:
    large = inside / "large.bin"
    large.write_bytes(bytes(2_000_001))
    with tracked_run("reports", "s", "n", about="x") as run:
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
    with (
        pytest.raises(PastaError, match="cannot be reached"),
        tracked_run("reports", "s", "n", about="x"),
    ):
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
