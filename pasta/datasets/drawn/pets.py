"""Cats and dogs, and what all four-legged animals share: body plan, faces and profiles.

Faces are drawn in units of half their width, around their middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pasta.datasets.drawn.canvas import (
    INK,
    WHITE,
    Canvas,
    Coat,
    Colour,
    Points,
    Rng,
    curve,
    ellipse,
    limb,
    mirror,
    polygon,
    pose,
    ribbon,
    shade,
    shrink,
    smooth,
)
from pasta.datasets.drawn.surface import chance, choose, coat, darken, mix, palette, random_colour

PINK: Colour = (222, 146, 142)
TONGUE: Colour = (222, 96, 108)
EYES = palette("bcc454 d6a240 6eac96")
CAT_EARS = ("-1.0,0.1 -0.92,1.3 -0.1,0.76", "-1.05,0.2 -1.1,1.2 -0.15,0.78")
HANGING_EARS = (
    "-0.35,0.85 -0.95,0.95 -1.3,0.1 -1.2,-0.75 -0.85,-0.8 -0.62,0.1",
    "-0.3,0.9 -0.8,1.05 -1.45,0.6 -1.5,0.0 -1.15,-0.15 -0.65,0.4",
)


@dataclass(frozen=True)
class Markings:
    """How an animal's fur is marked."""

    stripes: bool
    patches: bool
    muzzle: Colour


def choose_markings(rng: Rng, colour: Colour, stripes: float, pale: bool) -> Markings:
    """Choose markings; they only darken or lighten the coat's own colour."""
    striped = chance(rng, stripes)
    muzzle = mix(colour, (248, 242, 232), 0.55) if pale else shade(colour, 0.62)
    return Markings(striped, not striped and chance(rng, 0.5), muzzle)


def draw_eye(canvas: Canvas, x: float, y: float, radius: float, iris: Colour, slit: float) -> None:
    """Draw an eye; ``slit`` is the width of the pupil."""
    canvas.fill(ellipse(x, y, radius * 1.16, radius * 1.1), INK)
    canvas.fill(ellipse(x, y, radius * 1.1, radius), iris, "eye")
    canvas.decorate(ellipse(x, y, radius * slit, radius * min(0.95, slit + 0.5)), INK)
    canvas.decorate(ellipse(x + radius * 0.3, y + radius * 0.35, radius * 0.28), WHITE)


def draw_cat_face(canvas: Canvas, rng: Rng, fur: Coat, marks: Markings) -> None:
    """Draw a round head with big pointed ears, slit eyes, a short muzzle and whiskers."""
    turn = rng.uniform(-0.14, 0.14)
    corners = choose(rng, CAT_EARS)
    for outline in (polygon(corners), mirror(corners)):
        canvas.fill(outline, fur.dim, "ear")
        canvas.decorate(shrink(outline, 0.62), PINK)
    skull = smooth("-0.7,0.78 0.7,0.78 1.1,0.1 0.85,-0.6 0,-0.92 -0.85,-0.6 -1.1,0.1")
    canvas.solid(skull, fur, "head")
    if marks.stripes:
        for x in (-0.22, 0.0, 0.22):
            mark = [(x - 0.06 + turn, 0.75), (x + 0.06 + turn, 0.75), (x * 0.7 + turn, 0.38)]
            canvas.decorate(mark, darken(fur.colour))
        for side in (-1, 1):
            for y in (-0.1, -0.32):
                canvas.stroke([(side * 0.95, y), (side * 0.66, y + 0.04)], darken(fur.colour), 0.09)
    iris = random_colour(rng, EYES)
    for side in (-1, 1):
        draw_eye(canvas, side * 0.44 + turn, 0.12, 0.23, iris, 0.26)
    # Part of the head: in Pascal Part a dog has a muzzle and a cat has none.
    for side in (-1, 1):
        canvas.decorate(ellipse(side * 0.18 + turn * 1.3, -0.42, 0.26, 0.23), marks.muzzle)
    x = turn * 1.4
    canvas.stroke([(x, -0.3), (x, -0.46)], INK, 0.05)
    canvas.stroke(curve([(x - 0.24, -0.48), (x - 0.1, -0.66), (x, -0.46)], 6), INK, 0.05)
    canvas.stroke(curve([(x + 0.24, -0.48), (x + 0.1, -0.66), (x, -0.46)], 6), INK, 0.05)
    canvas.fill([(x - 0.15, -0.17), (x + 0.15, -0.17), (x, -0.36)], shade(PINK, 0.85), "nose")
    hair = mix(fur.colour, WHITE, 0.75)
    for side in (-1, 1):
        for drop in (-0.12, 0.02, 0.16):
            tip = (side * 1.4, -0.44 - drop * 1.6)
            canvas.stroke([(side * 0.34, -0.4 - drop * 0.4), tip], hair, 0.035)


