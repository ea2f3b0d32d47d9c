"""Birds, cats, cows, dogs, horses and sheep; the four-legged ones share body plan and profile.

Faces are drawn in units of half their width, around their middle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pasta.datasets.drawn.canvas import (
    INK,
    SHARED,
    WHITE,
    Canvas,
    Coat,
    Colour,
    Points,
    Rng,
    chance,
    choose,
    coat,
    complete,
    curve,
    darken,
    ellipse,
    limb,
    mirror,
    mix,
    palette,
    polygon,
    pose,
    random_colour,
    ribbon,
    shade,
    shrink,
    smooth,
)

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


@dataclass(frozen=True)
class Front:
    """Proportions from the front; the head's corners are in units of its half width."""

    chest: tuple[float, float, float]  # half width, half height, height of its middle
    leg: tuple[float, float]  # distance from the middle, width
    head: tuple[float, float]  # half width, height of its middle
    skull: str  # right half, from the top
    muzzle: tuple[float, float, float]  # height of its middle, half width, half height
    ear: str
    eye: tuple[float, float, float]
    horn: str = ""


FRONTS: dict[str, Front] = {
    "cow": Front(
        (0.24, 0.24, 0.42),
        (0.13, 0.1),
        (0.145, 0.68),
        "0.0,0.95 0.7,0.95 0.95,0.4 0.7,-0.5 0.62,-1.2 0.0,-1.3",
        (-1.0, 0.78, 0.46),
        "0.75,0.55 1.3,0.75 1.85,0.5 1.5,0.15 0.85,0.2",
        (0.56, 0.2, 0.2),
        "0.55,0.8 1.5,0.9 1.6,1.3 1.25,1.8",
    ),
    "horse": Front(
        (0.17, 0.2, 0.5),
        (0.095, 0.08),
        (0.105, 0.8),
        "0.0,1.1 0.6,1.05 0.85,0.4 0.55,-0.7 0.5,-1.6 0.0,-1.7",
        (-1.45, 0.55, 0.42),
        "0.25,0.95 0.4,1.85 0.7,1.75 0.75,0.85",
        (0.66, 0.25, 0.18),
    ),
    "sheep": Front(
        (0.29, 0.27, 0.44),
        (0.11, 0.085),
        (0.13, 0.62),
        "0.0,0.9 0.65,0.85 0.85,0.3 0.6,-0.6 0.4,-1.15 0.0,-1.25",
        (-0.9, 0.5, 0.4),
        "0.7,0.4 1.2,0.5 1.8,0.1 1.5,-0.15 0.8,0.05",
        (0.5, 0.15, 0.18),
        "0.4,0.75 1.4,1.3 2.1,0.3 1.4,-0.7 1.05,-0.1",
    ),
}


def draw_front_body(
    canvas: Canvas, build: Front, hide: Coat, limbs: Coat, *, tail: bool = True
) -> int:
    """Draw legs, torso and neck from the front; return the torso's instance."""
    wide, tall, middle = build.chest
    apart, width = build.leg
    canvas.shadow(wide * 3)
    if tail:
        path = curve([(wide * 0.8, middle), (wide * 1.6, middle), (wide * 1.35, middle - 0.26)])
        canvas.fill(ribbon(path, 0.03, 0.06), limbs.dim, "tail")
    for inset, base, near in ((0.55, 0.05, False), (1.0, 0.0, True)):
        paint = canvas.solid if near else canvas.far
        for side in (-1, 1):
            x = side * apart * inset
            leg = limb(x, middle - 0.05, x, base + 0.05, width * 1.2, width * 0.8)
            paint(leg, limbs, "leg")
            hoof = polygon("-0.45,0.8 0.45,0.8 0.62,0 -0.62,0") * width + (x, base)
            canvas.fill(hoof, (54, 47, 44) if near else (40, 36, 36), "hoof")
        if not near:
            torso = canvas.instance("torso")
            canvas.solid(ellipse(0, middle, wide, tall), hide, torso)
    _, head = build.head
    canvas.solid(limb(0, middle + 0.04, 0, head, wide * 1.15, build.head[0] * 1.5), hide, "neck")
    return torso


