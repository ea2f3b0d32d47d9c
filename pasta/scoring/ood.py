"""Whether explanations and images look like those a scorer has learned from.

Each thing has a region of its own: the vectors of pictures of saliency maps, those of concept
sentences (both live in different places of an encoder's space), and the statistics of the plain
images (:mod:`pasta.scoring.image_statistics`), which an encoder overlooks. A region is described by
mean and covariance, shrunk as in Ledoit & Wolf (2004, doi:10.1016/S0047-259X(03)00096-4) because
vectors are long and images few, and reaches to a distance from the mean (Mahalanobis').

Distances to a mean that a vector has taken part in are too small. Therefore the images are dealt
into folds, and the distances of each fold to what the others describe say how far new images are:
the threshold is their conformal quantile (Vovk, Gammerman & Shafer 2005, doi:10.1007/b106715), so
that of things of the same kind no more than a stated share is beyond it. A saliency map is
familiar if its picture and its image both are; the shares of the two add up to 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.covariance import LedoitWolf

from pasta.errors import PastaError
from pasta.seeds import generator

IMAGE, SALIENCY, CONCEPT = "image", "saliency", "concept"
# The share of familiar things that a region takes for strange.
ALARMS: Mapping[str, float] = MappingProxyType({IMAGE: 0.03, SALIENCY: 0.02, CONCEPT: 0.05})
USUAL = 0.05  # of explanations, at most
_FOLDS = 10
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


def fit_region(
    vectors: Floats, images: Sequence[Any], alarms: float = USUAL, seed: int = 0
) -> FamiliarRegion:
    """Describe the vectors of one kind.

    Parameters
    ----------
    vectors
        One row for each.
    images
        Which image each belongs to; those of one image are kept together.
    alarms
        The share of vectors of new images that may be beyond the threshold.
    seed
        Of the folds.
    """
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
    return FamiliarRegion(found.mean, found.whitening, _conformal(away, image, alarms))


def _conformal(away: Floats, image: NDArray[np.int64], alarms: float) -> float:
    """The distance that a vector of a new image exceeds with at most this chance.

    Every image counts alike, the new one among them (Dunn, Wasserman & Ramdas 2022,
    doi:10.1080/01621459.2022.2060112); if they are too few to promise it, the largest distance.
    """
    sizes = np.bincount(image)
    order = np.argsort(away)
    within = np.cumsum(1 / sizes[image[order]]) / (len(sizes) + 1)
    place = int(np.searchsorted(within, 1 - alarms - 1e-9))
    return float(away[order[min(place, len(away) - 1)]])


def _described(vectors: Floats) -> FamiliarRegion:
    plain = vectors.astype(np.float64)
    spread = plain.std(axis=0)
    spread = np.maximum(spread, 1e-3 * max(float(spread.max()), 1e-9))  # where nothing varies
    model = LedoitWolf().fit(plain / spread)
    values, axes = np.linalg.eigh(model.covariance_)
    least = max(float(values.max()), 1e-12) * 1e-9  # of equal vectors, which vary nowhere
    whitening = axes / np.sqrt(np.maximum(values, least)) / spread[:, None]
    return FamiliarRegion(
        (model.location_ * spread).astype(np.float32), whitening.astype(np.float32), np.inf
    )


def surprisingly_many(strange: int, number: int) -> bool:
    """Whether more samples are unfamiliar than the 5 % that are so by definition would explain."""
    return strange > 0 and bool(binom.sf(strange - 1, number, USUAL) <= 0.05 + 1e-9)
