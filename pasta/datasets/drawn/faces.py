"""Faces of cats and dogs from the front, and heads of animals from the side.

Every face is drawn in units of its own half width, around its middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pasta.datasets.drawn.canvas import Canvas, Colour, ellipse, shade, smooth
from pasta.datasets.drawn.stage import INK, WHITE, Coat, curve, darker, mirrored, ribbon, solid
from pasta.datasets.drawn.surface import chance, mixed, random_colour

Corners = tuple[tuple[float, float], ...]
PINK: Colour = (222, 146, 142)
TONGUE: Colour = (222, 96, 108)
EYES: tuple[Colour, ...] = ((188, 196, 84), (214, 162, 64), (110, 172, 150))
CAT_EARS: tuple[Corners, ...] = (
    ((-1.0, 0.1), (-0.92, 1.3), (-0.1, 0.76)),
    ((-1.05, 0.2), (-1.1, 1.2), (-0.15, 0.78)),
)
HANGING: tuple[Corners, ...] = (
    ((-0.35, 0.85), (-0.95, 0.95), (-1.3, 0.1), (-1.2, -0.75), (-0.85, -0.8), (-0.62, 0.1)),
    ((-0.3, 0.9), (-0.8, 1.05), (-1.45, 0.6), (-1.5, 0.0), (-1.15, -0.15), (-0.65, 0.4)),
)


@dataclass(frozen=True)
class Markings:
    """How an animal's fur is marked."""

    stripes: bool
    patches: bool
    muzzle: Colour


def markings(rng: np.random.Generator, colour: Colour, stripes: float, pale: bool) -> Markings:
    """Choose markings; they only darken or lighten the coat's own colour."""
    striped = chance(rng, stripes)
    muzzle = mixed(colour, (248, 242, 232), 0.55) if pale else shade(colour, 0.62)
    return Markings(striped, not striped and chance(rng, 0.5), muzzle)


def eye(canvas: Canvas, x: float, y: float, radius: float, iris: Colour, slit: float) -> None:
    """An eye; ``slit`` is how wide the pupil is."""
    canvas.fill(ellipse(x, y, radius * 1.16, radius * 1.1), INK)
    canvas.fill(ellipse(x, y, radius * 1.1, radius), iris, "eye")
    canvas.decorate(ellipse(x, y, radius * slit, radius * min(0.95, slit + 0.5)), INK)
    canvas.decorate(ellipse(x + radius * 0.3, y + radius * 0.35, radius * 0.28), WHITE)


def cat_face(canvas: Canvas, rng: np.random.Generator, fur: Coat, marks: Markings) -> None:
    """A round head, big pointed ears, slit eyes, a short muzzle, whiskers."""
    turn = rng.uniform(-0.14, 0.14)
    corners = CAT_EARS[int(rng.integers(len(CAT_EARS)))]
    for outline in (np.array(corners), mirrored(corners)):
        canvas.fill(outline, fur.dim, "ear")
        middle = outline.mean(0)
        canvas.decorate(middle + (outline - middle) * 0.62, PINK)
    skull = smooth(
        [
            (-0.7, 0.78),
            (0.7, 0.78),
            (1.1, 0.1),
            (0.85, -0.6),
            (0, -0.92),
            (-0.85, -0.6),
            (-1.1, 0.1),
        ]
    )
    solid(canvas, skull, fur, "head")
    if marks.stripes:
        for x in (-0.22, 0.0, 0.22):
            mark = [(x - 0.06 + turn, 0.75), (x + 0.06 + turn, 0.75), (x * 0.7 + turn, 0.38)]
            canvas.decorate(mark, darker(fur.colour))
        for side in (-1, 1):
            for y in (-0.1, -0.32):
                canvas.stroke([(side * 0.95, y), (side * 0.66, y + 0.04)], darker(fur.colour), 0.09)
    iris = random_colour(rng, EYES)
    for side in (-1, 1):
        eye(canvas, side * 0.44 + turn, 0.12, 0.23, iris, 0.26)
    # Part of the head: in Pascal Part a dog has a muzzle and a cat has none.
    for side in (-1, 1):
        canvas.decorate(ellipse(side * 0.18 + turn * 1.3, -0.42, 0.26, 0.23), marks.muzzle)
    x = turn * 1.4
    canvas.stroke([(x, -0.3), (x, -0.46)], INK, 0.05)
    canvas.stroke(curve([(x - 0.24, -0.48), (x - 0.1, -0.66), (x, -0.46)], 6), INK, 0.05)
    canvas.stroke(curve([(x + 0.24, -0.48), (x + 0.1, -0.66), (x, -0.46)], 6), INK, 0.05)
    canvas.fill([(x - 0.15, -0.17), (x + 0.15, -0.17), (x, -0.36)], shade(PINK, 0.85), "nose")
    hair = mixed(fur.colour, WHITE, 0.75)
    for side in (-1, 1):
        for drop in (-0.12, 0.02, 0.16):
            tip = (side * 1.4, -0.44 - drop * 1.6)
            canvas.stroke([(side * 0.34, -0.4 - drop * 0.4), tip], hair, 0.035)


