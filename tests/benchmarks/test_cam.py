"""Eight CAM methods on one shared pass against grad-cam's classes one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.models import resnet50, vit_b_16

from pasta import explain
from tests.benchmarks.test_ratios import timed

NAMES = (
    "gradcam",
    "hirescam",
    "gradcam_elementwise",
    "gradcam++",
    "xgradcam",
    "eigencam",
    "eigengradcam",
    "layercam",
)


def tokens_to_cells(tokens: torch.Tensor) -> torch.Tensor:
    return tokens[:, 1:].transpose(1, 2).reshape(len(tokens), -1, 14, 14)


@pytest.mark.parametrize("make", [resnet50, vit_b_16])
def test_eight_methods_share_one_pass(make: Callable[[], Any]) -> None:
    torch.manual_seed(0)
    network = make().eval()
    transformer = make is vit_b_16
    if transformer:  # torchvision starts with a zero head: all gradients would be zero
        torch.nn.init.normal_(network.heads.head.weight, std=0.02)
    layer = network.encoder.layers[-1].ln_1 if transformer else network.layer4[-1]
    reshape = tokens_to_cells if transformer else None
    images, targets = torch.rand(8, 3, 224, 224), torch.arange(8)

    def one_by_one() -> dict[str, Any]:
        return explain(network, images, targets, NAMES, layer, reshape, backend="grad-cam")

    def together() -> dict[str, Any]:
        return explain(network, images, targets, NAMES, layer, reshape)

    explain(network, images[:2], targets[:2], NAMES, layer, reshape)  # warm up
    fast, ours = timed(together)
    slow, theirs = timed(one_by_one)
    for name in NAMES:
        # XGradCAM divides by sums of activations, which nearly cancel behind a transformer's norm.
        room = 1e-3 if transformer and name == "xgradcam" else 1e-4
        np.testing.assert_allclose(ours[name], theirs[name], atol=room, err_msg=name)
    print(f"\n{make.__name__}: eight CAM methods {slow / fast:.1f}x grad-cam ({fast:.2f} s)")
