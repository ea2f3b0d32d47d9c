"""Datasets to rehearse with: read by the importers of the real ones, they are what was drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pasta.cli import app
from pasta.datasets.drawn.source import draw
from pasta.datasets.files import file_source
from pasta.datasets.files.check import inspect
from pasta.datasets.files.pascal_part import CONCEPTS
from pasta.datasets.records import SPLITS
from pasta.datasets.rehearsal import SIZE, WRITERS, write_rehearsal
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import InputError
from tests.conftest import contents, names

MASKS = ("pascalpart", "coco")  # the others have boxes
NUMBERS: dict[str, Callable[[str], int]] = {  # of the drawing, from the name of the image
    "catsdogscars": lambda name: int(name.partition(".")[2]),
    "pascalpart": lambda name: int(name.partition("_")[2]),
    "monumai": lambda name: int(name.removeprefix("5b"), 16),
    "coco": lambda name: int(name) - 1,
}


@pytest.fixture(scope="module", params=list(WRITERS))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trees") / str(request.param)
    number = write_rehearsal(request.param, root, (1, 1, 1), least_test=3)
    assert number == 3 * len(vocabulary(request.param).classes)
    return root


def test_every_class_is_in_every_split_and_nothing_is_missing(written: Path) -> None:
    items = file_source(written.name, written, seed=0).items()
    found = Counter((item.split, item.label) for item in items)
    wanted = {(split, label) for split in SPLITS for label in vocabulary(written.name).classes}
    assert found == dict.fromkeys(wanted, 1)
    assert {finding.state for finding in inspect(written.name, written)} == {"ok"}


def test_what_is_read_is_what_was_drawn(written: Path) -> None:
    dataset = written.name
    source, words = file_source(dataset, written, seed=0), vocabulary(dataset)
    for item in source.items():
        drawn = draw(dataset, 0, NUMBERS[dataset](item.image_id), SIZE)
        read = source.load(item, SIZE)
        assert read.label == drawn.label == item.label
        assert np.abs(read.image.astype(int) - drawn.image).mean() < 6  # a JPEG
        seen = {region.concept for region in read.regions}
        there = {region.concept for region in drawn.regions}
        if dataset == "pascalpart":
            there &= set(CONCEPTS[item.label].values())
        assert seen <= there
        if dataset in MASKS:
            known = np.isin(drawn.parts, [words.value(concept) for concept in seen])
            assert (read.parts[known] == drawn.parts[known]).mean() > 0.95


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_rehearsal("monumai", tmp_path / name, (1, 1, 1), 1, seed=3)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    write_rehearsal("monumai", tmp_path / "third", (1, 1, 1), 1, seed=4)
    assert contents(tmp_path / "first") != contents(tmp_path / "third")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="coco: is there already"):
        write_rehearsal("coco", tmp_path / "coco")
    assert names(tmp_path) == ["coco"] and names(tmp_path / "coco") == ["mine.txt"]


@pytest.mark.slow
def test_a_command_writes_all_four(tmp_path: Path) -> None:
    call = ["data", "rehearse", str(tmp_path), "--train", "2", "--test", "1"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert names(tmp_path) == sorted(WRITERS)
    splits = Counter(item.split for item in file_source("coco", tmp_path / "coco", 0).items())
    assert splits == {"train": 12, "validation": 6, "test": 6}
