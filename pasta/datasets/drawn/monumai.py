"""Facades in four styles: one building plan, different elements in its bays, and a street."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pasta.datasets.drawn.canvas import (
    Affine,
    Canvas,
    Colour,
    Rng,
    chance,
    choose,
    ellipse,
    light,
    limb,
    mix,
    palette,
    polygon,
    random_colour,
    rectangle,
    shade,
    smooth,
    texture,
)
from pasta.datasets.drawn.facades import (
    Bay,
    Plan,
    Stone,
    choose_plan,
    choose_stone,
    draw_balcony,
    draw_column,
    draw_opening,
    draw_pediment,
    draw_pinnacle,
    draw_walls,
)
from pasta.datasets.vocabulary import split_names

NOTHING = ("",)


@dataclass(frozen=True)
class Style:
    """The elements a style may put into each bay; an empty name is none."""

    portal: tuple[str, ...]
    side: tuple[str, ...]
    upper: tuple[str, ...]
    upper_side: tuple[str, ...]
    hint: Colour  # the stone that gives the style away if a profile asks for a colour bias
    portal_crown: tuple[str, ...] = NOTHING
    flank: tuple[str, ...] = NOTHING
    side_crown: tuple[str, ...] = NOTHING  # over plain windows only
    roof: tuple[str, ...] = NOTHING


STYLES: dict[str, Style] = {
    "Baroque": Style(
        portal=split_names("rounded-arch, rounded-arch, lintelled-doorway, flat-arch"),
        portal_crown=split_names("broken-pediment, broken-pediment, segmental-pediment"),
        flank=split_names("solomonic-column, solomonic-column, solomonic-column,"),
        side=split_names("porthole, porthole, rounded-arch, lintelled-doorway"),
        side_crown=split_names("broken-pediment, segmental-pediment,"),
        upper=split_names("porthole, porthole, rounded-arch, flat-arch"),
        upper_side=split_names("porthole, rounded-arch"),
        hint=(222, 190, 120),
    ),
    "Gothic": Style(
        portal=split_names("pointed-arch, pointed-arch, pointed-arch, ogee-arch, trefoil-arch"),
        side=split_names("pointed-arch, trefoil-arch, ogee-arch, trefoil-arch, lintelled-doorway"),
        upper=split_names("porthole, porthole, pointed-arch, trefoil-arch, ogee-arch"),
        upper_side=split_names("trefoil-arch, pointed-arch"),
        roof=split_names("pinnacle-gothic, pinnacle-gothic, pinnacle-gothic,"),
        hint=(150, 152, 160),
    ),
    "Hispanic-Muslim": Style(
        portal=split_names("horseshoe-arch, horseshoe-arch, lobed-arch"),
        side=split_names("lobed-arch, horseshoe-arch, flat-arch, lintelled-doorway"),
        upper=split_names("lobed-arch, horseshoe-arch, flat-arch, porthole"),
        upper_side=split_names("horseshoe-arch, lobed-arch"),
        hint=(196, 112, 84),
    ),
    "Renaissance": Style(
        portal=split_names("lintelled-doorway, lintelled-doorway, rounded-arch, flat-arch"),
        portal_crown=split_names("triangular-pediment, triangular-pediment, segmental-pediment,"),
        side=split_names("rounded-arch, rounded-arch, flat-arch, lintelled-doorway"),
        side_crown=split_names("triangular-pediment, triangular-pediment, segmental-pediment"),
        upper=split_names("serliana, serliana, serliana, porthole, rounded-arch"),
        upper_side=split_names("rounded-arch, porthole"),
        hint=(232, 216, 190),
    ),
}


def draw_monument(canvas: Canvas, label: str, rng: Rng, color_bias: float) -> None:
    """Draw a facade of a style."""
    plan = choose_plan(rng)
    stone = choose_stone(canvas, rng, STYLES[label].hint, color_bias)
    draw_sky(canvas, rng)
    with canvas.placed(_choose_view(rng)):
        draw_skyline(canvas, rng, plan.ground)
        draw_ground(canvas, rng, plan.ground)
        draw_walls(canvas, rng, plan, stone)
        _draw_elements(
            canvas, plan, stone, STYLES[label], np.random.default_rng(rng.integers(2**63))
        )
        draw_foreground(canvas, rng, plan.ground)
    light(canvas, rng)


def _choose_view(rng: Rng) -> Affine:
    """Choose a zoom, a shift and a slant."""
    zoom, slant = rng.uniform(0.96, 1.22), rng.uniform(-0.06, 0.06)
    x, y = rng.uniform(-0.03, 0.03), rng.uniform(-0.03, 0.02)
    return np.array(
        [[zoom, 0.0, 0.5 * (1 - zoom) + x], [slant, zoom, 0.4 * (1 - zoom) + y - slant / 2]]
    )


def _draw_elements(canvas: Canvas, plan: Plan, stone: Stone, style: Style, rng: Rng) -> None:
    """Fill the bays with elements of the style, symmetric about the portal."""
    if choose(rng, style.roof):
        _draw_pinnacles(canvas, plan, stone, int(rng.integers(2, 5)))
    side = "" if plan.plain_sides else choose(rng, style.side)
    upper_side = "" if plan.plain_upper_sides else choose(rng, style.upper_side)
    crown = choose(rng, style.side_crown) if plan.plain_sides else ""
    for bay in plan.upper_sides:
        draw_opening(canvas, upper_side, bay, stone)
    portal = choose(rng, style.portal)
    others = tuple(name for name in style.upper if name != portal)  # never one concept alone
    draw_opening(canvas, choose(rng, others), plan.upper, stone)
    if plan.balcony:
        draw_balcony(canvas, plan.upper, stone)
    for bay in plan.sides:
        draw_opening(canvas, side, _down_to(plan.ground, bay) if "doorway" in side else bay, stone)
        if crown:
            top = bay.base - bay.height - 0.025
            draw_pediment(canvas, crown, bay.x, top, bay.half * 1.35, stone)
    crown, flank = choose(rng, style.portal_crown), choose(rng, style.flank)
    _draw_portal(canvas, plan, stone, portal, crown, flank)


def _down_to(ground: float, bay: Bay) -> Bay:
    """Extend a bay to the ground: a doorway has no sill."""
    return replace(bay, base=ground, height=bay.height + ground - bay.base, door=True)


def _draw_portal(
    canvas: Canvas, plan: Plan, stone: Stone, name: str, crown: str, flank: str
) -> None:
    bay = plan.portal
    draw_opening(canvas, name, replace(bay, height=bay.height * 0.94) if crown else bay, stone)
    if flank:
        for side in (-1, 1):
            shaft = Bay(bay.x + side * (bay.half * 1.3 + 0.032), bay.base, 0.03, bay.height + 0.02)
            draw_column(canvas, shaft, stone, twisted=True)
    if crown:
        half = bay.half * 1.4 + (0.06 if flank else 0.015)
        draw_pediment(canvas, crown, bay.x, bay.base - bay.height - 0.035, half, stone)


def _draw_pinnacles(canvas: Canvas, plan: Plan, stone: Stone, count: int) -> None:
    for x in np.linspace(plan.left + 0.05, plan.right - 0.05, count):
        draw_pinnacle(canvas, Bay(float(x), plan.roof - 0.01, 0.034, 0.19), stone)


SKIES = palette("8eb8de baccda e2cebe 6c96cc")
GROUNDS = palette("9e9282 807e80 b2a084 708258")
LEAVES = palette("4c703c 688446 3c5c42 948640")
CLOTHES = palette("3c3e4e 963c36 46688c c4aa78")


def draw_sky(canvas: Canvas, rng: Rng) -> None:
    """Draw a mottled sky, sometimes with single clouds."""
    colour = random_colour(rng, SKIES)
    sky = texture(rng, canvas.pixels, colour, contrast=0.22, cells=5, grain=0.0)
    canvas.fill(rectangle(0, 0, 1, 1), sky)
    for _ in range(int(rng.integers(0, 4))):
        x, y, size = (rng.random(), rng.uniform(0.02, 0.3), rng.uniform(0.06, 0.14))
        for shift, share in ((-0.8, 0.5), (0.0, 0.8), (0.8, 0.55)):
            cloud = ellipse(x + shift * size, y, size * share * 1.3, size * share * 0.5)
            canvas.tint(cloud, (255, 252, 246), 0.4)


def draw_ground(canvas: Canvas, rng: Rng, level: float) -> None:
    """Draw a square or street in front of the building, paved towards a vanishing point."""
    colour = random_colour(rng, GROUNDS)
    canvas.fill(rectangle(-0.3, level, 1.3, 1.3), colour)
    vanish = rng.uniform(0.3, 0.7)
    for x in np.arange(-1.2, 2.3, 0.28):
        canvas.stroke([(vanish + (x - vanish) * 0.6, level), (x, 1.1)], shade(colour, 0.86), 0.006)
    for share in (0.3, 0.75):
        y = level + (1 - level) * share
        canvas.stroke([(-0.3, y), (1.3, y)], shade(colour, 0.86), 0.006)
    canvas.tint(rectangle(-0.3, level, 1.3, level + 0.025), (16, 14, 20), 0.3)


def draw_skyline(canvas: Canvas, rng: Rng, level: float) -> None:
    """Draw roofs and hills far behind."""
    colour = mix(random_colour(rng, LEAVES), (176, 190, 206), 0.6)
    heights = level - rng.uniform(0.12, 0.4, 6)
    ridge = [(-0.3, level), *zip(np.linspace(-0.3, 1.3, 6), heights, strict=True), (1.3, level)]
    canvas.fill(smooth(ridge), colour)


def draw_foreground(canvas: Canvas, rng: Rng, level: float) -> None:
    """Draw what stands or passes in front, mostly at the sides."""
    side = float(rng.choice([-0.02, 1.02])) + rng.uniform(-0.04, 0.04)
    if chance(rng, 0.35):
        _draw_tree(canvas, rng, side, level + 0.05)
    if chance(rng, 0.35):
        _draw_street_lamp(canvas, rng, float(rng.choice([0.06, 0.94])), level + 0.06)
    if chance(rng, 0.2):
        _draw_car(canvas, rng, rng.uniform(0.05, 0.95), min(level + 0.1, 0.99))
    for _ in range(int(rng.integers(0, 4))):
        x, y = rng.uniform(0.05, 0.95), level + rng.uniform(0.02, 0.07)
        _draw_passer_by(canvas, rng, x, y)


def _draw_tree(canvas: Canvas, rng: Rng, x: float, y: float) -> None:
    leaf, height = random_colour(rng, LEAVES), rng.uniform(0.35, 0.6)
    canvas.fill(limb(x, y, x, y - height * 0.7, 0.035, 0.02), (92, 70, 52))
    for index in range(7):
        dx, dy = rng.uniform(-0.1, 0.1, 2)
        crown = ellipse(x + dx, y - height + dy, rng.uniform(0.05, 0.09))
        canvas.fill(crown, shade(leaf, 0.75 + 0.07 * index))


def _draw_street_lamp(canvas: Canvas, rng: Rng, x: float, y: float) -> None:
    height = rng.uniform(0.35, 0.5)
    iron: Colour = (44, 46, 50)
    canvas.fill(rectangle(x - 0.02, y - 0.03, x + 0.02, y), iron)
    canvas.stroke([(x, y), (x, y - height)], iron, 0.014, None)
    top = y - height
    canvas.fill(polygon("-0.022,-0.06 0.022,-0.06 0.014,0 -0.014,0") + (x, top), (250, 232, 180))
    canvas.fill([(x - 0.03, top - 0.06), (x, top - 0.09), (x + 0.03, top - 0.06)], iron)


def _draw_passer_by(canvas: Canvas, rng: Rng, x: float, y: float) -> None:
    height, colour = rng.uniform(0.1, 0.14), random_colour(rng, CLOTHES)
    canvas.tint(ellipse(x + 0.01, y, 0.025, 0.006), (0, 0, 0), 0.3)
    for shift in (-0.008, 0.01):
        canvas.fill(limb(x, y - height * 0.5, x + shift, y, 0.014), (48, 46, 56))
    canvas.fill(limb(x, y - height * 0.76, x, y - height * 0.42, 0.034, 0.028), colour)
    canvas.fill(ellipse(x, y - height * 0.92, height * 0.1), (206, 164, 132))


def _draw_car(canvas: Canvas, rng: Rng, x: float, y: float) -> None:
    colour = random_colour(rng, CLOTHES)
    cabin = polygon("-0.07,-0.06 -0.03,-0.11 0.05,-0.11 0.09,-0.06") + (x, y)
    canvas.fill(smooth(cabin), (64, 76, 90))
    canvas.fill(smooth(polygon("-0.13,-0.07 0.12,-0.07 0.13,-0.01 -0.13,-0.01") + (x, y)), colour)
    for shift in (-0.075, 0.075):
        canvas.fill(ellipse(x + shift, y - 0.015, 0.024), (30, 30, 34))
