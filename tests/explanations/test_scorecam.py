"""Score-CAM against its formula, against pytorch-grad-cam, and on planted signals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pytorch_grad_cam import ScoreCAM
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import Tensor, nn

from pasta.explanations.base import Given, View
from pasta.explanations.methods.cam import channel_scores, scorecam
from pasta.explanations.settings import ScoreCamParams
from tests.explanations.networks import in_quadrant, pictures, small_view

torch.set_num_threads(1)
Array = NDArray[np.float64]


def given(
    view: View, images: Tensor, targets: Tensor, channels: int | None = None, **rest: Any
) -> Given:
    settings = {"scorecam": ScoreCamParams(channels=channels)}
    return Given(view, images, targets, settings, **rest)


def literal_enlarged(small: Array, height: int, width: int) -> Array:
    """Bilinear interpolation in which corners stay corners, pixel by pixel."""
    large = np.zeros((height, width))
    for y, x in np.ndindex(height, width):
        row, column = y * (len(small) - 1) / (height - 1), x * (len(small[0]) - 1) / (width - 1)
        for i, j in np.ndindex(small.shape):
            near = max(0.0, 1 - abs(row - i)) * max(0.0, 1 - abs(column - j))
            large[y, x] += near * small[i, j]
    return large


def test_maps_are_those_of_the_papers_formula() -> None:
    view, images, targets = small_view(double=True), pictures(2).double(), torch.tensor([2, 0])
    asked = given(view, images, targets)
    found = scorecam(asked)
    for number, image in enumerate(images):
        activations = asked.passed.activations[number].numpy()
        scores = []
        for channel in activations:
            mask = literal_enlarged(channel, 16, 16)
            mask = (mask - mask.min()) / (mask.max() - mask.min() + 1e-8)
            with torch.no_grad():
                logits = view.logits((image * torch.from_numpy(mask))[None])
            scores.append(float(logits[0, targets[number]]))
        weights = np.exp(scores) / np.exp(scores).sum()
        expected = sum(w * channel for w, channel in zip(weights, activations, strict=True))
        np.testing.assert_allclose(found[number].numpy(), expected, rtol=1e-5)


def test_few_channels_are_those_that_vary_most_and_weigh_as_in_a_layer_without_the_others() -> None:
    view, images, targets = small_view(double=True), pictures(2).double(), torch.tensor([2, 0])
    asked = given(view, images, targets, channels=2)
    every = asked.passed.activations
    scores = channel_scores(asked, every)
    for number, activations in enumerate(every):
        kept = np.sort(np.argsort(activations.flatten(1).numpy().var(1))[-2:])
        weights = scores[number, kept].softmax(0)
        expected = torch.einsum("c,chw->hw", weights, activations[kept]).float()
        torch.testing.assert_close(scorecam(asked)[number], expected)
    whole = scorecam(given(view, images, targets, channels=every.shape[1]))
    torch.testing.assert_close(whole, scorecam(given(view, images, targets)))


class Quarters(nn.Module):
    """The layer's channels are the brightness of the four quadrants and two that are constant.

    Class 1 is how bright the upper left quadrant is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Conv2d(3, 6, 1)
        with torch.no_grad():
            self.maps.weight.fill_(1 / 3)
            self.maps.weight[4:] = 0
            self.maps.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.1]))  # type: ignore[union-attr]
        self.quadrants = nn.Identity()
        self.images = 0

    def forward(self, images: Tensor) -> Tensor:
        self.images += len(images)
        half = images.shape[2] // 2
        where = torch.zeros(6, 2 * half, 2 * half)
        where[4:] = 1
        for number, (y, x) in enumerate(np.ndindex(2, 2)):
            where[number, y * half : y * half + half, x * half : x * half + half] = 1
        maps = self.quadrants(self.maps(images) * where)
        seen = 40 * maps[:, 0].mean((1, 2))
        return torch.stack([-seen, seen], 1)


def quarters_view() -> tuple[View, Quarters]:
    network = Quarters().eval()
    return View(network, network.quadrants), network


def test_a_signal_in_one_quadrant_is_found_there() -> None:
    view, _ = quarters_view()
    images = pictures(4, 16) * 0.5 + 0.25
    found = scorecam(given(view, images, torch.ones(4, dtype=torch.long)))
    assert found.shape == (4, 16, 16)
    assert found.dtype == torch.float32
    assert (in_quadrant(found) >= 0.8).all()
    other = scorecam(given(view, images, torch.zeros(4, dtype=torch.long)))
    assert (in_quadrant(other) < 0.3).all()


def test_constant_channels_show_a_black_image_and_are_scored_once() -> None:
    view, network = quarters_view()
    asked = given(view, pictures(2, 16), torch.tensor([1, 0]))
    activations = asked.passed.activations
    network.images = 0
    scores = channel_scores(asked, activations)
    assert network.images == 2 * (4 + 1)
    assert scores[:, 4:].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert (scores[0, 0] > 0) and (scores[1, 0] < 0)
    assert scores[:, 1:4].abs().max() == 0


def test_all_channels_may_be_constant() -> None:
    view, network = quarters_view()
    images = torch.zeros(2, 3, 16, 16)
    found = scorecam(given(view, images, torch.tensor([1, 0])))
    torch.testing.assert_close(found, torch.full((2, 16, 16), 0.1 / 6))
    assert network.images == 2 + 2  # the pass that methods share, and one black image for each


def test_grad_cam_makes_a_mask_of_the_rounding_errors_of_a_constant_channel() -> None:
    """Why Score-CAM is our own: the masks below differ by 1e-8 and are scaled to 0-1 by grad-cam.

    A constant channel shows nothing of the image, so its score is that of a black image.
    """
    network = nn.Sequential(nn.Conv2d(3, 2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    first = network[0]
    assert isinstance(first, nn.Conv2d) and first.bias is not None
    nn.init.constant_(first.weight, 1.0)
    activations = torch.full((1, 2, 7, 7), 0.3)
    activations[:, 1] = 0.7
    image, asked = torch.ones(1, 3, 224, 224), torch.tensor([0])
    scores = channel_scores(given(View(network, first), image, asked), activations)
    black = float(first.bias[0].detach())
    assert scores[0].tolist() == pytest.approx([black, black])
    with ScoreCAM(network, [first]) as peer:
        targets = [ClassifierOutputTarget(0)]
        weights = peer.get_cam_weights(image, first, targets, activations.numpy(), None)
    assert abs(weights[0, 0] - weights[0, 1]) > 0.01  # both channels show nothing: one half each
