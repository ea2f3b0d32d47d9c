"""Concept models whose scores can be read off their images, for tests of concept methods."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from pasta.explanations.base import METHODS, Given, View
from pasta.models.base import ConceptModel, torch_generator
from pasta.models.clip_concepts import GaussianHead
from pasta.models.concept_bottleneck import LinearHead

torch.set_num_threads(1)  # batches this small only lose by being shared between cores
SETTINGS: dict[str, Any] = {
    "lime_cbm": SimpleNamespace(samples=200, kernel_width=0.75, penalty=1.0),
    "shap_cbm": SimpleNamespace(samples=200),
    "rise_cbm": SimpleNamespace(masks=200, keep=0.5),
}
PERTURBATION = ("lime_cbm", "shap_cbm", "rise_cbm")


class Columns(nn.Module):
    """The score of a concept is the brightness of its column, stretched to -3 ... 3."""

    def forward(self, images: Tensor) -> Tensor:
        return images.mean((1, 2)) * 6 - 3


class SmallModel(ConceptModel):
    """Columns and any head."""

    def __init__(self, head: nn.Module, concepts: int, classes: int) -> None:
        names = [f"class {number}" for number in range(classes)]
        super().__init__(names, [f"concept {number}" for number in range(concepts)])
        self.extractor, self.head = Columns(), head


def images_of(scores: Tensor) -> Tensor:
    """Images (n, 3, 1, concepts) whose columns give these scores."""
    return ((scores.float() + 3) / 6)[:, None, None].repeat(1, 3, 1, 1)


def random_scores(count: int, concepts: int, seed: int = 0) -> Tensor:
    generator = torch_generator(seed, "scores")
    return torch.randn(count, concepts, generator=generator, dtype=torch.double)


def gaussians(concepts: int, classes: int, seed: int = 0, spread: float = 1.0) -> GaussianHead:
    """Random Gaussians of different shapes, in double precision."""
    generator = torch_generator(seed, "gaussians")
    head = GaussianHead(concepts, classes).double()
    head.means.copy_(torch.randn(classes, concepts, generator=generator) * spread)
    noise = torch.randn(classes, concepts, concepts, generator=generator, dtype=torch.double)
    head.whitening.copy_(torch.eye(concepts) + 0.3 * noise)
    head.offsets.copy_(torch.linalg.slogdet(head.whitening).logabsdet)
    return head


def linear(concepts: int, classes: int, seed: int = 0) -> nn.Linear:
    generator = torch_generator(seed, "linear")
    head = nn.Linear(concepts, classes)
    for parameter in head.parameters():
        nn.init.normal_(parameter, generator=generator)
    return head


def only_concept_two(key: str, concepts: int) -> nn.Module:
    """Two classes that differ by the score of concept 2 alone: it is 2 or -2 in the mean."""
    if key == "clip_qda":
        head = GaussianHead(concepts, 2)
        head.means[:, 2] = torch.tensor([-2.0, 2.0])
        return head
    flat = LinearHead(concepts, 2)
    flat.weight.data[:, 2] = torch.tensor([-2.0, 2.0])
    return flat


def asked(
    model: ConceptModel,
    images: Tensor,
    targets: Tensor | Sequence[int] | None = None,
    **options: Any,
) -> Given:
    """A request with small settings, for the predicted classes unless told otherwise."""
    if targets is None:
        with torch.no_grad():
            targets = model(images).argmax(1)
    settings = options.pop("settings", SETTINGS)
    return Given(View(model, concepts=model), images, torch.as_tensor(targets), settings, **options)


def assert_independent_of_batch_and_order(key: str, model: ConceptModel, images: Tensor) -> None:
    """Alone, together, reversed, with little and with much memory: always the same numbers."""
    run = METHODS[key]
    together = asked(model, images)
    expected = run(together)
    alone = torch.cat([run(part) for part in together.one_by_one()])
    backwards = run(asked(model, images.flip(0), together.targets.flip(0))).flip(0)
    small = run(asked(model, images, together.targets, budget=1))
    for found in (alone, backwards, small):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
