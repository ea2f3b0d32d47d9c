"""What lies behind a layer, run alone: the same logits, and nothing left behind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchvision.models import densenet121, googlenet, swin_t

from pasta.errors import PastaError
from pasta.explanations.ablation import ablationcam
from pasta.explanations.base import Given, View
from pasta.explanations.tail import Tail, record, repeated, tail
from pasta.models.normalise import Normalise
from tests.explanations.families import replaced, residual, transformer
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


MODES = {
    "around the block": "copies",
    "first norm of a block": "first token",
    "timm transformer": "first token",
    "open_clip transformer": "first token",
}


@pytest.mark.parametrize("case", CASES)
def test_what_lies_behind_a_layer_says_the_same_as_the_whole_network(case: str) -> None:
    make, choose, size = CASES[case]
    network = make()
    layer, image = choose(network), pictures(1, size)
    activations = altered(record(network, layer, image).activations)
    expected = replaced(network, layer, image, activations)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")  # the shortcut must work
        with tail(network, layer, image) as behind:
            torch.testing.assert_close(behind(activations.clone()), expected, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(
                behind(behind.recording.activations.clone()), behind.recording.logits
            )
            again = behind(activations.clone())
    torch.testing.assert_close(again, expected, rtol=1e-4, atol=1e-5)
    assert (expected[0] - expected[1]).abs().max() > 0
    assert behind.mode == MODES.get(case, "views")


def test_nothing_before_the_layer_is_computed_again() -> None:
    network = transformer()
    counted: list[tuple[nn.Module, int]] = []
    projection = network.conv_proj
    first, last = network.encoder.layers[0].mlp[0], network.encoder.layers[-1].mlp[0]
    with tail(network, network.encoder.layers[-1].ln_1, pictures(1, 32)) as behind:
        handles = [
            one.register_forward_hook(
                lambda module, _, output: counted.append((module, output.shape[1]))
            )
            for one in (first, last)
        ]
        weight = projection.weight.data.clone()
        projection.weight.data.fill_(torch.nan)  # would spoil the logits
        try:
            logits = behind(behind.recording.activations.expand(4, -1, -1).clone())
        finally:
            projection.weight.data.copy_(weight)
            for handle in handles:
                handle.remove()
    assert counted == [(last, 1)]  # of the tokens, too, only the one that is looked at
    torch.testing.assert_close(logits, behind.recording.logits.expand(4, -1))


def test_tokens_that_matter_ever_so_little_are_not_dropped() -> None:
    network = transformer()
    last = network.encoder.layers[-1]
    with torch.no_grad():  # the last block hardly mixes tokens, but it does
        last.self_attention.out_proj.weight.mul_(1e-6)
    image = pictures(1, 32)
    with tail(network, network.encoder.layers[0].ln_1, image) as behind:
        assert behind.mode == "views"
    with tail(network, last.ln_1, image) as behind:
        assert behind.mode == "first token"


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
def test_where_the_shortcut_fails_the_whole_network_runs_and_a_warning_says_so(
    network: SmallNet,
) -> None:
    image = pictures(1, 32)
    activations = altered(record(network, network.last, image).activations)
    expected = replaced(network, network.last, image, activations)
    with (
        pytest.warns(UserWarning, match="the whole of it runs"),
        torch.no_grad(),
        tail(network, network.last, image) as behind,
    ):
        torch.testing.assert_close(behind(activations), expected)
    assert behind.mode == "whole"


def test_a_warning_is_given_once_for_a_batch() -> None:
    network = Fickle()
    with pytest.warns(UserWarning) as caught:
        ablationcam(Given(View(network, network.last), pictures(3), torch.arange(3)))
    assert len([one for one in caught if "the whole of it runs" in str(one.message)]) == 1


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
    with (
        pytest.raises(RuntimeError, match="no head"),
        tail(network, network.last, pictures(1)) as behind,
    ):
        assert "forward" in vars(network.last)
        network.fails = True
        behind(behind.recording.activations)
    assert vars(network.first).pop("forward") is own
    assert untouched(network)


def test_hooks_come_off_if_recording_fails() -> None:
    network = Failing()
    network.fails = True
    with pytest.raises(RuntimeError, match="no head"):
        record(network, network.last, pictures(1))
    assert untouched(network)


def test_a_layer_that_has_no_part_in_the_network_is_an_error() -> None:
    with pytest.raises(PastaError, match="has no part"):
        record(SmallNet(), nn.Linear(2, 2), pictures(1))


def test_a_layer_that_gives_no_tensor_is_an_error() -> None:
    network = transformer()
    attention = network.encoder.layers[0].self_attention
    with pytest.raises(PastaError, match="tuple, not a tensor"):
        record(network, attention, pictures(1, 32))


def test_recorded_tensors_are_repeated_image_by_image() -> None:
    row, column = torch.randn(1, 4, 5), torch.randn(4, 1, 5)
    windows, number = torch.randn(3, 4, 5), torch.tensor(2.0)
    torch.testing.assert_close(repeated(row, 2), torch.cat([row, row]))
    torch.testing.assert_close(repeated(column, 2), torch.cat([column, column], 1))
    torch.testing.assert_close(repeated(windows, 2), torch.cat([windows, windows]))
    assert repeated(number, 2) is number
    assert repeated(row, 1000).untyped_storage().nbytes() == row.untyped_storage().nbytes()


def test_a_tail_is_made_of_what_was_recorded() -> None:
    network = SmallNet()
    recording = record(network, network.last, pictures(1))
    assert [module for module, _ in recording.before] == [network.first]
    assert recording.calls == 1
    behind = Tail(network, network.last, recording, "views")
    with behind.patched(), torch.no_grad():
        torch.testing.assert_close(behind(recording.activations.clone()), recording.logits)
    assert untouched(network)