def draw_dog_face(canvas: Canvas, rng: Rng, fur: Coat, marks: Markings) -> None:
    """Draw a long head with a broad muzzle and hanging ears, sometimes with its tongue out."""
    turn = rng.uniform(-0.16, 0.16)
    skull = smooth(
        "-0.55,0.95 0.55,0.95 0.92,0.3 0.62,-0.5 0.4,-1.0 -0.4,-1.0 -0.62,-0.5 -0.92,0.3"
    )
    canvas.solid(skull, fur, "head")
    if marks.patches:
        side = -1 if chance(rng, 0.5) else 1
        canvas.decorate(ellipse(side * 0.36 + turn, 0.28, 0.3, 0.38), shade(fur.colour, 0.6))
    corners = smooth(choose(rng, HANGING_EARS))
    for outline in (corners, mirror(corners)):
        canvas.fill(outline, shade(fur.colour, 0.5), "ear")
        canvas.decorate(shrink(outline, 0.8), shade(fur.colour, 0.64))
    for side in (-1, 1):
        draw_eye(canvas, side * 0.36 + turn, 0.26, 0.15, (104, 66, 40), 0.6)
    x = turn * 1.5
    if chance(rng, 0.5):
        tongue = polygon("-0.2,-0.8 0.2,-0.8 0.2,-1.4 -0.2,-1.4") + (x, 0)
        canvas.fill(smooth(tongue), TONGUE, "mouth")
        canvas.stroke([(x, -0.85), (x, -1.2)], shade(TONGUE, 0.7), 0.05)
    muzzle = polygon("-0.28,0.08 0.28,0.08 0.6,-0.55 0.38,-1.02 -0.38,-1.02 -0.6,-0.55") + (x, 0)
    canvas.fill(smooth(muzzle), shade(marks.muzzle, 0.82), "muzzle")
    canvas.decorate(ellipse(x, -0.42, 0.36, 0.34), marks.muzzle)
    canvas.stroke(curve([(x - 0.42, -0.72), (x - 0.1, -0.95), (x, -0.66)], 7), INK, 0.06)
    canvas.stroke(curve([(x + 0.42, -0.72), (x + 0.1, -0.95), (x, -0.66)], 7), INK, 0.06)
    canvas.stroke([(x, -0.35), (x, -0.66)], INK, 0.06)
    canvas.fill(ellipse(x, -0.24, 0.27, 0.19), INK, "nose")
    canvas.decorate(ellipse(x - 0.06, -0.17, 0.1, 0.05), (150, 148, 152))


@dataclass(frozen=True)
class Profile:
    """A head from the side, facing right: the corners of its parts in units of its length."""

    skull: str
    muzzle: str
    ear: str
    eye: tuple[float, float, float]
    nostril: tuple[float, float, float]
    horn: str = ""  # a curve
    nosed: bool = False  # the nose is a part of its own


PROFILES: dict[str, Profile] = {
    "dog": Profile(
        "-0.3,0.1 -0.15,0.42 0.2,0.42 0.42,0.16 0.45,-0.2 0.1,-0.36 -0.25,-0.25",
        "0.3,0.2 0.6,0.12 0.92,0.08 0.95,-0.12 0.75,-0.26 0.3,-0.28",
        "-0.12,0.4 0.04,0.36 0.06,0.0 -0.06,-0.36 -0.26,-0.36 -0.28,0.1",
        (0.26, 0.15, 0.07),
        (0.9, 0.04, 0.09),
        nosed=True,
    ),
    "cow": Profile(
        "-0.2,0.05 -0.1,0.34 0.2,0.34 0.66,0.14 0.68,-0.2 0.3,-0.34 -0.1,-0.3",
        "0.56,0.2 0.86,0.2 1.0,0.0 0.96,-0.24 0.7,-0.32 0.54,-0.26",
        "-0.04,0.16 -0.3,0.3 -0.55,0.14 -0.42,-0.04 -0.1,0.0",
        (0.26, 0.1, 0.075),
        (0.9, 0.02, 0.05),
        "0.04,0.26 0.0,0.55 0.34,0.52 0.3,0.8",
    ),
    "horse": Profile(
        "-0.22,0.02 -0.08,0.24 0.16,0.26 0.74,0.1 0.76,-0.14 0.4,-0.2 0.16,-0.36 -0.14,-0.26",
        "0.64,0.13 0.9,0.1 1.02,-0.04 0.98,-0.2 0.82,-0.24 0.64,-0.17",
        "-0.1,0.16 -0.08,0.5 0.04,0.52 0.1,0.2",
        (0.22, 0.08, 0.06),
        (0.93, -0.02, 0.045),
    ),
    "sheep": Profile(
        "-0.15,0.05 -0.02,0.34 0.3,0.34 0.66,0.12 0.68,-0.2 0.25,-0.34 -0.1,-0.25",
        "0.56,0.16 0.84,0.08 0.92,-0.1 0.82,-0.28 0.54,-0.26",
        "0.0,0.12 -0.2,0.2 -0.5,0.02 -0.44,-0.14 -0.08,-0.04",
        (0.32, 0.1, 0.075),
        (0.82, -0.06, 0.04),
        "0.12,0.3 -0.3,0.6 -0.66,0.2 -0.4,-0.34 -0.02,-0.2",
    ),
}


