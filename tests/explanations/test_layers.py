"""Target layers of torchvision's and timm's families, by table, by rule, and by name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision
from torch import Tensor, nn

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.base import View
from pasta.explanations.layers import (
    AnyLayout,
    Tokens,
    channels_last,
    find_layer,
    resolve_layer,
)
from pasta.explanations.methods.fullgrad import whole_pass
from pasta.models.base import Normalise
from pasta.models.resnet import ResNetClassifier
from pasta.models.vit import TransformerClassifier
from tests.explanations.families import output_of
from tests.explanations.networks import SmallNet, pictures
from tests.explanations.small_group import small_params

torch.set_num_threads(1)


def torchvision_network(name: str) -> Any:
    options: dict[str, Any] = {"num_classes": 3}
    if name in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": False}
    if name == "vit":
        return torchvision.models.VisionTransformer(64, 16, 2, 2, 8, 16, **options).eval()
    return getattr(torchvision.models, name)(**options).eval()


def timm_network(name: str, **options: Any) -> Any:
    import timm

    return timm.create_model(name, num_classes=3, **options).eval()


def name_of(network: nn.Module, layer: nn.Module) -> str:
    names: list[str] = [name for name, module in network.named_modules() if module is layer]
    return names[0]


# network: its layer, and the maps it gives for an image of so many pixels
TORCHVISION: dict[str, tuple[str, tuple[int, ...], int]] = {
    "resnet18": ("layer4.1", (512, 2, 2), 64),
    "resnext50_32x4d": ("layer4.2", (2048, 2, 2), 64),
    "alexnet": ("features.12", (256, 2, 2), 96),
    "vgg11": ("features.20", (512, 2, 2), 64),
    "densenet121": ("features.norm5", (1024, 2, 2), 64),
    "mobilenet_v2": ("features.18", (1280, 2, 2), 64),
    "mobilenet_v3_small": ("features.12", (576, 2, 2), 64),
    "efficientnet_b0": ("features.8", (1280, 2, 2), 64),
    "convnext_tiny": ("features.7", (768, 2, 2), 64),
    "regnet_y_400mf": ("trunk_output.block4", (440, 2, 2), 64),
    "shufflenet_v2_x0_5": ("conv5", (1024, 2, 2), 64),
    "mnasnet0_5": ("layers.16", (1280, 2, 2), 64),
    "googlenet": ("inception5b", (1024, 2, 2), 64),
    "inception_v3": ("Mixed_7c", (2048, 2, 2), 128),
    "squeezenet1_1": ("features.12", (512, 3, 3), 64),
    "vit": ("encoder.layers.encoder_layer_1.ln_1", (8, 4, 4), 64),
    "swin_t": ("features.7.1.norm1", (768, 2, 2), 64),
}
SMALL = {"img_size": 64, "embed_dim": 24, "depth": 2, "num_heads": 2}
TIMM: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "resnet18": ("layer4.1", (512, 2, 2), {}),
    "vit_tiny_patch16_224": ("blocks.1.norm1", (24, 4, 4), SMALL),
    "deit_tiny_distilled_patch16_224": ("blocks.1.norm1", (24, 4, 4), SMALL),
    "vit_small_patch16_dinov3": ("blocks.1.norm1", (24, 4, 4), SMALL),  # with four registers
    "swin_tiny_patch4_window7_224": (
        "layers.1.blocks.0.norm1",
        (32, 8, 8),
        {"img_size": 64, "embed_dim": 16, "depths": (1, 1), "num_heads": (1, 2)},
    ),
    "convnext_atto": ("stages.3", (320, 2, 2), {}),
    "efficientnet_lite0": ("bn2", (1280, 2, 2), {}),
    "mobilenetv3_small_050": ("blocks", (288, 2, 2), {}),
    "regnetx_002": ("s4", (368, 2, 2), {}),
    "xcit_nano_12_p16_224": ("blocks.1.norm1", (128, 4, 4), {"img_size": 64, "depth": 2}),
    "focalnet_tiny_srf": ("layers.3.blocks.1.norm1", (768, 2, 2), {}),  # like Swin, but maps
}


def maps_of(network: nn.Module, size: int) -> tuple[str, tuple[int, ...]]:
    layer, reshape = find_layer(network)
    output = output_of(network, layer, pictures(1, size))
    return name_of(network, layer), tuple(View(network, layer, reshape).maps(output).shape[1:])


@pytest.mark.parametrize("name", TORCHVISION)
def test_families_of_torchvision_have_a_layer_with_maps(name: str) -> None:
    expected, shape, size = TORCHVISION[name]
    assert maps_of(torchvision_network(name), size) == (expected, shape)


@pytest.mark.parametrize("name", TIMM)
def test_families_of_timm_have_a_layer_with_maps(name: str) -> None:
    expected, shape, options = TIMM[name]
    assert maps_of(timm_network(name, **options), 64) == (expected, shape)


@pytest.mark.parametrize("name", ["densenet121", "vit", "swin_t", "mnasnet0_5"])
def test_maps_and_their_gradients_lie_alike(name: str) -> None:
    network = torchvision_network(name)
    if name == "vit":
        nn.init.normal_(network.heads.head.weight)
    layer, reshape = find_layer(network)
    passed = whole_pass(View(network, layer, reshape), pictures(2, 64), torch.tensor([0, 1]))
    assert passed.activations.shape == passed.gradients.shape
    assert passed.gradients.abs().max() > 0


def test_wrapped_networks_are_looked_into() -> None:
    network = torchvision_network("resnet18")
    assert find_layer(nn.Sequential(Normalise(), network))[0] is network.layer4[-1]
    wrapper = nn.Module()
    wrapper.backbone = nn.Sequential(network)
    assert find_layer(wrapper)[0] is network.layer4[-1]


def test_the_image_tower_of_a_clip_is_preferred_to_its_text_tower() -> None:
    from open_clip.model import CLIP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vision = {"image_size": 32, "patch_size": 8, "width": 64, "layers": 2}
        text = {"context_length": 8, "vocab_size": 99, "width": 64, "heads": 2, "layers": 1}
        clip = CLIP(8, vision, text).eval()
    layer, reshape = find_layer(clip)
    assert name_of(clip, layer) == "visual.transformer.resblocks.1.ln_1"
    output = output_of(clip.visual, layer, pictures(1, 32))
    assert View(clip, layer, reshape).maps(output).shape == (1, 64, 4, 4)


def test_our_own_models_say_themselves_where_to_look(tmp_path: Path) -> None:
    settings = small_params(tmp_path, "small").models["small"]
    assert settings.resnet50 and settings.vit_b_16
    residual = ResNetClassifier(("a", "b"), settings.resnet50)
    assert find_layer(residual) == (residual.cam_layers()[0], None)
    transformer = TransformerClassifier(("a", "b"), settings.vit_b_16, 32)
    layer, reshape = find_layer(transformer)
    assert layer is transformer.cam_layers()[0]
    assert reshape == Tokens(grid=transformer.token_grid)


class Unknown(nn.Module):
    """A family that no table knows; it ends with a head that pools."""

    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.start, self.middle, self.end = nn.Conv2d(3, 5, 3), nn.Conv2d(5, 7, 3), last
        self.pool, self.idle = nn.AdaptiveAvgPool2d(1), nn.Dropout()
        self.head = nn.Conv2d(7, 3, 1)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.idle(self.end(self.middle(self.start(images))))
        result: Tensor = self.head(self.pool(maps)).flatten(1)
        return result


def test_the_rule_finds_the_last_module_with_more_than_one_cell() -> None:
    network = Unknown(nn.ReLU())
    assert find_layer(network) == (network.end, None)


def test_the_rule_leaves_the_network_as_it_was() -> None:
    network = Unknown(nn.BatchNorm2d(7)).train()
    network.middle.eval()
    find_layer(network)
    assert [one.training for one in (network, network.start, network.end)] == [True] * 3
    assert not network.middle.training
    assert not any(one._forward_hooks for one in network.modules())
    assert isinstance(network.end, nn.BatchNorm2d)
    assert network.end.num_batches_tracked == 0


class OnlyNorm(nn.Module):
    """Ends with channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.norm, self.head = nn.Conv2d(3, 5, 8, 8), nn.LayerNorm(5), nn.Linear(5, 3)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.norm(self.start(images).permute(0, 2, 3, 1))
        result: Tensor = self.head(maps.mean((1, 2)))
        return result


