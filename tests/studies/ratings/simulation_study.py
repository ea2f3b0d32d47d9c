"""A study without files: parameters, qualities and a plan for the tests of the simulated raters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pasta.seeds import generator
from pasta.studies.ratings.settings import QUESTIONS, RaterParams, SimulationParams

RATERS: Mapping[str, float] = RaterParams().model_dump()
NOTHING_PLANTED: Mapping[str, float] = dict.fromkeys(RATERS, 0.0) | {"noise": 0.5}


def parameters(raters: Mapping[str, float] = RATERS, **changes: Any) -> SimulationParams:
    """The parameters of the demo, with some of them changed."""
    return SimulationParams.model_validate({"raters": dict(raters), **changes})


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
