"""An import that is killed at any moment loses no stored vote and stores no half batch."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from pasta.annotations.batches import list_batches, merged
from pasta.annotations.importing import import_file, stored_folders
from pasta.annotations.protocol import load_protocol
from tests.conftest import ROOT, names

KILLS = 20
PEOPLE = [f"person{number}" for number in range(5)]
SAMPLES = [f"coco/{image}/gradcam/resnet50" for image in range(3000)]

# Forks once for each line it reads, so that a start-up is paid only once. The child imports; with
# "fsync 3" in its line it kills itself instead of making its third call of os.fsync.
CHILD = """
import os, signal, sys
from pathlib import Path
import pandas as pd
import pandera.pandas, pyarrow.compute, pyarrow.csv
import pasta.annotations.formats.base
from pasta.annotations.importing import import_file
from pasta.annotations.protocol import load_protocol

source, root, samples = map(Path, sys.argv[1:])
known = pd.Index(samples.read_text().split())

def die_at(name, number):
    owner = Path if name == "rename" else os
    original, calls = getattr(owner, name), []
    def counted(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)
    setattr(owner, name, counted)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        if line.strip():
            name, number = line.split()
            die_at(name, int(number))
        import_file(source, root, known, load_protocol("p2"))
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()  # until then the child keeps its number, even when it has ended
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def write(folder: Path, people: list[str]) -> Path:
    folder.mkdir()
    rows = [
        f"{sample},{person},Q{question},{1 + (number + question) % 5}"
        for number, sample in enumerate(SAMPLES)
        for person in people
        for question in range(1, 7)
    ]
    header = "sample_id,annotator_id,question,rating"
    (folder / "votes.csv").write_text("\n".join([header, *rows]) + "\n")
    (folder / "annotators.csv").write_text("\n".join(["annotator_id", *people]) + "\n")
    return folder


class Importer:
    """A process that imports whenever it is told to."""

    def __init__(self, source: Path, root: Path, samples: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(source), str(root), str(samples)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def start(self, line: str = "") -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def ended(self) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def importer(source: Path, root: Path, samples: Path) -> Iterator[Importer]:
    running = Importer(source, root, samples)
    try:
        yield running
    finally:
        running.process.communicate(timeout=60)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with a stored batch, and a second file to be imported."""
    (tmp_path / "samples.txt").write_text("\n".join(SAMPLES))
    write(tmp_path / "first", PEOPLE[:1])
    write(tmp_path / "second", PEOPLE[1:])
    import_file(tmp_path / "first", tmp_path / "batches", pd.Index(SAMPLES), load_protocol("p2"))
    return tmp_path


def assert_whole(root: Path) -> int:
    """Every stored batch is complete; how many there are."""
    batches = list_batches(root)
    votes = merged(stored_folders(root)).votes
    expected = [1, len(PEOPLE)][len(batches) - 1] * len(SAMPLES) * 6
    assert len(votes) == expected
    return len(batches)


def test_an_import_killed_at_random_moments_is_all_or_nothing(study: Path) -> None:
    root, samples = study / "batches", study / "samples.txt"
    rng = random.Random(0)
    with importer(study / "second", study / "trial", samples) as trial:
        trial.start()  # the first fork is slow
        assert trial.ended() == 0
        shutil.rmtree(study / "trial")
        began = time.perf_counter()
        trial.start()
        assert trial.ended() == 0
        seconds = time.perf_counter() - began
    killed = 0
    with importer(study / "second", root, samples) as running:
        for turn in range(KILLS):
            child = running.start()
            time.sleep(seconds * (turn + rng.random()) / KILLS)
            os.kill(child, signal.SIGKILL)
            killed += running.ended() == -signal.SIGKILL
            assert_whole(root)
        running.start()
        assert running.ended() == 0
    assert killed >= KILLS // 2
    assert assert_whole(root) == 2 and names(root) == ["0001-first", "0002-second"]


@pytest.mark.parametrize(
    ("call", "stored"),
    [
        *[(f"fsync {number}", 1) for number in (1, 2, 3, 4, 5)],
        ("rename 1", 1),
        ("fsync 6", 2),  # the folder of the batches itself: the batch is there already
    ],
)
def test_an_import_killed_between_two_steps_is_all_or_nothing(
    call: str, stored: int, study: Path
) -> None:
    root = study / "batches"
    with importer(study / "second", root, study / "samples.txt") as running:
        running.start(call)
        assert running.ended() == -signal.SIGKILL
        assert assert_whole(root) == stored
        running.start()
        assert running.ended() == 0
    assert assert_whole(root) == 2 and names(root) == ["0001-first", "0002-second"]
