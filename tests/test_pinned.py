"""Inputs of stages: what is damaged, cut off, empty or missing is named and never read."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pasta import store
from pasta.errors import InputError, PastaError, describe_full_disk
from pasta.pinned import require_inputs, require_pinned, stage_inputs, stage_names
from tests.conftest import ROOT, Runner, runner

# Two stages of a made-up project: one leaves files of every kind, the other reads them.
MAKE = """
import json
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

out = Path("data/made/a")
(out / "deep").mkdir(parents=True)
np.save(out / "maps.npy", np.arange(4000.0))
pd.DataFrame({"x": range(500)}).to_csv(out / "deep" / "table.csv", index=False)
pd.DataFrame({"x": range(500)}).to_parquet(out / "table.parquet")
(out / "facts.json").write_text(json.dumps({str(n): n for n in range(500)}))
Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 40, 3), "uint8")).save(
    out / "picture.png"
)
"""
READ = """
from pathlib import Path

from pasta.stage import run_stage


def main() -> None:
    Path("seen.txt").write_text("read")


run_stage(main)
"""
PIPELINE = """
stages:
  make:
    foreach: ${things}
    do: {cmd: python make.py, deps: [make.py], outs: ["data/made/${key}"]}
  read: {cmd: python read.py, deps: [read.py, data/made], outs: [seen.txt]}
"""
FILES = ["maps.npy", "deep/table.csv", "table.parquet", "facts.json", "picture.png"]


def flip(file: Path) -> None:
    """Change one byte in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    """Keep the first half."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def empty(file: Path) -> None:
    """Keep nothing."""
    file.write_bytes(b"")


DAMAGE = [flip, cut, empty, Path.unlink]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up project after its first run."""
    project = tmp_path_factory.mktemp("pinned")
    (project / "make.py").write_text(MAKE)
    (project / "read.py").write_text(READ)
    (project / "dvc.yaml").write_text(PIPELINE)
    (project / "params.yaml").write_text("things: {a: 1}\n")
    (project / ".dvcignore").write_text((ROOT / ".dvcignore").read_text())
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    run = runner(project)
    run("dvc", "init", "-q")
    run("dvc", "repro", "-q")
    return project


@pytest.fixture
def run(project: Path) -> Runner:
    return runner(project)


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, project: Path) -> Iterator[Path]:
    """One of the files, put back afterwards."""
    found = project / "data/made/a" / request.param
    before = found.read_bytes()
    yield found
    found.write_bytes(before)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_input_is_named_with_the_stage_that_makes_it(
    damage: Callable[[Path], None], file: Path, project: Path
) -> None:
    require_inputs("read", project)
    damage(file)
    with pytest.raises(InputError, match="`dvc repro make@a` makes it again") as caught:
        require_inputs("read", project)
    assert caught.value.file == file
    assert ("is not there" in str(caught.value)) == (damage is Path.unlink)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_stage_does_not_start_on_a_damaged_input(
    damage: Callable[[Path], None], project: Path, run: Runner
) -> None:
    file = project / "data/made/a/facts.json"
    before, seen = file.read_bytes(), project / "seen.txt"
    seen.unlink(missing_ok=True)
    damage(file)
    by_hand = run("python", "read.py", check=False)
    assert by_hand.returncode == 1 and str(file) in by_hand.stderr
    assert "Traceback" not in by_hand.stderr and not seen.exists()
    if damage is flip:  # DVC would read it: it trusts what the user runs alone
        alone = run("dvc", "repro", "--single-item", "read", check=False)
        assert alone.returncode and str(file) in alone.stderr and not seen.exists()
    file.write_bytes(before)
    run("python", "read.py")
    assert seen.exists()


def test_a_folder_that_is_gone_is_named(project: Path) -> None:
    folder, away = project / "data/made/a", project / "away"
    folder.rename(away)
    with pytest.raises(InputError, match=r"made/a: is not there .*the stage make@a"):
        require_inputs("read", project)
    away.rename(folder)


