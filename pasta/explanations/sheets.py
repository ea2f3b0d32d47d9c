"""Galleries of explanations: methods side by side, for several images or for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from PIL import Image, ImageDraw, ImageOps

from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.rendering import Align, Explanation, Kind, Numbers, Pixels

MARGIN, GAP, WIDE_GAP = 14, 6, 18
LEGEND, TALLEST = 300, 10_000
LETTERS, TITLE_LETTERS = 13, 18
KINDS: Mapping[Kind, str] = {
    "positive": "positive maps",
    "signed": "signed maps",
    "concepts": "concepts",
}


@dataclass(frozen=True)
class Entry:
    """One explanation of a contact sheet, and where it belongs."""

    group: str  # the backbone, perhaps with what it says
    title: str  # the method
    explanation: Explanation


def gallery(
    images: Pixels,
    columns: Mapping[str, tuple[Numbers, bool]],
    row_titles: Sequence[str],
    title: str,
    cell: int = 144,
) -> Image.Image:
    """Images in rows, methods in columns.

    ``columns`` holds for each method its maps (r, h, w) and whether they are signed;
    ``row_titles`` what is said of each image, such as the predicted class.
    """
    for name, (maps, _) in columns.items():
        _require_rows(f"column {name!r}", maps, images)
    drawn = [
        [rendering.overlay(image, maps[row], signed, cell) for maps, signed in columns.values()]
        for row, image in enumerate(images)
    ]
    kinds: list[Kind] = ["signed" if signed else "positive" for _, signed in columns.values()]
    return _table(images, drawn, list(columns), row_titles, title, (cell, cell), kinds)


def concept_gallery(
    images: Pixels,
    columns: Mapping[str, Sequence[tuple[Sequence[str], Numbers]]],
    row_titles: Sequence[str],
    title: str,
    cell: int = 144,
    top: int = 6,
) -> Image.Image:
    """Images in rows, methods in columns: for each method and image its concepts and values."""
    for name, found in columns.items():
        _require_rows(f"column {name!r}", found, images)
    size = (2 * cell, cell)
    drawn = [
        [rendering.concept_bars(*found[row], top=top, size=size) for found in columns.values()]
        for row in range(len(images))
    ]
    return _table(images, drawn, list(columns), row_titles, title, size, ["concepts"])


def sheet(
    image: Pixels, entries: Sequence[Entry], title: str, cell: int = 176, across: int = 6
) -> Image.Image:
    """Every technique on one image, group by group, ``across`` maps in a row."""
    if not entries:
        raise PastaError("there are no explanations to show on a sheet")
    wide = across * cell + (across - 1) * GAP
    letters = _letters([(entry.title, cell) for entry in entries])
    kinds = [rendering.kind_of(entry.explanation) for entry in entries]
    legends = _stack(_legends(kinds, LEGEND), GAP)
    opening = _beside([_plain(image, cell), legends], WIDE_GAP)
    strips = [_words(title, wide, TITLE_LETTERS, bold=True), opening]
    for group, members in groupby(entries, key=lambda entry: entry.group):
        strips.append(_heading(group, wide))
        cells = [_cell(image, entry, cell, letters) for entry in members]
        strips += [_beside(row, GAP, top=True) for row in _rows(cells, wide)]
    return ImageOps.expand(_stack(strips, 2 * GAP), MARGIN, rendering.PAPER)


def _table(
    images: Pixels,
    drawn: Sequence[Sequence[Pixels]],
    headers: Sequence[str],
    row_titles: Sequence[str],
    title: str,
    size: tuple[int, int],
    kinds: Sequence[Kind],
) -> Image.Image:
    """Row titles, the images and what was drawn for them, under headers and above legends."""
    _require_rows("list of row titles", row_titles, images)
    widths, high = [round(0.75 * size[1]), size[1], *[size[0]] * len(headers)], size[1]
    gap = GAP if size[0] == size[1] else WIDE_GAP  # bars have no edges that keep them apart
    labels = list(zip(["", "Image", *headers], widths, strict=True))
    letters = _letters([*labels, *((label, widths[0]) for label in row_titles)])
    rows = [_beside([_words(*label, letters, "center") for label in labels], gap)]
    for image, label, row in zip(images, row_titles, drawn, strict=True):
        name = _words(label, widths[0], letters, "right", high)
        cells = [name, _plain(image, high), *map(Image.fromarray, row)]
        rows.append(_beside(cells, gap, top=True))
    wide = rows[0].width
    strips = [_words(title, wide, TITLE_LETTERS, bold=True), _stack(rows, GAP)]
    strips += _legends(kinds, wide)
    return ImageOps.expand(_stack(strips, 2 * GAP), MARGIN, rendering.PAPER)


def _require_rows(name: str, found: Sequence[object] | Numbers, images: Pixels) -> None:
    if len(found) != len(images):
        raise PastaError(f"the {name} has {len(found)} entries for {len(images)} images")


def _letters(labels: Sequence[tuple[str, int]]) -> int:
    """The largest letters with which no word of a label has to be broken."""
    for letters in range(LETTERS, rendering.SMALLEST, -1):
        face = rendering.font(letters)
        words = [(word, width) for label, width in labels for word in label.split()]
        if all("\n" not in rendering.wrap(word, width, face) for word, width in words):
            return letters
    return rendering.SMALLEST


def _words(
    text: str, width: int, letters: int, align: Align = "left", height: int = 0, bold: bool = False
) -> Image.Image:
    """A text as a picture of this width, as high as it must be."""
    lines, face = rendering.fit(text, (0, 0, width, TALLEST), letters, bold)
    needed = rendering.extent(lines, face)[1]
    canvas = Image.new("RGB", (width, max(height, needed)), rendering.PAPER)
    rendering.write(ImageDraw.Draw(canvas), (0, 0, *canvas.size), lines, face, align)
    return canvas


def _heading(text: str, wide: int) -> Image.Image:
    """A group's name under a thin line."""
    words = _words(text, wide, LETTERS + 1, bold=True)
    canvas = ImageOps.expand(words, (0, GAP + 1, 0, 0), rendering.PAPER)
    ImageDraw.Draw(canvas).line((0, 0, wide, 0), rendering.FAINT)
    return canvas


