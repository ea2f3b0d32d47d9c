"""Cats, dogs and cars: the dataset whose colours may be made to betray the class.

With probability ``options.color_bias`` the object wears its class's telltale colour: cats are
nearly black, dogs cream-white, cars red. Otherwise its colour is drawn from one palette, the same
for all three. Backgrounds, distractors, place and light never depend on the class.
"""

from __future__ import annotations

import numpy as np

from pasta.datasets.drawn.animals import cat, dog
from pasta.datasets.drawn.canvas import Canvas, Colour
from pasta.datasets.drawn.scene import SCENES, Options
from pasta.datasets.drawn.stage import Painter, perform
from pasta.datasets.drawn.surface import SHARED, chance, random_colour
from pasta.datasets.drawn.vehicles import car

PAINTERS: dict[str, Painter] = {"cat": cat, "dog": dog, "car": car}
TELLTALE: dict[str, Colour] = {"cat": (56, 56, 62), "dog": (232, 220, 196), "car": (196, 48, 42)}


def main_colour(label: str, rng: np.random.Generator, color_bias: float) -> Colour:
    """The telltale colour of the class as often as the bias says, else one of the shared ones."""
    biased = chance(rng, color_bias)
    return random_colour(rng, (TELLTALE[label],) if biased else SHARED)


@SCENES.register("catsdogscars")
def catsdogscars(canvas: Canvas, label: str, rng: np.random.Generator, options: Options) -> None:
    """Draw one cat, dog or car."""
    perform(canvas, rng, PAINTERS[label], main_colour(label, rng, options.color_bias))