def test_the_rule_sees_channels_that_come_last() -> None:
    network = OnlyNorm()
    assert find_layer(network) == (network.norm, channels_last)


def test_a_network_without_maps_is_an_error_that_asks_for_a_layer() -> None:
    with pytest.raises(PastaError, match="name the target layer"):
        find_layer(nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 3)))


def test_a_network_that_takes_no_image_is_an_error() -> None:
    with pytest.raises(PastaError, match="takes no image"):
        find_layer(nn.Linear(7, 3))


@pytest.mark.parametrize("name", ["layer4.1", "layer4.-1", "layer4.1.conv2", "fc"])
def test_layers_have_dotted_names(name: str) -> None:
    network = torchvision_network("resnet18")
    named = dict(network.named_modules())
    assert resolve_layer(network, name)[0] is named[name.replace("-1", "1")]


def test_a_module_may_be_given_and_none_finds_one() -> None:
    network = torchvision_network("resnet18")
    assert resolve_layer(network, network.layer3)[0] is network.layer3
    assert resolve_layer(network) == find_layer(network)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("layer4.1.conv3", "Did you mean 'layer4.1.conv[12]'"),
        ("layr4", "Did you mean 'layer[1-4]'"),
        ("layer4.-3", "Did you mean 'layer4"),
        ("nothing like it", "Known: avgpool, bn1, conv1, fc, layer1"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(PastaError, match=f"ResNet has no layer '{name}'. {hint}"):
        resolve_layer(torchvision_network("resnet18"), name)


def test_a_foreign_module_is_an_error() -> None:
    network, other = torchvision_network("resnet18"), SmallNet()
    with pytest.raises(PastaError, match="Conv2d given as target layer is no part of the ResNet"):
        resolve_layer(network, other.last)


def test_a_chosen_layer_may_have_any_layout() -> None:
    network = torchvision_network("vit")
    reshape = resolve_layer(network, "encoder.layers.encoder_layer_0.mlp")[1]
    assert reshape is not None
    assert reshape(torch.zeros(2, 17, 8)).shape == (2, 8, 4, 4)
    swin = torchvision_network("swin_t")
    last = resolve_layer(swin, "features.1.0.norm2")[1]
    assert last is not None
    assert last(torch.zeros(2, 6, 5, 96)).shape == (2, 96, 6, 5)
    convolutional = torchvision_network("convnext_tiny")
    norm = resolve_layer(convolutional, "features.2.0")[1]  # a norm that turns its maps back
    assert norm is not None
    assert norm(torch.zeros(2, 96, 6, 5)).shape == (2, 96, 6, 5)


def test_tokens_lose_their_prefix_and_keep_their_order() -> None:
    grid = torch.arange(12.0).reshape(1, 12, 1)
    prefixed = torch.cat([torch.full((1, 2, 1), -1.0), grid], 1)
    maps = Tokens(prefix=2, grid=(3, 4))(prefixed)
    torch.testing.assert_close(maps, grid.reshape(1, 1, 3, 4))
    torch.testing.assert_close(Tokens(grid=(3, 4))(prefixed), maps)
    torch.testing.assert_close(Tokens(prefix=2, grid=(3, 4))(grid), maps)  # no prefix yet
    square = torch.arange(21.0).reshape(1, 21, 1)
    for tokens in (Tokens(), Tokens(prefix=5), Tokens(prefix=5, grid=(7, 7))):
        torch.testing.assert_close(tokens(square), square[:, 5:].reshape(1, 1, 4, 4))


def test_tokens_that_fill_no_grid_are_an_error() -> None:
    with pytest.raises(PastaError, match="12 tokens, 1 of them without a place"):
        Tokens(prefix=1)(torch.zeros(1, 12, 3))


def test_a_layer_without_places_is_an_error() -> None:
    with pytest.raises(PastaError, match=r"\(2, 5\), which is neither maps nor tokens"):
        AnyLayout(Tokens(), last=False)(torch.zeros(2, 5))


# Images that are no squares, networks of Hugging Face, layers that come too early


def eigencam(network: nn.Module, images: Tensor, **options: Any) -> Any:
    return explain(network, images, [0] * len(images), ["eigencam"], **options)["eigencam"]


@pytest.mark.parametrize("size", [(64, 256), (256, 64), (96, 160), (64, 64)])
def test_the_grid_of_tokens_follows_the_shape_of_the_image(size: tuple[int, int]) -> None:
    """At 64 x 256 there are as many tokens as at 128 x 128, for which the network was made."""
    network = timm_network("vit_tiny_patch16_224", img_size=128, dynamic_img_size=True)
    rows, columns = size[0] // 16, size[1] // 16

    def expected(tokens: Tensor) -> Tensor:
        return tokens[:, 1:].transpose(1, 2).reshape(len(tokens), -1, rows, columns)

    images = torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(0))
    assert (eigencam(network, images) == eigencam(network, images, reshape=expected)).all()


