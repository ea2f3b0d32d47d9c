"""The control: what draws the eye in an image, whatever the model (Itti, Koch & Niebur 1998).

Intensity, colour opponency and orientation (Gabor filters) at several scales; centre minus
surround; each map is normalised so that a few strong peaks count for more than many equal ones; the
three channels are averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, maximum_filter
from scipy.signal import fftconvolve
from skimage.filters import gabor_kernel

Plane = NDArray[np.float64]
CENTRES, DELTAS = (1, 2), (2, 3)  # levels of the pyramid: every centre with its surrounds
ANGLES = (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4)
FREQUENCY = 0.2  # of the Gabor filters, in cycles a pixel of a level
_TINY = 1e-9


def bottom_up(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Saliency of images (n, h, w, 3) as maps (n, h, w) from 0 to 1."""
    return np.stack([_saliency(image / 255.0) for image in pixels]).astype(np.float32)


def _saliency(image: Plane) -> Plane:
    red, green, blue = np.moveaxis(image, -1, 0)
    light = image.mean(-1)
    # hue is seen where there is light
    there = np.where(light > 0.1 * light.max(initial=_TINY), 1 / np.maximum(light, _TINY), 0)
    r, g, b = red * there, green * there, blue * there
    tuned = (
        np.maximum(r - (g + b) / 2, 0),
        np.maximum(g - (r + b) / 2, 0),
        np.maximum(b - (r + g) / 2, 0),
        np.maximum((r + g) / 2 - np.abs(r - g) / 2 - b, 0),
    )
    features = {
        "intensity": [light],
        "colour": [tuned[0] - tuned[1], tuned[2] - tuned[3]],
        "orientation": [_oriented(light, angle) for angle in ANGLES],
    }
    channels = [
        _normalised(np.sum([_centre_surround(one) for one in planes], axis=0))
        for planes in features.values()
    ]
    whole = np.mean(channels, axis=0)
    low, high = float(whole.min()), float(whole.max())
    return (whole - low) / (high - low) if high > low else np.zeros_like(whole)


def _oriented(light: Plane, angle: float) -> Plane:
    """Energy of a pair of Gabor filters."""
    kernel = gabor_kernel(FREQUENCY, theta=angle, sigma_x=2, sigma_y=2)  # type: ignore[no-untyped-call]
    margin = max(kernel.shape) // 2
    padded = np.pad(light, margin, mode="reflect")
    flat = kernel.real - kernel.real.mean()  # an even surface has no orientation
    real = fftconvolve(padded, flat, mode="same")
    odd = fftconvolve(padded, kernel.imag, mode="same")
    energy = np.hypot(real, odd)
    return np.asarray(energy[margin:-margin, margin:-margin], np.float64)


def _centre_surround(plane: Plane) -> Plane:
    """Differences between fine and coarse scales, all of the image's size."""
    blurred = {level: gaussian_filter(plane, 2.0**level / 2) for level in range(max(CENTRES) + 4)}
    parts = [
        _normalised(np.abs(blurred[centre] - blurred[centre + delta]))
        for centre in CENTRES
        for delta in DELTAS
    ]
    return np.asarray(np.sum(parts, axis=0), np.float64)


def _normalised(plane: Plane) -> Plane:
    """Scale to 1 and multiply by (1 - mean of the local maxima)^2."""
    low, high = float(plane.min()), float(plane.max())
    if high - low < _TINY:
        return np.zeros_like(plane)
    scaled = (plane - low) / (high - low)
    size = max(3, plane.shape[0] // 8)
    peaks = scaled[(scaled == maximum_filter(scaled, size)) & (scaled > 0.05) & (scaled < 1)]
    return np.asarray(scaled * (1 - (peaks.mean() if len(peaks) else 0)) ** 2, np.float64)
