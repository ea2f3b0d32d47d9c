"""The protocol behind which all classifiers stand, so that a technique is simply method x backbone.

Every classifier maps images (float, 0-1, n x 3 x size x size) to logits over the classes of its
dataset. A black box also shows the layers that CAM methods look at; a concept model is made of two
halves, an extractor of concept scores and an interpretable classifier on top, each callable alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from pasta.models.data import ModelContext, TrainingData
from pasta.registry import Registry
from pasta.seeds import entropy

Kind = Literal["black box", "concept"]


class Progress(Protocol):
    """Called after each epoch with a short message and the numbers of epochs done and in all."""

    def __call__(self, words: str, done: int | None = None, total: int | None = None) -> None: ...


def silent(words: str, done: Any = None, total: Any = None) -> None:
    """Report no progress."""


class Classifier(nn.Module):
    """Images to logits. ``classes`` names the columns."""

    kind: Kind

    def __init__(self, classes: Sequence[str]) -> None:
        super().__init__()
        self.classes = tuple(classes)

    def probabilities(self, images: Tensor) -> Tensor:
        """Class probabilities, n x classes, each row summing to one."""
        return self.to_probabilities(self(images))

    def to_probabilities(self, logits: Tensor) -> Tensor:
        """Logits to probabilities."""
        return logits.softmax(1)

    def saved_state(self) -> dict[str, Tensor]:
        """What a checkpoint holds: everything except parts that are shared and stored elsewhere."""
        return dict(self.state_dict())

    def load_saved_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over a checkpoint's tensors; names and shapes must match."""
        self.load_state_dict(dict(state), strict=True)


class BlackBox(Classifier, ABC):
    """A classifier that is explained from outside."""

    kind: Kind = "black box"
    # rows x columns of a transformer's image tokens, or depth x rows x columns
    token_grid: tuple[int, ...] | None = None
    # attention (n, queries, keys) and inputs to maps, where tokens are no grid but points
    place_attention: Callable[[Tensor, Tensor], Tensor] | None = None

    @abstractmethod
    def cam_layers(self) -> list[nn.Module]:
        """The layer(s) whose activations CAM methods weigh."""


class ConceptModel(Classifier):
    """A concept extractor and an interpretable classifier on its scores."""

    kind: Kind = "concept"
    extractor: nn.Module  # images -> scores, n x concepts
    head: nn.Module  # scores -> logits, n x classes

    def __init__(self, classes: Sequence[str], concepts: Sequence[str]) -> None:
        super().__init__(classes)
        self.concepts = tuple(concepts)

    def concept_scores(self, images: Tensor) -> Tensor:
        """The first half alone: n x concepts."""
        scores: Tensor = self.extractor(images)
        return scores

    def classify(self, scores: Tensor) -> Tensor:
        """The second half alone: logits from concept scores."""
        logits: Tensor = self.head(scores)
        return logits

    def forward(self, images: Tensor) -> Tensor:
        """Both halves."""
        return self.classify(self.concept_scores(images))


@dataclass
class History:
    """What training leaves behind besides weights: one number per epoch and curve."""

    curves: dict[str, list[float]] = field(default_factory=dict)
    best_epoch: int | None = None  # counted from 1

    def add(self, **values: float) -> None:
        """Append one epoch."""
        for name, value in values.items():
            self.curves.setdefault(name, []).append(float(value))


class Recipe(Protocol):
    """How one kind of model is built and trained; ``settings`` is its section of the parameters."""

    def build(self, context: ModelContext, settings: Any) -> Any:
        """A new classifier with random weights (deterministic), ready to train or to be filled."""

    def fit(self, model: Any, data: TrainingData, settings: Any, progress: Progress) -> History:
        """Train in place, deterministically for (seed, settings, data)."""

    # Registered with the metadata title, family, doi and, if it uses it, encoder="clip".


MODELS: Registry[Recipe] = Registry("model")


def torch_generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A torch generator for one purpose, like :func:`pasta.seeds.generator`."""
    return torch.Generator().manual_seed(entropy(seed, *purpose) % 2**63)


IMAGENET_MEAN, IMAGENET_SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Normalise(nn.Module):
    """Subtract a mean and divide by a spread, channel by channel."""

    def __init__(
        self, mean: Sequence[float] = IMAGENET_MEAN, spread: Sequence[float] = IMAGENET_SPREAD
    ) -> None:
        super().__init__()
        self.mean: Tensor
        self.spread: Tensor
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(spread).view(1, 3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Images from 0 to 1 in, roughly standardised images out."""
        return (images - self.mean) / self.spread
