"""A supersampled canvas with two planes: what is seen, and which instance of which concept it is.

Everything is a polygon in unit coordinates, moved by the current transform (pose), filled on the
colour plane and, when it belongs to a concept, drawn with the same outline on the instance plane.
Whatever is drawn later covers both planes alike, so masks are exact and occlusion-aware.

Textures and light are computed at the finished picture's resolution and enlarged by Pillow: the
canvas is reduced in the end, and finer detail would be averaged away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageChops, ImageDraw

from pasta.datasets.records import Box, Region
from pasta.datasets.vocabulary import Vocabulary

Colour = tuple[int, int, int]
Points = NDArray[np.float64]  # (n, 2), x to the right, y down
Affine = NDArray[np.float64]  # (2, 3)
Pixels = list[tuple[float, float]]
Paint = Colour | Image.Image
Rng = np.random.Generator
Part = str | int | None  # a concept (a new instance), an instance, or nothing

INK: Colour = (28, 26, 28)
WHITE: Colour = (255, 255, 255)
SUPERSAMPLING = 3
NOTHING = 0  # on the instance plane
DECORATION = -1  # leaves the instance plane alone
_CIRCLE = np.stack(
    [np.cos(np.linspace(0, 2 * np.pi, 29)[:-1]), np.sin(np.linspace(0, 2 * np.pi, 29)[:-1])], 1
)


def pose(
    x: float = 0.0,
    y: float = 0.0,
    scale: float = 1.0,
    *,
    angle: float = 0.0,
    flip: bool = False,
    stretch: float = 1.0,
) -> Affine:
    """Map an object's own coordinates into the picture: flip, stretch in x, turn, scale, move."""
    c, s = scale * math.cos(angle), scale * math.sin(angle)
    wide = -stretch if flip else stretch
    return np.array([[c * wide, -s, x], [s * wide, c, y]])


def parallelogram(corner: Points, along: Points, up: Points) -> Affine:
    """Map the unit square onto a parallelogram."""
    return np.column_stack([along, up, corner])


def polygon(corners: ArrayLike) -> Points:
    """Return corners as an array; text lists them as SVG does, e.g. ``"0,0 1,0 0.5,1"``."""
    return _parse(corners) if isinstance(corners, str) else np.asarray(corners, dtype=np.float64)


@cache
def _parse(text: str) -> Points:
    corners = np.array([[float(number) for number in pair.split(",")] for pair in text.split()])
    corners.flags.writeable = False  # it is shared by all who draw it
    return corners


def complete(half: ArrayLike) -> Points:
    """Complete the right half of an outline, from one end of the axis to the other."""
    points = polygon(half)
    return np.concatenate([points, mirror(points)[::-1]])


def shrink(outline: ArrayLike, share: float) -> Points:
    """Shrink an outline towards the mean of its corners."""
    points = polygon(outline)
    middle = points.mean(0)
    inner: Points = middle + (points - middle) * share
    return inner


def ellipse(
    x: float, y: float, rx: float, ry: float | None = None, *, angle: float = 0.0
) -> Points:
    """Return the outline of an ellipse."""
    points = _CIRCLE * (rx, rx if ry is None else ry)
    c, s = math.cos(angle), math.sin(angle)
    turned: Points = points @ np.array([[c, s], [-s, c]]) + (x, y)
    return turned


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Points:
    """Return the outline of a rectangle."""
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def limb(
    x0: float, y0: float, x1: float, y1: float, width0: float, width1: float | None = None
) -> Points:
    """Return the outline of a tapered, round-ended stroke: a leg, an arm, a branch."""
    radius0, radius1 = width0 / 2, (width0 if width1 is None else width1) / 2
    heading = math.atan2(y1 - y0, x1 - x0)
    turns = np.linspace(-np.pi / 2, np.pi / 2, 7)
    end = np.stack([np.cos(heading + turns), np.sin(heading + turns)], 1) * radius1 + (x1, y1)
    turns = turns + np.pi
    start = np.stack([np.cos(heading + turns), np.sin(heading + turns)], 1) * radius0 + (x0, y0)
    return np.concatenate([end, start])


def smooth(points: ArrayLike, rounds: int = 2) -> Points:
    """Cut corners after Chaikin: a few corners become a soft closed outline."""
    outline = polygon(points)
    for _ in range(rounds):
        following = np.roll(outline, -1, 0)
        outline = np.stack(
            [0.75 * outline + 0.25 * following, 0.25 * outline + 0.75 * following], 1
        ).reshape(-1, 2)
    return outline


