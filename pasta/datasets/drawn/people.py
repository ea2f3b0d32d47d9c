"""People: standing, or from the waist up."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pasta.datasets.drawn.canvas import (
    INK,
    SHARED,
    WHITE,
    Canvas,
    Coat,
    Colour,
    Rng,
    chance,
    coat,
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
    shade,
    smooth,
)

SKINS = palette("f0ceb4 deb290 be8a66 926246 624232")
HAIRS = palette("2c2422 5c3e2c 9e6c3e d6b06e a85430 b0aca8")
LIPS: Colour = (188, 84, 84)
BACK_HAIR = polygon("-0.9,0.7 0.9,0.7 1.2,-0.2 1.15,-1.5 -1.15,-1.5 -1.2,-0.2")
FRINGES = (
    "-1.02,0.1 -1.08,0.9 -0.4,1.36 0.5,1.34 1.1,0.9 1.02,0.1 0.8,0.55 0.2,0.72 -0.5,0.5 -0.84,0.42",
    "-1.0,0.2 -1.0,1.0 -0.3,1.42 0.7,1.3 1.05,0.8 1.0,0.2 0.86,0.5 0.4,0.62 -0.1,0.6 -0.7,0.74",
    "-1.0,0.15 -1.06,0.9 -0.5,1.3 0.5,1.3 1.06,0.9 1.0,0.15 0.82,0.48 0.4,0.42 -0.4,0.42 "
    "-0.82,0.48",
)


@dataclass(frozen=True)
class Looks:
    """What a person looks like and wears."""

    skin: Coat
    hair: Colour
    shirt: Coat
    trousers: Coat
    long_hair: bool
    fringe: int
    sleeves: bool


def _choose_looks(canvas: Canvas, rng: Rng, colour: Colour) -> Looks:
    def cloth(dye: Colour) -> Coat:
        return coat(canvas, rng, dye, contrast=0.15, cells=18, grain=0.05)

    return Looks(
        coat(canvas, rng, random_colour(rng, SKINS, spread=8), contrast=0.05, grain=0.03),
        random_colour(rng, HAIRS),
        cloth(colour),
        cloth(shade(random_colour(rng, SHARED), 0.65)),
        chance(rng, 0.45),
        int(rng.integers(len(FRINGES))),
        chance(rng, 0.5),
    )


def draw_person(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a person from the front; the main colour is that of the clothes above the waist."""
    looks = _choose_looks(canvas, rng, colour)
    if chance(rng, 0.5):
        _draw_standing(canvas, rng, looks)
    else:
        _draw_bust(canvas, rng, looks)


def _draw_standing(canvas: Canvas, rng: Rng, looks: Looks) -> None:
    canvas.shadow(0.5)
    stride = rng.uniform(0.0, 0.06)
    tilt = rng.uniform(-0.12, 0.12)
    if looks.long_hair:
        _draw_back_hair(canvas, (0, 0.83), 0.125, tilt, looks.hair)
    for sign in (-1, 1):
        x = sign * (0.075 + stride)
        leg = limb(sign * 0.065, 0.36, x, 0.05, 0.12, 0.085)
        canvas.solid(leg, looks.trousers, "leg")
        toe = (x + sign * 0.03 + 0.05, 0.0)
        shoe = smooth([(x - 0.05, 0.0), (x - 0.045, 0.07), (x + 0.045, 0.07), toe], 1)
        canvas.fill(shoe, darken(looks.trousers.colour), "foot")
    canvas.solid(limb(0, 0.6, 0, 0.72, 0.1), looks.skin, "neck")
    trunk = smooth("-0.11,0.66 0.11,0.66 0.16,0.6 0.13,0.32 -0.13,0.32 -0.16,0.6", 2)
    canvas.solid(trunk, looks.shirt, "torso")
    for sign in (-1, 1):
        raised = chance(rng, 0.25)
        elbow = (sign * 0.23, 0.5 if raised else 0.47)
        hand = (sign * 0.3, 0.7) if raised else (sign * rng.uniform(0.16, 0.26), 0.31)
        _draw_arm(canvas, looks, (sign * 0.13, 0.61), elbow, hand, 0.075)
    with canvas.placed(pose(0, 0.83, 0.125, angle=tilt)):
        _draw_face(canvas, rng, looks)


def _draw_bust(canvas: Canvas, rng: Rng, looks: Looks) -> None:
    tilt = rng.uniform(-0.12, 0.12)
    if looks.long_hair:
        _draw_back_hair(canvas, (0, 0.7), 0.21, tilt, looks.hair)
    canvas.solid(limb(0, 0.3, 0, 0.55, 0.19), looks.skin, "neck")
    canvas.tint(limb(0, 0.46, 0, 0.52, 0.19), INK, 0.15)
    trunk = smooth("-0.16,0.42 0.16,0.42 0.42,0.3 0.36,-0.5 -0.36,-0.5 -0.42,0.3")
    canvas.solid(trunk, looks.shirt, "torso")
    collar = [(-0.11, 0.4), (0.11, 0.4), (0, rng.uniform(0.2, 0.32))]
    canvas.fill(collar, looks.skin.plain, "neck")
    canvas.stroke([collar[0], collar[2], collar[1]], darken(looks.shirt.colour), 0.02)
    for sign in (-1, 1):
        raised = chance(rng, 0.3)
        hand = (sign * 0.5, 0.4) if raised else (sign * rng.uniform(0.1, 0.4), -0.08)
        _draw_arm(canvas, looks, (sign * 0.35, 0.26), (sign * 0.47, 0.0), hand, 0.15)
    with canvas.placed(pose(0, 0.7, 0.21, angle=tilt)):
        _draw_face(canvas, rng, looks)


