"""Galleries of explanations: methods side by side, for several images or for one.

The grids are matplotlib's. :func:`gallery` and :func:`sheet` show what they are given;
:func:`saliency_picture` and :func:`concept_picture` choose it from what is stored.
"""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from mpl_toolkits.axes_grid1 import ImageGrid
from PIL import Image, ImageOps

from pasta import store
from pasta.datasets.stored import StoredDataset
from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.rendering import ConceptValues, Explanation, Kind, Numbers, Pixels
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique, backbone_title

BLACK_BOXES = ("resnet50", "vit_b_16", "clip_zero_shot")
Part = tuple[StoredDataset, StoredExplanations]  # of one group
WIDTH = 2400  # pixels; more would not fit on a page
GAP, MARGIN, LEGEND = 6, 14, 300
LETTERS, GALLERY_LETTERS = 9, 12  # points; galleries are wide, and smaller on a page
NAME_LETTERS = 14  # of a method in a gallery, before the next line
KINDS: tuple[Kind, ...] = ("positive", "signed", "concepts")
# Figures are as large as an inch and have as many dots: positions on them are pixels / DPI. What
# lies outside belongs to the picture all the same, because it is saved with a tight box.
DPI = 100


@dataclass(frozen=True)
class Entry:
    """One explanation of a contact sheet, and where it belongs."""

    group: str  # the backbone, perhaps with what it says
    title: str  # the method
    explanation: Explanation


def gallery(
    images: Pixels,
    methods: Mapping[str, tuple[Numbers, bool]],
    titles: Sequence[str],
    title: str,
    cell: int = 144,
    blocks: int = 2,
) -> Figure:
    """Show images in columns and methods in rows, in blocks side by side.

    Parameters
    ----------
    images
        Shape (columns, height, width, 3).
    methods
        For each method its maps (columns, height, width), and whether they are signed.
    titles
        What is said of each image, such as the predicted class.
    title
        Of the whole picture.
    cell
        Side of a map in pixels.
    blocks
        How many times the images are side by side, each time with other methods.
    """
    for name, (maps, _) in methods.items():
        _require_rows(f"method {name!r}", maps, images)
    _require_rows("list of titles", titles, images)
    rows = [("image", [enlarge(image, cell) for image in images])]
    for name, (maps, signed) in methods.items():
        pairs = zip(images, maps, strict=True)
        rows.append((name, [rendering.overlay(image, one, signed, cell) for image, one in pairs]))
    kinds: list[Kind] = ["signed" if signed else "positive" for _, signed in methods.values()]
    return arrange(rows, titles, title, kinds, blocks)


