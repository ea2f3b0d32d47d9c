"""The cells of a grid that LIME and Kernel SHAP switch on and off, whatever the spatial axes.

All inputs of one size have the same cells. Copies of several inputs share the passes of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pasta.explanations.base import Given
from pasta.explanations.entries import repeat
from pasta.explanations.masking import Masked, target_scores
from pasta.explanations.settings import GridParams
from pasta.explanations.spatial import grid_labels


def grid_of(given: Given, settings: GridParams) -> Tensor:
    """Number the cells (*spatial), or those of each channel (channels, *spatial)."""
    split = getattr(given.modality, "split", None) or grid_labels
    labels: Tensor = split(given.size, settings.cell).to(given.images.device)
    if not settings.channels_apart:
        return labels
    cells, channels = int(labels.max()) + 1, given.images.shape[1]
    return torch.stack([labels + number * cells for number in range(channels)])


def grid_scores(
    given: Given, labels: Tensor, switches: Sequence[Tensor], settings: GridParams
) -> list[Tensor]:
    """Compute the target's score where only some cells of an input can be seen.

    Parameters
    ----------
    given
        The batch.
    labels
        See :func:`grid_of`.
    switches
        For each input the cells that can be seen, row by row (rows, cells).
    settings
        The value of hidden places, and which score.

    Returns
    -------
    One tensor (rows,) for each input, in double precision, in main memory.
    """

    def copies(image: Tensor, rows: Tensor) -> Masked:
        def build(part: slice) -> Tensor:
            seen = rows[part][:, labels]
            seen = seen if seen.ndim == image.ndim + 1 else seen[:, None]
            return torch.where(seen, image, settings.baseline)

        return Masked(len(rows), build)

    device = given.images.device
    made = [
        copies(image, rows.to(device)) for image, rows in zip(given.images, switches, strict=True)
    ]
    scores = target_scores(given, made, logits=settings.score == "logit")
    return [one.cpu().double() for one in scores]


def seen_energy(image: Tensor, labels: Tensor, switches: Tensor) -> Tensor:
    """The share of an input's sum of squares that can be seen (rows,): the square of the cosine
    between the input and its copy with zeros in hidden cells."""
    energy = image.double().square().cpu()
    places = labels.cpu().expand_as(energy).flatten()
    cells = torch.zeros(switches.shape[1], dtype=torch.double)
    cells.index_add_(0, places, energy.flatten())
    return (switches.double() @ cells / cells.sum().clamp_min(1e-30)).clamp_max(1)


def maps_of_grid(
    given: Given, labels: Tensor, values: Sequence[Tensor], settings: GridParams
) -> Tensor:
    """Give each place the value of its cell.

    Returns maps (n, *spatial) with their sign, channels summed; in LATEC's readings a value of each
    channel of each place (n, channels, *spatial), cut at zero.
    """
    maps = torch.stack([value.to(given.images)[labels] for value in values])
    apart = settings.channels_apart
    if settings.reading == "corrected":
        return maps.sum(1) if apart else maps
    return maps.relu() if apart else repeat(maps.relu(), given.images.shape[1])
