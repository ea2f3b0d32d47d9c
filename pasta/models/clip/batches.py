"""Batches that mix the datasets, so that every step sees a bit of everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.models.clip.encoder import ClipEncoder
from pasta.models.clip.prompts import PromptTable, caption
from pasta.models.data import TrainingData


@dataclass(frozen=True)
class Truth:
    """What is known about the images of one batch that come from one dataset."""

    images: slice  # their place in the batch
    classes: Tensor  # rows of the prompt table
    concepts: Tensor  # rows of the prompt table
    labels: Tensor
    presence: Tensor  # images x concepts, 1 where one is seen
    named: Tensor  # images x concepts, 1 where the image's caption names one

    def to(self, where: torch.device) -> Truth:
        """The same on another device."""
        moved = {name: value.to(where) for name, value in vars(self).items() if name != "images"}
        return Truth(images=self.images, **moved)


@dataclass(frozen=True)
class Batch:
    """Images as bytes, the tokens of their captions, and what is true of them by dataset."""

    images: Tensor
    captions: Tensor
    truths: list[Truth]

    def to(self, where: torch.device) -> Batch:
        """The same on another device."""
        truths = [truth.to(where) for truth in self.truths]
        return Batch(compute.place(self.images, where), compute.place(self.captions, where), truths)


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
    room, length = encoder.room, cache(encoder.length)
    texts: list[str] = []
    named = torch.zeros(len(part.labels), len(part.concepts))
    for row in rows.tolist():
        seen = part.presence[row].nonzero()[:, 0]
        seen = seen[torch.randperm(len(seen), generator=generator)]
        words = [part.concepts[concept] for concept in seen.tolist()]
        label = part.classes[int(part.labels[row])]
        text, number = caption(label, words, template, length, room)
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

    def epoch(self, size: int, generator: torch.Generator, side: int) -> Iterator[Batch]:
        """All images once in random order; what does not fill a batch is left out."""
        pixels = [part.pixels_at(side) for part in self.parts]
        every = torch.cat(
            [
                torch.stack([torch.full_like(rows, number), rows], 1)
                for number, rows in enumerate(part.rows("train") for part in self.parts)
            ]
        )
        order = every[torch.randperm(len(every), generator=generator)]
        size = min(size, len(order))
        for start in range(0, len(order) - size + 1, size):
            yield self._batch(order[start : start + size], pixels)

    def _batch(self, chosen: Tensor, pixels: Sequence[NDArray[np.uint8]]) -> Batch:
        images: list[Tensor] = []
        tokens: list[Tensor] = []
        truths: list[Truth] = []
        begin = 0
        for number, part in enumerate(self.parts):
            rows = chosen[chosen[:, 0] == number, 1]
            if len(rows) == 0:
                continue
            images.append(torch.from_numpy(pixels[number][rows.numpy()]).permute(0, 3, 1, 2))
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
        return Batch(torch.cat(images), brief(torch.cat(tokens)), truths)


def brief(tokens: Tensor) -> Tensor:
    """Tokens without the empty places behind the longest text."""
    return tokens[:, : int(tokens.count_nonzero(1).max())]


def augment(images: Tensor, shift: float, generator: torch.Generator) -> Tensor:
    """Mirror each image or not, and move the whole batch a little."""
    mirrored = torch.rand(len(images), 1, 1, 1, generator=generator) < 0.5
    images = torch.where(mirrored.to(images.device), images.flip(3), images)
    side = images.shape[-1]
    reach = round(shift * side)
    if reach == 0:
        return images
    moves = torch.randint(-reach, reach + 1, (2,), generator=generator)
    # Beyond the border the last row or column is repeated.
    down, right = (torch.arange(side) + moves[:, None]).clamp(0, side - 1).to(images.device)
    return images[:, :, down][:, :, :, right]
