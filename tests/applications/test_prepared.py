"""What is prepared without a scorer: the same from disk as when it is made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from pasta.applications.prepared import saving
from pasta.applications.prepared.candidates import (
    amount,
    lay,
    load_candidates,
    prepare_candidates,
)
from pasta.applications.prepared.heard import load_masks, prepare_masks
from pasta.applications.steering_study import COLUMNS, run_steering
from pasta.errors import InputError, PastaError
from pasta.explanations.rise import rise
from pasta.explanations.techniques import technique
from pasta.params import Params
from pasta.params.applications import TuningStudyParams
from tests.applications.test_backbones import DATASET, Small
from tests.applications.test_tuning import small as trained  # noqa: F401 (a fixture)

torch.set_num_threads(1)
KEY = "lime/resnet50"
GRID: dict[str, tuple[bool | int | float | str, ...]] = {"kernel_width": (0.1, 1.0)}


@pytest.fixture(scope="module")
def small(trained: Small) -> Small:  # noqa: F811 (the fixture)
    return trained


def smaller(params: Params) -> Params:
    """Few images and few masks, one study."""
    own = params.applications
    study = TuningStudyParams(technique=KEY, grid=GRID)
    tuning = own.tuning.model_copy(update={"studies": (study,), "search": 2, "held_out": 3})
    steering = own.steering.model_copy(update={"images": 2, "masks": 30, "batch_size": 7})
    changed = own.model_copy(update={"tuning": tuning, "steering": steering, "subsets": 6})
    return params.model_copy(update={"applications": changed})


def test_stored_maps_of_candidates_are_those_that_models_give(small: Small, tmp_path: Path) -> None:
    params, folders = smaller(small.params), [small.data.dataset.folder]
    heard: list[str] = []
    prepare_candidates(folders, params, small.root, tmp_path, heard.append)
    assert len(heard) == amount(params) == 3  # the default is not in the grid
    stored = load_candidates(tmp_path, KEY, {DATASET: small.data.dataset})
    live = lay(technique(KEY), GRID, folders, params, small.root, (2, 3))
    assert stored.grid == live.grid
    assert stored.fingerprint(params) == live.fingerprint(params)
    for part in ("search", "held_out"):
        [one], [other] = getattr(stored, part), getattr(live, part)
        assert one.fresh.ids == other.fresh.ids and one.predicted == other.predicted
        for candidate in [live.grid.default, *live.grid.candidates()]:
            np.testing.assert_allclose(one.shown(candidate), other.shown(candidate), atol=1e-3)
    np.testing.assert_array_equal(stored.held_out[0].falls(6), live.held_out[0].falls(6))
    with pytest.raises(PastaError, match="no answers about 7 subsets"):
        stored.held_out[0].falls(7)
    with pytest.raises(PastaError, match=r"no maps of rise/resnet50"):
        load_candidates(tmp_path, "rise/resnet50", {DATASET: small.data.dataset})


def test_masks_from_disk_steer_and_lambda_zero_is_plain_rise(small: Small, tmp_path: Path) -> None:
    params, folder = smaller(small.params), small.data.dataset.folder
    encoder = small.scorer.card.encoder
    shown = small.scorer.card.preprocessing
    embedding = params.embedding.model_copy(
        update={"encoder": encoder.name, "image": shown.image, "blur": shown.blur}
    )
    params = params.model_copy(update={"embedding": embedding})
    seconds = prepare_masks([folder], params, small.root, tmp_path, lambda _: None)
    assert len(seconds) == 2
    datasets = {DATASET: small.data.dataset}
    found = load_masks(tmp_path, datasets, small.scorer.card)
    plain = [one.heard.masks for one in found]
    assert [len(masks) for masks in plain] == [30, 30]
    steered = run_steering(
        datasets, params, params.applications, small.scorer, tmp_path, {DATASET: None}
    )
    table = steered.tables["steered"]
    assert tuple(table) == COLUMNS and table["quality"].isna().all()
    weights = params.applications.steering.weights
    assert len(table) == 2 * len(weights) and steered.maps.shape[:2] == (2, len(weights))
    _same_as_rise(small, params, found[0].image_id, steered.maps[0][weights.index(0.0)])


def _same_as_rise(small: Small, params: Params, image_id: str, shown: np.ndarray) -> None:
    from pasta.applications.prepared.fresh import named_images
    from pasta.explanations.attribution import shown_maps
    from pasta.explanations.base import Given
    from pasta.explanations.engine import predicted_classes, view_of
    from pasta.models.checkpoint import load

    dataset = small.data.dataset
    model, _ = load(dataset.folder / "models/resnet50", params, small.root)
    view, images = view_of(model), named_images(dataset, [image_id]).images
    settings = params.explanations.methods.rise.model_copy(update={"masks": 30})
    given = Given(view, images, predicted_classes(view, images), {"rise": settings}, params.seed)
    expected = shown_maps(rise(given).numpy(), "positive")[0]
    np.testing.assert_allclose(shown, expected, atol=2e-3)


def test_masks_that_were_encoded_for_another_scorer_are_refused(
    small: Small, tmp_path: Path
) -> None:
    card = {"encoder": {"name": "x", "md5": "0"}, "shown": {"image": "overlay", "blur": 1.0}}
    saving.save(tmp_path, card, {"grids": np.zeros((1, 2))})
    with pytest.raises(PastaError, match="drawn and encoded otherwise"):
        load_masks(tmp_path, {}, small.scorer.card)


def test_a_folder_without_a_card_is_not_finished_and_arrays_must_fit_it(tmp_path: Path) -> None:
    saving.save(tmp_path, {"a": 1}, {"b": np.arange(6).reshape(2, 3)})
    card, arrays = saving.load(tmp_path, "masks")
    assert card["a"] == 1 and arrays["b"].tolist() == [[0, 1, 2], [3, 4, 5]]
    np.save(tmp_path / "b.npy", np.zeros((4, 4)))
    with pytest.raises(InputError, match=r"b\.npy"):
        saving.load(tmp_path, "masks")
    (tmp_path / saving.CARD).unlink()
    with pytest.raises(PastaError, match="`dvc repro masks`"):
        saving.load(tmp_path, "masks")
