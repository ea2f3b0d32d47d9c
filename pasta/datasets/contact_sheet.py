"""One picture of all datasets: images above, their part masks below."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pasta.datasets.stored import open_dataset

COLUMNS = 10
GAP, TITLE = 6, 26
INK, PAPER = (40, 40, 48), (255, 255, 255)
Pixels = NDArray[np.uint8]


def contact_sheet(folders: Sequence[Path]) -> Image.Image:
    """Draw two rows for each dataset: test images of every class in turn, and their masks."""
    strips = [_strip(folder) for folder in folders]
    width = max(strip.width for strip in strips)
    sheet = Image.new("RGB", (width, sum(strip.height for strip in strips)), PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet


def _strip(folder: Path) -> Image.Image:
    data = open_dataset(folder)
    rows = _one_of_each_class(data.images)
    size, words = data.pixels.shape[1], data.vocabulary
    strip = Image.new("RGB", (COLUMNS * (size + GAP) + GAP, TITLE + 2 * (size + GAP) + GAP), PAPER)
    title = f"{words.title}: {len(words.classes)} classes, {len(words.concepts)} concepts"
    draw = ImageDraw.Draw(strip)
    draw.text((GAP, 6), title, INK, font=ImageFont.load_default(15))
    for column, row in enumerate(rows):
        left = GAP + column * (size + GAP)
        strip.paste(Image.fromarray(data.pixels[row]), (left, TITLE))
        mask = colour_parts(data.parts[row], data.pixels[row], len(words.concepts))
        strip.paste(Image.fromarray(mask), (left, TITLE + size + GAP))
    return strip


def _one_of_each_class(images: pd.DataFrame) -> list[int]:
    """Choose rows of test images; the classes alternate."""
    test = images[images["split"] == "test"].copy()
    test["turn"] = test.groupby("label").cumcount()
    order = test.sort_values(["turn", "row"])
    return [int(row) for row in order["row"].head(COLUMNS)]


def colour_parts(parts: Pixels, image: Pixels, n_concepts: int) -> Pixels:
    """Paint each concept in its own colour over a pale grey version of the image."""
    grey = image.astype(np.float32).mean(-1, keepdims=True).repeat(3, -1)
    colours = part_colours(n_concepts)[parts]
    painted = np.where(parts[..., None] > 0, 0.25 * grey + 0.75 * colours, 150 + 0.4 * grey)
    result: Pixels = painted.clip(0, 255).astype(np.uint8)
    return result


def part_colours(n_concepts: int) -> NDArray[np.float32]:
    """Return colours far apart for neighbouring indices (golden-angle hues, three lightnesses)."""
    colours = [(0.0, 0.0, 0.0)]
    for index in range(n_concepts):
        hue = (index * 0.61803398875) % 1
        colours.append(colorsys.hls_to_rgb(hue, (0.42, 0.58, 0.5)[index % 3], 0.75))
    return np.asarray(colours, dtype=np.float32) * 255
