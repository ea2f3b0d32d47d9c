"""Heat-marked text for Typst: runs of words with a shade, in letters that the fonts have.

A report gives ``heat_block(document, weights)`` to its page, which shows it with ``heat`` of
``heat.typ``. The fonts of a report have no emoji and not every script, and a PDF for everybody
(PDF/UA) may hold no letter that cannot be shown: an emoji is written as its name, a letter of
another script as an empty square.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import typst
from numpy.typing import NDArray

from pasta.texts.documents import Document
from pasta.texts.rendering import is_right_to_left, shade, word_levels

SQUARE = "□"
_JOINERS = "\u200c\u200d"  # scripts need them
_PROBE = '#set document(title: "x")\n#set text(font: "Libertinus Serif", lang: "en")\n'


def heat_block(
    document: Document,
    weights: Sequence[float] | NDArray[np.floating[Any]],
    cues: Collection[int] = (),
    most: int = 120,
) -> dict[str, Any]:
    """A text for the function ``heat`` of ``heat.typ``.

    Parameters
    ----------
    document
        The text.
    weights
        One number a word.
    cues
        Words that are framed.
    most
        Words that are shown; what follows is counted.

    Returns
    -------
    ``runs`` of text, fill (a colour or empty), whether it speaks against the class and whether it
    is framed; whether the text is right to left; how many words are left out.
    """
    levels = word_levels(weights)
    shown = document.words[:most]
    missing = missing_letters(frozenset("".join(word.text for word in shown)))
    runs = [
        {
            "text": shown_text(word.text, missing),
            "fill": shade(int(levels[number])) if levels[number] else "",
            "against": bool(levels[number] < 0),
            "cue": number in cues,
        }
        for number, word in enumerate(shown)
    ]
    text = "".join(word.text for word in shown)
    return {"runs": runs, "rtl": is_right_to_left(text), "left_out": len(document) - len(shown)}


def shown_text(text: str, missing: Collection[str]) -> str:
    """A text in letters that the fonts have.

    >>> shown_text("good 🙂 漢", {"🙂", "漢"})
    'good [slightly smiling face] □'
    """
    return "".join(_replaced(one) if one in missing else one for one in text)


def _replaced(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in ("So", "Sk"):
        return f"[{unicodedata.name(letter, 'symbol').lower()}]"
    return SQUARE if kind[0] in "LNPS" else ""


def missing_letters(letters: frozenset[str]) -> frozenset[str]:
    """Which of some letters no font of a report has, or a PDF may not hold."""
    unseen = {one for one in letters if unicodedata.category(one)[0] == "C" and one not in _JOINERS}
    unusual = sorted(one for one in letters - unseen if not "!" <= one <= "~")
    return frozenset(_missing("".join(unusual))) | unseen


@lru_cache(maxsize=4096)
def _missing(letters: str) -> str:
    """The letters that Typst refuses: all are tried at once, then each half of those that fail."""
    if not letters or _can_show(letters):
        return ""
    if len(letters) == 1:
        return letters
    half = len(letters) // 2
    return _missing(letters[:half]) + _missing(letters[half:])


def _can_show(letters: str) -> bool:
    codes = " ".join(f'#"x\\u{{{ord(one):x}}}"' for one in letters)
    try:
        _, warnings = typst.compile_with_warnings(
            (_PROBE + codes).encode(),
            format="pdf",
            ignore_system_fonts=True,
            pdf_standards="ua-1",
        )
    except typst.TypstError:
        return False
    return not warnings
