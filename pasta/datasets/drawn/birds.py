"""Birds: one plan, from sparrow to heron."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pasta.datasets.drawn.canvas import (
    Canvas,
    Coat,
    Colour,
    Points,
    Rng,
    curve,
    ellipse,
    limb,
    polygon,
    ribbon,
    shade,
    shrink,
    smooth,
)
from pasta.datasets.drawn.pets import draw_eye
from pasta.datasets.drawn.surface import chance, choose, coat, mix, palette, random_colour

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
        _draw_leg(canvas, middle[0] + step, top, shade(bill, tone))
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


def _draw_leg(canvas: Canvas, x: float, top: float, colour: Colour) -> None:
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
