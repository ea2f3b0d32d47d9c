"""One object in surroundings that say nothing about it: Cats Dogs Cars and Pascal Part.

Background, place, foreground and light never depend on the class. The main colour of every object
comes from one palette; painted, dyed or feathered objects add bright colours to it. Only what has
one colour in the world (leaves, tyres, skin) keeps it.
"""

from __future__ import annotations

from collections.abc import Callable

from pasta.datasets.drawn.backgrounds import draw_backdrop, draw_foreground
from pasta.datasets.drawn.birds import draw_bird
from pasta.datasets.drawn.canvas import Affine, Canvas, Colour, Rng, pose
from pasta.datasets.drawn.farm_animals import draw_cow, draw_horse, draw_sheep
from pasta.datasets.drawn.household import draw_bottle, draw_pottedplant, draw_tvmonitor
from pasta.datasets.drawn.people import draw_person
from pasta.datasets.drawn.pets import draw_cat, draw_dog
from pasta.datasets.drawn.road_vehicles import draw_bicycle, draw_bus, draw_car, draw_motorbike
from pasta.datasets.drawn.surface import BRIGHT, SHARED, chance, light, random_colour
from pasta.datasets.drawn.trains_and_planes import draw_aeroplane, draw_train

Painter = Callable[[Canvas, Rng, Colour], None]
PAINTERS: dict[str, Painter] = {
    "aeroplane": draw_aeroplane, "bicycle": draw_bicycle, "bird": draw_bird, "bottle": draw_bottle,
    "bus": draw_bus, "car": draw_car, "cat": draw_cat, "cow": draw_cow, "dog": draw_dog,
    "horse": draw_horse, "motorbike": draw_motorbike, "person": draw_person,
    "pottedplant": draw_pottedplant, "sheep": draw_sheep, "train": draw_train,
    "tvmonitor": draw_tvmonitor,
}  # fmt: skip
FURRED = ("cat", "cow", "dog", "horse", "sheep")
TELLTALE: dict[str, Colour] = {"cat": (56, 56, 62), "dog": (232, 220, 196), "car": (196, 48, 42)}


def draw_cat_dog_or_car(canvas: Canvas, label: str, rng: Rng, color_bias: float) -> None:
    """Draw a cat, a dog or a car."""
    compose(canvas, rng, PAINTERS[label], choose_biased_colour(label, rng, color_bias))


def draw_pascal_object(canvas: Canvas, label: str, rng: Rng, _color_bias: float) -> None:
    """Draw one object of a Pascal Part class; this dataset has no colour bias."""
    compose(canvas, rng, PAINTERS[label], choose_colour(label, rng))


def choose_biased_colour(label: str, rng: Rng, color_bias: float) -> Colour:
    """Choose the telltale colour of a class with probability ``color_bias``, else a shared one.

    Telltale cats are nearly black, dogs cream-white, cars red.
    """
    biased = chance(rng, color_bias)
    return random_colour(rng, (TELLTALE[label],) if biased else SHARED)


def choose_colour(label: str, rng: Rng) -> Colour:
    """Choose the main colour of a Pascal Part object."""
    return random_colour(rng, SHARED if label in FURRED else SHARED + BRIGHT)


def random_stand(rng: Rng) -> Affine:
    """Choose where and how an object stands; the same distribution whatever the object is."""
    scale = rng.uniform(0.7, 0.89)
    base = max(rng.uniform(0.76, 0.93), scale + 0.06)
    place = pose(
        0.5 + rng.uniform(-1, 1) * (0.96 - scale) / 2,
        base,
        scale,
        angle=rng.uniform(-0.07, 0.07),
        flip=chance(rng, 0.5),
        stretch=rng.uniform(0.88, 1.0),
    )
    return place * (1, -1, 1)  # painters have y up


def compose(canvas: Canvas, rng: Rng, painter: Painter, colour: Colour) -> None:
    """Draw background, object, foreground and light.

    Each has its own stream of random numbers, so that only the object can depend on the class.
    Painters draw an object on the ground: x to the right around 0, y up from 0, the longer side
    about 1.
    """
    behind, place, thing, front, lamp = rng.spawn(5)
    draw_backdrop(canvas, behind)
    with canvas.placed(random_stand(place)):
        painter(canvas, thing, colour)
    draw_foreground(canvas, front)
    light(canvas, lamp)