def _cell(image: Pixels, entry: Entry, cell: int, letters: int) -> Image.Image:
    """One explanation under its title; bars are as wide as two maps."""
    drawn = rendering.picture(image, entry.explanation, cell, wide=2 * cell + GAP)
    title = _words(entry.title, drawn.shape[1], letters)
    return _stack([title, Image.fromarray(drawn)], GAP // 2)


def _rows(cells: Sequence[Image.Image], wide: int) -> Iterator[list[Image.Image]]:
    """Cells in rows that are no wider than the page."""
    row: list[Image.Image] = []
    for cell in cells:
        if row and sum(other.width + GAP for other in row) + cell.width > wide:
            yield row
            row = []
        row.append(cell)
    if row:
        yield row


def _legends(kinds: Sequence[Kind], wide: int) -> list[Image.Image]:
    """What the colours mean, for each kind that occurs."""
    occurring = [kind for kind in KINDS if kind in kinds]
    strips = []
    for kind in occurring:
        strip = Image.fromarray(rendering.legend(kind, LEGEND))
        name = _words(KINDS[kind], strip.width, 12)
        strips.append(_stack([name, strip], 0) if len(occurring) > 1 else strip)
    return [_beside(row, 2 * WIDE_GAP, top=True) for row in _rows(strips, wide)]


def _plain(image: Pixels, size: int) -> Image.Image:
    shown = Image.fromarray(image)
    return ImageOps.pad(shown, (size, size), Image.Resampling.LANCZOS, rendering.PAPER)


def _beside(pictures: Sequence[Image.Image], gap: int, top: bool = False) -> Image.Image:
    """Pictures in a row, on one line at their upper or lower edges."""
    wide = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    high = max(picture.height for picture in pictures)
    canvas, left = Image.new("RGB", (wide, high), rendering.PAPER), 0
    for picture in pictures:
        canvas.paste(picture, (left, 0 if top else high - picture.height))
        left += picture.width + gap
    return canvas


def _stack(pictures: Sequence[Image.Image], gap: int) -> Image.Image:
    """Pictures above each other, in line at the left."""
    high = sum(picture.height for picture in pictures) + gap * (len(pictures) - 1)
    wide = max(picture.width for picture in pictures)
    canvas, top = Image.new("RGB", (wide, high), rendering.PAPER), 0
    for picture in pictures:
        canvas.paste(picture, (0, top))
        top += picture.height + gap
    return canvas
