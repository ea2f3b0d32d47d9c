"""Small rated sets with known causes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.scoring.base import Rated
from pasta.scoring.evaluation import MEASURED, measures
from pasta.scoring.settings import LossParams, ScorerParams


def samples(images: int = 40, techniques: int = 40, datasets: int = 4) -> pd.DataFrame:
    """Every image with every technique."""
    image, technique = np.divmod(np.arange(images * techniques), techniques)
    return pd.DataFrame(
        {
            "dataset": [f"d{one % datasets}" for one in image],
            "image": [f"d{one % datasets}/{one}" for one in image],
            "technique": [f"t{one}" for one in technique],
        }
    )


def rated(features: NDArray[Any], labels: NDArray[Any]) -> Rated:
    """Five equal votes on each label; none where it is missing."""
    labels = labels.reshape(len(features), -1).astype(np.float32)
    counts = 5 * (labels[..., None] == np.arange(1, 6))
    return Rated(features.astype(np.float32), counts.astype(np.int64), labels)


def linear_stars(features: NDArray[Any], rng: np.random.Generator, questions: int) -> NDArray[Any]:
    """Stars that are a rounded linear function of the features."""
    weights = rng.normal(size=(features.shape[1], questions)) / np.sqrt(features.shape[1])
    stars: NDArray[Any] = np.clip(np.rint(3 + 1.8 * features @ weights), 1, 5)
    return stars


def planted(rows: int, width: int, questions: int, seed: int = 0) -> Rated:
    """Features and the linear stars they cause."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, width))
    return rated(features, linear_stars(features, rng, questions))


def evaluate(truth: NDArray[Any], stars: NDArray[Any]) -> pd.DataFrame:
    """All measures as a table."""
    return pd.DataFrame(measures(truth, stars), columns=list(MEASURED))


def settings(**changes: Any) -> ScorerParams:
    """Those of the first version, but quick."""
    own: dict[str, Any] = {
        "hidden": (),
        "learning_rate": 0.01,
        "weight_decay": 0.0,
        "batch_size": 128,
        "epochs": 100,
        "evaluate_every": 5,
        "loss": LossParams(similarity=1.0, squared_error=0.01, ranking=0.1),
    }
    return ScorerParams(**{**own, **changes})


SECOND_LOSS = LossParams(similarity=0.01, squared_error=10.0, ranking=0.01)
