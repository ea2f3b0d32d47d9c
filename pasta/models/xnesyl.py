"""X-NeSyL (Díaz-Rodríguez et al. 2022, doi:10.1016/j.inffus.2021.09.022).

EXPLANet, its trainable half: a detector finds the parts that a knowledge graph names, each concept
scores what its best detection scores (from 0 to 1), and a linear classifier maps these scores to
classes. The detector learns from part boxes alone, the classifier afterwards from the scores of the
training images. The authors' second training round, which weighs the detector's losses by SHAP
values that contradict the graph, is not part of this model. The detector is torchvision's FCOS
(Tian et al. 2019, arXiv:1904.01355) on any ResNet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.models.detection import FCOS
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.fcos import FCOSHead
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelP6P7

from pasta.models.base import MODELS, ConceptModel, History, Progress
from pasta.models.concept_bottleneck import LinearHead, Started, new_backbone, start_backbone
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import ScaledResNet
from pasta.models.settings import XnesylParams
from pasta.models.training import fit_extractor, outputs, seeded, seen_concepts

PURPOSE, FINEST_STRIDE = "xnesyl", 8
NOTHING = -1  # fills the boxes of images that have fewer than others
Detections = tuple[Tensor, Tensor, Tensor]  # boxes in pixels, concepts, scores; best first


class Pyramid(Started):
    """Stages 2-4 of a residual network, merged from coarse to fine; the finest levels are used."""

    def __init__(self, network: ScaledResNet, settings: XnesylParams) -> None:
        super().__init__(network, settings.backbone.frozen)
        del network.fc  # detection starts from the maps, not from the classes
        inputs = list(network.stage_channels[1:])
        self.out_channels, self.levels = settings.channels, settings.levels
        coarser = LastLevelP6P7(self.out_channels, self.out_channels) if self.levels > 3 else None
        self.merge = FeaturePyramidNetwork(inputs, self.out_channels, extra_blocks=coarser)

    def forward(self, images: Tensor) -> OrderedDict[str, Tensor]:
        """One map for each level, all with the same number of channels."""
        stem = self.network
        maps = stem.layer1(stem.maxpool(stem.relu(stem.bn1(stem.conv1(self.normalise(images))))))
        stages: OrderedDict[str, Tensor] = OrderedDict()
        for name in ("layer2", "layer3", "layer4"):
            maps = getattr(stem, name)(maps)
            stages[name] = maps
        return OrderedDict(list(self.merge(stages).items())[: self.levels])


class PartDetector(nn.Module):
    """Images to the best detection score of each concept; also losses and detections.

    A concept that training never showed always scores 0 and is never detected.
    """

    def __init__(self, network: ScaledResNet, concepts: int, settings: XnesylParams) -> None:
        super().__init__()
        self.seen: Tensor  # by training, which fills it
        self.register_buffer("seen", torch.ones(concepts, dtype=torch.bool))
        pyramid = Pyramid(network, settings)
        sizes = tuple((FINEST_STRIDE * 2**level,) for level in range(settings.levels))
        head = FCOSHead(settings.channels, 1, concepts, settings.convolutions)
        self.fcos = FCOS(
            pyramid,
            num_classes=concepts,
            anchor_generator=AnchorGenerator(sizes, ((1.0,),) * settings.levels),
            head=head,
            score_thresh=settings.threshold,
        )

    def forward(self, images: Tensor) -> Tensor:
        """The best score of each concept over all locations, n x concepts.

        This is what the best box of a concept scores after suppression of doubles, which never
        removes the best one, but it has a gradient and needs no sorting.
        """
        outputs = self.fcos.head(list(self.fcos.backbone(images).values()))
        scores = (outputs["cls_logits"].sigmoid() * outputs["bbox_ctrness"].sigmoid()).sqrt()
        best: Tensor = scores.amax(1) * self.seen
        return best

    def loss(self, images: Tensor, boxes: PartBoxes) -> Tensor:
        """Torchvision's own loss: focal classification, generalised IoU and centreness."""
        outputs, anchors, counts = self._look(images)
        boxes = boxes.to(images.device)
        chosen = assign(anchors[0], boxes, counts, self.fcos.center_sampling_radius)
        terms = self.fcos.head.compute_loss(boxes.per_image(), outputs, anchors, list(chosen))
        return torch.stack(list(terms.values())).sum()

    @torch.no_grad()
    def detect(self, images: Tensor) -> list[Detections]:
        """Boxes worth showing for each image, through torchvision's own postprocessing.

        Torchvision's transform is left out: it would enlarge small images.
        """
        outputs, anchors, counts = self._look(images)
        found = self.fcos.postprocess_detections(
            {name: list(torch.split(values, counts, 1)) for name, values in outputs.items()},
            [list(torch.split(grid, counts)) for grid in anchors],
            [tuple(images.shape[2:])] * len(images),
        )
        return [self._seen_only(item) for item in found]

    def _look(self, images: Tensor) -> tuple[dict[str, Tensor], list[Tensor], list[int]]:
        """Head outputs, the grid of each image and the number of locations of each level."""
        maps = list(self.fcos.backbone(images).values())
        sizes = [tuple(images.shape[2:])] * len(images)
        anchors = self.fcos.anchor_generator(ImageList(images, sizes), maps)
        return self.fcos.head(maps), anchors, [level.shape[2] * level.shape[3] for level in maps]

    def _seen_only(self, found: dict[str, Tensor]) -> Detections:
        keep = self.seen[found["labels"]]
        return found["boxes"][keep], found["labels"][keep], found["scores"][keep]


