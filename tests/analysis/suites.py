"""The tables on agreement and bias together, as `pasta analyse` and the report have them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.suites.agreement import agreement_tables
from analysis.suites.bias import bias_tables
from analysis.suites.tables import Tables, joined
from analysis.votes import LIKERT


def agreement_and_bias(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None = None,
    samples: pd.DataFrame | None = None,
    *own_words_and_boxes: pd.DataFrame | None,
    categories: Sequence[int] = LIKERT,
    resamples: int = 60,
    permutations: int = 60,
) -> Tables:
    """Of anybody's ratings, with few resamples."""
    scale = {"categories": categories, "permutations": permutations}
    return joined(
        agreement_tables(ratings, samples, resamples=resamples, **scale),  # type: ignore[arg-type]
        bias_tables(ratings, annotators, samples, *own_words_and_boxes, **scale),  # type: ignore[arg-type]
    )
