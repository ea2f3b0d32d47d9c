"""The generator of releases: published sizes and names, votes that follow what is planted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasta.explanations.techniques import PUBLISHED, RELEASED
from pasta.studies.ratings.settings import QUESTIONS
from tests.conftest import contents
from tests.release_generator import (
    BCOS_VIT,
    CONCEPT_METHODS,
    DISTANCES,
    FILE,
    TRUE_SIZE,
    Settings,
    choose,
    generate,
    plant,
    sample_id,
    vote,
    write_later_votes,
)

SMALL = Settings(images=4, techniques=12, size=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small release with technique 47."""
    out = tmp_path_factory.mktemp("generated") / "release"
    generate(out, replace(SMALL, bcos_vit=True))
    return out


def test_every_file_that_an_entry_names_is_there(folder: Path) -> None:
    entries = json.loads((folder / FILE).read_text())
    assert len(entries) == SMALL.images * SMALL.techniques
    for entry in entries:
        paths = [value for value in entry.values() if str(value).startswith("./")]
        assert len(paths) == 6
        assert all((folder / path).is_file() for path in paths)
    assert {entry["GTclass"] for entry in entries if "/catsdogscars" in entry["img"]} <= {
        "cats",
        "dogs",
        "cars",
    }


def test_maps_have_the_traits_of_the_release(tmp_path: Path) -> None:
    generate(tmp_path / "all", replace(SMALL, techniques=47, images=4, bcos_vit=True))
    maps = tmp_path / "all" / "activations"

    def one(number: int) -> np.ndarray:
        return np.asarray(np.load(maps / f"monumai_0_{number}.npy"))

    assert set(np.unique(one(RELEASED["lime/resnet50"]))) == {-1.0, 0.0, 1.0}
    assert one(RELEASED["shap/resnet50"]).min() < 0
    assert one(BCOS_VIT).shape == one(RELEASED["bcos/resnet50_bcos"]).shape == (32, 32, 4)
    distances = json.loads((maps / f"monumai_0_{DISTANCES}.json").read_text())
    assert all(key.endswith((" (+)", " (-)")) and value > 0 for key, value in distances.items())
    assert "a photo of flat-arch " in json.loads((maps / "monumai_0_40.json").read_text())


def test_the_same_seed_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    generate(tmp_path / "again", replace(SMALL, bcos_vit=True))
    assert contents(tmp_path / "again") == contents(folder)


def test_repeated_images_are_hard_links(tmp_path: Path) -> None:
    generate(tmp_path / "links", replace(SMALL, images=16, distinct=2))
    pictures = sorted((tmp_path / "links" / "img").glob("coco_*.png"))
    assert len(pictures) == 4
    assert len({file.stat().st_ino for file in pictures}) == 2


def test_the_true_size_is_that_of_the_publication() -> None:
    samples = list(choose(TRUE_SIZE))
    assert len(samples) == len(set(samples)) == 21_110
    assert {sample.image for sample in samples} == set(range(1000))
    assert {sample.technique for sample in samples} == set(PUBLISHED)
    stars = vote(TRUE_SIZE, plant(TRUE_SIZE, samples), samples)
    assert (stars > 0).sum() == 633_000


def test_kinds_differ_by_what_is_planted() -> None:
    settings = Settings(images=4, techniques=46, kind=0.7)
    planted = plant(settings, list(choose(settings)))
    concepts = [one.split("/")[0] in CONCEPT_METHODS for one in planted.techniques]
    quality = np.array(list(planted.techniques.values()))
    difference = quality[~np.array(concepts)].mean() - quality[concepts].mean()
    assert difference == pytest.approx(0.7)


def test_later_votes_fill_what_was_missing(tmp_path: Path) -> None:
    settings = replace(SMALL, missing=0.2)
    samples = list(choose(settings))
    planted, file = plant(settings, samples), tmp_path / "later.csv"
    write_later_votes(file, settings, planted, 100)
    later = pd.read_csv(file)
    assert len(later) == 100 and later["rating"].between(1, 5).all()
    assert not later.duplicated(["sample_id", "annotator_id", "question"]).any()
    there = (vote(settings, planted, samples) > 0).sum(axis=1)
    number = pd.DataFrame(there, [sample_id(sample) for sample in samples], list(QUESTIONS))
    added = pd.crosstab(later["sample_id"], later["question"])
    assert number.add(added, fill_value=0).to_numpy().max() <= settings.people


def test_votes_follow_what_is_planted() -> None:
    settings = Settings(images=100, votes=None, missing=0.01)
    samples = list(choose(settings))
    planted = plant(settings, samples)
    stars = vote(settings, planted, samples)
    assert (stars == 0).mean() == pytest.approx(0.01, abs=1e-4)
    means = np.where(stars == 0, np.nan, stars.astype(float))
    table = pd.DataFrame(np.nanmean(means, axis=1), columns=list(QUESTIONS))
    table["technique"] = [sample.technique for sample in samples]
    quality = pd.Series([planted.samples[sample_id(sample)] for sample in samples])
    assert table["Q1"].corr(quality) > 0.9
    by_technique = table.groupby("technique")[list(QUESTIONS)].mean()
    wanted = pd.Series(planted.techniques)
    assert by_technique["Q1"].corr(wanted, method="spearman") > 0.95
    steady = by_technique.index.map(lambda name: planted.stability[name.split("/")[0]])
    assert by_technique["Q5"].corr(pd.Series(steady, by_technique.index)) > 0.9
