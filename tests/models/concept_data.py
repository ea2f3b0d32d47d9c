"""A planted dataset for concept models: coloured squares are the concepts and give the class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.config import Params
from pasta.datasets.records import SPLITS
from pasta.datasets.stored import StoredDataset
from pasta.datasets.vocabulary import Vocabulary
from pasta.models.data import TrainingData
from pasta.models.settings import BackboneParams, GradientParams

COLORS = {"red": (230, 30, 30), "green": (30, 200, 30), "blue": (40, 40, 230), "white": (250,) * 3}
CONCEPTS = (*COLORS, "never")  # the last one occurs nowhere
CLASSES = ("red", "green", "blue")
SLIM = BackboneParams(width=8, start="scratch", frozen=0)
FULL = SLIM.model_copy(
    update={"width": 64, "blocks": (3, 4, 6, 3), "bottleneck": True, "keep_last": False}
)


@dataclass(frozen=True)
class Planted(StoredDataset):
    """A dataset whose tables are in memory."""

    boxes: pd.DataFrame

    def regions(self) -> pd.DataFrame:
        """One box for each square."""
        return self.boxes

    def concepts(self) -> pd.DataFrame:
        """Every image x concept."""
        shown = set(zip(self.boxes["image_id"], self.boxes["concept"], strict=True))
        rows = [
            {"image_id": image, "concept": concept, "present": (image, concept) in shown}
            for image in self.images["image_id"]
            for concept in self.vocabulary.concepts
        ]
        return pd.DataFrame(rows)


def planted(size: int, train: int, validation: int, test: int, seed: int = 0) -> TrainingData:
    """Grey noise with a square in the colour of the class and, in half of them, a white one."""
    random = np.random.default_rng(seed)
    count = train + validation + test
    pixels = random.integers(90, 150, (count, size, size, 3), dtype=np.uint8)
    boxes = [box for row in range(count) for box in _squares(pixels[row], row, random)]
    images = pd.DataFrame(
        {
            "image_id": [f"image{row}" for row in range(count)],
            "split": np.repeat(np.array(SPLITS), (train, validation, test)),
            "label": [CLASSES[row % 3] for row in range(count)],
            "row": range(count),
        }
    )
    words = Vocabulary("planted", "Planted", CLASSES, CONCEPTS)
    parts = np.zeros(pixels.shape[:3], np.uint8)
    dataset = Planted(Path(), words, images, pixels, parts, pd.DataFrame(boxes))
    return TrainingData(dataset, seed, cast(Params, None), Path())  # no model here asks for more


def _squares(
    image: NDArray[np.uint8], row: int, random: np.random.Generator
) -> list[dict[str, object]]:
    """Draw one or two squares, left and right of the middle, and return their boxes."""
    size = image.shape[0]
    names = [CLASSES[row % 3], *(["white"] if random.random() < 0.5 else [])]
    halves = random.permutation(2)[: len(names)]
    boxes: list[dict[str, object]] = []
    for name, half in zip(names, halves, strict=True):
        side = int(random.integers(size // 4, size // 3))
        left = int(half * size // 2 + random.integers(0, size // 2 - side + 1))
        top = int(random.integers(0, size - side + 1))
        image[top : top + side, left : left + side] = COLORS[name]
        corners = (left / size, top / size, (left + side) / size, (top + side) / size)
        box = dict(zip(("x0", "y0", "x1", "y1"), corners, strict=True))
        boxes.append({"image_id": f"image{row}", "concept": name, **box})
    return boxes


def gradient(epochs: int, learning_rate: float = 4e-3, batch_size: int = 16) -> GradientParams:
    """Short training without early stopping."""
    return GradientParams(
        epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, patience=99
    )
