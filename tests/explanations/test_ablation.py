"""Ablation-CAM, and the shortcut behind a layer that makes it affordable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torchvision.models import SwinTransformer

from pasta.explanations.base import Given, View
from pasta.explanations.hooks import hooked
from pasta.explanations.layers import Tokens, channels_last
from pasta.explanations.methods.ablation import ablationcam, channel_axis
from tests.explanations.families import output_of, replaced, residual_view, transformer_view
from tests.explanations.networks import pictures, small_view

TARGETS = torch.tensor([0, 3, 1])


def swin_view() -> View:
    torch.manual_seed(0)
    network = SwinTransformer([4, 4], 8, [1, 1], [1, 2], [4, 4], num_classes=5).eval()
    return View(network, network.features[-1][-1].norm1, channels_last)


@pytest.mark.parametrize("make", [residual_view, transformer_view, small_view])
def test_maps_are_the_papers_formula(make: Callable[[], View]) -> None:
    view, images = make(), pictures(2, 32).double()
    view.network.double()
    ours = ablationcam(Given(view, images, TARGETS[:2]))
    for number in range(2):
        image, target = images[number : number + 1], int(TARGETS[number])
        with torch.no_grad():
            score = view.network(image)[0, target]
        whole = output_of(view.network, view.require_layer(), image)
        maps = view.maps(whole)[0]
        expected = torch.zeros_like(maps[0])
        lowest = float(whole.min())
        for channel in range(len(maps)):
            without = whole.clone()
            column = without[:, channel] if whole.ndim == 4 else without[..., channel]
            column.fill_(0 if lowest == 0 else lowest - 1e7)
            drop = score - replaced(view.network, view.require_layer(), image, without)[0, target]
            expected += drop / score * maps[channel]
        torch.testing.assert_close(ours[number], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", ["residual", "transformer", "swin", "negative"])
def test_maps_equal_grad_cams(kind: str) -> None:
    from pytorch_grad_cam import AblationCAM
    from pytorch_grad_cam.ablation_layer import AblationLayer, AblationLayerVit
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    views = {"residual": residual_view, "transformer": transformer_view, "swin": swin_view}
    view = views[kind]() if kind in views else small_view()
    size = 64 if kind == "residual" else 32
    images = pictures(2, size)
    goals = [ClassifierOutputTarget(int(target)) for target in TARGETS[:2]]
    # Where activations may be negative, the peer ablates each channel of a batch by 1e7 more than
    # the one before, for it looks for the smallest value anew: batches of one are its true result.
    options = {"batch_size": 1} if kind in ("negative", "swin") else {}
    inside = AblationLayerVit() if view.reshape else AblationLayer()
    peer = AblationCAM(view.network, [view.layer], view.reshape, ablation_layer=inside, **options)
    theirs = peer(images, goals)
    maps = ablationcam(Given(view, images, TARGETS[:2])).relu()
    low, high = maps.amin((1, 2), keepdim=True), maps.amax((1, 2), keepdim=True)
    ours = (maps - low) / (high - low + 1e-7)
    ours = nn.functional.interpolate(ours[:, None], (size, size), mode="bilinear")[:, 0]
    low, high = ours.amin((1, 2), keepdim=True), ours.amax((1, 2), keepdim=True)
    assert high.min() > 0
    np.testing.assert_allclose(((ours - low) / (high - low + 1e-7)).numpy(), theirs, atol=1e-3)


def test_behind_average_and_linear_layer_the_weights_are_known_by_hand() -> None:
    network = nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))
    images = pictures(2) - 0.2
    maps = ablationcam(Given(View(network, network[0]), images, TARGETS[:2]))
    head = network[3]
    assert isinstance(head, nn.Linear)
    for number, target in enumerate(TARGETS[:2]):
        seen = images[number].relu()
        shares = head.weight[target] * seen.mean((1, 2))
        expected = (shares[:, None, None] * seen).sum(0) / (shares.sum() + head.bias[target])
        torch.testing.assert_close(maps[number], expected.detach())


def test_no_more_images_than_the_budget_run_at_once() -> None:
    view, sizes = small_view(), []
    with hooked(view.network, lambda _, inputs, __: sizes.append(len(inputs[0]))):
        ablationcam(Given(view, pictures(1), TARGETS[:1], budget=4))
    assert max(sizes) == 4
    assert sizes[-2:] == [4, 2]  # six channels


def test_channels_are_second_in_maps_and_last_elsewhere() -> None:
    network = nn.Identity()
    assert channel_axis(View(network), torch.zeros(1, 5, 4, 4)) == 1
    assert channel_axis(View(network, reshape=Tokens(1)), torch.zeros(1, 17, 5)) == 2
    assert channel_axis(View(network, reshape=channels_last), torch.zeros(1, 4, 4, 5)) == 3
