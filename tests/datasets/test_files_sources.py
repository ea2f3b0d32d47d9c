"""Every importer and the report on its folder: true layouts, bad input, CSV errors and splits."""

from __future__ import annotations

import pickle
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.datasets.files import FILES, FileSource
from pasta.datasets.files.base import assign_split, read_split_file
from pasta.datasets.files.check import LAYOUTS, Finding, inspect
from pasta.datasets.files.monumai import CROPPED, NAMES, MonuMai
from pasta.datasets.files.pascal_part import CONCEPTS, concept
from pasta.datasets.files.tables import read_table
from pasta.datasets.records import Item, Record
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError, PastaError
from tests.datasets import trees

BUILDERS: dict[str, Callable[[Path], Path]] = {
    "coco": trees.coco,
    "pascalpart": trees.pascal_part,
    "catsdogscars": trees.cats_dogs_cars,
    "monumai": trees.monumai,
}
every = pytest.mark.parametrize("dataset", list(BUILDERS))


def build(dataset: str, root: Path) -> FileSource:
    return FILES[dataset](BUILDERS[dataset](root), 0)


def named(source: FileSource, image_id: str) -> Item:
    return next(item for item in source.items() if item.image_id == image_id)


def concepts(record: Record, dataset: str) -> dict[str, int]:
    """How many pixels each concept has."""
    values, counts = np.unique(record.parts[record.parts > 0], return_counts=True)
    names = VOCABULARIES[dataset].concepts
    return {names[value - 1]: int(count) for value, count in zip(values, counts, strict=True)}


def fails(source: FileSource, message: str, image_id: str = "") -> InputError:
    """Assert that listing (or loading one image) is an input error with such a message."""
    with pytest.raises(InputError, match=message) as caught:
        if image_id:
            source.load(Item(image_id, "train", source.vocabulary.classes[0]), 32)
        else:
            source.items()
    return caught.value


@every
def test_items_and_records(dataset: str, tmp_path: Path) -> None:
    source = build(dataset, tmp_path)
    items = source.items()
    assert items
    assert [item.image_id for item in items] == sorted({item.image_id for item in items})
    for item in items:
        record = source.load(item, 32)
        assert item.label == record.label in source.vocabulary.classes
        assert record.image.shape == (32, 32, 3)
        assert record.parts.shape == (32, 32)
        assert record.image.dtype == record.parts.dtype == np.uint8
        assert (record.width, record.height) == (trees.WIDTH, trees.HEIGHT)
        assert (tmp_path / record.source).is_file()
        assert {region.concept for region in record.regions} <= set(source.vocabulary.concepts)
        assert set(concepts(record, dataset)) <= {region.concept for region in record.regions}


@every
def test_a_source_is_lazy_and_loads_alone_in_another_process(dataset: str, tmp_path: Path) -> None:
    FILES[dataset](tmp_path / "absent", 0)
    source = build(dataset, tmp_path)
    item = source.items()[-1]
    before = FILES[dataset](tmp_path, 0)
    for other in (pickle.loads(pickle.dumps(source)), pickle.loads(pickle.dumps(before))):  # noqa: S301
        loaded, expected = other.load(item, 32), source.load(item, 32)
        assert np.array_equal(loaded.image, expected.image)
        assert np.array_equal(loaded.parts, expected.parts)
        assert loaded.regions == expected.regions


@every
def test_split_file(dataset: str, tmp_path: Path) -> None:
    source = build(dataset, tmp_path)
    chosen = source.items()[0].image_id
    trees.text(tmp_path / "split.csv", "image_id,split", f"{chosen},validation")
    assert named(FILES[dataset](tmp_path, 0), chosen).split == "validation"
    trees.text(tmp_path / "split.csv", "image_id,split", "nothing,validation")
    error = fails(FILES[dataset](tmp_path, 0), "no image 'nothing'")
    assert (error.row, error.column) == (2, "image_id")


