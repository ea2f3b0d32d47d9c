"""LRP: the printed rules, zennit's answers, and relevance that is neither lost nor won."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torchvision.models import convnext_tiny, efficientnet_b0, resnet50, swin_t, vit_b_16
from zennit.attribution import Gradient
from zennit.composites import EpsilonPlusFlat

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.base import METHODS
from pasta.explanations.methods.lrp import (
    RelevanceMode,
    is_plain,
    relevance_by_mode,
    relevance_by_zennit,
)
from pasta.explanations.settings import LrpParams
from pasta.models.base import Normalise
from pasta.models.resnet import ScaledResNet
from tests.explanations.families import lively, residual, transformer
from tests.explanations.networks import SmallNet, pictures
from tests.explanations.test_gradients import asked

torch.set_num_threads(1)
Relevance = Callable[[nn.Module, Tensor, Tensor, LrpParams], Tensor]
Rule = Literal["epsilon", "gamma", "plus"]
BOTH = pytest.mark.parametrize("relevance", [relevance_by_zennit, relevance_by_mode])
TARGETS = torch.tensor([1, 3])


def plain() -> nn.Sequential:
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.ReLU(inplace=True), nn.Conv2d(6, 8, 3, bias=False),
        nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(32, 10), nn.ReLU(), nn.Linear(10, 5),
    )  # fmt: skip
    lively(network)
    return network


def exact(network: nn.Module, images: Tensor) -> tuple[nn.Module, Tensor]:
    """Both in double precision. Zennit adds the eps of a batch norm twice: here there is none."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eps = 0.0
    return network.double().eval().requires_grad_(False), images.double().requires_grad_()


def without_biases(network: nn.Module) -> nn.Module:
    """What keeps relevance for itself is zero: biases, means, class tokens and places."""
    with torch.no_grad():
        for name, value in (*network.named_parameters(), *network.named_buffers()):
            if name.endswith(("bias", "running_mean", "class_token", "pos_embedding")):
                value.zero_()
    return network.eval()


