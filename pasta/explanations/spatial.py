"""What can be done to inputs (n, channels, *spatial) whatever their spatial axes are."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def grid_labels(size: Sequence[int], side: int) -> Tensor:
    """Number the cells of a regular grid.

    Parameters
    ----------
    size
        The length of each spatial axis.
    side
        How many places a cell has along each of them. Cells at the far border are smaller where
        an axis is no multiple of it.

    Returns
    -------
    For each place the number of its cell, shape ``size``; cells are counted from 0, along the last
    axis first.

    Examples
    --------
    >>> grid_labels((2, 3), 2)
    tensor([[0, 0, 1],
            [0, 0, 1]])
    """
    labels = torch.zeros(tuple(size), dtype=torch.long)
    for axis, length in enumerate(size):
        cells = torch.arange(length) // side
        behind = [1] * (len(size) - axis - 1)
        labels = labels * (-(-length // side)) + cells.view(-1, *behind)
    return labels


def shift_content(inputs: Tensor, share: float, filling: float = 0.0) -> Tensor:
    """Move the content along the last spatial axis.

    Parameters
    ----------
    inputs
        Shape (n, channels, *spatial).
    share
        How far, as a share of the last axis' length: 0 leaves everything in its place, 1 moves
        all of it out. Negative shares move it the other way.
    filling
        What comes in from outside.

    Returns
    -------
    The moved inputs.

    Examples
    --------
    >>> shift_content(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 0.5)
    tensor([[[0., 0., 1., 2.]]])
    """
    width = inputs.shape[-1]
    step = max(-width, min(width, round(share * width)))
    moved = inputs.roll(step, -1)
    places = torch.arange(width, device=inputs.device)
    outside = places < step if step >= 0 else places >= width + step
    return torch.where(outside, filling, moved)
