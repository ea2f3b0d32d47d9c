"""What CLIP is asked: prompts for classes and concepts, captions for whole images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pasta.datasets.vocabulary import Vocabulary, readable


def prompts(names: Iterable[str], template: str) -> list[str]:
    """One prompt for each name."""
    return [template.format(readable(name)) for name in names]


def caption(
    label: str, concepts: Iterable[str], template: str, length: Callable[[str], int], room: int
) -> tuple[str, int]:
    """Class and concepts in one sentence, and how many of the concepts there was room for.

    ``length`` counts the tokens of a few words; a sentence is as long as its words together.
    """
    text, joint, number = template.format(readable(label)), " with ", 0
    room -= length(text)
    for concept in concepts:
        words = readable(concept)
        room -= length(joint) + length(words)
        if room < 0:
            break
        text, joint, number = f"{text}{joint}{words}", ", ", number + 1
    return text, number


@dataclass(frozen=True)
class PromptTable:
    """All different prompts of some datasets, and which rows are whose."""

    texts: tuple[str, ...]
    classes: tuple[Tensor, ...]  # for each dataset, a row for each class
    concepts: tuple[Tensor, ...]  # for each dataset, a row for each concept


def prompt_table(vocabularies: Sequence[Vocabulary], template: str) -> PromptTable:
    """Ask each prompt once, however many datasets share it."""
    place: dict[str, int] = {}

    def rows(names: Iterable[str]) -> Tensor:
        texts = prompts(names, template)
        return torch.tensor([place.setdefault(text, len(place)) for text in texts])

    classes = tuple(rows(words.classes) for words in vocabularies)
    concepts = tuple(rows(words.concepts) for words in vocabularies)
    return PromptTable(tuple(place), classes, concepts)