def calibrated(network: nn.Module) -> nn.Module:
    """Batch norms as after training, and a head that is not zero: else signals vanish."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
        if isinstance(module, nn.Linear) and not module.weight.any():
            nn.init.normal_(module.weight, std=0.05)
    with torch.no_grad():
        network.train()(pictures(8, 32))
    return network.eval()


@BOTH
def test_the_epsilon_rule_is_the_printed_formula(relevance: Relevance) -> None:
    torch.manual_seed(0)
    layers = [nn.Linear(12, 7), nn.Linear(7, 6), nn.Linear(6, 5)]
    network, images = exact(
        nn.Sequential(nn.Flatten(), layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2]),
        torch.randn(2, 3, 2, 2),
    )
    found = relevance(network, images, TARGETS, LrpParams(first="same", epsilon=0.05))
    for image, target, shares in zip(images.detach(), TARGETS, found.detach(), strict=True):
        values = [image.flatten()]
        for layer in layers:
            below = values[-1] if layer is layers[0] else values[-1].relu()
            values.append(layer(below))
        kept = torch.zeros(5, dtype=torch.double)
        kept[target] = values[-1][target]
        for number in (2, 1, 0):
            below = values[number] if number == 0 else values[number].relu()
            weight, above = layers[number].weight, values[number + 1]
            kept = torch.stack(
                [
                    sum(
                        (below[i] * weight[j, i]) / (above[j] + 0.05 * above[j].sign()) * kept[j]
                        for j in range(len(above))
                    )
                    for i in range(len(below))
                ]
            )
        torch.testing.assert_close(shares.flatten(), kept)


@pytest.mark.parametrize("first", ["flat", "same"])
@pytest.mark.parametrize("linear", ["epsilon", "gamma", "plus"])
@pytest.mark.parametrize("convolutions", ["epsilon", "gamma", "plus"])
@pytest.mark.parametrize("make", [plain, residual])
def test_our_mode_and_zennit_agree_where_zennit_sees_all(
    make: Callable[[], nn.Module], convolutions: Rule, linear: Rule, first: Literal["flat", "same"]
) -> None:
    network, images = exact(make(), pictures(2, 32) - 0.4)
    rules = LrpParams(convolutions=convolutions, linear=linear, first=first, epsilon=1e-12)
    assert is_plain(network)
    theirs = relevance_by_zennit(network, images, TARGETS, rules)
    ours = relevance_by_mode(network, images, TARGETS, rules)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-4 * float(theirs.abs().max()))


def test_neither_batch_nor_order_matter_to_zennit() -> None:
    network, images = exact(residual(), pictures(3, 64))
    together = relevance_by_zennit(network, images, torch.tensor([1, 3, 0]), LrpParams())
    turned = relevance_by_zennit(network, images.flip(0), torch.tensor([0, 3, 1]), LrpParams())
    torch.testing.assert_close(turned, together.flip(0))
    alone = relevance_by_zennit(network, images[1:2], torch.tensor([3]), LrpParams())
    torch.testing.assert_close(alone[0], together[1])


def test_the_defaults_are_zennits_epsilon_plus_flat() -> None:
    network, images = plain()[:2].append(nn.Flatten()).append(nn.Linear(6 * 36, 5)), pictures(2, 8)
    with Gradient(network, EpsilonPlusFlat()) as attributor:
        chosen = network(images).detach() * F.one_hot(TARGETS, 5)
        _, expected = attributor(images, chosen)
    found = METHODS["lrp"](asked(network, images, TARGETS.tolist()))
    torch.testing.assert_close(found, expected.sum(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: resnet50(num_classes=5),
        lambda: vit_b_16(num_classes=5, image_size=32),
        lambda: swin_t(num_classes=5),
        lambda: convnext_tiny(num_classes=5),
        lambda: efficientnet_b0(num_classes=5),
    ],
    ids=["resnet50", "vit_b_16", "swin_t", "convnext_tiny", "efficientnet_b0"],
)
def test_real_networks_share_out_their_logit(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    network, images = calibrated(make()), pictures(2, 32)
    with_biases = METHODS["lrp"](asked(network, images, TARGETS.tolist()))
    assert with_biases.isfinite().all() and (with_biases.abs().amax((1, 2)) > 0).all()
    network, images = exact(without_biases(network), images)
    logits = network(images)
    with RelevanceMode(images, LrpParams()):
        torch.testing.assert_close(network(images), logits)
    found = relevance_by_mode(network, images, TARGETS, LrpParams()).sum((1, 2, 3))
    torch.testing.assert_close(found, logits[[0, 1], TARGETS], rtol=0.01, atol=1e-3)


class Volume(nn.Module):
    """A residual 3D network with a norm of groups, whose activations are functions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv3d(1, 4, 3, padding=1), nn.Conv3d(4, 4, 3, padding=1)
        self.norm, self.head = nn.GroupNorm(2, 4), nn.Linear(4, 5)

    def forward(self, volumes: Tensor) -> Tensor:
        maps = F.silu(self.first(volumes))
        maps = maps + F.leaky_relu(self.norm(self.second(maps)), 0.1)
        result: Tensor = self.head(maps.mean((2, 3, 4)))
        return result