def test_new_images_move_no_others(tmp_path: Path) -> None:
    before = build("monumai", tmp_path).items()
    trees.picture(tmp_path / "Gothic" / "new.jpg")
    assert set(before) < set(FILES["monumai"](tmp_path, 0).items())


@every
def test_a_damaged_image_is_named(dataset: str, tmp_path: Path) -> None:
    source = build(dataset, tmp_path)
    item = source.items()[0]
    path = source.path(item)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=path.name):
        source.load(item, 32)


# COCO


def test_coco_masks_and_splits(tmp_path: Path) -> None:
    source = build("coco", tmp_path)
    assert [item.image_id for item in source.items()] == [
        "000000000009",
        "000000000025",
        "000000000139",
    ]
    assert named(source, "000000000139").split == "test"
    assert {named(source, name).split for name in ("000000000009", "000000000025")} <= {
        "train",
        "validation",
    }
    # 40 x 40 pixels are left of 60 x 40, so that at size 40 nothing is scaled.
    polygon = source.load(named(source, "000000000009"), 40)
    assert concepts(polygon, "coco") == {"chair": 400 - 16, "cup": 16}
    assert [region.concept for region in polygon.regions] == ["chair", "cup"]
    assert polygon.regions[0].box == (0.25, 0.25, 0.75, 0.75)
    for name in ("000000000025", "000000000139"):  # plain and packed run lengths, one a crowd
        record = source.load(named(source, name), 40)
        assert concepts(record, "coco") == {"cup": 400}
        assert record.parts[10:30, 10:30].all()


def test_coco_reads_the_large_file_only_if_an_image_needs_it(tmp_path: Path) -> None:
    trees.coco(tmp_path)
    (tmp_path / "annotations/instances_train2017.json").unlink()
    trees.text(tmp_path / "scene_labels.csv", "image_id,label", "139,cultural")
    assert len(FILES["coco"](tmp_path, 0).items()) == 1


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("x,cultural", "image_id", "no COCO image id"),
        ("9,cultral", "label", "Did you mean 'cultural'"),
        ("139,workplace", "image_id", "already in row 2"),
        ("77,cultural", "image_id", "no image 77"),
    ],
)
def test_coco_scene_labels(tmp_path: Path, line: str, column: str, message: str) -> None:
    trees.coco(tmp_path)
    path = trees.text(tmp_path / "scene_labels.csv", "image_id,label", "139,cultural", line)
    error = fails(FILES["coco"](tmp_path, 0), message)
    assert (error.file, error.row, error.column) == (path, 3, column)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"size": [40, 60]', '"size": [60, 40]', "annotation 4.*size"),
        ('"width": 60', '"width": 61', "61 x 40"),
        ('"bbox": [20', '"bbox": ["a"', "annotation 4.*box"),
        ('"name": "cup"', '"name": "cupp"', "Did you mean 'cup'"),
        ('"file_name": "0', '"file_name": "../0', "is a path"),
        ('"category_id": ', '"category_id": 9', "incomplete"),
        ('"images"', '"pictures"', "images"),
        ("{", "[", "JSON"),
    ],
)
def test_coco_bad_annotations(tmp_path: Path, old: str, new: str, message: str) -> None:
    trees.coco(tmp_path)
    path = tmp_path / "annotations/instances_val2017.json"
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))
    error = fails(FILES["coco"](tmp_path, 0), message, "000000000139")
    assert error.file == path


# PASCAL-Part


def test_pascal_part_labels_and_parts(tmp_path: Path) -> None:
    source = build("pascalpart", tmp_path)
    assert {item.image_id: item.label for item in source.items()} == {
        "2008_000002": "tvmonitor",
        "2008_000003": "bird",  # larger than the person
        "2008_000008": "aeroplane",
    }
    bird = source.load(named(source, "2008_000003"), 40)
    assert concepts(bird, "pascalpart") == {"animal wing": 100 - 9, "eye": 9}
    aeroplane = source.load(named(source, "2008_000008"), 40)
    assert concepts(aeroplane, "pascalpart") == {"artifact wing": 100, "engine": 16}
    assert aeroplane.regions[0].box == (0.25, 0.25, 0.5, 0.5)


