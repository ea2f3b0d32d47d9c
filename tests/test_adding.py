"""What a newcomer adds, in a copy of the project: a method, a metric, a dataset, a report page.

Each is one file of its own, and lines of params.yaml where settings or images are to be named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent

METHOD = '''
"""Relevance that falls from the middle of the image."""

import torch

from pasta.explanations.base import Given, method
from pasta.sections import Positive, Section


class MiddleParams(Section):
    """How steeply it falls."""

    power: Positive = 1.0


@method("middle", title="Middle", functioning="perturbation", doi="10.1/x", settings=MiddleParams)
def middle(given: Given) -> torch.Tensor:
    """The same map for every image."""
    grids = torch.meshgrid(*(torch.linspace(-1, 1, side) for side in given.size), indexing="ij")
    near = (1 - torch.stack(grids).abs().amax(0)) ** given.settings["middle"].power
    return near.expand(len(given), *given.size)
'''
METRIC = '''
"""The share of positive relevance."""

from pasta.metrics.base import EXPLANATION, Batch, Result, metric
from pasta.sections import Fraction, Section


class PositiveShareParams(Section):
    """From what on a value is positive."""

    least: Fraction = 0.0


@metric(
    "positive_share",
    title="Positive share",
    category="complexity",
    direction="higher",
    span=(0, 1),
    sign="kept",
    needs=EXPLANATION,
    doi="10.1/x",
    settings=PositiveShareParams,
)
def positive_share(batch: Batch, settings: PositiveShareParams) -> Result:
    """Pixels above the least value."""
    return Result((batch.maps.flatten(1) > settings.least).double().mean(1))
'''
DATASET = """
title: Two colours
classes: [red, blue]
concepts: [stripe]
readable: {red: red square, blue: blue square}
"""
REPORT = '''
"""How many votes there are."""

from reports.source.data import REPORTS, Data
from reports.source.typesetting import Report

PROSE = """
#import "report.typ": *
#show: report.with(title: "Short", subtitle: [A page])
= How much there is
It reads #data.number folders.
"""


@REPORTS.register("short", about="a page of its own", reads=())
def short(data: Data) -> Report:
    """One sentence."""
    return Report("short", False, {"number": len(data.reads)}, PROSE)
'''
FILES = {
    "pasta/explanations/methods/middle.py": METHOD,
    "pasta/metrics/own/positive_share.py": METRIC,
    "pasta/datasets/vocabularies/colours.yaml": DATASET,
    "reports/source/pages/short.py": REPORT,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more of each, and images of the new dataset."""
    project = tmp_path_factory.mktemp("adding") / "project"
    unneeded = shutil.ignore_patterns("__pycache__", "data", "annotations", "figures", "*.pdf")
    for folder in ("pasta", "analysis", "reports", "pipelines"):
        shutil.copytree(ROOT / folder, project / folder, ignore=unneeded)
    shutil.copy(ROOT / "dvc.yaml", project / "dvc.yaml")
    for name, text in FILES.items():
        assert not (project / name).exists()
        (project / name).write_text(text.lstrip())
    params = (ROOT / "params.yaml").read_text()
    for section, line in {
        "datasets:\n": "  colours: {source: files, root: here, train: 4, validation: 2, test: 2}",
        "  methods:\n": "    middle: {power: 2.0}",
        "metrics:\n": "  positive_share: {least: 0.25}",
    }.items():
        assert params.count(section) == 1
        params = params.replace(section, f"{section}{line}\n")
    (project / "params.yaml").write_text(params)
    for split in ("train", "test"):
        for place, label in ((0, "red"), (2, "blue")):
            home = project / "here" / split / label
            home.mkdir(parents=True)
            for number in range(8):
                pixels = np.zeros((40, 40, 3), np.uint8)
                pixels[..., place] = 200 + number
                Image.fromarray(pixels).save(home / f"{split}-{label}{number}.png")
    boxes = "file,concept,x0,y0,x1,y1\ntest/red/test-red0.png,stripe,0,0,40,10\n"
    (project / "here" / "boxes.csv").write_text(boxes)
    return project


def run(project: Path, *command: str) -> str:
    """What Python says in the copy; tests' helpers are those of this checkout."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=project,
        env=os.environ | {"PYTHONPATH": f"{project}{os.pathsep}{ROOT}"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COMPUTED = """
