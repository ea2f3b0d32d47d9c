"""Batches that mix the datasets, so that every step sees a bit of everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from pasta.models.clip.encoder import ClipEncoder
from pasta.models.clip.losses import Truth
from pasta.models.clip.prompts import PromptTable, caption
from pasta.models.data import TrainingData


@dataclass(frozen=True)
class Batch:
    """Images 0-1, the tokens of their captions, and what is true of them dataset by dataset."""

    images: Tensor
    captions: Tensor
    truths: list[Truth]


@dataclass(frozen=True)
class Captions:
    """One caption for each training image of a dataset; rows of other splits stay empty."""

    tokens: Tensor  # rows x context
    named: Tensor  # rows x concepts, 1 where the caption names one


def write_captions(
    part: TrainingData, encoder: ClipEncoder, template: str, generator: torch.Generator
) -> Captions:
    """Describe each image once, with as many of its concepts as there is room for.

    Once and not in every epoch: putting words into tokens costs as much as a third of the training.
    """
    rows = part.rows("train")
    texts: list[str] = []
    named = torch.zeros(len(part.labels), len(part.concepts))
    for row in rows.tolist():
        seen = part.presence[row].nonzero()[:, 0]
        seen = seen[torch.randperm(len(seen), generator=generator)]
        words = [part.concepts[concept] for concept in seen.tolist()]
        label = part.classes[int(part.labels[row])]
        text, number = caption(label, words, template, encoder.fits)
        texts.append(text)
        named[row, seen[:number]] = 1
    written = encoder.tokenizer(texts)
    tokens = torch.zeros(len(part.labels), written.shape[1], dtype=written.dtype)
    tokens[rows] = written
    return Captions(tokens, named)


@dataclass(frozen=True)
class Mixture:
    """The training images of several datasets with their captions."""

    parts: Sequence[TrainingData]
    table: PromptTable
    captions: Sequence[Captions]

    def epoch(self, size: int, generator: torch.Generator) -> Iterator[Batch]:
        """All images once in random order; what does not fill a batch is left out."""
        every = torch.cat(
            [
                torch.stack([torch.full_like(rows, number), rows], 1)
                for number, rows in enumerate(part.rows("train") for part in self.parts)
            ]
        )
        order = every[torch.randperm(len(every), generator=generator)]
        size = min(size, len(order))
        for start in range(0, len(order) - size + 1, size):
            yield self._batch(order[start : start + size])

    def _batch(self, chosen: Tensor) -> Batch:
        images: list[Tensor] = []
        tokens: list[Tensor] = []
        truths: list[Truth] = []
        begin = 0
        for number, part in enumerate(self.parts):
            rows = chosen[chosen[:, 0] == number, 1]
            if len(rows) == 0:
                continue
            images.append(part.images(rows))
            tokens.append(self.captions[number].tokens[rows])
            truths.append(
                Truth(
                    images=slice(begin, begin + len(rows)),
                    classes=self.table.classes[number],
                    concepts=self.table.concepts[number],
                    labels=part.labels[rows],
                    presence=part.presence[rows],
                    named=self.captions[number].named[rows],
                )
            )
            begin += len(rows)
        return Batch(torch.cat(images), torch.cat(tokens), truths)


def augment(images: Tensor, shift: float, generator: torch.Generator) -> Tensor:
    """Mirror each image or not, and move the whole batch a little."""
    mirrored = torch.rand(len(images), 1, 1, 1, generator=generator) < 0.5
    images = torch.where(mirrored, images.flip(3), images)
    reach = round(shift * images.shape[-1])
    if reach == 0:
        return images
    down, right = torch.randint(0, 2 * reach + 1, (2,), generator=generator).tolist()
    side = images.shape[-1]
    padded = functional.pad(images, (reach,) * 4, mode="replicate")
    return padded[:, :, down : down + side, right : right + side]
