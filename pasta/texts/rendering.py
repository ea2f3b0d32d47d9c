"""Word weights as people see them: heat-marked text for web pages, and levels for other media.

Words that speak for the class are orange, words that speak against it blue and underlined, so that
the sign does not rest on colour alone. A page has no script and no style attributes: a strict
content security policy may stand around it.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.texts.documents import Document

LEVELS = 4  # shades of each colour
ORANGE, BLUE = (230, 97, 1), (33, 102, 172)
RTL = ("R", "AL")  # Unicode's classes of letters that run from right to left
# What turns the direction of all that follows; a word of a stranger must not do that to a page.
_TURNS = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))


def word_levels(weights: Sequence[float] | NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Shades from -4 to 4 of word weights: 4 has the largest weight, 0 less than an eighth of it.

    Weights that are not finite have no shade.

    >>> word_levels([0.0, 2.0, -1.0, 0.1, float("nan")]).tolist()
    [0, 4, -2, 0, 0]
    """
    values = np.nan_to_num(np.asarray(weights, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return np.zeros(len(values), dtype=np.int64)
    levels: NDArray[np.int64] = np.round(values / largest * LEVELS).astype(np.int64)
    return levels


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction runs from right to left.

    >>> is_right_to_left("12 שלום"), is_right_to_left("so good")
    (True, False)
    """
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind in ("L", *RTL):
            return kind in RTL
    return False


def heat_html(
    document: Document,
    weights: Sequence[float] | NDArray[np.floating[Any]],
    cues: Collection[int] = (),
) -> str:
    """A paragraph of HTML with marked words; :data:`HEAT_CSS` belongs to it.

    Parameters
    ----------
    document
        The text; everything in it is escaped, and marks that turn its direction are left out.
    weights
        One number a word.
    cues
        Words that are framed: true cues, or what people chose.

    Returns
    -------
    One ``<p class="heat">``; white space stays as it is.

    Examples
    --------
    >>> heat_html(Document("so <good>"), [0.1, 2.0])
    '<p class="heat" dir="auto">so <mark class="for-4" title="2">&lt;good&gt;</mark></p>'
    """
    levels = word_levels(_checked(document, weights))
    parts, end = [], 0
    for number, word in enumerate(document.words):
        parts.append(html.escape(document.text[end : word.start]))
        parts.append(_marked(word.text, int(levels[number]), weights[number], number in cues))
        end = word.end
    return f'<p class="heat" dir="auto">{"".join(parts)}{html.escape(document.text[end:])}</p>'


def heat_page(
    title: str, entries: Sequence[tuple[str, Document, Sequence[float] | NDArray[Any]]]
) -> str:
    """A whole page of marked texts, each under a heading.

    Parameters
    ----------
    title
        Of the page.
    entries
        A heading, a text and its weights each.
    """
    blocks = [
        f"<section><h2>{html.escape(head)}</h2>\n"
        f"{heat_html(document, weights, document.cues)}</section>"
        for head, document, weights in entries
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{HEAT_CSS}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{html.escape(title)}</h1>\n{LEGEND}\n" + "\n".join(blocks) + "\n</main>\n"
        "</body>\n</html>\n"
    )


def _marked(word: str, level: int, weight: float, framed: bool) -> str:
    names = [f"for-{level}"] if level > 0 else [f"against-{-level}"] if level < 0 else []
    names += ["cue"] if framed else []
    shown = html.escape(word.translate(_TURNS))
    if not names:
        return shown
    return f'<mark class="{" ".join(names)}" title="{weight:.3g}">{shown}</mark>'


def _checked(document: Document, weights: Any) -> NDArray[np.float64]:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(document),):
        raise PastaError(f"{values.size} weights for {len(document)} words")
    return values


def shade(level: int) -> str:
    """The colour of a level, as ``#rrggbb`` on white.

    >>> shade(0), shade(4)
    ('#ffffff', '#ef9b5f')
    """
    colour = ORANGE if level > 0 else BLUE
    strength = abs(level) / LEVELS * 0.63
    mixed = [round(255 + (one - 255) * strength) for one in colour]
    return "#" + "".join(f"{one:02x}" for one in mixed)


def _css() -> str:
    lines = [
        ".heat { line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; }",
        ".heat mark { color: #222; background: none; border-radius: 0.2em; "
        "padding: 0.1em 0.15em; }",
        ".heat mark.cue { outline: 1.5px solid #444; }",
        "body { font-family: sans-serif; color: #222; max-width: 46em; margin: 2em auto; "
        "padding: 0 1em; }",
        "h1 { font-size: 1.5em; } h2 { font-size: 1em; margin-bottom: 0; }",
    ]
    for level in range(1, LEVELS + 1):
        lines.append(f".heat mark.for-{level} {{ background: {shade(level)}; }}")
        lines.append(
            f".heat mark.against-{level} {{ background: {shade(-level)}; "
            "text-decoration: underline dotted; }"
        )
    return "\n".join(lines) + "\n"


HEAT_CSS = _css()
LEGEND = (
    f'<p class="heat"><mark class="for-{LEVELS}">for the class</mark> '
    f'<mark class="against-{LEVELS}">against it</mark> <mark class="cue">a true cue</mark></p>'
)
