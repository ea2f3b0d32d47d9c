"""Folded networks compute the same, whole or in parts, and leave the network alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torchvision.models import resnet18
from torchvision.models.vision_transformer import VisionTransformer

from pasta.explanations.folding import forward_only
from tests.explanations.networks import pictures

torch.set_num_threads(1)


def lively(network: nn.Module) -> nn.Module:
    """Statistics and scales of batch normalisation as after training, not 0 and 1."""
    generator = torch.Generator().manual_seed(5)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            for tensor in (module.running_mean, module.bias, module.running_var, module.weight):
                assert tensor is not None
                tensor.data.copy_(torch.rand(tensor.shape, generator=generator) * 0.5)
            for tensor in (module.running_var, module.weight):
                assert tensor is not None
                tensor.data.add_(0.75)
    return network.eval()


class Knots(nn.Module):
    """All the ways in which outputs of convolutions can be used."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.same = nn.Conv2d(4, 4, 3, padding="same")
        self.mirrored = nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")
        self.grouped = nn.Conv2d(4, 4, 3, stride=1, padding=2, dilation=2, groups=2, bias=False)
        self.point = nn.Conv2d(4, 4, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.first(images)
        summed = self.grouped(maps) + maps  # without ReLU
        doubled = self.point(maps)
        doubled = doubled + doubled  # with itself
        shifted = self.relu(self.point(summed) + 0.5)  # with a number
        used_twice = self.grouped(shifted)
        rest = self.relu(used_twice * 2) + used_twice
        free = self.point(maps)
        free = self.relu(self.grouped(self.point(free)) + free)  # may be written over
        free = self.grouped(free) + free  # may not: it is read at the same time
        kept = self.point(free)
        rest = rest + (self.grouped(kept) + kept) * kept  # may not: it is used again
        seen = self.point(free)
        pixels = seen.flatten(2)  # nor this: another name for it is used again
        rest = rest + (self.grouped(seen) + seen) * pixels.view(seen.shape)
        late = self.point(rest)
        late += self.mirrored(self.same(doubled))  # with something that comes later
        result: Tensor = self.relu(late).mean((2, 3))
        return result


def residual() -> nn.Module:
    torch.manual_seed(0)
    network: nn.Module = resnet18(num_classes=5)
    return network


def knots() -> nn.Module:
    torch.manual_seed(0)
    return Knots()


@pytest.mark.parametrize("make", [residual, knots])
def test_folded_networks_compute_the_same_and_leave_the_network_alone(
    make: Callable[[], nn.Module],
) -> None:
    network = lively(make())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    folded = forward_only(network, pictures(2, 32))
    assert folded is not network
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    for number in (1, 3, 20):
        images = pictures(number, 32, seed=number)
        with torch.inference_mode():
            torch.testing.assert_close(folded(images), network(images), rtol=1e-4, atol=1e-5)
    after = network.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert all(after[name].stride() == value.stride() for name, value in before.items())


def test_networks_in_training_or_without_batch_normalisation_stay_as_they_are() -> None:
    training = resnet18().train()
    assert forward_only(training, pictures(2, 32)) is training
    transformer = VisionTransformer(32, 8, 1, 2, 16, 32, num_classes=5).eval()
    assert forward_only(transformer, pictures(2, 32)) is transformer


class Choosy(nn.Module):
    """Cannot be traced as a whole: it looks at the numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))

    def forward(self, images: Tensor) -> Tensor:
        result: Tensor = self.maps(images).mean((2, 3))
        return -result if float(images.mean()) > 0.4 else result


class Outer(nn.Module):
    """Calls its part by another name, as open_clip's models are called."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, images: Tensor) -> Tensor:
        return self.inner.encode(images)


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())

    def forward(self, images: Tensor) -> Tensor:
        return -self.encode(images)

    def encode(self, images: Tensor) -> Tensor:
        if float(images.mean()) > 10:
            raise ValueError("too bright")
        result: Tensor = self.tower(images).mean((2, 3))
        return result


@pytest.mark.parametrize("make", [Choosy, Outer])
def test_parts_are_folded_where_the_whole_cannot_be_traced(make: Callable[[], nn.Module]) -> None:
    network = lively(make())
    folded = forward_only(network, pictures(2, 32))
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    assert any(isinstance(module, nn.BatchNorm2d) for module in network.modules())
    for images in (pictures(3, 32), 0.1 * pictures(3, 32), 1 - 0.1 * pictures(3, 32)):
        with torch.inference_mode():
            torch.testing.assert_close(folded(images), network(images), rtol=1e-4, atol=1e-5)


def test_what_was_folded_is_remembered_until_the_weights_change() -> None:
    network, images = lively(residual()), pictures(2, 32)
    first = forward_only(network, images)
    assert forward_only(network, images) is first
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.mul_(1.1)
    second = forward_only(network, images)
    assert second is not first
    with torch.inference_mode():
        torch.testing.assert_close(second(images), network(images), rtol=1e-4, atol=1e-5)


class Shared(nn.Module):
    """Folding goes wrong: two normalisations share a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Conv2d(3, 3, 3)
        self.one, self.two = nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, images: Tensor) -> Tensor:
        result: Tensor = self.two(self.maps(self.one(self.maps(images)))).mean((2, 3))
        return result


def test_networks_that_cannot_be_folded_stay_as_they_are() -> None:
    network = lively(Shared())
    assert forward_only(network, pictures(2, 32)) is network
