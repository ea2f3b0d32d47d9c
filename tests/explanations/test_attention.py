"""Attention of every kind of transformer, and maps of it, against literal formulas."""

from __future__ import annotations

from typing import Any

import pytest
import timm
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torchvision.models import VisionTransformer
from transformers import ViTConfig, ViTForImageClassification

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.attention import attention_pass, has_attention
from pasta.explanations.base import METHODS, Given, View
from pasta.explanations.engine import computed
from pasta.explanations.layers import Tokens
from pasta.explanations.methods.attention_maps import (
    attention_of,
    near_points,
    relevance_of,
    roll_out,
)
from pasta.explanations.methods.lrp import Rules, attention_relevance
from pasta.explanations.settings import MethodsParams, ReadingParams
from pasta.models.vit import TransformerClassifier
from pasta.readings import Reading
from tests.explanations.families import residual, transformer, windowed
from tests.explanations.networks import pictures

torch.set_num_threads(1)
KEYS = ("raw_attention", "attention_rollout", "lrp_attention")
TARGETS = torch.tensor([1, 3])
CHEFER = Rules("plus", "plus", epsilon=1e-9, centred=False)


def exact() -> VisionTransformer:
    found = transformer().double().requires_grad_(False)
    assert isinstance(found, VisionTransformer)
    return found


class ByHand:
    """Every step of a torchvision ViT with two heads, written out."""

    def __init__(self, network: Any, images: Tensor) -> None:
        self.network, self.steps = network, []
        x = network.conv_proj(images).flatten(2).transpose(1, 2)
        x = torch.cat([network.class_token.expand(len(x), -1, -1), x], 1)
        x = x + network.encoder.pos_embedding
        self.attention: list[Tensor] = []
        for block in network.encoder.layers:
            start, normed = x, block.ln_1(x)
            weight, bias = block.self_attention.in_proj_weight, block.self_attention.in_proj_bias
            query, key, value = (
                F.linear(normed, *pair).view(*normed.shape[:2], 2, -1).transpose(1, 2)
                for pair in zip(weight.chunk(3), bias.chunk(3), strict=True)
            )
            scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
            attention = scores.softmax(-1)
            attention.retain_grad()
            self.attention.append(attention)
            mixed = (attention @ value).transpose(1, 2).flatten(2)
            output = block.self_attention.out_proj(mixed)
            middle = start + output
            hidden = block.mlp[0](block.ln_2(middle))
            active = block.mlp[1](hidden)
            added = block.mlp[3](active)
            x = middle + added
            self.steps.append((start, normed, value, mixed, output, middle, hidden, active, added))
        self.last = x
        self.logits = network.heads(network.encoder.ln(x)[:, 0])


def zplus(x: Tensor, layer: tuple[Tensor, Tensor], relevance: Tensor) -> Tensor:
    """R_i = sum over j of (x_i w_ij)+ / sum over i of (x_i w_ij)+ R_j, and biases keep theirs."""
    weight, bias = layer
    parts = (x[..., None, :] * weight).clamp_min(0)  # (..., outputs, inputs)
    total = parts.sum(-1) + bias.clamp_min(0)
    return (parts / total[..., None] * relevance[..., None]).sum(-2)


def literal_relevance(hand: ByHand, targets: Tensor) -> list[Tensor]:
    """Relevance of the attention of each block, from the head downwards."""
    network: Any = hand.network
    kept = F.one_hot(targets, hand.logits.shape[1]).double()
    head = network.heads.head
    above = torch.zeros_like(hand.last)
    token = network.encoder.ln(hand.last)[:, 0]
    above[:, 0] = zplus(token, (head.weight, head.bias), kept)
    found: list[Tensor] = []
    blocks = zip(network.encoder.layers, hand.steps, hand.attention, strict=True)
    for block, steps, attention in reversed(list(blocks)):
        start, normed, value, mixed, output, middle, _hidden, active, added = steps
        last = (block.mlp[3].weight, block.mlp[3].bias)
        first = (block.mlp[0].weight, block.mlp[0].bias)
        whole = middle + added
        inner = zplus(active, last, above * added / whole)
        inner = zplus(block.ln_2(middle), first, inner)
        above = above * middle / whole + inner
        own = block.self_attention
        share = above * output / middle
        share = zplus(mixed, (own.out_proj.weight, own.out_proj.bias), share)
        ratio = (
            (share / mixed).view(*mixed.shape[:2], 2, -1).transpose(1, 2)
        )  # (n, heads, queries, f)
        found.append(attention * (ratio @ value.transpose(2, 3)) / 2)
        size = value.shape[1] * value.shape[3]
        values = value * (attention.transpose(2, 3) @ ratio)
        layer = (own.in_proj_weight[2 * size :], own.in_proj_bias[2 * size :])
        below = zplus(normed, layer, values.transpose(1, 2).flatten(2))
        above = above * start / middle + below
    return found[::-1]


