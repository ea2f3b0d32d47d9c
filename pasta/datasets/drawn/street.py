"""What surrounds a monument: sky, ground, trees, lamps, passers-by. None of it is a concept."""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.canvas import Canvas, Colour, ellipse, limb, rectangle, shade, smooth
from pasta.datasets.drawn.surface import chance, mixed, random_colour, texture

SKIES: tuple[Colour, ...] = ((142, 184, 222), (186, 204, 218), (226, 206, 190), (108, 150, 204))
GROUNDS: tuple[Colour, ...] = ((158, 146, 130), (128, 126, 128), (178, 160, 132), (112, 130, 88))
LEAVES: tuple[Colour, ...] = ((76, 112, 60), (104, 132, 70), (60, 92, 66), (148, 134, 64))
CLOTHES: tuple[Colour, ...] = ((60, 62, 78), (150, 60, 54), (70, 104, 140), (196, 170, 120))


def draw_sky(canvas: Canvas, rng: np.random.Generator) -> None:
    """Clouds are the mottling of the sky, with a few of them drawn out."""
    colour = random_colour(rng, SKIES)
    sky = texture(rng, canvas.pixels, colour, contrast=0.22, cells=5, grain=0.0)
    canvas.fill(rectangle(0, 0, 1, 1), sky)
    for _ in range(int(rng.integers(0, 4))):
        x, y, size = (
            float(rng.random()),
            float(rng.uniform(0.02, 0.3)),
            float(rng.uniform(0.06, 0.14)),
        )
        for shift, share in ((-0.8, 0.5), (0.0, 0.8), (0.8, 0.55)):
            canvas.tint(
                ellipse(x + shift * size, y, size * share * 1.3, size * share * 0.5),
                (255, 252, 246),
                0.4,
            )


def draw_ground(canvas: Canvas, rng: np.random.Generator, level: float) -> None:
    """A square or a street in front of the building, paved towards a vanishing point."""
    colour = random_colour(rng, GROUNDS)
    canvas.fill(rectangle(-0.3, level, 1.3, 1.3), colour)
    vanish = float(rng.uniform(0.3, 0.7))
    for x in np.arange(-1.2, 2.3, 0.28):
        canvas.stroke([(vanish + (x - vanish) * 0.6, level), (x, 1.1)], shade(colour, 0.86), 0.006)
    for share in (0.3, 0.75):
        y = level + (1 - level) * share
        canvas.stroke([(-0.3, y), (1.3, y)], shade(colour, 0.86), 0.006)
    canvas.tint(rectangle(-0.3, level, 1.3, level + 0.025), (16, 14, 20), 0.3)


def draw_skyline(canvas: Canvas, rng: np.random.Generator, level: float) -> None:
    """Roofs and hills far behind."""
    colour = mixed(random_colour(rng, LEAVES), (176, 190, 206), 0.6)
    heights = level - rng.uniform(0.12, 0.4, 6)
    ridge = [(-0.3, level), *zip(np.linspace(-0.3, 1.3, 6), heights, strict=True), (1.3, level)]
    canvas.fill(smooth(ridge), colour)


def draw_foreground(canvas: Canvas, rng: np.random.Generator, level: float) -> None:
    """Things that pass or stand in front, mostly at the sides."""
    side = float(rng.choice([-0.02, 1.02])) + float(rng.uniform(-0.04, 0.04))
    if chance(rng, 0.35):
        _tree(canvas, rng, side, level + 0.05)
    if chance(rng, 0.35):
        _lamp(canvas, rng, float(rng.choice([0.06, 0.94])), level + 0.06)
    if chance(rng, 0.2):
        _car(canvas, rng, float(rng.uniform(0.05, 0.95)), min(level + 0.1, 0.99))
    for _ in range(int(rng.integers(0, 4))):
        x, y = float(rng.uniform(0.05, 0.95)), level + float(rng.uniform(0.02, 0.07))
        _passer_by(canvas, rng, x, y)


def _tree(canvas: Canvas, rng: np.random.Generator, x: float, y: float) -> None:
    leaf, height = random_colour(rng, LEAVES), float(rng.uniform(0.35, 0.6))
    canvas.fill(limb(x, y, x, y - height * 0.7, 0.035, 0.02), (92, 70, 52))
    for index in range(7):
        dx, dy = rng.uniform(-0.1, 0.1, 2)
        crown = ellipse(x + dx, y - height + dy, float(rng.uniform(0.05, 0.09)))
        canvas.fill(crown, shade(leaf, 0.75 + 0.07 * index))


def _lamp(canvas: Canvas, rng: np.random.Generator, x: float, y: float) -> None:
    height = float(rng.uniform(0.35, 0.5))
    iron: Colour = (44, 46, 50)
    canvas.fill(rectangle(x - 0.02, y - 0.03, x + 0.02, y), iron)
    canvas.stroke([(x, y), (x, y - height)], iron, 0.014, None)
    top = y - height
    canvas.fill(
        [(x - 0.022, top - 0.06), (x + 0.022, top - 0.06), (x + 0.014, top), (x - 0.014, top)],
        (250, 232, 180),
    )
    canvas.fill([(x - 0.03, top - 0.06), (x, top - 0.09), (x + 0.03, top - 0.06)], iron)


def _passer_by(canvas: Canvas, rng: np.random.Generator, x: float, y: float) -> None:
    height, colour = float(rng.uniform(0.1, 0.14)), random_colour(rng, CLOTHES)
    canvas.tint(ellipse(x + 0.01, y, 0.025, 0.006), (0, 0, 0), 0.3)
    for shift in (-0.008, 0.01):
        canvas.fill(limb(x, y - height * 0.5, x + shift, y, 0.014), (48, 46, 56))
    canvas.fill(limb(x, y - height * 0.76, x, y - height * 0.42, 0.034, 0.028), colour)
    canvas.fill(ellipse(x, y - height * 0.92, height * 0.1), (206, 164, 132))


def _car(canvas: Canvas, rng: np.random.Generator, x: float, y: float) -> None:
    colour = random_colour(rng, CLOTHES)
    canvas.fill(
        smooth(
            [(x - 0.07, y - 0.06), (x - 0.03, y - 0.11), (x + 0.05, y - 0.11), (x + 0.09, y - 0.06)]
        ),
        (64, 76, 90),
    )
    canvas.fill(
        smooth(
            [(x - 0.13, y - 0.07), (x + 0.12, y - 0.07), (x + 0.13, y - 0.01), (x - 0.13, y - 0.01)]
        ),
        colour,
    )
    for shift in (-0.075, 0.075):
        canvas.fill(ellipse(x + shift, y - 0.015, 0.024), (30, 30, 34))
