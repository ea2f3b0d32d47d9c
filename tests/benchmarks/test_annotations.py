"""All votes of P2's study, from a CSV file to labels, against only finding the modes in pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

from pasta.studies.batches import merged, stored_folders
from pasta.studies.importing import import_file
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.study import rating_study
from tests.benchmarks.conftest import Table

SAMPLES, VOTES_EACH, PEOPLE = 21_110, 5, 15


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


def test_votes_to_labels(table: Table, tmp_path: Path) -> None:
    """Reading, checking, importing and aggregating, beside only finding the modes."""
    write_votes(tmp_path / "few", 50)
    votes = write_votes(tmp_path / "many", SAMPLES)
    labels_of(tmp_path / "few", tmp_path / "warm")
    groups = votes.groupby(["sample_id", "question"])["rating"]

    def ours() -> Any:
        labels = labels_of(tmp_path / "many", tmp_path / "batches")
        return labels.set_index(["sample_id", "question"])["mode"].sort_index().to_numpy()

    def theirs() -> Any:
        modes = groups.apply(lambda ratings: scipy.stats.mode(ratings).mode)
        return modes.sort_index().to_numpy()

    table.compare(f"{len(votes)} votes to labels", "pandas and scipy", theirs, ours)
