"""Votes drawn from a cumulative-link model with known weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pasta.scoring.base import Rated
from pasta.scoring.ordinal import Doubles, distribution
from pasta.scoring.settings import OrdinalParams
from pasta.seeds import generator
from pasta.studies.ratings.aggregate import mode

CUTS = np.array([-1.5, -0.5, 0.5, 1.5])


def settings(**changes: Any) -> OrdinalParams:
    """Settings for quick tests, without networks."""
    linear = {"iterations": 500, "tolerance": 1e-7, "share": 0.0}
    networks = {"members": 3, "hidden": 8, "steps": 40, "batch_size": 32}
    training = {"learning_rate": 0.01, "weight_decay": 0.1}
    return OrdinalParams.model_validate({**linear, **networks, **training, **changes})


def planted_weights(seed: int, features: int, questions: int, strength: float = 2.0) -> Doubles:
    """Weights of which half the variance is common to all questions."""
    random = generator(seed, "test", "weights")
    common = random.standard_normal((features, 1))
    own = random.standard_normal((features, questions))
    result: Doubles = strength * (common + own) / np.sqrt(2 * features)
    return result


def draw_rated(
    seed: int, samples: int, weights: Doubles, votes: int = 5, residual: float = 0.0
) -> Rated:
    """Normal features, and votes that follow them; labels are modes.

    ``residual`` is the deviation of what the votes on a sample have in common beyond its features.
    """
    random = generator(seed, "test", "rated")
    features = random.standard_normal((samples, len(weights))).astype(np.float32)
    latent = features @ weights
    latent = latent + residual * random.standard_normal(latent.shape)
    chances = star_chances(latent, np.tile(CUTS, (weights.shape[1], 1)))
    counts = random.multinomial(votes, chances).astype(np.int64)
    return Rated(features, counts, modes(counts))


def star_chances(latent: Doubles, cuts: Doubles) -> Doubles:
    """The chance of each star, in arrays."""
    found: Doubles = distribution(torch.from_numpy(latent), torch.from_numpy(cuts)).numpy()
    return found


def modes(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """The labels of vote counts; NaN without votes."""
    flat = mode(counts.reshape(-1, 5), "smallest").reshape(counts.shape[:2])
    return np.where(counts.any(axis=2), flat, np.nan).astype(np.float32)
