"""How many times faster Ablation-CAM is than grad-cam's, on equal results."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchvision.models import resnet50, vit_b_16

from pasta.explanations.base import View
from pasta.explanations.layers import find_layer
from pasta.explanations.methods.ablation import Tail, channel_weights

TARGET = 3
FEW, MORE = 2, 32  # channels from either end of the peer's order; all of them would take minutes


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result of a call."""
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def view_of(name: str) -> View:
    torch.manual_seed(0)
    network = {"resnet50": resnet50, "vit_b_16": vit_b_16}[name]().eval()
    if name == "vit_b_16":
        nn.init.normal_(network.heads.head.weight, std=0.02)  # torchvision's are zero
    layer, reshape = find_layer(network)
    return View(network, layer, reshape)


def weights_of(view: View, image: Tensor) -> NDArray[np.float32]:
    """Our weights of all channels: all of the work but a sum."""
    with torch.no_grad():
        behind = Tail(view.network, view.require_layer(), image)
        weights: NDArray[np.float32] = channel_weights(view, behind, TARGET, 256).numpy()
    return weights


def peers_weights(view: View, image: Tensor, share: float) -> NDArray[np.float32]:
    """The peer's weights, zero for channels that it leaves out."""
    from pytorch_grad_cam import AblationCAM
    from pytorch_grad_cam.ablation_layer import AblationLayer, AblationLayerVit
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    inside = AblationLayerVit() if view.reshape else AblationLayer()
    peer = AblationCAM(view.network, [view.layer], view.reshape, inside, 32, share)
    kept: list[NDArray[np.float32]] = []
    compute = peer.get_cam_weights

    def spy(*args: Any) -> NDArray[np.float32]:
        kept.append(compute(*args))
        return kept[-1]

    peer.get_cam_weights = spy
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
        peer(image, [ClassifierOutputTarget(TARGET)])
    weights: NDArray[np.float32] = kept[0][0]
    return weights


@pytest.mark.parametrize("name", ["resnet50", "vit_b_16"])
def test_ablationcam_against_grad_cam(name: str) -> None:
    """The peer's time for all channels follows from the times for a few and for some more; weights
    are compared where it has computed them."""
    view, image = view_of(name), torch.rand(1, 3, 224, 224)
    peers_weights(view, image, (FEW + 0.5) / 768)  # the first passes of a process are slow
    fast, ours = timed(lambda: weights_of(view, image))
    channels = len(ours)
    few, _ = timed(lambda: peers_weights(view, image, (FEW + 0.5) / channels))
    more, theirs = timed(lambda: peers_weights(view, image, (MORE + 0.5) / channels))
    slow = few + (more - few) * (channels - 2 * FEW) / (2 * MORE - 2 * FEW)
    done = np.flatnonzero(theirs)
    assert len(done) > MORE
    room = 1e-3 * float(np.abs(ours).max())
    np.testing.assert_allclose(ours[done], theirs[done], rtol=0, atol=room)
    print(f"\n{name}: {slow / fast:.0f}x grad-cam's Ablation-CAM ({fast:.2f} s, {slow:.0f} s)")
