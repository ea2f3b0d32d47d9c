"""Cows, horses and sheep from the side, standing or grazing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pasta.datasets.drawn.animals import COW, HORSE, SHEEP, Build, marked, walker
from pasta.datasets.drawn.canvas import Canvas, Colour, Points, ellipse, pose, shade, smooth
from pasta.datasets.drawn.faces import PINK, PROFILES, Markings, profile_head
from pasta.datasets.drawn.hoofed_front import FRONTS, front_body, front_head
from pasta.datasets.drawn.stage import Coat, coat, darker
from pasta.datasets.drawn.surface import SHARED, chance, mixed, random_colour

TURNED = 0.3  # how often they face us


def _posture(rng: np.random.Generator, build: Build, tilt: float) -> tuple[Build, float]:
    """Head up, or down at the grass; with the angle the head is held at."""
    if chance(rng, 0.72):
        return build, tilt + rng.uniform(-0.12, 0.12)
    _, _, low, high = build.neck
    down = -build.depth * 0.75 - rng.uniform(0, 0.04)
    return replace(build, neck=(0.13 + build.leg * 0.2, down, low, high)), -1.15


def cow(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A heavy body, broad pink muzzle, horns mostly, patches often."""
    hide = coat(canvas, rng, colour, contrast=0.16)
    muzzle = mixed(PINK, colour, 0.25)
    horned = chance(rng, 0.8)
    if chance(rng, TURNED):
        front_body(canvas, FRONTS["cow"], hide, hide)
        front_head(canvas, FRONTS["cow"], hide, muzzle, rng.uniform(-0.15, 0.15), horned=horned)
        return
    build, tilt = _posture(rng, COW, -0.45)
    with canvas.placed(pose(-0.1, 0, 0.88)):
        _udder(canvas, rng)
        trunk, head = walker(canvas, rng, build, hide, hide)
        _patches(canvas, rng, trunk, hide)
        with canvas.placed(pose(head[0] - 0.03, head[1], build.head * 1.06, angle=tilt)):
            profile_head(canvas, PROFILES["cow"], hide, muzzle, horned=horned)


def _udder(canvas: Canvas, rng: np.random.Generator) -> None:
    if chance(rng, 0.6):
        canvas.fill(ellipse(-0.14, COW.leg - 0.005, 0.07, 0.06), PINK)


def _patches(canvas: Canvas, rng: np.random.Generator, trunk: Points, hide: Coat) -> None:
    if chance(rng, 0.35):
        return
    dark = sum(hide.colour) < 300
    blotch = mixed(hide.colour, (245, 240, 232), 0.85) if dark else shade(hide.colour, 0.4)
    middle = trunk.mean(0)
    width, height = np.ptp(trunk, axis=0)
    for x in (-0.3, -0.02, 0.27):
        around = middle + (x * width, rng.uniform(-0.08, 0.12) * height)
        spot = ellipse(0, 0, width * rng.uniform(0.09, 0.15), height * rng.uniform(0.2, 0.3))
        wobble = 1 + rng.uniform(-0.3, 0.12, (len(spot), 1))
        canvas.decorate(smooth(around + spot * wobble), blotch)


