"""An embedded corpus: short reviews in two classes, whose cue words are known exactly.

A review has an opening that says nothing, one to three sentences with words that tell the class,
often a verdict, and things that mislead: adjectives of the other class that are negated ("not dull
at all"), an adjective about something else ("the weather was awful"), one word for the other side.
The sentences stand in ``reviews.yaml``; brackets there mark the cues, so it is known of each word
whether it is one, and a bag of words is not enough to tell the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.texts.documents import Document, split_words

CLASSES = ("negative", "positive")
PHRASES = Path(__file__).with_name("reviews.yaml")
SPLITS = ("train", "validation", "test")
# How often a review has a negated sentence, something that misleads, a verdict, a closing.
NEGATED, DISTRACTED, CONCEDED, JUDGED, CLOSED = 0.6, 0.6, 0.4, 0.6, 0.5


@lru_cache(maxsize=1)
def phrases() -> dict[str, Any]:
    """The sentences and words that reviews are made of."""
    found: dict[str, Any] = YAML(typ="safe").load(PHRASES.read_text(encoding="utf-8"))
    return found


def draw_reviews(count: int, split: str, seed: int) -> list[Document]:
    """Draw reviews, as many of one class as of the other.

    Parameters
    ----------
    count
        How many; of an odd number one more is negative.
    split
        train, validation or test: other reviews, of the same things.
    seed
        Where chance starts. A review depends on the seed, the split and its number alone.

    Returns
    -------
    Documents with their class and the indices of their cue words.

    Examples
    --------
    >>> first, *_ = draw_reviews(2, "test", 0)
    >>> first.label, [first.words[index].text for index in first.cues][-1] in first.text
    ('negative', True)
    """
    if split not in SPLITS:
        raise PastaError(f"there is no split {split!r}, expected one of {', '.join(SPLITS)}")
    return [draw_review(number, split, seed) for number in range(count)]


def draw_review(number: int, split: str, seed: int) -> Document:
    """The review of a number; even ones are negative."""
    label = CLASSES[number % 2]
    random = generator(seed, "review", split, number)
    known = phrases()
    words = _Words(random)
    names: dict[str, Any] = known["kinds"][words.choose(list(known["kinds"]))]
    name, parts = words.choose(names["names"]), words.some(names["parts"], 5)

    def put(sentence: str, first: int = 0) -> str:
        return sentence.format(
            name=name,
            part=parts[first],
            other=parts[(first + 1) % len(parts)],
            own=words.adjective(label),
            against=words.adjective(other_class(label)),
            any=words.adjective(words.choose(CLASSES)),
        )

    telling = words.some(known["plain"], int(random.integers(1, 3)))
    if random.random() < NEGATED:
        telling.append(words.choose(known["negated"]))
    middle = [put(one, 2 * place) for place, one in enumerate(words.some(telling, len(telling)))]
    if random.random() < DISTRACTED:
        place = int(random.integers(0, len(middle) + 1))
        middle.insert(place, put(words.choose(known["distractors"])))
    if len(telling) > 1 and random.random() < CONCEDED:
        middle.append(put(words.choose(known["concessions"]), 4))
    ends = [words.choose(known["verdicts"][label])] if random.random() < JUDGED else []
    if random.random() < CLOSED:
        ends.append(words.choose(known["closings"]))
    text = " ".join([put(words.choose(known["openings"])), *middle, *ends])
    return marked_document(text, f"{split}-{number:04d}", label)


def other_class(label: str) -> str:
    """The class that is not this one."""
    return CLASSES[1 - CLASSES.index(label)]


def marked_document(text: str, text_id: str, label: str) -> Document:
    """A document of a text whose cue words stand in brackets.

    >>> marked_document("It was [not] [bad].", "a", "positive")
    Document(text='It was not bad.', text_id='a', label='positive', cues=(2, 3))
    """
    cues = tuple(n for n, word in enumerate(split_words(text)) if "[" in word.text)
    return Document(text.replace("[", "").replace("]", ""), text_id, label, cues)


class _Words:
    """Choices of one review: no adjective comes twice."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.left = {one: self.some(words, len(words)) for one, words in _adjectives().items()}

    def choose(self, items: Sequence[str]) -> str:
        """One of several."""
        return items[int(self.random.integers(0, len(items)))]

    def some(self, items: Sequence[str], count: int) -> list[str]:
        """So many of them in random order."""
        return [items[place] for place in self.random.permutation(len(items))[:count]]

    def adjective(self, label: str) -> str:
        """The next adjective of a class."""
        self.left[label] = self.left[label][1:] + self.left[label][:1]
        return self.left[label][0]


def _adjectives() -> dict[str, list[str]]:
    return {one: list(phrases()["adjectives"][one]) for one in CLASSES}
