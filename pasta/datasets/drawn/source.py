"""The drawn datasets behind the same two calls as real files, and the objects of two of them.

Cats Dogs Cars and Pascal Part show one object in surroundings that say nothing about it:
background, place, foreground and light never depend on the class. The main colour of every object
comes from one palette; painted, dyed or feathered objects add bright colours to it. Only what has
one colour in the world (leaves, tyres, skin) keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta.datasets.drawn.animals import (
    draw_bird,
    draw_cat,
    draw_cow,
    draw_dog,
    draw_horse,
    draw_sheep,
)
from pasta.datasets.drawn.backgrounds import draw_backdrop, draw_foreground
from pasta.datasets.drawn.canvas import (
    BRIGHT,
    SHARED,
    Affine,
    Canvas,
    Colour,
    Rng,
    chance,
    light,
    pose,
    random_colour,
)
from pasta.datasets.drawn.clouds import CLOUDS, draw_cloud
from pasta.datasets.drawn.coco import draw_scene
from pasta.datasets.drawn.monumai import draw_monument
from pasta.datasets.drawn.objects import draw_bottle, draw_person, draw_pottedplant, draw_tvmonitor
from pasta.datasets.drawn.vehicles import (
    draw_aeroplane,
    draw_bicycle,
    draw_bus,
    draw_car,
    draw_motorbike,
    draw_train,
)
from pasta.datasets.drawn.volumes import VOLUMES, draw_volume
from pasta.datasets.records import SPLITS, Item, Record, Region, box_of_part
from pasta.datasets.vocabulary import Vocabulary, vocabulary
from pasta.errors import PastaError
from pasta.seeds import generator

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


DRAWINGS: dict[str, Callable[[Canvas, str, Rng, float], None]] = {
    "catsdogscars": draw_cat_dog_or_car,
    "pascalpart": draw_pascal_object,
    "monumai": draw_monument,
    "coco": draw_scene,
}
# A vocabulary, a class, randomness and a size to stored values and their parts.
Solid = Callable[[Vocabulary, str, Rng, int], tuple[NDArray[Any], NDArray[np.uint8]]]
SOLIDS: dict[str, Solid] = {
    **dict.fromkeys(VOLUMES, draw_volume),
    **dict.fromkeys(CLOUDS, draw_cloud),
}


@dataclass(frozen=True)
class DrawnSource:
    """A dataset drawn from (seed, dataset, index); the index is the image's name."""

    dataset: str
    seed: int
    counts: tuple[int, int, int]  # of train, validation and test images
    color_bias: float = 0.0  # 0: colour says nothing about the class, 1: colour gives it away

    def items(self) -> Sequence[Item]:
        """List the images: 0 ... train, then validation, then test."""
        splits = [split for split, n in zip(SPLITS, self.counts, strict=True) for _ in range(n)]
        return [
            Item(f"{index:04d}", split, label_of(self.dataset, index))
            for index, split in enumerate(splits)
        ]

    def load(self, item: Item, size: int) -> Record:
        """Draw one image."""
        return draw(self.dataset, self.seed, int(item.image_id), size, self.color_bias)


def label_of(dataset: str, index: int) -> str:
    """Return the class of an image; classes alternate, so that any run of images is balanced."""
    classes = vocabulary(dataset).classes
    return classes[index % len(classes)]


def draw(dataset: str, seed: int, index: int, size: int, color_bias: float = 0.0) -> Record:
    """Draw one image, volume or cloud of a dataset; it depends on nothing but the arguments.

    Parameters
    ----------
    index
        The number of the image, which also decides its class.
    size
        Pixels or voxels a side, or points.
    color_bias
        How much colour says about the class (0 to 1); Pascal Part ignores it.
    """
    if dataset in SOLIDS:
        return _draw_solid(vocabulary(dataset), label_of(dataset, index), seed, index, size)
    if dataset not in DRAWINGS:
        raise PastaError(f"{dataset} is not drawn here: its source is files, with a root folder")
    canvas = Canvas(size, vocabulary(dataset))
    label = label_of(dataset, index)
    DRAWINGS[dataset](canvas, label, generator(seed, "draw", dataset, index), color_bias)
    image, parts, regions = canvas.finish()
    return Record(label, image, parts, regions, "drawn", size, size)


def _draw_solid(words: Vocabulary, label: str, seed: int, index: int, size: int) -> Record:
    rng = generator(seed, "draw", words.dataset, index)
    values, parts = SOLIDS[words.dataset](words, label, rng, size)
    places = values if words.modality == "point cloud" else None
    regions = tuple(
        Region(words.concepts[value - 1], box_of_part(parts == value, places))
        for value in np.unique(parts)
        if value
    )
    return Record(label, values, parts, regions, "drawn", size, size)
