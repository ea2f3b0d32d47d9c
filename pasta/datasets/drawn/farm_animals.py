"""Cows, horses and sheep, from the side or from the front."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pasta.datasets.drawn.canvas import (
    INK,
    Canvas,
    Coat,
    Colour,
    Points,
    Rng,
    complete,
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
from pasta.datasets.drawn.pets import (
    COW,
    HORSE,
    PINK,
    PROFILES,
    SHEEP,
    Build,
    Markings,
    draw_eye,
    draw_markings,
    draw_profile_head,
    draw_walking_body,
)
from pasta.datasets.drawn.surface import SHARED, chance, coat, darken, mix, random_colour


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
