"""Rows of pictures under their captions, on one sheet that is as wide as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.rendering import ConceptValues, Explanation, HeatMap, Pixels
from pasta.explanations.stored import StoredExplanations
from pasta.layout import Group

WIDTH, LETTERS = 1800, 27  # on a page of 16 cm: 285 dots to the inch, letters of 7 points
_GAP = 0.45  # in letters
NO_BREAK, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


class Tile(NamedTuple):
    """One picture and the words above it."""

    pixels: Pixels
    caption: str


class Line(NamedTuple):
    """Tiles from left to right, and what they are."""

    title: str
    tiles: Sequence[Tile]


class Layout(NamedTuple):
    """Measures in pixels of a sheet with so many columns."""

    columns: int
    width: int = WIDTH
    letters: int = LETTERS

    @property
    def gap(self) -> int:
        """Between tiles."""
        return round(_GAP * self.letters)

    @property
    def tile(self) -> int:
        """The side of a tile."""
        return (self.width - (self.columns - 1) * self.gap) // self.columns

    def plain(self, image: Pixels, caption: str = "image") -> Tile:
        """An image without an explanation."""
        size = (self.tile, self.tile)
        resized = Image.fromarray(image).resize(size, Image.Resampling.LANCZOS)
        return Tile(np.asarray(resized), caption)

    def explained(self, image: Pixels, explanation: Explanation, caption: str) -> Tile:
        """An image with an explanation, as people see it."""
        return Tile(rendering.picture(image, explanation, self.tile), caption)

    def heat(self, image: Pixels, shown: Any, signed: bool, caption: str) -> Tile:
        """An image with a map as people see it."""
        return self.explained(image, HeatMap(np.asarray(shown, np.float32), signed), caption)


class Shelves:
    """The datasets and explanations of some groups, opened once for many pictures."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._folders = {group.dataset: group.images for group in groups}
        self._explanations = [group.explanations for group in groups]
        self._opened: dict[str, StoredDataset] = {}

    def pixels(self, dataset: str, image_id: str) -> Pixels:
        """One image by its name."""
        if dataset not in self._opened:
            self._opened[dataset] = open_dataset(self._folders[dataset])
        images = self._opened[dataset].images
        [place] = images.loc[images["image_id"] == image_id, "row"]
        return np.array(self._opened[dataset].pixels[int(place)])

    def tile(self, sample_id: str, layout: Layout, caption: str) -> Tile:
        """A stored explanation as people see it."""
        if sample_id not in self._samples:
            raise PastaError(f"there is no explanation {sample_id!r}")
        stored, one = self._samples[sample_id]
        technique = stored.technique(str(one["method"]), str(one["backbone"]))
        pixels = self.pixels(str(one["dataset"]), str(one["image_id"]))
        if technique.kind == "concept":
            names, values = stored.concepts(technique)
            return layout.explained(pixels, ConceptValues(names, values[one["row"]]), caption)
        [shown] = stored.shown(technique, [int(one["row"])])
        return layout.heat(pixels, shown, technique.signed, caption)

    @cached_property
    def _samples(self) -> Mapping[str, tuple[StoredExplanations, Mapping[str, Any]]]:
        every = [StoredExplanations(folder) for folder in self._explanations]
        return {
            str(row["sample_id"]): (stored, {str(key): value for key, value in row.items()})
            for stored in every
            for row in stored.table.to_dict("records")
        }


def sheet(lines: Sequence[Line], layout: Layout, note: str = "") -> Pixels:
    """Rows below each other; captions get as much room as the longest of their row needs.

    Tiles are as high as the layout says; concept explanations may be wider. The sheet is as wide
    as its widest row. A ``note`` stands below all rows.
    """
    if not any(line.tiles for line in lines):
        raise PastaError("there is nothing to show on a sheet")
    full = [line for line in lines if line.tiles]
    width = max(_across(line, layout) for line in full)
    parts = [_row(line, layout, width) for line in full]
    parts += [_words(note, width, layout.letters)] if note else []
    blank = np.full((2 * layout.gap, width, 3), rendering.PAPER, np.uint8)
    stacked = [part for row in parts for part in (row, blank)]
    return np.concatenate(stacked[:-1])


def _across(line: Line, layout: Layout) -> int:
    return sum(int(tile.pixels.shape[1]) + layout.gap for tile in line.tiles) - layout.gap


def _row(line: Line, layout: Layout, width: int) -> Pixels:
    captions = [  # a letter narrower than their tile, so that neighbours do not touch
        _words(tile.caption, tile.pixels.shape[1] - layout.letters, layout.letters)
        for tile in line.tiles
    ]
    above = max(caption.shape[0] for caption in captions)
    canvas, left = Image.new("RGB", (width, above + layout.tile), rendering.PAPER), 0
    for tile, caption in zip(line.tiles, captions, strict=True):
        canvas.paste(Image.fromarray(caption), (left, above - caption.shape[0]))
        canvas.paste(Image.fromarray(tile.pixels), (left, above))
        left += tile.pixels.shape[1] + layout.gap
    if not line.title:
        return np.asarray(canvas)
    title = _words(line.title, width, layout.letters, bold=True)
    return np.concatenate([title, np.asarray(canvas)])


def _words(text: str, width: int, letters: int, bold: bool = False) -> Pixels:
    """Wrapped words in a box that is just high enough."""
    face = rendering.font(letters, bold)
    wrapped = rendering.wrap(text, width, face)
    high = rendering.extent(wrapped, face)[1] + letters // 4
    canvas = Image.new("RGB", (width, high), rendering.PAPER)
    draw = ImageDraw.Draw(canvas)
    rendering.write(draw, (0, 0, width, high), wrapped, face)
    return np.asarray(canvas)


def number(value: float, places: int = 2, sign: str = "") -> str:
    """For captions: with a real minus, and "none" where there is no value."""
    if not np.isfinite(value):
        return "none"
    text = f"{value:{sign}.{places}f}"
    nothing = not any(digit in "123456789" for digit in text)
    return text.replace("-", "" if nothing else MINUS)


def stars(score: float) -> str:
    """Predicted stars in words."""
    return f"{score:.2f} stars" if np.isfinite(score) else "no score"


def label(predicted: str) -> str:
    """A class in quotes, as a person would write it."""
    return f"“{predicted.replace('_', ' ')}”"
