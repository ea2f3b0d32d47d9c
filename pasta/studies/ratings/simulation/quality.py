"""The latent quality of each sample for each question.

Properties are standardised over the study. Overlap, spread and correctness within saliency maps and
within concept explanations: they are not on one scale, and so the kinds differ for Q1-Q4 by the
planted preference and by nothing else. Changes are on one scale, so the light and the strong ones
of both kinds are standardised together: here a kind, or a strength, may really change more. Then ::

    quality = mean + overlap * z(overlap) + correct * (right - share of right ones)
              - focus * z(spread) + change * z(light for Q5, strong for Q6) + residual

The residual belongs to the sample, not to its technique; a part of it is common to Q1-Q4 and
another to Q5 and Q6, which the published votes find to go together (P1, B.3). A missing overlap
counts as average. Around its mean a quality stays within three standard deviations, and an
explanation that shows nothing has the least for Q1-Q4. Where a change is not known, there is no
quality.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.explanations.stored import STRENGTHS
from pasta.seeds import generator
from pasta.studies.ratings.settings import QualityParams, SimulationParams
from pasta.tables import QUESTIONS

LIMIT = 3.0
CHANGES = {"Q5": "light", "Q6": "strong"}

Floats = NDArray[np.float64]


def qualities(properties: pd.DataFrame, params: SimulationParams, seed: int) -> pd.DataFrame:
    """Columns sample_id, kind, status, Q1..Q6, sorted by sample."""
    frame = properties.sort_values("sample_id", ignore_index=True)
    scores = standardised(frame)
    residuals = _residuals(len(frame), params.shared, seed)
    empty = (frame["status"] != "ok").to_numpy()
    found = frame[["sample_id", "kind", "status"]].copy()
    for place, question in enumerate(QUESTIONS):
        weights: QualityParams = getattr(params.questions, question)
        values = _explained(scores, weights, question) + weights.residual * residuals[:, place]
        values = np.clip(values, -LIMIT, LIMIT)
        if question not in CHANGES:
            values[empty] = -LIMIT
        found[question] = weights.mean + values
    return found


def standardised(properties: pd.DataFrame) -> pd.DataFrame:
    """The properties around 0 and, but for ``correct``, with deviation 1.

    A right prediction stays one step above a wrong one: with few wrong ones, dividing by the
    deviation would make them outliers.
    """
    scores = pd.DataFrame(index=properties.index)
    kind = properties["kind"]
    shown = properties["status"] == "ok"
    for name in ("overlap", "spread"):
        values = properties[name].where(shown)
        spread = values.groupby(kind).transform("std", ddof=0)
        centred = values - values.groupby(kind).transform("mean")
        scores[name] = (centred / spread.where(spread > 0)).fillna(0.0)
    right = properties["correct"].astype(float)
    scores["correct"] = right - right.groupby(kind).transform("mean")
    changes = properties[list(STRENGTHS)].to_numpy(np.float64)
    known = changes[np.isfinite(changes)]
    centre, deviation = (known.mean(), known.std()) if known.size else (0.0, 0.0)
    scores[list(STRENGTHS)] = (changes - centre) / (deviation or 1.0)
    return scores


def _explained(scores: pd.DataFrame, weights: QualityParams, question: str) -> Floats:
    values = (
        weights.overlap * scores["overlap"]
        + weights.correct * scores["correct"]
        - weights.focus * scores["spread"]
    )
    if question in CHANGES:
        values = values + weights.change * scores[CHANGES[question]]
    return values.to_numpy(np.float64)


def _residuals(samples: int, shared: float, seed: int) -> Floats:
    """Samples x questions of variance 1, of which ``shared`` is common to a group of questions."""
    random = generator(seed, "simulation", "residual")
    common = random.standard_normal((samples, 2))
    own = random.standard_normal((samples, len(QUESTIONS)))
    group = [int(question in CHANGES) for question in QUESTIONS]
    result: Floats = np.sqrt(shared) * common[:, group] + np.sqrt(1 - shared) * own
    return result
