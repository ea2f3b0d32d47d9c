"""What a scorer predicts for explanations that it has not seen, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.scoring.base import STARS, Predicted, Rated
from pasta.scoring.material import Material, split
from pasta.scoring.settings import ScoringParams
from pasta.scoring.studies import Setup, fit_all, settings_of

SHARES = [f"p{star}" for star in STARS]
COUNTS = [f"n{star}" for star in STARS]


def held_out_predictions(
    material: Material, setup: Setup, scoring: ScoringParams, seeds: Sequence[int]
) -> pd.DataFrame:
    """Predict the test part of every split by a scorer that was trained on its training part.

    Parameters
    ----------
    material
        The rated explanations.
    setup, scoring
        The scorer, its features and the way to split.
    seeds
        One split each. An explanation may be in the test part of several splits.

    Returns
    -------
    DataFrame with sample_id, dataset, seed, question, label, stars (predicted), low, high (of the
    label, NaN without intervals), p1 to p5 (predicted share of each star among the votes, NaN if
    the scorer predicts none), n1 to n5 (votes). Explanations without votes on a question are left
    out.
    """
    rated, rows = material.rated(
        setup.embedding, setup.aggregate, setup.with_label, setup.questions
    )
    samples = material.samples.iloc[rows].reset_index(drop=True)
    parts = [split(samples, setup.split, scoring.split.train, seed) for seed in seeds]
    fitted = fit_all(
        setup.scorer,
        [rated.at(part.train) for part in parts],
        [rated.at(part.validation) for part in parts],
        settings_of(setup.scorer, scoring),
        seeds,
    )
    frames = []
    for seed, part, one in zip(seeds, parts, fitted, strict=True):
        test, own = rated.at(part.test), samples.iloc[part.test][["sample_id", "dataset"]]
        answer = one.predict(test.features)
        for column, question in enumerate(setup.questions):
            frame = own.assign(seed=seed, question=question, **_columns(test, answer, column))
            frames.append(frame[frame["label"].notna()])
    return pd.concat(frames, ignore_index=True)


def _columns(test: Rated, answer: Predicted, column: int) -> dict[str, NDArray[Any]]:
    empty = np.full(len(test), np.nan)
    shares = np.full((len(test), len(STARS)), np.nan)
    if answer.distribution is not None:
        shares = np.asarray(answer.distribution[:, column], np.float64)
    return {
        "label": test.labels[:, column],
        "stars": answer.stars[:, column],
        "low": empty if answer.low is None else answer.low[:, column],
        "high": empty if answer.high is None else answer.high[:, column],
        **dict(zip(SHARES, shares.T, strict=True)),
        **dict(zip(COUNTS, test.counts[:, column].T, strict=True)),
    }
