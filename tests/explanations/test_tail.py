"""What lies behind a layer, run alone: the same logits, and nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchvision.models import densenet121, googlenet, swin_t

from pasta.errors import PastaError
from pasta.explanations.methods.ablation import Tail, repeated
from pasta.models.base import Normalise
from tests.explanations.families import output_of, replaced, residual, transformer
from tests.explanations.networks import SmallNet, pictures


def altered(activations: Tensor, number: int = 3) -> Tensor:
    noise = torch.randn(number, *activations.shape[1:], generator=torch.Generator().manual_seed(5))
    return activations + noise.to(activations)


def clip_tower(kind: str) -> Any:
    from open_clip.modified_resnet import ModifiedResNet
    from open_clip.transformer import VisionTransformer as Tower

    torch.manual_seed(0)
    if kind == "resnet":
        return ModifiedResNet([1, 1, 1, 1], 8, 4, image_size=64, width=8).eval()
    return Tower(32, 8, 16, 2, 2, 2.0, output_dim=8).eval()


def timm_network(name: str, **options: Any) -> Any:
    import timm

    torch.manual_seed(0)
    return timm.create_model(name, num_classes=5, **options).eval()


def small_timm_transformer(pool: str = "token") -> Any:
    options = {"img_size": 32, "patch_size": 8, "embed_dim": 12, "depth": 2, "num_heads": 2}
    return timm_network("vit_tiny_patch16_224", global_pool=pool, **options)


def branched() -> Any:
    torch.manual_seed(0)
    return googlenet(num_classes=5, aux_logits=False, init_weights=False).eval()


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], nn.Module], int]] = {
    "last stage": (residual, lambda net: net.layer4[-1], 64),
    "first stage": (residual, lambda net: net.layer1[0], 64),
    "within a block": (residual, lambda net: net.layer4[0].conv2, 64),
    "shared activation": (residual, lambda net: net.layer4[1].bn1, 64),
    "around the block": (residual, lambda net: net.layer4[0].downsample, 64),
    "first layer": (residual, lambda net: net.conv1, 64),
    "wrapped": (
        lambda: nn.Sequential(Normalise(), residual()),
        lambda net: net[1].layer4[-1],
        64,
    ),
    "first norm of a block": (transformer, lambda net: net.encoder.layers[-1].ln_1, 32),
    "first norm of an early block": (transformer, lambda net: net.encoder.layers[0].ln_1, 32),
    "second norm of a block": (transformer, lambda net: net.encoder.layers[0].ln_2, 32),
    "multilayer perceptron": (transformer, lambda net: net.encoder.layers[0].mlp[0], 32),
    "patches": (transformer, lambda net: net.conv_proj, 32),
    "dense connections": (
        lambda: densenet121(num_classes=5).eval(),
        lambda net: net.features.denseblock4.denselayer2.conv1,
        32,
    ),
    "dense connections' end": (
        lambda: densenet121(num_classes=5).eval(),
        lambda net: net.features[-1],
        32,
    ),
    "branches": (branched, lambda net: net.inception5b.branch2, 32),
    "windows": (
        lambda: swin_t(num_classes=5).eval(),
        lambda net: net.features[-1][-1].norm1,
        64,
    ),
    "timm transformer": (small_timm_transformer, lambda net: net.blocks[-1].norm1, 32),
    "timm transformer that averages": (
        lambda: small_timm_transformer("avg"),
        lambda net: net.blocks[-1].norm1,
        32,
    ),
    "open_clip residual": (lambda: clip_tower("resnet"), lambda net: net.layer4[-1], 64),
    "open_clip transformer": (
        lambda: clip_tower("transformer"),
        lambda net: net.transformer.resblocks[-1].ln_1,
        32,
    ),
}


# what is changed in place after the layer has run, and what is no single tensor
WHOLE = ("around the block", "second norm of a block", "multilayer perceptron")


@pytest.mark.parametrize("case", CASES)
def test_what_lies_behind_a_layer_says_the_same_as_the_whole_network(case: str) -> None:
    make, choose, size = CASES[case]
    network = make()
    layer, image = choose(network), pictures(1, size)
    activations = altered(output_of(network, layer, image))
    expected = replaced(network, layer, image, activations)
    behind = Tail(network, layer, image)
    torch.testing.assert_close(behind(activations.clone()), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(behind(behind.activations.clone()), behind.logits)
    torch.testing.assert_close(behind(activations.clone()), expected, rtol=1e-4, atol=1e-5)
    assert (expected[0] - expected[1]).abs().max() > 0
    assert behind.short == (case not in WHOLE)
    assert untouched(network)


def test_nothing_before_the_layer_is_computed_again() -> None:
    network = transformer()
    behind = Tail(network, network.encoder.layers[-1].ln_1, pictures(1, 32))
    network.conv_proj.weight.data.fill_(torch.nan)  # would spoil the logits
    network.encoder.layers[0].mlp[0].weight.data.fill_(torch.nan)
    logits = behind(behind.activations.expand(4, -1, -1).clone())
    torch.testing.assert_close(logits, behind.logits.expand(4, -1))


class Fickle(SmallNet):
    """Takes another way for single images than for batches."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Identity(), nn.Flatten(0, 0)

    def forward(self, images: Tensor) -> Tensor:
        ways = (self.before, self.after) if len(images) == 1 else (self.after, self.before)
        for way in ways:
            images = way(images)
        return super().forward(images)