def curve(control: ArrayLike, steps: int = 14) -> Points:
    """Return a Bezier curve from the first to the last of its control points."""
    points = polygon(control)
    along = np.linspace(0, 1, steps)[:, None]
    degree = len(points) - 1
    total: Points = np.zeros((steps, 2))
    for order, point in enumerate(points):
        weight = math.comb(degree, order) * along**order * (1 - along) ** (degree - order)
        total = total + weight * point
    return total


def ribbon(path: Points, width0: float, width1: float) -> Points:
    """Return a band along a path that tapers from one width to the other, e.g. a tail."""
    heading = np.gradient(path, axis=0)
    across = np.stack([-heading[:, 1], heading[:, 0]], 1)
    across /= np.linalg.norm(across, axis=1, keepdims=True) + 1e-9
    across *= np.linspace(width0, width1, len(path))[:, None] / 2
    return np.concatenate([path + across, (path - across)[::-1]])


def mirror(outline: ArrayLike) -> Points:
    """Mirror an outline at x = 0."""
    return polygon(outline) * (-1, 1)


def shade(colour: Colour, factor: float) -> Colour:
    """Lighten (> 1) or darken (< 1) a colour."""
    red, green, blue = colour  # one by one: a picture needs this hundreds of times
    return (
        max(0, min(255, round(red * factor))),
        max(0, min(255, round(green * factor))),
        max(0, min(255, round(blue * factor))),
    )


@dataclass(frozen=True)
class Coat:
    """Fur, paint or cloth of one colour: in the light, as it is, and in the shade."""

    colour: Colour
    lit: Image.Image
    plain: Image.Image
    dim: Image.Image


