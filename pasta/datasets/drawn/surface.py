"""Colours, textures and light, which give flat polygons volume.

All of it is computed at the finished picture's resolution and enlarged by Pillow, because the
canvas is reduced again in the end and finer detail would be averaged away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from pasta.datasets.drawn.canvas import SUPERSAMPLING, Canvas, Coat, Colour, Rng, shade

T = TypeVar("T")


def palette(text: str) -> tuple[Colour, ...]:
    """Read colours in hexadecimal notation, e.g. ``"c63a32 3468b0"``."""
    return tuple((one[0], one[1], one[2]) for one in map(bytes.fromhex, text.split()))


# Natural and painted things alike come in these colours.
SHARED = palette("3e3c40 807e82 e2dcd0 7a543c ce9254 b25c3a 767f8d b09c80")
BRIGHT = palette("c63a32 3468b0 eeba3e 4a9460 e88038 865294 40a4ac e0e0dc")


def smooth_noise(rng: Rng, pixels: int, cells: int) -> NDArray[np.float32]:
    """Return smooth value noise between 0 and 1: a coarse random grid, enlarged."""
    coarse = Image.fromarray(rng.random((cells + 1, cells + 1), dtype=np.float32))
    wide = coarse.resize((pixels, pixels), Image.Resampling.BICUBIC)
    return np.clip(np.asarray(wide, dtype=np.float32), 0.0, 1.0)


def mottle(rng: Rng, pixels: int, contrast: float, cells: int, grain: float) -> NDArray[np.uint8]:
    """Return how light each pixel of the finished picture is; 128 is the colour itself."""
    fine = max(1, pixels // SUPERSAMPLING)
    # a generator of its own, so that what is drawn next does not depend on the picture's size
    dust = np.random.default_rng(int(rng.integers(2**32)))
    speckle = dust.random((fine, fine), dtype=np.float32) - 0.5
    factor = 0.5 + contrast * (smooth_noise(rng, fine, cells) - 0.5) + 1.7 * grain * speckle
    levels: NDArray[np.uint8] = np.clip(factor * 255, 0, 255).astype(np.uint8)
    return levels


def dye(levels: NDArray[np.uint8], pixels: int, colour: Colour, factor: float) -> Image.Image:
    """Colour a mottled plane, lighter or darker, as large as the canvas."""
    # a palette is far cheaper than arithmetic on three planes
    ramp = np.arange(256, dtype=np.float32)[:, None] * (np.array(colour) * factor / 127.5)
    plane = Image.fromarray(levels).resize((pixels, pixels), Image.Resampling.NEAREST)
    plane.putpalette(np.minimum(ramp, 255).astype(np.uint8).tobytes())
    return plane.convert("RGB")


def texture(
    rng: Rng,
    pixels: int,
    colour: Colour,
    *,
    contrast: float = 0.15,
    cells: int = 12,
    grain: float = 0.03,
) -> Image.Image:
    """Make a square of one colour, mottled by ``contrast`` and speckled by ``grain``."""
    return dye(mottle(rng, pixels, contrast, cells, grain), pixels, colour, 1.0)


def light(canvas: Canvas, rng: Rng) -> None:
    """Light the finished drawing: a soft slope, a vignette, a warm or cold tone, sensor noise."""
    size = canvas.size
    angle, slope = rng.uniform(0, 2 * math.pi), rng.uniform(0.04, 0.16)
    dusk, exposure = rng.uniform(0.05, 0.2), rng.uniform(1.08, 1.25)
    axis = np.linspace(-1, 1, size, dtype=np.float32)
    lateral, vertical = axis[None, :], axis[:, None]
    gain = 1 - slope - dusk * 0.5 * (lateral**2 + vertical**2) ** 1.5 / 2
    gain = gain + slope * (math.cos(angle) * lateral + math.sin(angle) * vertical)
    gain = gain + 0.035 * (rng.random((size, size), dtype=np.float32) - 0.5)
    warmth = rng.uniform(-0.05, 0.05)
    tone = np.array([1 + warmth, 1, 1 - warmth], dtype=np.float32) / (1 + abs(warmth))
    planes = np.clip(gain[:, :, None] * (255 * tone), 0, 255).astype(np.uint8)
    lamp = Image.fromarray(planes).resize(canvas.colours.size, Image.Resampling.NEAREST)
    lit = ImageChops.multiply(canvas.colours, lamp)
    brighter = np.clip(np.arange(256) * exposure, 0, 255).astype(np.uint8).tolist()
    canvas.colours.paste(lit.point(brighter * 3))  # in place: the canvas keeps drawing on it


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Mix two colours; ``share`` is that of the second."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def random_colour(rng: Rng, colours: Sequence[Colour], *, spread: int = 14) -> Colour:
    """Pick from a palette and vary it a little, lightness more than hue."""
    chosen = np.array(choose(rng, colours))
    varied = chosen + rng.integers(-spread, spread + 1) + rng.integers(-spread // 2, spread // 2, 3)
    red, green, blue = np.clip(varied, 12, 248).tolist()
    return red, green, blue


def choose(rng: Rng, options: Sequence[T]) -> T:
    """Choose one of several options."""
    return options[int(rng.integers(len(options)))]


def chance(rng: Rng, probability: float) -> bool:
    """Return True with a probability."""
    return bool(rng.random() < probability)


def coat(
    canvas: Canvas,
    rng: Rng,
    colour: Colour,
    *,
    contrast: float = 0.18,
    cells: int = 34,
    grain: float = 0.06,
) -> Coat:
    """Make a textured coat; fur by default, smoother with less contrast and grain."""
    levels = mottle(rng, canvas.pixels, contrast, cells, grain)
    lit, plain, dim = (dye(levels, canvas.pixels, colour, factor) for factor in (1.16, 1.0, 0.74))
    return Coat(colour, lit, plain, dim)


def varnish(canvas: Canvas, rng: Rng, colour: Colour) -> Coat:
    """Make a coat of smooth paint."""
    return coat(canvas, rng, colour, contrast=0.12, cells=6, grain=0.03)


def darken(colour: Colour) -> Colour:
    """Return the colour of stripes, seams and shaded edges."""
    return shade(colour, 0.6)