def draw_front_head(
    canvas: Canvas, build: Front, skin: Coat, muzzle: Colour, nod: float, *, horned: bool
) -> None:
    """Draw a head from the front."""
    size, height = build.head
    with canvas.placed(pose(0, height, size, angle=nod)):
        for turned in (np.array, mirror):
            ear = turned(smooth(build.ear))
            canvas.fill(ear, shade(skin.colour, 0.62), "ear")
            canvas.decorate(shrink(ear, 0.65), shade(skin.colour, 0.85))
            if horned:
                horn = curve(build.horn)
                canvas.fill(turned(ribbon(horn, 0.5, 0.12)), (186, 174, 150), "horn")
                canvas.decorate(turned(ribbon(horn + (0, 0.04), 0.3, 0.05)), (228, 216, 190))
        canvas.solid(smooth(complete(build.skull)), skin, "head")
        middle, wide, tall = build.muzzle
        canvas.fill(ellipse(0, middle, wide, tall), shade(muzzle, 0.82), "muzzle")
        canvas.decorate(ellipse(0, middle + tall * 0.15, wide * 0.84, tall * 0.75), muzzle)
        mouth = curve([(-wide * 0.5, middle - tall * 0.45), (0, middle - tall * 0.75),
                       (wide * 0.5, middle - tall * 0.45)], 6)  # fmt: skip
        canvas.stroke(mouth, INK, 0.06)
        x, y, radius = build.eye
        for side in (-1, 1):
            canvas.decorate(ellipse(side * wide * 0.45, middle + tall * 0.3, 0.11, 0.09), INK)
            draw_eye(canvas, side * x, y, radius, (92, 62, 42), 0.7)


TURNED = 0.3  # how often they face us


def _choose_posture(rng: Rng, build: Build, tilt: float) -> tuple[Build, float]:
    """Choose head up or head down at the grass, and the angle of the head."""
    if chance(rng, 0.72):
        return build, tilt + rng.uniform(-0.12, 0.12)
    _, _, low, high = build.neck
    down = -build.depth * 0.75 - rng.uniform(0, 0.04)
    return replace(build, neck=(0.13 + build.leg * 0.2, down, low, high)), -1.15


