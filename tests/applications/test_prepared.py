"""What is prepared without a scorer: the same from disk as when it is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pasta import store
from pasta.applications.prepared import base
from pasta.applications.prepared import candidates as candidates_module
from pasta.applications.prepared.base import named_images
from pasta.applications.prepared.candidates import load_candidates, open_table, prepare_candidates
from pasta.applications.prepared.masks import describe_drawing, load_masks, prepare_masks
from pasta.applications.settings import TuningStudyParams
from pasta.applications.steering import COLUMNS, run_steering
from pasta.config import Params
from pasta.errors import InputError, PastaError
from pasta.explanations.attribution import shown_maps
from pasta.explanations.base import Given
from pasta.explanations.catalog import technique
from pasta.explanations.engine import predicted_classes, view_of
from pasta.explanations.methods.rise import rise
from pasta.models.checkpoint import load
from pasta.resume import KeptUnits
from tests.applications.small import DATASET, Small, small_project, with_classifier

KEY = "lime/resnet50"
GRID: dict[str, tuple[bool | int | float | str, ...]] = {"kernel_width": (0.1, 1.0)}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    project = with_classifier(small_project(tmp_path_factory.mktemp("project")))
    return replace(project, params=smaller(project))


def smaller(project: Small) -> Params:
    """Few images and few masks, one study, and the embedding that the scorer has learned from."""
    params, card = project.params, project.scorer.card
    own = params.applications
    study = TuningStudyParams(technique=KEY, grid=GRID)
    tuning = own.tuning.model_copy(update={"studies": (study,), "search": 2, "held_out": 3})
    steering = own.steering.model_copy(update={"images": 3, "masks": 30, "batch_size": 7})
    changed = own.model_copy(update={"tuning": tuning, "steering": steering, "subsets": 6})
    shown = describe_drawing(card.preprocessing)
    embedding = params.embedding.model_copy(update={"encoder": card.encoder.name, **shown})
    return params.model_copy(update={"applications": changed, "embedding": embedding})


def test_stored_maps_of_candidates_are_those_that_models_give(small: Small, tmp_path: Path) -> None:
    prepare_candidates([small.group], small.params, small.root, tmp_path)
    stored = load_candidates(tmp_path, KEY, {DATASET: small.data.dataset})
    live = open_table(technique(KEY), GRID, [small.group], small.params, small.root, (2, 3))
    assert stored.grid == live.grid
    for part in ("search", "held_out"):
        [one], [other] = getattr(stored, part), getattr(live, part)
        assert one.fresh.ids == other.fresh.ids and one.predicted == other.predicted
        for candidate in [live.grid.default, *live.grid.candidates()]:
            np.testing.assert_allclose(one.shown(candidate), other.shown(candidate), atol=1e-3)
    np.testing.assert_array_equal(stored.held_out[0].drops(), live.held_out[0].drops())
    assert stored.held_out[0].drops().shape == (3, 6)
    with pytest.raises(PastaError, match=r"no maps of rise/resnet50"):
        load_candidates(tmp_path, "rise/resnet50", {DATASET: small.data.dataset})


def test_a_killed_stage_goes_on_with_its_finished_units(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, given = KeptUnits(tmp_path / "units"), ([small.group], small.params, small.root)
    kept.folder.mkdir()
    whole, explain = tmp_path / "whole", candidates_module.explain_candidates
    prepare_candidates(*given, whole)
    done: list[str] = []

    def dying(unit: candidates_module.CandidateUnit) -> dict[str, NDArray[np.generic]]:
        if done:
            raise KeyboardInterrupt
        done.append(unit.part)
        return explain(unit)

    monkeypatch.setattr(candidates_module, "explain_candidates", dying)
    with pytest.raises(KeyboardInterrupt):
        prepare_candidates(*given, tmp_path / "second", kept)
    assert done == ["search"] and not (tmp_path / "second").exists()
    done.clear()
    prepare_candidates(*given, tmp_path / "second", kept)
    assert done == ["held_out"]
    for file in whole.iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes()


def test_masks_from_disk_steer_and_lambda_zero_is_plain_rise(small: Small, tmp_path: Path) -> None:
    params = small.params
    seconds = prepare_masks([small.group], params, small.root, tmp_path)
    assert list(seconds) == ["image", "model", "vectors"] and len(seconds) == 3
    assert "seconds" not in store.read_json(tmp_path / base.CARD)["arrays"]
    datasets = {DATASET: small.data.dataset}
    found = load_masks(tmp_path, datasets, small.scorer.card)
    assert [len(one.responses.masks) for one in found] == [30, 30, 30]
    assert [one.name for one in found] == seconds["image"].tolist()
    steered = run_steering(datasets, params, small.scorer, tmp_path, {DATASET: None})
    table = steered.tables["steered"]
    assert tuple(table) == COLUMNS and table["quality"].isna().all()
    weights = params.applications.steering.weights
    assert len(table) == 3 * len(weights) and steered.maps.shape[:2] == (3, len(weights))
    _same_as_rise(small, found[0].image_id, steered.maps[0][weights.index(0.0)])


def _same_as_rise(small: Small, image_id: str, shown: NDArray[np.float16]) -> None:
    model, _ = load(small.group.models / "resnet50", small.params, small.root)
    view, images = view_of(model), named_images(small.data.dataset, [image_id]).images
    settings = small.params.explanations.methods.rise.model_copy(update={"masks": 30})
    given = Given(
        view,
        images,
        predicted_classes(view, images),
        {"rise": settings},
        small.params.seeds.explaining,
    )
    expected = shown_maps(rise(given).numpy(), "positive")[0]
    np.testing.assert_allclose(shown, expected, atol=2e-3)


def test_masks_that_were_encoded_for_another_scorer_are_refused(
    small: Small, tmp_path: Path
) -> None:
    card = {
        "encoder": {"name": "x", "md5": "0"},
        "shown": {"image": "overlay", "style": "pasta", "blur": 1.0},
    }
    base.save_prepared(tmp_path, card, {"grids": np.zeros((1, 2))})
    with pytest.raises(PastaError, match="drawn and encoded otherwise"):
        load_masks(tmp_path, {}, small.scorer.card)


def test_a_folder_without_a_card_is_not_finished_and_arrays_must_fit_it(tmp_path: Path) -> None:
    base.save_prepared(tmp_path, {"a": 1}, {"b": np.arange(6).reshape(2, 3)})
    card, arrays = base.load_prepared(tmp_path, "masks")
    assert card["a"] == 1 and arrays["b"].tolist() == [[0, 1, 2], [3, 4, 5]]
    np.save(tmp_path / "b.npy", np.zeros((4, 4)))
    with pytest.raises(InputError, match=r"b\.npy"):
        base.load_prepared(tmp_path, "masks")
    (tmp_path / base.CARD).unlink()
    with pytest.raises(PastaError, match="`dvc repro masks`"):
        base.load_prepared(tmp_path, "masks")
