"""Images as a modality: superpixels, imputation of removed pixels, blur, enlarging and overlays.

Noisy linear imputation is the perturbation of ROAD (doi:10.48550/arXiv.2202.00449). Each removed
pixel becomes the weighted mean of its eight neighbours (weight 1/6 for those beside it, 1/12 for
those at its corners; neighbours outside the image do not count), all removed pixels at once: a
linear system with one unknown per removed pixel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import splu
from skimage.segmentation import quickshift, slic
from torch import Tensor
from torch.nn.functional import conv2d, interpolate, pad

from pasta.compute import to_numpy
from pasta.explanations.modality import MODALITIES, Modality
from pasta.explanations.perturbations import PERTURBATIONS
from pasta.explanations.rendering import overlay
from pasta.explanations.spatial import grid_labels, shift_content
from pasta.models.data import as_tensor

Floats = NDArray[np.float64]
Segmenter = Literal["quickshift", "slic"]
_SMOOTHING = (0, 1, 2, 4)  # standard deviations in pixels, before superpixels are looked for
_KERNEL = 11  # side of the blurring kernel of the papers on insertion


def resize_maps(maps: Tensor, size: tuple[int, ...]) -> Tensor:
    """Maps (n, h, w) at another size, by bilinear interpolation."""
    return interpolate(maps[:, None], size, mode="bilinear", align_corners=False)[:, 0]


def segment(image: Tensor, segmenter: Segmenter = "slic", segments: int = 50) -> Tensor:
    """Labels (height, width) 0, 1, ... of an image (channels, height, width), without gaps.

    ``quickshift`` (doi:10.1007/978-3-540-88693-8_52) with the settings of the ``lime`` package
    chooses the number of superpixels itself; ``slic`` (doi:10.1109/TPAMI.2012.120) makes about
    ``segments``. The same image has the same superpixels each time.
    """
    # What is not a number would be an error here; scores say what is the matter with the image.
    pixels = to_numpy(image.nan_to_num().permute(1, 2, 0).cpu().double().contiguous())
    if segmenter == "quickshift":
        settings = {"kernel_size": 4, "max_dist": 200, "ratio": 0.2, "rng": 0}
        settings["convert2lab"] = pixels.shape[-1] == 3  # there are colours
        found = quickshift(pixels, **settings)  # type: ignore[no-untyped-call]
    else:
        found = _slic(pixels, segments)
    _, labels = np.unique(found, return_inverse=True)
    return torch.from_numpy(labels.reshape(found.shape).astype(np.int64)).to(image.device)


def _slic(pixels: NDArray[np.float64], segments: int) -> NDArray[np.int64]:
    """Noise tears superpixels to pieces, and the pieces are merged, often into a single superpixel.
    If there are less than half as many as asked for, the image is smoothed before."""
    tries: list[NDArray[np.int64]] = []
    for smoothing in _SMOOTHING:
        tries.append(slic(pixels, segments, compactness=10, sigma=smoothing, start_label=0))
        if 2 * len(np.unique(tries[-1])) >= segments:
            return tries[-1]
    return max(tries, key=lambda labels: len(np.unique(labels)))


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
    copies = np.array(to_numpy(images), dtype=np.float64, order="C")
    pairs = zip(copies, to_numpy(removed), strict=True)
    solved = np.stack([_solve(*pair) for pair in pairs])
    return torch.from_numpy(solved).to(images.dtype).to(images.device)


def _solve(image: Floats, removed: NDArray[np.bool_]) -> Floats:
    """The image itself, changed."""
    if removed.all():
        return np.broadcast_to(image.mean((1, 2), keepdims=True), image.shape)
    if removed.any():
        holes = removed.ravel()
        flat = image.reshape(len(image), -1)
        rows = _weights(*removed.shape)[holes]
        matrix = diags_array(rows.sum(1)) - rows[:, holes]
        # The matrix is symmetric and its diagonal the largest: no pivoting is needed.
        factors = splu(matrix.tocsc(), "MMD_AT_PLUS_A", 0.0, options={"SymmetricMode": True})
        flat[:, holes] = factors.solve(rows[:, ~holes] @ flat[:, ~holes].T).T
    return image


@lru_cache(maxsize=4)
def _weights(height: int, width: int) -> Any:
    """The weight (pixels, pixels) of each pixel in the mean of another one."""
    down, across = (diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)) for n in (height, width))
    beside = kron(eye_array(height), across) + kron(down, eye_array(width))
    return csr_array(beside / 6 + kron(down, across) / 12)


def blur_image(image: Tensor, deviation: float, kernel: int = _KERNEL) -> Tensor:
    """Blur an image: a Gaussian kernel of 11 x 11 pixels or another odd side, less in tiny
    images."""
    half = min(kernel // 2, min(image.shape[1:]) - 1)
    places = torch.arange(-half, half + 1, dtype=image.dtype, device=image.device)
    weights = torch.softmax(-(places**2) / (2 * deviation**2), 0)
    wide = pad(image[:, None], (half, half, half, half), mode="reflect")
    down = conv2d(wide, weights[None, None, :, None])
    return conv2d(down, weights[None, None, None])[:, 0]


IMAGE = MODALITIES.register("image")(
    Modality(
        "image",
        axes=("height", "width"),
        channels=3,
        load=as_tensor,
        resize=resize_maps,
        segment=segment,
        split=grid_labels,
        shift=shift_content,
        perturb=PERTURBATIONS,
        remove=impute,
        blur=blur_image,
        render=overlay,
    )
)