def draw_profile_head(
    canvas: Canvas, shape: Profile, skin: Coat, muzzle: Colour, *, horned: bool
) -> None:
    """Draw a head from the side in units of its length, looking right."""
    if horned:
        _draw_horn(canvas, polygon(shape.horn) + (0.07, 0.03), (172, 160, 140))
    canvas.solid(smooth(shape.skull), skin, "head")
    snout = smooth(shape.muzzle)
    canvas.fill(snout, shade(muzzle, 0.8), "muzzle")
    canvas.decorate(shrink(snout, 0.8) + (0, 0.03), muzzle)
    x, y, radius = shape.nostril
    part = "nose" if shape.nosed else canvas.latest()
    canvas.fill(ellipse(x, y, radius, radius * 0.85), INK, part)
    mouth = polygon(shape.muzzle)
    low = mouth[:, 1].min()
    canvas.stroke([(mouth[:, 0].max() - 0.1, low * 0.72), (0.5, low * 0.5)], INK, 0.025)
    ear = smooth(shape.ear)
    canvas.fill(ear, shade(skin.colour, 0.6), "ear")
    canvas.decorate(shrink(ear, 0.7), shade(skin.colour, 0.8))
    draw_eye(canvas, *shape.eye, (92, 62, 42), 0.7)
    if horned:
        _draw_horn(canvas, shape.horn, (226, 214, 188))


def _draw_horn(canvas: Canvas, path: ArrayLike, colour: Colour) -> None:
    horn = curve(path)
    canvas.fill(ribbon(horn, 0.17, 0.05), shade(colour, 0.8), "horn")
    canvas.decorate(ribbon(horn + (-0.01, 0.01), 0.1, 0.02), colour)


TRUNK = "-1,0.55 -0.85,1 0,0.96 0.8,1.02 1.08,0.5 0.7,0.02 -0.3,0.08 -0.95,0.1"
PALE: Colour = (250, 245, 238)
Face = Callable[[Canvas, Rng, Coat, Markings], None]


@dataclass(frozen=True)
class Build:
    """The proportions of an animal seen from its right side, its longer side about 1."""

    length: float  # of the torso
    depth: float
    leg: float  # height of the belly
    leg_width: float
    end: str  # the part a leg ends in
    neck: tuple[float, float, float, float]  # reach forward, rise, width below, width above
    head: float
    tails: tuple[str, ...]  # curves to choose from, relative to the rump
    tail_width: tuple[float, float]
    tuft: float = 0.0


