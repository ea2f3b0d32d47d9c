"""Noisy linear imputation, the perturbation of ROAD (doi:10.48550/arXiv.2202.00449).

Each removed pixel becomes the weighted mean of its eight neighbours (weight 1/6 for those beside
it, 1/12 for those at its corners; neighbours outside the image do not count), all removed pixels
at once: a linear system with one unknown per removed pixel. Small noise is added to the solution so
that a network cannot tell removed pixels by their smoothness.

Solving such a system by sparse elimination takes up to half a second for one image of 224 pixels
and one share of removed pixels. Here several images and shares are solved together by conjugate
gradients with a multigrid cycle as preconditioner.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pasta.metrics.multigrid import Field, Multigrid, padded

# When to stop: the energy of what is still wrong (twelve times the weighted sum of squared
# differences between neighbours), as a part of the largest square. The cycle that finds the energy
# also corrects most of it; no pixel was seen to be wrong by more than 1e-4 of the image's range.
_ENERGY = 2e-6
_ITERATIONS = 200  # never reached; a guard against input that is not finite


def impute(images: Tensor, removed: Tensor) -> Tensor:
    """Images whose removed pixels are interpolated linearly from the others.

    Parameters
    ----------
    images
        Shape (n, channels, height, width).
    removed
        Shape (n, height, width), true where a pixel is removed. Where all pixels of an image are
        removed there is nothing to interpolate from: they become the image's mean.
    """
    height, width = images.shape[-2:]
    nothing_left = removed.all(-1).all(-1)[:, None, None]
    unknown = removed & ~nothing_left
    holes = unknown[:, None]
    # With the mean of what is left as zero, the numbers are small.
    left = (~holes).sum((2, 3), keepdim=True)
    zero = torch.where(holes, 0, images).sum((2, 3), keepdim=True) / left
    shifted = torch.where(holes, 0, images - zero)
    found = _solve(shifted, unknown.to(images.dtype))[..., :height, :width]
    solved = torch.where(holes, zero + found.transpose(0, 1), images)
    return torch.where(nothing_left[:, None], images.mean((2, 3), keepdim=True), solved)


def _solve(shifted: Tensor, unknown: Tensor) -> Tensor:
    """What is to be put into the holes, (channels, n, height, width) with padding.

    Each channel of an image is a system of its own, which does not change any more when it is done:
    it does not matter with which others it is solved.
    """
    channels = shifted.shape[1]
    grids = Multigrid(padded(unknown), padded(torch.ones_like(unknown)), channels)
    finest, shape = grids.finest, grids.finest.shape
    found, direction, applied = (Field(unknown, channels, shape) for _ in range(3))
    found.pictures.copy_(padded(shifted.transpose(0, 1)))
    torch.mul(finest.stencil(found), finest.unknown, out=finest.residual.line)
    found.line.zero_()
    residual, values, along, change, result, spare = (
        field.line.view(channels, shape[0], -1)
        for field in (finest.residual, finest.values, direction, applied, found, finest.rest)
    )
    limit = _ENERGY * shifted.abs().amax((2, 3)).mT[..., None].square()
    going, before = limit > 0, torch.ones_like(limit)
    for _ in range(_ITERATIONS):
        grids.cycle()
        now = torch.mul(residual, values, out=spare).sum(-1, keepdim=True)
        done = going & (now <= limit)
        if done.any():
            result.addcmul_(values, done.to(values.dtype))
            going = going & ~done
        if not going.any():
            break
        torch.addcmul(values, along, torch.where(going, now / before, 0), out=along)
        finest.applied(direction, applied)
        length = torch.mul(along, change, out=spare).sum(-1, keepdim=True)
        step = torch.where(going, now / length, 0)
        result.addcmul_(along, step)
        residual.addcmul_(change, step, value=-1)
        before = torch.where(going, now, 1)
    return found.pictures
