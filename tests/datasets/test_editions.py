"""Editions of datasets: semantic PASCAL-Part, both sizes of MonuMAI, splits of given sizes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pasta.commands.data import app
from pasta.datasets.files import file_source
from pasta.datasets.files.base import Found
from pasta.datasets.files.check import inspect
from pasta.datasets.files.fetch import EDITIONS, as_remote, fetch
from pasta.datasets.files.monumai import MonuMai
from pasta.datasets.files.pascal_part import PascalPart
from pasta.datasets.files.published import PUBLISHED
from pasta.datasets.files.semantic_part import WITHOUT_PARTS, SemanticPascalPart
from pasta.datasets.files.splitting import draw_split
from pasta.datasets.records import Item
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError, PastaError
from tests.datasets import trees

# The names in the XML files, as two programs that read them list them (github.com/JulesSanchez/
# X-NeSyL, github.com/ivanDonadello/semantic-PASCAL-Part).
WHOLES: list[str] = re.findall(
    r"\w+",
    """Bird Aeroplane Cat Dog Sheep Train Bicycle Horse Bottle Person Car diningtable
Pottedplant Motorbike Sofa Boat Cow Chair Bus Tvmonitor""",
)
PARTS: list[str] = re.findall(
    r"\w+",
    """Arm Engine Coach Tail Pot Cap Ear Horn Ebrow Nose Torso Head Body Muzzle Beak Hand Hair
