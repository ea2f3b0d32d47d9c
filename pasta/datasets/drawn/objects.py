"""People, bottles, potted plants and televisions: what is neither animal nor vehicle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pasta.datasets.drawn.canvas import (
    BRIGHT,
    INK,
    SHARED,
    WHITE,
    Canvas,
    Coat,
    Colour,
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
    parallelogram,
    polygon,
    pose,
    random_colour,
    rectangle,
    ribbon,
    shade,
    smooth,
    texture,
    varnish,
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


HALVES = (  # right half of a bottle, from below
    "0.0,0.0 0.15,0.0 0.16,0.02 0.16,0.55 0.06,0.72 0.055,0.92 0.0,0.92",
    "0.0,0.0 0.14,0.0 0.15,0.03 0.15,0.6 0.14,0.66 0.05,0.7 0.05,0.92 0.0,0.92",
    "0.0,0.0 0.18,0.0 0.2,0.04 0.17,0.34 0.2,0.6 0.09,0.84 0.08,0.92 0.0,0.92",
    "0.0,0.0 0.22,0.0 0.24,0.04 0.24,0.5 0.2,0.64 0.08,0.76 0.08,0.92 0.0,0.92",
)
RIDGE = polygon("0.06,0.1 0.06,0.4 0.3,0.62 0.52,0.36 0.72,0.5 0.94,0.3 0.94,0.1")
LEAVES = palette("4a8042 60944e 3a6c4e 7e9646")


def draw_bottle(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a slightly transparent bottle with a label and a cap."""
    half = polygon(choose(rng, HALVES)) * (rng.uniform(0.95, 1.25), 1)
    outline = complete(half)
    width, neck = half[:, 0].max(), half[-2, 0]
    canvas.shadow(width * 2.6)
    body = canvas.instance("body")
    canvas.mark(outline, body)
    canvas.tint(outline, colour, 0.78)
    canvas.tint(outline * (0.8, 0.97) + (0.0, 0.008), mix(colour, (255, 250, 240), 0.35), 0.4)
    level = rng.uniform(0.3, 0.62)
    canvas.tint(rectangle(-width * 0.86, 0.02, width * 0.86, level), shade(colour, 0.6), 0.45)
    canvas.tint(limb(width * 0.76, 0.07, width * 0.76, half[-4, 1] * 0.8, width * 0.36), INK, 0.22)
    if chance(rng, 0.8):
        _draw_label(canvas, rng, width)
    canvas.gloss(limb(-width * 0.66, 0.1, -width * 0.66, 0.5, 0.03), 0.55)
    canvas.gloss(limb(-neck * 0.45, 0.78, -neck * 0.45, 0.9, 0.016), 0.5)
    cap = random_colour(rng, BRIGHT)
    canvas.fill(rectangle(-neck * 1.35, 0.89, neck * 1.35, 1.0), shade(cap, 0.75), "cap")
    canvas.decorate(rectangle(-neck * 1.2, 0.9, neck * 0.7, 0.995), cap)
    for x in np.linspace(-neck, neck, 5).tolist():
        canvas.stroke([(x, 0.9), (x, 0.99)], shade(cap, 0.65), 0.008)


def _draw_label(canvas: Canvas, rng: Rng, width: float) -> None:
    low, high = rng.uniform(0.1, 0.18), rng.uniform(0.36, 0.46)
    paper = mix(random_colour(rng, SHARED), (248, 244, 232), 0.7)
    canvas.decorate(rectangle(-width * 0.94, low, width * 0.94, high), paper)
    canvas.decorate(rectangle(width * 0.5, low, width * 0.94, high), shade(paper, 0.82))
    emblem = random_colour(rng, BRIGHT)
    canvas.decorate(ellipse(0, (low + high) / 2 + 0.03, width * 0.4, 0.06), emblem)
    canvas.stroke([(-width * 0.6, low + 0.04), (width * 0.6, low + 0.04)], darken(emblem), 0.014)


