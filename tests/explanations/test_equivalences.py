"""What is said before any work of methods that are simpler ones under another name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from captum.attr import DeepLift, GuidedBackprop, InputXGradient, Saliency
from torch import Tensor, nn
from torchvision.models import efficientnet_b0, resnet18

from pasta import explain
from pasta.explanations.base import METHODS
from pasta.explanations.equivalences import (
    EquivalenceWarning,
    activations,
    known_equivalences,
    with_modules,
)
from pasta.explanations.settings import MethodsParams
from tests.explanations.families import lively, transformer
from tests.explanations.networks import pictures
from tests.explanations.test_gradients import asked

torch.set_num_threads(1)
BOTH = ("guided_backprop", "deeplift")
RELEASED = MethodsParams.model_validate({key: {"reading": "released"} for key in BOTH})


class Functional(nn.Module):
    """Two convolutions whose ReLUs are functions."""

    def __init__(self, turns: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 4, 3)
        self.turns = turns

    def forward(self, images: Tensor) -> Tensor:
        maps = F.relu(self.first(images))
        if self.turns and bool(maps.mean() < 0):  # never, but nobody can trace it
            maps = -maps
        return torch.relu(self.last(maps)).mean((2, 3))


class Modules(Functional):
    """The same, of modules."""

    def __init__(self) -> None:
        super().__init__()
        self.active, self.again = nn.ReLU(), nn.ReLU()

    def forward(self, images: Tensor) -> Tensor:
        maps = self.active(self.first(images))
        found: Tensor = self.again(self.last(maps)).mean((2, 3))
        return found


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (lively(resnet18()), []),
        (Modules(), []),
        (Functional(), []),
        (
            efficientnet_b0(),
            ["Guided backpropagation equals the plain gradient on EfficientNet: it changes nothing "
             "at its activations (49 SiLU, 16 Sigmoid)"],
        ),
        (
            transformer(),
            ["Guided backpropagation equals the plain gradient on VisionTransformer: it changes "
             "nothing at its activations (2 GELU)"],
        ),
        (
            Functional(turns=True),
            ["Guided backpropagation equals the plain gradient on Functional: it changes nothing "
             "at its activations (2 ReLU that are functions, no modules)"],
        ),
    ],
)  # fmt: skip
def test_sentences_name_the_network_and_what_causes_it(
    network: nn.Module, expected: list[str]
) -> None:
    image = pictures(1, 32)
    with torch.no_grad():
        assert known_equivalences(network.eval(), BOTH, image) == expected
        assert known_equivalences(network.eval(), ["saliency", "lime"], image) == []


def test_readings_of_latec_have_captums_deeplift() -> None:
    settings = dict(RELEASED)
    found = known_equivalences(Functional().eval(), ["deeplift"], pictures(1), settings)
    assert found == [
        "captum's DeepLIFT equals Input x Gradient on Functional: it changes nothing at its "
        "activations (2 ReLU that are functions, no modules)"
    ]
    (found_one,) = known_equivalences(
        efficientnet_b0().eval(), ["deeplift"], pictures(1, 32), settings
    )
    assert "is near Input x Gradient on EfficientNet: it changes 16 of 65 activations" in found_one


def test_what_the_sentences_say_is_true() -> None:
    images, targets = pictures(2).requires_grad_(), torch.tensor([1, 2])
    network = Functional().eval()
    guided = GuidedBackprop(network).attribute(images, targets)
    torch.testing.assert_close(guided, Saliency(network).attribute(images, targets, abs=False))
    lifted = DeepLift(network).attribute(images, 0, targets)
    torch.testing.assert_close(lifted, InputXGradient(network).attribute(images, targets))


def test_functions_become_modules_of_a_network_that_says_the_same() -> None:
    network, images = Functional(), pictures(2)
    before = [name for name, _ in network.named_modules()]
    made = with_modules(network.train(), images[:1])
    assert made is not None and network.training
    assert [name for name, _ in network.named_modules()] == before
    torch.testing.assert_close(made(images), network(images))
    assert activations(made, images[:1]) == {("ReLU", True): 2}
    with torch.no_grad():
        network.first.weight.mul_(2)
    torch.testing.assert_close(made(images), network(images))  # they share their weights
    assert with_modules(Functional(turns=True)) is None
    assert with_modules(Modules()) is None  # nothing to do


def test_a_function_in_place_of_what_is_used_again_is_left_alone() -> None:
    class Again(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            maps = images * 2
            active = F.relu(maps, inplace=True)
            return (maps + active).flatten(1)

    assert with_modules(Again()) is None


def test_guided_backprop_guides_functions_but_not_in_the_released_reading() -> None:
    images = pictures(2)
    expected = METHODS["guided_backprop"](asked(Modules(), images, [1, 2]))
    found = METHODS["guided_backprop"](asked(Functional(), images, [1, 2]))
    torch.testing.assert_close(found, expected)
    released = METHODS["guided_backprop"](asked(Functional(), images, [1, 2], RELEASED))
    plain = Saliency(Functional().eval()).attribute(
        images.clone().requires_grad_(), torch.tensor([1, 2]), abs=False
    )
    torch.testing.assert_close(released, plain.relu())


def test_explain_warns_and_the_maps_are_those_of_the_gradient() -> None:
    network, images = transformer(), pictures(1, 32)
    with pytest.warns(EquivalenceWarning, match="equals the plain gradient on VisionTransformer"):
        found = explain(network, images, [0], ["guided_backprop", "saliency"])
    np.testing.assert_allclose(found["guided_backprop"], found["saliency"], atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EquivalenceWarning)
        explain(network, images, [0], ["saliency", "deeplift"])