def given_for(network: nn.Module, reading: Reading = "corrected", **rest: Any) -> Given:
    settings = {key: ReadingParams(reading=reading) for key in KEYS}
    view = View(network, reshape=Tokens(prefix=1))
    return Given(view, pictures(2, 32).double(), TARGETS, settings, **rest)


@pytest.fixture(scope="module")
def hand() -> ByHand:
    found = ByHand(exact(), pictures(2, 32).double().requires_grad_())
    found.logits.gather(1, TARGETS[:, None]).sum().backward()
    return found


def test_attention_and_its_gradient_are_those_written_out(hand: ByHand) -> None:
    network = exact()
    found = attention_pass(network, pictures(2, 32).double(), TARGETS)
    assert len(found.weights) == 2 and found.weights[0].shape == (2, 2, 17, 17)
    for weights, gradients, expected in zip(
        found.weights, found.gradients, hand.attention, strict=True
    ):
        torch.testing.assert_close(weights, expected.detach())
        torch.testing.assert_close(gradients, expected.grad, check_stride=False)
    assert all(not parameter.requires_grad for parameter in network.parameters())


def test_the_relevance_of_attention_is_that_of_the_printed_rules(hand: ByHand) -> None:
    images = pictures(2, 32).double()
    found = attention_relevance(exact(), images, TARGETS, CHEFER)
    with torch.no_grad():
        expected = literal_relevance(hand, TARGETS)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)


def grid(joint: Tensor) -> Tensor:
    return joint[:, 0, 1:].view(-1, 4, 4)


def test_raw_attention_is_the_class_token_of_the_last_block(hand: ByHand) -> None:
    found = METHODS["raw_attention"](given_for(exact()))
    torch.testing.assert_close(found, grid(hand.attention[-1].detach().mean(1)))


def test_rollout_multiplies_half_attention_and_half_identity(hand: ByHand) -> None:
    joint = torch.eye(17).double().expand(2, 17, 17)
    for attention in hand.attention:  # Abnar & Zuidema: the later block on the left
        joint = torch.bmm(0.5 * attention.detach().mean(1) + 0.5 * torch.eye(17), joint)
    torch.testing.assert_close(joint.sum(-1), torch.ones(2, 17).double())
    found = METHODS["attention_rollout"](given_for(exact()))
    torch.testing.assert_close(found, grid(joint))


def test_rollout_as_released_multiplies_relevance_and_does_not_normalise(hand: ByHand) -> None:
    with torch.no_grad():
        first, last = (one.clamp_min(0).mean(1) for one in literal_relevance(hand, TARGETS))
    joint = (torch.eye(17) + last) @ (torch.eye(17) + first)
    expected = F.interpolate(grid(joint)[:, None], (32, 32), mode="bilinear")[:, 0]
    low, high = expected.amin((1, 2), keepdim=True), expected.amax((1, 2), keepdim=True)
    found = METHODS["attention_rollout"](given_for(exact(), "released"))
    assert found.shape == (2, 3, 32, 32)
    scaled = ((expected - low) / (high - low))[:, None].expand_as(found)
    torch.testing.assert_close(found, scaled, rtol=1e-4, atol=1e-5)
    other = METHODS["attention_rollout"](given_for(exact(), "paper"))
    assert not torch.allclose(found, other, atol=1e-2)


def test_lrp_attention_is_the_product_of_gradient_times_relevance(hand: ByHand) -> None:
    with torch.no_grad():
        relevance = literal_relevance(hand, TARGETS)
        first, last = (
            torch.eye(17) + (one.grad * other).clamp_min(0).mean(1)
            for one, other in zip(hand.attention, relevance, strict=True)
            if one.grad is not None
        )
    found = METHODS["lrp_attention"](given_for(exact()))
    torch.testing.assert_close(found, grid(last @ first), rtol=1e-4, atol=1e-8)


def test_paper_and_released_maps_are_enlarged_repeated_and_stretched() -> None:
    small = METHODS["raw_attention"](given_for(exact()))
    large = F.interpolate(small[:, None], (32, 32), mode="bilinear")
    paper = METHODS["raw_attention"](given_for(exact(), "paper"))
    torch.testing.assert_close(paper, large.expand(2, 3, 32, 32))
    released = METHODS["raw_attention"](given_for(exact(), "released"))
    assert released.amin((1, 2, 3)).tolist() == [0, 0]
    assert released.amax((1, 2, 3)).tolist() == [1, 1]
    torch.testing.assert_close(released[:, 0] * large.sub(large.amin()).amax(), released[:, 2] * (
        large.sub(large.amin()).amax()))  # the same in every channel  # fmt: skip


