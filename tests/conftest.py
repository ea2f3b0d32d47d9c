"""Shared pieces of the tests: no network, no GPU, nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pasta.config import profile_text

ROOT = Path(__file__).resolve().parent.parent
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DVC_NO_ANALYTICS"] = "1"
os.environ.pop("MLFLOW_TRACKING_URI", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with most slow tests come first: no worker is left alone with them at the end."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


def copy_project(target: Path, profile: str = "ci") -> Path:
    """A working copy of the project with its own git and DVC, in a profile of its own."""
    keep = ("analysis", "pasta", "pipelines", "reports", ".dvc/config", ".dvc/plots", ".dvcignore")
    for name in (*keep, ".gitignore", "dvc.yaml", "params.yaml", "pyproject.toml"):
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            unwanted = shutil.ignore_patterns(
                "data", "__pycache__", "*.pdf", "batches", "batches.dvc", ".*.lock"
            )
            shutil.copytree(source, copy, ignore=unwanted)
        else:
            shutil.copy(source, copy)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=target, check=True)
    for text in ((ROOT / "params.yaml").read_text(), profile_text(profile, ROOT)):
        (target / "params.yaml").write_text(text)
        for arguments in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "start"]):
            subprocess.run([*git, *arguments], cwd=target, check=True)
    return target


def environment(project: Path) -> dict[str, str]:
    """The environment of a command that runs in a copy of the project."""
    scripts = Path(sys.executable).parent
    changed = {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(project), *_added()]),
        "DVC_SITE_CACHE_DIR": str(project / ".dvc" / "site"),
    }
    return {**os.environ, **changed}


def _added() -> list[str]:
    """A further folder for the path of commands, for tests that look into them."""
    return [os.environ["PASTA_TEST_PATH"]] if "PASTA_TEST_PATH" in os.environ else []


def names(folder: Path) -> list[str]:
    """What a folder holds, hidden files and all."""
    return sorted(file.name for file in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


Runner = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh copy of the project in the tiny profile."""
    return copy_project(tmp_path / "project")


def runner(project: Path) -> Runner:
    """Run commands in a copy of the project and return what they said."""

    def call(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=project,
            env=environment(project),
            capture_output=True,
            text=True,
            check=False,
            timeout=2400,
        )
        if check and done.returncode:
            pytest.fail(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done

    return call


@pytest.fixture
def run(project: Path) -> Runner:
    """Run a command in the copied project and return what it said."""
    return runner(project)
