"""Scores of many masked copies of images: the work that perturbation methods have in common.

Copies are built when their batch is due, never all at once, and a batch may hold copies of several
images, so that a few masks per image still make full batches. Where memory is short, batches
become smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.base import Given

T = TypeVar("T")
# Scores (rows,) of masked images (rows, 3, height, width) that are copies of the images with these
# numbers (rows,).
Score = Callable[[Tensor, Tensor], Tensor]

# On a CPU an image takes up to a third longer in batches of more pixels than these, which are 10
# images of 224 x 224 or 56 of 96 x 96: large feature maps are costly to get memory for.
_PIXELS_ON_CPU = 2**19
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass(frozen=True)
class Masked:
    """Masked copies of one image."""

    count: int
    build: Callable[[slice], Tensor]  # which copies -> (copies, 3, height, width)


def target_scores(given: Given, copies: Sequence[Masked], logits: bool = False) -> list[Tensor]:
    """The target's probability (or logit) for the masked copies of each image.

    Returns one tensor (count,) per image.
    """
    score_of = given.view.logits if logits else given.view.probabilities

    def score(images: Tensor, owners: Tensor) -> Tensor:
        return score_of(images).gather(1, given.targets[owners][:, None])[:, 0]

    return masked_scores(score, copies, batch_rows(given))


def batch_rows(given: Given) -> int:
    """How many images one forward pass should have: the budget at most."""
    if given.images.device.type != "cpu":
        return given.budget
    return max(1, min(given.budget, _PIXELS_ON_CPU // math.prod(given.size)))


def masked_scores(score: Score, copies: Sequence[Masked], budget: int) -> list[Tensor]:
    """Score all copies of all images, ``budget`` of them at a time at most.

    If memory runs out, half as many are tried, and so on; if there is none even for one image,
    this is an error.
    """
    counts = [masked.count for masked in copies]
    total, start, parts = sum(counts), 0, []
    while start < total:
        rows = list(_rows(counts, start, min(start + budget, total)))
        scores = _tried(score, copies, rows)
        if scores is not None:
            parts.append(scores)
            start += len(scores)
        elif budget == 1:
            raise PastaError("there is not enough memory for a forward pass of one image")
        else:
            budget = min(budget, total - start) // 2 or 1
    return list(torch.split(torch.cat(parts), counts)) if parts else [torch.empty(0)] * len(counts)


def halve_until_it_fits(run: Callable[[int], T], rows: int) -> T:
    """Call ``run(rows)``, and if memory runs out with half as many rows, and so on.

    Parameters
    ----------
    run
        Computes all there is to compute, so many images at a time.
    rows
        How many to begin with.

    Raises
    ------
    PastaError
        If there is no memory even for one image.
    """
    while True:
        try:
            return run(rows)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        if rows == 1:
            raise PastaError("there is not enough memory for a pass of one image")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        rows //= 2


def _rows(counts: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, slice]]:
    """Which copies of which images have the numbers ``start`` to ``stop``, counted through."""
    first = 0
    for number, count in enumerate(counts):
        low, high = max(start - first, 0), min(stop - first, count)
        if low < high:
            yield number, slice(low, high)
        first += count


def _tried(
    score: Score, copies: Sequence[Masked], rows: Sequence[tuple[int, slice]]
) -> Tensor | None:
    """Scores of one batch, or nothing if memory ran out."""
    owners = torch.tensor([number for number, part in rows for _ in range(part.start, part.stop)])
    try:
        with torch.inference_mode():
            images = torch.cat([copies[number].build(part) for number, part in rows])
            return score(images, owners.to(images.device))
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether this is one of torch's ways to say that memory ran out."""
    words = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(text in words for text in _NO_MEMORY)
