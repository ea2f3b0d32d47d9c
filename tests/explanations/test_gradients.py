"""Captum's methods by name: on functions whose answer is known, and whatever the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor, nn
from torchvision.models import resnet18

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.base import METHODS, Given, View
from pasta.explanations.catalog import technique, techniques
from pasta.explanations.masking import halve_until_it_fits
from pasta.explanations.methods.gradients import CalledInTurn, split_shared_modules
from pasta.explanations.settings import MethodsParams
from tests.explanations.families import lively, residual, transformer
from tests.explanations.networks import SmallNet, pictures

torch.set_num_threads(1)
NAMES = (
    "saliency",
    "input_x_gradient",
    "integrated_gradients",
    "smoothgrad",
    "guided_backprop",
    "deeplift",
    "gradient_shap",
    "occlusion",
    "lrp",
)


def settings(**changes: Any) -> MethodsParams:
    return MethodsParams.model_validate(changes)


def asked(
    network: nn.Module,
    images: Tensor,
    targets: list[int],
    params: MethodsParams | None = None,
    **rest: Any,
) -> Given:
    view = View(network.eval())
    return Given(view, images, torch.tensor(targets), dict(params or MethodsParams()), **rest)


class Linear(nn.Module):
    """Each class is a weighted sum of all values, plus a constant."""

    def __init__(self, size: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.weight = nn.Parameter(pictures(classes, size, seed=5) - 0.5)

    def forward(self, images: Tensor) -> Tensor:
        return torch.einsum("nchw,kchw->nk", images, self.weight) + 0.7


@pytest.mark.parametrize(
    "name", ["input_x_gradient", "integrated_gradients", "deeplift", "gradient_shap", "occlusion"]
)
def test_of_a_linear_function_each_pixel_gets_what_it_adds(name: str) -> None:
    network, images = Linear(), pictures(2, 8)
    one_pixel = {"window": 0.125, "stride": 1.0}  # a window of one of eight pixels
    found = METHODS[name](asked(network, images, [2, 0], settings(occlusion=one_pixel)))
    expected = (images * network.weight[[2, 0]]).sum(1).detach()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["integrated_gradients", "deeplift", "gradient_shap", "occlusion"])
def test_a_pixel_counts_by_its_difference_from_the_baseline(name: str) -> None:
    network, images = Linear(), pictures(2, 8)
    window = {"window": 0.125, "stride": 1.0} if name == "occlusion" else {}
    params = settings(**{name: {"baseline": 0.4, **window}})
    found = METHODS[name](asked(network, images, [2, 0], params))
    expected = ((images - 0.4) * network.weight[[2, 0]]).sum(1).detach()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["saliency", "smoothgrad", "guided_backprop"])
def test_the_sensitivity_of_a_linear_function_is_its_largest_weight(name: str) -> None:
    network, images = Linear(), pictures(2, 8)
    found = METHODS[name](asked(network, images, [2, 0]))
    expected = network.weight[[2, 0]].abs().amax(1).detach()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def gained(network: nn.Module, images: Tensor, targets: list[int]) -> Tensor:
    """How much the logits differ from those of a black image."""
    with torch.no_grad():
        difference: Tensor = network(images) - network(torch.zeros_like(images))
    return difference[range(len(images)), targets]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("integrated_gradients", residual),
        ("deeplift", residual),
        ("deeplift", lambda: lively(resnet18(num_classes=5))),
    ],
)
def test_maps_sum_to_what_the_image_adds_to_a_black_one(
    name: str, make: Callable[[], nn.Module]
) -> None:
    torch.manual_seed(0)
    network, images = make().double(), pictures(2, 32).double()
    params = settings(integrated_gradients={"steps": 200})
    found = METHODS[name](asked(network, images, [0, 3], params)).sum((1, 2))
    expected = gained(network, images, [0, 3])
    room = (1e-6 if name == "deeplift" else 0.02) * float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=0, atol=room)


def test_gradient_shap_sums_to_the_same_with_many_samples() -> None:
    network, images = SmallNet(), pictures(1)
    params = settings(gradient_shap={"samples": 2000, "samples_at_once": 100})
    found = METHODS["gradient_shap"](asked(network, images, [1], params)).sum((1, 2))
    torch.testing.assert_close(found, gained(network, images, [1]), rtol=0.05, atol=1e-4)


def test_guided_backprop_lets_only_positive_gradients_through() -> None:
    torch.manual_seed(0)
    first, second = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 4, 3)
    images = pictures(2)
    network = nn.Sequential(
        first, nn.ReLU(), second, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    found = METHODS["guided_backprop"](asked(network, images, [1, 2]))
    with torch.no_grad():
        before = first(images)
        after = second(before.relu())
        signal = torch.zeros_like(after)
        signal[[0, 1], [1, 2]] = 1 / after[0, 0].numel()
        signal = signal * (after > 0)
        signal = nn.functional.conv_transpose2d(signal, second.weight)
        signal = signal.relu() * (before > 0)
        expected = nn.functional.conv_transpose2d(signal, first.weight).abs().amax(1)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-8)
    assert not torch.allclose(found, METHODS["saliency"](asked(network, images, [1, 2])))


def test_occlusion_is_the_mean_drop_of_all_squares_over_a_pixel() -> None:
    network, images = SmallNet().eval(), pictures(1)
    params = settings(occlusion={"window": 0.25, "stride": 0.5, "baseline": 0.3})
    (found,) = METHODS["occlusion"](asked(network, images, [2], params))
    drops, times = torch.zeros(16, 16), torch.zeros(16, 16)
    with torch.no_grad():
        for top in range(0, 13, 2):
            for left in range(0, 13, 2):
                hidden = images.clone()
                hidden[:, :, top : top + 4, left : left + 4] = 0.3
                drop = float((network(images) - network(hidden))[0, 2])
                drops[top : top + 4, left : left + 4] += drop
                times[top : top + 4, left : left + 4] += 1
    torch.testing.assert_close(found, drops / times, rtol=1e-3, atol=1e-6)


def test_noise_smooths_a_gradient_that_jumps() -> None:
    class Step(nn.Module):
        """The gradient is 1 above one half, else 0."""

        def forward(self, images: Tensor) -> Tensor:
            return (images - 0.5).relu().sum((1, 2, 3))[:, None]

    images = torch.full((1, 3, 16, 16), 0.6)
    images[..., :8] = 0.4
    images[0, 0, 0, 0], images[0, 0, 0, 1] = 0.0, 1.0  # differences are 1: noise has its own size
    params = settings(smoothgrad={"samples": 400, "noise": 0.2, "samples_at_once": 100})
    (found,) = METHODS["smoothgrad"](asked(Step(), images, [0], params))
    below = norm.cdf(-0.1 / 0.2)
    # the largest of three means of 400 draws lies a little above the probability
    assert float(found[2:, :8].mean()) == pytest.approx(below, abs=0.04)
    assert float(found[2:, 8:].mean()) == pytest.approx(1 - below, abs=0.04)


def test_all_of_them_explain_a_foreign_model_through_explain() -> None:
    network = transformer()
    few = settings(
        integrated_gradients={"steps": 4}, smoothgrad={"samples": 2}, gradient_shap={"samples": 2}
    )
    found = explain(network, pictures(2, 32), [0, 2], NAMES, settings=few)
    for name, maps in found.items():
        assert maps.shape == (2, 32, 32), name
        signed = METHODS.entry(name).metadata["sign"] == "signed"
        assert np.abs(maps).max((1, 2)) == pytest.approx(1), name
        assert (maps.min() < 0) == signed, name


@pytest.mark.parametrize("name", [*NAMES, "lime", "shap"])
def test_no_pass_has_more_images_than_the_budget(name: str) -> None:
    network, sizes = SmallNet(), list[int]()

    def count(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        sizes.append(len(inputs[0]))

    network.first.register_forward_pre_hook(count)
    params = settings(lime={"segmenter": "slic", "segments": 9})
    explain(network, pictures(3), [0, 1, 2], [name], settings=params, budget=4)
    assert max(sizes) <= 4
    sizes.clear()
    explain(network, pictures(3), [0, 1, 2], [name], settings=params)
    few = name in ("saliency", "input_x_gradient", "guided_backprop", "deeplift", "lrp")
    assert max(sizes) > 4 or few


def test_shared_activations_are_split_in_a_copy_that_says_the_same() -> None:
    torch.manual_seed(0)
    network, images = resnet18(num_classes=3).eval(), pictures(2, 32)
    copied = split_shared_modules(network, images[:1])
    assert sum(isinstance(module, CalledInTurn) for module in copied.modules()) == 8
    assert not any(isinstance(module, CalledInTurn) for module in network.modules())
    with torch.no_grad():
        torch.testing.assert_close(copied(images), network(images))


def test_memory_that_runs_out_makes_passes_smaller() -> None:
    tried: list[int] = []

    def run(rows: int) -> int:
        tried.append(rows)
        if rows > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return rows

    assert halve_until_it_fits(run, 16) == 2
    assert tried == [16, 8, 4, 2]
    with pytest.raises(RuntimeError, match="shapes"):
        halve_until_it_fits(lambda _: _fail("shapes do not match"), 4)
    with pytest.raises(PastaError, match="not enough memory"):
        halve_until_it_fits(lambda _: _fail("out of memory"), 4)


def _fail(message: str) -> int:
    raise RuntimeError(message)


def test_none_of_them_is_a_technique_of_the_experiment() -> None:
    assert not {one.method for one in techniques()} & set(NAMES)
    with pytest.raises(PastaError, match="no technique of the experiment"):
        technique("saliency/resnet50")