def test_pascal_part_names_are_concepts_and_classes_of_the_vocabulary() -> None:
    names = VOCABULARIES["pascalpart"]
    assert set(CONCEPTS) == set(names.classes)
    assert {one for table in CONCEPTS.values() for one in table.values()} == set(names.concepts)


@pytest.mark.parametrize(
    ("label", "part", "expected"),
    [
        ("horse", "lfho", "hoof"),
        ("horse", "rbho", "hoof"),
        ("cat", "lear", "ear"),
        ("dog", "rfpa", "foot"),
        ("cow", "lfuleg", "leg"),
        ("car", "fliplate", "license_plate"),
        ("car", "headlight_1", "headlight"),
        ("bus", "roofside", "bodywork"),
        ("bicycle", "chainwheel", "chain_wheel"),
        ("person", "rebrow", "eyebrow"),
        ("person", "ruarm", "arm"),
        ("train", "hfrontside", "locomotive"),
        ("train", "cleftside_10", "coach"),
        ("horse", "lhorn", None),
    ],
)
def test_pascal_part_names(label: str, part: str, expected: str | None) -> None:
    assert concept(label, part) == expected


def test_pascal_part_bad_annotations(tmp_path: Path) -> None:
    source = build("pascalpart", tmp_path)
    path = tmp_path / "Annotations_Part/2008_000009.mat"
    whole = trees.rectangle(0, 0, 20, 20)
    trees.mat(path, [("bird", whole, {"beakk": whole})])
    assert fails(source, "'beakk' is no part of bird.*'beak'", path.stem).file == path
    trees.mat(path, [("bird", whole, {"beak": whole[:, :-1]})])
    assert fails(source, "59 x 40", path.stem).file == path
    trees.mat(path, [("bird", whole[:-1], {"beak": whole[:-1]})])
    assert fails(source, "60 x 39", path.stem).file == path
    trees.mat(path, [("bird", whole, {}), ("cow", whole[:-1], {})])
    assert fails(source, "differ in size").file == path
    trees.text(path, "no annotation")
    assert fails(source, "not a PASCAL-Part annotation").file == path
    path.unlink()
    assert fails(source, "no such file", path.stem).file == path


# Cats Dogs Cars


def test_cats_dogs_cars(tmp_path: Path) -> None:
    source = build("catsdogscars", tmp_path)
    assert len(source.items()) == 9
    assert {item.image_id for item in source.items() if item.split == "test"} == {
        "cat9",
        "dog9",
        "car9",
    }
    record = source.load(named(source, "cat0"), 40)
    assert concepts(record, "catsdogscars") == {"head": 400 - 25, "eye": 25}
    assert record.source == "train/cats/cat0.jpg"
    assert source.load(named(source, "dog1"), 40).regions == ()


def test_singular_class_folders(tmp_path: Path) -> None:
    trees.cats_dogs_cars(tmp_path)
    (tmp_path / "train/dogs").rename(tmp_path / "train/Dog")
    assert len(FILES["catsdogscars"](tmp_path, 0).items()) == 9


def test_bad_class_folders(tmp_path: Path) -> None:
    trees.cats_dogs_cars(tmp_path)
    trees.picture(tmp_path / "train/cots/cot.jpg")
    error = fails(FILES["catsdogscars"](tmp_path, 0), r"'cots' is no class\. Did you mean 'cats'")
    assert error.file == tmp_path / "train/cots"
    (tmp_path / "train/cots").rename(tmp_path / "elsewhere")
    (tmp_path / "test/cars").rename(tmp_path / "away")
    assert fails(FILES["catsdogscars"](tmp_path, 0), "no images of car").file == tmp_path / "test"