class Canvas:
    """The picture being drawn. Coordinates run from 0 to 1 over the picture, whatever its size."""

    def __init__(self, size: int, vocabulary: Vocabulary) -> None:
        self.size = size
        self.pixels = size * SUPERSAMPLING
        self.vocabulary = vocabulary
        self.colours = Image.new("RGB", (self.pixels, self.pixels), (127, 127, 127))
        self.instances = Image.new("L", (self.pixels, self.pixels), NOTHING)
        self.concepts: list[str] = []  # of instance 1, 2, ...
        self._draw = ImageDraw.Draw(self.colours)
        self._draw_instances = ImageDraw.Draw(self.instances)
        self._enter(pose())

    @contextmanager
    def placed(self, transform: Affine) -> Iterator[None]:
        """Draw inside another coordinate system; nested ones compose."""
        before = self._transform
        linear = before[:, :2] @ transform[:, :2]
        offset = before[:, :2] @ transform[:, 2] + before[:, 2]
        self._enter(np.column_stack([linear, offset]))
        try:
            yield
        finally:
            self._enter(before)

    def _enter(self, transform: Affine) -> None:
        """Change the coordinate system, and what every shape needs of it."""
        self._transform = transform
        self._linear, self._offset = transform[:, :2].T, transform[:, 2]
        determinant = float(np.linalg.det(transform[:, :2]))
        self._unit = math.sqrt(abs(determinant)) * self.pixels  # pixels in a unit

    def instance(self, concept: str) -> int:
        """Start a new instance of a concept; pass it to several shapes that make up one thing."""
        self.vocabulary.value(concept)
        if len(self.concepts) == 255:
            raise ValueError("a drawing has at most 255 concept instances")
        self.concepts.append(concept)
        return len(self.concepts)

    def latest(self) -> int:
        """Return the instance that was started last, to go on drawing on it."""
        return len(self.concepts)

    def fill(self, outline: ArrayLike, colour: Paint, concept: Part = None) -> None:
        """Fill an outline with a colour or a full-size texture.

        What has no concept hides what lies behind it.
        """
        points = self.to_pixels(outline)
        self._cover(points, colour)
        self._draw_instances.polygon(points, fill=self._value(concept))

    def tint(self, outline: ArrayLike, colour: Colour, strength: float) -> None:
        """Blend a colour over the picture (shadow, light, glass); concepts stay as they are."""
        points = self.to_pixels(outline)
        self._paste(points, colour, strength)

    def stroke(
        self, points: ArrayLike, colour: Colour, width: float, concept: Part = DECORATION
    ) -> None:
        """Draw a line ``width`` wide (in the current units).

        Without ``concept`` it is decoration: the concepts below stay as they are.
        """
        pixels = max(1, round(width * self._unit))
        path = self.to_pixels(points)
        self._draw.line(path, fill=colour, width=pixels, joint="curve")
        if concept != DECORATION:
            self._draw_instances.line(path, fill=self._value(concept), width=pixels, joint="curve")

    def decorate(self, outline: ArrayLike, colour: Paint) -> None:
        """Fill on the colour plane only: a stripe, a highlight, a pupil inside a part."""
        self._cover(self.to_pixels(outline), colour)

    def mark(self, outline: ArrayLike, concept: Part) -> None:
        """Fill on the instance plane only: a see-through part such as a spoked wheel."""
        self._draw_instances.polygon(self.to_pixels(outline), fill=self._value(concept))

    def solid(self, outline: ArrayLike, paint: Coat, concept: Part) -> None:
        """Fill a convex shape so that it looks round: dim below, plain inside, lit on top."""
        self.fill(outline, paint.dim, concept)
        self.decorate(_lift(outline, 0.88, 0.8), paint.plain)
        self.decorate(_lift(outline, 0.58, 0.7), paint.lit)

    def far(self, outline: ArrayLike, paint: Coat, concept: Part) -> None:
        """Fill a shape on the shadow side."""
        self.fill(outline, paint.dim, concept)
        self.tint(outline, INK, 0.18)

    def shadow(self, width: float, x: float = 0.0) -> None:
        """Draw the soft shadow of an object that stands on the ground at y = 0."""
        for spread, strength in ((1.15, 0.2), (0.9, 0.3)):
            self.tint(ellipse(x + 0.03, 0.0, width / 2 * spread, 0.055 * spread), INK, strength)

    def gloss(self, outline: ArrayLike, strength: float) -> None:
        """Reflect light, as glass, metal or a wet nose does."""
        self.tint(outline, WHITE, strength)

    def to_pixels(self, points: ArrayLike) -> Pixels:
        """Return unit coordinates under the current transform as canvas pixels, for Pillow."""
        moved = polygon(points) @ self._linear
        moved = (moved + self._offset) * self.pixels
        return [(x, y) for x, y in moved.tolist()]

    def finish(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8], tuple[Region, ...]]:
        """Return the image, the part-index array and the visible instances."""
        image = np.asarray(self.colours.reduce(SUPERSAMPLING), dtype=np.uint8)
        middle = SUPERSAMPLING // 2
        seen = np.asarray(self.instances)[middle::SUPERSAMPLING, middle::SUPERSAMPLING]
        values = [0, *(self.vocabulary.value(concept) for concept in self.concepts)]
        return image, np.asarray(values, np.uint8)[seen], self._regions(seen)

    def _regions(self, seen: NDArray[np.uint8]) -> tuple[Region, ...]:
        return tuple(
            Region(concept, visible_box(seen == number))
            for number, concept in enumerate(self.concepts, start=1)
            if (seen == number).any()
        )

    def _cover(self, points: Pixels, colour: Paint) -> None:
        if isinstance(colour, Image.Image):
            self._paste(points, colour)
        else:
            self._draw.polygon(points, fill=colour)

    def _value(self, concept: Part) -> int:
        if concept is None:
            return NOTHING
        return self.instance(concept) if isinstance(concept, str) else concept

    def _paste(self, points: Pixels, paint: Paint, strength: float = 1.0) -> None:
        """Paste a colour or texture through a mask of the outline, touching only its bounds."""
        across, down = [x for x, _ in points], [y for _, y in points]
        box = (
            max(0, math.floor(min(across))),
            max(0, math.floor(min(down))),
            min(self.pixels, math.ceil(max(across)) + 1),
            min(self.pixels, math.ceil(max(down)) + 1),
        )
        if box[2] <= box[0] or box[3] <= box[1]:
            return
        mask = Image.new("L", (box[2] - box[0], box[3] - box[1]), 0)
        local = [(x - box[0], y - box[1]) for x, y in points]
        ImageDraw.Draw(mask).polygon(local, fill=round(255 * strength))
        self.colours.paste(paint if isinstance(paint, tuple) else paint.crop(box), box, mask)


def visible_box(mask: NDArray[np.bool_]) -> Box:
    """Return the tight box around the true pixels, in fractions of the image."""
    height, width = mask.shape
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return Box(
        float(columns[0] / width),
        float(rows[0] / height),
        float((columns[-1] + 1) / width),
        float((rows[-1] + 1) / height),
    )


def _lift(outline: ArrayLike, share: float, up: float) -> Points:
    """Shrink an outline and push it up inside itself, where the light falls."""
    points = polygon(outline)
    low, high = points.min(0), points.max(0)
    middle = (low + high) / 2
    lifted = middle + (0, up * (1 - share) * (high[1] - low[1]) / 2)
    inner: Points = lifted + (points - middle) * share
    return inner


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
