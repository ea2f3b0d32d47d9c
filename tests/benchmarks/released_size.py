"""A release in its published size on this machine: seconds and memory from files to PDFs.

1,000 images, 21,110 explanations and 633,000 votes are generated, of which 10,000 come later as a
second batch; vectors of 1,024 numbers are given, in which the planted quality is hidden. Each step
is a command as a user types it, in a copy of the project. The table has the seconds of the clock,
those of all processors together and the memory of the largest process, beside what we aim at with
two cores of our own. Nothing fails because of a time. ::

    python -m tests.benchmarks.released_size WORK
    python -m tests.benchmarks.released_size WORK --images 40    # the same in small

The MLP has ten times the published learning rate in a tenth of the epochs (``--mlp-epochs 600``
takes the published ones); scorers are trained on five splits, as in the papers.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pasta.config import dump_yaml
from pasta.paths import PROFILES, VECTORS
from pasta.seeds import generator
from tests.benchmarks.measuring import HEAD, Row, measure
from tests.conftest import ROOT, copy_project
from tests.release_generator import TRUE_SIZE, Planted, Settings, generate, write_later_votes

NAME, WIDTH, LENGTH = "benchmark", 1024, 11.0
LATER = 10_000  # votes of the second batch
PUBLISHED = (600, 2e-6)  # epochs and learning rate of the MLP


def write_profile(project: Path, settings: Settings, epochs: int) -> None:
    """What differs from the profile `released`: given vectors, three scorers, 2,000 resamples."""
    rate = PUBLISHED[1] * PUBLISHED[0] / epochs
    overlay = {
        "profile": NAME,
        "image_size": settings.size,
        "embedding": {
            "encoder": "given",
            "weights": NAME,
            "variants": {"images": [], "n_top": [], "weighted": False},
        },
        "scoring": {
            "scorers": ["constant", "pasta-linear", "pasta-mlp", "ordinal"],
            "mlp": {"epochs": epochs, "learning_rate": rate},
            "studies": {"splits": [], "aggregates": [], "functions": []},
        },
        "analysis": {"resamples": 2000, "permutations": 2000},
        "applications": {"resamples": 2000},
    }
    (project / PROFILES / f"{NAME}.yaml").write_text(dump_yaml(overlay))


def vectors_of(planted: Planted, seed: int) -> NDArray[np.float32]:
    """A vector for each sample: its technique, its quality along one direction, and noise."""
    random = generator(seed, "vectors")
    samples = list(planted.samples)
    names = ["/".join(sample.split("/")[2:]) for sample in samples]
    looks = {name: random.standard_normal(WIDTH) for name in sorted(set(names))}
    direction = random.standard_normal(WIDTH)
    quality = np.array([planted.samples[sample] for sample in samples])
    found = np.stack([0.4 * looks[name] for name in names]) + 0.5 * np.outer(quality, direction)
    found += 0.8 * random.standard_normal(found.shape)
    return np.asarray(LENGTH * found / np.linalg.norm(found, axis=1).mean(), np.float32)


def prepare(work: Path, project: Path, settings: Settings, epochs: int) -> None:
    """Write the release, the later votes, and a copy of the project with the given vectors."""
    work.mkdir(parents=True)
    planted = generate(work / "release", settings)
    write_later_votes(work / "later.csv", settings, planted, LATER)
    copy_project(project)
    write_profile(project, settings, epochs)
    ids = np.array(list(planted.samples))
    vectors = vectors_of(planted, settings.seed)
    np.savez(project / VECTORS / f"{NAME}.npz", ids=ids, vectors=vectors)


def run(work: Path, settings: Settings, epochs: int) -> list[Row]:
    """All steps in a new folder, or what is left of them in an earlier one."""
    project = work / "project"
    if not work.exists():
        prepare(work, project, settings, epochs)
    use = ["pasta", "profile", "use", "released", NAME, "--root", str(work / "release")]
    repro = ["pasta", "workers", "dvc", "repro"]
    later = ["pasta", "study", "ratings", "import", str(work / "later.csv")]
    log = work / "log.txt"
    return [
        measure("look at every entry", "with the next 180 s, 4 GiB", use, project, log),
        measure("check, import, labels", "", [*repro, "votes@ratings"], project, log),
        measure("take given vectors, measure maps", "", [*repro, "embed", "measure"], project, log),
        measure("analyses, scorers, all PDFs", "1,200 s", repro, project, log),
        measure(f"import {LATER:,} later votes", "", later, project, log),
        measure("later votes to all PDFs", "600 s", repro, project, log),
    ]


def main() -> None:
    """Read the options, run the steps, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("work", type=Path, help="a new folder, some 10 GB")
    parser.add_argument("--images", type=int, default=TRUE_SIZE.images)
    parser.add_argument("--size", type=int, default=64, help="of images and maps, in pixels")
    parser.add_argument("--mlp-epochs", type=int, default=60)
    given = parser.parse_args()
    explanations = round(21.11 * given.images)
    settings = replace(
        TRUE_SIZE,
        images=given.images,
        explanations=explanations,
        votes=max(30 * explanations - explanations * 300 // 21_110 - LATER, 20 * explanations),
        size=given.size,
    )
    rows = run(given.work.resolve(), settings, given.mlp_epochs)
    print("\n".join([HEAD, *map(str, rows)]))
    out = ROOT / "build" / "released_size.md"
    out.parent.mkdir(exist_ok=True)
    out.write_text("\n".join([HEAD, *map(str, rows)]) + "\n")


if __name__ == "__main__":
    main()
