"""The pipeline of the tiny profile, run once for all files of tests that look at what it made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from tests.conftest import Runner, copy_project, runner


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A project whose pipeline has run once and noted which parameters it read; for copies only.

    Workers of pytest-xdist share it: the first one runs it, the others wait.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    project, done = shared / "finished" / "project", shared / "finished" / "done"
    with FileLock(shared / "finished.lock"):
        if not done.exists():
            copy_project(project)
            noted = project / "noted"
            noted.mkdir()
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PASTA_RECORD_PARAMS", str(noted))
                patch.setenv("PASTA_TEST_PATH", str(Path(__file__).parent.parent / "recorder"))
                patch.setenv("PASTA_WORKERS", "1")
                runner(project)("dvc", "repro")
            done.touch()
    return project


@pytest.fixture(scope="module")
def project(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished project for the tests of one file, which change it."""
    target = tmp_path_factory.mktemp("pipeline") / "project"
    shutil.copytree(finished, target, symlinks=True)
    return target


@pytest.fixture(scope="module")
def run(project: Path) -> Runner:
    """Run commands in the copy."""
    return runner(project)
