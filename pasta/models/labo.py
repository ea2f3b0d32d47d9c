"""LaBo: a linear classifier on concepts that were chosen class by class."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from pasta.models.base import MODELS, History, Progress
from pasta.models.clip.concepts import ClipConceptModel, Examples, choose, examples
from pasta.models.clip.logistic import Line, fit_logistic, line_logits, still_linear, take_line
from pasta.models.clip.selection import Objective, greedy, likenesses, telling_scores
from pasta.models.clip.shared import shared_features
from pasta.models.data import ModelContext, TrainingData
from pasta.params.clip import LaboParams


class Labo(ClipConceptModel):
    """Only chosen concepts have weight."""

    head: nn.Linear

    def __init__(self, context: ModelContext) -> None:
        super().__init__(context, still_linear(len(context.concepts), len(context.classes)))
        self.chosen: Tensor
        nothing = torch.zeros(len(context.classes), len(context.concepts), dtype=torch.bool)
        self.register_buffer("chosen", nothing)  # which class has chosen which concept


def choose_concepts(model: Labo, data: TrainingData, settings: LaboParams) -> Tensor:
    """Classes x concepts, true where a class has chosen a concept.

    Candidates of a class are the concepts that its training images show: they take the place of
    the sentences that the authors had a language model write about each class.
    """
    rows, texts = data.rows("train"), model.extractor.texts
    features, labels = shared_features(data)[rows], data.labels[rows]
    scale = float(model.extractor.encoder.logit_scale)
    telling = telling_scores(features, labels, texts, scale)
    likeness = likenesses(texts)
    chosen = torch.zeros_like(model.chosen)
    for label in range(len(data.classes)):
        seen = data.presence[rows][labels == label].amax(0).nonzero()[:, 0]
        objective = Objective(
            telling[seen],
            likeness[seen][:, seen],
            settings.discriminability,
            settings.coverage,
        )
        chosen[label, seen[greedy(objective, settings.per_class)]] = True
    return chosen


def fit_chosen(train: Examples, classes: int, columns: Tensor, inverse_penalty: float) -> Line:
    """Logistic regression on some columns; the others get weight zero."""
    part = Examples(train.scores[:, columns], train.labels)
    few, bias = fit_logistic(part, classes, inverse_penalty)
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
        fit = partial(fit_chosen, train, len(data.classes), model.chosen.any(0))
        line, history = choose(settings.inverse_penalty, fit, line_logits, validation, progress)
        take_line(model.head, line)
        return history