class Twice(SmallNet):
    """Uses its last layer twice."""

    def forward(self, images: Tensor) -> Tensor:
        maps = self.last(self.last(self.first(images)).relu())
        result: Tensor = self.head(maps.mean((2, 3)))
        return result


@pytest.mark.parametrize("network", [Fickle(), Twice()], ids=["another way", "used twice"])
def test_networks_that_go_their_own_ways_say_the_same_too(network: SmallNet) -> None:
    image = pictures(1, 32)
    activations = altered(output_of(network, network.last, image))
    expected = replaced(network, network.last, image, activations)
    behind = Tail(network, network.last, image)
    torch.testing.assert_close(behind(activations), expected)
    assert behind.short == isinstance(network, Twice)


class Failing(SmallNet):
    """Fails behind its layers once it is told to."""

    fails = False

    def forward(self, images: Tensor) -> Tensor:
        logits = super().forward(images)
        if self.fails:
            raise RuntimeError("no head")
        return logits


def untouched(network: nn.Module) -> bool:
    hooks = any(one._forward_hooks or one._forward_pre_hooks for one in network.modules())
    return not hooks and not any("forward" in vars(one) for one in network.modules())


def test_every_forward_is_as_before_after_an_error() -> None:
    network = Failing()
    network.first.forward = own = network.first.forward  # type: ignore[method-assign]
    behind = Tail(network, network.last, pictures(1))
    network.fails = True
    with pytest.raises(RuntimeError, match="no head"):
        behind(behind.activations)
    assert vars(network.first).pop("forward") is own
    assert untouched(network)


def test_hooks_come_off_if_recording_fails() -> None:
    network = Failing()
    network.fails = True
    with pytest.raises(RuntimeError, match="no head"):
        Tail(network, network.last, pictures(1))
    assert untouched(network)


def test_a_layer_that_has_no_part_in_the_network_is_an_error() -> None:
    with pytest.raises(PastaError, match="has no part"):
        Tail(SmallNet(), nn.Linear(2, 2), pictures(1))


def test_a_layer_that_gives_no_tensor_is_an_error() -> None:
    network = transformer()
    attention = network.encoder.layers[0].self_attention
    with pytest.raises(PastaError, match="tuple, not a tensor"):
        Tail(network, attention, pictures(1, 32))


def test_recorded_tensors_are_repeated_image_by_image_without_a_copy() -> None:
    row, column = torch.randn(1, 4, 5), torch.randn(4, 1, 5)
    torch.testing.assert_close(repeated(row, 2), torch.cat([row, row]))
    torch.testing.assert_close(repeated(column, 2), torch.cat([column, column], 1))
    assert repeated(row, 1000).untyped_storage().nbytes() == row.untyped_storage().nbytes()
    with pytest.raises(ValueError, match="where the image is"):
        repeated(torch.randn(3, 4, 5), 2)
