"""Score-CAM against its formula, against pytorch-grad-cam, and on planted signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchvision.models import resnet18
from torchvision.models.vision_transformer import VisionTransformer

from pasta.errors import PastaError
from pasta.explanations.attribution import shown_maps
from pasta.explanations.base import METHODS, Given, View, raw_maps
from pasta.explanations.cam import channel_scores, scorecam
from tests.explanations.networks import in_quadrant, pictures, small_view

torch.set_num_threads(1)
Array = NDArray[np.float64]


def given(view: View, images: Tensor, targets: Tensor, **rest: Any) -> Given:
    return Given(view, images, targets, **rest)


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


def transformer() -> tuple[nn.Module, nn.Module, Callable[[Tensor], Tensor]]:
    torch.manual_seed(0)
    network = VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5).eval()
    nn.init.normal_(network.heads.head.weight)
    layer: nn.Module = network.encoder.layers[-1].ln_1
    return network, layer, lambda tokens: tokens[:, 1:].transpose(1, 2).reshape(-1, 16, 4, 4)


def convolutional() -> tuple[nn.Module, nn.Module, None]:
    torch.manual_seed(0)
    network = resnet18(num_classes=5).eval()
    layer: nn.Module = network.layer2[-1]
    return network, layer, None


@pytest.mark.parametrize("make", [convolutional, transformer])
def test_maps_equal_those_of_grad_cam(make: Callable[[], Any]) -> None:
    package: Any = pytest.importorskip("pytorch_grad_cam")
    model_targets: Any = pytest.importorskip("pytorch_grad_cam.utils.model_targets")
    network, layer, reshape = make()
    images, targets = pictures(2, 32), torch.tensor([1, 4])
    found = scorecam(given(View(network, layer, reshape), images, targets))
    shown = shown_maps(raw_maps(found, (32, 32), "positive").numpy(), "positive")
    with package.ScoreCAM(network, [layer], reshape) as peer:
        expected = peer(images, [model_targets.ClassifierOutputTarget(int(one)) for one in targets])
    np.testing.assert_allclose(shown, expected, atol=1e-4)


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


def test_neither_batch_nor_order_nor_budget_matter() -> None:
    view, images, targets = small_view(), pictures(4), torch.tensor([0, 1, 2, 3])
    together = scorecam(given(view, images, targets))
    for number in range(4):
        part = slice(number, number + 1)
        alone = scorecam(given(view, images[part], targets[part], budget=4))
        torch.testing.assert_close(alone[0], together[number], rtol=1e-5, atol=1e-6)
    order = torch.tensor([3, 0, 2, 1])
    other = scorecam(given(view, images[order], targets[order]))
    torch.testing.assert_close(other, together[order], rtol=1e-5, atol=1e-6)


def test_an_image_that_is_not_numbers_spoils_only_its_own_map() -> None:
    images = pictures(2)
    images[0] = torch.nan
    found = scorecam(given(small_view(), images, torch.tensor([0, 1])))
    assert found[0].isnan().any()
    assert found[1].isfinite().all()


def test_it_needs_a_layer_and_says_so() -> None:
    about = METHODS.entry("scorecam").metadata
    assert METHODS["scorecam"] is scorecam
    assert (about["sign"], about["needs_layer"]) == ("positive", True)
    with pytest.raises(PastaError, match="layer"):
        scorecam(given(View(small_view().network), pictures(1), torch.tensor([0])))
