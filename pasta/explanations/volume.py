"""Volumes as a modality: supervoxels, imputation of removed voxels, blur, and projections.

Volumes are tensors (n, channels, depth, height, width). What is done to them is what
:mod:`pasta.explanations.image` does to images, with a third axis: a volume of depth 1 gives the
image's result.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.sparse import csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import cg
from skimage.segmentation import slic
from torch import Tensor
from torch.nn.functional import conv1d, interpolate, pad

from pasta.compute import to_numpy
from pasta.explanations.modality import MODALITIES, Modality
from pasta.explanations.rendering import PAPER, SIZE, overlay
from pasta.explanations.spatial import grid_labels, shift_content
from pasta.models.data import as_tensor

Floats = NDArray[np.float64]
_SMOOTHING = (0, 1, 2)  # standard deviations in voxels, before supervoxels are looked for
_PRECISE = 1e-7  # of imputed values, against their size
GAP = 4  # pixels between the pictures of a volume


def resize_maps(
    maps: Tensor, size: tuple[int, ...], mode: Literal["trilinear", "nearest"] = "trilinear"
) -> Tensor:
    """Maps (n, d, h, w) at another size, by trilinear interpolation or from the nearest cell."""
    aligned = False if mode == "trilinear" else None
    return interpolate(maps[:, None], size, mode=mode, align_corners=aligned)[:, 0]


def segment_volume(volume: Tensor, _segmenter: str = "slic", segments: int = 50) -> Tensor:
    """Labels (depth, height, width) 0, 1, ... of about ``segments`` supervoxels, without gaps.

    SLIC in three dimensions (doi:10.1109/TPAMI.2012.120) is the only segmenter, whatever is asked
    for. A constant volume is cut into blocks.
    """
    voxels = to_numpy(volume.nan_to_num().movedim(0, -1).cpu().double().contiguous())
    found: NDArray[np.int64] = np.zeros(voxels.shape[:-1], np.int64)
    for smoothing in _SMOOTHING:  # noise tears supervoxels to pieces, which are merged
        tried = slic(voxels, segments, compactness=0.1, sigma=smoothing, start_label=0)
        if len(np.unique(tried)) > len(np.unique(found)):
            found = tried
        if 2 * len(np.unique(found)) >= segments:
            break
    _, labels = np.unique(found, return_inverse=True)
    return torch.from_numpy(labels.reshape(found.shape).astype(np.int64)).to(volume.device)


def impute_voxels(volumes: Tensor, removed: Tensor) -> Tensor:
    """Volumes whose removed voxels are interpolated linearly from the others.

    Each removed voxel becomes the weighted mean of its neighbours, all at once. A neighbour at a
    side weighs twice as much as one at an edge and four times as much as one at a corner, as in
    ROAD for images (doi:10.48550/arXiv.2202.00449), whose weights are those in a single slice.

    Parameters
    ----------
    volumes
        Shape (n, channels, depth, height, width).
    removed
        Shape (n, depth, height, width), true where a voxel is removed. Where all voxels are removed
        they become the volume's mean.
    """
    copies = np.array(to_numpy(volumes), dtype=np.float64, order="C")
    for volume, holes in zip(copies, to_numpy(removed), strict=True):
        _fill(volume, holes)
    return torch.from_numpy(copies).to(volumes.dtype).to(volumes.device)


def _fill(volume: Floats, removed: NDArray[np.bool_]) -> None:
    if removed.all():
        volume[:] = volume.mean((1, 2, 3), keepdims=True)
    elif removed.any():
        holes, flat = removed.ravel(), volume.reshape(len(volume), -1)
        rows = _weights(*removed.shape)[holes]
        matrix = diags_array(rows.sum(1)) - rows[:, holes]
        known = rows[:, ~holes] @ flat[:, ~holes].T
        # Positive definite: conjugate gradients need few steps, factors of it much memory.
        scale = diags_array(1 / rows.sum(1))
        solved = [cg(matrix, side, rtol=_PRECISE, M=scale)[0] for side in known.T]
        flat[:, holes] = np.stack(solved)


@lru_cache(maxsize=4)
def _weights(*size: int) -> Any:
    """The weight (voxels, voxels) of each voxel in the mean of another one."""
    total: Any = 0
    for steps in product((False, True), repeat=len(size)):
        if any(steps):
            each: Any = eye_array(1)
            for moved, length in zip(steps, size, strict=True):
                beside = diags_array([1.0, 1.0], offsets=[-1, 1], shape=(length, length))
                each = kron(each, beside if moved else eye_array(length))
            total = total + each / 2 ** (sum(steps) - 1) / 6
    return csr_array(total)


def blur_volume(volume: Tensor, deviation: float, kernel: int = 11) -> Tensor:
    """Blur a volume (channels, ...): a Gaussian kernel of so many voxels, less along short axes."""
    blurred = volume
    for axis, length in enumerate(volume.shape[1:], start=1):
        half = min(kernel // 2, length - 1)
        places = torch.arange(-half, half + 1, dtype=volume.dtype, device=volume.device)
        weights = torch.softmax(-(places**2) / (2 * deviation**2), 0)
        lines = blurred.movedim(axis, -1)
        wide = pad(lines.reshape(-1, 1, length), (half, half), mode="reflect")
        blurred = conv1d(wide, weights[None, None]).reshape(lines.shape).movedim(-1, axis)
    return blurred


def render_volume(
    voxels: NDArray[Any], shown: NDArray[Any], signed: bool, size: int = SIZE
) -> NDArray[np.uint8]:
    """Draw a volume and its map in six pictures: seen from three sides, and cut in three slices.

    The upper row shows the brightest voxel and the strongest value behind each pixel (maximum
    intensity projections) from the front, from above and from the left; the lower row the slices
    through the place where the map is strongest, or through the middle.

    Parameters
    ----------
    voxels
        Stored values (depth, height, width, channels), bytes.
    shown
        The map (depth, height, width) as people see it, from -1 or 0 to 1.
    signed
        Whether negative values have a meaning.
    size
        Side of each picture in pixels.
    """
    grey = np.asarray(voxels, np.float64).mean(-1)
    strength = np.abs(np.nan_to_num(shown))
    middle = np.array(grey.shape) // 2
    strongest = np.unravel_index(strength.argmax(), grey.shape) if strength.any() else middle
    pictures: list[list[NDArray[np.uint8]]] = [[], []]
    for axis in range(3):
        front = np.take_along_axis(shown, strength.argmax(axis, keepdims=True), axis).squeeze(axis)
        cut = int(strongest[axis])
        views = ((grey.max(axis), front), (grey.take(cut, axis), shown.take(cut, axis)))
        for row, (plain, values) in zip(pictures, views, strict=True):
            image = plain.astype(np.uint8)[..., None].repeat(3, -1)
            row.append(overlay(image, values, signed, size, note=False))
    wide = 3 * size + 2 * GAP
    canvas = Image.new("RGB", (wide, 2 * size + GAP), PAPER)
    for down, row in enumerate(pictures):
        for across, picture in enumerate(row):
            canvas.paste(Image.fromarray(picture), (across * (size + GAP), down * (size + GAP)))
    return np.asarray(canvas)


VOLUME = MODALITIES.register("volume")(
    Modality(
        "volume",
        axes=("depth", "height", "width"),
        channels=None,
        load=as_tensor,
        resize=resize_maps,
        segment=segment_volume,
        split=grid_labels,
        shift=shift_content,
        remove=impute_voxels,
        blur=blur_volume,
        render=render_volume,
    )
)