def test_three_methods_make_four_passes_together() -> None:
    network, passes = transformer(), list[int]()
    network.conv_proj.register_forward_hook(lambda *args: passes.append(len(args[2])))
    given = Given(View(network, reshape=Tokens(prefix=1)), pictures(2, 32), TARGETS)
    for key in KEYS:
        METHODS[key](given)
    assert passes == [2, 2]  # forward passes, each with a backward one


class HuggingFace(nn.Module):
    def __init__(self, implementation: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        options: dict[str, Any] = {"num_labels": 5, "attn_implementation": implementation}
        config = ViTConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
            image_size=32, patch_size=8, **options,
        )  # fmt: skip
        self.network = ViTForImageClassification(config)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(pixel_values=images).logits
        return logits


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_hugging_face_says_the_same_of_its_attention(implementation: str) -> None:
    network = HuggingFace(implementation).eval()
    reference = HuggingFace("eager").eval()
    with torch.no_grad():
        expected = reference.network(pixel_values=pictures(2, 32), output_attentions=True)
    found = attention_pass(network, pictures(2, 32), TARGETS)
    torch.testing.assert_close(found.weights, tuple(expected.attentions), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("fused", [True, False])
def test_timm_attends_as_its_layers_say(fused: bool) -> None:
    torch.manual_seed(0)
    network: Any = timm.create_model("deit_tiny_patch16_224", img_size=32, num_classes=5, depth=2)
    seen: list[Tensor] = []
    for block in network.eval().blocks:
        block.attn.fused_attn = fused
        block.attn.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    found = attention_pass(network, pictures(2, 32), TARGETS)
    for block, tokens, weights in zip(network.blocks, seen, found.weights, strict=True):
        query, key, _ = block.attn.qkv(tokens).view(2, -1, 3, 3, 64).permute(2, 0, 3, 1, 4)
        expected = (query @ key.transpose(2, 3) * 64**-0.5).softmax(-1)
        torch.testing.assert_close(weights, expected.detach(), rtol=1e-4, atol=1e-6)


def test_our_own_transformer_is_explained_by_its_grid() -> None:
    from pasta.models.settings import StemParams, TransformerParams

    settings = TransformerParams(
        patch=8, layers=2, heads=2, hidden=16, mlp=24, stem=StemParams(kind="patches")
    )
    model = TransformerClassifier(["a", "b", "c", "d"], settings, 32).eval()
    found = explain(model, pictures(2, 32), TARGETS, KEYS)
    for key, maps in found.items():
        assert maps.shape == (2, 32, 32) and maps.max() == 1, key


class Cubes(nn.Module):
    """A transformer for volumes of 8 places a side, in cubes of four, without a class token."""

    def __init__(self, pooled: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.pooled = nn.Conv3d(1, 8, 4, 4), pooled
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.token, self.head = nn.Parameter(torch.randn(1, 1, 8)), nn.Linear(8, 5)

    def forward(self, volumes: Tensor) -> Tensor:
        tokens = self.embed(volumes).flatten(2).transpose(1, 2)
        if not self.pooled:
            tokens = torch.cat([self.token.expand(len(tokens), -1, -1), tokens], 1)
        tokens = tokens + self.attend(tokens, tokens, tokens, need_weights=False)[0]
        found: Tensor = self.head(tokens.mean(1) if self.pooled else tokens[:, 0])
        return found


@pytest.mark.parametrize("pooled", [True, False])
def test_tokens_of_a_volume_have_three_axes(pooled: bool) -> None:
    network, volumes = Cubes(pooled).eval(), torch.rand(2, 1, 8, 8, 8)
    joint = attention_pass(network, volumes, TARGETS).weights[0].mean(1)
    rows = joint.mean(1) if pooled else joint[:, 0, 1:]
    given = Given(View(network, reshape=Tokens(image=(8, 8, 8))), volumes, TARGETS)
    found = METHODS["raw_attention"](given)
    torch.testing.assert_close(found, rows.view(2, 2, 2, 2))


class PointFormer(nn.Module):
    """Offset attention of the Point Cloud Transformer among every other point."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key = nn.Conv1d(3, 4, 1), nn.Conv1d(3, 4, 1)
        self.value, self.head = nn.Conv1d(3, 6, 1), nn.Linear(6, 5)

    def weights(self, centres: Tensor) -> Tensor:
        scores = self.query(centres).transpose(1, 2) @ self.key(centres)
        weights = scores.softmax(-1)
        found: Tensor = weights / (1e-9 + weights.sum(1, keepdim=True))
        return found

    def forward(self, clouds: Tensor) -> Tensor:
        centres = clouds[:, :, ::2]
        mixed = torch.bmm(self.value(centres), self.weights(centres))
        found: Tensor = self.head((mixed - self.value(centres)).relu().amax(2))
        return found


def test_attention_among_points_reaches_all_points_by_the_seam_of_the_view() -> None:
    network, clouds = PointFormer().eval(), torch.rand(2, 3, 12)

    def place(joint: Tensor, inputs: Tensor) -> Tensor:
        return near_points(joint.sum(1), inputs[:, :, ::2], inputs)

    expected = network.weights(clouds[:, :, ::2]).transpose(1, 2).detach()  # queries are columns
    found = attention_pass(network, clouds, TARGETS).weights[0]
    torch.testing.assert_close(found[:, 0], expected)
    maps = METHODS["raw_attention"](Given(View(network, place=place), clouds, TARGETS))
    assert maps.shape == (2, 12)
    torch.testing.assert_close(maps[:, ::2], expected.sum(1), rtol=1e-4, atol=1e-5)
    third = (clouds[:, :, 1, None] - clouds[:, :, ::2]).square().sum(1)
    near = third.sort(1).indices[:, :3]
    weight = 1 / third.gather(1, near)
    literal = (expected.sum(1).gather(1, near) * weight).sum(1) / weight.sum(1)
    torch.testing.assert_close(maps[:, 1], literal, rtol=1e-4, atol=1e-5)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(1))
    turned = clouds.view(2, 3, 6, 2)[:, :, order].flatten(2)
    again = METHODS["lrp_attention"](Given(View(network, place=place), turned, TARGETS))
    before = METHODS["lrp_attention"](Given(View(network, place=place), clouds, TARGETS))
    moved = before.view(2, 6, 2)[:, order].flatten(1)
    torch.testing.assert_close(again, moved, rtol=1e-3, atol=1e-5)


def test_relevant_attention_of_pooled_tokens_is_not_drowned_by_what_each_keeps_of_itself() -> None:
    network, clouds = PointFormer().eval(), torch.rand(2, 3, 12)

    def place(joint: Tensor, inputs: Tensor) -> Tensor:
        return near_points(joint.sum(1), inputs[:, :, ::2], inputs)

    given = Given(View(network, place=place), clouds, TARGETS)
    (gradient,), (relevance,) = attention_of(given).gradients, relevance_of(given)
    taken = (gradient * relevance).clamp_min(0).mean(1)
    found = METHODS["lrp_attention"](given)
    torch.testing.assert_close(found, place(taken, clouds), rtol=1e-4, atol=1e-7)
    assert (found.amax(1) > 0).all()


def test_networks_without_attention_between_all_tokens_are_refused_before_any_work() -> None:
    with pytest.raises(PastaError, match="ScaledResNet has no attention"):
        explain(residual(), pictures(1, 32), [0], ["saliency", "raw_attention"])
    with pytest.raises(PastaError, match="attention within windows"):
        explain(windowed(), pictures(1, 32), [0], ["attention_rollout"])
    assert has_attention(transformer(), pictures(1, 32))
    assert not has_attention(residual(), pictures(1, 32))


def test_tokens_without_a_known_place_are_an_error() -> None:
    given = Given(View(transformer()), pictures(1, 32), torch.tensor([0]))
    with pytest.raises(PastaError, match="where the tokens of this network are"):
        METHODS["raw_attention"](given)


def test_a_user_explains_a_transformer_by_name() -> None:
    few = MethodsParams.model_validate({"raw_attention": {"reading": "released"}})
    found = explain(transformer(), pictures(2, 32), [0, 1], KEYS, settings=few)
    assert found["raw_attention"].shape == (2, 3, 32, 32)
    assert found["attention_rollout"].shape == (2, 32, 32)


def test_the_product_of_blocks_has_the_last_on_the_left() -> None:
    first, last = torch.rand(2, 3, 3), torch.rand(2, 3, 3)
    torch.testing.assert_close(roll_out([first, last]), last @ first)


@pytest.mark.parametrize("key", KEYS)
def test_attention_stays_on_the_device(key: str) -> None:
    network = transformer().to("meta")
    given = Given(
        View(network, reshape=Tokens(prefix=1)), pictures(2, 32).to("meta"), TARGETS.to("meta")
    )
    assert computed(given, key).device.type == "meta"
