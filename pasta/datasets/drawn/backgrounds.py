"""Backgrounds and distractors, drawn independently of the object."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from pasta.datasets.drawn.canvas import (
    BRIGHT,
    SHARED,
    Canvas,
    Colour,
    Rng,
    chance,
    choose,
    ellipse,
    mix,
    palette,
    polygon,
    pose,
    random_colour,
    rectangle,
    shade,
    smooth,
    texture,
)

Draw = Callable[[Canvas, Rng], None]
Ground = Callable[[Canvas, Rng, float], None]

SKIES = palette("84b2de c4d6e4 ecc4a2 9ea8b8")
GREENS = palette("688e48 849e54 547c4c 9ea058")
EARTHS = palette("d6be92 ac8e6a 968068 e2e0de")
STREETS = palette("707074 8e8a86 5e626a a8a29a")
WALLS = palette("d4c6aa b2c4be c0aaa8 a0acc4 c6c4c0 aa745e")
PETALS = palette("f6f0e8 f4d054 dc606e b08cd0")


def draw_backdrop(canvas: Canvas, rng: Rng) -> None:
    """Draw one kind of surroundings, with objects in the distance."""
    kind = choose(rng, SURROUNDINGS)
    horizon = rng.uniform(0.46, 0.7)
    above, ground, behind = kind
    above(canvas, rng)
    if chance(rng, 0.45):
        _draw_scattered(canvas, rng, horizon, behind)
    ground(canvas, rng, horizon)


def draw_foreground(canvas: Canvas, rng: Rng) -> None:
    """Draw, or not, an object or two in front, at the lower corners."""
    for side in (-1, 1):
        if chance(rng, 0.36):
            thing = choose(rng, NEAR)
            x, y = 0.5 + side * rng.uniform(0.18, 0.45), rng.uniform(0.92, 1.01)
            with canvas.placed(pose(x, y, rng.uniform(0.15, 0.27)) * (1, -1, 1)):
                thing(canvas, rng)


def _draw_scattered(canvas: Canvas, rng: Rng, horizon: float, things: tuple[Draw, ...]) -> None:
    for _ in range(int(rng.integers(1, 4))):
        thing = choose(rng, things)
        place = pose(rng.uniform(0.05, 0.95), horizon + 0.02, rng.uniform(0.2, 0.42))
        with canvas.placed(place * (1, -1, 1)):
            thing(canvas, rng)


def _draw_gradient(canvas: Canvas, top: Colour, bottom: Colour) -> None:
    ramp = Image.new("RGB", (1, 8))
    ramp.putdata([mix(top, bottom, row / 7) for row in range(8)])
    wide = ramp.resize(canvas.colours.size, Image.Resampling.BILINEAR)
    canvas.colours.paste(wide)


def draw_sky(canvas: Canvas, rng: Rng) -> None:
    """Draw a sky that pales towards the horizon, with clouds or without."""
    colour = random_colour(rng, SKIES)
    _draw_gradient(canvas, colour, mix(colour, (250, 244, 236), 0.65))
    for _ in range(int(rng.integers(0, 4))):
        x, y, width = rng.uniform(0, 1), rng.uniform(0.04, 0.4), rng.uniform(0.08, 0.2)
        for _ in range(4):
            puff = rng.uniform(-0.6, 0.6) * width
            cloud = ellipse(x + puff, y + rng.uniform(-0.02, 0.02), width * 0.6, width * 0.25)
            canvas.tint(cloud, (252, 250, 248), 0.45)


def draw_hills(canvas: Canvas, rng: Rng) -> None:
    """Draw two ridges under a sky."""
    draw_sky(canvas, rng)
    colour = mix(random_colour(rng, GREENS), (150, 168, 186), 0.55)
    for level, factor in ((0.36, 1.12), (0.48, 0.95)):
        heights = level + rng.uniform(-0.09, 0.09, 7)
        ridge = [(-0.2, 1.0), *zip(np.linspace(-0.2, 1.2, 7), heights, strict=True), (1.2, 1.0)]
        canvas.fill(smooth(np.array(ridge)), shade(colour, factor))


def draw_wall(canvas: Canvas, rng: Rng) -> None:
    """Draw a plastered, panelled, papered or brick wall."""
    colour = random_colour(rng, WALLS)
    canvas.colours.paste(texture(rng, canvas.pixels, colour, contrast=0.12, cells=7))
    line = shade(colour, rng.uniform(0.82, 0.9))
    style = int(rng.integers(4))
    step = rng.uniform(0.09, 0.16)
    if style == 1:
        for x in np.arange(rng.uniform(0, step), 1, step):
            canvas.stroke([(x, 0), (x, 1)], line, 0.008)
    if style == 2:
        for x in np.arange(rng.uniform(0, step), 1, step * 2):
            canvas.tint(rectangle(x, 0, x + step, 1), line, 0.5)
    if style == 3:
        for row, y in enumerate(np.arange(0, 1, step * 0.55)):
            canvas.stroke([(0, y), (1, y)], line, 0.007)
            for x in np.arange(-(row % 2) * step / 2, 1, step):
                canvas.stroke([(x, y), (x, y + step * 0.55)], line, 0.007)


def draw_blur(canvas: Canvas, rng: Rng) -> None:
    """Draw an indistinct background, out of focus."""
    first, second = random_colour(rng, SHARED), random_colour(rng, WALLS)
    colour = mix(first, second, 0.7)
    canvas.colours.paste(texture(rng, canvas.pixels, colour, contrast=0.5, cells=4, grain=0.01))
    for _ in range(int(rng.integers(2, 7))):
        spot = ellipse(rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.05, 0.14))
        canvas.tint(spot, random_colour(rng, WALLS), 0.3)


def _draw_floor(canvas: Canvas, rng: Rng, horizon: float, colour: Colour, contrast: float) -> None:
    ground = texture(rng, canvas.pixels, colour, contrast=contrast, cells=26, grain=0.05)
    canvas.fill(rectangle(-0.01, horizon, 1.01, 1.01), ground)
    canvas.tint(rectangle(-0.01, horizon, 1.01, horizon + 0.05), (255, 250, 240), 0.12)


def draw_meadow(canvas: Canvas, rng: Rng, horizon: float) -> None:
    """Draw grass with blades and a few flowers."""
    colour = random_colour(rng, GREENS)
    _draw_floor(canvas, rng, horizon, colour, 0.28)
    blades = rng.uniform((0, horizon + 0.03, -0.02, 0.02), (1, 1, 0.02, 0.05), (36, 4)).tolist()
    for x, y, lean, height in blades:
        canvas.stroke([(x, y), (x + lean, y - height)], shade(colour, 0.8 + 9 * height), 0.007)
    petals = random_colour(rng, PETALS)
    for x, y, _, height in blades[: int(rng.integers(0, 12))]:
        canvas.fill(ellipse(x, y - height, 0.009), petals)


def draw_street(canvas: Canvas, rng: Rng, horizon: float) -> None:
    """Draw a pavement with its kerb, and a road, marked or not."""
    colour = random_colour(rng, STREETS)
    _draw_floor(canvas, rng, horizon, colour, 0.15)
    kerb = horizon + rng.uniform(0.05, 0.12)
    canvas.fill(rectangle(-0.01, kerb, 1.01, kerb + 0.018), shade(colour, 1.3))
    canvas.fill(rectangle(-0.01, kerb + 0.018, 1.01, kerb + 0.032), shade(colour, 0.6))
    if chance(rng, 0.5):
        y = rng.uniform(kerb + 0.12, 0.97)
        for x in np.arange(rng.uniform(-0.3, 0), 1, 0.34):
            dash = polygon("0,0 0.17,0 0.16,0.025 -0.01,0.025") + (x, y)
            canvas.decorate(dash, (226, 222, 210))


def draw_sand(canvas: Canvas, rng: Rng, horizon: float) -> None:
    """Draw a beach before the sea, or a field of earth or snow."""
    colour = random_colour(rng, EARTHS)
    if chance(rng, 0.6):
        sea = random_colour(rng, ((86, 140, 168), (112, 158, 166), (98, 122, 152)))
        canvas.fill(rectangle(-0.01, horizon - 0.08, 1.01, 1.01), sea)
        for y in rng.uniform(horizon - 0.07, horizon, 4).tolist():
            x = rng.uniform(0, 0.8)
            canvas.stroke([(x, y), (x + 0.2, y)], shade(sea, 1.25), 0.006)
    _draw_floor(canvas, rng, horizon, colour, 0.2)
    for x, y in rng.uniform((0, horizon + 0.03), (1, 1), (7, 2)).tolist():
        canvas.tint(ellipse(x, y, 0.07, 0.012), shade(colour, 0.75), 0.4)


def draw_boards(canvas: Canvas, rng: Rng, horizon: float) -> None:
    """Draw a floor of boards or tiles that runs into the distance, with a skirting board."""
    colour = random_colour(rng, ((172, 124, 82), (134, 96, 70), (188, 176, 158), (150, 148, 150)))
    _draw_floor(canvas, rng, horizon, colour, 0.2)
    seam = shade(colour, 0.78)
    vanish = rng.uniform(0.3, 0.7)
    for x in np.linspace(-1, 2, 16):
        canvas.stroke([(vanish + (x - vanish) * 0.45, horizon), (x, 1.02)], seam, 0.006)
    skirting = mix(colour, (240, 236, 228), 0.7)
    canvas.fill(rectangle(-0.01, horizon - 0.03, 1.01, horizon), skirting)


def draw_haze(canvas: Canvas, rng: Rng, horizon: float) -> None:
    """Draw a ground without horizon: only the light changes."""
    step = rng.uniform(0.04, 0.08)
    for y in np.arange(horizon, horizon + 3.5 * step, step).tolist():
        canvas.tint(rectangle(-0.01, y, 1.01, 1.01), (244, 240, 232), 0.1)


def draw_tree(canvas: Canvas, rng: Rng) -> None:
    """Draw a trunk and a crown of leaves."""
    canvas.fill(rectangle(-0.05, 0, 0.05, 0.5), (104, 78, 58))
    colour = random_colour(rng, GREENS)
    for factor, lift in ((0.72, 0.0), (0.95, 0.05), (1.15, 0.1)):
        for x, y in rng.uniform((-0.2, 0.5), (0.2, 0.85), (4, 2)).tolist():
            canvas.fill(ellipse(x, y + lift, 0.2 - lift), shade(colour, factor))


def draw_bush(canvas: Canvas, rng: Rng) -> None:
    """Draw a low heap of leaves."""
    colour = random_colour(rng, GREENS)
    for factor, lift in ((0.7, 0.0), (0.92, 0.04), (1.12, 0.1)):
        for x, y in rng.uniform((-0.35, 0.1), (0.35, 0.3), (5, 2)).tolist():
            canvas.fill(ellipse(x, y + lift, 0.2 - lift), shade(colour, factor))


def draw_lamp_post(canvas: Canvas, rng: Rng) -> None:
    """Draw a lamp post."""
    colour = random_colour(rng, STREETS)
    dark = shade(colour, 0.6)
    canvas.fill(rectangle(-0.025, 0, 0.025, 1.2), dark)
    canvas.fill(ellipse(0, 1.25, 0.12), (250, 236, 190))
    canvas.fill(rectangle(-0.12, 1.34, 0.12, 1.4), dark)


def draw_fence(canvas: Canvas, rng: Rng) -> None:
    """Draw a length of picket fence."""
    colour = mix(random_colour(rng, EARTHS), (240, 236, 230), 0.3)
    for y in (0.14, 0.34):
        canvas.fill(rectangle(-0.8, y, 0.8, y + 0.06), shade(colour, 0.8))
    for x in np.linspace(-0.75, 0.7, 8).tolist():
        top = polygon("0,0 0.09,0 0.09,0.46 0.045,0.53 0,0.46") + (x, 0)
        canvas.fill(top, colour)


def draw_ball(canvas: Canvas, rng: Rng) -> None:
    """Draw a ball with a highlight."""
    colour = random_colour(rng, BRIGHT)
    canvas.tint(ellipse(0.04, 0.02, 0.4, 0.07), (20, 20, 24), 0.3)
    canvas.fill(ellipse(0, 0.35, 0.35), shade(colour, 0.72))
    canvas.decorate(ellipse(-0.03, 0.39, 0.29), colour)
    canvas.decorate(ellipse(-0.12, 0.5, 0.09), mix(colour, (255, 255, 255), 0.6))


def draw_parcel(canvas: Canvas, rng: Rng) -> None:
    """Draw a parcel, seen from a corner."""
    colour = random_colour(rng, EARTHS)
    width, height = rng.uniform(0.5, 0.8), rng.uniform(0.4, 0.8)
    canvas.tint(ellipse(0.05, 0.02, 0.6, 0.08), (20, 20, 24), 0.3)
    side = [(0.1, 0), (0.45, 0.1), (0.45, height + 0.08), (0.1, height)]
    canvas.fill(rectangle(0.1 - width, 0, 0.1, height), colour)
    canvas.fill(side, shade(colour, 0.7))
    right, back = [(0.1, height), (0.45, height + 0.08)], (0.42 - width, height + 0.1)
    canvas.fill([(0.1 - width, height), *right, back], shade(colour, 1.12))
    canvas.decorate(rectangle(0.02 - width / 2, 0, 0.12 - width / 2, height), shade(colour, 0.85))


def draw_boulder(canvas: Canvas, rng: Rng) -> None:
    """Draw a boulder with a lit top."""
    colour = random_colour(rng, STREETS)
    outline = smooth("-0.5,0 -0.42,0.3 -0.1,0.5 0.3,0.42 0.5,0.15 0.48,0")
    canvas.fill(outline, shade(colour, 0.75))
    canvas.decorate(outline * (0.8, 0.7) + (-0.04, 0.14), colour)
    canvas.decorate(outline * (0.4, 0.3) + (-0.1, 0.3), shade(colour, 1.18))


def draw_picture(canvas: Canvas, rng: Rng) -> None:
    """Draw a framed picture that hangs on the wall."""
    canvas.fill(rectangle(-0.32, 0.5, 0.32, 1.1), shade(random_colour(rng, EARTHS), 0.7))
    canvas.fill(rectangle(-0.26, 0.56, 0.26, 1.04), random_colour(rng, WALLS))
    canvas.fill(rectangle(-0.26, 0.56, 0.26, 0.74), random_colour(rng, BRIGHT))


_OUTSIDE = (draw_tree, draw_bush, draw_lamp_post, draw_fence, draw_boulder, draw_tree)
_INSIDE = (draw_parcel, draw_picture, draw_ball, draw_picture)
NEAR: tuple[Draw, ...] = (draw_bush, draw_ball, draw_parcel, draw_boulder, draw_fence)
SURROUNDINGS: tuple[tuple[Draw, Ground, tuple[Draw, ...]], ...] = (
    (draw_sky, draw_meadow, _OUTSIDE),
    (draw_hills, draw_meadow, _OUTSIDE),
    (draw_sky, draw_sand, _OUTSIDE),
    (draw_hills, draw_sand, _OUTSIDE),
    (draw_sky, draw_street, _OUTSIDE),
    (draw_wall, draw_street, _OUTSIDE),
    (draw_wall, draw_boards, _INSIDE),
    (draw_wall, draw_boards, _INSIDE),
    (draw_blur, draw_haze, _INSIDE),
    (draw_sky, draw_haze, _OUTSIDE),
)