def draw_cow(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a cow: a heavy body, a broad pink muzzle, usually horns, often patches."""
    hide = coat(canvas, rng, colour, contrast=0.16)
    muzzle = mix(PINK, colour, 0.25)
    horned = chance(rng, 0.8)
    if chance(rng, TURNED):
        draw_front_body(canvas, FRONTS["cow"], hide, hide)
        draw_front_head(
            canvas, FRONTS["cow"], hide, muzzle, rng.uniform(-0.15, 0.15), horned=horned
        )
        return
    build, tilt = _choose_posture(rng, COW, -0.45)
    with canvas.placed(pose(-0.1, 0, 0.88)):
        _draw_udder(canvas, rng)
        trunk, head = draw_walking_body(canvas, rng, build, hide, hide)
        _draw_patches(canvas, rng, trunk, hide)
        with canvas.placed(pose(head[0] - 0.03, head[1], build.head * 1.06, angle=tilt)):
            draw_profile_head(canvas, PROFILES["cow"], hide, muzzle, horned=horned)


def _draw_udder(canvas: Canvas, rng: Rng) -> None:
    if chance(rng, 0.6):
        canvas.fill(ellipse(-0.14, COW.leg - 0.005, 0.07, 0.06), PINK)


def _draw_patches(canvas: Canvas, rng: Rng, trunk: Points, hide: Coat) -> None:
    if chance(rng, 0.35):
        return
    dark = sum(hide.colour) < 300
    blotch = mix(hide.colour, (245, 240, 232), 0.85) if dark else shade(hide.colour, 0.4)
    middle = trunk.mean(0)
    width, height = np.ptp(trunk, axis=0)
    for x in (-0.3, -0.02, 0.27):
        around = middle + (x * width, rng.uniform(-0.08, 0.12) * height)
        spot = ellipse(0, 0, width * rng.uniform(0.09, 0.15), height * rng.uniform(0.2, 0.3))
        wobble = 1 + rng.uniform(-0.3, 0.12, (len(spot), 1))
        canvas.decorate(smooth(around + spot * wobble), blotch)


def draw_horse(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a horse: long legs, a high neck with a mane, a long head."""
    hide = coat(canvas, rng, colour, contrast=0.12, grain=0.05)
    mane = shade(colour, 0.4) if chance(rng, 0.6) else mix(colour, (236, 220, 188), 0.7)
    if chance(rng, TURNED):
        nod = rng.uniform(-0.15, 0.15)
        draw_front_body(canvas, FRONTS["horse"], hide, hide)
        draw_front_head(canvas, FRONTS["horse"], hide, shade(colour, 0.6), nod, horned=False)
        lock = smooth("-0.05,1.0 -0.02,1.13 0.04,0.85 -0.02,0.78 -0.06,0.86")
        canvas.fill(lock - (0.0, 0.15), mane, "hair")
        return
    build, tilt = _choose_posture(rng, HORSE, -0.85)
    with canvas.placed(pose(-0.1, 0, 0.88)):
        trunk, head = draw_walking_body(canvas, rng, build, hide, hide)
        draw_markings(canvas, rng, trunk, hide, Markings(False, chance(rng, 0.25), colour))
        _draw_mane(canvas, rng, build, head, mane)
        with canvas.placed(pose(head[0] - 0.02, head[1], build.head * 1.08, angle=tilt)):
            draw_profile_head(canvas, PROFILES["horse"], hide, shade(colour, 0.6), horned=False)
            _draw_forelock(canvas, mane)


def _draw_mane(
    canvas: Canvas, rng: Rng, build: Build, head: tuple[float, float], colour: Colour
) -> None:
    """Draw locks along the crest of the neck."""
    withers = np.array([build.length * 0.22, build.leg + build.depth * 0.98])
    crest = np.array(head) + (-0.05, 0.04)
    hair = canvas.instance("hair")
    drop = np.array([0.03, -0.11])
    for step, along in enumerate(np.linspace(0, 1, 8).tolist()):
        root = withers + (crest - withers) * along + (-0.015, 0.015)
        tip = root + drop * rng.uniform(0.8, 1.2)
        lock = np.array([root + (-0.05, -0.01), root + (0.02, 0.05), tip + (0.02, 0), tip])
        canvas.fill(smooth(lock), shade(colour, 1.0 if step % 2 else 0.84), hair)


def _draw_forelock(canvas: Canvas, colour: Colour) -> None:
    canvas.fill(smooth("-0.06,0.2 0.06,0.32 0.36,0.2 0.1,0.14"), colour, "hair")


def draw_sheep(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a sheep: woolly, on short legs, sometimes with curled horns."""
    wool = coat(canvas, rng, mix(colour, (238, 230, 212), 0.45), contrast=0.2)
    skin = coat(canvas, rng, shade(random_colour(rng, SHARED), 0.8), contrast=0.1)
    horned = chance(rng, 0.45)
    if chance(rng, TURNED):
        front = FRONTS["sheep"]
        torso = draw_front_body(canvas, front, wool, skin, tail=False)
        wide, tall, middle = front.chest
        _draw_fleece(canvas, rng, wool, torso, (0.0, middle), (wide * 0.94, tall * 0.94))
        nod = rng.uniform(-0.15, 0.15)
        draw_front_head(canvas, front, skin, shade(skin.colour, 0.75), nod, horned=horned)
        _draw_topknot(canvas, wool, (0.0, front.head[1] + 0.1), 0.3)
        return
    build, tilt = _choose_posture(rng, SHEEP, -0.4)
    with canvas.placed(pose(-0.08, 0, 0.97)):
        _, head = draw_walking_body(canvas, rng, build, wool, skin)
        torso = canvas.concepts.index("torso") + 1
        middle = SHEEP.leg + SHEEP.depth * 0.54
        _draw_fleece(canvas, rng, wool, torso, (0.0, middle), (SHEEP.length / 2, SHEEP.depth / 2))
        with canvas.placed(pose(head[0] - 0.04, head[1], build.head * 1.15, angle=tilt)):
            shape = PROFILES["sheep"]
            draw_profile_head(canvas, shape, skin, shade(skin.colour, 0.75), horned=horned)
            _draw_topknot(canvas, wool, (0.12, 0.3), 1.0)


def _draw_topknot(canvas: Canvas, wool: Coat, place: tuple[float, float], size: float) -> None:
    tuft = canvas.instance("hair")
    with canvas.placed(pose(*place, size)):
        for x, y in ((-0.15, -0.02), (0.15, -0.02), (0.0, 0.06)):
            canvas.fill(ellipse(x, y, 0.13), wool.plain, tuft)


def _draw_fleece(
    canvas: Canvas,
    rng: Rng,
    wool: Coat,
    torso: int,
    middle: tuple[float, float],
    radii: tuple[float, float],
) -> None:
    """Draw curls around and on the body, the upper ones in the light."""
    for ring, count in ((1.0, 17), (0.72, 12), (0.4, 7)):
        for number in range(count):
            angle = 2 * math.pi * (number + ring) / count
            x = middle[0] + ring * radii[0] * math.cos(angle)
            y = middle[1] + ring * radii[1] * math.sin(angle)
            radius = 0.075 + rng.uniform(-0.008, 0.012)
            lift = math.sin(angle) * ring
            curl = wool.lit if lift > 0.35 else wool.plain if lift > -0.4 else wool.dim
            canvas.fill(ellipse(x, y, radius), curl, torso)
            arc = ellipse(x, y, radius * 0.62)[2:13]
            canvas.stroke(arc, mix(wool.colour, darken(wool.colour), 0.4), 0.012)


BILLS = palette("eca038 d6683c 544e4a e2c460")


@dataclass(frozen=True)
class Bird:
    """Proportions of a bird that faces right; the whole is about 1 high or long."""

    body: tuple[float, float]  # half length, half thickness
    lean: float  # how upright it stands
    leg: float
    neck: float  # length
    head: float  # radius
    beak: tuple[float, float]  # length, thickness
    tail: tuple[float, float]  # length, width


BIRDS: tuple[Bird, ...] = (
    Bird((0.3, 0.2), 0.5, 0.16, 0.08, 0.155, (0.15, 0.11), (0.34, 0.12)),  # songbird
    Bird((0.31, 0.22), 0.12, 0.1, 0.2, 0.12, (0.19, 0.09), (0.14, 0.13)),  # duck
    Bird((0.23, 0.14), 0.35, 0.34, 0.32, 0.085, (0.26, 0.06), (0.12, 0.1)),  # heron
    Bird((0.27, 0.19), 0.75, 0.12, 0.06, 0.15, (0.13, 0.13), (0.36, 0.16)),  # parrot
    Bird((0.28, 0.21), 0.3, 0.16, 0.14, 0.115, (0.1, 0.08), (0.28, 0.26)),  # hen
)


def draw_bird(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw one of the birds, sometimes with a wing raised."""
    build = choose(rng, BIRDS)
    plumage = coat(canvas, rng, colour, contrast=0.2, grain=0.06)
    lean = build.lean + rng.uniform(-0.12, 0.12)
    ahead = np.array([math.cos(lean), math.sin(lean)])
    long, thick = build.body
    middle = np.array([-0.05, build.leg + thick * (0.9 + 0.35 * math.sin(lean))])
    canvas.shadow(0.6)
    raised = chance(rng, 0.3)
    if raised:
        _draw_spread_wing(canvas, middle + (0.02, thick * 0.3), thick, plumage)
    _draw_tail(canvas, build, middle - ahead * long * 0.75, ahead, plumage)
    bill = random_colour(rng, BILLS)
    for number, step in enumerate((0.09, -0.03)):
        top, tone = middle[1] - thick * 0.5, 0.7 + 0.2 * number
        _draw_bird_leg(canvas, middle[0] + step, top, shade(bill, tone))
    chest = middle + ahead * long * 0.72
    head = chest + (build.neck * 0.35, build.neck + build.head * 0.55)
    path = curve([chest, chest + (build.neck * 0.7, build.neck * 0.2), head])
    canvas.fill(ribbon(path, thick * 1.15, build.head * 1.4), plumage.plain, "neck")
    canvas.solid(ellipse(middle[0], middle[1], long, thick, angle=lean), plumage, "torso")
    breast = middle + ahead * long * 0.3 + (0.02, -thick * 0.35)
    pale = mix(colour, (250, 240, 220), 0.5)
    canvas.decorate(ellipse(breast[0], breast[1], long * 0.52, thick * 0.48, angle=lean), pale)
    if not raised:
        _draw_folded_wing(canvas, middle, ahead, build, plumage)
    _draw_head(canvas, rng, build, (float(head[0]), float(head[1])), plumage, bill)


def _draw_tail(canvas: Canvas, build: Bird, root: Points, ahead: Points, plumage: Coat) -> None:
    across = np.array([-ahead[1], ahead[0]])
    length, width = build.tail
    back = -ahead * length
    fan = [root + across * 0.06, root + back + across * width * 0.6, root + back * 1.08,
           root + back - across * width * 0.4, root - across * 0.06]  # fmt: skip
    canvas.fill(fan, shade(plumage.colour, 0.6), "tail")
    for share in (0.25, -0.05):
        tip = root + back * 0.95 + across * width * share
        canvas.stroke([root, tip], shade(plumage.colour, 0.45), 0.012)


def _draw_bird_leg(canvas: Canvas, x: float, top: float, colour: Colour) -> None:
    canvas.fill(limb(x, top, x + 0.02, 0.02, 0.045, 0.032), colour, "leg")
    foot = canvas.instance("foot")
    for reach in (-0.05, 0.06, 0.1):
        end = (x + 0.02 + reach, 0.005 if reach < 0.1 else 0.025)
        canvas.fill(limb(x + 0.02, 0.03, *end, 0.035, 0.025), colour, foot)


def _draw_folded_wing(
    canvas: Canvas, middle: Points, ahead: Points, build: Bird, plumage: Coat
) -> None:
    across = np.array([-ahead[1], ahead[0]])
    long, thick = build.body
    origin = middle + across * thick * 0.12
    corners = polygon("0.5,0.25 0.2,0.6 -0.5,0.5 -1.15,0.1 -0.5,-0.25 0.25,-0.3")
    outline = smooth([origin + ahead * x * long + across * y * thick for x, y in corners])
    canvas.fill(outline, shade(plumage.colour, 0.52), "animal wing")
    canvas.decorate(shrink(outline, 0.88), shade(plumage.colour, 0.72))
    for row in (0.28, 0.08, -0.1):
        start = origin + across * row * thick + ahead * 0.15 * long
        canvas.stroke([start, start - ahead * long * 0.85], shade(plumage.colour, 0.45), 0.013)


def _draw_spread_wing(canvas: Canvas, root: Points, thick: float, plumage: Coat) -> None:
    wing = canvas.instance("animal wing")
    for number, angle in enumerate(np.linspace(1.5, 2.7, 7).tolist()):
        tip = root + np.array([math.cos(angle), math.sin(angle)]) * (0.5 - 0.02 * number)
        feather = limb(root[0], root[1], tip[0], tip[1], thick * 0.6, 0.09)
        canvas.fill(feather, shade(plumage.colour, 0.5 if number % 2 else 0.66), wing)


def _draw_head(
    canvas: Canvas, rng: Rng, build: Bird, head: tuple[float, float], plumage: Coat, bill: Colour
) -> None:
    x, y = head
    radius = build.head
    length, thickness = build.beak
    base = x + radius * 0.75
    beak = canvas.instance("beak")
    upper = [(base, y + thickness / 2), (base + length, y - 0.02), (base, y - 0.01)]
    canvas.fill(upper, bill, beak)
    lower = [(base, y), (base + length * 0.85, y - 0.025), (base, y - thickness / 2)]
    canvas.fill(lower, shade(bill, 0.7), beak)
    if chance(rng, 0.25):
        for angle in (1.7, 2.05, 2.4):
            tip = (x + math.cos(angle) * radius * 1.7, y + math.sin(angle) * radius * 1.7)
            canvas.fill(limb(x, y, *tip, radius * 0.5, radius * 0.12), plumage.dim, "head")
    canvas.solid(ellipse(x, y, radius, radius * 0.95), plumage, "head")
    if chance(rng, 0.4):
        cheek = ellipse(x + radius * 0.1, y - radius * 0.4, radius * 0.55, radius * 0.35)
        canvas.decorate(cheek, mix(plumage.colour, (250, 244, 230), 0.6))
    size = max(0.032, radius * 0.24)
    draw_eye(canvas, x + radius * 0.35, y + radius * 0.2, size, (216, 170, 70), 0.62)
