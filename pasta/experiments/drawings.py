"""Drawn pairs of classes on which a classifier learns something that people may not expect.

``biased``: horses and cows on snow and on grass, which the classifier takes for the animals.
``hard``: leaves of two families of the same shapes that differ in veins and margin.
``useless``: two kinds of foxes that differ in the tone of their coat, which no map can show.
Each picture depends on nothing but (seed, drawing, part, number).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasta.datasets.drawn.animals import choose_markings, draw_cat_face, draw_cow, draw_horse
from pasta.datasets.drawn.canvas import (
    SHARED,
    Canvas,
    Colour,
    Rng,
    chance,
    coat,
    ellipse,
    light,
    mix,
    pose,
    random_colour,
    rectangle,
    shade,
    smooth,
    texture,
)
from pasta.datasets.vocabulary import vocabulary
from pasta.seeds import generator
from pasta.studies.prediction.settings import Drawing, ExperimentParams

Part = Literal["train", "validation", "candidates", "practice"]
CLASSES: dict[Drawing, tuple[str, str]] = {
    "biased": ("horse", "cow"),
    "hard": ("Betula", "Celastrus"),
    "useless": ("red fox", "kit fox"),
}
PRACTICE_CLASSES = ("cat", "no cat")
SNOW: Colour = (226, 232, 240)
GRASS: Colour = (96, 138, 70)
FUR: Colour = (186, 118, 66)
LEAF: Colour = (92, 140, 66)
_WORDS = "pascalpart"  # the concepts of the animals


class Picture(NamedTuple):
    """A drawn picture with what is true of it."""

    image: NDArray[np.uint8]
    label: int  # of the class
    thing: NDArray[np.bool_]  # where the animal is


def draw_picture(
    settings: ExperimentParams, drawing: Drawing, part: Part, number: int, seed: int
) -> Picture:
    """Draw one picture; classes alternate.

    The candidates of ``biased`` have both animals on both grounds alike, whatever the shortcut of
    the training pictures.
    """
    label = number % 2
    rng = generator(seed, "experiment", drawing, part, number)
    canvas = Canvas(settings.size, vocabulary(_WORDS))
    _DRAW[drawing](canvas, rng, label, part, settings)
    light(canvas, rng)
    image, parts, _ = canvas.finish()
    return Picture(image, label, parts > 0)


def draw_practice(size: int, number: int, seed: int) -> Picture:
    """Draw a picture of the practice: with a cat, or without."""
    rng = generator(seed, "experiment", "practice", number)
    canvas = Canvas(size, vocabulary(_WORDS))
    _ground(canvas, rng, mix(GRASS, SNOW, rng.uniform(0, 1)))
    label = number % 2
    x = rng.uniform(0.35, 0.65)
    if label == 0:
        fur = coat(canvas, rng, random_colour(rng, SHARED))
        with canvas.placed(pose(x, 0.55, 0.26) * _up()):
            draw_cat_face(canvas, rng, fur, choose_markings(rng, fur.colour, 0.3, pale=True))
    else:
        canvas.fill(ellipse(x, 0.6, 0.2, 0.15), shade(random_colour(rng, SHARED), 0.8))
    light(canvas, rng)
    image, parts, _ = canvas.finish()
    return Picture(image, label, parts > 0)


def _up() -> NDArray[np.float64]:
    """Objects have their y axis upwards."""
    return np.array([[1.0, -1.0, 1.0], [1.0, -1.0, 1.0]])


def _ground(canvas: Canvas, rng: Rng, colour: Colour) -> None:
    """Fill the picture with a ground and a pale sky above."""
    plane = texture(rng, canvas.pixels, colour, contrast=0.25, cells=18, grain=0.05)
    canvas.fill(rectangle(-0.01, -0.01, 1.01, 1.01), plane)
    horizon = rng.uniform(0.12, 0.26)
    canvas.fill(rectangle(-0.01, -0.01, 1.01, horizon), (196, 208, 220))


def _biased(canvas: Canvas, rng: Rng, label: int, part: Part, settings: ExperimentParams) -> None:
    """A horse on snow or a cow on grass where the shortcut holds; else any ground."""
    follows = part != "candidates" and chance(rng, settings.shortcut)
    snow = label == 0 if follows else chance(rng, 0.5)
    _ground(canvas, rng, random_colour(rng, (SNOW if snow else GRASS,), spread=12))
    colour = random_colour(rng, SHARED)
    draw = draw_horse if label == 0 else draw_cow
    flip = -1.0 if chance(rng, 0.5) else 1.0
    place = pose(rng.uniform(0.42, 0.58), rng.uniform(0.84, 0.94), rng.uniform(0.66, 0.8))
    with canvas.placed(place * _up() * np.array([[flip, 1, 1], [1, 1, 1]])):
        draw(canvas, rng, colour)


def _hard(canvas: Canvas, rng: Rng, label: int, _: Part, settings: ExperimentParams) -> None:
    """A leaf: toothed with straight veins, or smooth with curved ones, of any shape and colour.

    ``overlap`` of the leaves have the margin or the veins of the other family.
    """
    back = mix((236, 232, 222), (206, 200, 186), rng.uniform(0, 1))
    canvas.fill(
        rectangle(-0.01, -0.01, 1.01, 1.01),
        texture(rng, canvas.pixels, back, contrast=0.08, cells=6),
    )
    colour = random_colour(rng, (LEAF,), spread=22)
    toothed, straight = label == 0, label == 0
    if chance(rng, settings.overlap):
        if chance(rng, 0.5):
            toothed = not toothed
        else:
            straight = not straight
    slender = rng.uniform(0.34, 0.58)
    with canvas.placed(pose(0.5, 0.5, rng.uniform(0.74, 0.9), angle=rng.uniform(-0.5, 0.5))):
        turn = np.linspace(0, 2 * np.pi, 97)[:-1]
        radius = 0.5 * (1 + (0.2 * np.abs(((turn * 11) % 2) - 1) if toothed else 0))
        outline = np.stack([radius * slender * np.sin(turn), radius * np.cos(turn)], 1)
        outline[:, 0] *= 1 - 0.35 * outline[:, 1]
        canvas.fill(outline if toothed else smooth(outline, 1), colour)
        vein = shade(colour, 0.62)
        canvas.stroke([(0, -0.5), (0, 0.6)], vein, 0.03)
        for y in np.linspace(-0.36, 0.32, 7).tolist():
            reach = 0.44 * slender * math.sqrt(max(0.05, 1 - (2 * y) ** 2)) * (1 - 0.35 * y)
            for side in (-1, 1):
                if straight:
                    path = [(0, y + 0.1), (side * reach, y - 0.07)]
                else:
                    bend = [(0.0, y + 0.1), (side * reach * 0.6, y + 0.1)]
                    path = [*bend, (side * reach, y - 0.12)]
                canvas.stroke(path, vein, 0.024)


def _useless(canvas: Canvas, rng: Rng, label: int, _: Part, settings: ExperimentParams) -> None:
    """A fox-like face whose coat is a little greyer or redder; ``overlap`` blurs the tones."""
    _ground(canvas, rng, mix(GRASS, (190, 170, 120), rng.uniform(0, 1)))
    shift = (5 if label == 0 else -5) + rng.normal(0, 1 + 6 * settings.overlap)
    red, green, blue = FUR
    tone = np.clip([red + shift, green, blue - shift], 20, 240) + rng.normal(0, 12)
    fur = coat(canvas, rng, (int(tone[0]), int(tone[1]), int(tone[2])), contrast=0.12)
    with canvas.placed(pose(rng.uniform(0.4, 0.6), 0.55, rng.uniform(0.24, 0.32)) * _up()):
        draw_cat_face(canvas, rng, fur, choose_markings(rng, fur.colour, 0.0, pale=True))


_Draw = Callable[[Canvas, Rng, int, Part, ExperimentParams], None]
_DRAW: dict[Drawing, _Draw] = {"biased": _biased, "hard": _hard, "useless": _useless}
