"""What techniques of one backbone share: its folded network, and maps of noisy copies.

Noise depends on the image and not on the map, so many techniques explain the same copies.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.explanations.base import View
from pasta.explanations.engine import Work, attributions
from pasta.explanations.folding import forward_only
from pasta.metrics.base import Explainer
from pasta.params.explanations import ExplanationParams


@dataclass(frozen=True)
class Backbone:
    """A classifier, and a number that changes with its weights."""

    name: str
    view: View
    weights: str


class Answers:
    """A classifier's probabilities, from a network that is made for forward passes."""

    def __init__(self, view: View, sample: Tensor) -> None:
        self._view, self._network = view, forward_only(view.network, sample)

    def __call__(self, images: Tensor) -> Tensor:
        with torch.inference_mode():
            return self._view.to_probabilities(self._network(images))


@dataclass
class Again:
    """Explains noisy copies by several methods at once, when the first of them is asked for."""

    view: View
    methods: tuple[str, ...]
    params: ExplanationParams
    seed: int
    _known: dict[bytes, dict[str, NDArray[np.float32]]] = field(default_factory=dict)

    def explainer(self, method: str) -> Explainer:
        """One of the methods."""

        def explain(images: Tensor, targets: Tensor) -> Any:
            key = _digest(images) + _digest(targets)
            if key not in self._known:
                self._known[key] = self._explained(images, targets)
            return self._known[key][method]

        return explain

    def forget(self) -> None:
        """Whoever has been asked by all methods about some images will not be asked again."""
        self._known.clear()

    def _explained(self, images: Tensor, targets: Tensor) -> dict[str, NDArray[np.float32]]:
        work = Work(
            self.view,
            lambda part: images[part],
            targets,
            dict(self.params.methods),
            self.seed,
            self.params.batch_size,
            self.params.budget,
        )
        size = (len(images), *images.shape[2:])
        found = {name: np.empty(size, dtype=np.float32) for name in self.methods}
        for part in attributions(work, self.methods):
            found[part.method][part.start : part.start + len(part.raw)] = part.raw
        return found


def _digest(values: Tensor) -> bytes:
    found = hashlib.sha256(str(tuple(values.shape)).encode())
    found.update(values.contiguous().numpy().data)
    return found.digest()
