"""Concept bottleneck models (Koh et al. 2020, arXiv:2007.04612).

A residual network predicts every concept by its own sigmoid unit, trained by binary cross-entropy
on the concept annotations alone: labels never reach it. A multinomial logistic regression then
maps concept scores to classes.

Koh's two ways to fit the regression: ``sequential``, to the scores predicted for the training
images; ``independent``, to their annotations (0 or 1). The score that the second half sees is
either the ``logit`` or the ``probability`` of the concept. As in Koh's experiments the default pair
is sequential with logits: classes that share all their concepts (a bus and a car) can still be told
apart by how strongly concepts are seen. Independent needs probabilities, the only scores on the
scale of annotations; interventions then mean what they say, at the price of such classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from pasta.models.base import MODELS, ConceptModel, History, Progress
from pasta.models.concept_parts import LinearHead, Started, new_backbone, start_backbone
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import ScaledResNet
from pasta.models.settings import ConceptBottleneckParams
from pasta.models.training import fit_extractor, outputs, seen_concepts

PURPOSE = "concept_bottleneck"


class ConceptNetwork(Started):
    """Images to concept scores, logits or probabilities.

    A concept that training never showed keeps the same low score for every image.
    """

    def __init__(
        self, network: ScaledResNet, concepts: int, settings: ConceptBottleneckParams
    ) -> None:
        super().__init__(network, settings.backbone.frozen)
        self.score = settings.score
        self.seen: Tensor  # by training, which fills both
        self.unseen: Tensor  # the logit of all others
        self.register_buffer("seen", torch.ones(concepts, dtype=torch.bool))
        self.register_buffer("unseen", torch.zeros(()))

    def logits(self, images: Tensor) -> Tensor:
        """One logit for each concept; no gradient flows to those that were never seen."""
        return torch.where(self.seen, self.network(self.normalise(images)), self.unseen)

    def forward(self, images: Tensor) -> Tensor:
        """One score for each concept."""
        logits = self.logits(images)
        return logits if self.score == "logit" else logits.sigmoid()


class ConceptBottleneck(ConceptModel):
    """Concept probabilities or logits, then logistic regression."""

    extractor: ConceptNetwork
    head: LinearHead

    def __init__(
        self, classes: Sequence[str], concepts: Sequence[str], network: ConceptNetwork
    ) -> None:
        super().__init__(classes, concepts)
        self.extractor = network
        self.head = LinearHead(len(self.concepts), len(self.classes))


@MODELS.register(
    PURPOSE, title="ConceptBottleneck", family="concept", doi="10.48550/arXiv.2007.04612"
)
class ConceptBottleneckRecipe:
    """First the concepts on their annotations, then the classes on the concepts."""

    @staticmethod
    def build(context: ModelContext, settings: ConceptBottleneckParams) -> ConceptBottleneck:
        """A residual network with one output unit for each concept, and a linear head."""
        count = len(context.concepts)
        network = new_backbone(context, settings.backbone, count, PURPOSE)
        extractor = ConceptNetwork(network, count, settings)
        return ConceptBottleneck(context.classes, context.concepts, extractor)

    @staticmethod
    def fit(
        model: ConceptBottleneck,
        data: TrainingData,
        settings: ConceptBottleneckParams,
        progress: Progress,
    ) -> History:
        """Early stopping looks at how well the scores tell which concepts are there."""
        concepts, train_rows = model.extractor, data.rows("train")
        start_backbone(concepts.network, data, settings.backbone, PURPOSE)
        concepts.seen.copy_(seen_concepts(data))
        # the log-odds of half an image in all training images: rarer than anything seen
        concepts.unseen.fill_(-math.log(2 * len(train_rows) + 1))

        def loss(images: Tensor, rows: Tensor, _flipped: Tensor) -> Tensor:
            wanted = data.presence[rows].to(images.device)
            return binary_cross_entropy_with_logits(concepts.logits(images), wanted)

        history = fit_extractor(model, data, settings.training, PURPOSE, progress, loss)
        known = settings.head == "independent"
        scores = data.presence[train_rows] if known else outputs(concepts, data, train_rows)
        model.head.fit(scores, data.labels[train_rows], settings.penalty)
        return history
