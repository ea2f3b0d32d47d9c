"""LaBo: a linear classifier on concepts that were chosen class by class.

The choice is submodular: few concepts, telling, and representative of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from pasta.models.base import MODELS, History, Progress
from pasta.models.clip.concepts import ClipConceptModel, Examples, choose, examples, fit_line
from pasta.models.clip.encoder import shared_features
from pasta.models.concept_parts import Line, LinearHead, line_logits
from pasta.models.data import ModelContext, TrainingData
from pasta.models.settings import LaboParams


class Labo(ClipConceptModel):
    """Only chosen concepts have weight."""

    head: LinearHead

    def __init__(self, context: ModelContext) -> None:
        super().__init__(context, LinearHead(len(context.concepts), len(context.classes)))
        self.chosen: Tensor
        nothing = torch.zeros(len(context.classes), len(context.concepts), dtype=torch.bool)
        self.register_buffer("chosen", nothing)  # which class has chosen which concept


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


def choose_concepts(model: Labo, data: TrainingData, settings: LaboParams) -> Tensor:
    """Classes x concepts, true where a class has chosen a concept.

    Candidates of a class are the concepts that its training images show: they take the place of
    the sentences that the authors had a language model write about each class.
    """
    rows, texts = data.rows("train"), model.extractor.texts.cpu()
    features, labels = shared_features(data)[rows], data.labels[rows]
    scale = float(model.extractor.encoder.logit_scale)
    telling = telling_scores(features, labels, texts, scale)
    likeness = likenesses(texts)
    chosen = torch.zeros(model.chosen.shape, dtype=torch.bool)
    for label in range(len(data.classes)):
        seen = data.presence[rows][labels == label].amax(0).nonzero()[:, 0]
        objective = Objective(
            telling[seen], likeness[seen][:, seen], settings.discriminability, settings.coverage
        )
        chosen[label, seen[greedy(objective, settings.per_class)]] = True
    return chosen


def fit_chosen(train: Examples, classes: int, columns: Tensor, inverse_penalty: float) -> Line:
    """Logistic regression on some columns; the others get weight zero."""
    part = Examples(train.scores[:, columns], train.labels)
    few, bias = fit_line(part, classes, inverse_penalty)
    weight = torch.zeros(classes, len(columns), dtype=few.dtype)
    weight[:, columns] = few
    return weight, bias


@MODELS.register(
    "labo", title="LaBo", family="concept", encoder="clip", doi="10.48550/arXiv.2211.11158"
)
class LaboRecipe:
    """Choose concepts, then fit a layer on all that any class has chosen."""

    @staticmethod
    def build(context: ModelContext, settings: LaboParams) -> Labo:  # noqa: ARG004
        """All weights zero, nothing chosen."""
        return Labo(context)

    @staticmethod
    def fit(model: Labo, data: TrainingData, settings: LaboParams, progress: Progress) -> History:
        """Fit the layer on the chosen similarities of the training images."""
        train, validation = examples(model, data)
        model.chosen.copy_(choose_concepts(model, data, settings))
        fit = partial(fit_chosen, train, len(data.classes), model.chosen.any(0).cpu())
        line, history = choose(settings.inverse_penalty, fit, line_logits, validation, progress)
        model.head.take(line)
        return history
