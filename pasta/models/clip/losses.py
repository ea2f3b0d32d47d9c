"""What the small CLIP is trained to say about an image.

The plain CLIP loss takes the captions of all other images for wrong, which with a handful of
classes most often they are not. So classes compete within their dataset, concepts are right or
wrong each for itself, and a caption belongs to every image it is true of.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

_CONCEPTS_LIKE_A_CLASS = 10.0  # makes a mean over concepts about as large as the class loss


@dataclass(frozen=True)
class Truth:
    """What is known about the images of one batch that come from one dataset."""

    images: slice  # their place in the batch
    classes: Tensor  # rows of the prompt table
    concepts: Tensor  # rows of the prompt table
    labels: Tensor
    presence: Tensor  # images x concepts, 1 where one is seen
    named: Tensor  # images x concepts, 1 where the image's caption names one

    def to(self, where: torch.device) -> Truth:
        """The same on another device."""
        moved = {name: value.to(where) for name, value in vars(self).items() if name != "images"}
        return Truth(images=self.images, **moved)


class ConceptScale(nn.Module):
    """Turns similarities into the logit of being seen; needed in training only."""

    def __init__(self, scale: float = 10.0, bias: float = -2.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale).log())
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, similarities: Tensor) -> Tensor:
        """Logits that a concept is seen."""
        return similarities * self.scale.exp() + self.bias


def class_loss(logits: Tensor, truths: list[Truth]) -> Tensor:
    """Cross-entropy between the classes of each image's own dataset."""
    terms = [
        functional.cross_entropy(
            logits[truth.images][:, truth.classes], truth.labels, reduction="sum"
        )
        for truth in truths
    ]
    return torch.stack(terms).sum() / len(logits)


def concept_loss(logits: Tensor, truths: list[Truth]) -> Tensor:
    """Binary cross-entropy on the concepts of each image's own dataset."""
    terms = [
        functional.binary_cross_entropy_with_logits(
            logits[truth.images][:, truth.concepts], truth.presence, reduction="sum"
        )
        / truth.presence.shape[1]
        for truth in truths
    ]
    return _CONCEPTS_LIKE_A_CLASS * torch.stack(terms).sum() / len(logits)


def caption_loss(logits: Tensor, truths: list[Truth]) -> Tensor:
    """Contrastive loss in both directions; all captions that are true of an image are right."""
    true = torch.zeros_like(logits)
    for truth in truths:
        true[truth.images, truth.images] = is_true(truth).float()
    forth = functional.cross_entropy(logits, true / true.sum(1, keepdim=True))
    back = functional.cross_entropy(logits.T, (true / true.sum(0)).T)
    return (forth + back) / 2


def is_true(truth: Truth) -> Tensor:
    """Images x captions: the same class, and everything the caption names is seen."""
    same = truth.labels[:, None] == truth.labels[None]
    unseen = (1 - truth.presence) @ truth.named.T
    return same & (unseen == 0)
