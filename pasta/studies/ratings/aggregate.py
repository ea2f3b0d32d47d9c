"""Votes to labels: one row for each sample and question."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.registry import did_you_mean
from pasta.studies.ratings.tables import LABELS, STARS

Ties = Literal["smallest", "largest", "median"]

_Counts = NDArray[np.int64]  # labels x stars
_STARS = np.array(STARS)


def aggregate(votes: pd.DataFrame, ties: Ties = "smallest") -> pd.DataFrame:
    """Aggregate the votes on each sample and question.

    Parameters
    ----------
    votes
        The votes table, in any order.
    ties
        Which star is the mode when several have the most votes: the smallest (as in the released
        PASTA data, doi:10.48550/arXiv.2411.02470), the largest, or the one nearest to the median
        of the votes; of two that are equally near, the smaller.

    Returns
    -------
    DataFrame
        The labels table, sorted by sample and question. The entropy is that of the shares
        ``p_s`` of the five stars, ``-sum p_s log2 p_s``.
    """
    if ties not in get_args(Ties):
        hint = did_you_mean(ties, list(get_args(Ties)))
        raise PastaError(f"there is no rule for ties called {ties!r}. {hint}")
    sample, samples = pd.factorize(votes["sample_id"], sort=True)
    question, questions = pd.factorize(votes["question"], sort=True)
    label = sample * len(questions) + question
    room = len(samples) * len(questions)
    stars = votes["rating"].to_numpy(np.int64) - 1
    counts = np.bincount(label * len(STARS) + stars, minlength=room * len(STARS))
    counts = counts.reshape(room, len(STARS))
    simulated = np.bincount(label[votes["simulated"].to_numpy(bool)], minlength=room) > 0
    given = np.flatnonzero(counts.any(axis=1))
    counts = counts[given]
    columns = {
        "sample_id": samples.take(given // max(len(questions), 1)).astype("str"),
        "question": questions.take(given % max(len(questions), 1)).astype("str"),
        "mode": mode(counts, ties),
        "mean": counts @ _STARS / counts.sum(axis=1),
        "median": median(counts),
        "n_votes": counts.sum(axis=1),
        **{f"votes_{star}": counts[:, star - 1] for star in STARS},
        "entropy": entropy(counts),
        "simulated": simulated[given],
    }
    return pd.DataFrame(columns)[list(LABELS.columns)]


def mode(counts: _Counts, ties: Ties) -> NDArray[np.int64]:
    """The star with the most votes of each row."""
    away = {
        "smallest": _STARS.astype(float),
        "largest": -_STARS.astype(float),
        "median": np.abs(_STARS - median(counts)[:, None]),
    }[ties]
    most = counts == counts.max(axis=1, keepdims=True)
    chosen: NDArray[np.int64] = np.where(most, away, np.inf).argmin(axis=1)
    return chosen + 1


def median(counts: _Counts) -> NDArray[np.float64]:
    """The median vote of each row; between two votes, their mean."""
    number = counts.sum(axis=1, keepdims=True)
    up_to = counts.cumsum(axis=1)
    low: NDArray[np.int64] = (up_to > (number - 1) // 2).argmax(axis=1)
    high: NDArray[np.int64] = (up_to > number // 2).argmax(axis=1)
    return (low + high) / 2 + 1


def entropy(counts: _Counts) -> NDArray[np.float64]:
    """Entropy of each row's votes in bits."""
    share = counts / counts.sum(axis=1, keepdims=True)
    bits = np.log2(share, out=np.zeros_like(share), where=share > 0)
    result: NDArray[np.float64] = np.abs((share * bits).sum(axis=1))  # no -0.0
    return result
