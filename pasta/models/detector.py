"""A detector of parts: torchvision's FCOS (Tian et al. 2019, arXiv:1904.01355) on any ResNet."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torchvision.models.detection import FCOS
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.fcos import FCOSHead
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelP6P7

from pasta.models.concept_parts import frozen_stages
from pasta.models.detector_targets import PartBoxes, assign
from pasta.models.normalise import Normalise
from pasta.models.resnet import ScaledResNet
from pasta.params.concepts import XnesylParams

FINEST_STRIDE = 8
Detections = tuple[Tensor, Tensor, Tensor]  # boxes in pixels, concepts, scores; best first


class Pyramid(nn.Module):
    """Stages 2-4 of a residual network, merged from coarse to fine; the finest levels are used."""

    def __init__(self, network: ScaledResNet, settings: XnesylParams) -> None:
        super().__init__()
        self.normalise, self.network = Normalise(), network
        del network.fc  # detection starts from the maps, not from the classes
        inputs = list(network.stage_channels[1:])
        self.out_channels, self.levels = settings.channels, settings.levels
        coarser = LastLevelP6P7(self.out_channels, self.out_channels) if self.levels > 3 else None
        self.merge = FeaturePyramidNetwork(inputs, self.out_channels, extra_blocks=coarser)
        self._frozen = frozen_stages(network, settings.backbone.frozen)

    def train(self, mode: bool = True) -> Pyramid:
        """Frozen stages keep their statistics."""
        super().train(mode)
        for stage in self._frozen:
            stage.eval()
        return self

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
