"""Ten million votes on this machine: labels, kappa with intervals and the ordinal model.

The shape is that of the release: 21 techniques of each image, six questions, five of 24 people on
each explanation, which makes 30 votes. Each step is a process of its own, so that its memory is its
own; what we aim at is 8 GiB. Nothing fails because of a time or of memory. ::

    python -m tests.benchmarks.ten_million_votes WORK
    python -m tests.benchmarks.ten_million_votes WORK --votes 1000000 --people 500

``--width`` is the length of the vectors that the ordinal model learns from, 1,024 as those of
SigLIP's large encoder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import pasta.scoring.ordinal  # noqa: F401 (registers the scorer)
from analysis.agreement import agreement_summary
from pasta import store
from pasta.config import checked_params, profile_text
from pasta.paths import PARAMS
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.evaluation import quadratic_kappa, round_stars, star_counts
from pasta.seeds import generator
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import LABELS, VOTES
from tests.benchmarks.measuring import HEAD, Row, measure
from tests.conftest import ROOT

TECHNIQUES, ANSWERS = 21, 5
AIM = "8 GiB"
STEPS = ("write", "labels", "kappa", "ordinal")


@dataclass(frozen=True)
class Size:
    """How much there is."""

    votes: int
    people: int
    width: int

    @property
    def samples(self) -> int:
        """Rated explanations."""
        return self.votes // (ANSWERS * len(QUESTIONS))


def qualities(size: Size) -> NDArray[np.float32]:
    """What the votes on each sample follow."""
    random = generator(0, "ten million votes", "quality")
    return random.standard_normal(size.samples, np.float32)


def write_votes(work: Path, size: Size) -> None:
    """The table of votes, under its contract."""
    random = generator(0, "ten million votes", "votes")
    first = random.integers(size.people, size=size.samples)
    step = random.integers(1, size.people // ANSWERS, size=size.samples)
    person = (first[:, None] + step[:, None] * np.arange(ANSWERS)) % size.people
    lenient = random.normal(0, 0.3, size.people)
    shape = (size.samples, ANSWERS, len(QUESTIONS))
    latent = 3 + qualities(size)[:, None, None] + lenient[person][..., None]
    stars = latent + random.normal(0, 0.7, shape)
    each = ANSWERS * len(QUESTIONS)
    image, technique = np.divmod(np.arange(size.samples), TECHNIQUES)
    width = len(str(image.max()))
    names = [
        f"drawn/{i:0{width}d}/m{t}/resnet50"
        for i, t in zip(image.tolist(), technique.tolist(), strict=True)
    ]
    people = np.array([f"person-{number:04d}" for number in range(size.people)])
    frame = pd.DataFrame(
        {
            "sample_id": pd.Series(names, dtype="str").repeat(each).reset_index(drop=True),
            "annotator_id": pd.Series(people[person.repeat(len(QUESTIONS), axis=1)].ravel()),
            "question": pd.Series(np.tile(QUESTIONS, size.samples * ANSWERS)),
            "rating": np.clip(np.round(stars), 1, 5).astype(np.int64).ravel(),
            "submitted_at": pd.Series(
                pd.NaT, index=range(size.samples * each), dtype="datetime64[us, UTC]"
            ),
            "simulated": True,
        }
    )
    store.write(frame, work / "votes.parquet", VOTES)


def make_labels(work: Path, _: Size) -> None:
    """Votes, checked while they are read, to labels."""
    labels = aggregate(store.read(work / "votes.parquet", VOTES))
    store.write(labels, work / "labels.parquet", LABELS)
    print(f"{len(labels):,} labels")


def measure_kappa(work: Path, size: Size) -> None:
    """Every measure of agreement, with 2,000 resamples of images."""
    votes = pd.read_parquet(work / "votes.parquet", columns=list(VOTES.columns)[:4])
    votes.columns = pd.Index(["unit", "rater", "item", "rating"])
    votes["image"] = votes["unit"].str.rsplit("/", n=2).str[0]
    found = agreement_summary(votes, cluster="image", pairs=size.people <= 40)
    print(found.round(4).to_string())


def fit_ordinal(work: Path, size: Size) -> None:
    """The settings of P2's profile on vectors in which the quality is hidden."""
    labels = store.read(work / "labels.parquet", LABELS)
    stars = [f"votes_{star}" for star in range(1, 6)]
    shape = (size.samples, len(QUESTIONS))
    counts = labels[stars].to_numpy(np.int64).reshape(*shape, 5)
    modes = labels["mode"].to_numpy(np.float32).reshape(shape)
    del labels
    random = generator(0, "ten million votes", "vectors")
    features = random.standard_normal((size.samples, size.width), np.float32)
    hidden = random.standard_normal(size.width, np.float32)
    features += 0.5 * np.outer(qualities(size), hidden / np.sqrt(np.mean(hidden**2)))
    settings = checked_params(ROOT / PARAMS, profile_text("paper_p2", ROOT)).scoring.ordinal
    ends = [int(share * size.samples) for share in (0.7, 0.85)]
    parts = np.split(random.permutation(size.samples), ends)
    whole = Rated(features, counts, modes)
    train, validation, test = (whole.at(np.sort(part)) for part in parts)
    del whole, features, counts
    model = SCORERS["ordinal"].fit(train, validation, settings, 0)
    given = round_stars(model.predict(test.features).stars[:, 0])
    kappa = quadratic_kappa(star_counts(test.labels[:, 0], given))
    print(f"{len(train):,} explanations to learn from; kappa on {len(test):,} others {kappa:.3f}")


def main() -> None:
    """All steps, each a process, or the one that was named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("work", type=Path, help="a folder, some 3 GB")
    parser.add_argument("--votes", type=int, default=10_000_000)
    parser.add_argument("--people", type=int, default=24)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--step", choices=STEPS, action="append")
    parser.add_argument("--here", action="store_true", help="in this process")
    given = parser.parse_args()
    size = Size(given.votes, given.people, given.width)
    given.work.mkdir(parents=True, exist_ok=True)
    work = given.work.resolve()
    does: dict[str, Callable[[Path, Size], None]] = dict(
        zip(STEPS, (write_votes, make_labels, measure_kappa, fit_ordinal), strict=True)
    )
    if given.here:
        for step in given.step or STEPS:
            does[step](work, size)
        return
    rows: list[Row] = []
    for step in given.step or STEPS:
        numbers = [f"--{name}={getattr(size, name)}" for name in ("votes", "people", "width")]
        command = [sys.executable, "-m", "tests.benchmarks.ten_million_votes", str(work), "--here"]
        row = measure(step, AIM, [*command, "--step", step, *numbers], ROOT, work / "log.txt")
        rows.append(row)
    print("\n".join([HEAD, *map(str, rows)]))


if __name__ == "__main__":
    main()
