"""DeepLIFT for any network: shares sum to the difference, and are captum's where that is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import timm
import torch
import torch.nn.functional as F  # noqa: N812
from captum.attr import DeepLift
from torch import Tensor, nn
from torchvision.models import resnet18

from pasta.errors import PastaError
from pasta.explanations.methods.gradients import split_shared_modules
from pasta.explanations.rescale import mean_difference
from tests.explanations.families import (
    efficient,
    lively,
    modern,
    residual,
    transformer,
    windowed,
)
from tests.explanations.networks import SmallNet, pictures
from tests.explanations.test_lrp import Gated, Points, Volume

torch.set_num_threads(1)
TARGETS = torch.tensor([1, 3])


def exact(network: nn.Module) -> nn.Module:
    return network.double().eval().requires_grad_(False)


def plain() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.ReLU(inplace=True), nn.Conv2d(6, 6, 3), nn.BatchNorm2d(6),
        nn.MaxPool2d(2), nn.Conv2d(6, 4, 3), nn.Sigmoid(), nn.Conv2d(4, 4, 1), nn.ELU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5),
    )  # fmt: skip


def difference(network: nn.Module, images: Tensor, references: Tensor) -> Tensor:
    """How much the logits differ from the mean logits of the references."""
    with torch.no_grad():
        logits: Tensor = network(images) - network(references).mean(0)
    return logits.gather(1, TARGETS[:, None])[:, 0]


class Deit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.network: Any = timm.create_model(
            "deit_tiny_patch16_224", img_size=32, num_classes=5, depth=2
        )

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images)
        return logits


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (residual, (3, 32, 32)),
        (lambda: lively(resnet18(num_classes=5)), (3, 32, 32)),
        (efficient, (3, 32, 32)),
        (transformer, (3, 32, 32)),
        (windowed, (3, 32, 32)),
        (modern, (3, 32, 32)),
        (Deit, (3, 32, 32)),
        (SmallNet, (3, 16, 16)),
        (Volume, (1, 6, 6, 6)),
        (Points, (3, 20)),
        (Gated, (3, 16, 16)),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_shares_sum_to_the_difference_from_the_references(
    make: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    network, random = exact(make()), torch.Generator().manual_seed(3)
    images, references = (
        torch.rand(number, *shape, generator=random).double() for number in (2, 3)
    )
    found = mean_difference(network, images, TARGETS, references)
    assert found.shape == images.shape
    expected = difference(network, images, references)
    room = 1e-6 * float(expected.abs().max())
    torch.testing.assert_close(found.flatten(1).sum(1), expected, rtol=0, atol=room)


def test_where_captum_sees_all_the_shares_are_captums() -> None:
    network = exact(plain())
    images, references = pictures(2).double(), pictures(3, seed=4).double()
    run = DeepLift(split_shared_modules(network, images[:1]))
    expected = torch.stack(
        [run.attribute(images, one.expand_as(images), TARGETS).detach() for one in references]
    ).mean(0)
    found = mean_difference(network, images, TARGETS, references)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "layers", [[nn.ReLU(), nn.MaxPool2d(2)], [nn.Identity(), nn.MaxPool2d(4, 2, 1)]], ids=str
)
def test_captum_loses_some_of_the_difference_at_the_poolings_of_a_resnet(
    layers: list[nn.Module],
) -> None:
    """Should a later captum be right here, the note in rescale.py can go."""
    torch.manual_seed(0)
    network = exact(nn.Sequential(*layers, nn.Flatten(), nn.Linear(3 * 64, 5)))
    images, references = (torch.randn(n, 3, 16, 16).double() for n in (2, 1))
    expected = difference(network, images, references)
    ours = mean_difference(network, images, TARGETS, references).flatten(1).sum(1)
    theirs = DeepLift(network).attribute(images, references.expand_as(images), TARGETS)
    torch.testing.assert_close(ours, expected)
    assert (theirs.detach().flatten(1).sum(1) - expected).abs().min() > 0.01


def test_each_function_has_its_slope_and_each_product_its_middle() -> None:
    """Two values, by hand: f(x, y) = silu(x) relu(y)."""

    class Two(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (F.silu(x[:, :1, 0]) * x[:, 1:, 0].relu()).expand(-1, 2)

    images, reference = torch.tensor([[[2.0], [3.0]]]).double(), torch.tensor([[[-1.0], [0.5]]])
    reference = reference.double()
    (found,) = mean_difference(Two(), images, torch.tensor([0]), reference)
    a, a0 = (F.silu(one[0, 0, 0]) for one in (images, reference))
    b, b0 = (one[0, 1, 0] for one in (images, reference))
    expected = torch.stack([(a - a0) * (b + b0) / 2, (b - b0) * (a + a0) / 2])
    torch.testing.assert_close(found[:, 0], expected)


def test_a_value_that_is_the_references_has_no_share() -> None:
    network, images = exact(plain()), pictures(2).double()
    references = images[:1].clone()
    found = mean_difference(network, images, TARGETS, references)
    assert not found[0].any() and found[1].any()


def test_neither_batch_nor_order_of_references_matter() -> None:
    network, images = exact(transformer()), pictures(2, 32).double()
    references = pictures(3, 32, seed=4).double()
    together = mean_difference(network, images, TARGETS, references)
    alone = mean_difference(network, images[1:], TARGETS[1:], references.flip(0))
    torch.testing.assert_close(alone[0], together[1])


def test_a_network_that_chooses_its_way_by_the_input_is_an_error() -> None:
    class Turns(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x.relu() * (1 if x.mean() > 0 else x.sigmoid())).flatten(1)

    images = torch.full((1, 3, 2, 2), -1.0)
    with pytest.raises(PastaError, match="takes another way for a reference"):
        mean_difference(Turns(), images, torch.tensor([0]), -images)
