"""Do ratings change with the order in which an annotator gave them? Drift, fatigue, carry-over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.contrasts import contrast_row, one_mean, permutation_p
from analysis.resampling import holm, notes
from analysis.votes import LIKERT, LongVotes, long_votes, others_mean

Vector = NDArray[np.float64]

PER = 100.0  # effects are given per hundred samples
LEAST = 10  # samples that an annotator must have rated
MOST_EXACT = 2**16  # up to so many flips of signs, those of 16 annotators, are all tried
BREAK_SECONDS = 1800.0  # a longer gap is a break, not a slow answer

EFFECTS = {
    "drift": "stars more than the other annotators, per 100 samples",
    "fatigue": "distance from the other annotators in stars, per 100 samples",
    "speed": "share of time more for a sample (logarithm), per 100 samples",
    "same_star": "share of samples with the same star on all questions, per 100 samples",
    "carry_over": "stars more for each star given too many to the sample before",
}


def order_effects(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Effects of the order of an annotator's samples, one slope per annotator.

    Samples are put in the order of ``submitted_at``. The excess of a vote is its distance from the
    mean of the other votes on the same sample and question, averaged over questions; so what an
    annotator was shown, and when, does not matter. ``drift`` is the slope of the excess,
    ``fatigue`` that of its size, ``speed`` that of the logarithm of the time since the sample
    before (half an hour or more is a break), ``same_star`` that of answering all questions alike,
    and ``carry_over`` the slope of the excess against that of the sample before, without the
    linear trend and corrected for the known bias of short series. Annotators are the unit: the
    estimate is the mean slope, the interval is a t interval, and p flips the signs of annotators'
    slopes.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating, submitted_at.
    categories
        The whole scale in its order.

    References
    ----------
    Kendall 1954, doi:10.1093/biomet/41.3-4.403 (bias of serial correlations)

    Returns
    -------
    DataFrame with effect, unit, n (annotators), estimate, low, high, p, p_holm, smallest_effect,
    note
    """
    rows = []
    slopes, why = _slopes(ratings, categories)
    for effect, unit in EFFECTS.items():
        values = slopes[effect].to_numpy(np.float64)
        row = contrast_row(one_mean(values))
        known = int((~np.isnan(values)).sum())
        p = flip_signs(values, permutations=permutations, seed=seed)
        left = f"{len(values) - known} annotators left out" if 0 < known < len(values) else ""
        note = why if not known and why else notes([str(row["note"]), left])
        rows.append({"effect": effect, "unit": unit} | row | {"p": p, "note": note})
    columns = ["effect", "unit", "n", "estimate", "low", "high", "p", "smallest_effect", "note"]
    frame = pd.DataFrame(rows)[columns]
    frame.insert(7, "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def flip_signs(values: ArrayLike, *, permutations: int = 10_000, seed: int = 0) -> float:
    """p of the mean of one value per annotator being 0: each sign could be the other (scipy).

    All flips are tried when there are few. NaN for fewer than two annotators, or if no annotator
    differs from 0.
    """
    y = np.asarray(values, np.float64)
    y = y[~np.isnan(y)]
    if len(y) < 2 or not np.any(y):
        return np.nan
    few = 2 ** len(y) <= MOST_EXACT
    return permutation_p(
        [y],
        lambda drawn, axis: np.abs(drawn.sum(axis)),
        "samples",
        MOST_EXACT if few else permutations,
        seed,
    )


def _slopes(ratings: pd.DataFrame, categories: Sequence[int]) -> tuple[pd.DataFrame, str]:
    """One row of slopes for each annotator, and why there are none."""
    none = pd.DataFrame(columns=list(EFFECTS), dtype=np.float64)
    if "submitted_at" not in ratings:
        return none, "submitted_at is not in the ratings"
    times = pd.to_datetime(ratings["submitted_at"], errors="coerce", utc=True, format="ISO8601")
    usable = times.notna().to_numpy() & ratings["rating"].notna().to_numpy()
    timed = ratings[usable]
    if not len(timed):
        return none, "no vote has a time"
    votes = long_votes(timed, categories)
    seconds = times[usable].to_numpy("datetime64[us]").astype(np.int64) / 1e6
    moment = _moments(timed, seconds, votes)
    samples = _samples(votes, moment)
    found = [_annotator(mine) for _, mine in samples.groupby("annotator", sort=True)]
    frame = pd.DataFrame(found, columns=list(EFFECTS))
    return frame, f"no annotator has {LEAST} samples in order, rated by others too"


def _moments(timed: pd.DataFrame, seconds: Vector, votes: LongVotes) -> Vector:
    """The time of each vote: the last one among the votes of its annotator on its sample."""
    annotator = votes.annotators.get_indexer(pd.Index(timed["annotator_id"]))
    sample = votes.samples.get_indexer(pd.Index(timed["sample_id"]))
    latest = np.full((len(votes.annotators), len(votes.samples)), -np.inf)
    np.maximum.at(latest, (annotator, sample), seconds)
    moments: Vector = latest[votes.annotator, votes.sample]
    return moments


def _samples(votes: LongVotes, moment: Vector) -> pd.DataFrame:
    """One row for each annotator and sample, in order of time, with the excess in stars."""
    excess = votes.rating - others_mean(votes)
    columns = {
        "annotator": votes.annotator,
        "sample": votes.sample,
        "moment": moment,
        "excess": excess,
        "distance": np.abs(excess),
        "low": votes.rating,
        "high": votes.rating,
    }
    frame = pd.DataFrame(columns)
    rules = {"moment": "first", "excess": "mean", "distance": "mean", "low": "min", "high": "max"}
    grouped = frame.groupby(["annotator", "sample"], sort=True)
    samples = grouped.agg(rules).assign(answers=grouped.size()).reset_index()
    return samples.sort_values(["annotator", "moment", "sample"], ignore_index=True)


def _annotator(mine: pd.DataFrame) -> dict[str, float]:
    moment = mine["moment"].to_numpy(np.float64)
    position = np.arange(len(mine)) / PER
    excess = mine["excess"].to_numpy(np.float64)
    if len(np.unique(moment)) < LEAST:
        return dict.fromkeys(EFFECTS, np.nan)
    gaps = np.diff(moment, prepend=np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        paced = np.where((gaps > 0) & (gaps < BREAK_SECONDS), np.log(gaps), np.nan)
    several = mine["answers"].to_numpy() > 1
    same = np.where(several, mine["low"].to_numpy() == mine["high"].to_numpy(), np.nan)
    level = excess - _line(excess, position)
    return {
        "drift": _slope(excess, position),
        "fatigue": _slope(mine["distance"].to_numpy(np.float64), position),
        "speed": _slope(paced, position),
        "same_star": _slope(same, position),
        "carry_over": _carry_over(level),
    }


def _carry_over(level: Vector) -> float:
    """Lag-one slope; removing a line from n values lowers it by about (2 + 4 slope) / n."""
    n = int((~np.isnan(level)).sum())
    return (_slope(level[1:], level[:-1]) + 2 / n) / (1 - 4 / n) if n >= LEAST else np.nan


def _slope(y: Vector, x: Vector) -> float:
    known = ~(np.isnan(y) | np.isnan(x))
    if known.sum() < LEAST or np.ptp(x[known]) == 0:
        return float("nan")
    centred = x[known] - x[known].mean()
    return float(centred @ y[known] / (centred @ centred))


def _line(y: Vector, x: Vector) -> Vector:
    """The fitted line, so that a trend is not taken for carry-over."""
    slope = _slope(y, x)
    if np.isnan(slope):
        return np.full_like(y, np.nan)
    known = ~np.isnan(y)
    line: Vector = y[known].mean() + slope * (x - x[known].mean())
    return line
