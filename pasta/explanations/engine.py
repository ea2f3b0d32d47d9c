"""The engine: many methods on many images of one model, in batches, sharing what can be shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.attribution import as_numpy, raw_maps
from pasta.explanations.base import Given, View
from pasta.explanations.catalog import METHODS
from pasta.models.base import BlackBox, Classifier, ConceptModel

SHARED = "shared passes"


@dataclass(frozen=True)
class Part:
    """What one method says about one batch."""

    method: str
    start: int  # of the batch among all images
    raw: NDArray[np.float32]  # (batch, height, width), or (batch, concepts)


@dataclass
class Work:
    """Which images to explain, and how."""

    view: View
    images: Callable[[slice], Tensor]  # so that not all of them need to be in memory
    targets: Tensor
    settings: Mapping[str, Any]
    seed: int = 0
    batch_size: int = 16
    budget: int = 256

    def __len__(self) -> int:
        return len(self.targets)


def view_of(model: Classifier) -> View:
    """One of this project's classifiers as explanation methods see it."""
    if isinstance(model, ConceptModel):
        return View(model, concepts=model)
    if not isinstance(model, BlackBox):
        raise PastaError(f"{type(model).__name__} is neither a black box nor a concept model")
    grid = model.token_grid

    def cells(tokens: Tensor) -> Tensor:
        rows, columns = grid or (0, 0)
        places = tokens[:, -rows * columns :]  # class and register tokens come first
        return places.transpose(1, 2).reshape(len(tokens), -1, rows, columns)

    return View(
        model,
        model.cam_layers()[-1],
        None if grid is None else cells,
        model.to_probabilities,
    )


def attributions(
    work: Work, methods: Sequence[str], seconds: dict[str, float] | None = None
) -> Iterator[Part]:
    """Explain batch by batch; all methods of a batch share its forward and backward pass.

    ``seconds`` is filled with the time of each method; the shared passes have a line of their own.
    """
    spent = {} if seconds is None else seconds
    for start in range(0, len(work), work.batch_size):
        part = slice(start, min(start + work.batch_size, len(work)))
        given = Given(
            work.view,
            work.images(part),
            work.targets[part],
            work.settings,
            work.seed,
            work.budget,
            whole="fullgrad" in methods,
        )
        if any(needs_pass(name) for name in methods):
            with _timed(spent, SHARED):
                _ = given.passed
        for name in methods:
            with _timed(spent, name):
                raw = _raw(given, name)
            yield Part(name, start, raw)


def needs_pass(name: str) -> bool:
    """Whether a method looks at activations or gradients."""
    return name == "fullgrad" or bool(METHODS.entry(name).metadata["needs_layer"])


def _raw(given: Given, name: str) -> NDArray[np.float32]:
    about = METHODS.entry(name).metadata
    computed = METHODS[name](given)
    if about["attribution"] == "image":
        computed = raw_maps(computed, given.size, about["sign"])
    return as_numpy(computed)


class _timed:  # noqa: N801 (reads as a statement)
    """Add the time of a block to a table."""

    def __init__(self, spent: dict[str, float], name: str) -> None:
        self.spent, self.name = spent, name

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, *problem: object) -> None:
        passed = time.perf_counter() - self.started
        self.spent[self.name] = self.spent.get(self.name, 0.0) + passed


def predicted_classes(view: View, images: Tensor) -> Tensor:
    """The most probable class of each image."""
    with torch.inference_mode():
        return view.logits(images).argmax(1).clone()
