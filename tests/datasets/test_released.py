"""Releases as a source: what is read of a good one, and what is said of a bad one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pasta.datasets.build import build_dataset, chosen_items
from pasta.datasets.released import (
    FILE,
    class_named,
    digest_files,
    read_release,
    released_source,
)
from pasta.datasets.settings import DatasetParams
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError
from pasta.explanations.released import explain_released, find_problems
from tests.conftest import names
from tests.release_generator import Settings, generate

Entries = list[dict[str, Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two images of each dataset by three techniques."""
    folder = tmp_path_factory.mktemp("release") / "whole"
    generate(folder, Settings(images=8, techniques=3, people=2, size=24))
    return folder


@pytest.fixture
def release(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(whole, tmp_path / "release"))


def entries_of(folder: Path) -> Entries:
    return list(json.loads((folder / FILE).read_text()))


def rewrite(folder: Path, change: Callable[[Entries], Any]) -> None:
    entries = entries_of(folder)
    change(entries)
    (folder / FILE).write_text(json.dumps(entries))


def first_map(folder: Path) -> tuple[int, dict[str, Any]]:
    """The first entry with a map, and its number from 1."""
    found = enumerate(entries_of(folder), start=1)
    return next((place, one) for place, one in found if one["activations"].endswith(".npy"))


def store_all(folder: Path, out: Path, *, lenient: bool = False) -> None:
    """What the stages `images` and `explain` do with all datasets."""
    release = read_release(folder, lenient)
    section = DatasetParams(source="released", train=None, validation=None, test=None)
    for dataset in dict.fromkeys(entry.dataset for entry in release.entries):
        source = released_source(release, dataset, lenient)
        images = out / "images" / dataset
        build_dataset(dataset, source, chosen_items(source, section), 16, images)
        explain_released(release, open_dataset(images), out / "explain" / dataset, lenient)


