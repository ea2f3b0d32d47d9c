"""Concept attributions as words (P1, Eq. 2), and what to do when they are too many.

The strongest concepts stand first, those for and those against the class alike, as in the bars
that people see; concepts without any attribution are not named. A text tower sees a limited number
of tokens. A list that is too long for it is told in several sentences, each with the template in
front, and their vectors are averaged with the numbers of their concepts as weights: every concept
counts. Where the template leaves no room for some concept it becomes a sentence of its own, which
then weighs as much as one concept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasta.datasets.vocabulary import readable
from pasta.errors import PastaError

Fits = Callable[[str], bool]
JOINT = ", "


class Piece(NamedTuple):
    """One sentence and its weight."""

    text: str
    weight: int


def top_concepts(names: Sequence[str], values: NDArray[Any], number: int) -> list[str]:
    """Readable names of the strongest concepts; equals in the order of the vocabulary."""
    if len(names) != len(values):
        raise PastaError(f"there are {len(names)} concept names but {len(values)} values")
    strength = np.abs(np.asarray(values, dtype=np.float64))
    order = np.argsort(-strength, kind="stable")[:number]
    return [readable(names[place]) for place in order if strength[place] > 0]


def sentence(concepts: Sequence[str], template: str = "") -> str:
    """The template and the concepts, in their order.

    >>> sentence(["wheel", "license plate"], "The model saw:")
    'The model saw: wheel, license plate'
    """
    return f"{template} {JOINT.join(concepts)}".strip()


def pieces(concepts: Sequence[str], template: str, fits: Fits) -> list[Piece]:
    """The whole sentence if it fits, else as few sentences as their order allows."""
    whole = sentence(concepts, template)
    if not concepts or fits(whole):
        return [Piece(whole, max(len(concepts), 1))]
    if template and not all(fits(sentence([concept], template)) for concept in concepts):
        return [Piece(_require(template, fits), 1), *pieces(concepts, "", fits)]
    groups: list[list[str]] = []
    for concept in concepts:
        if groups and fits(sentence([*groups[-1], concept], template)):
            groups[-1].append(concept)
        else:
            _require(sentence([concept], template), fits)
            groups.append([concept])
    return [Piece(sentence(group, template), len(group)) for group in groups]


def _require(text: str, fits: Fits) -> str:
    if not fits(text):
        raise PastaError(f"{text!r} is longer than what the encoder's text tower can see")
    return text
