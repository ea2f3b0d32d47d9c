"""Batches of masked images, and networks made for forward passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.base import Given, View
from pasta.explanations.masking import Masked, batch_rows, masked_scores, target_scores
from pasta.explanations.superpixels import superpixel_scores
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
