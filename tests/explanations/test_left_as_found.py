"""Anybody's network: explained as it is, refused with a reason, and left as it was found."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pasta import evaluate, explain
from pasta.errors import PastaError
from pasta.explanations.layers import find_layer


class SharedActivation(nn.Module):
    """One activation module that runs twice in a pass, as in efficientnet_pytorch."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, 2), nn.Conv2d(8, 16, 3, 2)
        self.norm = nn.BatchNorm2d(16)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(0.5)
        self.head = nn.Linear(16, 10)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.norm(self.second(self.relu(self.first(images))))
        logits: Tensor = self.head(self.dropout(self.relu(maps).mean((2, 3))))
        return logits


class Tupled(nn.Module):
    """A network that returns more than its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.network = SharedActivation()

    def forward(self, images: Tensor) -> tuple[Tensor, None]:
        return self.network(images), None


@pytest.fixture
def network() -> SharedActivation:
    torch.manual_seed(0)
    return SharedActivation().eval()


@pytest.fixture
def images() -> Tensor:
    return torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def _modes(network: nn.Module) -> list[bool]:
    return [module.training for module in network.modules()]


def test_the_layer_found_runs_once_in_a_pass(network: SharedActivation, images: Tensor) -> None:
    assert find_layer(network)[0] is network.norm
    alone = explain(network, images, methods=["gradcam"])["gradcam"]
    named = explain(network, images, methods=["gradcam"], target_layer="norm")["gradcam"]
    beside = explain(network, images, methods=["gradcam", "fullgrad"])["gradcam"]
    np.testing.assert_array_equal(alone, named)
    np.testing.assert_allclose(alone, beside, atol=1e-5)


def test_a_named_layer_that_runs_twice_is_refused(
    network: SharedActivation, images: Tensor
) -> None:
    for methods in (["gradcam"], ["gradcam", "fullgrad"]):
        with pytest.raises(PastaError, match="ReLU, runs 2 times in one pass, expected once"):
            explain(network, images, methods=methods, target_layer="relu")


@pytest.mark.parametrize("frozen", ["norm", "dropout", "head"])
@pytest.mark.parametrize("training", [True, False])
def test_each_module_keeps_its_own_mode(
    network: SharedActivation, images: Tensor, frozen: str, training: bool
) -> None:
    network.train(training).get_submodule(frozen).train(not training)
    before = _modes(network)
    maps = explain(network, images)["gradcam"]
    assert _modes(network) == before
    first, second = (
        evaluate("deletion", maps=maps, model=network, images=images, softmax=True)
        for _ in range(2)
    )
    assert _modes(network) == before
    np.testing.assert_array_equal(first, second)  # no dropout, although one may be in training
    network.eval()
    np.testing.assert_array_equal(maps, explain(network, images)["gradcam"])


def test_a_model_that_returns_no_logits_is_refused(images: Tensor) -> None:
    with pytest.raises(PastaError, match=r"returns tuple for one image, expected \(1, classes\)"):
        explain(Tupled(), images, target_layer="network.norm")
    with pytest.raises(PastaError, match=r"returns tuple for one image, expected \(1, classes\)"):
        evaluate("deletion", maps=images[:, 0], model=Tupled(), images=images, softmax=True)


def test_inference_mode_of_the_caller_changes_nothing(
    network: SharedActivation, images: Tensor
) -> None:
    expected = explain(network, images, methods=["gradcam", "lime"])
    with torch.inference_mode():
        found = explain(network, images.clone(), methods=["gradcam", "lime"])
    for name, maps in expected.items():
        np.testing.assert_array_equal(found[name], maps)


@pytest.mark.parametrize(
    ("kind", "tolerance"), [(torch.float64, 1e-5), (torch.bfloat16, 0.02)], ids=["double", "half"]
)
def test_metrics_take_models_of_any_precision(
    network: SharedActivation, images: Tensor, kind: torch.dtype, tolerance: float
) -> None:
    maps = images.mean(1)
    expected = evaluate("deletion", maps=maps, model=network, images=images, softmax=True)
    found = evaluate(
        "deletion", maps=maps, model=network.to(kind), images=images.to(kind), softmax=True
    )
    np.testing.assert_allclose(found, expected, atol=tolerance)
