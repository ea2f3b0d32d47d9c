"""Grad-cam's classes as a backend, against our shared pass on five families of networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.models import convnext_tiny, efficientnet_b0, resnet50, swin_t, vit_b_16

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.base import METHODS
from pasta.explanations.methods.grad_cam import BOTH, ONLY
from pasta.explanations.settings import MethodsParams
from tests.explanations.families import lively, residual, transformer
from tests.explanations.networks import SmallNet, global_states, pictures

torch.set_num_threads(1)
SHARED = ["gradcam", "gradcam++", "xgradcam", "layercam", "hirescam", "gradcam_elementwise"]
EIGEN = ["eigencam", "eigengradcam"]
FAMILIES: dict[str, Callable[[], nn.Module]] = {
    "resnet50": lambda: resnet50(num_classes=5),
    "vit_b_16": lambda: vit_b_16(num_classes=5, image_size=64),
    "convnext_tiny": lambda: convnext_tiny(num_classes=5),
    "swin_t": lambda: swin_t(num_classes=5),
    "efficientnet_b0": lambda: efficientnet_b0(num_classes=5),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_grad_cam_and_the_shared_pass_agree(family: str) -> None:
    torch.manual_seed(0)
    network, images = FAMILIES[family]().eval(), pictures(2, 64)
    if family == "vit_b_16":  # torchvision starts with a head of zeros: there would be no gradient
        lively(network)
    names = SHARED + EIGEN
    ours = explain(network, images, [1, 4], names)
    theirs = explain(network, images, [1, 4], names, backend="grad-cam")
    for name in names:
        np.testing.assert_allclose(theirs[name], ours[name], atol=1e-4, err_msg=name)
        assert np.ptp(ours[name]) > 0, name


def test_perturbation_methods_agree_too() -> None:
    names = ["ablationcam", "scorecam"]
    for network, images in ((residual(), pictures(2, 96)), (transformer(), pictures(2, 32))):
        ours = explain(network, images, [1, 4], names)
        theirs = explain(network, images, [1, 4], names, backend="grad-cam")
        for name in names:
            np.testing.assert_allclose(theirs[name], ours[name], atol=1e-3, err_msg=name)


def test_fullgrad_differs_where_grad_cam_leaves_biases_out() -> None:
    """Grad-cam adds the biases of convolutions and batch norms and enlarges each channel after it
    has scaled it; ours has the biases of linear layers and attention, too, and equals the sum in
    networks that have only the former."""
    network, images = residual(), pictures(2, 64)
    ours = explain(network, images, [1, 4], ["fullgrad"])["fullgrad"]
    theirs = explain(network, images, [1, 4], ["fullgrad"], backend="grad-cam")["fullgrad"]
    for own, other in zip(ours, theirs, strict=True):
        assert np.corrcoef(own.ravel(), other.ravel())[0, 1] > 0.9


@pytest.mark.parametrize("name", sorted(BOTH))
def test_every_method_of_both_goes_through_grad_cam(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_given: Any) -> Tensor:
        raise AssertionError("our own version was called")

    entry = METHODS.entry(name)
    monkeypatch.setitem(METHODS._entries, name, type(entry)(name, refuse, entry.metadata))
    found = explain(residual(), pictures(1, 96), [0], [name], backend="grad-cam")[name]
    assert found.shape == (1, 96, 96) and found.any()
    with pytest.raises(AssertionError, match="our own"):
        explain(residual(), pictures(1, 96), [0], [name])


def test_other_methods_are_computed_as_usual() -> None:
    names = ["gradcam", "saliency"]
    found = explain(SmallNet(), pictures(1), [0], names, target_layer="active", backend="grad-cam")
    usual = explain(SmallNet(), pictures(1), [0], names, target_layer="active")
    np.testing.assert_array_equal(found["saliency"], usual["saliency"])


@pytest.mark.parametrize(("make", "size"), [(residual, 96), (transformer, 32)])
@pytest.mark.parametrize("name", sorted(ONLY))
def test_methods_of_grad_cam_alone_depend_on_nothing_but_image_target_and_seed(
    make: Callable[[], nn.Module], size: int, name: str
) -> None:
    network, images = make().double(), pictures(3, size).double()
    together = explain(network, images, [0, 3, 1], [name], seed=1)[name]
    assert together.shape == (3, size, size) and together.any()
    before = global_states()
    alone = explain(network, images, [0, 3, 1], [name], seed=1, batch_size=1)[name]
    np.testing.assert_allclose(alone, together, atol=1e-5)
    assert global_states() == before
    others = explain(network, images, [0, 3, 1], [name], seed=2)[name]
    assert np.allclose(others, together) == (name != "random_cam")
    targets = explain(network, images, [4, 2, 3], [name], seed=1)[name]
    assert np.allclose(targets, together) == (name in ("kpca_cam", "random_cam"))


def test_finer_cam_explains_what_the_class_has_more_of_than_its_neighbours() -> None:
    """With strength 0 nothing is taken away: it is GradCAM, whose loss is only weighed."""
    network, images = residual(), pictures(2, 96)
    none = MethodsParams.model_validate({"finer_cam": {"strength": 0.0}})
    found = explain(network, images, [0, 3], ["finer_cam", "gradcam"], settings=none)
    np.testing.assert_allclose(found["finer_cam"], found["gradcam"], atol=1e-3)
    usual = explain(network, images, [0, 3], ["finer_cam"])["finer_cam"]
    assert not np.allclose(usual, found["finer_cam"], atol=0.05)


def test_a_linear_kernel_makes_kpca_cam_eigencam_up_to_its_sign() -> None:
    network, images = residual(), pictures(2, 64)
    linear = MethodsParams.model_validate({"kpca_cam": {"kernel": "linear"}})
    found = explain(network, images, [0, 3], ["kpca_cam"], settings=linear)["kpca_cam"]
    eigen = explain(network, images, [0, 3], ["eigencam"])["eigencam"]
    for own, other in zip(found, eigen, strict=True):
        same = np.allclose(own, other, atol=1e-3)
        apart = float((own * other).sum()) < 0.2 * float((own * own).sum())
        assert same or apart  # what is positive in one is cut off in the other


def test_shapley_cam_is_gradcam_where_the_score_is_linear_in_the_layer() -> None:
    torch.manual_seed(0)
    inner = (nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 8, 3))
    network = nn.Sequential(*inner, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    found = explain(network, pictures(2), [0, 3], ["shapley_cam", "gradcam"], target_layer="2")
    np.testing.assert_allclose(found["shapley_cam"], found["gradcam"], atol=1e-4)


def test_gradients_and_flags_of_the_model_are_left_as_they_were() -> None:
    network = SmallNet()
    network(pictures(1)).sum().backward()
    before = {name: value.grad for name, value in network.named_parameters()}
    names = [*BOTH - {"fullgrad"}, *ONLY]
    explain(network, pictures(1), [0], names, target_layer="active", backend="grad-cam")
    for name, value in network.named_parameters():
        assert value.grad is before[name] and value.requires_grad
    assert not any(module._forward_hooks for module in network.modules())


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(PastaError, match="Did you mean 'grad-cam'"):
        explain(SmallNet(), pictures(1), [0], target_layer="last", backend="gradcam")  # type: ignore[call-overload]
