"""LRP as LATEC's paper and its released code have it, and how much of a logit is found again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from pasta.explanations.base import METHODS, Given, View
from pasta.explanations.conservation import conservation
from pasta.explanations.methods.lrp import (
    Rules,
    relevance_by_mode,
    relevance_by_zennit,
    rules_of,
)
from pasta.explanations.settings import LrpParams
from tests.explanations.families import efficient, residual, transformer
from tests.explanations.networks import SmallNet, pictures
from tests.explanations.test_latec import Clouds, Volumes
from tests.explanations.test_lrp import TARGETS, calibrated, exact, plain

torch.set_num_threads(1)
PAPER, RELEASED = LrpParams(reading="paper"), LrpParams(reading="released")


def test_composites_are_those_of_the_text_and_of_the_code() -> None:
    assert rules_of(PAPER) == Rules("gamma", "epsilon", gamma=0.25, epsilon=1e-4)
    assert rules_of(RELEASED).convolutions == "epsilon"
    assert rules_of(RELEASED).linear == "gamma" and not rules_of(RELEASED).merged
    for reading in (PAPER, RELEASED):
        assert rules_of(reading, transformer=True).convolutions == "plus"
        assert not rules_of(reading, transformer=True).centred
    assert rules_of(RELEASED, transformer=True).first == "box"
    assert rules_of(LrpParams(reading="paper", epsilon=1e-5)).epsilon == 1e-5
    corrected = rules_of(LrpParams())
    assert (corrected.convolutions, corrected.linear, corrected.first) == (
        "plus", "epsilon", "flat"
    )  # fmt: skip


@pytest.mark.parametrize("make", [plain, residual])
def test_the_papers_rules_are_zennits_where_zennit_sees_all(
    make: Callable[[], nn.Module],
) -> None:
    network, images = exact(make(), pictures(2, 32) - 0.4)
    same = LrpParams(convolutions="gamma", linear="epsilon", first="same", epsilon=1e-12)
    expected = relevance_by_zennit(network, images, TARGETS, same)
    settings = LrpParams(reading="paper", epsilon=1e-12)
    found = relevance_by_mode(network, images, TARGETS, rules_of(settings))
    room = 2e-4 * float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=0, atol=room)


def test_the_released_rules_are_the_reverse_and_batch_norms_keep_relevance() -> None:
    torch.manual_seed(0)
    conv, norm, head = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.Linear(12, 4)
    nn.init.normal_(norm.bias)
    norm.running_mean, norm.running_var = torch.randn(3), torch.rand(3) + 0.5
    network = nn.Sequential(conv, norm, nn.ReLU(), nn.Flatten(), head)
    network = network.double().eval().requires_grad_(False)
    image = torch.randn(1, 2, 3, 3).double()
    below = conv(image)
    normed = norm(below)
    active = normed.relu().flatten()
    logit, weight, bias = head(active)[2], head.weight[2], head.bias[2]
    above = weight + 0.25 * (weight.clamp_min(0) if logit > 0 else weight.clamp_max(0))
    kept = bias + 0.25 * (bias.clamp_min(0) if logit > 0 else bias.clamp_max(0))
    total = (active * above).sum() + kept
    shares = (active * above / (total + 1e-4 * total.sign()) * logit).view(1, 3, 2, 2)
    scale = (norm.weight / torch.sqrt(norm.running_var + norm.eps)).view(1, 3, 1, 1)
    shares = below * scale / (normed + 1e-4 * normed.sign()) * shares
    ratio = shares / (below + 1e-4 * below.sign())
    expected = image * F.conv_transpose2d(ratio, conv.weight)
    found = relevance_by_mode(
        network, image.requires_grad_(), torch.tensor([2]), rules_of(RELEASED)
    )
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    maps = METHODS["lrp"](Given(View(network), image, torch.tensor([2]), {"lrp": RELEASED}))
    torch.testing.assert_close(maps, expected.relu().detach(), rtol=1e-6, atol=1e-9)


def test_the_first_layer_of_a_released_transformer_has_bounds() -> None:
    """z^B: what a value gives beyond what the bounds would give."""
    torch.manual_seed(0)
    layer = nn.Linear(6, 4).double().requires_grad_(False)
    values = torch.randn(1, 6).double().requires_grad_()
    found = relevance_by_mode(layer, values, torch.tensor([1]), Rules("plus", "plus", "box"))
    weight, x = layer.weight[1], values[0].detach()
    low, high = x.min(), x.max()
    parts = x * weight - low * weight.clamp_min(0) - high * weight.clamp_max(0)
    expected = parts / (parts.sum() + 1e-4 * parts.sum().sign()) * layer(x)[1]
    torch.testing.assert_close(found[0], expected, rtol=1e-6, atol=1e-9)


def test_maps_of_transformers_sum_channels_before_they_are_cut() -> None:
    images = pictures(2, 32)
    request = Given(View(transformer()), images, TARGETS, {"lrp": PAPER})
    found = METHODS["lrp"](request)
    assert found.shape == (2, 3, 32, 32) and torch.equal(found[:, 0], found[:, 2])
    forced = {"lrp": LrpParams(reading="paper", architecture="cnn")}
    entries = METHODS["lrp"](Given(View(transformer()), images, TARGETS, forced))
    assert not torch.equal(entries[:, 0], entries[:, 2])


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (residual, pictures(2, 32)),
        (lambda: calibrated(efficient()), pictures(2, 32)),
        (transformer, pictures(2, 32)),
        (SmallNet, pictures(2)),
        (Volumes, torch.rand(2, 1, 8, 6, 4)),
        (Clouds, torch.rand(2, 3, 10)),
    ],
    ids=["resnet", "efficientnet", "vit", "squares", "volume", "cloud"],
)
def test_corrected_and_papers_rules_find_the_logit_again(
    make: Callable[[], nn.Module], inputs: Tensor
) -> None:
    network = make().double().eval()
    frame = conservation(network, inputs.double(), TARGETS, LrpParams(epsilon=1e-9), "one")
    assert set(frame.architecture) == {"one"} and len(frame) == 2 * 3 * 2
    assert (frame.share == frame.relevance / frame.logit).all()
    share = frame[(frame.biases == "zero")].groupby("reading").share
    for reading in ("corrected", "paper"):
        low, high = share.min()[reading], share.max()[reading]
        assert 0.99 < low <= high < 1.01, reading
    kept = frame[frame.biases == "kept"]
    logits = network(inputs.double()).gather(1, TARGETS[:, None])[:, 0].detach().numpy()
    assert kept.logit.tolist() == pytest.approx([*logits] * 3)
    assert all(one.requires_grad for one in network.parameters())


class Excited(nn.Module):
    """Maps times a gate that depends on them, as in an EfficientNet."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.gate, self.head = (
            nn.Conv2d(3, 8, 4, 4),
            nn.Conv2d(8, 8, 1),
            nn.Linear(8, 5),
        )

    def forward(self, images: Tensor) -> Tensor:
        maps = self.first(images).relu()
        maps = maps * self.gate(maps).sigmoid()
        found: Tensor = self.head(maps.mean((2, 3)))
        return found


def test_the_released_rules_count_a_product_twice() -> None:
    frame = conservation(Excited().double(), pictures(2).double(), TARGETS, LrpParams(epsilon=1e-9))
    zero = frame[frame.biases == "zero"].groupby("reading").share.mean()
    assert zero["paper"] == pytest.approx(1, abs=0.01)
    assert zero["released"] == pytest.approx(2, abs=0.01)
