"""Part boxes as a detector wants them, and which location of the grid answers for which box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pasta.models.data import TrainingData

NOTHING = -1  # fills the boxes of images that have fewer than others


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
