"""All techniques of a group: complete, the same each time, resumable, as people see them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pasta import store
from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.errors import PastaError
from pasta.explanations import suite
from pasta.explanations.base import METHODS, method
from pasta.explanations.catalog import technique, techniques
from pasta.explanations.engine import attributions
from pasta.explanations.gallery import concept_picture, saliency_picture
from pasta.explanations.samples import choose_rated, tell_too_few_test_images
from pasta.explanations.stored import StoredExplanations, attribution_file
from pasta.explanations.suite import explain_group
from pasta.layout import Group
from pasta.resume import KeptUnits
from pasta.sections import for_dataset
from tests.explanations.small_group import (
    BACKBONES,
    TEST_IMAGES,
    explaining,
    small_group,
    small_params,
)

OURS = [one for one in techniques() if one.backbone in BACKBONES]
SOME = [technique(key) for key in ("gradcam/resnet50", "eigencam/resnet50", "lime/resnet50")]


def quiet(*_: object) -> None:
    """Nobody listens."""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, unless a test says otherwise."""
    monkeypatch.setenv("PASTA_WORKERS", "1")
    monkeypatch.setenv("PASTA_DEVICE", "cpu")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explanations")


@pytest.fixture(scope="module")
def params(root: Path) -> Params:
    return small_params(root, "small")


@pytest.fixture(scope="module")
def group(root: Path, params: Params) -> Group:
    return small_group(root, params)


@pytest.fixture
def done(group: Group, params: Params, root: Path) -> StoredExplanations:
    """Explanations by all techniques, computed once."""
    kept = root / "kept"
    if not kept.exists():
        explain_group(group, params, techniques(), root, quiet)
        shutil.copytree(group.explanations, kept)
    return StoredExplanations(kept)


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_every_technique_of_the_backbones_explains_originals_and_copies(
    group: Group, params: Params, done: StoredExplanations
) -> None:
    images = for_dataset(params.explanations.images, group.dataset)
    size = params.image_size
    assert done.dataset == group.dataset
    assert len(done.table) == images * len(OURS)
    assert len(done.perturbed) == 2 * len(done.table)
    concepts = open_dataset(group.images).vocabulary.concepts
    for one in OURS:
        assert done.rows(one)["row"].tolist() == list(range(images))
        if one.kind == "saliency":
            assert done.maps(one).shape == (3 * images, size, size)
            assert done.maps(one).dtype == np.float16
        else:
            names, values = done.concepts(one)
            assert names == concepts and values.shape == (3 * images, len(names))
    for name in BACKBONES:
        assert done.copies(name).shape == (2 * images, size, size, 3)


def test_there_are_no_other_files(done: StoredExplanations) -> None:
    expected = {"explanations.parquet", "perturbed.parquet", "explanations.json", "techniques.json"}
    expected |= {attribution_file(Path(), one).name for one in OURS}
    expected |= {f"perturbed/{name}.npy" for name in BACKBONES}
    assert set(contents(done.folder)) == expected


def test_light_perturbations_keep_the_class_and_changes_are_told(done: StoredExplanations) -> None:
    pairs = done.perturbed.merge(done.table, on="sample_id", suffixes=("", "_original"))
    light, strong = (pairs[pairs["strength"] == kind] for kind in ("light", "strong"))
    assert (light["predicted"] == light["predicted_original"]).all()
    assert ((strong["predicted"] != strong["predicted_original"]) == strong["changed"]).all()


