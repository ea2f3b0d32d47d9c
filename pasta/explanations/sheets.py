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
GALLERY_LETTERS = 24  # galleries are wide: on a page these are as small as letters may be
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
    """Images in rows, methods in columns, whose headers are turned: they are wider than a cell.

    ``columns`` holds for each method its maps (r, h, w) and whether they are signed;
    ``row_titles`` what is said of each image, such as the predicted class.
    """
    for name, (maps, _) in columns.items():
        _require_rows(f"column {name!r}", maps, images)
    _require_rows("list of row titles", row_titles, images)
    wide = 2 * cell
    names = [label.replace("_", " ") for label in row_titles]
    letters = _letters([(name, wide) for name in names], GALLERY_LETTERS)
    corner = Image.new("RGB", (wide, 1), rendering.PAPER)
    rows = [_beside([corner, *(_turned(one, cell) for one in ("image", *columns))], GAP)]
    for row, (image, label) in enumerate(zip(images, names, strict=True)):
        drawn = [rendering.overlay(image, maps[row], sign, cell) for maps, sign in columns.values()]
        words = _words(label, wide, letters, "right", cell)
        cells = [words, _plain(image, cell), *map(Image.fromarray, drawn)]
        rows.append(_beside(cells, GAP, top=True))
    strips = [_words(title, rows[0].width, GALLERY_LETTERS + 6, bold=True), _stack(rows, GAP)]
    kinds: list[Kind] = ["signed" if signed else "positive" for _, signed in columns.values()]
    strips += _legends(kinds, rows[0].width, 2)
    return ImageOps.expand(_stack(strips, 2 * GAP), MARGIN, rendering.PAPER)


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
        if group:
            strips.append(_heading(group, wide))
        cells = [_cell(image, entry, cell, letters) for entry in members]
        strips += [_beside(row, GAP, top=True) for row in _rows(cells, wide)]
    return ImageOps.expand(_stack(strips, 2 * GAP), MARGIN, rendering.PAPER)


def _turned(text: str, width: int) -> Image.Image:
    """A text that goes upwards, in the middle of a strip of this width."""
    lines, face = rendering.fit(text, (0, 0, TALLEST, TALLEST), GALLERY_LETTERS, False)
    long, high = rendering.extent(lines, face)
    written = _words(text, long + 1, GALLERY_LETTERS).rotate(90, expand=True)
    canvas = Image.new("RGB", (width, written.height), rendering.PAPER)
    canvas.paste(written, ((width - min(high, width)) // 2, 0))
    return canvas


def _require_rows(name: str, found: Sequence[object] | Numbers, images: Pixels) -> None:
    if len(found) != len(images):
        raise PastaError(f"the {name} has {len(found)} entries for {len(images)} images")


def _letters(labels: Sequence[tuple[str, int]], largest: int = LETTERS) -> int:
    """The largest letters with which no word of a label has to be broken."""
    for letters in range(largest, rendering.SMALLEST, -1):
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


def _legends(kinds: Sequence[Kind], wide: int, scale: int = 1) -> list[Image.Image]:
    """What the colours mean, for each kind that occurs."""
    occurring = [kind for kind in KINDS if kind in kinds]
    strips = []
    for kind in occurring:
        strip = ImageOps.scale(Image.fromarray(rendering.legend(kind, LEGEND)), scale)
        name = _words(KINDS[kind], strip.width, 12 * scale)
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
