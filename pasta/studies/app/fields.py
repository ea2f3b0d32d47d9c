"""What a part of an answer must look like: nothing that people send is stored unchecked.

A field is described by an object with a ``type`` and its limits, as ``items.json`` has it::

    {"type": "whole", "low": 1, "high": 5}             a whole number
    {"type": "text", "longest": 2000}                  words
    {"type": "choice", "options": ["a", "b"]}          one of them
    {"type": "flag"}                                   true or false
    {"type": "boxes", "most": 50}                      [x0, y0, x1, y1] in fractions
    {"type": "ranking", "items": ["a", "b"]}           all of them in some order
    {"type": "regions", "width": 9, "height": 9, "most": 50, "points": 1000}
    {"type": "words", "count": 12}                     indices, each once, from 0

``"optional": true`` allows ``null``. A value comes back in one spelling.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from pasta.errors import PastaError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_BOXES, _REGIONS, _POINTS, _LONGEST = 50, 50, 1000, 2000

Json = dict[str, Any]


class InvalidAnswerError(PastaError):
    """An answer that cannot be taken; says which field, and what was expected."""

    def __init__(self, field: str | None, expected: str) -> None:
        self.field, self.expected = field, expected
        super().__init__(f"{field}: expected {expected}" if field else f"expected {expected}")


def check_answer(fields: Mapping[str, Json], answer: object) -> Json:
    """An answer with every field checked and in one spelling; nothing missing, nothing more.

    >>> check_answer({"Q1": {"type": "whole", "low": 1, "high": 5}}, {"Q1": 4})
    {'Q1': 4}
    """
    if not isinstance(answer, dict):
        raise InvalidAnswerError(None, "an object with the parts of the answer")
    unknown = sorted(set(map(str, answer)) - set(fields))
    if unknown:
        raise InvalidAnswerError(
            unknown[0][:80], "only " + (", ".join(fields) or "an empty object")
        )
    return {name: _checked(name, spec, answer.get(name)) for name, spec in fields.items()}


def _checked(name: str, spec: Json, value: object) -> Any:
    if value is None and spec.get("optional"):
        return None
    try:
        return _TYPES[spec["type"]](spec, value)
    except _ExpectedError as error:
        raise InvalidAnswerError(name, str(error)) from None


class _ExpectedError(Exception):
    """What was expected, in words."""


def _whole(spec: Json, value: object) -> int:
    low, high = spec["low"], spec["high"]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _ExpectedError(f"a whole number from {low} to {high}")
    return value


def _text(spec: Json, value: object) -> str:
    longest = spec.get("longest", _LONGEST)
    if not isinstance(value, str):
        raise _ExpectedError("words")
    text = unicodedata.normalize("NFC", value.replace("\r\n", "\n").replace("\r", "\n"))
    text = _CONTROL.sub("", text).strip()
    if not text and not spec.get("optional"):
        raise _ExpectedError("some words")
    if len(text) > longest:
        raise _ExpectedError(f"at most {longest:,} characters")
    return text


def _choice(spec: Json, value: object) -> str:
    if not isinstance(value, str) or value not in spec["options"]:
        raise _ExpectedError("one of " + ", ".join(map(str, spec["options"])))
    return value


def _flag(_: Json, value: object) -> bool:
    if not isinstance(value, bool):
        raise _ExpectedError("true or false")
    return value


def _boxes(spec: Json, value: object) -> list[list[float]]:
    most = spec.get("most", _BOXES)
    if not isinstance(value, list) or len(value) > most:
        raise _ExpectedError(f"a list of at most {most} boxes")
    boxes = []
    for one in value:
        corners = [_number(side) for side in one] if isinstance(one, list) else []
        if len(corners) != 4 or not all(0 <= side <= 1 for side in corners):
            raise _ExpectedError("boxes [x0, y0, x1, y1] in fractions of the picture, 0 to 1")
        x0, y0, x1, y1 = corners
        if not (x0 < x1 and y0 < y1):
            raise _ExpectedError("boxes with x0 < x1 and y0 < y1")
        boxes.append(corners)
    return boxes


def _ranking(spec: Json, value: object) -> list[str]:
    items = spec["items"]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _ExpectedError("a list of all items in order")
    if sorted(value) != sorted(items):
        raise _ExpectedError("each once: " + ", ".join(items))
    return value


def _regions(spec: Json, value: object) -> list[Json]:
    most, width, height = spec.get("most", _REGIONS), spec["width"], spec["height"]
    if not isinstance(value, list) or len(value) > most:
        raise _ExpectedError(f"a list of at most {most} regions")
    found = []
    for one in value:
        if not isinstance(one, dict) or set(one) != {"shape", "points"}:
            raise _ExpectedError("regions with shape and points")
        points = one["points"]
        if not isinstance(points, list) or len(points) > spec.get("points", _POINTS):
            raise _ExpectedError(f"at most {spec.get('points', _POINTS)} points in a region")
        pairs = [
            [_number(side) for side in pair] if isinstance(pair, list) else [] for pair in points
        ]
        if not all(
            len(pair) == 2 and 0 <= pair[0] <= width and 0 <= pair[1] <= height for pair in pairs
        ):
            raise _ExpectedError(f"points [x, y] within {width} x {height} pixels")
        found.append({"shape": one["shape"], "points": _outline(one["shape"], pairs)})
    return found


def _outline(shape: object, points: list[list[float]]) -> list[list[float]]:
    if shape == "box":
        if len(points) != 2 or points[0][0] == points[1][0] or points[0][1] == points[1][1]:
            raise _ExpectedError("a box with two opposite corners")
        (ax, ay), (bx, by) = points
        return [[min(ax, bx), min(ay, by)], [max(ax, bx), max(ay, by)]]
    if shape != "polygon":
        raise _ExpectedError("the shape polygon or box")
    kept = [one for place, one in enumerate(points) if place == 0 or one != points[place - 1]]
    if len(kept) > 1 and kept[0] == kept[-1]:
        kept.pop()
    if len({tuple(one) for one in kept}) < 3:
        raise _ExpectedError("a polygon with at least three different points")
    return kept


def _words(spec: Json, value: object) -> list[int]:
    count = spec["count"]
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise _ExpectedError("a list of word indices")
    if len(set(value)) < len(value) or not all(0 <= one < count for one in value):
        raise _ExpectedError(f"indices from 0 to {count - 1}, each once")
    return sorted(value)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _ExpectedError("numbers")
    try:
        number = float(value)
    except OverflowError:
        raise _ExpectedError("numbers") from None
    if not math.isfinite(number):
        raise _ExpectedError("numbers")
    return number


_TYPES: Mapping[str, Callable[[Json, object], Any]] = {
    "whole": _whole,
    "text": _text,
    "choice": _choice,
    "flag": _flag,
    "boxes": _boxes,
    "ranking": _ranking,
    "regions": _regions,
    "words": _words,
}
