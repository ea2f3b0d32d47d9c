"""Explanations side by side under their captions: a picture row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.rendering import ConceptValues, HeatMap, Pixels
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique

GAP, CAPTION, LETTERS = 8, 36, 13


class Tile(NamedTuple):
    """One picture and the words above it."""

    pixels: Pixels
    caption: str


def row(tiles: Sequence[Tile], title: str = "") -> Pixels:
    """Tiles from left to right, under an optional title."""
    if not tiles:
        raise PastaError("there is nothing to show in a row")
    wide = sum(tile.pixels.shape[1] for tile in tiles) + GAP * (len(tiles) + 1)
    high = max(tile.pixels.shape[0] for tile in tiles)
    top = GAP + (rendering.STRIP + GAP if title else 0)
    canvas = Image.new("RGB", (wide, top + CAPTION + high + GAP), rendering.PAPER)
    draw, left = ImageDraw.Draw(canvas), GAP
    if title:
        box = (GAP, GAP, wide - GAP, GAP + rendering.STRIP)
        rendering.write(draw, box, *rendering.fit(title, box, 17, bold=True))
    for tile in tiles:
        right = left + tile.pixels.shape[1]
        above = (left, top, right, top + CAPTION - 4)
        rendering.write(draw, above, *rendering.fit(tile.caption, above, LETTERS))
        canvas.paste(Image.fromarray(tile.pixels), (left, top + CAPTION))
        left = right + GAP
    return np.asarray(canvas)


def plain(image: Pixels, size: int) -> Pixels:
    """An image at the size of a tile."""
    return np.asarray(Image.fromarray(image).resize((size, size), Image.Resampling.LANCZOS))


def stars(score: float) -> str:
    """Predicted stars in words."""
    return f"{score:.2f} stars" if np.isfinite(score) else "no score"


@dataclass(frozen=True)
class Shelf:
    """A dataset with its stored explanations, opened once for many pictures."""

    folder: Path

    @cached_property
    def dataset(self) -> StoredDataset:
        """The images."""
        return open_dataset(self.folder)

    @cached_property
    def stored(self) -> StoredExplanations:
        """The explanations."""
        return StoredExplanations(self.folder)

    def pixels(self, image_id: str) -> Pixels:
        """One image by its name."""
        images = self.dataset.images
        [place] = images.loc[images["image_id"] == image_id, "row"]
        return np.array(self.dataset.pixels[int(place)])


def stored_tile(shelf: Shelf, sample_id: str, caption: str, size: int = 160) -> Tile:
    """A stored explanation as people see it."""
    stored = shelf.stored
    own = stored.table[stored.table["sample_id"] == sample_id]
    if own.empty:
        raise PastaError(f"{shelf.folder}: there is no explanation {sample_id!r}")
    one: Any = own.iloc[0]
    technique = Technique(str(one["method"]), str(one["backbone"]))
    pixels = shelf.pixels(str(one["image_id"]))
    if technique.kind == "concept":
        names, values = stored.concepts(technique)
        return Tile(
            rendering.picture(pixels, ConceptValues(names, values[one["row"]]), size), caption
        )
    [shown] = stored.shown(technique, [int(one["row"])])
    return Tile(rendering.picture(pixels, HeatMap(shown, technique.signed), size), caption)


def steered_row(
    image: Pixels, maps: NDArray[Any], captions: Sequence[str], title: str, size: int = 160
) -> Pixels:
    """An image and its maps for each lambda (P2, Figure 9)."""
    if len(captions) != len(maps):
        raise PastaError(f"there are {len(maps)} maps but {len(captions)} captions")
    tiles = [Tile(plain(image, size), "image")]
    for shown, caption in zip(maps, captions, strict=True):
        heat = HeatMap(np.asarray(shown, np.float32), False)
        tiles.append(Tile(rendering.picture(image, heat, size), caption))
    return row(tiles, title)