def test_two_images_of_one_name(tmp_path: Path) -> None:
    trees.cats_dogs_cars(tmp_path)
    trees.picture(tmp_path / "train/dogs/cat0.png")
    error = fails(FILES["catsdogscars"](tmp_path, 0), r"cats/cat0\.jpg")
    assert error.file == tmp_path / "train/dogs/cat0.png"


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("train/cats/cat7.jpg,head,1,1,9,9", "file", "no image"),
        ("train/cats/cat1.jpg,haed,1,1,9,9", "concept", "Did you mean 'head'"),
        ("train/cats/cat1.jpg,head,one,1,9,9", "x0", "no number"),
        ("train/cats/cat1.jpg,head,1,nan,9,9", "y0", "no number"),
        ("train/cats/cat1.jpg,head,9,1,1,9", "x1", "x0 < x1"),
        ("train/cats/cat1.jpg,head,1,9,9,9", "y1", "y0 < y1"),
        ("train/cats/cat0.jpg,head,20,10,40,30.0", "file", "already in row 2"),
    ],
)
def test_bad_boxes(tmp_path: Path, line: str, column: str, message: str) -> None:
    path = trees.cats_dogs_cars(tmp_path) / "boxes.csv"
    path.write_text(f"{path.read_text()}{line}\n")
    error = fails(FILES["catsdogscars"](tmp_path, 0), message)
    assert (error.file, error.row, error.column) == (path, 5, column)


def test_a_box_outside_of_its_image(tmp_path: Path) -> None:
    path = trees.cats_dogs_cars(tmp_path) / "boxes.csv"
    path.write_text(f"{path.read_text()}train/cats/cat1.jpg,head,1,1,9,50\n")
    error = fails(FILES["catsdogscars"](tmp_path, 0), "not inside of the image", "cat1")
    assert (error.file, error.row, error.column) == (path, 5, "y1")


# MonuMAI


def test_monumai(tmp_path: Path) -> None:
    source = build("monumai", tmp_path)
    assert len(source.items()) == 8
    record = source.load(named(source, "5bgo0"), 40)
    assert record.label == "Gothic"
    assert concepts(record, "monumai") == {"horseshoe-arch": 400 - 25, "porthole": 25}


def test_monumai_in_a_clone_of_the_repository(tmp_path: Path) -> None:
    trees.monumai(tmp_path / "MonuMAI_dataset")
    source = FILES["monumai"](tmp_path, 0)
    assert source.load(source.items()[0], 40).source.startswith("MonuMAI_dataset/")


def test_monumai_photograph_that_was_cropped_after_it_was_annotated(tmp_path: Path) -> None:
    trees.monumai(tmp_path)
    (name,) = CROPPED
    for stem in (name, "another"):
        trees.picture(tmp_path / "Baroque" / f"{stem}.jpg", 1024, 950)
        file = tmp_path / "Baroque" / "xml" / f"{stem}.xml"
        trees.voc_xml(file, {"ojo-de-buey": (18, 583, 132, 684)}, 1024, 1024)
    source = MonuMai(tmp_path, 0)
    image, (porthole,) = source.read(named(source, name))
    assert image.size == (1024, 950) and tuple(porthole.box) == (18, 583, 132, 684)
    fails(source, "1024 x 1024 pixels", "another")


def test_monumai_names(tmp_path: Path) -> None:
    names = VOCABULARIES["monumai"].concepts
    source = MonuMai(tmp_path, 0)
    assert set(NAMES.values()) == set(names)
    assert [source.concept(name) for name in names] == list(names)
    assert source.concept("Lintelled doorway") == "lintelled-doorway"
    assert source.concept("arco") is None


def test_monumai_missing_style(tmp_path: Path) -> None:
    trees.monumai(tmp_path)
    (tmp_path / "Baroque").rename(tmp_path / "Barroque")
    error = fails(FILES["monumai"](tmp_path, 0), "Did you mean 'Barroque'")
    assert "Baroque" in str(error)