def test_without_the_cache_the_folder_is_named(project: Path, tmp_path: Path) -> None:
    (project / ".dvc/cache").rename(tmp_path / "cache")
    try:
        file = project / "data/made/a/maps.npy"
        before = file.read_bytes()
        flip(file)
        with pytest.raises(InputError, match="made/a: was changed after it was made"):
            require_pinned(["data/made/a"], project)
        file.write_bytes(before)
    finally:
        (tmp_path / "cache").rename(project / ".dvc/cache")


def test_a_file_too_many_is_named_and_what_a_killed_writer_left_is_not(project: Path) -> None:
    (project / "data/made/a/.maps.npy.12-ab.tmp").write_text("left behind")
    require_inputs("read", project)
    more = project / "data/made/a/more.csv"
    more.write_text("x\n1\n")
    with pytest.raises(InputError, match="was not made by the stage"):
        require_inputs("read", project)
    more.unlink()


def test_what_a_stage_reads_is_what_dvc_reads() -> None:
    from dvc.repo import Repo

    with Repo(str(ROOT)) as repo:
        stages = {str(one.name): one for one in repo.index.stages if one.cmd}
        expected = {
            name: {
                Path(dep.fs_path).relative_to(ROOT).as_posix()
                for dep in stage.deps
                if not getattr(dep, "params", None) and Path(dep.fs_path).name != "params.yaml"
            }
            for name, stage in stages.items()
        }
    assert {name: set(stage_inputs(name, ROOT)) for name in stage_names(ROOT)} == expected


def test_stages_of_many_items_have_a_name_for_each(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("models: {coco: {x: 1}, monumai: {x: 2}}\na: {b: [u]}\n")
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n  votes: {cmd: x}\n"
        "  train: {foreach: '${models}', do: {cmd: x}}\n"
        "  nested: {foreach: '${a.b}', do: {cmd: x}}\n"
        "  analyse: {foreach: [bias, dataset], do: {cmd: x}}\n"
        "  report: {foreach: {score: {deps: []}}, do: {cmd: x}}\n"
    )
    assert stage_names(tmp_path) == [
        "votes", "train@coco", "train@monumai", "nested@u", "analyse@bias", "analyse@dataset",
        "report@score",
    ]  # fmt: skip


def test_a_full_disk_is_told_in_words() -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "maps.npy")
    assert describe_full_disk(full) == (
        "maps.npy: cannot be written: No space left on device; `df -h` tells what is free"
    )
    wrapped = RuntimeError("something of a library")
    wrapped.__cause__ = full
    assert describe_full_disk(wrapped) == describe_full_disk(full)
    wrapped.__cause__ = wrapped  # a chain that never ends
    assert describe_full_disk(wrapped) is None


def test_a_device_without_space_is_an_error_of_the_file() -> None:
    with pytest.raises(OSError) as caught, Path("/dev/full").open("w") as file:
        file.write("x" * 10_000)
    assert "No space left" in str(describe_full_disk(caught.value))


TRACKED = """
import resource, sys
from pasta.errors import guarded
from pasta.tracking import tracked_run

def work():
    with tracked_run("classifiers", "train", "first", about="A test.") as run:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # as if the disk were full
        run.log_metrics({f"number {n}": n for n in range(2000)})

guarded(work)
"""


@pytest.mark.slow
def test_a_full_disk_is_no_traceback_of_mlflow(tmp_path: Path) -> None:
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    done = subprocess.run(
        [sys.executable, "-c", TRACKED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ") and "disk" in last
    assert "Traceback" not in done.stderr


def test_a_store_on_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    script = (
        "import resource, sys, numpy as np\nfrom pathlib import Path\nfrom pasta import store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "store.write_array(np.zeros(10_000), Path(sys.argv[1]))\n"
    )
    file = tmp_path / "a.npy"
    store.write_array(np.ones(3), file)
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=False
    )
    assert PastaError.__name__ in done.stderr and "a.npy: cannot be written" in done.stderr
    assert (store.read_array(file) == 1).all() and len(list(tmp_path.iterdir())) == 1