def dog_face(canvas: Canvas, rng: np.random.Generator, fur: Coat, marks: Markings) -> None:
    """A long head with a broad muzzle and nose, ears that hang, sometimes the tongue out."""
    turn = rng.uniform(-0.16, 0.16)
    skull = smooth(
        [(-0.55, 0.95), (0.55, 0.95), (0.92, 0.3), (0.62, -0.5), (0.4, -1.0), (-0.4, -1.0),
         (-0.62, -0.5), (-0.92, 0.3)]
    )  # fmt: skip
    solid(canvas, skull, fur, "head")
    if marks.patches:
        side = -1 if chance(rng, 0.5) else 1
        canvas.decorate(ellipse(side * 0.36 + turn, 0.28, 0.3, 0.38), shade(fur.colour, 0.6))
    corners = smooth(HANGING[int(rng.integers(len(HANGING)))])
    for outline in (corners, mirrored(corners)):
        canvas.fill(outline, shade(fur.colour, 0.5), "ear")
        middle = outline.mean(0)
        canvas.decorate(middle + (outline - middle) * 0.8, shade(fur.colour, 0.64))
    for side in (-1, 1):
        eye(canvas, side * 0.36 + turn, 0.26, 0.15, (104, 66, 40), 0.6)
    x = turn * 1.5
    if chance(rng, 0.5):
        tongue = [(x - 0.2, -0.8), (x + 0.2, -0.8), (x + 0.2, -1.4), (x - 0.2, -1.4)]
        canvas.fill(smooth(tongue), TONGUE, "mouth")
        canvas.stroke([(x, -0.85), (x, -1.2)], shade(TONGUE, 0.7), 0.05)
    muzzle = smooth(
        [(x - 0.28, 0.08), (x + 0.28, 0.08), (x + 0.6, -0.55), (x + 0.38, -1.02), (x - 0.38, -1.02),
         (x - 0.6, -0.55)]
    )  # fmt: skip
    canvas.fill(muzzle, shade(marks.muzzle, 0.82), "muzzle")
    canvas.decorate(ellipse(x, -0.42, 0.36, 0.34), marks.muzzle)
    canvas.stroke(curve([(x - 0.42, -0.72), (x - 0.1, -0.95), (x, -0.66)], 7), INK, 0.06)
    canvas.stroke(curve([(x + 0.42, -0.72), (x + 0.1, -0.95), (x, -0.66)], 7), INK, 0.06)
    canvas.stroke([(x, -0.35), (x, -0.66)], INK, 0.06)
    canvas.fill(ellipse(x, -0.24, 0.27, 0.19), INK, "nose")
    canvas.decorate(ellipse(x - 0.06, -0.17, 0.1, 0.05), (150, 148, 152))


@dataclass(frozen=True)
class Profile:
    """A head from the side, facing right: the corners of its parts in units of its length."""

    skull: Corners
    muzzle: Corners
    ear: Corners
    eye: tuple[float, float, float]
    nostril: tuple[float, float, float]
    horn: Corners = ()  # a curve
    nosed: bool = False  # the nose is a part of its own


