"""Contact sheets of boxes, to look them over: some images of each class, a page a class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pasta import store
from pasta.datasets.build import part_colours
from pasta.datasets.files.base import Instance
from pasta.datasets.files.cats_dogs_cars import ClassFolders
from pasta.datasets.records import Item
from pasta.datasets.vocabulary import readable
from pasta.seeds import entropy

SHEET = "boxes.pdf"
COLUMNS, ROWS = 4, 5
SIDE, GAP, TITLE = 360, 12, 40
INK, PAPER = (40, 40, 48), (255, 255, 255)


def write_sheet(source: ClassFolders, number: int, seed: int) -> Path:
    """Draw a random sample of each class with its boxes; returns the PDF.

    Parameters
    ----------
    number
        How many images of each class; all where there are fewer.
    """
    pages = list(draw_pages(source, number, seed))
    path = source.root / SHEET
    with store.atomic(path) as temporary, temporary.open("wb") as file:
        pages[0].save(file, format="PDF", save_all=True, append_images=pages[1:])
    return path


def draw_pages(source: ClassFolders, number: int, seed: int) -> Iterator[Image.Image]:
    """Draw the pages of a sheet, class by class."""
    for label in source.vocabulary.classes:
        chosen = sample_items([one for one in source.items() if one.label == label], number, seed)
        for start in range(0, len(chosen), COLUMNS * ROWS):
            some = chosen[start : start + COLUMNS * ROWS]
            first, last = start + 1, start + len(some)
            yield _page(source, some, f"{readable(label)}: {first} to {last} of {len(chosen)}")


def sample_items(items: Sequence[Item], number: int, seed: int) -> list[Item]:
    """Choose images at random, each independently of which others there are."""
    drawn = sorted(items, key=lambda item: entropy(seed, "sheet", item.image_id))
    return sorted(drawn[:number], key=lambda item: item.image_id)


def _page(source: ClassFolders, items: Sequence[Item], title: str) -> Image.Image:
    width = COLUMNS * (SIDE + GAP) + GAP
    page = Image.new("RGB", (width, TITLE + ROWS * (SIDE + GAP + 18)), PAPER)
    draw = ImageDraw.Draw(page)
    draw.text((GAP, 8), title, INK, font=ImageFont.load_default(20))
    for place, item in enumerate(items):
        row, column = divmod(place, COLUMNS)
        left, top = GAP + column * (SIDE + GAP), TITLE + row * (SIDE + GAP + 18)
        image, instances = source.read(item)
        page.paste(draw_boxes(image, instances, source.vocabulary.concepts), (left, top))
        name = source.relative(source.path(item))
        draw.text((left, top + SIDE + 2), name[-52:], INK, font=ImageFont.load_default(12))
    return page


def draw_boxes(
    image: Image.Image, instances: Sequence[Instance], concepts: Sequence[str]
) -> Image.Image:
    """Draw boxes over an image that fits into a square; each concept has its colour and name."""
    scale = SIDE / max(image.size)
    small = image.resize((round(image.width * scale) or 1, round(image.height * scale) or 1))
    draw = ImageDraw.Draw(small)
    colours = part_colours(len(concepts))
    font = ImageFont.load_default(11)
    for one in sorted(instances, key=lambda one: -one.area):
        red, green, blue = np.asarray(colours[concepts.index(one.concept) + 1]).astype(int).tolist()
        corners = [edge * scale for edge in one.box]
        draw.rectangle(corners, outline=(red, green, blue), width=2)
        words = readable(one.concept)
        place = draw.textbbox((corners[0] + 2, corners[1] + 1), words, font=font)
        draw.rectangle(place, fill=(red, green, blue))
        draw.text((corners[0] + 2, corners[1] + 1), words, PAPER, font=font)
    return small
