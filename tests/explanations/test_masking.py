"""Batches of masked images, and networks made for forward passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.models import resnet18
from torchvision.models.vision_transformer import VisionTransformer

from pasta.errors import PastaError
from pasta.explanations.base import Given, View
from pasta.explanations.masking import (
    Masked,
    batch_rows,
    forward_only,
    masked_scores,
    superpixel_scores,
    target_scores,
)
from tests.explanations.networks import pictures, small_view

torch.set_num_threads(1)


def numbered(counts: list[int], built: list[int] | None = None) -> list[Masked]:
    """Copies whose pixels all are 100 x the number of the image + the number of the copy."""

    def copies(image: int, count: int) -> Masked:
        def build(rows: slice) -> Tensor:
            values = 100.0 * image + torch.arange(count)[rows]
            if built is not None:
                built.append(len(values))
            return values.view(-1, 1, 1, 1).expand(-1, 3, 2, 2)

        return Masked(count, build)

    return [copies(*pair) for pair in enumerate(counts)]


class Limited:
    """Scores that are the pixels, with memory for only so many images."""

    def __init__(self, room: int, error: Callable[[], RuntimeError]) -> None:
        self.room, self.error = room, error
        self.sizes: list[int] = []
        self.owners: list[int] = []

    def __call__(self, images: Tensor, owners: Tensor) -> Tensor:
        self.sizes.append(len(images))
        if len(images) > self.room:
            raise self.error()
        self.owners += owners.tolist()
        return images[:, 0, 0, 0]


ERRORS: list[Callable[[], RuntimeError]] = [
    lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    lambda: RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"),
    lambda: RuntimeError("HIP Out Of Memory"),
]
COUNTS = [3, 0, 11, 1, 7]
EXPECTED = [[100.0 * image + row for row in range(count)] for image, count in enumerate(COUNTS)]


@pytest.mark.parametrize("error", ERRORS)
def test_batches_are_halved_until_they_fit(error: Callable[[], RuntimeError]) -> None:
    score = Limited(5, error)
    found = masked_scores(score, numbered(COUNTS), budget=16)
    assert [scores.tolist() for scores in found] == EXPECTED
    assert score.sizes == [16, 8, 4, 4, 4, 4, 4, 2]


def test_halving_begins_with_what_was_tried_not_with_the_budget() -> None:
    score = Limited(5, ERRORS[0])
    masked_scores(score, numbered([12]), budget=1000)
    assert score.sizes == [12, 6, 3, 3, 3, 3]


def test_no_memory_for_a_single_image_is_an_error() -> None:
    score = Limited(0, ERRORS[0])
    with pytest.raises(PastaError, match="not enough memory"):
        masked_scores(score, numbered([4]), budget=4)
    assert score.sizes == [4, 2, 1]


def test_other_errors_are_not_taken_for_missing_memory() -> None:
    score = Limited(2, lambda: RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        masked_scores(score, numbered([4]), budget=4)
    assert score.sizes == [4]


@pytest.mark.parametrize("budget", [1, 2, 5, 8, 100])
def test_any_budget_gives_the_same_scores_in_full_batches_of_several_images(budget: int) -> None:
    score, built = Limited(1000, ERRORS[0]), list[int]()
    found = masked_scores(score, numbered(COUNTS, built), budget)
    assert [scores.tolist() for scores in found] == EXPECTED
    assert score.owners == [image for image, count in enumerate(COUNTS) for _ in range(count)]
    total = sum(COUNTS)
    assert score.sizes == [min(budget, total - start) for start in range(0, total, budget)]
    assert sum(built) == total
    assert max(built) <= budget


def test_no_copies_have_no_scores() -> None:
    assert [len(part) for part in masked_scores(Limited(1, ERRORS[0]), numbered([0, 0]), 4)] == [
        0,
        0,
    ]


def given(view: View, images: Tensor, budget: int = 256) -> Given:
    return Given(view, images, torch.arange(len(images)) % 4, budget=budget)


def whole_and_half(image: Tensor) -> Masked:
    return Masked(2, lambda rows: torch.stack([image, image / 2])[rows])


def test_each_copy_is_scored_for_the_target_of_its_image() -> None:
    view, images = small_view(), pictures(3)
    copies = [whole_and_half(image) for image in images]
    for logits in (True, False):
        found = torch.stack(target_scores(given(view, images, 5), copies, logits))
        with torch.no_grad():
            whole, half = view.logits(images), view.logits(images / 2)
        if not logits:
            whole, half = whole.softmax(1), half.softmax(1)
        expected = torch.stack([whole.diagonal(), half.diagonal()], 1)
        torch.testing.assert_close(found, expected)
        assert not found.is_inference()


class Counting(nn.Module):
    """Counts the images that go through a network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network, self.images, self.largest = network, 0, 0

    def forward(self, images: Tensor) -> Tensor:
        self.images += len(images)
        self.largest = max(self.largest, len(images))
        result: Tensor = self.network(images)
        return result


def test_hidden_superpixels_are_replaced_and_equal_rows_scored_once() -> None:
    counting = Counting(small_view().network)
    images = pictures(2)
    labels = [torch.arange(256).view(16, 16) // 64, torch.arange(256).view(16, 16) % 2]
    hidden = [torch.zeros(3, 16, 16), torch.ones(3, 16, 16)]
    first = torch.tensor([[1, 0, 0, 1], [1, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]]).bool()
    second = torch.tensor([[0, 1], [0, 1], [0, 1], [1, 0]]).bool()
    asked = given(View(counting), images, budget=3)
    found = superpixel_scores(asked, labels, hidden, [first, second])
    assert counting.images == 3 + 2
    assert counting.largest == 3
    for number, switches in enumerate((first, second)):
        for row, score in zip(switches, found[number], strict=True):
            image = images[number].clone()
            for y, x in np.ndindex(16, 16):
                if not row[labels[number][y, x]]:
                    image[:, y, x] = hidden[number][:, y, x]
            expected = asked.view.probabilities(image[None])[0, number].detach()
            assert float(score) == pytest.approx(float(expected), abs=1e-6)


def test_the_budget_is_never_exceeded_and_large_images_come_in_smaller_batches() -> None:
    view = small_view()
    assert batch_rows(given(view, torch.zeros(1, 3, 96, 96), budget=7)) == 7
    large = batch_rows(given(view, torch.zeros(1, 3, 224, 224)))
    small = batch_rows(given(view, torch.zeros(1, 3, 32, 32)))
    assert 1 < large < small == 256
    assert batch_rows(given(view, torch.zeros(1, 3, 4, 2**18))) == 1


# Networks made for forward passes


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
    """Cannot be traced: it looks at the numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))

    def forward(self, images: Tensor) -> Tensor:
        result: Tensor = self.maps(images).mean((2, 3))
        return -result if float(images.mean()) > 0.4 else result


class Shared(nn.Module):
    """Folding goes wrong: two normalisations share a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Conv2d(3, 3, 3)
        self.one, self.two = nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, images: Tensor) -> Tensor:
        result: Tensor = self.two(self.maps(self.one(self.maps(images)))).mean((2, 3))
        return result


@pytest.mark.parametrize("make", [Choosy, Shared])
def test_networks_that_cannot_be_folded_stay_as_they_are(make: Callable[[], nn.Module]) -> None:
    network = lively(make())
    assert forward_only(network, pictures(2, 32)) is network
