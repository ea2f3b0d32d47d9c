"""A trained network for each question, in plain arrays.

Linear scorers are networks without hidden layers, so that all are kept and used alike. Nothing
here needs torch: a score is a few matrix products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.scoring.base import Floats, Predicted


@dataclass(frozen=True)
class Output:
    """What the last layer gives: ``relu`` or not, as stars or as a part of the scale 0-1."""

    relu: bool = False
    unit: bool = False

    def targets(self, stars: Floats) -> Floats:
        """What the network should give for these stars."""
        return ((stars - 1) / 4).astype(np.float32) if self.unit else stars

    def stars(self, given: Floats) -> Floats:
        """Stars from what the network gave; those outside the scale are cut off."""
        return np.clip((1 + 4 * given).astype(np.float32) if self.unit else given, 1, 5)


@dataclass(frozen=True)
class Network:
    """Layers with ReLU between them; the same shape for each question."""

    weights: tuple[Floats, ...]  # of each layer: questions x inputs x outputs
    biases: tuple[Floats, ...]  # of each layer: questions x outputs
    output: Output = Output()
    notes: Mapping[str, Any] = field(default_factory=dict)  # about the training, plain values

    def predict(self, features: Floats) -> Predicted:
        """Stars for all questions."""
        check_features(features, self.weights[0].shape[1])
        given = [self._one(features, question) for question in range(len(self.weights[0]))]
        return Predicted(self.output.stars(np.stack(given, axis=1)))

    def _one(self, features: Floats, question: int) -> Floats:
        hidden = features
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                hidden = np.maximum(hidden, 0)
            hidden = hidden @ weight[question] + bias[question]
        return np.maximum(hidden[:, 0], 0) if self.output.relu else hidden[:, 0]

    def state(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
        """Everything, in arrays and plain values."""
        layers = enumerate(zip(self.weights, self.biases, strict=True))
        arrays = {}
        for layer, (weight, bias) in layers:
            arrays[f"weight_{layer}"], arrays[f"bias_{layer}"] = weight, bias
        about = {"layers": len(self.weights), "relu": self.output.relu, "unit": self.output.unit}
        return arrays, {**about, "notes": dict(self.notes)}


def load_network(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> Network:
    """The network that :meth:`Network.state` was asked of."""
    layers = range(about["layers"])
    return Network(
        tuple(np.asarray(arrays[f"weight_{layer}"], np.float32) for layer in layers),
        tuple(np.asarray(arrays[f"bias_{layer}"], np.float32) for layer in layers),
        Output(about["relu"], about["unit"]),
        dict(about["notes"]),
    )


def check_features(features: Floats, width: int) -> None:
    """Stop at features of another width or without a value."""
    if features.ndim != 2 or features.shape[1] != width:
        raise PastaError(f"the features are {features.shape}, expected (samples, {width})")
    bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(bad):
        raise PastaError(
            f"{len(bad)} of {len(features)} samples have features that are NaN or infinite, "
            f"the first in row {bad[0]}: leave them out"
        )