def _draw_arm(
    canvas: Canvas,
    looks: Looks,
    shoulder: tuple[float, float],
    elbow: tuple[float, float],
    hand: tuple[float, float],
    width: float,
) -> None:
    part = canvas.instance("arm")
    below = looks.shirt if looks.sleeves else looks.skin
    canvas.solid(limb(*elbow, *hand, width * 0.85, width * 0.65), below, part)
    canvas.solid(limb(*shoulder, *elbow, width, width * 0.85), looks.shirt, part)
    _draw_hand(canvas, looks.skin, elbow, hand, width)


def _draw_hand(
    canvas: Canvas, skin: Coat, elbow: tuple[float, float], wrist: tuple[float, float], width: float
) -> None:
    """Draw a palm, three fingers and a thumb that point away from the elbow."""
    x, y = wrist
    heading = math.atan2(y - elbow[1], x - elbow[0])
    part = canvas.instance("hand")
    inwards = 1 if x < 0 else -1
    for angle, reach in ((-0.3, 0.95), (0.0, 1.05), (0.3, 0.95), (-1.15 * inwards, 0.75)):
        tip = (x + math.cos(heading + angle) * width * reach,
               y + math.sin(heading + angle) * width * reach)  # fmt: skip
        canvas.fill(limb(x, y, *tip, width * 0.36, width * 0.28), shade(skin.colour, 0.9), part)
    canvas.fill(ellipse(x, y, width * 0.48), skin.dim, part)
    canvas.decorate(ellipse(x, y + width * 0.04, width * 0.42), skin.plain)


def _draw_back_hair(
    canvas: Canvas, middle: tuple[float, float], size: float, tilt: float, hair: Colour
) -> None:
    with canvas.placed(pose(*middle, size, angle=tilt)):
        canvas.fill(smooth(BACK_HAIR), shade(hair, 0.75), "hair")


def _draw_face(canvas: Canvas, rng: Rng, looks: Looks) -> None:
    """Draw a face in units of its half width, around its middle."""
    skin, hair = looks.skin, looks.hair
    turn = rng.uniform(-0.15, 0.15)
    for sign in (-1, 1):
        canvas.fill(ellipse(sign * 0.98, -0.02, 0.2, 0.28), shade(skin.colour, 0.85), "ear")
        canvas.decorate(ellipse(sign * 0.98, -0.02, 0.1, 0.16), shade(skin.colour, 0.7))
    skull = smooth(
        "-0.8,1.15 0.8,1.15 1.08,0.3 0.85,-0.75 0.35,-1.22 -0.35,-1.22 -0.85,-0.75 -1.08,0.3"
    )
    canvas.solid(skull, skin, "head")
    blush = mix(skin.colour, (226, 110, 100), 0.35)
    for sign in (-1, 1):
        x = sign * 0.4 + turn
        canvas.tint(ellipse(sign * 0.58 + turn, -0.32, 0.22, 0.16), blush, 0.5)
        canvas.fill(ellipse(x, 0.12, 0.2, 0.15), WHITE, "eye")
        canvas.decorate(ellipse(x + turn * 0.3, 0.11, 0.115, 0.13), (78, 66, 58))
        canvas.decorate(ellipse(x + turn * 0.3, 0.11, 0.06, 0.07), INK)
        canvas.stroke(curve([(x - 0.21, 0.14), (x, 0.34), (x + 0.21, 0.14)], 7), INK, 0.045)
        brow = curve([(x - 0.24, 0.38 - sign * 0.02), (x, 0.5), (x + 0.24, 0.38 + sign * 0.02)], 7)
        canvas.stroke(brow, darken(hair), 0.13, "eyebrow")
    x = turn * 1.3
    nose = smooth(polygon("-0.07,0.12 0.07,0.12 0.2,-0.3 0,-0.38 -0.2,-0.3") + (x, 0))
    canvas.fill(nose, shade(skin.colour, 0.86), "nose")
    canvas.decorate(ellipse(x - 0.02, -0.22, 0.08), shade(skin.colour, 1.1))
    _draw_mouth(canvas, rng, turn * 1.1)
    solid_hair = canvas.instance("hair")
    fringe = smooth(FRINGES[looks.fringe])
    if chance(rng, 0.5):
        fringe = mirror(fringe)
    canvas.fill(fringe, hair, solid_hair)
    for start in (-0.5, -0.1, 0.3):
        strand = curve([(start, 0.75), (start - 0.05, 1.1), (start + 0.25, 1.22)], 6)
        canvas.stroke(strand, shade(hair, 1.35), 0.06)


def _draw_mouth(canvas: Canvas, rng: Rng, x: float) -> None:
    if chance(rng, 0.5):
        smile = smooth(polygon("-0.36,-0.52 0,-0.6 0.36,-0.52 0.2,-0.84 -0.2,-0.84") + (x, 0))
        canvas.fill(smile, shade(LIPS, 0.6), "mouth")
        canvas.decorate(ellipse(x, -0.63, 0.2, 0.04), WHITE)
    else:
        lips = smooth(polygon("-0.32,-0.62 -0.1,-0.56 0,-0.6 0.1,-0.56 0.32,-0.62 0,-0.8") + (x, 0))
        canvas.fill(lips, LIPS, "mouth")
        canvas.stroke([(x - 0.28, -0.64), (x, -0.68), (x + 0.28, -0.64)], shade(LIPS, 0.6), 0.04)
