"""A text as words with their places in it.

A word is what stands between white space, as people count words and as the released benchmark of
human attention numbers them: ``store,`` is one word with its comma. So words can be found again in
any script, emoji and combining marks stay whole, and the text is never changed: ``text[start:end]``
is the word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Word:
    """A word, and where it starts and ends in its text, in characters."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Document:
    """A text and its words.

    Attributes
    ----------
    text
        The text as it is.
    text_id, label
        Its name and its class, where they are known.
    cues
        Indices from 0 of the words that tell the class, where they are known.
    """

    text: str
    text_id: str = ""
    label: str = ""
    cues: tuple[int, ...] = ()

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words in the order of the text."""
        return split_words(self.text)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each word starts."""
        return np.array([word.start for word in self.words], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.words)

    def word_at(self, place: int) -> int | None:
        """The index of the word that holds a character of the text, None in white space.

        >>> Document("so  good").word_at(4), Document("so  good").word_at(2)
        (1, None)
        """
        index = int(np.searchsorted(self.starts, place, side="right")) - 1
        return index if index >= 0 and place < self.words[index].end else None

    def without(self, kept: Sequence[bool] | NDArray[np.bool_]) -> str:
        """The text without some words, and without the white space that follows them.

        >>> Document("not  so good ").without([True, False, True])
        'not  good '
        """
        if len(kept) != len(self):
            raise PastaError(f"{len(kept)} flags for {len(self)} words")
        if not self.words:
            return self.text
        ends = [*(word.start for word in self.words[1:]), len(self.text)]
        first = self.words[0].start
        parts = [
            self.text[word.start : end]
            for word, end, stays in zip(self.words, ends, kept, strict=True)
            if stays
        ]
        return self.text[:first] + "".join(parts)


def split_words(text: str) -> tuple[Word, ...]:
    """Find the words of a text: the longest runs without white space.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    The words with their places, so that ``text[word.start : word.end] == word.text``.

    Examples
    --------
    >>> [word.text for word in split_words("Don't  miss it 🙂!")]
    ["Don't", 'miss', 'it', '🙂!']
    """
    return tuple(Word(one.group(), one.start(), one.end()) for one in _WORD.finditer(text))


def as_documents(texts: Iterable[str | Document]) -> list[Document]:
    """Texts as documents; documents stay what they are."""
    found = []
    for number, one in enumerate(texts):
        if not isinstance(one, str | Document):
            raise PastaError(f"text {number} is {type(one).__name__}, expected a text")
        found.append(one if isinstance(one, Document) else Document(one))
    return found


@lru_cache(maxsize=100_000)  # a text says the same words again and again
def plain_word(word: str) -> str:
    """A word as vocabularies know it: one spelling of its letters, no punctuation around it.

    >>> plain_word("(Movies,"), plain_word("...")
    ('movies', '...')
    """
    folded = unicodedata.normalize("NFC", word).casefold()
    return strip_marks(folded) or folded


def strip_marks(word: str) -> str:
    """A word without the punctuation at its ends.

    >>> strip_marks('"Simone")'), strip_marks("!!")
    ('Simone', '')
    """
    first, last = 0, len(word)
    while first < last and unicodedata.category(word[first]).startswith("P"):
        first += 1
    while last > first and unicodedata.category(word[last - 1]).startswith("P"):
        last -= 1
    return word[first:last]


def join_indices(indices: Iterable[int]) -> str:
    """Indices of words as one cell of a table.

    >>> join_indices([3, 1]), join_indices([])
    ('1 3', '')
    """
    return " ".join(map(str, sorted(indices)))


def parse_indices(cell: str) -> tuple[int, ...]:
    """The indices in a cell of a table.

    >>> parse_indices("1 3"), parse_indices("")
    ((1, 3), ())
    """
    return tuple(int(one) for one in cell.split())


def index_mask(indices: Collection[int], words: int) -> NDArray[np.bool_]:
    """Flags (words,) of some words, or an error that names an index beyond the text."""
    beyond = [one for one in indices if not 0 <= one < words]
    if beyond:
        raise PastaError(f"there is no word {beyond[0]}: the text has {words}, from 0 on")
    mask = np.zeros(words, dtype=bool)
    mask[list(indices)] = True
    return mask
