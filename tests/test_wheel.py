"""The built wheel, unpacked outside any clone: what `pip install` gives.

The wheel is built by the hook that pip calls, from a copy of the files that git knows, and stands
first on the path; the dependencies are those of the environment that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasta.extras import EXTRAS, how_to_get, missing_modules
from tests.conftest import ROOT

pytestmark = pytest.mark.slow
BUILD = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"
# What the script `pasta` is made of
COMMAND = "import sys; sys.argv[0] = 'pasta'; from reports.command import main; main()"


def tracked_files() -> list[Path]:
    """What git knows of, or would if it were added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for file in tracked_files():
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, source / file)
    command = [sys.executable, "-c", BUILD]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=True)
    return source / "dist" / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def run(code: str, installed: Path, here: Path, *arguments: str, **variables: str) -> str:
    """Python in a folder that belongs to no clone; what it prints."""
    environment = os.environ | {"PYTHONPATH": str(installed), "MLFLOW_TRACKING_URI": ""}
    environment |= variables
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_data_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        inside = set(packed.namelist())
    folders = ("pasta/", "analysis/", "reports/source/")
    for file in map(Path.as_posix, tracked_files()):
        if file.startswith(folders) and not file.endswith("README.md"):
            assert file in inside
    assert not [name for name in inside if name.startswith(("tests/", "pipelines/"))]


def test_the_three_names_work_on_any_torch_model(installed: Path, tmp_path: Path) -> None:
    code = """
import torch
from torchvision.models import resnet18
import analysis, pasta
from pasta import PastaScore, evaluate, explain
model, images = resnet18(num_classes=4).eval(), torch.rand(2, 3, 48, 48)
maps, statuses = explain(model, images, methods=["gradcam"], return_status=True)
values = evaluate("sparseness", maps=maps["gradcam"])
print(pasta.__file__, analysis.__file__, PastaScore.__name__, maps["gradcam"].shape, len(values))
"""
    said = run(code, installed, tmp_path)
    assert said.count(str(installed)) == 2
    assert "PastaScore (2, 48, 48) 2" in said


def test_version_doctor_and_completion_work_without_a_clone(
    installed: Path, tmp_path: Path
) -> None:
    assert run(COMMAND, installed, tmp_path, "--version").strip() == "0.1.0"
    doctor = " ".join(run(COMMAND, installed, tmp_path, "doctor").split())
    assert "this folder is in no clone of the repository" in doctor
    for extra in EXTRAS:
        assert f"extra {extra}" in doctor
        assert not missing_modules(extra) or how_to_get(extra) in doctor
    typed = {"_PASTA_COMPLETE": "complete_bash", "COMP_WORDS": "pasta sco", "COMP_CWORD": "1"}
    assert run(COMMAND, installed, tmp_path, **typed).split() == ["score"]


def test_a_table_of_ratings_becomes_a_pdf_without_a_clone(installed: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    quality = random.normal(size=20)
    ratings = [
        (f"item-{item}", f"rater-{rater}", "trust", int(np.clip(np.round(3 + value + noise), 1, 5)))
        for item, value in enumerate(quality)
        for rater, noise in enumerate(random.normal(0, 0.7, size=6))
    ]
    columns = ["sample_id", "annotator_id", "question", "rating"]
    pd.DataFrame(ratings, columns=columns).to_csv(tmp_path / "ratings.csv", index=False)
    run(COMMAND, installed, tmp_path, "analyse", "ratings.csv", "--out", "out")
    assert (tmp_path / "out/agreement.pdf").read_bytes().startswith(b"%PDF")
    assert list((tmp_path / "out").glob("*.csv"))