BOMB = '<!DOCTYPE a [<!ENTITY b "boom">]><annotation>&b;</annotation>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, "document type"),
        (BOMB.encode("utf-16"), "document type"),
        ("<annotation><object>", "not readable as XML"),
        ("<annotation><object/></annotation>", "no <name>"),
        ("<annotation><object><name>arco</name></object></annotation>", "'arco' is no element"),
        ("<annotation><object><name>serliana</name></object></annotation>", "no <bndbox>"),
        ("<annotation><size><width>x</width></size></annotation>", "<width> is 'x'"),
    ],
)
def test_monumai_bad_xml(tmp_path: Path, content: str | bytes, message: str) -> None:
    source = build("monumai", tmp_path)
    path = tmp_path / "Gothic/xml/5bgo0.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert fails(source, message, "5bgo0").file == path


@pytest.mark.parametrize(
    ("box", "width", "message"),
    [
        ((40, 10, 20, 30), 60, "inverted"),
        ((20, 10, 80, 30), 60, "not inside"),
        ((20, 10, "1e999", 30), 60, "a number"),
        ((20, 10, 40, 30), 64, "64 x 40"),
    ],
)
def test_monumai_bad_boxes(
    tmp_path: Path, box: tuple[object, ...], width: int, message: str
) -> None:
    source = build("monumai", tmp_path)
    path = trees.voc_xml(tmp_path / "Gothic/xml/5bgo0.xml", {"serliana": box}, width, 40)
    assert fails(source, message, "5bgo0").file == path


def test_json_entries_that_are_no_objects(tmp_path: Path) -> None:
    trees.coco(tmp_path)
    path = tmp_path / "annotations/instances_val2017.json"
    for content in ("[]", '{"images": [1]}', "null", '"text"'):
        path.write_text(content)
        assert fails(FILES["coco"](tmp_path, 0), "images").file == path


def bad(findings: list[Finding], *, classes: bool = False) -> list[Finding]:
    """What is not in order; that so few images do not fill each split is expected here."""
    return [
        one
        for one in findings
        if one.state != "ok" and (classes or not one.what.startswith("class "))
    ]


def test_every_dataset_has_a_layout() -> None:
    assert set(LAYOUTS) == set(FILES)
    images = {name for name in FILES if VOCABULARIES[name].modality == "image"}
    assert images == set(BUILDERS)


@every
def test_a_whole_tree(dataset: str, tmp_path: Path) -> None:
    findings = inspect(dataset, BUILDERS[dataset](tmp_path))
    assert not bad(findings)
    assert findings[-1].what == "sample"
    assert all(one.fix for one in bad(findings, classes=True))


@every
def test_nothing_there(dataset: str, tmp_path: Path) -> None:
    assert [one.state for one in inspect(dataset, tmp_path / "absent")] == ["missing"]
    findings = inspect(dataset, tmp_path)
    assert "missing" in {one.state for one in findings}
    assert all(one.fix for one in bad(findings))


@every
def test_each_missing_piece_is_reported_and_nothing_raised(dataset: str, tmp_path: Path) -> None:
    whole = BUILDERS[dataset](tmp_path / "whole")
    complete = inspect(dataset, whole)
    for number, piece in enumerate(sorted(whole.rglob("*"))):
        if piece.suffix == ".mat" or piece.stem == "000000000285":
            continue  # one image less, and no fault
        broken = tmp_path / str(number)
        shutil.copytree(whole, broken)
        victim = broken / piece.relative_to(whole)
        shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
        findings = inspect(dataset, broken)
        assert bad(findings) or findings != complete


