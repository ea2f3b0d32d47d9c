"""All models of a group: trained once, the same on any number of workers, safe on disk."""

from __future__ import annotations

import os
import pickle
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from pasta import compute, store, tables
from pasta.config import Params
from pasta.contracts import check
from pasta.errors import InputError, PastaError
from pasta.layout import Group
from pasta.models import checkpoint, suite
from pasta.models.checkpoint import open_classifier, predict_files, read_image
from pasta.models.clip_training import make_clip
from pasta.models.data import TrainingData, as_tensor
from pasta.models.suite import (
    Trained,
    open_data,
    require_examples,
    require_starts,
    train_group,
)
from pasta.paths import DATA
from pipelines.accuracy import collect
from tests.conftest import contents, names
from tests.models.small import profile, silent, tiny_group

FEW = ("resnet50", "vit_b_16", "clip_zero_shot", "clip_linear")

ORDER = profile().models["monumai"].backbones  # in the order of the papers


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project that stages find from their working directory; one worker."""
    root = tmp_path_factory.mktemp("suite")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("PASTA_WORKERS", "1")
        yield root


@pytest.fixture(scope="module")
def group(root: Path) -> Group:
    group = tiny_group(root)
    data = open_data(group, profile(), root)
    make_clip([data], data.params.clip, 0, root / DATA / "clip", silent)
    return group


@pytest.fixture(scope="module")
def data(group: Group, root: Path) -> TrainingData:
    return open_data(group, profile(), root)


@pytest.fixture(scope="module")
def trained(group: Group, root: Path) -> list[Trained]:
    return train_group(group, profile(), root)


def only(*names: str) -> Params:
    """The parameters with some models in a group of their own."""
    values = profile().model_dump()
    section = values["models"]["monumai"]
    kept = {name: section[name] for name in names}
    few = {"models": {"few": kept}, "groups": {"few": "monumai"}, "rated": {}}
    return Params.model_validate({**values, **few})


def test_all_nine_models_are_trained_and_predict_every_test_image(
    data: TrainingData, group: Group, trained: list[Trained]
) -> None:
    table = store.read(group.models / "predictions.parquet", tables.PREDICTIONS)
    check(table, tables.PREDICTIONS, {"images": data.dataset.images})
    assert [one.name for one in trained] == list(ORDER)
    assert len(table) == len(ORDER) * len(data.rows("test"))
    for one in trained:
        np.testing.assert_allclose(one.probabilities.sum(1), 1, atol=1e-4)
    assert names(group.models) == sorted([*ORDER, "accuracy.json", "predictions.parquet"])
    scores = collect([group])
    assert set(scores["model"]) == set(ORDER)
    assert set(scores["dataset"]) == {"monumai"}


def test_no_output_knows_how_long_it_took(group: Group, trained: list[Trained]) -> None:
    assert all(one.seconds > 0 for one in trained)
    for name in ORDER:
        card = checkpoint.read_card(group.models / name)
        assert not {"seconds", "fingerprint"} & set(card)


@pytest.mark.slow
def test_two_workers_leave_the_same_bytes_as_one(
    group: Group, trained: list[Trained], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Group("few", "monumai", group.data)
    monkeypatch.setenv("PASTA_WORKERS", "2")
    train_group(few, only(*FEW), root)
    for name in FEW:
        assert contents(few.models / name) == contents(group.models / name)
    assert set(store.read_json(few.models / "accuracy.json")) == set(FEW)


def test_a_killed_training_goes_on_where_it_was(
    group: Group, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, params = Group("few", "monumai", group.data), only(*FEW)
    real, done = suite.train_unit, list[Any]()

    def killed(unit: suite.TrainUnit) -> Any:
        if "vit_b_16" in unit.names and "mark" not in done:
            raise KeyboardInterrupt
        done.append(unit.names)
        return real(unit)

    monkeypatch.setattr(suite, "train_unit", killed)
    with pytest.raises(KeyboardInterrupt):
        train_group(few, params, root)
    assert done == [("resnet50",), ("clip_zero_shot", "clip_linear")]
    done.append("mark")
    train_group(few, params, root)
    assert done[3:] == [("vit_b_16",)]
    assert not list((root / DATA / "units").iterdir())


def test_a_model_and_its_start_belong_to_one_group(root: Path, group: Group) -> None:
    section = only("vit_b_16").models["few"]
    with pytest.raises(
        PastaError, match=r"few\.vit_b_16 starts from resnet50.*models\.few\.resnet50"
    ):
        require_starts("few", section)
    with pytest.raises(PastaError, match="starts from resnet50"):
        train_group(Group("few", "monumai", group.data), only("vit_b_16"), root)


def test_a_checkpoint_gives_the_model_back(
    data: TrainingData, group: Group, trained: list[Trained], root: Path
) -> None:
    images = data.images(data.rows("test"))
    for one in trained:
        model, card = checkpoint.load(group.models / one.name, data.params, root)
        assert card["classes"] == list(data.classes) and card["model"] == one.name
        with torch.inference_mode():
            found = compute.to_numpy(model.probabilities(images))
        np.testing.assert_allclose(found, one.probabilities, atol=1e-6)


def test_files_are_predicted_by_the_group_that_has_the_model(
    group: Group, trained: list[Trained], tmp_path: Path
) -> None:
    Image.new("RGB", (60, 40), (200, 100, 50)).save(tmp_path / "image.png")
    (answer,) = predict_files([tmp_path / "image.png"], "monumai", "clip_linear", top=2)
    assert len(answer["classes"]) == len(answer["concepts"]) == 2
    with pytest.raises(PastaError, match="no group of the parameters has a model"):
        open_classifier("nowhere", "resnet50")
    with pytest.raises(PastaError, match="Did you mean 'resnet50'"):
        open_classifier("monumai", "resnet5")


@pytest.fixture
def copy(group: Group, trained: list[Trained], tmp_path: Path) -> Path:
    return Path(shutil.copytree(group.models / "resnet50", tmp_path / "copy"))


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


def test_a_tiny_image_and_a_broken_one(tmp_path: Path) -> None:
    Image.new("RGB", (1, 1), (9, 9, 9)).save(tmp_path / "dot.png")
    pixels = read_image(tmp_path / "dot.png", 48)
    assert pixels.shape == (48, 48, 3) and (pixels == 9).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns of arrays that must not be written
        as_tensor(pixels[None])
    (tmp_path / "text.jpg").write_text("no image")
    with pytest.raises(InputError, match=r"text\.jpg"):
        read_image(tmp_path / "text.jpg", 48)
    with pytest.raises(PastaError, match="no such file"):
        read_image(tmp_path / "nothing.jpg", 48)
