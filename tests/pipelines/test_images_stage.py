"""The drawing stage: the same bytes with any number of processes, and no half-finished work."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from pasta import store, tables
from pasta.datasets import stored
from tests.conftest import Runner, environment, names

FILES = (
    *(stored.PIXELS, stored.PARTS, stored.IMAGES, stored.REGIONS),
    *(stored.CONCEPTS, stored.SUMMARY),
)
FOLDER = "pipelines/data/images"


def test_one_and_two_processes_give_the_same_bytes(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for workers in ("1", "2"):
        monkeypatch.setenv("PASTA_WORKERS", workers)
        run("python", "-m", "pipelines.images", "catsdogscars")
        (project / FOLDER / "catsdogscars").rename(project / f"out{workers}")
    _assert_same(project / "out1", project / "out2")


def test_more_images_do_not_change_those_before(run: Runner, project: Path) -> None:
    few = _drawn(run, project, "monumai")
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("train: 24", "train: 30"))
    more = _drawn(run, project, "monumai")
    assert (few == more[: len(few)]).all() and len(more) == len(few) + 6


def _drawn(run: Runner, project: Path, dataset: str) -> NDArray[np.uint8]:
    run("python", "-m", "pipelines.images", dataset)
    return np.array(store.read_array(project / FOLDER / dataset / stored.PIXELS))


def test_tables_and_arrays_belong_together(run: Runner, project: Path) -> None:
    run("dvc", "repro", "--quiet", "images@coco")
    folder = project / FOLDER / "coco"
    images = store.read(folder / stored.IMAGES, tables.IMAGES)
    regions = store.read(folder / stored.REGIONS, tables.REGIONS, {"images": images})
    concepts = store.read(folder / "concepts.parquet", tables.CONCEPTS, {"images": images})
    parts = store.read_array(folder / stored.PARTS, (len(images), 48, 48))
    assert len(concepts) == 80 * len(images) and concepts["present"].sum() > len(images)
    seen = concepts[concepts["present"]].iloc[7]
    row = int(images.set_index("image_id").loc[seen["image_id"], "row"])
    mask = parts[row] == seen["value"]
    assert mask.mean() == pytest.approx(seen["share"])
    assert seen["x0"] == pytest.approx(mask.any(0).argmax() / 48)
    assert seen["y0"] == pytest.approx(mask.any(1).argmax() / 48)
    assert len(regions) == concepts["instances"].sum()


@pytest.mark.slow
def test_a_killed_stage_is_never_taken_for_finished(run: Runner, project: Path) -> None:
    """Kill the stage with its workers at five random moments, then let it finish."""
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("train: 24", "train: 300", 1))
    run("python", "-m", "pipelines.images", "catsdogscars")
    (project / FOLDER / "catsdogscars").rename(project / "whole")
    started = time.monotonic()
    run("dvc", "repro", "-f", "images@catsdogscars")
    needed = time.monotonic() - started
    moments = random.Random(7)
    folder = project / FOLDER / "catsdogscars"
    kills = 0
    while kills < 5:
        if not _killed_after(project, needed * moments.uniform(0.1, 0.95)):
            continue  # the stage had not begun, or was at its end
        if "up to date" in run("dvc", "status", "images@catsdogscars").stdout:
            _assert_same(folder, project / "whole")  # DVC had not taken anything away yet
            continue
        kills += 1
        if (folder / stored.SUMMARY).exists():  # the last file of the stage: all must be whole
            _assert_same(folder, project / "whole")
        elif (folder / stored.PIXELS).exists():
            store.read_array(folder / stored.PIXELS, (312, 48, 48, 3))
    run("dvc", "repro", "-f", "images@catsdogscars")
    _assert_same(folder, project / "whole")
    assert names(folder) == sorted(FILES)


def _killed_after(project: Path, seconds: float) -> bool:
    """Kill the stage and its workers after some seconds; whether DVC saw it fail.

    DVC itself is spared: it writes its own lock file in place, and one that is cut off there has
    to be removed by hand.
    """
    command = [str(Path(sys.executable).parent / "dvc"), "repro", "-f", "images@catsdogscars"]
    process = subprocess.Popen(
        command,
        cwd=project,
        env=environment(project),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    if process.poll() is None:
        for one in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                one.kill()
    return process.wait() != 0


def _assert_same(folder: Path, whole: Path) -> None:
    for name in FILES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name