import io, sys
from contextlib import redirect_stdout, suppress
from pathlib import Path

import numpy as np
import torch

from pasta import evaluate, explain
from pasta.config import load_params
from pasta.metrics.api import get_settings
from reports.command import main
from tests.studies.ratings.small_group import IMAGES, SIDE, write_group


def listed(*words):
    said, sys.argv[1:] = io.StringIO(), words
    with redirect_stdout(said), suppress(SystemExit):
        main()
    return said.getvalue()


assert "middle/clip_zero_shot" in listed("techniques", "--extras")
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 25, 2))
images = torch.rand(2, 3, 5, 5)
plain = explain(model, images, methods=["middle"])["middle"][0]
given = explain(model, images, methods=["middle"], settings=load_params().explanations.methods)
np.testing.assert_allclose(given["middle"][0], plain**2)
assert (plain[2, 2], plain[0, 0]) == (1, 0)

assert "positive_share" in listed("metrics", "--json")
maps = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 4, 4)
assert evaluate("positive_share", maps=maps) == 0.5
assert evaluate("positive_share", maps=maps, least=0.5) == 0.25
assert get_settings("positive_share", {}, load_params().metrics).least == 0.25

maps = np.random.default_rng(0).random((3 * len(IMAGES), SIDE, SIDE)).astype(np.float16)
write_group(Path("rated"), {"middle/resnet50": maps, "gradcam/resnet50": maps})
"""
RATED = """
import sys
from pathlib import Path

from pasta.layout import Group
from pasta.studies.ratings.rateable import Views, rateable
from pasta.studies.ratings.simulation.quality import measure

group = Group("catsdogscars", "catsdogscars", Path("rated"))
samples = rateable([group], extras=True)
assert set(samples["method"]) == {"middle", "gradcam"}
assert set(rateable([group], extras=False)["method"]) == {"gradcam"}
[first, *_] = samples.loc[samples["method"] == "middle", "sample_id"]
assert Views([group]).view(first).picture.ndim == 3
assert measure(group)["spread"].notna().all()
assert "torch" not in sys.modules
"""


def test_a_method_and_a_metric_are_listed_and_run_with_their_settings_and_can_be_rated(
    project: Path,
) -> None:
    run(project, "-c", COMPUTED)
    run(project, "-c", RATED)


def test_a_dataset_of_class_folders_is_built_and_has_its_words(project: Path) -> None:
    run(project, "-m", "pipelines.images", "colours")
    code = """
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import readable, vocabulary
from pasta.paths import stage_folder

found = open_dataset(stage_folder("images") / "colours")
assert found.vocabulary == vocabulary("colours") and found.vocabulary.title == "Two colours"
assert found.images["split"].value_counts().to_dict() == {"train": 4, "validation": 2, "test": 2}
assert set(found.images["label"]) <= {"red", "blue"}
assert found.pixels.shape == (8, 96, 96, 3)
assert readable("red") == "red square"
assert found.regions()["concept"].tolist() in ([], ["stripe"])
"""
    run(project, "-c", code)


def test_a_report_page_is_listed_and_typeset(project: Path) -> None:
    code = """
from pasta.config import load_params
from pasta.paths import project_root
from reports.source.catalog import build, names
from reports.source.setting import describe_setting, write_setting

write_setting(describe_setting(load_params()), project_root())
assert names()["short"] == "a page of its own"
print(build("short"))
"""
    file = Path(run(project, "-c", code).split()[-1])
    assert file.read_bytes().startswith(b"%PDF")


def test_settings_of_nothing_are_refused(project: Path) -> None:
    code = """
import sys
from pathlib import Path

from pasta.config import checked_params
from pasta.errors import InputError

text = Path("params.yaml").read_text().replace("    middle: {power: 2.0}\\n", "")
for section, line, message in (
    ("  methods:\\n", "    lime_cmb: {samples: 2}\\n", "lime_cmb: unknown key. Did you mean"),
    ("metrics:\\n", "  positive: {least: 0.2}\\n", "positive: unknown key"),
    ("  methods:\\n", "    middle: 2\\n", "middle: found 2, expected settings by name"),
):
    try:
        checked_params(Path("params.yaml"), text.replace(section, section + line))
    except InputError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
"""
    run(project, "-c", code)
