"""Explanation methods on ResNet50 and ViT-B/16 at 224 pixels, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import (
    DeepLift,
    DeepLiftShap,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    KernelShap,
    Lime,
    Occlusion,
    Saliency,
)
from pytorch_grad_cam import (
    AblationCAM,
    AblationLayer,
    AblationLayerVit,
    GradCAM,
    GradCAMPlusPlus,
    ScoreCAM,
)
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import Tensor, nn
from torchvision.models import resnet18, resnet50, vit_b_16

from pasta import explain
from pasta.explanations.base import View
from pasta.explanations.layers import find_layer
from pasta.explanations.methods.ablation import Tail, channel_weights
from pasta.explanations.methods.gradients import split_shared_modules
from pasta.explanations.methods.lrp import relevance_by_mode, relevance_by_zennit
from pasta.explanations.settings import LrpParams, MethodsParams
from pasta.explanations.spatial import grid_labels
from tests.benchmarks.conftest import Table

SHARED = (
    *("gradcam", "hirescam", "gradcam_elementwise", "gradcam++", "xgradcam"),
    *("eigencam", "eigengradcam", "layercam"),
)
LATEC = (
    *("occlusion", "lime", "shap", "saliency", "input_x_gradient", "guided_backprop"),
    *("gradcam", "scorecam", "gradcam++", "integrated_gradients", "expected_gradients"),
    *("deeplift", "deeplift_shap"),
)
SCORE_LAYER = "layer1"
PART = 16  # channels from either end of the peer's order; all of them would take minutes
BOTH = pytest.mark.parametrize("make", [resnet50, vit_b_16])


def make_network(make: Callable[[], Any]) -> nn.Module:
    torch.manual_seed(0)
    network: Any = make().eval()
    if make is vit_b_16:  # torchvision starts with a zero head: all gradients would be zero
        nn.init.normal_(network.heads.head.weight, std=0.02)
    found: nn.Module = network
    return found


def make_images(number: int) -> Tensor:
    return torch.rand(number, 3, 224, 224, generator=torch.Generator().manual_seed(1))


def compare_backends(
    table: Table, network: nn.Module, names: tuple[str, ...], number: int, what: str, **more: Any
) -> None:
    images, targets = make_images(number), torch.arange(number)
    layer = more.pop("target_layer", None)
    explain(network, images[:1], targets[:1], names[:1], layer)  # the first pass is slow

    def run(backend: Any) -> dict[str, Any]:
        return dict(explain(network, images, targets, names, layer, backend=backend))

    table.compare(what, "grad-cam", lambda: run("grad-cam"), lambda: run("shared pass"), **more)


@BOTH
def test_eight_cams_share_one_pass(table: Table, make: Callable[[], Any]) -> None:
    what = f"eight CAMs, {make.__name__}, 4 images"
    compare_backends(table, make_network(make), SHARED, 4, what)


@BOTH
def test_fullgrad(table: Table, make: Callable[[], Any]) -> None:
    if make is vit_b_16:
        pytest.skip("grad-cam's FullGrad fails on tokens")
    why = "has the biases of linear layers and attention, works on transformers"
    compare_backends(
        table, make_network(make), ("fullgrad",), 2, "FullGrad, resnet50, 2 images", more_right=why
    )


def test_scorecam(table: Table) -> None:
    compare_backends(
        table,
        make_network(resnet50),
        ("scorecam",),
        1,
        "ScoreCAM, resnet50, 64 channels",
        more_right="constant channels are no noise, memory of one batch only",
        target_layer="maxpool",
    )


class WatchedAblation(AblationCAM):
    """Keeps the weights of the channels, zero for those that it leaves out."""

    kept: Any

    def get_cam_weights(self, *args: Any) -> Any:
        """Compute and keep them."""
        self.kept = super().get_cam_weights(*args)
        return self.kept


@BOTH
def test_ablationcam(table: Table, make: Callable[[], Any]) -> None:
    network, image = make_network(make), make_images(1)
    layer, reshape = find_layer(network)
    view = View(network, layer, reshape)
    kept: list[Any] = []

    def ours() -> Any:
        with torch.no_grad():
            behind = Tail(network, view.require_layer(), image)
            kept.append(channel_weights(view, behind, 3, 256).numpy())
        return kept[-1][np.flatnonzero(kept[0])]

    def theirs() -> Any:
        inside = AblationLayerVit() if reshape else AblationLayer()
        share = (PART + 0.5) / channels
        peer = WatchedAblation(network, [layer], reshape, inside, 16, share)
        peer(image, [ClassifierOutputTarget(3)])
        kept[:] = [peer.kept[0]]
        return peer.kept[0][np.flatnonzero(peer.kept[0])]

    channels = 768 if make is vit_b_16 else 2048
    what = f"AblationCAM, {make.__name__}, {channels} channels"
    table.compare(what, "grad-cam", theirs, ours, scale=channels / (2 * PART))


def test_lrp(table: Table) -> None:
    """Zennit does the work where it can; the mode is what all other networks get."""
    network, images = make_network(resnet50).requires_grad_(False), make_images(2).requires_grad_()
    targets, rules = torch.tensor([3, 4]), LrpParams()
    table.compare(
        "LRP, resnet50, 2 images",
        "zennit",
        lambda: relevance_by_zennit(network, images, targets, rules).detach(),
        lambda: relevance_by_mode(network, images, targets, rules).detach(),
        more_right="conserves relevance on transformers, gates, 3D and point networks",
    )


def test_the_methods_of_latec(table: Table) -> None:
    """All that explain a ResNet, one by one by captum and grad-cam, with Table 7's parameters.

    ScoreCAM looks at an early layer of 64 channels, so that this takes no more than a minute; at
    the last one it is a forward pass for each of 512 channels for both sides. LRP has a row of its
    own. Captum's DeepLIFT refuses ReLUs that are used twice: it gets a copy of the network.
    """
    torch.manual_seed(0)
    network: Any = resnet18().eval()
    images, targets = make_images(1), torch.tensor([3])
    references = torch.rand(16, 3, 224, 224, generator=torch.Generator().manual_seed(2))
    copied = split_shared_modules(network, images[:1])
    cells = grid_labels((224, 224), 16)[None, None]
    asked = [ClassifierOutputTarget(int(one)) for one in targets]
    settings = MethodsParams.model_validate(
        {
            "occlusion": {"window_pixels": 50, "stride_pixels": 25},
            "lime": {"segmenter": "grid", "samples": 10, "score": "logit", "reading": "released"},
            "shap": {"segmenter": "grid", "samples": 10, "score": "logit", "reading": "released"},
            "integrated_gradients": {"steps": 30},
        }
    )

    def ours() -> None:
        explain(
            network, images, targets, LATEC, SCORE_LAYER, settings=settings, references=references
        )

    def theirs() -> None:
        leaf, labels = images.clone().requires_grad_(), targets
        Occlusion(network).attribute(leaf, (3, 50, 50), (3, 25, 25), 0, labels)
        for kind in (Lime, KernelShap):
            for image, label in zip(leaf.detach(), labels, strict=True):
                kind(network).attribute(
                    image[None], 0, int(label), feature_mask=cells, n_samples=10,
                    perturbations_per_eval=5,
                )  # fmt: skip
        Saliency(network).attribute(leaf, labels)
        InputXGradient(network).attribute(leaf, labels)
        GuidedBackprop(network).attribute(leaf, labels)
        IntegratedGradients(network).attribute(leaf, 0, labels, n_steps=30)
        GradientShap(network).attribute(leaf, references, 40, 0.001, labels)
        DeepLift(copied).attribute(leaf, 0, labels)
        DeepLiftShap(copied).attribute(leaf, references, labels)
        layer = [network.get_submodule(SCORE_LAYER)]
        for cam in (GradCAM, GradCAMPlusPlus, ScoreCAM):
            with cam(network, layer) as run:
                run(leaf, asked)

    explain(network, images[:1], targets[:1], ["gradcam"])  # the first pass is slow
    table.compare(
        f"{len(LATEC)} methods of LATEC, resnet18, one image",
        "captum and grad-cam",
        theirs,
        ours,
        more_right="DeepLIFT sums to the difference at poolings, one gradient for two methods",
    )
