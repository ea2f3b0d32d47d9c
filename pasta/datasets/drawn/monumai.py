"""Facades in four styles: one building plan for all, different elements in its bays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pasta.datasets.drawn.buildings import Plan, draw_balcony, draw_plan, draw_stone, draw_walls
from pasta.datasets.drawn.canvas import Affine, Canvas, Colour
from pasta.datasets.drawn.facades import Bay, Stone, column, draw_opening, pediment, pinnacle
from pasta.datasets.drawn.scene import SCENES, Options
from pasta.datasets.drawn.street import draw_foreground, draw_ground, draw_sky, draw_skyline
from pasta.datasets.drawn.surface import light

NOTHING = ("",)


@dataclass(frozen=True)
class Style:
    """The elements a style may put into each bay; an empty name is none, repeats come oftener."""

    portal: tuple[str, ...]
    side: tuple[str, ...]
    upper: tuple[str, ...]
    upper_side: tuple[str, ...]
    hint: Colour  # the stone that gives the style away if a profile asks for a colour bias
    portal_crown: tuple[str, ...] = NOTHING
    flank: tuple[str, ...] = NOTHING
    side_crown: tuple[str, ...] = NOTHING  # over plain windows only
    roof: tuple[str, ...] = NOTHING


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


STYLES: dict[str, Style] = {
    "Baroque": Style(
        portal=_names("rounded-arch, rounded-arch, lintelled-doorway, flat-arch"),
        portal_crown=_names("broken-pediment, broken-pediment, segmental-pediment"),
        flank=_names("solomonic-column, solomonic-column, solomonic-column,"),
        side=_names("porthole, porthole, rounded-arch, lintelled-doorway"),
        side_crown=_names("broken-pediment, segmental-pediment,"),
        upper=_names("porthole, porthole, rounded-arch, flat-arch"),
        upper_side=_names("porthole, rounded-arch"),
        hint=(222, 190, 120),
    ),
    "Gothic": Style(
        portal=_names("pointed-arch, pointed-arch, pointed-arch, ogee-arch, trefoil-arch"),
        side=_names("pointed-arch, trefoil-arch, ogee-arch, trefoil-arch, lintelled-doorway"),
        upper=_names("porthole, porthole, pointed-arch, trefoil-arch, ogee-arch"),
        upper_side=_names("trefoil-arch, pointed-arch"),
        roof=_names("pinnacle-gothic, pinnacle-gothic, pinnacle-gothic,"),
        hint=(150, 152, 160),
    ),
    "Hispanic-Muslim": Style(
        portal=_names("horseshoe-arch, horseshoe-arch, lobed-arch"),
        side=_names("lobed-arch, horseshoe-arch, flat-arch, lintelled-doorway"),
        upper=_names("lobed-arch, horseshoe-arch, flat-arch, porthole"),
        upper_side=_names("horseshoe-arch, lobed-arch"),
        hint=(196, 112, 84),
    ),
    "Renaissance": Style(
        portal=_names("lintelled-doorway, lintelled-doorway, rounded-arch, flat-arch"),
        portal_crown=_names("triangular-pediment, triangular-pediment, segmental-pediment,"),
        side=_names("rounded-arch, rounded-arch, flat-arch, lintelled-doorway"),
        side_crown=_names("triangular-pediment, triangular-pediment, segmental-pediment"),
        upper=_names("serliana, serliana, serliana, porthole, rounded-arch"),
        upper_side=_names("rounded-arch, porthole"),
        hint=(232, 216, 190),
    ),
}


@SCENES.register("monumai")
def monumai(canvas: Canvas, label: str, rng: np.random.Generator, options: Options) -> None:
    """Draw a facade of a style."""
    plan = draw_plan(rng)
    stone = draw_stone(canvas, rng, STYLES[label].hint, options.color_bias)
    draw_sky(canvas, rng)
    with canvas.placed(_view(rng)):
        draw_skyline(canvas, rng, plan.ground)
        draw_ground(canvas, rng, plan.ground)
        draw_walls(canvas, rng, plan, stone)
        _elements(canvas, plan, stone, STYLES[label], np.random.default_rng(rng.integers(2**63)))
        draw_foreground(canvas, rng, plan.ground)
    light(canvas, rng)


def _view(rng: np.random.Generator) -> Affine:
    """Stand a little to the left or right, nearer or farther: a zoom, a shift and a slant."""
    zoom, slant = float(rng.uniform(0.96, 1.22)), float(rng.uniform(-0.06, 0.06))
    x, y = float(rng.uniform(-0.03, 0.03)), float(rng.uniform(-0.03, 0.02))
    return np.array(
        [[zoom, 0.0, 0.5 * (1 - zoom) + x], [slant, zoom, 0.4 * (1 - zoom) + y - slant / 2]]
    )


def _elements(
    canvas: Canvas, plan: Plan, stone: Stone, style: Style, rng: np.random.Generator
) -> None:
    """Fill the bays with what the style has for them, symmetric about the portal."""

    def choice(names: tuple[str, ...]) -> str:
        return names[int(rng.integers(len(names)))]

    if choice(style.roof):
        _pinnacles(canvas, plan, stone, int(rng.integers(2, 5)))
    side = "" if plan.plain_sides else choice(style.side)
    upper_side = "" if plan.plain_upper_sides else choice(style.upper_side)
    crown = choice(style.side_crown) if plan.plain_sides else ""
    for bay in plan.upper_sides:
        draw_opening(canvas, upper_side, bay, stone)
    portal = choice(style.portal)
    upper = choice(tuple(name for name in style.upper if name != portal))  # never one concept alone
    draw_opening(canvas, upper, plan.upper, stone)
    if plan.balcony:
        draw_balcony(canvas, plan.upper, stone)
    for bay in plan.sides:
        draw_opening(canvas, side, _down_to(plan.ground, bay) if "doorway" in side else bay, stone)
        if crown:
            top = bay.base - bay.height - 0.025
            pediment(canvas, crown, bay.x, top, bay.half * 1.35, stone)
    _portal(canvas, plan, stone, portal, choice(style.portal_crown), choice(style.flank))


def _down_to(ground: float, bay: Bay) -> Bay:
    """A doorway starts on the ground, where a window would have its sill."""
    return replace(bay, base=ground, height=bay.height + ground - bay.base, door=True)


def _portal(canvas: Canvas, plan: Plan, stone: Stone, name: str, crown: str, flank: str) -> None:
    bay = plan.portal
    draw_opening(canvas, name, replace(bay, height=bay.height * 0.94) if crown else bay, stone)
    if flank:
        for side in (-1, 1):
            shaft = Bay(bay.x + side * (bay.half * 1.3 + 0.032), bay.base, 0.03, bay.height + 0.02)
            column(canvas, shaft, stone, twisted=True)
    if crown:
        half = bay.half * 1.4 + (0.06 if flank else 0.015)
        pediment(canvas, crown, bay.x, bay.base - bay.height - 0.035, half, stone)


def _pinnacles(canvas: Canvas, plan: Plan, stone: Stone, count: int) -> None:
    for x in np.linspace(plan.left + 0.05, plan.right - 0.05, count):
        pinnacle(canvas, Bay(float(x), plan.roof - 0.01, 0.034, 0.19), stone)
