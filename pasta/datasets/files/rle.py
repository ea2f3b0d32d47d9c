"""COCO masks: polygons and run lengths, uncompressed or packed into text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pasta.errors import InputError

_LARGEST = 2**40  # far above any image; keeps a forged count from becoming a huge integer


def decode_counts(counts: object, height: int, width: int) -> NDArray[np.bool_]:
    """The mask of COCO run lengths: column by column, background first.

    Parameters
    ----------
    counts
        A list of lengths, or the text that COCO packs them into.

    Examples
    --------
    >>> decode_counts([1, 2, 1], 2, 2).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    lengths = unpack(counts) if isinstance(counts, str) else _lengths(counts)
    if sum(lengths) != height * width:
        raise InputError(
            f"the run lengths cover {sum(lengths)} pixels",
            expected=f"{height} x {width} = {height * width}",
        )
    values = np.arange(len(lengths)) % 2 == 1
    return np.repeat(values, lengths).reshape((width, height)).T


def _lengths(counts: object) -> list[int]:
    if not isinstance(counts, list):
        raise InputError("run lengths that are neither a list nor text")
    for length in counts:
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < _LARGEST:
            raise InputError(f"{length!r} is no run length", expected="a whole number from 0")
    return list(counts)


def unpack(text: str) -> list[int]:
    """The lengths in COCO's text form.

    Each character holds six bits from "0" on: five of a number, lowest first, and one that says
    whether more follow. The last group's highest bit is the sign, and from the fourth number on
    the text gives the difference to the number two before.
    """
    lengths: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 40:
            raise InputError(
                f"the packed run lengths are damaged at {character!r}", expected='"0" to "o"'
            )
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        if len(lengths) > 2:
            value += lengths[-2]
        if not 0 <= value < _LARGEST:
            raise InputError(f"{value} is no run length", expected="a whole number from 0")
        lengths.append(value)
        value = shift = 0
    if shift:
        raise InputError("the packed run lengths end in the middle of a number")
    return lengths


def polygons(shapes: Sequence[object], height: int, width: int) -> NDArray[np.bool_]:
    """The union of polygons given as flat lists x0, y0, x1, y1, ..."""
    mask = np.zeros((height, width), dtype=np.bool_)
    for shape in shapes:
        if not isinstance(shape, list) or len(shape) < 6 or len(shape) % 2:
            raise InputError("a polygon", expected="an even number of at least 6 coordinates")
        if not all(isinstance(edge, int | float) and abs(edge) < 1e6 for edge in shape):
            raise InputError("a polygon's coordinate is no number of pixels")
        mask |= _fill(np.array(shape, dtype=np.float64).reshape(-1, 2), height, width)
    return mask


def _fill(corners: NDArray[np.float64], height: int, width: int) -> NDArray[np.bool_]:
    """The pixels whose centres lie inside of one polygon.

    Pillow's polygons are not used: they cut coordinates to whole pixels, which moves small objects
    by up to one pixel to the top left and adds their outline.
    """
    turns = np.zeros((height, width + 1), dtype=np.bool_)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        first, last = np.ceil(sorted((ay, by))).clip(-1, height + 1).astype(int)
        rows = np.arange(max(first - 1, 0), min(last, height))
        rows = rows[(min(ay, by) <= rows + 0.5) & (rows + 0.5 < max(ay, by))]
        if len(rows):
            crossed = ax + (rows + 0.5 - ay) * ((bx - ax) / (by - ay))
            # Everything from the first centre right of the edge on changes sides.
            turns[rows, np.ceil(crossed - 0.5).clip(0, width).astype(int)] ^= True
    return np.logical_xor.accumulate(turns[:, :width], axis=1)


def decode_segmentation(segmentation: object, height: int, width: int) -> NDArray[np.bool_]:
    """The mask of a COCO ``segmentation``, whichever of its three forms it has."""
    if isinstance(segmentation, list):
        return polygons(segmentation, height, width)
    if not isinstance(segmentation, dict):
        raise InputError("a segmentation", expected="polygons or run lengths")
    if segmentation.get("size") != [height, width]:
        raise InputError(
            f"a mask of size {segmentation.get('size')!r}",
            expected=f"[{height}, {width}], the size of its image",
        )
    return decode_counts(segmentation.get("counts"), height, width)