def test_shares_count_maps_that_are_not_ok(done: StoredExplanations) -> None:
    shares = store.read_json(done.folder / "explanations.json")
    assert set(shares["not_ok"]) == {one.key for one in OURS}
    both = pd.concat([done.table[["sample_id", "status"]], done.perturbed])
    wrong = (both["status"] != "ok").groupby(both["sample_id"].str.split("/", n=2).str[2]).mean()
    assert shares["not_ok"] == pytest.approx(wrong.to_dict(), abs=1e-4)
    assert set(shares["changed"]) == set(BACKBONES)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_two_runs_leave_the_same_bytes(
    workers: str,
    group: Group,
    params: Params,
    root: Path,
    done: StoredExplanations,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", workers)
    (group.explanations / "stale.npy").parent.mkdir(parents=True, exist_ok=True)
    (group.explanations / "stale.npy").write_bytes(b"of another run")
    spent = explain_group(group, params, techniques(), root, quiet)
    assert contents(group.explanations) == contents(done.folder)
    assert spent["seconds"].ge(0).all() and set(spent["backbone"]) == set(BACKBONES)


def test_rows_in_several_units_change_nothing(
    group: Group, params: Params, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain_group(group, params, SOME, root, quiet)
    whole = contents(group.explanations)
    monkeypatch.setattr(suite, "ROWS", params.explanations.batch_size)
    explain_group(group, params, SOME, root, quiet)
    assert contents(group.explanations) == whole


def test_a_killed_run_goes_on_where_it_was(
    group: Group, params: Params, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain_group(group, params, SOME, root, quiet)
    expected, kept = contents(group.explanations), KeptUnits(tmp_path)
    asked: list[Any] = []

    def broken(work: Any, methods: Any, seconds: Any) -> Any:
        asked.append(methods)
        for number, part in enumerate(attributions(work, methods, seconds)):
            if methods != ("lime",) and number == 3:  # what takes longest comes first
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(suite, "attributions", broken)
    with pytest.raises(KeyboardInterrupt):
        explain_group(group, params, SOME, root, quiet, kept)
    assert asked == [("lime",), ("gradcam", "eigencam")]
    assert not (group.explanations / "explanations.parquet").exists()

    def whole(work: Any, methods: Any, seconds: Any) -> Any:
        asked.append(methods)
        return attributions(work, methods, seconds)

    monkeypatch.setattr(suite, "attributions", whole)
    explain_group(group, params, SOME, root, quiet, kept)
    assert asked[2:] == [("gradcam", "eigencam")]
    assert contents(group.explanations) == expected


def test_neither_batch_size_nor_budget_change_the_maps(
    group: Group, params: Params, root: Path, done: StoredExplanations
) -> None:
    other = explaining(params, batch_size=3, budget=7)
    explain_group(group, other, techniques(), root, quiet)
    again = StoredExplanations(group.explanations)
    for one in OURS:
        found, expected = (
            np.asarray(stored.maps(one) if one.kind == "saliency" else stored.concepts(one)[1])
            for stored in (again, done)
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=4e-3, err_msg=one.key)
    np.testing.assert_allclose(again.table["scale"], done.table["scale"], rtol=2e-3, atol=1e-6)


def test_groups_of_a_dataset_explain_the_same_images(root: Path, done: StoredExplanations) -> None:
    params = small_params(root, "second", ("vit_b_16",))
    other = small_group(root, params)
    explain_group(other, params, techniques(), root, quiet)
    found = StoredExplanations(other.explanations)
    assert set(found.table["backbone"]) == {"vit_b_16"}
    here, there = found.table, done.table[done.table["backbone"] == "vit_b_16"]
    pd.testing.assert_frame_equal(here, there.reset_index(drop=True))
    dataset = open_dataset(other.images)
    rows = saliency_picture([(dataset, done), (dataset, found)], "vit_b_16", 1)
    assert rows.width > saliency_picture([(dataset, done)], "vit_b_16", 1).width
    assert concept_picture([(dataset, done), (dataset, found)]).width > 0
    with pytest.raises(PastaError, match="clip_zero_shot"):
        saliency_picture([(dataset, done)], "clip_zero_shot", 1)


def test_a_map_that_is_not_a_number_is_stored_and_told(
    group: Group, params: Params, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = METHODS.entry("gradcam")

    def spoilt(given: Any) -> torch.Tensor:
        return entry.value(given) * torch.nan

    monkeypatch.setitem(METHODS._entries, "gradcam", type(entry)("gradcam", spoilt, entry.metadata))
    explain_group(group, params, SOME[:2], root, quiet)
    table = StoredExplanations(group.explanations).table
    assert (table.loc[table["method"] == "gradcam", "status"] == "nan").all()
    assert (table.loc[table["method"] == "eigencam", "status"] == "ok").any()


def test_a_new_method_is_a_technique_and_is_explained_without_further_edits(
    group: Group, params: Params, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))

    @method("brightness", title="Brightness", functioning="gradient", doi="10.1/x", sign="signed")
    def brightness(given: Any) -> torch.Tensor:
        result: torch.Tensor = given.images.mean(1) - 0.5
        return result

    new = technique("brightness/resnet50")
    assert new.extra and new.released_id is None
    assert [one for one in techniques() if one != new and one.method != "brightness"] == OLD
    explain_group(group, params, [new], root, quiet)
    shown = StoredExplanations(group.explanations).shown(new, [0])
    assert shown.min() < 0 < shown.max() <= 1


OLD = techniques()


def test_the_sign_of_a_map_is_that_of_its_method_not_of_its_values(tmp_path: Path) -> None:
    values = np.array([[[0.2, 0.4], [0.6, 1.0]]], dtype=np.float16)
    stored = StoredExplanations(tmp_path)
    for key in ("lime/resnet50", "gradcam/resnet50"):
        store.write_array(values, attribution_file(tmp_path, technique(key)))
    signed = stored.shown(technique("lime/resnet50"), [0])
    assert signed.ravel().tolist() == pytest.approx([0.2, 0.4, 0.6, 1], abs=1e-3)
    positive = stored.shown(technique("gradcam/resnet50"), [0])
    assert positive.ravel().tolist() == pytest.approx([0, 0.25, 0.5, 1], abs=1e-3)


def test_all_images_are_explained_where_there_are_fewer_than_asked_for(
    group: Group, params: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = open_dataset(group.images)
    section = params.explanations.model_copy(update={"images": TEST_IMAGES + 1})
    asked = params.model_copy(update={"explanations": section})
    test = dataset.rows("test")
    assert choose_rated(test, group.dataset, asked).tolist() == test.tolist()
    tell_too_few_test_images(dataset, asked)
    assert f"has {TEST_IMAGES} test images: all of them" in capsys.readouterr().err
    tell_too_few_test_images(dataset, params)
    assert capsys.readouterr().err == ""
