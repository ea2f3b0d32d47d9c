"""`from pasta import explain` on anybody's model, and what it says before any work."""

from __future__ import annotations

import io
import warnings
from typing import Any, cast

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import Tensor, nn
from torchvision.models import resnet18, vit_b_16

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.base import METHODS
from pasta.progress import LateBar
from tests.explanations.networks import SmallNet, pictures

CAMS = ["gradcam", "eigencam", "layercam", "fullgrad", "ablationcam", "dff"]


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(0)
    network: nn.Module = resnet18(num_classes=5)
    return network


def test_a_torchvision_model_is_explained_by_methods_that_share_their_passes(
    network: nn.Module,
) -> None:
    batches: list[int] = []

    def count(_module: nn.Module, inputs: tuple[Tensor, ...], _output: Tensor) -> None:
        batches.append(len(inputs[0]))

    handle = network.register_forward_hook(count)
    try:
        found = explain(network, pictures(3, 64), [0, 1, 4], ["gradcam", "layercam", "eigencam"])
    finally:
        handle.remove()
    assert batches == [1, 3]  # a look at the first image, then one pass
    for maps in found.values():
        assert maps.shape == (3, 64, 64)
        assert maps.min() == 0 and maps.max() == 1


def test_layers_are_found_or_given_as_module_or_name(network: Any) -> None:
    images, targets = pictures(2, 64), [0, 1]
    own = explain(network, images, targets)["gradcam"]
    named = explain(network, images, targets, target_layer="layer4.1")["gradcam"]
    given = explain(network, images, targets, target_layer=network.layer4[1])["gradcam"]
    np.testing.assert_array_equal(own, named)
    np.testing.assert_array_equal(own, given)
    other = explain(network, images, targets, target_layer="layer3")["gradcam"]
    assert not np.allclose(own, other)


def test_predicted_classes_are_explained_unless_others_are_asked_for(network: nn.Module) -> None:
    images = pictures(3, 64)
    network.eval()
    predicted = network(images).argmax(1)
    np.testing.assert_array_equal(
        explain(network, images)["gradcam"], explain(network, images, predicted)["gradcam"]
    )


def test_predicted_classes_can_be_explained_by_whatever_needs_gradients(network: nn.Module) -> None:
    found = explain(network, pictures(2, 64), methods=["fullgrad", "eigengradcam"])
    assert all(np.isfinite(maps).all() for maps in found.values())


def test_tokens_of_a_transformer_become_maps() -> None:
    torch.manual_seed(0)
    network = vit_b_16(num_classes=3, image_size=32)
    nn.init.normal_(network.heads.head.weight)
    found = explain(network, pictures(2, 32), [0, 2], ["gradcam", "ablationcam"])
    assert found["gradcam"].shape == (2, 32, 32)


class Calls(nn.Module):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.network, self.asked = SmallNet(), 0

    def forward(self, images: Tensor) -> Tensor:
        self.asked += len(images)
        result: Tensor = self.network(images)
        return result


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["gradcamm"]}, "Did you mean 'gradcam"),
        ({"methods": ["gradcam", "lime_cbm"]}, "LIME-CBM explains by concepts"),
        ({"methods": ["bcos"]}, "BCos needs a BcosClassifier; Calls is not one"),
        ({"target_layer": "network.lst"}, "network.last"),
        ({"target_layer": nn.Conv2d(3, 3, 1)}, "no part of"),
    ],
)
def test_what_a_method_cannot_do_is_said_before_any_work(
    options: dict[str, Any], message: str
) -> None:
    network = Calls()
    with pytest.raises(PastaError, match=message):
        explain(network, pictures(2), [0, 1], **options)
    assert network.asked == 0


@pytest.mark.parametrize(
    ("images", "targets", "message"),
    [
        (
            torch.rand(3, 16, 16),
            [0],
            r"shape \(3, 16, 16\), expected \(n, channels, height, width\)",
        ),
        (torch.zeros(1, 3, 8, 8, dtype=torch.uint8), [0], "torch.uint8, expected floats"),
        (torch.rand(2, 3, 16, 16), [0, 4], "there is no class 4: the model has 4"),
        (torch.rand(2, 3, 16, 16), [0, -1], "there is no class -1"),
        (torch.rand(2, 3, 16, 16), [0], "one class index for each of 2 images"),
        (torch.rand(2, 3, 16, 16), [0.0, 1.0], "one class index for each of 2 images"),
    ],
)
def test_wrong_images_and_classes_are_refused(images: Tensor, targets: Any, message: str) -> None:
    with pytest.raises(PastaError, match=message):
        explain(SmallNet(), images, targets, target_layer="last")


