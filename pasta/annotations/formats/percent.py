"""Boxes in percent of an image, as Label Studio has them, and in fractions, as we have them.

Decimal numbers keep this exact: a box of ours goes out and comes back as the same floats, which
multiplying and dividing by 100 in binary would not give.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation, Overflow, Underflow

from pasta.annotations.formats.json_text import Number

OVERSHOOT = 0.001  # fraction of the side by which a box may stick out, and is clipped
# Enough digits for the smallest float beside the largest; nothing is trapped but nonsense.
_EXACT = Context(prec=400, traps=[InvalidOperation])


class Box(tuple[str, str, str, str]):
    """x0, y0, x1, y1 as text."""

    __slots__ = ()


def fractions(x: str, y: str, width: str, height: str) -> Box:
    """Corners in fractions; raises ValueError, which says why, for what is no box of the image."""
    left, top = _number(x), _number(y)
    right, bottom = _EXACT.add(left, _number(width)), _EXACT.add(top, _number(height))
    corners = [float(_EXACT.scaleb(one, -2)) for one in (left, top, right, bottom)]
    if any(corner < -OVERSHOOT or corner > 1 + OVERSHOOT for corner in corners):
        raise ValueError("sticks out of the image")
    return Box(repr(min(max(corner, 0.0), 1.0)) for corner in corners)


def percents(corners: Sequence[float]) -> dict[str, Number]:
    """x, y, width and height in percent."""
    x0, y0, x1, y1 = (Decimal(repr(float(corner))) for corner in corners)
    return {
        "x": _percent(x0),
        "y": _percent(y0),
        "width": _percent(_EXACT.subtract(x1, x0)),
        "height": _percent(_EXACT.subtract(y1, y0)),
    }


def _percent(value: Decimal) -> Number:
    return Number(format(_EXACT.scaleb(value, 2), "f"))


def _number(text: str) -> Decimal:
    try:
        value = _EXACT.create_decimal(text)
    except (InvalidOperation, Overflow, Underflow) as error:
        raise ValueError("is no number") from error
    if not value.is_finite():
        raise ValueError("is no number")
    return value