PROFILES: dict[str, Profile] = {
    "dog": Profile(
        ((-0.3, 0.1), (-0.15, 0.42), (0.2, 0.42), (0.42, 0.16), (0.45, -0.2), (0.1, -0.36),
         (-0.25, -0.25)),
        ((0.3, 0.2), (0.6, 0.12), (0.92, 0.08), (0.95, -0.12), (0.75, -0.26), (0.3, -0.28)),
        ((-0.12, 0.4), (0.04, 0.36), (0.06, 0.0), (-0.06, -0.36), (-0.26, -0.36), (-0.28, 0.1)),
        (0.26, 0.15, 0.07),
        (0.9, 0.04, 0.09),
        nosed=True,
    ),
    "cow": Profile(
        ((-0.2, 0.05), (-0.1, 0.34), (0.2, 0.34), (0.66, 0.14), (0.68, -0.2), (0.3, -0.34),
         (-0.1, -0.3)),
        ((0.56, 0.2), (0.86, 0.2), (1.0, 0.0), (0.96, -0.24), (0.7, -0.32), (0.54, -0.26)),
        ((-0.04, 0.16), (-0.3, 0.3), (-0.55, 0.14), (-0.42, -0.04), (-0.1, 0.0)),
        (0.26, 0.1, 0.075),
        (0.9, 0.02, 0.05),
        ((0.04, 0.26), (0.0, 0.55), (0.34, 0.52), (0.3, 0.8)),
    ),
    "horse": Profile(
        ((-0.22, 0.02), (-0.08, 0.24), (0.16, 0.26), (0.74, 0.1), (0.76, -0.14), (0.4, -0.2),
         (0.16, -0.36), (-0.14, -0.26)),
        ((0.64, 0.13), (0.9, 0.1), (1.02, -0.04), (0.98, -0.2), (0.82, -0.24), (0.64, -0.17)),
        ((-0.1, 0.16), (-0.08, 0.5), (0.04, 0.52), (0.1, 0.2)),
        (0.22, 0.08, 0.06),
        (0.93, -0.02, 0.045),
    ),
    "sheep": Profile(
        ((-0.15, 0.05), (-0.02, 0.34), (0.3, 0.34), (0.66, 0.12), (0.68, -0.2), (0.25, -0.34),
         (-0.1, -0.25)),
        ((0.56, 0.16), (0.84, 0.08), (0.92, -0.1), (0.82, -0.28), (0.54, -0.26)),
        ((0.0, 0.12), (-0.2, 0.2), (-0.5, 0.02), (-0.44, -0.14), (-0.08, -0.04)),
        (0.32, 0.1, 0.075),
        (0.82, -0.06, 0.04),
        ((0.12, 0.3), (-0.3, 0.6), (-0.66, 0.2), (-0.4, -0.34), (-0.02, -0.2)),
    ),
}  # fmt: skip


def profile_head(
    canvas: Canvas, shape: Profile, skin: Coat, muzzle: Colour, *, horned: bool
) -> None:
    """Draw a head from the side in units of its length, looking right."""
    if horned:
        _horn(canvas, np.array(shape.horn) + (0.07, 0.03), (172, 160, 140))
    solid(canvas, smooth(shape.skull), skin, "head")
    canvas.fill(smooth(shape.muzzle), shade(muzzle, 0.8), "muzzle")
    inner = smooth(shape.muzzle)
    canvas.decorate(inner.mean(0) + (inner - inner.mean(0)) * 0.8 + (0, 0.03), muzzle)
    x, y, radius = shape.nostril
    canvas.fill(
        ellipse(x, y, radius, radius * 0.85), INK, "nose" if shape.nosed else canvas_part(canvas)
    )
    mouth = np.array(shape.muzzle)
    low = mouth[:, 1].min()
    canvas.stroke([(mouth[:, 0].max() - 0.1, low * 0.72), (0.5, low * 0.5)], INK, 0.025)
    ear = smooth(shape.ear)
    canvas.fill(ear, shade(skin.colour, 0.6), "ear")
    canvas.decorate(ear.mean(0) + (ear - ear.mean(0)) * 0.7, shade(skin.colour, 0.8))
    x, y, radius = shape.eye
    eye(canvas, x, y, radius, (92, 62, 42), 0.7)
    if horned:
        _horn(canvas, shape.horn, (226, 214, 188))


def canvas_part(canvas: Canvas) -> int:
    """The instance drawn last, to go on drawing on it."""
    return len(canvas.concepts)


def _horn(canvas: Canvas, path: ArrayLike, colour: Colour) -> None:
    points = [(float(x), float(y)) for x, y in np.asarray(path)]
    canvas.fill(ribbon(curve(points), 0.17, 0.05), shade(colour, 0.8), "horn")
    canvas.decorate(ribbon(curve(points) + (-0.01, 0.01), 0.1, 0.02), colour)
