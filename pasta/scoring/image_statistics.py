"""What an image looks like, whatever it shows: colours, edges, grain and spectrum in numbers.

An encoder is trained to overlook how an image was made, so that a photograph and a drawing of a cat
are neighbours in its space. These statistics are the opposite: they come from the regularities by
which natural images, drawings and noise differ (Ruderman 1994, doi:10.1088/0954-898X/5/4/006;
Lyu & Farid 2005, doi:10.1109/TSP.2004.839896), and know nothing of the content. Sizes of details
are logarithms, so that a Gaussian describes them well enough.

Images are looked at in the size that the encoder sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import avg_pool2d

from pasta.compute import to_numpy
from pasta.embedding.encoders import pictures, squared

Floats = NDArray[np.float32]
_AT_ONCE = 150_000  # pixels: more of them leave the processor's cache
_LEVELS = 3  # of the wavelets
_BLOCK = 8  # pixels of a side, in which grain is measured
_RINGS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.71)  # cycles a pixel
_FAINT = 1e-3  # details below a quarter of a step of colour are none


def image_statistics(images: Tensor, size: int) -> Floats:
    """One row for each image (n x 3 x height x width; bytes, or floats from 0 to 1).

    ``size`` is the side of what the encoder sees, to which images are brought first.
    """
    together = max(1, _AT_ONCE // size**2)
    parts = [_describe(squared(pictures(part), size)) for part in torch.split(images, together)]
    return np.concatenate([to_numpy(part) for part in parts])


def _describe(images: Tensor) -> Tensor:
    red, green, blue = images.unbind(1)
    light = images.mean(1)
    planes = (light, red - green, blue - (red + green) / 2)
    columns = [
        *_tones(images, planes),
        *(value for plane in planes for value in _bands(plane)),
        *_edges(light),
        *(value for plane in planes for value in _grain(_detail(plane))),
        *_relations(images, planes),
        *_spectrum(light),
    ]
    return torch.stack(columns, dim=1)


def _tones(images: Tensor, planes: Sequence[Tensor]) -> Iterator[Tensor]:
    """How light and how colourful."""
    for plane in planes:
        yield plane.mean((1, 2))
        yield plane.std((1, 2))
    most = images.amax(1)
    saturation = (most - images.amin(1)) / (most + 0.01)
    for plane in (planes[0], saturation):
        yield from _quantiles(plane, (0.02, 0.25, 0.5, 0.75, 0.98))


def _bands(plane: Tensor) -> Iterator[Tensor]:
    """How strong and how sparse Haar's wavelets are, by scale and direction."""
    for _ in range(_LEVELS):
        height, width = (side // 2 * 2 for side in plane.shape[1:])
        whole = plane[:, :height, :width]
        a, b = whole[:, 0::2, 0::2], whole[:, 0::2, 1::2]
        c, d = whole[:, 1::2, 0::2], whole[:, 1::2, 1::2]
        for band in ((a - b + c - d) / 2, (a + b - c - d) / 2, (a - b - c + d) / 2):
            spread = band.square().mean((1, 2)).sqrt()
            yield (spread + _FAINT).log()
            yield (band.abs().mean((1, 2)) + _FAINT) / (spread + _FAINT)
        plane = (a + b + c + d) / 4


def _edges(light: Tensor) -> Iterator[Tensor]:
    """How much neighbours differ: flat areas, textures and contours."""
    across, down = light.diff(dim=2).flatten(1), light.diff(dim=1).flatten(1)
    steps = torch.cat([across, down], dim=1).abs()
    for value in _quantiles(steps[:, None], (0.1, 0.25, 0.5, 0.75, 0.9, 0.97)):
        yield (value + 1 / 255).log()


def _grain(detail: Tensor) -> Iterator[Tensor]:
    """How strong the finest detail is from place to place, and how it goes on."""
    local = avg_pool2d(detail.square()[:, None], _BLOCK)[:, 0].sqrt()
    for value in _quantiles(local, (0.05, 0.25, 0.5, 0.75, 0.95)):
        yield (value + _FAINT).log()
    size = detail.abs()
    yield _correlation(detail[:, :, 1:], detail[:, :, :-1])
    yield _correlation(detail[:, 1:], detail[:, :-1])
    yield _correlation(detail[:, 1:, 1:], detail[:, :-1, :-1])
    yield _correlation(detail[:, 1:, :-1], detail[:, :-1, 1:])
    for apart in (1, 4):
        yield _correlation(size[:, :, apart:], size[:, :, :-apart])
        yield _correlation(size[:, apart:], size[:, :-apart])


def _relations(images: Tensor, planes: Sequence[Tensor]) -> Iterator[Tensor]:
    """Whether colours have their details in the same places."""
    red, green, blue = (_detail(plane) for plane in images.unbind(1))
    yield from (_correlation(red, green), _correlation(green, blue), _correlation(red, blue))
    light, first, second = (_detail(plane).abs() for plane in planes)
    yield from (_correlation(light, first), _correlation(light, second))
    yield _correlation(first, second)


def _spectrum(light: Tensor) -> Iterator[Tensor]:
    """Power by frequency, in rings; the borders are faded out."""
    height, width = light.shape[1:]
    fade = torch.hann_window(height, dtype=light.dtype)[:, None]
    fade = fade * torch.hann_window(width, dtype=light.dtype)
    power = torch.fft.rfft2((light - light.mean((1, 2), keepdim=True)) * fade).abs().square()
    frequency = torch.fft.fftfreq(height)[:, None].hypot(torch.fft.rfftfreq(width)[None])
    for low, high in pairwise(_RINGS):
        ring = (frequency >= low) & (frequency < high)
        if ring.any():  # tiny images have no low frequencies
            # power grows with the number of pixels
            yield (power[:, ring].mean(1) / (height * width) + _FAINT**2).log()


def _detail(plane: Tensor) -> Tensor:
    """What a pixel has beyond the mean of its four neighbours."""
    beside = plane[:, 1:-1, :-2] + plane[:, 1:-1, 2:]
    above = plane[:, :-2, 1:-1] + plane[:, 2:, 1:-1]
    return plane[:, 1:-1, 1:-1] - (beside + above) / 4


def _quantiles(plane: Tensor, shares: Sequence[float]) -> Tensor:
    # numpy's partition is several times as fast as torch's sorting
    found = np.quantile(plane.flatten(1).numpy(), shares, axis=1)
    return torch.from_numpy(found.astype(np.float32))


def _correlation(first: Tensor, second: Tensor) -> Tensor:
    """Pearson's, of each image; near 1 where nothing varies."""
    one, other = first.flatten(1), second.flatten(1)
    one, other = one - one.mean(1, keepdim=True), other - other.mean(1, keepdim=True)
    spreads = (one.square().mean(1) * other.square().mean(1)).sqrt()
    nothing = 1e-8
    return ((one * other).mean(1) + nothing) / (spreads + nothing)