def draw_pottedplant(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a plant of one of five habits in a pot or a bowl."""
    clay = coat(canvas, rng, colour, contrast=0.12, cells=14, grain=0.04)
    green = random_colour(rng, LEAVES)
    leaves = coat(canvas, rng, green, contrast=0.25, cells=30)
    wide, foot, high = rng.uniform(0.18, 0.25), rng.uniform(0.11, 0.17), rng.uniform(0.26, 0.36)
    canvas.shadow(wide * 2.5)
    part = canvas.instance("plant")
    habit = int(rng.integers(5))
    if habit < 2:
        _draw_fronds(canvas, rng, high, green, part, broad=habit == 1)
    elif habit == 2:
        _draw_crown(canvas, rng, high, green, part)
    elif habit == 3:
        for x, y, rx, ry in (
            (0.17, 0.3, 0.07, 0.13),
            (-0.16, 0.22, 0.06, 0.1),
            (0, 0.3, 0.13, 0.34),
        ):
            canvas.solid(ellipse(x, high + y, rx, ry), leaves, part)
        for x in (-0.06, 0.0, 0.06):
            rib = curve([(x, high), (x * 1.8, high + 0.3), (x * 0.7, high + 0.6)])
            canvas.stroke(rib, darken(green), 0.01)
    else:
        _draw_flowers(canvas, rng, high, green, part)
    _draw_pot(canvas, clay.colour, wide, foot, high)


def _draw_pot(canvas: Canvas, colour: Colour, wide: float, foot: float, high: float) -> None:
    pot = canvas.instance("pot")
    wall = [(-wide * 0.92, high), (wide * 0.92, high), (foot, 0), (-foot, 0)]
    canvas.fill(wall, colour, pot)
    canvas.tint([(wide * 0.3, high), (wide * 0.92, high), (foot, 0), (foot * 0.4, 0)], INK, 0.28)
    canvas.tint([(wide * 0.62, high), (wide * 0.92, high), (foot, 0), (foot * 0.7, 0)], INK, 0.2)
    canvas.gloss(limb(-wide * 0.6, high * 0.7, -foot * 0.6, high * 0.2, 0.035), 0.25)
    rim = rectangle(-wide, high - 0.05, wide, high + 0.02)
    canvas.fill(rim, shade(colour, 1.12), pot)
    canvas.tint(rectangle(wide * 0.45, high - 0.05, wide, high + 0.02), INK, 0.25)
    canvas.tint(rectangle(-wide * 0.92, high - 0.075, wide * 0.92, high - 0.05), INK, 0.25)


def _draw_fronds(
    canvas: Canvas, rng: Rng, high: float, green: Colour, part: int, *, broad: bool
) -> None:
    count, girth = (9, 0.13) if broad else (17, 0.06)
    for angle in rng.permutation(np.linspace(0.25, math.pi - 0.25, count)).tolist():
        reach = rng.uniform(0.42, 0.6)
        x, y = math.cos(angle) * reach, math.sin(angle) * reach * 1.1
        tone = shade(green, rng.uniform(0.7, 1.25))
        tip = (x * 1.1, high + y * rng.uniform(0.75, 1.0))
        vein = curve([(0, high - 0.02), (x * 0.35, high + y * 0.9 + 0.06), tip], 11)
        swell = np.sin(np.linspace(0.15, math.pi, 11))[:, None] if broad else np.ones((11, 1))
        leaf = ribbon(vein, girth, girth if broad else 0.008)
        middle = np.concatenate([vein, vein[::-1]])
        canvas.fill(middle + (leaf - middle) * np.concatenate([swell, swell[::-1]]), tone, part)
        canvas.stroke(vein, shade(tone, 0.75), 0.008)


def _draw_crown(canvas: Canvas, rng: Rng, high: float, green: Colour, part: int) -> None:
    canvas.fill(limb(0, high - 0.05, 0, high + 0.3, 0.05, 0.04), (112, 84, 60), part)
    for factor, lift, count in ((0.65, 0.0, 9), (0.9, 0.03, 9), (1.18, 0.06, 7)):
        for angle, share in rng.uniform((0, 0.2), (2 * math.pi, 1), (count, 2)).tolist():
            x, y = math.cos(angle) * share * 0.2, math.sin(angle) * share * 0.17
            spot = ellipse(x, high + 0.4 + y + lift, 0.1 - lift * 0.4, 0.075, angle=angle)
            canvas.fill(spot, shade(green, factor), part)


def _draw_flowers(canvas: Canvas, rng: Rng, high: float, green: Colour, part: int) -> None:
    _draw_fronds(canvas, rng, high - 0.04, green, part, broad=True)
    petal = random_colour(rng, BRIGHT)
    for x in (-0.24, 0.02, 0.25):
        y = high + rng.uniform(0.38, 0.56)
        canvas.stroke(curve([(0, high), (x * 0.4, y - 0.1), (x, y)]), shade(green, 0.8), 0.02, part)
        for angle in np.linspace(0, 2 * math.pi, 7)[:-1].tolist():
            spot = ellipse(x + math.cos(angle) * 0.06, y + math.sin(angle) * 0.06, 0.048)
            canvas.fill(spot, shade(petal, 0.85 + 0.2 * math.sin(angle)), part)
        canvas.fill(ellipse(x, y, 0.036), (246, 206, 92), part)


def draw_tvmonitor(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Draw a flat screen on a stand, or an old set with a deep case, knobs and an aerial."""
    case = varnish(canvas, rng, shade(colour, 0.8))
    old = chance(rng, 0.35)
    high = rng.uniform(0.5, 0.62) + 0.12 * old
    base = 0.05 if old else 0.14
    canvas.shadow(0.9 if old else 0.6)
    part = canvas.instance("body")
    if old:
        for lean in (-0.18, 0.2):
            canvas.stroke([(0, base + high), (lean, base + high + 0.22)], (150, 152, 156), 0.014)
        for x in (-0.34, 0.34):
            canvas.fill(rectangle(x - 0.03, 0, x + 0.03, base + 0.02), INK, part)
    else:
        canvas.fill("-0.05,0.02 -0.03,0.2 0.03,0.2 0.05,0.02", case.dim, part)
        canvas.fill(ellipse(0, 0.025, 0.22, 0.028), case.plain, part)
    frame = rectangle(-0.5, base, 0.5, base + high)
    canvas.fill(frame, case.plain, part)
    canvas.decorate(rectangle(-0.5, base + high - 0.012, 0.5, base + high), case.lit)
    canvas.tint(rectangle(-0.5, base, 0.5, base + 0.03), INK, 0.35)
    edge = 0.06 if old else 0.03
    right = 0.3 if old else 0.5 - edge
    if old:
        for y in (0.75, 0.55):
            canvas.decorate(ellipse(0.4, base + high * y, 0.05), (206, 200, 188))
            canvas.stroke([(0.4, base + high * y), (0.4, base + high * y + 0.04)], INK, 0.014)
        for y in np.linspace(0.12, 0.36, 4).tolist():
            canvas.stroke([(0.34, base + high * y), (0.46, base + high * y)], INK, 0.014)
    bounds = (edge - 0.5, base + edge + 0.01, right, base + high - edge)
    _draw_broadcast(canvas, rng, bounds, rounded=old)


def _draw_broadcast(
    canvas: Canvas, rng: Rng, bounds: tuple[float, float, float, float], *, rounded: bool
) -> None:
    """Draw what is on the screen: a landscape, a text or nothing."""
    x0, y0, x1, y1 = bounds
    outline = rectangle(x0, y0, x1, y1)
    if rounded:
        low, high = (outline[0] + outline[1]) / 2, (outline[2] + outline[3]) / 2
        outline = smooth(np.array([outline[0], low, *outline[1:3], high, outline[3]]), 1)
    shown = random_colour(rng, ((36, 42, 54), (92, 140, 186), (46, 84, 116), (120, 132, 140)))
    canvas.fill(outline, texture(rng, canvas.pixels, shown, contrast=0.25, cells=5), "screen")
    with canvas.placed(
        parallelogram(np.array([x0, y0]), np.array([x1 - x0, 0]), np.array([0, y1 - y0]))
    ):
        programme = int(rng.integers(3))
        if programme == 0:
            canvas.decorate(ellipse(0.74, 0.74, 0.06, 0.1), (250, 226, 150))
            canvas.decorate(RIDGE, random_colour(rng, BRIGHT))
        elif programme == 1:
            for y in np.linspace(0.82, 0.22, 5).tolist():
                canvas.stroke([(0.1, y), (rng.uniform(0.4, 0.9), y)], shade(shown, 1.9), 0.03)
        canvas.gloss("0.1,0.12 0.28,0.12 0.52,0.9 0.3,0.9", 0.16)
