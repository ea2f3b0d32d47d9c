"""LaBo's choice of concepts: few, telling, and representative of the rest (submodular)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Objective:
    """Worth of a set of concepts: how telling they are + how well they cover the candidates.

    Both terms only grow and have diminishing returns, so the greedy choice is worth at least
    1 - 1/e of the best one (Nemhauser et al., 1978).
    """

    telling: Tensor  # not negative, for each concept
    likeness: Tensor  # not negative, concepts x concepts
    discriminability: float  # weight of the first term
    coverage: float  # weight of the second

    def worth(self, chosen: list[int]) -> float:
        """The value of a set."""
        if not chosen:
            return 0.0
        covered = self.likeness[:, chosen].amax(1).sum()
        return float(self.discriminability * self.telling[chosen].sum() + self.coverage * covered)


def greedy(objective: Objective, number: int) -> list[int]:
    """Take the concept that adds most, again and again; the first of equals."""
    chosen: list[int] = []
    rest = list(range(len(objective.telling)))
    while rest and len(chosen) < number:
        worths = [objective.worth([*chosen, concept]) for concept in rest]
        chosen.append(rest.pop(worths.index(max(worths))))
    return chosen


def telling_scores(features: Tensor, labels: Tensor, texts: Tensor, scale: float) -> Tensor:
    """How far a concept is from saying the same of all classes: log classes - entropy, >= 0.

    The mean similarity of each class with the concept, turned into probabilities over classes.
    """
    classes = int(labels.max()) + 1
    means = torch.stack([features[labels == label].mean(0) for label in range(classes)])
    shares = (scale * means @ texts.T).softmax(0)
    entropy = -torch.xlogy(shares, shares).sum(0)
    return (torch.tensor(float(classes)).log() - entropy).clamp_min(0)


def likenesses(texts: Tensor) -> Tensor:
    """Cosine similarity of concepts, moved to 0-1 so that covering more never costs."""
    return (1 + texts @ texts.T) / 2