Neck Foot Stern Artifact_Wing Locomotive License_plate Screen Mirror Saddle Hoof Door Leg Plant
Mouth Animal_Wing Eye Chain_Wheel Bodywork Handlebar Headlight Wheel Window""",
)
STYLES = {"Baroque": 516, "Gothic": 359, "Hispanic-Muslim": 327, "Renaissance": 312}  # OD-MonuMAI


@pytest.fixture
def semantic(tmp_path: Path) -> Path:
    return trees.semantic_pascal_part(tmp_path / "semantic")


# Semantic PASCAL-Part


def test_the_layout_says_which_edition_a_root_is(semantic: Path, tmp_path: Path) -> None:
    assert isinstance(file_source("pascalpart", semantic, 0), SemanticPascalPart)
    raw = trees.pascal_part(tmp_path / "raw")
    assert isinstance(file_source("pascalpart", raw, 0), PascalPart)
    trees.semantic_pascal_part(raw)  # both: the masks say more than the boxes
    assert isinstance(file_source("pascalpart", raw, 0), PascalPart)
    inner = tmp_path / "unzipped"
    trees.semantic_pascal_part(inner / "semanticPascalPart")
    assert len(file_source("pascalpart", inner, 0).items()) == 2


def test_semantic_labels_splits_and_boxes(semantic: Path) -> None:
    source = file_source("pascalpart", semantic, 0)
    bird, plane = source.items()
    assert (bird.image_id, bird.label, plane.image_id, plane.label) == (
        "000001",
        "bird",  # the largest object, not the person in the corner
        "000002",
        "aeroplane",
    )
    assert plane.split == "test" and bird.split != "test"
    # 40 x 40 pixels are left of 60 x 40, from 10 on; at size 40 nothing is scaled.
    record = source.load(bird, 40)
    names = VOCABULARIES["pascalpart"].concepts
    counts = Counter(names[value - 1] for value in record.parts[record.parts > 0].tolist())
    assert counts == {"animal wing": 400 - 25, "eye": 25}
    assert {region.concept: tuple(region.box) for region in record.regions} == {
        "animal wing": (0.25, 0.25, 0.75, 0.75),
        "eye": (0.375, 0.375, 0.5, 0.5),
    }
    _, (wing,) = source.read(plane)
    assert wing.concept == "artifact wing" and tuple(wing.box) == (20, 10, 60, 30)  # 70 is outside


def test_every_semantic_name_is_known(tmp_path: Path) -> None:
    words = VOCABULARIES["pascalpart"]
    objects = [(name, (0, 0, 5, 5), None) for name in (*WHOLES, *PARTS)]
    file = trees.label_me(tmp_path / "all.xml", objects)
    names = [one.name for one in SemanticPascalPart(tmp_path, 0).objects(file)]
    assert set(names[:20]) == {*words.classes, *WITHOUT_PARTS}
    assert sorted(names[20:]) == sorted(words.concepts) and len(PARTS) == 39


def test_the_size_may_be_written_either_way_but_must_be_the_images(semantic: Path) -> None:
    file = semantic / "Annotations_test/000002.xml"
    plane = [("Aeroplane", (12, 5, 48, 35), None)]
    source = file_source("pascalpart", semantic, 0)
    item = Item("000002", "test", "aeroplane")
    trees.label_me(file, plane, trees.HEIGHT, trees.WIDTH)
    assert source.read(item)[0].size == (trees.WIDTH, trees.HEIGHT)
    trees.label_me(file, plane, 61, 40)
    with pytest.raises(InputError, match="61 x 40"):
        source.read(item)


def test_bad_semantic_annotations(semantic: Path) -> None:
    file = semantic / "Annotations_trainval/000001.xml"
    whole = file.read_text()
    for old, new, message in (
        ("Animal_Wing", "Animal_Wings", "Did you mean 'animal wing'"),
        ("<polygon><pt>", "<polygons><pt>", "XML"),
        ("<x>20</x>", "<x>left</x>", "<x> is 'left'"),
        ("<name>Bird</name>", "", "<object> has no <name>"),
    ):
        file.write_text(whole.replace(old, new))
        with pytest.raises(InputError, match=message) as caught:
            file_source("pascalpart", semantic, 0).items()
        assert caught.value.file == file
    file.write_text(whole[:400])
    with pytest.raises(InputError, match="not readable as XML"):
        file_source("pascalpart", semantic, 0).items()
    file.write_text(whole)
    trees.label_me(semantic / "Annotations_test/000001.xml", [("Cat", (0, 0, 9, 9), None)])
    with pytest.raises(InputError, match="each image once"):
        file_source("pascalpart", semantic, 0).items()


def test_a_semantic_folder_is_checked(semantic: Path) -> None:
    (semantic / "JPEGImages_test/000002.jpg").unlink()
    found = {one.what: one for one in inspect("pascalpart", semantic)}
    assert found["annotations without images"].state == "problem"
    assert "000002.xml" in found["annotations without images"].detail
    assert "P1 has 13,192 training images, this folder 1" in found["published size"].detail
    missing = {one.what: one.state for one in inspect("pascalpart", semantic.parent)}
    assert missing["Annotations_Part"] == "missing"


def test_the_files_of_a_record_are_archives_by_name() -> None:
    page = "https://zenodo.org/records/5878773"
    remote = as_remote(page, "Annotations_test.tar.gz", "md5:abc")
    assert remote.url == f"{page}/files/Annotations_test.tar.gz"
    assert (remote.unpack, remote.checksum) == ("tar", "md5:abc")
    assert as_remote(page, "trainval.txt", "md5:abc").unpack is None
    assert EDITIONS["pascalpart"]["semantic"] == 5878773


def test_an_unknown_edition(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="Did you mean 'semantic'"):
        fetch("pascalpart", tmp_path / "new", "semantics")
    with pytest.raises(PastaError, match="monumai has no edition 'semantic'"):
        fetch("monumai", tmp_path / "new", "semantic")
    assert not (tmp_path / "new").exists()


# Published sizes


def monuments(numbers: dict[str, int]) -> list[Item]:
    names = [(f"{style}{place}", style) for style, n in numbers.items() for place in range(n)]
    return [Item(name, "train", style) for name, style in names]


def test_a_folder_of_monumai_is_named_by_its_size() -> None:
    size = PUBLISHED["monumai"]
    today = size.compare(monuments(STYLES))
    assert today.startswith("P1 has 908 images, this folder 1,514; 1,514 is the size of the repos")
    assert "--train 908" in today
    assert "X-NeSyL" in size.compare(monuments({"Gothic": 1092}))
    assert size.compare(monuments({"Gothic": 908})) == "P1 has 908 images, this folder 908"
    assert "100" in size.compare(monuments({"Gothic": 100}))


def test_every_published_size_is_one_of_the_papers() -> None:
    numbers = {name: size.number for name, size in PUBLISHED.items()}
    assert numbers == {  # P1, A.1.1
        "coco": 53_051,
        "pascalpart": 13_192,
        "catsdogscars": 3_858,
        "monumai": 908,
    }
    half = [Item("a", "train", "cat"), Item("b", "validation", "cat"), Item("c", "test", "cat")]
    assert "this folder 2" in PUBLISHED["catsdogscars"].compare(half)


# Splits of given sizes


def test_the_908_of_p1_are_60_percent_of_the_repository() -> None:
    images = [Found(name, label, None) for name, _, label in monuments(STYLES)]
    table = draw_split(images, {"train": 908, "validation": 303, "test": 303}, 0)
    assert table["split"].value_counts().to_dict() == {"train": 908, "validation": 303, "test": 303}
    shares = table[table["split"] == "train"].groupby("label").size()
    expected = np.array([STYLES[style] for style in shares.index]) * 908 / 1514
    assert np.abs(shares.to_numpy() - expected).max() < 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.data())
def test_splits_have_exactly_their_sizes(seed: int, data: st.DataObject) -> None:
    images = [Found(f"{label}{n}", label, None) for label in "abc" for n in range(20)]
    sizes = {
        split: data.draw(st.integers(3, 18), label=split)
        for split in ("train", "validation", "test")
    }
    table = draw_split(images, sizes, seed)
    counts = table["split"].value_counts()
    assert {split: counts[split] for split in sizes} == sizes
    assert len(table) == 60 and table["image_id"].is_unique
    assert table.equals(draw_split(images, sizes, seed))


def test_a_drawn_split_is_what_the_importer_reads(tmp_path: Path) -> None:
    root = trees.monumai(tmp_path)
    command = ["split", "monumai", "--root", str(root), "--train", "4"]
    small = CliRunner().invoke(app, [*command, "--validation", "4", "--test", "1"])
    assert "9" in str(small.exception) and "8 images" in str(small.exception)
    uneven = CliRunner().invoke(app, [*command, "--validation", "1", "--test", "2"])
    assert "validation cannot have 1 images" in str(uneven.exception)  # of four classes
    assert not (root / "split.csv").exists()
    for n in range(2, 6):
        for style in STYLES:
            trees.picture(root / style / f"{style}{n}.jpg")
    done = CliRunner().invoke(app, [*command, "--validation", "4", "--test", "8"])
    assert done.exit_code == 0, done.output
    splits = Counter(item.split for item in MonuMai(root, 0).items())
    assert splits == {"train": 4, "validation": 4, "test": 8}
    again = CliRunner().invoke(app, [*command, "--validation", "4", "--test", "8"])
    assert "already there" in str(again.exception)
    own = trees.coco(tmp_path / "coco")
    refused = CliRunner().invoke(
        app,
        ["split", "coco", "--root", str(own), *command[4:], *("--validation", "4", "--test", "8")],
    )
    assert "test images of its own" in str(refused.exception)