CAT = Build(
    0.56, 0.24, 0.24, 0.085, "foot", (0.06, 0.14, 0.19, 0.17), 0.2,
    (
        "0,0 -0.14,0.02 -0.2,0.2 -0.08,0.42",
        "0,0 -0.2,0.05 -0.1,0.34 -0.22,0.4",
        "0,0 -0.1,0.1 -0.06,0.3 0.06,0.4",
    ),
    (0.065, 0.045),
)  # fmt: skip
DOG = Build(
    0.52, 0.25, 0.3, 0.095, "foot", (0.1, 0.17, 0.2, 0.16), 0.19,
    (
        "0,0 -0.1,0.06 -0.14,0.2",
        "0,0 -0.1,-0.02 -0.2,0.1",
        "0,0 -0.14,0.14 -0.02,0.26 0.06,0.14",
    ),
    (0.11, 0.05),
)  # fmt: skip
COW = Build(
    0.68, 0.33, 0.24, 0.09, "hoof", (0.09, 0.08, 0.27, 0.2), 0.3,
    ("0,0 -0.08,-0.04 -0.06,-0.3", "0,0 -0.12,0.04 -0.1,-0.24"),
    (0.035, 0.025), 0.045,
)  # fmt: skip
HORSE = Build(
    0.54, 0.25, 0.38, 0.075, "hoof", (0.17, 0.27, 0.23, 0.13), 0.29,
    ("0,0 -0.14,0.04 -0.1,-0.34", "0,0 -0.16,0.08 -0.2,-0.26"),
    (0.06, 0.1), 0.055,
)  # fmt: skip
SHEEP = Build(
    0.6, 0.37, 0.2, 0.07, "hoof", (0.08, 0.05, 0.24, 0.2), 0.27,
    ("0,0 -0.06,0.0 -0.07,-0.12",),
    (0.09, 0.07),
)  # fmt: skip


def draw_walking_body(
    canvas: Canvas, rng: Rng, build: Build, fur: Coat, limbs: Coat
) -> tuple[Points, tuple[float, float]]:
    """Draw a body from the side; return its outline and where the head goes."""
    stride = rng.uniform(0, 0.07)
    half = build.length / 2
    top = build.leg + build.depth
    canvas.shadow(build.length + 0.3)
    tail = curve(choose(rng, build.tails))
    hang = ribbon(tail + (0.03 - half, top - 0.05), *build.tail_width)
    tail_part = canvas.instance("tail")
    canvas.fill(hang, limbs.plain, tail_part)
    if build.tuft:
        x, y = tail[-1] + (0.03 - half, top - 0.05)
        canvas.fill(ellipse(x, y - 0.03, build.tuft * 0.8, build.tuft * 1.4), limbs.dim, tail_part)
    for place, swing in ((-0.36, -stride), (0.34, stride)):
        _draw_leg(canvas, build, place * build.length + 0.06, swing + 0.02, limbs, near=False)
    reach, rise, low, high = build.neck
    shoulder = (half * 0.72, top - build.depth * 0.38)
    head = (half + reach, top + rise)
    canvas.solid(limb(*shoulder, *head, low, high), fur, "neck")
    trunk = smooth(polygon(TRUNK) * (half, build.depth) + (0, build.leg))
    canvas.solid(trunk, fur, "torso")
    for place, swing in ((-0.38, stride), (0.36, -stride)):
        _draw_leg(canvas, build, place * build.length, swing, limbs, near=True)
    return trunk, head


def _draw_leg(
    canvas: Canvas, build: Build, x: float, swing: float, skin: Coat, *, near: bool
) -> None:
    width = build.leg_width
    knee = (x + swing * 0.3, build.leg * 0.5)
    thigh = limb(x, build.leg + build.depth * 0.3, *knee, width * 1.7, width)
    shin = limb(*knee, x + swing, width * 0.4, width, width * 0.8)
    part = canvas.instance("leg")
    paint = canvas.solid if near else canvas.far
    paint(thigh, skin, part)
    paint(shin, skin, part)
    x = x + swing
    if build.end == "hoof":
        hoof = polygon("-0.45,0.6 0.45,0.6 0.7,0 -0.5,0") * width + (x, 0)
        canvas.fill(hoof, (58, 50, 46) if near else (40, 36, 36), "hoof")
    else:
        toes = ellipse(x + width * 0.3, width * 0.35, width * 0.75, width * 0.42)
        canvas.fill(toes, mix(skin.colour, PALE, 0.35 if near else 0.1), "foot")


def draw_markings(canvas: Canvas, rng: Rng, trunk: Points, fur: Coat, marks: Markings) -> None:
    """Draw stripes down the back, or patches, that stay inside the trunk."""
    low, high = trunk.min(0), trunk.max(0)
    width, height = high - low
    if marks.stripes:
        for x in np.linspace(low[0] + width * 0.15, high[0] - width * 0.18, 6).tolist():
            ends = high[1] - height * 0.05, high[1] - height * 0.3, low[1] + height * 0.38
            path = curve(np.column_stack([(x, x - 0.02, x + 0.01), ends]), 6)
            canvas.decorate(ribbon(path, 0.034, 0.008), darken(fur.colour))
    if marks.patches:
        for share in (0.24, 0.52, 0.76):
            if chance(rng, 0.7):
                middle = (low[0] + width * share, low[1] + height * rng.uniform(0.5, 0.66))
                radii = width * rng.uniform(0.08, 0.13), height * rng.uniform(0.2, 0.3)
                blot = ellipse(*middle, *radii)
                wobble = 1 + rng.uniform(-0.25, 0.2, (len(blot), 1))
                blot = smooth(middle + (blot - middle) * wobble, 1)
                canvas.decorate(blot, shade(fur.colour, 0.55))