def arrange(
    rows: Sequence[tuple[str, Sequence[Pixels]]],
    titles: Sequence[str],
    title: str,
    kinds: Sequence[Kind],
    blocks: int = 2,
) -> Figure:
    """Show rows of pictures of one size, each with its name, in blocks side by side.

    Parameters
    ----------
    rows
        The name of each row and its pictures, one for each of the ``titles``.
    titles
        What is said of each column.
    title
        Of the whole picture.
    kinds
        Of maps, for the legend.
    blocks
        How many parts of the rows are side by side.
    """
    tall, wide = rows[0][1][0].shape[:2]
    high = -(-len(rows) // blocks)
    figure, left, bottom = Figure((1, 1), DPI), 0.0, 0.0
    for start in range(0, len(rows), high):
        part = rows[start : start + high]
        cells = [shown for _, every in part for shown in every]
        grid, end = _add_grid(figure, cells, len(titles), 0, (wide, tall), GAP, left)
        for axes, (name, _) in zip(grid.axes_column[0], part, strict=True):
            words = textwrap.fill(name, NAME_LETTERS)
            axes.set_ylabel(words, rotation=0, ha="right", va="center", fontsize=GALLERY_LETTERS)
        for axes, label in zip(grid.axes_row[0], titles, strict=True):
            words = textwrap.fill(label.replace("_", " "), NAME_LETTERS, break_long_words=False)
            axes.set_title(words, fontsize=GALLERY_LETTERS - 1)
        left += len(titles) * (wide + GAP) + NAME_LETTERS * GALLERY_LETTERS
        bottom = max(bottom, end)
    _write(figure, title, -5 * GALLERY_LETTERS, GALLERY_LETTERS + 3, va="bottom")
    _add_legends(figure, kinds, bottom + GAP)
    return figure


def sheet(
    image: Pixels, entries: Sequence[Entry], title: str, cell: int = 176, across: int = 6
) -> Figure:
    """Show every technique on one image, group by group, ``across`` maps in a row."""
    if not entries:
        raise PastaError("there are no explanations to show on a sheet")
    figure = Figure((1, 1), DPI)
    _write(figure, title, 0, LETTERS + 5)
    _, top = _add_grid(figure, [enlarge(image, cell)], 1, 5 * GAP, (cell, cell), GAP)
    top = _add_legends(figure, [rendering.kind_of(one.explanation) for one in entries], top + GAP)
    for group, found in groupby(entries, key=lambda entry: entry.group):
        members = list(found)
        if group:
            _write(figure, group, top + 2 * GAP, LETTERS + 1)
            top += 5 * GAP
        is_wide = any(isinstance(one.explanation, ConceptValues) for one in members)
        wide = 2 * cell + GAP if is_wide else cell
        cells = [rendering.picture(image, one.explanation, cell, wide) for one in members]
        words = [textwrap.fill(one.title, wide // 8) for one in members]
        room = GAP + (LETTERS + 7) * max(text.count("\n") + 1 for text in words)
        columns = max(1, across // 2 if is_wide else across)
        grid, top = _add_grid(figure, cells, columns, top + room, (wide, cell), room)
        for axes, text in zip(grid, words, strict=False):
            axes.set_title(text, loc="left", fontsize=LETTERS, pad=2)
    return figure


def enlarge(image: Pixels, size: int) -> Pixels:
    """Fit an image into a square."""
    square = (size, size)
    fitted = ImageOps.pad(Image.fromarray(image), square, Image.Resampling.LANCZOS, rendering.PAPER)
    return np.asarray(fitted)


def draw(figure: Figure) -> Image.Image:
    """Make a picture of a figure, with a margin around all that is on it."""
    stream = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(stream, format="png", bbox_inches="tight", pad_inches=MARGIN / DPI)
    return Image.open(stream).convert("RGB")


def _add_grid(
    figure: Figure,
    cells: Sequence[Pixels],
    columns: int,
    top: float,
    size: tuple[int, int],
    gap: float,
    left: float = 0.0,
) -> tuple[ImageGrid, float]:
    """Add pictures in rows, and say how far down they go."""
    columns = min(columns, len(cells))
    rows = -(-len(cells) // columns)
    wide, high = columns * size[0] + (columns - 1) * GAP, rows * size[1] + (rows - 1) * gap
    place = (left / DPI, -(top + high) / DPI, wide / DPI, high / DPI)
    pads = (GAP / DPI, gap / DPI)
    grid = ImageGrid(figure, place, (rows, columns), len(cells), axes_pad=pads)
    for axes, cell in zip(grid, cells, strict=False):
        axes.imshow(cell, aspect="auto")
        axes.set(xticks=[], yticks=[])
        axes.axis[:].line.set_visible(False)
    return grid, top + high


def _add_legends(figure: Figure, kinds: Sequence[Kind], top: float, scale: int = 1) -> float:
    """Add what the colours mean, for each kind that occurs."""
    strips = [rendering.legend(kind, LEGEND) for kind in KINDS if kind in kinds]
    size = (scale * LEGEND, scale * strips[0].shape[0]) if strips else (1, 1)
    return _add_grid(figure, strips, 1, top, size, GAP)[1] if strips else top


def _write(figure: Figure, text: str, top: float, letters: int, va: str = "top") -> None:
    figure.text(0, -top / DPI, text, va=va, fontsize=letters, fontweight="bold")


def _require_rows(name: str, found: Sequence[object] | Numbers, images: Pixels) -> None:
    if len(found) != len(images):
        raise PastaError(f"the {name} has {len(found)} entries for {len(images)} images")


def saliency_picture(parts: Sequence[Part], backbone: str, images: int) -> Image.Image:
    """Columns: the first images of each group that has the backbone. Rows: its methods."""
    there = [part for part in parts if (part[1].table["backbone"] == backbone).any()]
    ours = [one for one in _techniques(there) if one.backbone == backbone]
    ours = [one for one in ours if all(_has(stored, one) for _, stored in there)]
    if not there or not ours:
        raise PastaError(f"no group has explanations of {backbone}")
    chosen = [_most_explained(stored, ours, images) for _, stored in there]
    whole = [one for one in ours if _explains_all(there, chosen, one)]
    if not whole:  # a release has some techniques of an image only
        there, chosen = there[:1], chosen[:1]
        whole = [one for one in ours if _explains_all(there, chosen, one)]
    columns = {
        one.title: (
            np.concatenate(
                [
                    stored.shown(one, _of_images(stored, one, names)["row"].tolist())
                    for (_, stored), names in zip(there, chosen, strict=True)
                ]
            ),
            one.signed,
        )
        for one in whole
    }
    pixels = [_pixels(part[0], names) for part, names in zip(there, chosen, strict=True)]
    titles = [
        str(label)
        for (_, stored), names in zip(there, chosen, strict=True)
        for label in _of_images(stored, whole[0], names)["predicted"]
    ]
    title = f"Explanations of {backbone_title(backbone)}"
    return draw(gallery(np.concatenate(pixels), columns, titles, title, cell=112))


def _most_explained(
    stored: StoredExplanations, techniques: Sequence[Technique], number: int
) -> list[str]:
    """The images that most of the techniques explain; among equals the first."""
    counts = Counter(name for one in techniques for name in stored.rows(one)["image_id"])
    return [str(name) for name, _ in counts.most_common(number)]


def _explains_all(
    parts: Sequence[Part], chosen: Sequence[Sequence[str]], technique: Technique
) -> bool:
    return all(
        len(_of_images(stored, technique, names)) == len(names)
        for (_, stored), names in zip(parts, chosen, strict=True)
    )


def _of_images(
    stored: StoredExplanations, technique: Technique, names: Sequence[str]
) -> pd.DataFrame:
    """The explanations of some images, in their order."""
    rows = stored.rows(technique)
    rows = rows[rows["image_id"].isin(names)]
    return rows.sort_values("image_id", key=lambda column: column.map(list(names).index))


def concept_picture(parts: Sequence[Part]) -> Image.Image:
    """The first image of the first dataset, explained by all concept techniques."""
    first = parts[0][0]
    groups = [part for part in parts if part[0].folder == first.folder]
    ours = [one for one in _techniques(groups) if one.kind == "concept"]
    if not ours:
        raise PastaError(f"{first.folder}: there are no explanations of concept models")
    counts = Counter(
        name for one in ours for _, stored in groups for name in stored.rows(one)["image_id"]
    )
    [(image, _)] = counts.most_common(1)
    found = {
        one: (stored.concepts(one), int(own["row"].iloc[0]))
        for one in ours
        for _, stored in groups
        if len(own := _of_images(stored, one, [str(image)]))
    }
    entries = [
        Entry("", _title(one), ConceptValues(list(names), values[row]))
        for one, ((names, values), row) in found.items()
    ]
    # What it really shows: concept models may differ in what they say.
    label = str(first.images.set_index("image_id").loc[str(image), "label"]).replace("_", " ")
    title = f"Explanations of concept models: {label}"
    return draw(sheet(_pixels(first, [str(image)])[0], entries, title))


def save(picture: Image.Image, path: Path) -> None:
    """Write a JPEG that is no wider than a page needs."""
    if picture.width > WIDTH:
        height = round(picture.height * WIDTH / picture.width)
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    with store.atomic(path) as temporary:
        picture.convert("RGB").save(temporary, "JPEG", quality=85)


def _techniques(parts: Sequence[Part]) -> list[Technique]:
    """All that the groups have: by released number, then the extras."""
    found = dict.fromkeys(one for _, stored in parts for one in stored.techniques)
    return sorted(found, key=lambda one: one.place)


def _has(stored: StoredExplanations, technique: Technique) -> bool:
    return len(stored.rows(technique)) > 0


def _pixels(dataset: StoredDataset, images: Sequence[str]) -> Pixels:
    places = dataset.images.set_index("image_id").loc[list(images), "row"].to_numpy()
    return np.ascontiguousarray(dataset.pixels[places])


def _title(technique: Technique) -> str:
    """Method and, where it is not its own, backbone."""
    on = f"{technique.title} on {backbone_title(technique.backbone)}"
    return technique.title if technique.stage == "ante-hoc" else on