def horse(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """Long legs, a high neck with a mane, a long head."""
    hide = coat(canvas, rng, colour, contrast=0.12, grain=0.05)
    mane = shade(colour, 0.4) if chance(rng, 0.6) else mixed(colour, (236, 220, 188), 0.7)
    if chance(rng, TURNED):
        nod = rng.uniform(-0.15, 0.15)
        front_body(canvas, FRONTS["horse"], hide, hide)
        front_head(canvas, FRONTS["horse"], hide, shade(colour, 0.6), nod, horned=False)
        lock = smooth([(-0.05, 1.0), (-0.02, 1.13), (0.04, 0.85), (-0.02, 0.78), (-0.06, 0.86)])
        canvas.fill(lock - (0.0, 0.15), mane, "hair")
        return
    build, tilt = _posture(rng, HORSE, -0.85)
    with canvas.placed(pose(-0.1, 0, 0.88)):
        trunk, head = walker(canvas, rng, build, hide, hide)
        marked(canvas, rng, trunk, hide, Markings(False, chance(rng, 0.25), colour))
        _mane(canvas, rng, build, head, mane)
        with canvas.placed(pose(head[0] - 0.02, head[1], build.head * 1.08, angle=tilt)):
            profile_head(canvas, PROFILES["horse"], hide, shade(colour, 0.6), horned=False)
            _forelock(canvas, mane)


def _mane(
    canvas: Canvas,
    rng: np.random.Generator,
    build: Build,
    head: tuple[float, float],
    colour: Colour,
) -> None:
    """Locks along the crest of the neck."""
    withers = np.array([build.length * 0.22, build.leg + build.depth * 0.98])
    crest = np.array(head) + (-0.05, 0.04)
    hair = canvas.instance("hair")
    drop = np.array([0.03, -0.11])
    for step, along in enumerate(np.linspace(0, 1, 8).tolist()):
        root = withers + (crest - withers) * along + (-0.015, 0.015)
        tip = root + drop * rng.uniform(0.8, 1.2)
        lock = np.array([root + (-0.05, -0.01), root + (0.02, 0.05), tip + (0.02, 0), tip])
        canvas.fill(smooth(lock), shade(colour, 1.0 if step % 2 else 0.84), hair)


def _forelock(canvas: Canvas, colour: Colour) -> None:
    canvas.fill(smooth([(-0.06, 0.2), (0.06, 0.32), (0.36, 0.2), (0.1, 0.14)]), colour, "hair")


def sheep(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A cloud of wool on short legs; the rams have curled horns."""
    wool = coat(canvas, rng, mixed(colour, (238, 230, 212), 0.45), contrast=0.2)
    skin = coat(canvas, rng, shade(random_colour(rng, SHARED), 0.8), contrast=0.1)
    horned = chance(rng, 0.45)
    if chance(rng, TURNED):
        front = FRONTS["sheep"]
        torso = front_body(canvas, front, wool, skin, tail=False)
        wide, tall, middle = front.chest
        _fleece(canvas, rng, wool, torso, (0.0, middle), (wide * 0.94, tall * 0.94))
        nod = rng.uniform(-0.15, 0.15)
        front_head(canvas, front, skin, shade(skin.colour, 0.75), nod, horned=horned)
        _topknot(canvas, wool, (0.0, front.head[1] + 0.1), 0.3)
        return
    build, tilt = _posture(rng, SHEEP, -0.4)
    with canvas.placed(pose(-0.08, 0, 0.97)):
        _, head = walker(canvas, rng, build, wool, skin)
        torso = canvas.concepts.index("torso") + 1
        middle = SHEEP.leg + SHEEP.depth * 0.54
        _fleece(canvas, rng, wool, torso, (0.0, middle), (SHEEP.length / 2, SHEEP.depth / 2))
        with canvas.placed(pose(head[0] - 0.04, head[1], build.head * 1.15, angle=tilt)):
            shape = PROFILES["sheep"]
            profile_head(canvas, shape, skin, shade(skin.colour, 0.75), horned=horned)
            _topknot(canvas, wool, (0.12, 0.3), 1.0)


def _topknot(canvas: Canvas, wool: Coat, place: tuple[float, float], size: float) -> None:
    tuft = canvas.instance("hair")
    with canvas.placed(pose(*place, size)):
        for x, y in ((-0.15, -0.02), (0.15, -0.02), (0.0, 0.06)):
            canvas.fill(ellipse(x, y, 0.13), wool.plain, tuft)


def _fleece(
    canvas: Canvas,
    rng: np.random.Generator,
    wool: Coat,
    torso: int,
    middle: tuple[float, float],
    radii: tuple[float, float],
) -> None:
    """Curls around and on the body, the upper ones in the light."""
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
            canvas.stroke(arc, mixed(wool.colour, darker(wool.colour), 0.4), 0.012)
