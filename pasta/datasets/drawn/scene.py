"""From (seed, dataset, index) to a finished drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pasta.datasets.drawn.canvas import Canvas
from pasta.datasets.records import Record
from pasta.datasets.vocabulary import vocabulary
from pasta.registry import Registry
from pasta.seeds import generator


@dataclass(frozen=True)
class Options:
    """What a profile may change about a drawing."""

    color_bias: float = 0.0  # 0: colour says nothing about the class, 1: colour gives it away


class Scene(Protocol):
    """Draws one picture of a class, background, distractors, light and all."""

    def __call__(
        self, canvas: Canvas, label: str, rng: np.random.Generator, options: Options, /
    ) -> None: ...


SCENES: Registry[Scene] = Registry("drawn dataset")


def label_of(dataset: str, index: int) -> str:
    """Classes take turns, so that any run of images is balanced."""
    classes = vocabulary(dataset).classes
    return classes[index % len(classes)]


def draw(dataset: str, seed: int, index: int, size: int, options: Options | None = None) -> Record:
    """Draw image ``index`` of a dataset; it depends on nothing but the arguments."""
    canvas = Canvas(size, vocabulary(dataset))
    label = label_of(dataset, index)
    rng = generator(seed, "draw", dataset, index)
    SCENES[dataset](canvas, label, rng, options or Options())
    image, parts, regions = canvas.finish()
    return Record(label, image, parts, regions, "drawn", size, size)
