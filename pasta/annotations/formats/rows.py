"""Where the rows of a CSV file stand: a row may go over several lines, and lines may be blank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'


@dataclass(frozen=True)
class Rows:
    """Rows of a text: where each starts and ends, its line from 1, and whether it is blank."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]  # before the line end
    line: NDArray[np.int64]
    blank: NDArray[np.bool_]
    open_quote: bool  # the text ends within a quoted cell

    def __len__(self) -> int:
        return len(self.start)


def find_rows(data: bytes) -> Rows:
    """Find the rows of a text. A line end within quotation marks ends no row."""
    letters = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(letters == _LINE_FEED)
    lines_before = np.arange(1, len(feeds) + 1)
    open_quote = False
    ends = feeds
    if b'"' in data:
        inside = np.logical_xor.accumulate(letters == _QUOTE)
        open_quote = bool(inside[-1])
        outside = ~inside[feeds]
        ends, lines_before = feeds[outside], lines_before[outside]
    start = np.concatenate([[0], ends + 1]).astype(np.int64)
    line = np.concatenate([[1], lines_before + 1]).astype(np.int64)
    end = np.concatenate([ends, [len(data)]]).astype(np.int64)
    if start[-1] == len(data):  # the last line end is followed by nothing
        start, line, end = start[:-1], line[:-1], end[:-1]
    end = end - ((end > start) & (letters[np.maximum(end - 1, 0)] == _RETURN))
    return Rows(start, end, line, end == start, open_quote)
