"""Made-up scores of explanations, and the settings that applications look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pasta.applications.settings import (
    ApplicationsParams,
    ExamplesParams,
    MixtureParams,
    ParetoParams,
    SteeringParams,
)
from pasta.seeds import generator

METHODS = ("gradcam", "lime", "shap", "eigencam")


def scored(good: ArrayLike, quality: ArrayLike | None = None, held_out: int = 2) -> pd.DataFrame:
    """Images x methods of goodness as a table of scores; the first images are held out."""
    values = np.asarray(good, np.float64)
    truth = np.full(values.shape, np.nan) if quality is None else np.asarray(quality, np.float64)
    rows: list[dict[str, Any]] = []
    for image, line in enumerate(values):
        for method, value, true in zip(METHODS, line, truth[image], strict=False):
            name = f"{image:04d}"
            rows.append(
                {
                    "sample_id": f"coco/{name}/{method}/resnet50",
                    "dataset": "coco",
                    "image_id": name,
                    "image": f"coco/{name}",
                    "method": method,
                    "backbone": "resnet50",
                    "technique": f"{method}/resnet50",
                    "kind": "saliency",
                    "predicted": "cultural",
                    "status": "ok" if np.isfinite(value) else "zero",
                    "score": 1 + 4 * value,
                    "low": 1.0,
                    "high": 5.0,
                    "good": value,
                    "held_out": image < held_out,
                    "quality": true,
                }
            )
    return pd.DataFrame(rows)


def random_scores(images: int = 12, seed: int = 0) -> pd.DataFrame:
    random = generator(seed, "scores")
    good = random.uniform(0, 1, (images, len(METHODS)))
    return scored(good, 2 * good + random.normal(0, 1, good.shape), held_out=images // 2)


def measured(scores: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    values = generator(seed, "faithfulness").uniform(-1, 1, len(scores))
    return pd.DataFrame(
        {"sample_id": scores["sample_id"], "faithfulness": values, "why": ["ok"] * len(scores)}
    )


def settings(**changes: Any) -> ApplicationsParams:
    """Only what these applications look at."""
    plain: dict[str, Any] = {
        "question": "Q1",
        "resamples": 200,
        "subsets": 20,
        "mixture": MixtureParams(backbone="resnet50", folds=3),
        "pareto": ParetoParams(backbones=("resnet50",)),
        "steering": SteeringParams(
            backbone="resnet50", images=2, masks=40, weights=(0.0, 0.5, 1.0), batch_size=16
        ),
        "examples": ExamplesParams(count=2),
    }
    return ApplicationsParams.model_construct(**(plain | changes))