def test_images_keep_their_numbers_and_get_classes_of_the_vocabulary(
    whole: Path, tmp_path: Path
) -> None:
    store_all(whole, tmp_path)
    there = {Path(one["img"]).name.partition("_")[0] for one in entries_of(whole)}
    assert len(there) == 4
    for dataset, words in ((name, VOCABULARIES[name]) for name in sorted(there)):
        data = open_dataset(tmp_path / "images" / dataset)
        entries = [one for one in entries_of(whole) if f"/{dataset}_" in one["img"]]
        assert set(data.images["image_id"]) == {one["img"].split("_")[1] for one in entries}
        assert set(data.images["label"]) <= set(words.classes)
        assert set(data.images["split"]) == {"test"} and not data.parts.any()
        first = data.images.iloc[0]
        with Image.open(whole / first["source"]) as picture:
            expected = picture.convert("RGB").resize((16, 16), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(data.pixels[0], np.asarray(expected))


@pytest.mark.parametrize(
    ("dataset", "text", "expected"),
    [
        ("catsdogscars", "cats", "cat"),
        ("catsdogscars", "Dog", "dog"),
        ("coco", "home or hotel", "home_or_hotel"),
        ("monumai", "hispanic-muslim", "Hispanic-Muslim"),
        ("monumai", "zoo", None),
    ],
)
def test_classes_are_found_in_the_plural_and_with_spaces(
    dataset: str, text: str, expected: str | None
) -> None:
    assert class_named(VOCABULARIES[dataset], text) == expected


def test_paths_follow_from_the_picture_where_activations_are_not_named(release: Path) -> None:
    named = read_release(release)

    def forget(entries: Entries) -> None:
        for entry in entries:
            del entry["activations"], entry["activationspertubated"]

    rewrite(release, forget)
    derived = read_release(release)
    assert [one.activations for one in derived.entries] == [
        one.activations for one in named.entries
    ]
    assert all(one.copy_activations for one in derived.entries)


def unlink(key: str) -> Callable[[Path, dict[str, Any]], None]:
    return lambda folder, entry: (folder / entry[key]).unlink()


def save(key: str, values: Any) -> Callable[[Path, dict[str, Any]], None]:
    return lambda folder, entry: np.save(folder / entry[key], values)


def overwrite(key: str, content: bytes) -> Callable[[Path, dict[str, Any]], Any]:
    return lambda folder, entry: (folder / entry[key]).write_bytes(content)


def cut(key: str) -> Callable[[Path, dict[str, Any]], None]:
    def halve(folder: Path, entry: dict[str, Any]) -> None:
        content = (folder / entry[key]).read_bytes()
        (folder / entry[key]).write_bytes(content[: len(content) // 2])

    return halve


@pytest.mark.parametrize(
    ("damage", "key", "words"),
    [
        (unlink("activations"), "activations", "is missing"),
        (unlink("img"), "img", "the image is missing"),
        (unlink("explication"), "explication", "is missing"),
        (unlink("imgpertubated"), "imgpertubated", "is missing"),
        (save("activations", np.ones((5, 7))), "activations", "the map is 5 x 7"),
        (save("activations", np.ones((24, 24, 2))), "activations", "the map is 24 x 24 x 2"),
        (save("activations", np.array([["a"] * 24] * 24)), "activations", "holds no numbers"),
        (cut("activations"), "activations", "the map cannot be read"),
        (overwrite("activations", b"no map"), "activations", "the map cannot be read"),
        (overwrite("img", b"no picture"), "img", "not an image"),
        (cut("explication"), "explication", "not an image"),
        (overwrite("imgpertubated", b"GIF89a"), "imgpertubated", "not an image"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_entry_and_nothing_is_stored(
    release: Path,
    tmp_path: Path,
    damage: Callable[[Path, dict[str, Any]], Any],
    key: str,
    words: str,
) -> None:
    place, entry = first_map(release)
    damage(release, entry)
    with pytest.raises(InputError) as refusal:
        store_all(release, tmp_path / "out")
    told = str(refusal.value)
    assert words in told and Path(entry[key]).name in told and "nothing was stored" in told
    assert f"entry {place}" in told or key == "img"
    assert not (tmp_path / "out" / "explain").exists() or "explain" not in told
    dataset = Path(entry["img"]).name.split("_")[0]
    assert not (tmp_path / "out" / "explain" / dataset).exists()


def test_a_broken_entry_is_left_out_and_told_where_one_is_lenient(
    release: Path, tmp_path: Path
) -> None:
    place, entry = first_map(release)
    overwrite("activations", b"no map")(release, entry)
    rewrite(release, lambda entries: entries.append({"explication": "expl/what.png"}))
    number = len(entries_of(release))
    found = read_release(release, lenient=True)
    assert [problem.entry for problem in found.left_out] == [f"entry {number}"]
    assert [problem.entry for problem in find_problems(found)] == [f"entry {place}"]
    store_all(release, tmp_path / "out", lenient=True)
    notes = [json.loads(file.read_text()) for file in (tmp_path / "out").rglob("left_out.json")]
    [note] = [one for own in notes for one in own]
    assert f"entry {place}" in note and Path(entry["activations"]).name in note


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda entries: entries.append(entries[0]), "is about the same explanation as entry 1"),
        (lambda entries: entries.insert(1, 7), "entry 2: is no object"),
        (lambda entries: entries[0].update(explication="expl/x.png"), "has a foreign name"),
        (lambda entries: entries[0].update(GTclass="zoo"), "GTclass is 'zoo'"),
        (lambda entries: entries[0].update(predictedclass=3), "predictedclass is '3'"),
        (lambda entries: entries[0].update(img="../secret.png"), "contains .."),
        (lambda entries: entries[0].update(img="/etc/passwd"), "is absolute"),
        (lambda entries: entries[0].update(img=["a"]), "img is no text"),
        (lambda entries: entries[0].update(img=""), "is empty"),
        (
            lambda entries: entries[0].update(explication="./expl/zoo_1_3.png"),
            "is about the dataset 'zoo'",
        ),
    ],
)
def test_a_foreign_entry_is_told(
    release: Path, change: Callable[[Entries], Any], words: str
) -> None:
    rewrite(release, change)
    with pytest.raises(InputError) as refusal:
        read_release(release)
    told = str(refusal.value)
    assert words in told and "1 entry cannot be used" in told and str(release / FILE) in told


def test_ids_that_mean_two_images_are_told(release: Path) -> None:
    entries = entries_of(release)
    first = entries[0]
    same = [one for one in entries if one["img"] == first["img"]]
    other = release / "img" / f"other_{Path(first['img']).name}"
    shutil.copy(release / first["img"], other)
    name = Path(first["img"]).name.replace(".png", "s.png")
    shutil.copy(release / first["img"], release / "img" / name)

    def change(entries: Entries) -> None:
        second = next(one for one in entries[1:] if one["img"] == first["img"])
        second["img"] = f"img/{name}"

    rewrite(release, change)
    assert len(same) > 1
    with pytest.raises(InputError, match=r"the id \w+ \d+ is also that of .*see entry 1"):
        read_release(release)


def test_a_release_that_is_cut_off_is_told(release: Path) -> None:
    text = (release / FILE).read_text()
    (release / FILE).write_text(text[: len(text) // 2])
    with pytest.raises(InputError, match="cannot be read as JSON"):
        read_release(release)


def test_a_wrong_root_is_told_with_the_right_one_below(release: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"there is no {FILE} in it; there is one in .*release"):
        read_release(tmp_path)
    with pytest.raises(InputError, match="there is no such folder"):
        read_release(tmp_path / "nowhere")
    (release / FILE).write_text("{}")
    with pytest.raises(InputError, match="is no list"):
        read_release(release)
    assert names(tmp_path) == ["release"]


def test_links_out_of_the_folder_are_not_followed(release: Path, tmp_path: Path) -> None:
    place, entry = first_map(release)
    outside = tmp_path / "secret.npy"
    np.save(outside, np.ones((24, 24)))
    (release / entry["activations"]).unlink()
    (release / entry["activations"]).symlink_to(outside)
    with pytest.raises(InputError, match=f"entry {place}.*leads out of the folder"):
        read_release(release)


def test_lists_of_files_change_with_a_map_of_their_dataset_and_not_with_votes(
    release: Path,
) -> None:
    def digests() -> dict[str, list[tuple[str, str]]]:
        found = read_release(release)
        return {name: digest_files(found, name) for name in VOCABULARIES}

    before = digests()
    assert all(name == FILE or (release / name).is_file() for name, _ in before["coco"])
    assert len(before["coco"]) > 3 * sum("/coco_" in one["img"] for one in entries_of(release))
    rewrite(release, lambda entries: entries[0]["Annotation"].append({"Q1": 5}))
    assert digests() == before
    _, entry = first_map(release)
    dataset = Path(entry["img"]).name.partition("_")[0]
    changed = release / Path(entry["activations"])
    changed.write_bytes(changed.read_bytes() + b"x")
    after = digests()
    assert [name for name in VOCABULARIES if after[name] != before[name]] == [dataset]
