"""What holds for every method that explains images by maps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from pasta import explain
from pasta.explanations.api import DEFAULTS
from pasta.explanations.base import Given
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import computed
from pasta.explanations.settings import MethodsParams
from tests.explanations.families import transformer, transformer_view
from tests.explanations.networks import SmallNet, global_states, pictures, small_view

torch.set_num_threads(1)
ABOUT = {entry.key: entry.metadata for entry in METHODS.entries()}
NAMES = [
    name
    for name, about in ABOUT.items()
    if about["attribution"] == "image" and about["network"] is None
]
RANDOM = (
    *("lime", "shap", "rise", "smoothgrad", "gradient_shap", "random_cam"),
    "expected_gradients",
)
ATTENDING = [name for name in NAMES if ABOUT[name]["needs_attention"]]
REFERENCES = pictures(3, 32, seed=7)
TRANSFORMER = transformer_view()
# Others have a gradient where an image is not a number, or are defined by grad-cam.
SPOILED = (
    *("gradcam", "hirescam", "gradcam_elementwise", "gradcam++", "xgradcam", "layercam"),
    *("eigencam", "eigengradcam", "dff", "scorecam", "lime", "shap", "rise"),
)
FEW = MethodsParams.model_validate(
    {
        "dff": {"components": 2},
        "lime": {"samples": 40, "segmenter": "slic", "segments": 9},
        "shap": {"samples": 40, "segments": 12},
        "rise": {"masks": 40, "cells": 4},
        "integrated_gradients": {"steps": 8},
        "smoothgrad": {"samples": 6},
        "gradient_shap": {"samples": 6},
        "expected_gradients": {"samples": 6},
    }
)
TARGETS = torch.tensor([0, 1, 2, 3])


def run(name: str, images: Tensor, targets: Tensor, seed: int = 0, budget: int = 256) -> Tensor:
    view = TRANSFORMER if len(images) and images.shape[-1] > 16 else small_view()
    size = images.shape[-1]
    given = Given(view, images, targets, dict(FEW), seed, budget)
    given.references = REFERENCES[:, :, :size, :size]
    return computed(given, name)


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("name", NAMES)
def test_neither_batch_nor_order_nor_budget_matter(name: str, size: int) -> None:
    if name in ATTENDING and size == 16:
        pytest.skip("the network for these images has no attention")
    images = pictures(4, size)
    together = run(name, images, TARGETS)
    assert together.shape == (4, size, size) and together.dtype == torch.float32
    room = 1e-4 * float(together.abs().max())
    assert room > 0
    for number in (0, 3):
        part = slice(number, number + 1)
        alone = run(name, images[part], TARGETS[part], budget=7)
        torch.testing.assert_close(alone[0], together[number], rtol=0, atol=room)
    order = torch.tensor([3, 0, 2, 1])
    other = run(name, images[order], TARGETS[order])
    torch.testing.assert_close(other, together[order], rtol=0, atol=room)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_what_is_random_and_global_seeds_stay_as_they_are(name: str) -> None:
    images = pictures(2, 32 if name in ATTENDING else 16)
    one = run(name, images, TARGETS[:2], seed=1)
    torch.manual_seed(99)
    before = global_states()
    assert torch.equal(one, run(name, images, TARGETS[:2], seed=1))
    assert global_states() == before
    other = run(name, images, TARGETS[:2], seed=2)
    assert torch.allclose(one, other, rtol=1e-3, atol=1e-6) == (name not in RANDOM)


@pytest.mark.parametrize("name", SPOILED)
def test_an_image_that_is_not_numbers_spoils_only_its_own_map(name: str) -> None:
    images = pictures(2)
    images[0] = torch.nan
    found = run(name, images, TARGETS[:2])
    assert found[0].isnan().any()
    assert found[1].isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_left_as_it_was_found(name: str) -> None:
    network: nn.Module = transformer() if name in ATTENDING else SmallNet()
    network.train()
    size, layer = (32, None) if name in ATTENDING else (16, "last")
    before = {name: value.clone() for name, value in network.state_dict().items()}
    attributes = {name: set(vars(module)) for name, module in network.named_modules()}
    others = pictures(3, size, seed=7)
    explain(network, pictures(1, size), [0], [name], layer, settings=FEW, references=others)
    assert network.training
    assert all(value.requires_grad and value.grad is None for value in network.parameters())
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in network.modules())
    assert {name: set(vars(module)) for name, module in network.named_modules()} == attributes
    torch.testing.assert_close(dict(network.state_dict()), before)


def test_settings_are_those_that_methods_ask_for() -> None:
    assert set(dict(DEFAULTS)) <= set(ABOUT)
