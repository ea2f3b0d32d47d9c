"""All votes of P2's study, from a CSV file to labels, against only finding the modes in pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from pasta.studies.batches import merged, stored_folders
from pasta.studies.importing import import_file
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.study import rating_study
from tests.benchmarks.test_ratios import timed
from tests.conftest import ROOT

SAMPLES, VOTES_EACH, PEOPLE = 21_110, 5, 15

MEASURED_ALONE = """
import resource, sys
from pathlib import Path
from tests.benchmarks.test_annotations import labels_of
assert len(labels_of(Path(sys.argv[1]), Path(sys.argv[2]))) == int(sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_votes(folder: Path, samples: int) -> pd.DataFrame:
    """A folder of tidy tables with votes of random people in random order."""
    rng = np.random.default_rng(0)
    ids = np.array([f"coco/{image // 21}/method{image % 21}/resnet50" for image in range(samples)])
    first = rng.integers(0, PEOPLE, (samples, 1, 1))
    numbers = (first + 3 * np.arange(VOTES_EACH)[:, None]) % PEOPLE
    people = np.char.add("person", numbers.astype(str))
    shape = (samples, VOTES_EACH, len(QUESTIONS))
    votes = pd.DataFrame(
        {
            "sample_id": np.broadcast_to(ids[:, None, None], shape).ravel(),
            "annotator_id": np.broadcast_to(people, shape).ravel(),
            "question": np.broadcast_to(np.array(QUESTIONS), shape).ravel(),
            "rating": rng.integers(1, 6, shape).ravel(),
        }
    )
    votes = votes.sample(frac=1, random_state=0)
    folder.mkdir()
    votes.to_csv(folder / "votes.csv", index=False)
    annotators = pd.DataFrame({"annotator_id": [f"person{number}" for number in range(PEOPLE)]})
    annotators.to_csv(folder / "annotators.csv", index=False)
    (folder.parent / f"{folder.name}.txt").write_text("\n".join(ids))
    return votes


def labels_of(folder: Path, root: Path) -> pd.DataFrame:
    """Read, check and import a file, read what is stored and aggregate it."""
    known = (folder.parent / f"{folder.name}.txt").read_text().split()
    rated = rating_study(load_protocol("p2"))
    import_file(folder, rated, root, {"explanations": pd.DataFrame({"sample_id": known})})
    return aggregate(merged(rated, stored_folders(root))["votes"])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("votes")
    write_votes(folder / "few", 50)
    return folder, write_votes(folder / "many", SAMPLES)


def test_votes_to_labels_against_groupby_apply_with_scipys_mode(
    study: tuple[Path, pd.DataFrame],
) -> None:
    folder, votes = study
    labels_of(folder / "few", folder / "warm")
    fast, labels = timed(lambda: labels_of(folder / "many", folder / "batches"))
    groups = votes.groupby(["sample_id", "question"])["rating"]
    slow, modes = timed(lambda: groups.apply(lambda ratings: scipy.stats.mode(ratings).mode))
    found = labels.set_index(["sample_id", "question"])["mode"]
    pd.testing.assert_series_equal(found, modes, check_names=False)
    print(f"\n{len(votes)} votes, read to labels: {slow / fast:.0f}x groupby-apply ({fast:.2f} s)")
    assert slow / fast >= 20


def test_votes_to_labels_fit_into_two_gibibytes(study: tuple[Path, pd.DataFrame]) -> None:
    folder, votes = study
    labels = len(votes) // VOTES_EACH
    command = [
        sys.executable,
        "-c",
        MEASURED_ALONE,
        *map(str, (folder / "many", folder / "alone", labels)),
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    peak = int(done.stdout) * (1 if sys.platform == "darwin" else 1024)
    print(f"\n{len(votes)} votes, read to labels: {peak / 2**20:.0f} MiB at most")
    assert peak < 2 * 2**30
