"""Pascal Part: sixteen kinds of things in surroundings that say nothing about them.

The main colour of every object is drawn from one palette, to which what is painted, dyed or
feathered adds bright colours; only what is always of one colour in the world (leaves, tyres,
skin) keeps it. The colour bias is not used here.
"""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.aeroplane import aeroplane
from pasta.datasets.drawn.animals import cat, dog
from pasta.datasets.drawn.birds import bird
from pasta.datasets.drawn.canvas import Canvas, Colour
from pasta.datasets.drawn.cycles import bicycle, motorbike
from pasta.datasets.drawn.hoofed import cow, horse, sheep
from pasta.datasets.drawn.people import person
from pasta.datasets.drawn.scene import SCENES, Options
from pasta.datasets.drawn.stage import Painter, perform
from pasta.datasets.drawn.surface import BRIGHT, SHARED, random_colour
from pasta.datasets.drawn.things import bottle, pottedplant, tvmonitor
from pasta.datasets.drawn.train import train
from pasta.datasets.drawn.vehicles import bus, car

PAINTERS: dict[str, Painter] = {
    painter.__name__: painter
    for painter in (
        aeroplane, bicycle, bird, bottle, bus, car, cat, cow, dog, horse, motorbike, person,
        pottedplant, sheep, train, tvmonitor,
    )
}  # fmt: skip
FURRED = ("cat", "cow", "dog", "horse", "sheep")


def main_colour(label: str, rng: np.random.Generator) -> Colour:
    """The colour of an object of this class."""
    return random_colour(rng, SHARED if label in FURRED else SHARED + BRIGHT)


@SCENES.register("pascalpart")
def pascalpart(canvas: Canvas, label: str, rng: np.random.Generator, options: Options) -> None:
    """Draw one thing of the class."""
    del options  # the colour bias belongs to another dataset
    perform(canvas, rng, PAINTERS[label], main_colour(label, rng))