@dataclass(frozen=True)
class PartBoxes:
    """The boxes of a batch, padded to the same number for each image."""

    corners: Tensor  # images x boxes x (x0, y0, x1, y1), in pixels
    concepts: Tensor  # images x boxes, the concept's index or NOTHING

    def take(self, rows: Tensor, flipped: Tensor, size: int) -> PartBoxes:
        """Those of some images, mirrored where the image was."""
        corners, concepts = self.corners[rows], self.concepts[rows]
        mirrored = corners[..., [2, 1, 0, 3]] * corners.new_tensor([-1.0, 1.0, -1.0, 1.0])
        mirrored = mirrored + corners.new_tensor([size, 0.0, size, 0.0])
        return PartBoxes(torch.where(flipped[:, None, None], mirrored, corners), concepts)

    def to(self, where: torch.device) -> PartBoxes:
        """The same on another device."""
        return PartBoxes(self.corners.to(where), self.concepts.to(where))

    def per_image(self) -> list[dict[str, Tensor]]:
        """Torchvision's format, padding included: nothing is ever matched to it."""
        return [
            {"boxes": corners, "labels": concepts}
            for corners, concepts in zip(self.corners, self.concepts, strict=True)
        ]


def part_boxes(data: TrainingData, smallest: float) -> PartBoxes:
    """Boxes of every row of a dataset.

    A box narrower than ``smallest`` pixels is widened about its middle: between two locations of
    the grid nothing would answer for it, and an eye or a nose would never be learned.
    """
    table = data.regions
    rows = torch.tensor(table["row"].to_numpy(np.int64))
    place = torch.tensor(table.groupby("row").cumcount().to_numpy(np.int64))
    shape = (len(data.dataset.images), int(place.max()) + 1 if len(place) else 1)
    corners, concepts = torch.zeros(*shape, 4), torch.full(shape, NOTHING)
    boxes = torch.tensor(table[["x0", "y0", "x1", "y1"]].to_numpy(np.float32)) * data.size
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    half = half.clamp(min=smallest / 2)
    corners[rows, place] = torch.cat([middle - half, middle + half], 1)
    concepts[rows, place] = torch.tensor(table["index"].to_numpy(np.int64))
    return PartBoxes(corners, concepts)


def assign(
    anchors: Tensor, boxes: PartBoxes, locations_per_level: Sequence[int], radius: float
) -> Tensor:
    """For every image and location the box it answers for, or -1; images x locations.

    The rule is that of torchvision's FCOS, which asks image by image (most of the time of a step
    with small images): near the middle of the box, inside it, in the range of sizes of the
    location's pyramid level; the smallest box wins.
    """
    side = (anchors[:, 2] - anchors[:, 0])[:, None]
    points = ((anchors[:, :2] + anchors[:, 2:]) / 2)[:, None]
    first, last = boxes.corners[:, None, :, :2], boxes.corners[:, None, :, 2:]
    near = (points - (first + last) / 2).abs().amax(-1) < radius * side
    reach = torch.cat([points - first, last - points], -1)  # left, top, right, bottom
    lowest, highest = side * 4, side * 8
    lowest[: locations_per_level[0]] = 0
    highest[-locations_per_level[-1] :] = float("inf")
    longest = reach.amax(-1)
    fits = near & (reach.amin(-1) > 0) & (longest > lowest) & (longest < highest)
    fits &= (boxes.concepts != NOTHING)[:, None]
    area = (last - first).prod(-1)
    smallest, chosen = torch.where(fits, area, float("inf")).min(-1)
    return torch.where(smallest.isinf(), -1, chosen)


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
        return Xnesyl(context.classes, context.concepts, detector)

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