def draw_sitting_body(
    canvas: Canvas, rng: Rng, build: Build, fur: Coat, marks: Markings
) -> tuple[float, float]:
    """Draw a body that sits, from the front; return where the head goes."""
    canvas.shadow(0.62)
    lean = rng.uniform(-0.03, 0.03)
    path = curve("0,0 0.18,-0.04 0.26,0.1 0.16,0.34")
    if build.tuft == 0 and build.tail_width[0] > 0.1:
        path = path * (0.95, 0.62)
    canvas.fill(ribbon(path + (0.14, 0.09), *build.tail_width), fur.plain, "tail")
    for side in (-1, 1):
        part = canvas.instance("leg")
        canvas.solid(ellipse(side * 0.17, 0.13, 0.12, 0.13), fur, part)
        canvas.fill(ellipse(side * 0.2, 0.035, 0.085, 0.035), mix(fur.colour, PALE, 0.3), "foot")
    trunk = smooth("-0.12,0.6 0.12,0.6 0.2,0.4 0.21,0.16 0.14,0.04 -0.14,0.04 -0.21,0.16 -0.2,0.4")
    canvas.solid(trunk, fur, "torso")
    if marks.stripes:
        for y in (0.24, 0.33, 0.42):
            stripe = ribbon(curve([(0.185, y + 0.02), (0.12, y), (0.09, y - 0.02)], 5), 0.03, 0.008)
            canvas.decorate(stripe, darken(fur.colour))
            canvas.decorate(mirror(stripe), darken(fur.colour))
    chest = smooth("-0.09,0.55 0.09,0.55 0.12,0.4 0.05,0.1 -0.05,0.1 -0.12,0.4")
    canvas.decorate(chest, shade(fur.colour, 1.22))
    for side in (-1, 1):
        part = canvas.instance("leg")
        canvas.solid(limb(side * 0.085, 0.34, side * 0.08, 0.05, 0.11, 0.085), fur, part)
        canvas.fill(ellipse(side * 0.08, 0.035, 0.065, 0.04), mix(fur.colour, PALE, 0.45), "foot")
    canvas.solid(limb(0, 0.52, lean * 0.5, 0.62, 0.24, 0.22), fur, "neck")
    return lean, 0.74


def _draw_pet(
    canvas: Canvas, rng: Rng, build: Build, fur: Coat, marks: Markings, face: Face
) -> None:
    nod = rng.uniform(-0.14, 0.14)
    sits = chance(rng, 0.5)
    with canvas.placed(pose(0.0 if sits else -0.07)):
        if sits:
            x, y = draw_sitting_body(canvas, rng, build, fur, marks)
        else:
            trunk, (x, y) = draw_walking_body(canvas, rng, build, fur, fur)
            draw_markings(canvas, rng, trunk, fur, marks)
        with canvas.placed(pose(x, y, build.head, angle=nod)):
            face(canvas, rng, fur, marks)


def draw_cat(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a cat, sitting or standing sideways, with its face to the front."""
    fur = coat(canvas, rng, colour)
    _draw_pet(canvas, rng, CAT, fur, choose_markings(rng, colour, 0.42, pale=True), draw_cat_face)


def draw_dog(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a dog, from the front or with its long head in profile."""
    fur = coat(canvas, rng, colour)
    marks = choose_markings(rng, colour, 0.0, pale=False)
    if chance(rng, 0.6):
        _draw_pet(canvas, rng, DOG, fur, marks, draw_dog_face)
        return
    with canvas.placed(pose(-0.12, 0, 0.9)):
        trunk, (x, y) = draw_walking_body(canvas, rng, DOG, fur, fur)
        draw_markings(canvas, rng, trunk, fur, marks)
        with canvas.placed(pose(x - 0.02, y + 0.03, 0.38, angle=rng.uniform(-0.25, 0.2))):
            draw_profile_head(canvas, PROFILES["dog"], fur, marks.muzzle, horned=False)
