"""Numbers as they stand in sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, isnan
from typing import Any

import pandas as pd

MINUS, DASH, NARROW = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NARROW NO-BREAK SPACE}"


def number(value: float, places: int = 2) -> str:
    """0.7123 as "0.71", -0.1 as "−0.10", thousands apart; a dash where there is none."""
    if value is None or isnan(value):
        return DASH
    if not isfinite(value):
        return f"{MINUS if value < 0 else ''}∞"
    text = f"{abs(value):,.{places}f}".replace(",", NARROW)
    negative = value < 0 and any(digit not in "0." + NARROW for digit in text)
    return f"{MINUS}{text}" if negative else text


def signed(value: float, places: int = 2) -> str:
    """A difference: its sign is always there, but for one that rounds to zero."""
    text = number(value, places)
    if text == DASH or text.startswith(MINUS) or not any(digit in text for digit in "123456789∞"):
        return text
    return f"+{text}"


def whole(value: float) -> str:
    """A count."""
    return number(value, 0)


def share(value: float, places: int = 0) -> str:
    """0.9 as "90 %"."""
    return DASH if value is None or isnan(value) else f"{number(100 * value, places)}{NARROW}%"


def interval(low: float, high: float, places: int = 2) -> str:
    """ "[0.61, 0.72]", or a dash where one end is missing."""
    if any(end is None or isnan(end) for end in (low, high)):
        return DASH
    return f"[{number(low, places)}, {number(high, places)}]"


def p_cell(value: float) -> str:
    """A p-value in a table: "0.034", "< 0.001"."""
    if value is None or isnan(value):
        return DASH
    if value < 0.001:
        return "< 0.001"
    return number(value, 3 if value < 0.1 else 2)


def p_value(value: float) -> str:
    """A p-value in a sentence: "p = 0.034", "p < 0.001", "p unknown"."""
    cell = p_cell(value)
    if cell == DASH:
        return "p unknown"
    return f"p {cell}" if cell.startswith("<") else f"p = {cell}"


def count(value: int, noun: str, plural: str | None = None) -> str:
    """ "1 annotator", "3 annotators", "1 200 votes"."""
    return f"{whole(value)} {noun if value == 1 else plural or noun + 's'}"


def listed(items: Sequence[str]) -> str:
    """ "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def bounded(items: Sequence[str], most: int) -> str:
    """ "a, b and 7 more" of a list that may be long."""
    rest = len(items) - most
    return listed([*items[:most], f"{rest} more"] if rest > 1 else list(items))


_FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "0": whole,
    "0.0": lambda value: number(value, 1),
    "0.00": number,
    "0.000": lambda value: number(value, 3),
    "p": p_cell,
    "percent": share,
    "signed": signed,
}


def cells(frame: pd.DataFrame, columns: str | Sequence[str]) -> dict[str, Any]:
    """Write rows of a frame as texts, for ``rows`` in ``report.typ``.

    Parameters
    ----------
    frame
        The rows.
    columns
        Names, each with its format after a colon if it is no text: ``"question n:0 low:interval"``.
        An interval goes from ``low`` to ``high`` (or ``score_low`` to ``score_high``).

    Returns
    -------
    Mapping with columns (the names), left (whether cells start at the left) and rows
    """
    parts = columns.split() if isinstance(columns, str) else columns
    pairs = [name.partition(":")[::2] for name in parts]
    written = []
    for name, form in pairs:
        if form == "interval":
            ends = zip(frame[name], frame[name.replace("low", "high")], strict=True)
            written.append([interval(low, high) for low, high in ends])
        else:
            write = _FORMATS[form or "text"]
            known = frame[name].notna() & (frame[name] != "")
            written.append(
                [
                    write(value) if there else DASH
                    for value, there in zip(frame[name], known, strict=True)
                ]
            )
    return {
        "columns": [name for name, _ in pairs],
        "left": [not form for _, form in pairs],
        "rows": [list(row) for row in zip(*written, strict=True)],
    }
