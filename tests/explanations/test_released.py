"""Explanations of a release: stored as if they had been computed here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pasta.datasets.build import build_dataset, chosen_items
from pasta.datasets.released import FILE, ForeignError, read_release, released_source
from pasta.datasets.settings import DatasetParams
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import InputError
from pasta.explanations.released import (
    concept_in,
    explain_released,
    read_concepts,
    read_facts,
    read_map,
)
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import NUMBERED
from tests.release_generator import Settings, generate

SIDE = 24
DATASET = "catsdogscars"


def stored_images(folder: Path, out: Path, dataset: str = DATASET) -> StoredDataset:
    section = DatasetParams(source="released", train=None, validation=None, test=None)
    source = released_source(read_release(folder), dataset)
    build_dataset(dataset, source, chosen_items(source, section), SIDE, out)
    return open_dataset(out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three images of each dataset by all techniques, ViT B-cos among them."""
    folder = tmp_path_factory.mktemp("release") / "whole"
    generate(folder, Settings(images=12, techniques=30, people=2, size=SIDE, bcos_vit=True))
    return folder


@pytest.fixture(scope="module")
def stored(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredExplanations:
    out = tmp_path_factory.mktemp("stored")
    dataset = stored_images(whole, out / "images")
    assert explain_released(read_release(whole), dataset, out / "explain") == ()
    return StoredExplanations(out / "explain")


def entries_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The entries of the dataset, by sample."""
    found = {}
    for entry in json.loads((folder / FILE).read_text()):
        dataset, image, number = Path(entry["explication"]).stem.split("_")
        if dataset == DATASET:
            found[f"{dataset}/{image}/{NUMBERED[int(number)]}"] = entry
    return found


def test_every_entry_becomes_a_row_with_the_files_values(
    whole: Path, stored: StoredExplanations
) -> None:
    entries = entries_of(whole)
    table = stored.table
    assert set(table["sample_id"]) == set(entries) and len(table) == len(entries)
    seen = set()
    for technique in stored.techniques:
        rows = stored.rows(technique)
        for row in rows.to_dict("records"):
            file = whole / entries[row["sample_id"]]["activations"]
            if technique.kind == "concept":
                names, values = stored.concepts(technique)
                own = dict(zip(names, values[row["row"]] * row["scale"], strict=True))
                given = json.loads(file.read_text())
                assert len(given) == sum(value != 0 for value in own.values())
                if technique.method != "clip_qda":
                    assert sorted(own.values()) == pytest.approx(sorted(given.values()), abs=1e-2)
            else:
                given = np.load(file)
                seen.add((technique.method, given.ndim, technique.sign))
                raw = given[..., 3] if given.ndim == 3 else given
                own = np.asarray(stored.maps(technique)[row["row"]], np.float32) * row["scale"]
                np.testing.assert_allclose(own, raw, atol=1e-3 * max(np.abs(raw).max(), 1))
    assert {("bcos", 3, "positive"), ("lime", 2, "signed")} <= seen
    assert "bcos/vit_b_16_bcos" in {one.key for one in stored.techniques}


def test_small_distances_of_clip_qda_are_the_strongest_concepts(
    whole: Path, stored: StoredExplanations
) -> None:
    technique = stored.technique("clip_qda", "clip_qda")
    names, values = stored.concepts(technique)
    row = stored.rows(technique).iloc[0]
    given = json.loads((whole / entries_of(whole)[row["sample_id"]]["activations"]).read_text())
    nearest = min(given, key=lambda key: abs(given[key]))
    strongest = names[int(np.abs(values[row["row"]]).argmax())]
    assert nearest.startswith(strongest) and "(" in nearest


def test_copies_and_pictures_are_those_of_the_files(
    whole: Path, stored: StoredExplanations
) -> None:
    entries = entries_of(whole)
    copies = stored.perturbed
    assert set(copies["strength"]) == {"light"} and len(copies) == len(entries)
    assert copies["magnitude"].isna().all()
    backbones = stored.table.set_index("sample_id")["backbone"]
    for row in copies.sample(5, random_state=0).to_dict("records"):
        entry = entries[row["sample_id"]]
        with Image.open(whole / entry["imgpertubated"]) as picture:
            expected = np.asarray(picture.convert("RGB"))
        own = stored.copies(str(backbones[row["sample_id"]]))
        np.testing.assert_array_equal(own[row["copy"]], expected)
        image, method, backbone = row["sample_id"].split("/")[1:]
        shown = stored.seen(stored.technique(method, backbone), image)
        assert shown is not None
        assert shown.read_bytes() == (whole / entry["explication"]).read_bytes()


def test_techniques_of_ones_own_come_in_by_sample_id_and_tell_their_signs(
    whole: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "own"))
    entries = json.loads((folder / FILE).read_text())
    first = next(one for one in entries if f"/{DATASET}_" in one["img"])
    maps = {"mine": np.linspace(0, 1, SIDE**2), "yours": np.linspace(-1, 1, SIDE**2)}
    image = Path(first["img"]).name.split("_")[1]
    kept = []
    for name, values in maps.items():
        np.save(folder / f"{name}.npy", values.reshape(SIDE, SIDE))
        sample = f"{DATASET}/{image}/{name}/vgg"
        kept.append({**first, "sample_id": sample, "activations": f"{name}.npy"})
        del kept[-1]["explication"]
    (folder / FILE).write_text(json.dumps(kept))
    (folder / "techniques.json").write_text('{"mine/vgg": {"title": "Mine"}}')
    dataset = stored_images(folder, tmp_path / "images")
    explain_released(read_release(folder), dataset, tmp_path / "explain")
    stored = StoredExplanations(tmp_path / "explain")
    facts = {one.key: (one.title, one.sign) for one in stored.techniques}
    assert facts == {"mine/vgg": ("Mine", "positive"), "yours/vgg": ("yours", "signed")}
    assert stored.seen(stored.techniques[0], image) is None


def test_a_map_of_another_kind_than_its_technique_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "own"))
    entries = json.loads((folder / FILE).read_text())
    concept = next(one for one in entries if one["activations"].endswith(".json"))
    number = entries.index(concept) + 1
    concept["activations"] = next(
        one["activations"] for one in entries if one["activations"].endswith(".npy")
    )
    (folder / FILE).write_text(json.dumps(entries))
    dataset = Path(concept["img"]).name.split("_")[0]
    images = stored_images(folder, tmp_path / "images", dataset)
    with pytest.raises(InputError, match=f"entry {number}.*gives concept ones"):
        explain_released(read_release(folder), images, tmp_path / "explain")
    assert not (tmp_path / "explain").exists()


@pytest.mark.parametrize(
    ("key", "before", "expected"),
    [
        ("a photo of a license plate", False, "license_plate"),
        ("the hand of a person", False, "hand"),
        ("handlebar", False, "handlebar"),
        ("artifact wing", False, "artifact wing"),
        ("wheel [0.2 -> 0.4]", True, "wheel"),
        ("hand (wheel)", True, "hand"),
        ("something else ", False, "something else"),
    ],
)
def test_the_concept_of_a_key_is_the_longest_in_it(key: str, before: bool, expected: str) -> None:
    names = ["wheel", "hand", "handlebar", "wing", "artifact wing", "license_plate"]
    assert concept_in(key, names, before) == expected


def test_two_keys_of_one_concept_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"left ear": 1, "right ear": 2, "a nose": 3}')
    found = read_concepts(tmp_path, "x.json", "labo/labo", ["ear", "nose"])
    assert found == {"left ear": 1.0, "right ear": 2.0, "nose": 3.0}


@pytest.mark.parametrize("text", ["[1]", "{}", '{"a": "b"}', '{"a": [1]}', '{"a": 1', ""])
def test_what_are_no_concepts_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ForeignError) as refusal:
        read_concepts(tmp_path, "x.json", "labo/labo", ["ear"])
    assert refusal.value.args[-1] == "x.json"


def test_maps_with_one_channel_are_maps_and_pickles_are_never_opened(tmp_path: Path) -> None:
    values = np.arange(12, dtype=np.int16).reshape(3, 4)
    for place, shaped in enumerate([values, values[None], values[..., None]]):
        np.save(tmp_path / f"{place}.npy", shaped)
        np.testing.assert_array_equal(read_map(tmp_path, f"{place}.npy", (4, 3)), values)
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(ForeignError, match="cannot be read"):
        read_map(tmp_path, "o.npy", (4, 3))


@pytest.mark.parametrize("text", ["[]", '{"a/b": 1}', '{"a/b": {"sign": "both"}}'])
def test_facts_of_techniques_that_mean_nothing_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "techniques.json").write_text(text)
    with pytest.raises(InputError, match=r"techniques\.json"):
        read_facts(tmp_path)
