"""Whether explanations look like those a scorer has learned from.

Vectors of one kind are described by their mean and their covariance, shrunk as in Ledoit & Wolf
(2004, doi:10.1016/S0047-259X(03)00096-4) because vectors are long and images few. What lies
further from the mean (in Mahalanobis' distance) than 99 % of what was held out is not familiar.
Pictures and sentences live in different places of an encoder's space, so each kind has its own.

Distances to a mean that a vector has taken part in are too small; those of held-out images tell
how far the vectors of new images are. The threshold comes from the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.covariance import LedoitWolf

from pasta.errors import PastaError
from pasta.seeds import generator

SHARE = 0.99  # of the training data that is familiar
_FOLDS = 5
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class FamiliarRegion:
    """The region in which vectors of one kind are familiar."""

    mean: Floats  # width
    whitening: Floats  # width x width: makes the vectors' covariance the unit matrix
    threshold: float

    def distances(self, vectors: Floats) -> Floats:
        """How far vectors (n x width) are from the mean, in standard deviations."""
        return np.asarray(
            np.linalg.norm((vectors - self.mean) @ self.whitening, axis=1), np.float32
        )

    def __call__(self, vectors: Floats) -> NDArray[np.bool_]:
        """Which vectors are familiar."""
        return np.asarray(self.distances(vectors) <= self.threshold)


def fit_region(vectors: Floats, images: Sequence[Any], seed: int = 0) -> FamiliarRegion:
    """Describe the vectors of one kind; ``images`` says which image each belongs to."""
    if len(images) != len(vectors):
        raise PastaError(f"there are {len(vectors)} vectors but {len(images)} names of images")
    names, image = np.unique(np.asarray(images, dtype=str), return_inverse=True)
    if len(names) < 2:
        raise PastaError("what is familiar is learned from explanations of at least 2 images")
    fold = generator(seed, "familiar").permutation(len(names))[image] % min(_FOLDS, len(names))
    away = np.empty(len(vectors), np.float32)
    for part in range(int(fold.max()) + 1):
        out = fold == part
        away[out] = _described(vectors[~out]).distances(vectors[out])
    found = _described(vectors)
    return FamiliarRegion(found.mean, found.whitening, float(np.quantile(away, SHARE)))


def _described(vectors: Floats) -> FamiliarRegion:
    model = LedoitWolf().fit(vectors.astype(np.float64))
    values, axes = np.linalg.eigh(model.covariance_)
    least = max(float(values.max()), 1e-12) * 1e-9  # of equal vectors, which vary nowhere
    whitening = axes / np.sqrt(np.maximum(values, least))
    return FamiliarRegion(
        model.location_.astype(np.float32), whitening.astype(np.float32), threshold=np.inf
    )


def surprisingly_many(strange: int, number: int) -> bool:
    """Whether more samples are unfamiliar than the 1 % that are so by definition would explain."""
    return strange > 0 and bool(binom.sf(strange - 1, number, 1 - SHARE) <= 0.01 + 1e-9)
