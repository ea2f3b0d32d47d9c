"""An import that is killed at any moment loses no stored vote and stores no half batch."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from pasta.studies.ratings.batches import list_batches, merged
from pasta.studies.ratings.importing import import_file, stored_folders
from pasta.studies.ratings.protocol import load_protocol
from tests.conftest import ROOT, names

KILLS = 12
PEOPLE = [f"person{number}" for number in range(5)]
SAMPLES = [f"coco/{image}/gradcam/resnet50" for image in range(300)]

# Forks once for each line it reads, so that a start-up is paid only once. The child imports into
# the folder that the line names; with "fsync 3" in its line it kills itself instead of making its
# third call of os.fsync, with "event 3" at the third event of the interpreter (a call or a return).
# So a moment is a number of steps, whatever the clock says. The last word is the number of events.
CHILD = """
import os, signal, sys
from pathlib import Path
import pandas as pd
from pasta.studies.ratings.importing import import_file
from pasta.studies.ratings.protocol import load_protocol

samples = Path(sys.argv[1])
known = pd.Index(samples.read_text().split())
events = 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def die_at(name, number):
    if name == "event":
        def count(*_):
            global events
            events += 1
            if events == number:
                die()
        sys.setprofile(count)
        return
    owner = Path if name == "rename" else os
    original, calls = getattr(owner, name), []
    def counted(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            die()
        return original(*arguments, **options)
    setattr(owner, name, counted)

for line in sys.stdin:
    source, root, name, number = line.split()
    child = os.fork()
    if child == 0:
        die_at(name, int(number))
        import_file(Path(source), Path(root), known, load_protocol("p2"))
        sys.setprofile(None)
        samples.with_name("events.txt").write_text(str(events))
        os._exit(0)
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

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "samples.txt").write_text("\n".join(SAMPLES))
        write(folder / "first", PEOPLE[:1])
        write(folder / "second", PEOPLE[1:])
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(folder / "samples.txt")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def run(self, root: Path, moment: str = "event 0") -> int:
        """Import the second file, or be killed at a moment; the exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{self.folder / 'second'} {root} {moment}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def events(self) -> int:
        """How many events the last import had that was not killed."""
        return int((self.folder / "events.txt").read_text())


@pytest.fixture(scope="module")
def importer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Importer]:
    running = Importer(tmp_path_factory.mktemp("study"))
    yield running
    running.process.communicate(timeout=60)


@pytest.fixture
def root(importer: Importer, tmp_path: Path) -> Path:
    """A folder with a stored batch."""
    folder = tmp_path / "batches"
    import_file(importer.folder / "first", folder, pd.Index(SAMPLES), load_protocol("p2"))
    return folder


def assert_whole(root: Path) -> int:
    """Every stored batch is complete; how many there are."""
    batches = list_batches(root)
    votes = merged(stored_folders(root)).votes
    expected = [1, len(PEOPLE)][len(batches) - 1] * len(SAMPLES) * 6
    assert len(votes) == expected
    return len(batches)


def test_an_import_killed_at_random_moments_is_all_or_nothing(
    importer: Importer, root: Path, tmp_path: Path
) -> None:
    for trial in ("first", "second"):  # the first one fills caches of the libraries
        assert importer.run(tmp_path / trial) == 0
    events, rng = importer.events(), random.Random(0)
    killed = 0
    for turn in range(KILLS):
        moment = int(events * (turn + rng.random()) / KILLS)
        killed += importer.run(root, f"event {max(moment, 1)}") == -signal.SIGKILL
        assert_whole(root)
    assert importer.run(root) == 0
    assert killed >= KILLS // 2
    assert assert_whole(root) == 2 and names(root) == ["0001-first", "0002-second"]


@pytest.mark.parametrize(
    ("moment", "stored"),
    [
        *[(f"fsync {number}", 1) for number in (1, 2, 3, 4, 5)],
        ("rename 1", 1),
        ("fsync 6", 2),  # the folder of the batches itself: the batch is there already
    ],
)
def test_an_import_killed_between_two_steps_is_all_or_nothing(
    moment: str, stored: int, importer: Importer, root: Path
) -> None:
    assert importer.run(root, moment) == -signal.SIGKILL
    assert assert_whole(root) == stored
    assert importer.run(root) == 0
    assert assert_whole(root) == 2 and names(root) == ["0001-first", "0002-second"]