@pytest.mark.parametrize(
    ("dataset", "name", "command"),
    [
        ("coco", "scene_labels.csv", "pasta data label coco --root"),
        ("catsdogscars", "boxes.csv", "pasta data boxes catsdogscars --root"),
    ],
)
def test_a_missing_table_names_the_command_that_makes_it(
    dataset: str, name: str, command: str, tmp_path: Path
) -> None:
    root = BUILDERS[dataset](tmp_path)
    (root / name).unlink()
    found = next(one for one in inspect(dataset, root) if one.what == name)
    assert found.state == "missing" and f"{command} {root}" in found.fix


def test_orphans_and_damaged_images(tmp_path: Path) -> None:
    trees.monumai(tmp_path)
    (tmp_path / "Gothic/5bgo0.jpg").unlink()
    (tmp_path / "Baroque/xml/5bba1.xml").unlink()
    trees.text(tmp_path / "Renaissance/5bre0.jpg", "no image")
    findings = inspect("monumai", tmp_path)
    details = {one.what: one.detail for one in findings}
    states = {one.what: one.state for one in findings}
    assert states["annotations without images"] == "problem"
    assert states["images without annotations"] == "problem"
    assert details["annotations without images"] == "1: Gothic/xml/5bgo0.xml"
    assert details["images without annotations"] == "1: Baroque/5bba1.jpg"
    samples = [one.detail for one in findings if one.what == "sample"]
    assert len(samples) == 2
    assert any("5bre0.jpg" in one for one in samples)


def test_unknown_dataset(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="Did you mean 'coco'"):
        inspect("cocoo", tmp_path)


@given(st.text(alphabet=st.one_of(st.sampled_from('a,b"\n\r\x00 '), st.characters(codec="utf-8"))))
@settings(deadline=None)
def test_any_text_is_a_table_or_an_input_error(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for content in (text, f"a,b\n{text}"):
            path.write_bytes(content.encode())
            try:
                for row in read_table(path, ("a", "b")):
                    row.number_in("a")
            except InputError as error:
                assert error.file == path


@pytest.mark.parametrize(
    ("lines", "row", "column"),
    [
        (["image_id,part"], 1, "split"),
        (["image_id,split,split"], 1, "split"),
        (["image_id,split", "one,train", "", "two,training"], 4, "split"),
        (["image_id,split", "one,train", "one,test"], 3, "image_id"),
        (["image_id,split", "one,train,test"], 2, None),
    ],
)
def test_errors_name_file_row_and_column(
    tmp_path: Path, lines: list[str], row: int, column: str | None
) -> None:
    path = trees.text(tmp_path / "split.csv", *lines)
    with pytest.raises(InputError) as caught:
        read_split_file(tmp_path)
    assert (caught.value.file, caught.value.row, caught.value.column) == (path, row, column)


def test_not_text_not_there_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with pytest.raises(InputError, match="no such file"):
        read_table(path, ("a",))
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_table(path, ("a",))
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_table(path, ("a",))


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n 1 ,2\n", encoding="utf-8-sig")
    assert [row.values for row in read_table(path, ("a",))] == [{"a": "1", "b": "2"}]


def test_shares_of_the_splits() -> None:
    names = [f"image{number}" for number in range(4000)]
    free = Counter(assign_split(3, "monumai", name, None) for name in names)
    assert free["train"] == pytest.approx(2800, abs=120)
    assert free["validation"] == pytest.approx(400, abs=80)
    assert free["test"] == pytest.approx(800, abs=100)
    given_train = Counter(assign_split(3, "coco", name, "train") for name in names)
    assert given_train["validation"] == pytest.approx(400, abs=80)
    assert given_train["test"] == 0
    assert {assign_split(3, "coco", name, "test") for name in names} == {"test"}


def test_the_seed_and_the_dataset_change_the_split() -> None:
    names = [f"image{number}" for number in range(200)]
    splits = {
        tuple(assign_split(seed, dataset, name, None) for name in names)
        for seed in (0, 1)
        for dataset in ("coco", "monumai")
    }
    assert len(splits) == 4