def test_images_of_another_size_are_refused_by_a_model_that_cannot_take_them() -> None:
    network = vit_b_16(num_classes=3, image_size=32)
    with pytest.raises(PastaError, match="cannot take images of 48 x 48 pixels"):
        explain(network, pictures(1, 48), [0])


def test_numpy_images_and_every_saliency_method_work_on_a_foreign_model() -> None:
    from pasta.explanations.api import DEFAULTS

    values = DEFAULTS.model_dump()
    values["lime"] |= {"samples": 30, "segmenter": "slic", "segments": 8}
    values["shap"] |= {"samples": 30, "segments": 6}
    values["rise"] |= {"masks": 30, "cells": 4}
    settings = type(DEFAULTS).model_validate(values)
    names = [
        entry.key
        for entry in METHODS.entries()
        if entry.metadata["attribution"] == "image"
        and entry.key != "bcos"
        and not entry.metadata["needs_attention"]
    ]
    network = SmallNet()
    nn.init.ones_(network.head.bias)  # AblationCAM divides by the score: it must be positive
    found = explain(
        network,
        pictures(2).numpy(),
        [0, 1],
        names,
        target_layer="active",
        settings=settings,
        references=pictures(3, seed=4).numpy(),
    )
    assert set(found) == set(names)
    for name, maps in found.items():
        assert maps.shape == (2, 16, 16) and np.isfinite(maps).all(), name
        assert maps.any(), name


def test_statuses_say_which_maps_show_nothing() -> None:
    """A transformer whose head is zero, as torchvision makes it, has no gradients at all."""
    torch.manual_seed(0)
    network = vit_b_16(num_classes=3, image_size=32).eval()
    maps, statuses = explain(
        network, pictures(2, 32), [0, 1], ["gradcam", "eigencam"], return_status=True
    )
    assert statuses == {"gradcam": ["zero", "zero"], "eigencam": ["ok", "ok"]}
    assert not maps["gradcam"].any() and maps["eigencam"].any()


def test_statuses_are_those_of_all_batches_in_order() -> None:
    images = pictures(3, 32)
    images[1] = 0.5
    network = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.Flatten(), nn.Linear(3600, 2))
    nn.init.zeros_(network[2].bias)  # type: ignore[arg-type]
    found = explain(
        network, images - 0.5, [0, 0, 0], ["input_x_gradient"], batch_size=1, return_status=True
    )
    assert found[1] == {"input_x_gradient": ["ok", "zero", "ok"]}


@pytest.mark.parametrize("channels", [1, 4])
def test_images_may_have_any_number_of_channels(channels: int) -> None:
    torch.manual_seed(0)
    network = SmallNet()
    first = next(module for module in network.modules() if isinstance(module, nn.Conv2d))
    first.weight = nn.Parameter(torch.randn(len(first.weight), channels, *first.weight.shape[2:]))
    first.in_channels = channels
    images = torch.rand(2, channels, 32, 32)
    methods = ["gradcam", "ablationcam", "fullgrad", "lime", "shap", "rise", "saliency"]
    for name, maps in explain(network, images, [0, 1], methods).items():
        assert maps.shape == (2, 32, 32) and maps.any(), name


def test_a_scripted_model_is_refused_with_the_reason(network: nn.Module) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that tracing is out of fashion
        traced = cast("Any", torch.jit).trace(network.eval(), pictures(1, 64))
    with pytest.raises(PastaError, match="TorchScript model cannot be explained"):
        explain(traced, pictures(1, 64))


def test_progress_appears_on_a_terminal_after_two_seconds_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = io.StringIO()
    monkeypatch.setattr(
        "pasta.progress.Console", lambda **_: Console(file=said, force_terminal=True, width=100)
    )
    explain(SmallNet(), pictures(2, 32), [0, 1])
    assert said.getvalue() == ""
    monkeypatch.setattr(LateBar, "PATIENCE", 0.0)
    explain(SmallNet(), pictures(2, 32), [0, 1], ["gradcam", "eigencam"], batch_size=1)
    assert "explain" in said.getvalue() and "4/4" in said.getvalue()
    with io.StringIO() as log:
        monkeypatch.setattr("pasta.progress.Console", lambda **_: Console(file=log))
        explain(SmallNet(), pictures(2, 32), [0, 1])
        assert log.getvalue() == ""
