"""Explanations as people see them: heat maps over images, bars for concepts, rating cards.

CAM maps are usually shown in "jet" at half strength: what does not matter turns blue, lightness
goes up and down, red and green look alike to many. Here a positive map is "inferno", whose
lightness only rises: what does not matter is dimmed, what matters glows, also for colour-blind eyes
and in grey. A signed map is red for and blue against, equally light so that neither looks stronger;
where it is zero the image shows unchanged.

The released pictures look otherwise, and so does the style ``released``: matplotlib's "bwr" at
half strength over the whole image, each map divided by its largest value, from blue for 0 (for -1,
if the map is signed) to red.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from matplotlib import colormaps, get_data_path
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

from pasta.errors import PastaError
from pasta.explanations.settings import Style

Pixels = NDArray[np.uint8]
Numbers = NDArray[np.floating[Any]]
Kind = Literal["positive", "signed", "concepts"]
Align = Literal["left", "center", "right"]
Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]  # left, top, right, bottom
Draw: TypeAlias = ImageDraw.ImageDraw
Face: TypeAlias = ImageFont.FreeTypeFont

SIZE, GAP, STRIP = 288, 8, 24
INK, QUIET, FAINT, PAPER = (51, 51, 51), (110, 110, 110), (217, 217, 217), (255, 255, 255)
FOR, AGAINST = (222, 36, 56), (31, 111, 235)  # both have lightness 49 in CIELAB
DIM, GLOW = 0.35, 0.75  # weight of the heat colour where a positive map is 0, and where it is 1
STRONGEST = 0.8  # weight of the colour where a signed map is 1 or -1
RELEASED_WEIGHT = 0.5  # of the colour in released pictures
STEP = 1 / 255  # smaller differences cannot be seen
SMALLEST = 8  # letters, in pixels
NO_BREAK = "\N{NO-BREAK SPACE}"


class HeatMap(NamedTuple):
    """A map (h, w) that is ready to be shown: in [0, 1], or in [-1, 1] if it is signed."""

    shown: Numbers
    signed: bool


class ConceptValues(NamedTuple):
    """One value for each concept, with its sign."""

    names: Sequence[str]
    values: Numbers


Explanation = HeatMap | ConceptValues


def overlay(
    image: Pixels,
    shown: Numbers,
    signed: bool,
    size: int = SIZE,
    note: bool = True,
    style: Style = "pasta",
) -> Pixels:
    """Lay a heat map over an image (size, size, 3); an image that is not square gets margins.

    A map that says nothing leaves the image as it is, with a ``note`` at its bottom that says so.
    """
    large = ImageOps.contain(Image.fromarray(image), (size, size), Image.Resampling.LANCZOS)
    nothing = emptiness(shown, flat=True)
    if not nothing:
        heat = Image.fromarray(np.asarray(shown, dtype=np.float32))
        heat = heat.resize(large.size, Image.Resampling.BILINEAR)
        large = Image.fromarray(blend(np.asarray(large), np.asarray(heat), signed, style))
    canvas = ImageOps.pad(large, (size, size), color=PAPER)
    if nothing and note and size >= 96:  # else there is no room
        text, face = fit(nothing, (4, 0, size - 4, size / 2), 12)
        draw, top = ImageDraw.Draw(canvas), size - extent(text, face)[1] - 4
        draw.rectangle((0, top, size, size), INK)
        write(draw, (0, top, size, size), text, face, "center", PAPER)
    return np.asarray(canvas)


def blend(image: Pixels, heat: Numbers, signed: bool, style: Style = "pasta") -> Pixels:
    """Mix image and colours of equal height and width, pixel by pixel."""
    if style == "released":
        colour = released_colours()[released_places(heat, signed)]
        mixed = (1 - RELEASED_WEIGHT) * image + RELEASED_WEIGHT * colour
        return np.array(mixed + 0.5, dtype=np.uint8)
    strength = np.clip(np.abs(heat) if signed else heat, 0, 1)[..., None]
    if signed:
        weight, colour = STRONGEST * strength, np.where(heat[..., None] >= 0, FOR, AGAINST)
    else:
        weight = DIM + (GLOW - DIM) * strength
        colour = heat_colours()[np.rint(255 * strength[..., 0]).astype(np.intp)]
    return np.array((1 - weight) * image + weight * colour + 0.5, dtype=np.uint8)


@lru_cache(maxsize=1)
def heat_colours() -> NDArray[np.uint8]:
    """The 256 colours of positive maps, from cold to hot."""
    return np.array(255 * colormaps["inferno"](np.arange(256))[:, :3] + 0.5, dtype=np.uint8)


@lru_cache(maxsize=1)
def released_colours() -> NDArray[np.uint8]:
    """The 256 colours of released pictures, from blue over white to red."""
    return np.array(255 * colormaps["bwr"](np.arange(256))[:, :3] + 0.5, dtype=np.uint8)


def released_places(heat: Numbers, signed: bool) -> NDArray[np.intp]:
    """Which of these colours each value of a map (..., height, width) has."""
    largest = np.abs(heat).max((-2, -1), keepdims=True)
    whole = heat / np.where(largest > 0, largest, 1)
    shares = (whole + 1) / 2 if signed else np.clip(whole, 0, 1)
    return np.rint(255 * shares).astype(np.intp)


def emptiness(values: Numbers, flat: bool = False) -> str:
    """Why there is nothing to show; empty if there is something. A ``flat`` map shows nothing."""
    finite = np.isfinite(values).all()
    if finite and np.any(values) and not (flat and np.ptp(values) < STEP):
        return ""
    reason = ("same everywhere" if np.any(values) else "all zero") if finite else "not a number"
    return f"no explanation ({reason.replace(' ', NO_BREAK)})"


def concept_bars(
    names: Sequence[str], values: Numbers, top: int = 10, size: tuple[int, int] = (432, SIZE)
) -> Pixels:
    """Bars for the concepts of largest absolute value, the strongest above, red for, blue against.

    Names shrink, then wrap; if even that does not suffice the picture becomes higher than asked.
    """
    if len(names) != len(values):
        raise PastaError(f"there are {len(names)} concept names but {len(values)} values")
    canvas = Image.new("RGB", size, PAPER)
    if nothing := emptiness(values):
        box = (4, 0, size[0] - 4, size[1])
        write(ImageDraw.Draw(canvas), box, *fit(nothing, box, 14), "center", QUIET)
        return np.asarray(canvas)
    order = np.argsort(-np.abs(values), kind="stable")[:top]
    strongest = np.asarray(values, dtype=np.float64)[order]
    asked = min((size[1] - 4) / len(order), 32)  # few bars do not become thick bars
    face, labels = _fit_names([names[number] for number in order], size[0], asked)
    pitch = max(asked, max(extent(label, face)[1] for label in labels) + 1)
    canvas = Image.new("RGB", (size[0], max(size[1], math.ceil(pitch * len(order)) + 4)), PAPER)
    draw = ImageDraw.Draw(canvas)
    column = 4 + max(extent(label, face)[0] for label in labels)
    numbers = _numbers(strongest) if size[0] >= 240 else [""] * len(order)
    small = font(max(SMALLEST, round(face.size) - 2))
    reserve = 4 + math.ceil(max(map(small.getlength, numbers)))
    zero, longest = _axis(column + 10, size[0] - 4, reserve, strongest)
    half = min(0.31 * pitch, 11)
    for place, value in enumerate(strongest):
        up, down = 2 + place * pitch, 2 + (place + 1) * pitch
        backwards = value < 0 or strongest.max() <= 0
        write(draw, (4, up, column, down), labels[place], face, "right")
        end = zero + int(np.sign(value)) * round(longest * abs(value) / abs(strongest[0]))
        if end != zero:
            edges = (min(zero, end), round((up + down) / 2 - half))
            far = (max(zero, end) - 1, round((up + down) / 2 + half) - 1)
            draw.rectangle((*edges, *far), FOR if value > 0 else AGAINST)
        beside = (end - reserve, up, end - 4, down) if backwards else (end + 4, up, size[0], down)
        write(draw, beside, numbers[place], small, "right" if backwards else "left", QUIET)
    draw.line((zero, 2, zero, 1 + pitch * len(order)), QUIET)
    return np.asarray(canvas)


def _axis(left: int, right: int, reserve: int, values: Numbers) -> tuple[int, int]:
    """Where zero is, and how long a bar may be beside which its number still has room."""
    if values.min() >= 0 or values.max() <= 0:
        return left if values.min() >= 0 else right, right - left - reserve
    return (left + right) // 2, (right - left) // 2 - reserve


def _numbers(values: Numbers) -> list[str]:
    """Values with signs, to a precision that suits the largest."""
    largest = float(np.abs(values).max())
    digits = min(max(1 - math.floor(math.log10(largest)), 0), 4)
    form = f"+.{digits}f" if 1e-3 <= largest < 1e4 else "+.0e"
    texts = [f"{value:{form}}".replace("-", "−") if value else "0" for value in values]
    return [text if text.strip("+−0.") or text == "0" else "≈ 0" for text in texts]


def _fit_names(names: Sequence[str], width: int, height: float) -> tuple[Face, list[str]]:
    """The largest letters that fit a chart; rather one line of smaller letters than two lines."""
    for letters, most in [
        (18, 1),
        (16, 1),
        (14, 1),
        (13, 1),
        (12, 1),
        (11, 1),
        (12, 2),
        (11, 2),
        (10, 99),
    ]:
        face = font(max(10, min(letters, width // 24)))
        labels = [wrap(name.replace("_", " "), 0.45 * width, face) for name in names]
        lines = max(label.count("\n") + 1 for label in labels)
        if lines <= most and lines * sum(face.getmetrics()) <= height:
            break
    return face, labels


def legend(kind: Kind, width: int = SIZE) -> Pixels:
    """A strip that says what the colours mean."""
    positive = kind == "positive"
    words = ("unimportant", "important") if positive else ("against the class", "for the class")
    canvas = Image.new("RGB", (width, STRIP), PAPER)
    draw, face = ImageDraw.Draw(canvas), font(min(max(width // 20, SMALLEST), 12))
    left, right = (math.ceil(face.getlength(word)) + 8 for word in words)
    scale = np.tile(np.linspace(0 if positive else -1, 1, max(width - left - right, 1)), (10, 1))
    grey = np.full((*scale.shape, 3), 215, np.uint8)  # stands for the image
    bar = blend(grey, scale, signed=not positive)
    if kind == "concepts":  # whose strength is the length of a bar, not its colour
        bar = np.where(scale[..., None] < 0, AGAINST, FOR).astype(np.uint8)
    canvas.paste(Image.fromarray(bar), (left, 7))
    write(draw, (0, 0, left - 8, STRIP), words[0], face, "left", QUIET)
    write(draw, (width - right + 8, 0, width, STRIP), words[1], face, "left", QUIET)
    return np.asarray(canvas)


def says(predicted: str, probability: float) -> str:
    """``The model says: cat (93 %)``, with 0 % and 100 % only where they are exact."""
    percent = f"{round(100 * probability)} %"
    if 0 < probability < 1:
        percent = {"0 %": "under 1 %", "100 %": "over 99 %"}.get(percent, percent)
    return f"The model says: {predicted.replace('_', ' ')} ({percent})"


def kind_of(explanation: Explanation) -> Kind:
    """What the colours of an explanation mean."""
    if isinstance(explanation, HeatMap):
        return "signed" if explanation.signed else "positive"
    return "concepts"


def picture(image: Pixels, explanation: Explanation, size: int = SIZE, wide: int = 0) -> Pixels:
    """Draw an explanation: a map over the image, or bars, half as wide again or as ``wide``."""
    if isinstance(explanation, HeatMap):
        return overlay(image, *explanation, size)
    return concept_bars(*explanation, size=(wide or size * 3 // 2, size))


def card(
    image: Pixels, explanation: Explanation, predicted: str, probability: float, size: int = SIZE
) -> Pixels:
    """What a rater sees of one sample: prediction, image, explanation, meaning of the colours."""
    right = Image.fromarray(picture(image, explanation, size))
    wide, top = size + GAP + right.width, STRIP + GAP
    canvas = Image.new("RGB", (wide, top + right.height + STRIP), PAPER)
    header, caption = (0, 0, wide, top - 4), says(predicted, probability)
    write(ImageDraw.Draw(canvas), header, *fit(caption, header, 17, bold=True))
    plain = ImageOps.pad(Image.fromarray(image), (size, size), Image.Resampling.LANCZOS, PAPER)
    canvas.paste(plain, (0, top))
    canvas.paste(right, (size + GAP, top))
    strip = Image.fromarray(legend(kind_of(explanation), right.width))
    canvas.paste(strip, (size + GAP, top + right.height))
    return np.asarray(canvas)


@lru_cache(maxsize=64)
def font(size: int, bold: bool = False) -> Face:
    """DejaVu Sans, which comes with matplotlib: Pillow's own font has few letters beyond ASCII."""
    path = Path(get_data_path(), "fonts", "ttf", f"DejaVuSans{'-Bold' if bold else ''}.ttf")
    # the basic layout does not depend on optional libraries: pictures are equal everywhere
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def wrap(text: str, width: float, face: Face) -> str:
    """Break a text into lines at spaces and hyphens, if need be within words; 93 % stays whole."""
    plain = re.sub("[ \t\r\n]+", " ", unicodedata.normalize("NFC", text))
    lines = [""]
    for piece in re.split(r"(?<=[ \-/])(?!%)", plain.strip(" ")):
        for part in [piece] if face.getlength(piece.rstrip()) <= width else piece:
            if lines[-1] and face.getlength((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def extent(text: str, face: Face) -> tuple[int, int]:
    """Width and height of lines of text."""
    lines = text.split("\n")
    return math.ceil(max(map(face.getlength, lines))), len(lines) * sum(face.getmetrics())


def fit(text: str, box: Box, letters: int, bold: bool = False) -> tuple[str, Face]:
    """Wrap a text for a box, with smaller letters if there is need."""
    for size in range(letters, SMALLEST - 1, -1):
        face = font(size, bold)
        wrapped = wrap(text, box[2] - box[0], face)
        if extent(wrapped, face)[1] <= box[3] - box[1]:
            break
    return wrapped, face


def write(
    draw: Draw, box: Box, text: str, face: Face, align: Align = "left", colour: Colour = INK
) -> None:
    """Write lines of text into the middle of a box's height."""
    left = {"left": box[0], "center": (box[0] + box[2]) / 2, "right": box[2]}[align]
    anchor = {"left": "lm", "center": "mm", "right": "rm"}[align]
    place, spacing = (left, (box[1] + box[3]) / 2), face.getmetrics()[1]
    draw.multiline_text(place, text, colour, face, anchor, spacing, align)
