"""Training and prediction stay where they are put; ``meta`` raises where a CPU tensor is mixed in.

Nothing is computed on ``meta``, so what asks for a number cannot run there: validation, the fits of
linear heads in main memory, and torchvision's own detection loss.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torchvision.models.detection.fcos import FCOSHead

from pasta import compute
from pasta.datasets.stored import open_dataset
from pasta.models import data as loading
from pasta.models import training
from pasta.models.base import MODELS, BlackBox, torch_generator
from pasta.models.bcos import BcosClassifier
from pasta.models.clip import FOLDER, ClipEncoder, open_model, prompt_table, save_clip
from pasta.models.clip_training import Learner, Mixture, write_captions
from pasta.models.data import TrainingData
from tests.models.small import DEVICES, NO_GPU, profile, silent, tiny_group

BY_GRADIENTS = ("resnet50", "vit_b_16", "resnet50_bcos", "concept_bottleneck", "xnesyl")

ORDER = profile().models["monumai"].backbones  # in the order of the papers


class OneStepError(Exception):
    """Ends a training after its first step."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("devices")
    tiny_group(root)
    save_clip(open_model("pasta-tiny", None, 48, seed=5)[0], root / FOLDER)
    return root


def placed(root: Path, where: str) -> TrainingData:
    """The data on a device, and the resnet50 that others start from."""
    dataset = open_dataset(root / "pipelines/data/images/monumai")
    data = TrainingData(dataset, 0, profile(), root, where=torch.device(where))
    data.shared["resnet50"] = built("resnet50", data)
    return data


def built(name: str, data: TrainingData) -> Any:
    model = MODELS[name].build(data, settings(name, data))
    compute.place(model, data.where)
    return model


def settings(name: str, data: TrainingData) -> Any:
    return getattr(data.params.models[data.name], name)


def are_there(where: str, *tensors: Tensor | None) -> bool:
    return all(tensor is not None and tensor.device.type == where for tensor in tensors)


def touched_loss(
    _: Any, targets: Any, outputs: Any, anchors: Any, chosen: Any
) -> dict[str, Tensor]:
    """Asks everything that torchvision's loss is given, but for no number."""
    boxes = [one["boxes"].sum() + one["labels"].sum() for one in targets]
    places = [one.sum() for one in (*anchors, *chosen)]
    return {
        "all": torch.stack([*(value.sum() for value in outputs.values()), *boxes, *places]).sum()
    }


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("name", BY_GRADIENTS)
def test_a_step_of_training_stays_on_its_device(
    name: str, where: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = placed(root, where)
    model = built(name, data)

    def one_step(network: nn.Module, *_: Any, loss: Any, **__: Any) -> None:
        optimizer, schedule = training.optimizer_of(network, settings(name, data).training, 16)
        rows, images = next(data.batches(data.rows("train"), 4))
        flipped = torch.tensor([True, False, True, False])
        value = training.step(loss, optimizer, images, rows, flipped, data.size)
        schedule.step()
        trained = [one for one in network.parameters() if one.requires_grad]
        gradients = [one.grad for one in trained if one.grad is not None]
        assert len(gradients) > 0.8 * len(trained)
        assert are_there(where, images, value, *trained, *gradients)
        raise OneStepError

    monkeypatch.setattr(training, "train", one_step)
    if where == "meta":
        monkeypatch.setattr(FCOSHead, "compute_loss", touched_loss)
    with pytest.raises(OneStepError):
        MODELS[name].fit(model, data, settings(name, data), silent)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("name", ORDER)
def test_logits_and_gradients_stay_on_their_device(name: str, where: str, root: Path) -> None:
    data = placed(root, where)
    model = built(name, data).eval()
    images = data.images(data.rows("test")[:3]).requires_grad_()
    logits = model(images)
    labels = data.labels[data.rows("test")[:3]].to(where)
    cross_entropy(logits, labels).backward()  # type: ignore[no-untyped-call]
    assert are_there(where, images, logits, model.to_probabilities(logits), images.grad)
    heads = [one for one in model.parameters() if one.requires_grad]
    assert are_there(where, *heads, *model.buffers())
    if isinstance(model, BcosClassifier):
        assert are_there(where, model.contributions(images, labels))
    if not isinstance(model, BlackBox):
        assert are_there(where, model.classify(model.concept_scores(images)))


@pytest.mark.parametrize("where", DEVICES)
def test_a_step_of_clip_stays_on_its_device(where: str, root: Path) -> None:
    data = placed(root, where)
    model, tokenizer = open_model("pasta-tiny", None, 48)
    encoder = ClipEncoder(model, tokenizer, "random")
    table = prompt_table([data.dataset.vocabulary], data.params.clip.template)
    chance = torch_generator(0, "clip")
    captions = write_captions(data, encoder, data.params.clip.template, chance)
    compute.place(encoder, data.where)
    learner = Learner(encoder, table, data.params.clip.training)
    learner.schedule(3)
    batch = next(Mixture([data], table, [captions]).epoch(8, chance, 48)).to(data.where)
    value = learner.step(batch, chance)
    trained = [one for one in encoder.parameters() if one.requires_grad]
    assert are_there(where, value, *trained, *(one.grad for one in trained))
    assert are_there(where, encoder.text_features(["a cat"]), encoder(data.images(np.arange(2))))


@NO_GPU
@pytest.mark.gpu
@pytest.mark.parametrize("name", ORDER)
def test_a_whole_training_on_a_gpu_says_the_same_as_its_copy_in_main_memory(
    name: str, root: Path
) -> None:
    data = placed(root, "cuda")
    model = built(name, data)
    MODELS[name].fit(model, data, settings(name, data), silent)
    found = training.outputs(model.probabilities, data, data.rows("test"))
    data.where = torch.device("cpu")
    again = training.outputs(model.cpu().probabilities, data, data.rows("test"))
    torch.testing.assert_close(found, again, atol=1e-3, rtol=1e-3)


def test_batches_read_ahead_are_those_read_in_place(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a GPU, with processes that read, but without pinned memory."""
    data = placed(root, "cpu")
    rows = data.rows("train").flip(0)
    parts = torch.split(rows, 7)

    def unpinned(*arguments: Any, **options: Any) -> Any:
        return DataLoader(*arguments, **{**options, "pin_memory": False})

    monkeypatch.setattr(loading, "DataLoader", unpinned)
    monkeypatch.setenv("PASTA_THREADS", "2")
    found = list(loading._loaded(data.dataset.pixels, parts, torch.device("cuda")))
    assert [len(one) for one in found] == [len(part) for part in parts]
    assert np.array_equal(torch.cat(found).numpy(), data.dataset.pixels[rows.numpy()])
