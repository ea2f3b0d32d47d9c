"""The embedded datasets: drawings behind the same two calls as real files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pasta.datasets.drawn.canvas import Canvas, Rng
from pasta.datasets.drawn.coco import draw_scene
from pasta.datasets.drawn.composition import draw_cat_dog_or_car, draw_pascal_object
from pasta.datasets.drawn.monumai import draw_monument
from pasta.datasets.records import SPLITS, Item, Record
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.seeds import generator

DRAWINGS: dict[str, Callable[[Canvas, str, Rng, float], None]] = {
    "catsdogscars": draw_cat_dog_or_car,
    "pascalpart": draw_pascal_object,
    "monumai": draw_monument,
    "coco": draw_scene,
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
    """Draw one image of a dataset; it depends on nothing but the arguments.

    Parameters
    ----------
    index
        The number of the image, which also decides its class.
    color_bias
        How much colour says about the class (0 to 1); Pascal Part ignores it.
    """
    if dataset not in DRAWINGS:
        raise PastaError(f"{dataset} is not drawn here: its source is files, with a root folder")
    canvas = Canvas(size, vocabulary(dataset))
    label = label_of(dataset, index)
    DRAWINGS[dataset](canvas, label, generator(seed, "draw", dataset, index), color_bias)
    image, parts, regions = canvas.finish()
    return Record(label, image, parts, regions, "drawn", size, size)
