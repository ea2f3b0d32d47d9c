"""Finished units outlive a kill, and nothing else: not an edit, not a success, not half a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pasta import compute
from pasta.compute import map_units
from pasta.resume import UNITS, KeptUnits, kept_units, stage_key
from tests.conftest import ROOT

STAGE = "measure@coco"
FAR_AWAY = "pasta/models/deep/helper.py"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with some code, parameters and inputs."""
    files = {
        "dvc.yaml": "",
        "params.yaml": "seed: 1\n",
        FAR_AWAY: "def half(x): return x / 2\n",
        "pasta/words.json": "{}",
        "analysis/agreement.py": "",
        "pipelines/measure.py": "",
        "reports/page.typ": "",
        "reports/headlines.json": "{}",
        "README.md": "",
        "pipelines/data/images/coco/images.npy": "pixels",
        "pipelines/data/votes/votes.csv": "votes",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PASTA_WORKERS", "1")
    return tmp_path


class Work:
    """Doubles numbers; remembers what it was asked, and breaks off as if killed."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.kill_at, self.asked = kill_at, list[int]()

    def __call__(self, number: int) -> dict[str, Any]:
        if number == self.kill_at:
            raise KeyboardInterrupt
        self.asked.append(number)
        return {"double": np.array([2 * number]), "word": np.array(["ok", "too slow"])}


def run(project: Path, work: Work, numbers: tuple[int, ...] = (1, 2, 3)) -> list[int]:
    found: dict[int, int] = {}
    with kept_units(STAGE, [project / "pipelines/data/images/coco"]) as kept:
        for place, result in map_units(work, numbers, kept):
            assert result["word"].tolist() == ["ok", "too slow"]
            found[place] = int(result["double"][0])
    return [found[place] for place in range(len(numbers))]


def killed(project: Path) -> Work:
    """A run that ends after two of three units."""
    work = Work(kill_at=3)
    with pytest.raises(KeyboardInterrupt):
        run(project, work)
    assert work.asked == [1, 2]
    return work


def test_a_unit_that_was_finished_before_a_kill_is_not_computed_again(project: Path) -> None:
    killed(project)
    work = Work()
    assert run(project, work) == [2, 4, 6]
    assert work.asked == [3]


def test_success_leaves_nothing_and_starts_anew(project: Path) -> None:
    killed(project)
    other = project / UNITS / "explain.coco" / "key"
    other.mkdir(parents=True)
    run(project, Work())
    assert not (project / UNITS / "measure.coco").exists()
    assert other.exists()  # of another stage
    work = Work()
    assert run(project, work) == [2, 4, 6]
    assert work.asked == [1, 2, 3]


def _edit(name: str, text: str = "changed") -> Callable[[Path], Any]:
    def edit(project: Path) -> None:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)

    return edit


EDITS: dict[str, Callable[[Path], Any]] = {
    "a helper far away": _edit(FAR_AWAY, "def half(x): return x / 3\n"),
    "one letter of it": _edit(FAR_AWAY, "def half(x): return x / 2 \n"),
    "a new module": _edit("pasta/models/deep/new.py", ""),
    "a module that is gone": lambda project: (project / FAR_AWAY).unlink(),
    "a module with another name": lambda project: (project / FAR_AWAY).rename(
        project / "pasta/models/deep/other.py"
    ),
    "data of the package": _edit("pasta/words.json"),
    "an analysis": _edit("analysis/agreement.py", "x = 1\n"),
    "a stage": _edit("pipelines/measure.py", "x = 1\n"),
    "a report": _edit("reports/page.typ", "= Title"),
    "a parameter": _edit("params.yaml", "seed: 2\n"),
    "an input": _edit("pipelines/data/images/coco/images.npy", "pixelz"),
    "one more input": _edit("pipelines/data/images/coco/parts.npy"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
def test_any_edit_throws_units_away(project: Path, edit: Callable[[Path], Any]) -> None:
    killed(project)
    edit(project)
    work = Work()
    assert run(project, work) == [2, 4, 6]
    assert work.asked == [1, 2, 3]


@pytest.mark.parametrize(
    "name",
    ["README.md", "pipelines/data/votes/votes.csv", "reports/headlines.json", "pasta/a.pyc"],
)
def test_what_no_stage_could_depend_on_throws_nothing_away(project: Path, name: str) -> None:
    killed(project)
    _edit(name)(project)
    work = Work()
    run(project, work)
    assert work.asked == [3]


def test_units_of_an_older_key_are_removed_when_the_stage_begins(project: Path) -> None:
    killed(project)
    home = project / UNITS / "measure.coco"
    [before] = home.iterdir()
    _edit("params.yaml", "seed: 2\n")(project)
    killed(project)
    [after] = home.iterdir()
    assert before != after
    assert len(list(after.glob("*.npz"))) == 2


def test_the_project_itself_has_one_key_until_something_changes(tmp_path: Path) -> None:
    one = stage_key(ROOT, [])
    assert one == stage_key(ROOT, [])
    (tmp_path / "a.npy").write_text("x")
    assert len({one, stage_key(ROOT, [tmp_path]), stage_key(ROOT, [tmp_path / "none"])}) == 2


def test_a_different_unit_has_another_file(tmp_path: Path) -> None:
    kept = KeptUnits(tmp_path)
    kept.write(("coco", 1), {"a": np.array(1)})
    assert kept.read(("coco", 2)) is None
    found = kept.read(("coco", 1))
    assert found is not None and found["a"].tolist() == 1


def test_what_is_kept_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = KeptUnits(tmp_path)
    given: dict[str, Any] = {
        "numbers": np.array([[1.5, np.nan], [np.inf, -0.0]]),
        "halves": np.ones(3, np.float16),
        "words": np.array(["ok", "läuft", ""]),
        "flags": np.array([True, False]),
        "nothing": np.zeros((0, 3)),
    }
    kept.write("unit", given)
    found = kept.read("unit")
    assert found is not None and list(found) == list(given)
    for name, value in given.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)


def test_half_a_file_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptUnits(tmp_path)

    def breaks_off(file: Any, **_: Any) -> None:
        file.write(b"PK half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        kept.write("unit", {"a": np.ones(3)})
    assert kept.read("unit") is None and list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    # what a killed process leaves behind has another name, and is swept away
    kept.write("unit", {"a": np.ones(3)})
    [file] = tmp_path.iterdir()
    left = tmp_path / f".{file.name}.1-abcdef.tmp"
    left.write_bytes(file.read_bytes()[:40])
    file.unlink()
    assert kept.read("unit") is None
    kept.write("unit", {"a": np.ones(3)})
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_pickled_or_unpickled(tmp_path: Path) -> None:
    kept = KeptUnits(tmp_path)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        kept.write("unit", {"a": np.array([{"any": "object"}], dtype=object)})
    assert list(tmp_path.iterdir()) == []
    kept.write("unit", {"a": np.ones(3)})
    [file] = tmp_path.iterdir()
    np.savez(file, allow_pickle=True, a=np.array([None], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        kept.read("unit")


SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np
from pasta.compute import map_units
from pasta.resume import kept_units

def work(number):
    with open("log", "a") as log:
        log.write(f"{number}\\n")
    if number == 3 and sys.argv[1] == "wait":
        print("going", flush=True)
        time.sleep(600)
    return {"double": np.array(2 * number)}

with kept_units("measure", [Path("pipelines/data/images")]) as kept:
    print(sorted(int(one["double"]) for _, one in map_units(work, [1, 2, 3, 4], kept)))
"""


def test_a_process_that_is_killed_goes_on_where_it_was(project: Path) -> None:
    (project / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(compute.__file__).parent.parent)}
    command = [sys.executable, "script.py"]
    first = subprocess.Popen(
        [*command, "wait"], env=environment, stdout=subprocess.PIPE, cwd=project, text=True
    )
    assert first.stdout is not None and first.stdout.readline() == "going\n"
    time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    second = subprocess.run(
        [*command, "on"], env=environment, capture_output=True, cwd=project, text=True, check=True
    )
    assert second.stdout == "[2, 4, 6, 8]\n"
    assert (project / "log").read_text().split() == ["1", "2", "3", "3", "4"]
    assert not (project / UNITS / "measure").exists()
