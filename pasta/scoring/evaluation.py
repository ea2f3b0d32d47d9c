"""How well predicted stars agree with given ones, over seeds, and how well people do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pasta.studies.ratings.aggregate import Ties, mode

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

N_STARS = 5
_DISAGREEMENT = (np.arange(N_STARS)[:, None] - np.arange(N_STARS)) ** 2 / (N_STARS - 1) ** 2
_FEWEST_TO_CORRELATE = 3
MEASURED = ("measure", "estimate", "n", "reason")


def round_stars(values: NDArray[Any]) -> NDArray[np.int64]:
    """The nearest star of each value; halves go to the even one, and nothing leaves 1-5."""
    stars: NDArray[np.int64] = np.rint(np.clip(values, 1, N_STARS)).astype(np.int64)
    return stars


def star_counts(truth: NDArray[Any], stars: NDArray[Any]) -> Counts:
    """How often each pair of stars occurs, over the last axis: (..., true star, given star).

    Pairs with a missing truth are left out. Leading axes are kept: models, seeds, questions.
    """
    truth, stars = np.broadcast_arrays(truth, stars)
    lead, cells = truth.shape[:-1], N_STARS**2
    models = math.prod(lead)
    pair = (round_stars(np.nan_to_num(truth, nan=1.0)) - 1) * N_STARS + round_stars(stars) - 1
    pair = np.where(np.isnan(truth), cells, pair).reshape(models, truth.shape[-1])
    pair += np.arange(models)[:, None] * (cells + 1)
    counts = np.bincount(pair.ravel(), minlength=models * (cells + 1))
    return counts.reshape(models, cells + 1)[:, :cells].reshape(*lead, N_STARS, N_STARS)


def quadratic_kappa(counts: Counts) -> Values:
    """Cohen's kappa with quadratic weights on the fixed scale 1-5.

    ``1 - sum w O / sum w E`` with ``w_ij = (i - j)^2 / 16``, O the observed shares and E those
    expected from the margins (doi:10.1037/h0026256). The scale must be fixed: weights on the stars
    that happen to occur would differ from sample to sample. NaN if both sides are one and the
    same star, where nothing could disagree.
    """
    shares = counts / np.maximum(counts.sum(axis=(-2, -1), keepdims=True), 1)
    observed = (shares * _DISAGREEMENT).sum(axis=(-2, -1))
    margins = shares.sum(axis=-1)[..., :, None] * shares.sum(axis=-2)[..., None, :]
    expected = (margins * _DISAGREEMENT).sum(axis=(-2, -1))
    possible = expected > 0
    ratio = np.divide(observed, expected, out=np.full_like(expected, np.nan), where=possible)
    kappa: Values = 1 - ratio
    return kappa


def measures(truth: NDArray[Any], stars: NDArray[Any]) -> list[tuple[str, float, int, str]]:
    """All measures of one prediction: rows of MEASURED.

    ``truth`` are labels from 1 to 5, samples where it is NaN are left out; ``stars`` are not
    rounded, but ``qwk`` and ``spearman_of_stars`` round them. ``n`` counts samples, ``reason`` is
    empty or says why the estimate is missing. ``scc_as_published`` is the mean of Spearman's rho
    and its p-value, which the first version of doi:10.48550/arXiv.2411.02470 prints as SCC: about
    half of rho.
    """
    truth, stars = np.asarray(truth, np.float64), np.asarray(stars, np.float64)
    given = ~np.isnan(truth)
    truth, stars = truth[given], stars[given]
    whole = round_stars(stars).astype(np.float64)
    kappa = float(quadratic_kappa(star_counts(truth, stars)))
    rho, rho_reason, _ = _correlation(truth, stars, "spearman")
    rho_stars, stars_reason, p_stars = _correlation(truth, whole, "spearman")
    linear, linear_reason, _ = _correlation(truth, stars, "pearson")
    empty = "" if len(truth) else "no samples"
    same = "" if not np.isnan(kappa) else "truth and predictions are one and the same star"
    rows = [
        ("mse", float(np.mean((truth - stars) ** 2)) if len(truth) else np.nan, empty),
        ("mae", float(np.mean(np.abs(truth - stars))) if len(truth) else np.nan, empty),
        ("qwk", kappa, empty or same),
        ("spearman", rho, rho_reason),
        ("pearson", linear, linear_reason),
        ("spearman_of_stars", rho_stars, stars_reason),
        ("scc_as_published", (rho_stars + p_stars) / 2, stars_reason),
    ]
    return [(name, estimate, len(truth), reason) for name, estimate, reason in rows]


def _correlation(truth: Values, other: Values, kind: str) -> tuple[float, str, float]:
    """Coefficient, why there is none, and p-value."""
    if len(truth) < _FEWEST_TO_CORRELATE:
        return np.nan, f"fewer than {_FEWEST_TO_CORRELATE} samples", np.nan
    if np.ptp(truth) == 0:
        return np.nan, "the truth is constant", np.nan
    if np.ptp(other) == 0:
        return np.nan, "the predictions are constant", np.nan
    function: Any = stats.spearmanr if kind == "spearman" else stats.pearsonr
    test = function(truth, other)
    return float(test.statistic), "", float(test.pvalue)


def summarise(results: pd.DataFrame, keys: Sequence[str] = ("measure",)) -> pd.DataFrame:
    """Mean and standard deviation (n - 1) over runs, for each combination of keys.

    No run is dropped: if an estimate is missing in some, so is the mean, and ``reason`` says in
    how many and why. ``n`` counts runs.
    """
    rows = []
    for key, runs in results.groupby(list(keys), sort=False):
        estimates = runs["estimate"].to_numpy(np.float64)
        missing = np.isnan(estimates)
        why = " or ".join(sorted(set(runs.loc[missing, "reason"])))
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                "mean": float(estimates.mean()),
                "sd": float(estimates.std(ddof=1)) if len(runs) > 1 else np.nan,
                "n": len(runs),
                "reason": f"missing in {missing.sum()} of {len(runs)}: {why}" if why else "",
            }
        )
    return pd.DataFrame(rows, columns=[*keys, "mean", "sd", "n", "reason"])


def human_rows(votes: pd.DataFrame, labels: pd.DataFrame, ties: Ties) -> pd.DataFrame:
    """Every annotator against the labels.

    Parameters
    ----------
    votes
        ``sample_id``, ``annotator_id``, ``question`` and ``rating``.
    labels
        The labels table of these votes.
    ties
        How the table has settled ties.

    Returns
    -------
    DataFrame
        The columns of :func:`measures` after ``question``, ``against`` and ``annotator_id``.
        Against ``mode``: the label of all votes, the annotator's own among them, as
        doi:10.48550/arXiv.2411.02470 does it, which flatters. Against ``leave_one_out``: what the
        label would be without the annotator's vote; samples with a single vote drop out.
    """
    keys, stars = ["sample_id", "question"], [f"votes_{star}" for star in range(1, N_STARS + 1)]
    own = votes[keys].merge(labels[[*keys, "mode", *stars]], on=keys, how="left")
    rating = votes["rating"].to_numpy(np.int64)
    others = np.array(own[stars].fillna(0), np.int64)
    others[np.arange(len(votes)), rating - 1] -= 1
    alone = others.sum(axis=1) <= 0
    truths = {
        "mode": own["mode"].to_numpy(np.float64),
        "leave_one_out": np.where(alone, np.nan, mode(others, ties)),
    }
    places: Mapping[Any, Any] = votes.groupby(["question", "annotator_id"]).indices
    found = [
        (question, against, annotator, *row)
        for (question, annotator), rows in places.items()
        for against, truth in truths.items()
        for row in measures(truth[rows], rating[rows])
    ]
    return pd.DataFrame(found, columns=["question", "against", "annotator_id", *MEASURED])