def test_tokens_of_a_known_image_need_no_known_prefix() -> None:
    tokens = torch.arange(66.0)[None, :, None]
    assert Tokens(image=(64, 256))(tokens).shape == (1, 1, 4, 16)
    assert Tokens(image=(64, 256))(tokens)[0, 0, 0, 0] == 2
    assert Tokens(prefix=2, image=(100, 100))(tokens).shape == (1, 1, 8, 8)
    with pytest.raises(PastaError, match="pass a reshape"):
        Tokens(prefix=1, image=(64, 256))(tokens)


class Logits(nn.Module):
    """What everybody writes around a classifier of Hugging Face."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model(images).logits
        return logits


def hugging_face(name: str) -> nn.Module:
    import transformers

    small: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    tokens: dict[str, Any] = {**small, "image_size": 64, "patch_size": 16, "intermediate_size": 16}
    known: dict[str, dict[str, Any]] = {
        "Swin": {
            **{"image_size": 64, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2]},
            "window_size": 4,
        },
        "ViT": tokens,
        "Dinov2": tokens,
        "ConvNext": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
        "ResNet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]},
    }
    config = getattr(transformers, f"{name}Config")(num_labels=3, **known[name])
    torch.manual_seed(0)
    return Logits(getattr(transformers, f"{name}ForImageClassification")(config)).eval()


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("Swin", "swin.encoder.layers.1.blocks.0.layernorm_before"),
        ("ViT", "vit.layers.1.layernorm_before"),
        ("Dinov2", "dinov2.encoder.layer.1.norm1"),
        ("ConvNext", "convnext.encoder.stages.1"),
        ("ResNet", "resnet.encoder.stages.1"),
    ],
)
def test_networks_of_hugging_face_are_explained(name: str, layer: str) -> None:
    network = hugging_face(name)
    assert name_of(network, find_layer(network)[0]) == f"model.{layer}"
    methods = ["gradcam", "ablationcam", "eigencam"]
    maps, statuses = explain(network, pictures(2, 64), [0, 1], methods, return_status=True)
    assert all(one.shape == (2, 64, 64) for one in maps.values())
    assert statuses["ablationcam"] == ["ok", "ok"] and statuses["eigencam"] == ["ok", "ok"]


class TableOfBiases(nn.Module):
    """Gives something like maps that belongs to no image."""

    def forward(self) -> Tensor:
        return torch.ones(1, 2, 9, 9)


class Biased(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.biases, self.head = nn.Conv2d(3, 4, 3), TableOfBiases(), nn.Linear(4, 3)

    def forward(self, images: Tensor) -> Tensor:
        found = self.first(images).mean((2, 3)) * self.biases().mean()
        logits: Tensor = self.head(found)
        return logits


def test_the_rule_passes_over_what_belongs_to_no_image() -> None:
    network = Biased().eval()
    assert find_layer(network)[0] is network.first


def test_a_layer_at_the_beginning_of_a_network_is_told() -> None:
    network = timm_network("crossvit_tiny_240")
    with pytest.warns(UserWarning, match=r"patch_embed\.1\.proj, lies at its beginning"):
        find_layer(network)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_layer(SmallNet())