class Points(nn.Module):
    """Like PointNet: points are turned by a matrix that depends on them, and the largest count."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.norm = nn.Conv1d(3, 9, 1), nn.BatchNorm1d(8)
        self.inner, self.head = nn.Conv1d(3, 8, 1), nn.Linear(8, 5)

    def logits(self, points: Tensor) -> Tensor:
        matrix = self.turn(points).amax(2).view(-1, 3, 3)
        inner = torch.relu(self.norm(self.inner(torch.bmm(matrix, points))))
        result: Tensor = self.head(inner.amax(2))
        return result

    def forward(self, points: Tensor) -> Tensor:
        return F.log_softmax(self.logits(points), 1)


class Gated(nn.Module):
    """A gate, a product of two signals, an attention of functions and a division."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate, self.head = (
            nn.Conv2d(3, 8, 4, 4),
            nn.Conv2d(8, 8, 1),
            nn.Linear(8, 5),
        )

    def forward(self, images: Tensor) -> Tensor:
        maps = F.gelu(self.first(images))
        maps = maps * torch.sigmoid(self.gate(maps))
        tokens = maps.flatten(2).transpose(1, 2)
        tokens = tokens + (tokens @ tokens.transpose(1, 2)).softmax(-1) @ tokens
        tokens = tokens + F.scaled_dot_product_attention(tokens, tokens, tokens)
        tokens = tokens * torch.einsum("nij,nij->ni", tokens, tokens)[..., None]
        mean = tokens.mean(1)
        result: Tensor = self.head(mean / mean.norm(dim=1, keepdim=True))
        return result


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (Volume, (2, 1, 6, 6, 6)),
        (Points, (2, 3, 20)),
        (Gated, (2, 3, 16, 16)),
        (SmallNet, (2, 3, 16, 16)),
    ],
)
def test_other_networks_share_out_their_logit_too(
    make: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    network, values = exact(without_biases(make()), torch.randn(shape))
    logits, rules = network(values), LrpParams(epsilon=1e-12)
    with RelevanceMode(values, rules):
        torch.testing.assert_close(network(values), logits)
    if isinstance(network, Points):
        logits = network.logits(values)
    found = relevance_by_mode(network, values, TARGETS, rules).flatten(1).sum(1)
    torch.testing.assert_close(found, logits[[0, 1], TARGETS], rtol=1e-5, atol=1e-9)


def test_attention_passes_relevance_on_by_its_weights_alone() -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(6, 2, batch_first=True).double().requires_grad_(False)
    tokens = torch.randn(2, 4, 6, dtype=torch.double, requires_grad=True)
    rules = LrpParams(epsilon=1e-12)
    with RelevanceMode(tokens, rules):
        output = attention(tokens, tokens, tokens, need_weights=False)[0]
    (found,) = torch.autograd.grad(output[..., 0].sum(), tokens)
    weights = attention(tokens, tokens, tokens, average_attn_weights=False)[1].detach()
    values = F.linear(tokens, attention.in_proj_weight[12:], attention.in_proj_bias[12:])
    mixed = torch.einsum("nhqk,nkhf->nqhf", weights, values.view(2, 4, 2, 3)).flatten(2)
    plain_output = attention.out_proj(mixed)
    torch.testing.assert_close(output, plain_output)
    (expected,) = torch.autograd.grad(plain_output[..., 0].sum(), tokens)
    torch.testing.assert_close(found, expected)


@BOTH
def test_the_relevance_of_a_pixel_is_that_of_its_normalised_value(relevance: Relevance) -> None:
    network, images = exact(nn.Sequential(Normalise(), plain()), pictures(2, 16))
    rules = LrpParams(first="same")
    normalised = network[0](images).detach().requires_grad_()  # type: ignore[index]
    expected = relevance(network[1], normalised, TARGETS, rules)  # type: ignore[index]
    torch.testing.assert_close(relevance(network, images, TARGETS, rules), expected)


def test_only_what_zennit_sees_whole_is_plain() -> None:
    class Changed(ScaledResNet):
        def forward(self, images: Tensor) -> Tensor:
            result: Tensor = super().forward(images).square()
            return result

    assert is_plain(nn.Sequential(Normalise(), residual()))
    assert not is_plain(Changed(8, (1, 1, 1, 1), 5))
    assert not any(is_plain(one) for one in (SmallNet(), transformer(), efficientnet_b0()))
    assert not is_plain(nn.Sequential(nn.Conv2d(3, 4, 1), nn.LayerNorm(4)))


def test_probabilities_are_refused() -> None:
    network = nn.Sequential(nn.Flatten(), nn.LayerNorm(48), nn.Linear(48, 4), nn.Softmax(1))
    with pytest.raises(PastaError, match="explains logits, not probabilities"):
        explain(network, pictures(1, 4), [0], ["lrp"])
