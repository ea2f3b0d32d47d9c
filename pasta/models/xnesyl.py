"""X-NeSyL (Díaz-Rodríguez et al. 2022, doi:10.1016/j.inffus.2021.09.022).

EXPLANet, its trainable half: a detector finds the parts that a knowledge graph names, each concept
scores what its best detection scores (from 0 to 1), and a linear classifier maps these scores to
classes. The detector learns from part boxes alone, the classifier afterwards from the scores of the
training images. The authors' second training round, which weighs the detector's losses by SHAP
values that contradict the graph, is not part of this model.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pasta.models.base import MODELS, ConceptModel, History, Progress
from pasta.models.concept_parts import LinearHead, new_backbone, start_backbone
from pasta.models.data import ModelContext, TrainingData
from pasta.models.detector import FINEST_STRIDE, Detections, PartDetector, part_boxes
from pasta.models.training import fit_extractor, outputs, seeded, seen_concepts
from pasta.params.concepts import XnesylParams

PURPOSE = "xnesyl"


class Xnesyl(ConceptModel):
    """A part detector and a linear classifier on its best scores."""

    extractor: PartDetector
    head: LinearHead

    def __init__(
        self, classes: tuple[str, ...], concepts: tuple[str, ...], detector: PartDetector
    ) -> None:
        super().__init__(classes, concepts)
        self.extractor = detector
        self.head = LinearHead(len(concepts), len(classes))

    def detect(self, images: Tensor) -> list[Detections]:
        """For each image boxes in pixels, concept indices and scores, best first."""
        return self.extractor.detect(images)


@MODELS.register(
    PURPOSE,
    title="X-NeSyL",
    family="concept",
    doi="10.1016/j.inffus.2021.09.022",
    effort=2,  # an epoch of the detector next to one of a classifier
)
class XnesylRecipe:
    """First the detector on boxes, then the classifier on its scores."""

    @staticmethod
    def build(context: ModelContext, settings: XnesylParams) -> Xnesyl:
        """A residual network under a pyramid and detection heads, and a linear head."""
        network = new_backbone(context, settings.backbone, 1, PURPOSE)
        with seeded(context, f"{PURPOSE}/detector"):
            detector = PartDetector(network, len(context.concepts), settings)
        model = Xnesyl(context.classes, context.concepts, detector)
        return model.to(memory_format=torch.channels_last)

    @staticmethod
    def fit(
        model: Xnesyl, data: TrainingData, settings: XnesylParams, progress: Progress
    ) -> History:
        """Early stopping looks at how well the best scores tell which concepts are there."""
        detector, boxes = model.extractor, part_boxes(data, FINEST_STRIDE)
        start_backbone(detector.fcos.backbone.network, data, settings.backbone, PURPOSE)
        detector.seen.copy_(seen_concepts(data))

        def loss(images: Tensor, rows: Tensor, flipped: Tensor) -> Tensor:
            return detector.loss(images, boxes.take(rows, flipped, data.size))

        history = fit_extractor(model, data, settings.training, PURPOSE, progress, loss)
        rows = data.rows("train")
        model.head.fit(outputs(detector, data, rows), data.labels[rows], settings.penalty)
        return history
