"""What all painters of objects share: solid-looking shapes, shadows, and how a picture is staged.

Painters draw an object standing on the ground: x to the right around 0, y *up* from 0, the longer
side about 1. The stage turns, scales and places it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image

from pasta.datasets.drawn.backgrounds import backdrop, foreground
from pasta.datasets.drawn.canvas import Affine, Canvas, Colour, Points, ellipse, pose, shade
from pasta.datasets.drawn.surface import chance, dyed, light, mottle

Painter = Callable[[Canvas, np.random.Generator, Colour], None]
INK: Colour = (28, 26, 28)
WHITE: Colour = (255, 255, 255)


@dataclass(frozen=True)
class Coat:
    """Fur, paint or cloth of one colour: in the light, as it is, and in the shade."""

    colour: Colour
    lit: Image.Image
    plain: Image.Image
    dim: Image.Image


def coat(
    canvas: Canvas,
    rng: np.random.Generator,
    colour: Colour,
    *,
    contrast: float = 0.18,
    cells: int = 34,
    grain: float = 0.06,
) -> Coat:
    """Weave a textured coat; fur by default, smoother with less contrast and grain."""
    levels = mottle(rng, canvas.pixels, contrast, cells, grain)
    lit, plain, dim = (dyed(levels, canvas.pixels, colour, factor) for factor in (1.16, 1.0, 0.74))
    return Coat(colour, lit, plain, dim)


def varnish(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> Coat:
    """A coat of smooth paint."""
    return coat(canvas, rng, colour, contrast=0.12, cells=6, grain=0.03)


def towards(outline: ArrayLike, share: float, up: float) -> Points:
    """Shrink an outline and push it up inside itself, where the light falls."""
    points = np.asarray(outline, dtype=np.float64)
    low, high = points.min(0), points.max(0)
    middle = (low + high) / 2
    lifted = middle + (0, up * (1 - share) * (high[1] - low[1]) / 2)
    shrunk: Points = lifted + (points - middle) * share
    return shrunk


def solid(canvas: Canvas, outline: ArrayLike, paint: Coat, concept: str | int | None) -> None:
    """Fill a convex shape so that it looks round: dim below, plain in the middle, lit on top."""
    canvas.fill(outline, paint.dim, concept)
    canvas.decorate(towards(outline, 0.88, 0.8), paint.plain)
    canvas.decorate(towards(outline, 0.58, 0.7), paint.lit)


def far(canvas: Canvas, outline: ArrayLike, paint: Coat, concept: str | int | None) -> None:
    """Fill a shape on the shadow side."""
    canvas.fill(outline, paint.dim, concept)
    canvas.tint(outline, INK, 0.18)


def curve(points: Sequence[tuple[float, float]], steps: int = 14) -> Points:
    """A Bezier curve through the first and last of its control points."""
    along = np.linspace(0, 1, steps)[:, None]
    degree = len(points) - 1
    total: Points = np.zeros((steps, 2))
    for order, point in enumerate(points):
        weight = math.comb(degree, order) * along**order * (1 - along) ** (degree - order)
        total = total + weight * point
    return total


def ribbon(path: Points, width0: float, width1: float) -> Points:
    """A band along a path that tapers from one width to the other: a tail, a horn, a trunk."""
    heading = np.gradient(path, axis=0)
    across = np.stack([-heading[:, 1], heading[:, 0]], 1)
    across /= np.linalg.norm(across, axis=1, keepdims=True) + 1e-9
    across *= np.linspace(width0, width1, len(path))[:, None] / 2
    return np.concatenate([path + across, (path - across)[::-1]])


def mirrored(outline: ArrayLike) -> Points:
    """The outline seen in a mirror at x = 0."""
    return np.asarray(outline, dtype=np.float64) * (-1, 1)


def shadow(canvas: Canvas, width: float, x: float = 0.0) -> None:
    """The shadow an object casts on the ground: soft, so two ellipses."""
    for spread, strength in ((1.15, 0.2), (0.9, 0.3)):
        canvas.tint(ellipse(x + 0.03, 0.0, width / 2 * spread, 0.055 * spread), INK, strength)


def gloss(canvas: Canvas, outline: ArrayLike, strength: float = 0.25) -> None:
    """Light reflected by glass, metal or a wet nose."""
    canvas.tint(outline, WHITE, strength)


def darker(colour: Colour) -> Colour:
    """The colour of stripes, seams and shaded edges."""
    return shade(colour, 0.6)


def standing(rng: np.random.Generator) -> Affine:
    """Where and how an object stands; the same distribution whatever the object is."""
    scale = rng.uniform(0.7, 0.89)
    base = max(rng.uniform(0.76, 0.93), scale + 0.06)
    place = pose(
        0.5 + rng.uniform(-1, 1) * (0.96 - scale) / 2,
        base,
        scale,
        angle=rng.uniform(-0.07, 0.07),
        flip=chance(rng, 0.5),
        stretch=rng.uniform(0.88, 1.0),
    )
    return place * (1, -1, 1)  # painters have y up


def perform(canvas: Canvas, rng: np.random.Generator, painter: Painter, colour: Colour) -> None:
    """Draw background, object, foreground and light, each from a stream of random numbers of its
    own, so that nothing but the object can depend on the class."""
    behind, place, thing, front, lamp = rng.spawn(5)
    backdrop(canvas, behind)
    with canvas.placed(standing(place)):
        painter(canvas, thing, colour)
    foreground(canvas, front)
    light(canvas, lamp)
