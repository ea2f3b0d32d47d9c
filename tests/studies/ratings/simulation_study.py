"""A study without files: parameters, qualities and a plan for the tests of the simulated raters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from pasta.seeds import generator
from pasta.studies.ratings.settings import QUESTIONS, SimulationParams

_COLUMNS = ("mean", "overlap", "correct", "focus", "change", "residual", "noise")
_QUESTIONS = {
    "Q1": (-0.4, 0.8, 0.8, 0.2, 0.0, 0.5, 1.0),
    "Q2": (-0.4, 0.7, 1.0, 0.2, 0.0, 0.5, 1.0),
    "Q3": (-0.3, 0.3, 0.3, 0.7, 0.0, 0.5, 1.3),
    "Q4": (-0.3, 0.3, 0.2, 0.7, 0.0, 0.5, 1.25),
    "Q5": (0.0, 0.0, 0.0, 0.0, 0.9, 0.4, 1.0),
    "Q6": (0.0, 0.0, 0.0, 0.0, 0.9, 0.4, 1.1),
}
RATERS: Mapping[str, float] = {
    "noise": 0.5,
    "noise_sd": 0.15,
    "age_noise": 0.1,
    "leniency_sd": 0.2,
    "sex_leniency": 0.2,
    "scale_sd": 0.1,
    "unstated": 0.05,
}
NOTHING_PLANTED: Mapping[str, float] = dict.fromkeys(RATERS, 0.0) | {"noise": 0.5}


def parameters(raters: Mapping[str, float] = RATERS, **changes: Any) -> SimulationParams:
    """The parameters of the demo, with some of them changed."""
    content: dict[str, Any] = {
        "thresholds": (-1.2, -0.4, 0.4, 1.2),
        "questions": {
            name: dict(zip(_COLUMNS, row, strict=True)) for name, row in _QUESTIONS.items()
        },
        "shared": 0.7,
        "saliency_preference": 0.4,
        "saliency_calm": 0.3,
        "raters": dict(raters),
        "timing": {
            "start": date(2025, 1, 6),
            "session_minutes": 90.0,
            "seconds": 75.0,
            "seconds_sd": 0.5,
        },
        "box_jitter": 0.08,
        "ranking_strength": 1.0,
        "ranking_sd": 0.5,
    }
    return SimulationParams.model_validate(content | changes)


def annotator_names(number: int = 15) -> list[str]:
    """``rater-01`` and so on."""
    return [f"rater-{place:02d}" for place in range(1, number + 1)]


def synthetic_qualities(seed: int, samples: int = 2200) -> pd.DataFrame:
    """Standard normal qualities; four of five samples are maps."""
    random = generator(seed, "test", "qualities")
    frame = pd.DataFrame(
        random.standard_normal((samples, len(QUESTIONS))), columns=pd.Index(QUESTIONS)
    )
    frame.insert(0, "sample_id", [f"coco/{place:04d}/lime/vit_b_16" for place in range(samples)])
    frame.insert(1, "kind", np.where(np.arange(samples) % 5 == 0, "concept", "saliency"))
    return frame


def plan_for(samples: pd.Series, seed: int, annotators: int = 15, votes: int = 5) -> pd.DataFrame:
    """Different annotators for each sample, by chance."""
    random = generator(seed, "test", "plan")
    chosen = np.argsort(random.random((len(samples), annotators)), axis=1)[:, :votes]
    names = np.array(annotator_names(annotators), dtype=object)
    plan = pd.DataFrame(
        {
            "sample_id": np.repeat(samples.to_numpy(object), votes),
            "annotator_id": names[chosen.ravel()],
        }
    ).astype("str")
    return plan.assign(position=plan.groupby("annotator_id").cumcount())
