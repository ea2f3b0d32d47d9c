"""RISE (Petsiuk, Das and Saenko 2018, doi:10.48550/arXiv.1806.07421).

A pixel is as important as the target's probability is on average when the pixel can be seen. What
can be seen are smooth random masks: coarse random grids, enlarged by bilinear interpolation and
shifted at random by less than a cell. Hidden pixels are black.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from pasta.errors import PastaError
from pasta.explanations.base import Given, Passes, exact, method
from pasta.explanations.masking import Masked, target_scores

_MASKS = 64  # that are summed at a time: at 224 x 224 pixels 13 MB


@dataclass(frozen=True)
class Masks:
    """Masks of one image as what they are made of; a mask is built when it is needed."""

    grids: Tensor  # (masks, cells, cells), 1 where a cell can be seen
    shifts: Tensor  # (masks, 2), by how many rows and columns
    size: tuple[int, ...]  # height and width

    def __len__(self) -> int:
        return len(self.grids)

    def build(self, rows: slice) -> Tensor:
        """Masks (rows, height, width) from 0 to 1.

        Bilinear interpolation is one matrix product from the left for rows, one from the right for
        columns; a shift takes other rows of these matrices.
        """
        place = self.grids.device
        vertical, horizontal = (
            enlarging(self.grids.shape[1], length).to(place)[
                shift[:, None] + torch.arange(length, device=place)
            ]
            for length, shift in zip(self.size, self.shifts[rows].T, strict=True)
        )
        return vertical @ self.grids[rows] @ horizontal.mT

    def to(self, device: torch.device) -> Masks:
        """The same masks on a device."""
        return Masks(self.grids.to(device), self.shifts.to(device), self.size)


@method(
    "rise",
    functioning="perturbation",
    doi="10.48550/arXiv.1806.07421",
    passes=lambda settings, _: Passes(forward=settings.masks),
)
def rise(given: Given) -> Tensor:
    """The sum of p(target | image x mask) mask / (number of masks x probability to be seen)."""
    settings, device = given.settings["rise"], given.images.device
    kind = (settings.masks, settings.cells, settings.keep, given.size)
    masks = [random_masks(*kind, random).to(device) for random in given.generators("rise")]
    copies = [masked_copies(image, part) for image, part in zip(given.images, masks, strict=True)]
    scores = target_scores(given, copies)
    pairs = zip(masks, scores, strict=True)
    maps = [importance(part, score, settings.keep) for part, score in pairs]
    return torch.stack(maps).float().to(device)


def random_masks(
    number: int, cells: int, keep: float, size: tuple[int, ...], generator: torch.Generator
) -> Masks:
    """Masks that show each cell with probability ``keep``."""
    if keep == 0:
        raise PastaError("RISE hides everything if the probability to keep a cell is 0")
    grids = torch.rand(number, cells, cells, generator=generator) < keep
    shifts = [
        torch.randint(0, cell_length(cells, length), (number,), generator=generator)
        for length in size
    ]
    return Masks(grids.float(), torch.stack(shifts, 1), size)


def cell_length(cells: int, length: int) -> int:
    """Pixels along one side of a cell: so many that all cells together cover the image."""
    return -(-length // cells)


def enlarging(cells: int, length: int) -> Tensor:
    """The matrix (pixels, cells) of linear interpolation to one cell more than the image has, which
    leaves room for shifts."""
    pixels = (cells + 1) * cell_length(cells, length)
    return interpolate(torch.eye(cells)[None], pixels, mode="linear", align_corners=False)[0].T


def masked_copies(image: Tensor, masks: Masks) -> Masked:
    """The image behind each mask."""
    return Masked(len(masks), lambda rows: image * masks.build(rows)[:, None])


def importance(masks: Masks, scores: Tensor, keep: float) -> Tensor:
    """The map (height, width) of one image, from the scores of its masks."""
    total = exact(masks.grids.new_zeros(masks.size))
    for start in range(0, len(masks), _MASKS):
        rows = slice(start, start + _MASKS)
        total += exact(torch.einsum("m,mhw->hw", scores[rows].float(), masks.build(rows)))
    return total / (len(masks) * keep)
