"""What a scorer predicts for explanations that it has not seen, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.scoring.base import STARS, Predicted, Rated

SHARES = [f"p{star}" for star in STARS]
COUNTS = [f"n{star}" for star in STARS]


def list_predictions(
    answer: Predicted, test: Rated, questions: Sequence[str], samples: pd.DataFrame
) -> pd.DataFrame:
    """Predictions beside labels and votes, one row for each explanation and question.

    Parameters
    ----------
    answer, test
        What a scorer says of some explanations, and their votes.
    questions
        Those of the columns of both.
    samples
        What identifies the explanations, a row each.

    Returns
    -------
    DataFrame with the columns of ``samples``, question, label, stars (predicted), low, high (of the
    label; NaN without intervals), p1 to p5 (predicted share of each star among the votes; NaN if
    the scorer predicts none), n1 to n5 (votes). Explanations without votes on a question are left
    out.
    """
    frames = []
    for column, question in enumerate(questions):
        frame = samples.assign(question=question, **_columns(answer, test, column))
        frames.append(frame[frame["label"].notna()])
    return pd.concat(frames, ignore_index=True)


def _columns(answer: Predicted, test: Rated, column: int) -> dict[str, NDArray[Any]]:
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
