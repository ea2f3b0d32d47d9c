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

from pasta.studies.base import Frames, Study
from pasta.studies.batches import ledger, list_batches, merged, stored_folders
from pasta.studies.importing import import_file
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.study import rating_study
from tests.conftest import ROOT, names
from tests.studies.toy import toy_study, write_answers

KILLS = 13
PEOPLE = [f"person{number}" for number in range(5)]
SAMPLES = [f"coco/{image}/gradcam/resnet50" for image in range(300)]
OUTSIDE: Frames = {"explanations": pd.DataFrame({"sample_id": SAMPLES}, dtype="str")}


def study_called(name: str) -> Study:
    """The rating study, or the toy one; the child process calls this too."""
    return toy_study() if name == "toy" else rating_study(load_protocol("p2"))


# Forks once for each line it reads, so that a start-up is paid only once. The child imports into
# the folder that the line names, or withdraws its first batch; with "fsync 3" in its line it kills
# itself instead of making its third call of os.fsync, with "event 3" at the third event of the
# interpreter (a call or a return).
# So a moment is a number of steps, whatever the clock says. The last word is the number of events.
CHILD = """
import os, signal, sys
from pathlib import Path
from pasta.studies.importing import import_file, withdraw
from tests.studies.test_importing_killed import OUTSIDE, study_called

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
    if name == "none":
        return
    owner = Path if name in ("rename", "replace") else os
    original, calls = getattr(owner, name), []
    def counted(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            die()
        return original(*arguments, **options)
    setattr(owner, name, counted)

for line in sys.stdin:
    study, source, root, name, number = line.split()
    child = os.fork()
    if child == 0:
        die_at(name, int(number))
        if source == "withdraw":
            withdraw("1", study_called(study), Path(root), "asked to")
        else:
            import_file(Path(source), study_called(study), Path(root), OUTSIDE)
        sys.setprofile(None)
        Path(sys.argv[1]).write_text(str(events))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def write_votes(folder: Path, people: list[str]) -> Path:
    folder.mkdir(parents=True)
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
        for name, people in (("first", PEOPLE[:1]), ("second", PEOPLE[1:])):
            write_votes(folder / "ratings" / name, people)
            write_answers(folder / "toy" / name, people)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(folder / "events.txt")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def run(
        self, root: Path, moment: str = "event 0", study: str = "ratings", withdraw: bool = False
    ) -> int:
        """Import the second file or withdraw the first, or be killed at a moment; the exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        source = "withdraw" if withdraw else self.folder / study / "second"
        self.process.stdin.write(f"{study} {source} {root} {moment}\n")
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


def first_batch(importer: Importer, folder: Path, study: str = "ratings") -> Path:
    """A folder with a stored batch."""
    import_file(importer.folder / study / "first", study_called(study), folder, OUTSIDE)
    return folder


def assert_whole(root: Path, name: str = "ratings") -> int:
    """Every stored batch is complete; how many there are."""
    study, batches = study_called(name), list_batches(root)
    answers = merged(study, stored_folders(root))[study.main.table.name]
    one = len(merged(study, batches[:1])[study.main.table.name])
    assert len(answers) == one * [1, len(PEOPLE)][len(batches) - 1]
    return len(batches)


def test_an_import_killed_at_random_moments_is_all_or_nothing(
    importer: Importer, tmp_path: Path
) -> None:
    root = first_batch(importer, tmp_path / "batches")
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


MOMENTS = [
    *[(f"fsync {number}", 1) for number in (1, 2, 3, 4, 5)],
    ("rename 1", 1),
    ("fsync 6", 2),  # the folder of the batches itself: the batch is there already
]


@pytest.mark.parametrize(
    ("study", "moment", "stored"),
    [("ratings", *one) for one in MOMENTS] + [("toy", *one) for one in MOMENTS[2::2]],
)
def test_an_import_killed_between_two_steps_is_all_or_nothing(
    study: str, moment: str, stored: int, importer: Importer, tmp_path: Path
) -> None:
    root = first_batch(importer, tmp_path / "batches", study)
    assert importer.run(root, moment, study) == -signal.SIGKILL
    assert assert_whole(root, study) == stored
    assert importer.run(root, study=study) == 0
    assert assert_whole(root, study) == 2 and names(root) == ["0001-first", "0002-second"]


@pytest.mark.parametrize("study", ["ratings", "toy"])
@pytest.mark.parametrize(
    ("moment", "withdrawn"),
    [("event 1", 0), ("event 60", 0), ("fsync 1", 0), ("replace 1", 0), ("none 0", 1)],
)
def test_a_withdrawal_killed_at_any_step_is_all_or_nothing(
    study: str, moment: str, withdrawn: int, importer: Importer, tmp_path: Path
) -> None:
    root = first_batch(importer, tmp_path / "batches", study)
    assert importer.run(root, study=study) == 0
    name = study_called(study).main.table.name
    everything = len(merged(study_called(study), stored_folders(root))[name])
    killed = importer.run(root, moment, study, withdraw=True)
    assert killed == (0 if withdrawn else -signal.SIGKILL)
    left = len(merged(study_called(study), stored_folders(root))[name])
    share = (len(PEOPLE) - 1) / len(PEOPLE)
    assert left == (round(everything * share) if withdrawn else everything)
    assert importer.run(root, study=study, withdraw=True) == 0
    left = len(merged(study_called(study), stored_folders(root))[name])
    assert left == round(everything * share)
    assert ledger(study_called(study), root)["reason"].tolist() == ["asked to", ""]
    assert not list((root / "0001-first").glob(".*"))
