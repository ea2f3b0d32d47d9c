"""All models of a dataset: trained once, reused while nothing changes, safe on disk."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from pasta import store, tables
from pasta.errors import InputError, PastaError
from pasta.models import checkpoint
from pasta.models.catalog import ORDER
from pasta.models.clip.stage import make_clip
from pasta.models.data import TrainingData
from pasta.models.suite import Trained, fingerprints, predictions, require_examples, train_suite
from pasta.params import Params
from pasta.validation import check
from tests.models.small import silent, tiny_data

BOXES = ("resnet50", "vit_b_16", "clip_zero_shot", "clip_linear")


def quiet(*_: object) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    root = tmp_path_factory.mktemp("suite")
    data = tiny_data(root)
    make_clip([data], data.params.clip, 0, root / "pipelines/data/clip", silent)
    return data


@pytest.fixture(scope="module")
def suite(data: TrainingData) -> list[Trained]:
    return train_suite(data, data.dataset.folder / "models", quiet, workers=2)


def changed(params: Params, model: str, **training: Any) -> Params:
    """The parameters with other training settings of one model, for every dataset."""
    values = params.model_dump()
    for section in values["models"].values():
        section[model]["training"].update(training)
    return Params.model_validate(values)


def fresh(data: TrainingData, params: Params | None = None) -> TrainingData:
    return TrainingData(data.dataset, data.seed, params or data.params, data.root)


def test_all_nine_models_are_trained_and_predict_every_test_image(
    data: TrainingData, suite: list[Trained]
) -> None:
    table = predictions(data, suite)
    check(table, tables.PREDICTIONS, {"images": data.dataset.images})
    assert [trained.name for trained in suite] == list(ORDER)
    assert len(table) == len(ORDER) * len(data.rows("test"))
    for trained in suite:
        torch.testing.assert_close(trained.probabilities.sum(1), torch.ones(8), atol=1e-4, rtol=0)


def test_a_second_run_trains_nothing_and_says_the_same(
    data: TrainingData, suite: list[Trained]
) -> None:
    again = train_suite(fresh(data), data.dataset.folder / "models", quiet)
    assert all(trained.history is None for trained in again)
    for first, second in zip(suite, again, strict=True):
        torch.testing.assert_close(first.probabilities, second.probabilities, atol=1e-6, rtol=0)


def test_training_anew_gives_identical_predictions_with_any_number_of_workers(
    data: TrainingData, suite: list[Trained], tmp_path: Path
) -> None:
    again = train_suite(fresh(data), tmp_path / "models", quiet, names=BOXES, workers=1)
    chosen = [trained for trained in suite if trained.name in BOXES]
    for first, second in zip(chosen, again, strict=True):
        assert torch.equal(first.probabilities, second.probabilities), first.name


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("vit_b_16", {"vit_b_16"}),
        (
            "resnet50",
            {"resnet50", "vit_b_16", "resnet50_bcos", "concept_bottleneck", "xnesyl"},
        ),
    ],
)
def test_a_learning_rate_concerns_its_model_and_those_that_start_from_it(
    model: str, expected: set[str], data: TrainingData, suite: list[Trained]
) -> None:
    before = fingerprints(data, ORDER)
    other = fresh(data, changed(data.params, model, learning_rate=0.0017))
    after = fingerprints(other, ORDER)
    assert {name for name in ORDER if before[name] != after[name]} == expected


def test_only_what_changed_is_trained_again(
    data: TrainingData, suite: list[Trained], tmp_path: Path
) -> None:
    shutil.copytree(data.dataset.folder / "models", tmp_path / "models")
    other = fresh(data, changed(data.params, "vit_b_16", learning_rate=0.0017))
    again = train_suite(other, tmp_path / "models", quiet)
    assert [trained.name for trained in again if trained.history is not None] == ["vit_b_16"]


def test_a_checkpoint_gives_the_model_back(data: TrainingData, suite: list[Trained]) -> None:
    images = data.images(data.rows("test"))
    for trained in suite:
        folder = data.dataset.folder / "models" / trained.name
        model, card = checkpoint.load(folder, data.params, data.root)
        assert card["classes"] == list(data.classes) and card["model"] == trained.name
        with torch.inference_mode():
            found, expected = model.probabilities(images), trained.model.probabilities(images)
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.fixture
def copy(data: TrainingData, suite: list[Trained], tmp_path: Path) -> Path:
    return Path(shutil.copytree(data.dataset.folder / "models" / "resnet50", tmp_path / "copy"))


def test_a_malicious_pickle_is_refused_and_not_executed(
    copy: Path, data: TrainingData, tmp_path: Path
) -> None:
    trap = tmp_path / "sprung"

    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(trap),)

    (copy / checkpoint.WEIGHTS).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"weights\.safetensors: cannot be read"):
        checkpoint.load(copy, data.params, data.root)
    torch.save({"a": Bomb()}, copy / checkpoint.WEIGHTS)
    with pytest.raises(InputError, match=r"weights\.safetensors: cannot be read"):
        checkpoint.load(copy, data.params, data.root)
    assert not trap.exists()


def test_weights_of_another_architecture_are_refused(copy: Path, data: TrainingData) -> None:
    state = load_file(copy / checkpoint.WEIGHTS)
    state["network.conv1.weight"] = state["network.conv1.weight"][:, :, 1:, 1:].contiguous()
    save_file(state, copy / checkpoint.WEIGHTS)
    with pytest.raises(InputError, match="weights of another architecture"):
        checkpoint.load(copy, data.params, data.root)


def test_tampered_weights_are_refused(copy: Path, data: TrainingData) -> None:
    state = load_file(copy / checkpoint.WEIGHTS)
    state["network.conv1.weight"][0] += 1
    save_file(state, copy / checkpoint.WEIGHTS)
    with pytest.raises(InputError, match="was changed after training"):
        checkpoint.load(copy, data.params, data.root)


def test_a_checkpoint_for_other_classes_is_refused(copy: Path, data: TrainingData) -> None:
    card = store.read_json(copy / checkpoint.CARD)
    store.write_json({**card, "classes": ["a", "b"]}, copy / checkpoint.CARD)
    with pytest.raises(InputError, match="was trained for the classes a, b"):
        checkpoint.load(copy, data.params, data.root)


def test_a_missing_checkpoint_says_how_to_get_it(data: TrainingData, tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="`dvc repro` trains it"):
        checkpoint.load(tmp_path, data.params, data.root)


def test_a_class_without_examples_is_an_error(data: TrainingData) -> None:
    images = data.dataset.images
    kept = images[(images["split"] != "test") | (images["label"] != "Gothic")]
    lacking = type(data.dataset)(
        data.dataset.folder, data.dataset.vocabulary, kept, data.dataset.pixels, data.dataset.parts
    )
    with pytest.raises(PastaError, match="'test' of monumai has no example of Gothic"):
        require_examples(TrainingData(lacking, 0, data.params, data.root))


MODES = ("L", "P", "RGBA", "I;16", "CMYK", "1", "LA")


@pytest.mark.parametrize("mode", MODES)
def test_images_of_any_mode_are_predicted(
    mode: str, data: TrainingData, suite: list[Trained], tmp_path: Path
) -> None:
    from pasta.models.predicting import read_image

    file = tmp_path / ("image.tiff" if mode == "CMYK" else "image.png")
    if mode == "I;16":
        Image.fromarray(np.full((60, 40), 40000, np.uint16)).save(file)
    else:
        Image.new("RGB", (60, 40), (200, 100, 50)).convert(mode).save(file)
    pixels = read_image(file, data.size)
    assert pixels.shape == (data.size, data.size, 3) and pixels.dtype == np.uint8


def test_a_tiny_image_and_a_broken_one(tmp_path: Path) -> None:
    from pasta.models.predicting import read_image

    Image.new("RGB", (1, 1), (9, 9, 9)).save(tmp_path / "dot.png")
    assert (read_image(tmp_path / "dot.png", 48) == 9).all()
    (tmp_path / "text.jpg").write_text("no image")
    with pytest.raises(InputError, match=r"text\.jpg"):
        read_image(tmp_path / "text.jpg", 48)
    with pytest.raises(PastaError, match="no such file"):
        read_image(tmp_path / "nothing.jpg", 48)
