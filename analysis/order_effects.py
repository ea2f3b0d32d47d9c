"""Do ratings change with the order in which a rater gave them? Drift, fatigue, carry-over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.contrasts import contrast_row, one_mean, permutation_p
from analysis.resampling import holm, notes
from analysis.votes import LIKERT, LongVotes, long_votes, others_mean

Vector = NDArray[np.float64]

PER = 100.0  # effects are given per hundred units
LEAST = 10  # units that a rater must have rated
MOST_EXACT = 2**16  # up to so many flips of signs, those of 16 raters, are all tried
BREAK_SECONDS = 1800.0  # a longer gap is a break, not a slow answer
ROUNDING = 1e-6  # a slope below this is that of the arithmetic, not of a rater

EFFECTS = ("drift", "fatigue", "speed", "same_answer", "carry_over")


def order_effects(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Effects of the order in which a rater saw the units, one slope per rater.

    Units are put in the order of ``submitted_at``. The excess of a vote is its distance from the
    mean of the other votes on the same unit and item, averaged over items; so what a
    rater was shown, and when, does not matter. ``drift`` is the slope of the excess,
    ``fatigue`` that of its size, ``speed`` that of the logarithm of the time since the unit
    before (half an hour or more is a break), ``same_answer`` that of answering all items alike,
    and ``carry_over`` the slope of the excess against that of the unit before, without the
    linear trend and corrected for the known bias of short series. Raters are the unit: the
    estimate is the mean slope, the interval is a t interval, and p flips the signs of raters'
    slopes.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating, submitted_at.
    categories
        The whole scale in its order.
    permutations, seed
        Random flips of signs if there are too many to try all, and the seed of their random
        numbers.

    Returns
    -------
    DataFrame
        effect (all but carry_over per 100 units; speed as a logarithm), n (raters), estimate, low,
        high, p, p_holm, smallest_effect, note.

    References
    ----------
    Kendall 1954, doi:10.1093/biomet/41.3-4.403 (bias of serial correlations)

    Examples
    --------
    Each unit takes 1 % less time than the one before, a factor of 1 / e over 100 units:

    >>> seconds = np.cumsum(60 * np.exp(-0.01 * np.arange(20)))
    >>> times = pd.Timestamp("2024-05-01") + pd.to_timedelta(seconds, unit="s")
    >>> votes = pd.DataFrame({"unit": range(20), "item": "trust", "rating": 3})
    >>> votes = votes.assign(submitted_at=times)
    >>> found = order_effects(pd.concat([votes.assign(rater="a"), votes.assign(rater="b")]))
    >>> found[found["effect"] == "speed"][["effect", "n", "estimate"]].round(3)
      effect  n  estimate
    2  speed  2      -1.0
    """
    rows = []
    slopes, why = _slopes(ratings, categories)
    for effect in EFFECTS:
        values = slopes[effect].to_numpy(np.float64)
        row = contrast_row(one_mean(values))
        known = int((~np.isnan(values)).sum())
        p = _flip_signs(values, permutations=permutations, seed=seed)
        left = f"{len(values) - known} raters left out" if 0 < known < len(values) else ""
        note = why if not known and why else notes([str(row["note"]), left])
        rows.append({"effect": effect} | row | {"p": p, "note": note})
    columns = ["effect", "n", "estimate", "low", "high", "p", "smallest_effect", "note"]
    frame = pd.DataFrame(rows)[columns]
    frame.insert(6, "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def _flip_signs(values: ArrayLike, *, permutations: int = 10_000, seed: int = 0) -> float:
    """p of the mean of one value per rater being 0: each sign could be the other (scipy).

    All flips are tried when there are few. NaN for fewer than two raters, or if no rater
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
    """One row of slopes for each rater, and why there are none."""
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
    units = _units(votes, moment)
    found = [_rater(mine) for _, mine in units.groupby("rater", sort=True)]
    frame = pd.DataFrame(found, columns=list(EFFECTS))
    return frame, f"no rater has {LEAST} units in order, rated by others too"


def _moments(timed: pd.DataFrame, seconds: Vector, votes: LongVotes) -> Vector:
    """The time of each vote: the last one among the votes of its rater on its unit."""
    rater = votes.raters.get_indexer(pd.Index(timed["rater"]))
    unit = votes.units.get_indexer(pd.Index(timed["unit"]))
    latest = np.full((len(votes.raters), len(votes.units)), -np.inf)
    np.maximum.at(latest, (rater, unit), seconds)
    moments: Vector = latest[votes.rater, votes.unit]
    return moments


def _units(votes: LongVotes, moment: Vector) -> pd.DataFrame:
    """One row for each rater and unit, in order of time, with the excess."""
    excess = votes.rating - others_mean(votes)
    columns = {
        "rater": votes.rater,
        "unit": votes.unit,
        "moment": moment,
        "excess": excess,
        "distance": np.abs(excess),
        "low": votes.rating,
        "high": votes.rating,
    }
    frame = pd.DataFrame(columns)
    rules = {"moment": "first", "excess": "mean", "distance": "mean", "low": "min", "high": "max"}
    grouped = frame.groupby(["rater", "unit"], sort=True)
    units = grouped.agg(rules).assign(answers=grouped.size()).reset_index()
    return units.sort_values(["rater", "moment", "unit"], ignore_index=True)


def _rater(mine: pd.DataFrame) -> dict[str, float]:
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
    level = np.round(excess - _line(excess, position), 9)  # nothing is left of a straight line
    return {
        "drift": _slope(excess, position),
        "fatigue": _slope(mine["distance"].to_numpy(np.float64), position),
        "speed": _slope(paced, position),
        "same_answer": _slope(same, position),
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
    slope = float(centred @ y[known] / (centred @ centred))
    return slope if abs(slope) > ROUNDING else 0.0


def _line(y: Vector, x: Vector) -> Vector:
    """The fitted line, so that a trend is not taken for carry-over."""
    slope = _slope(y, x)
    if np.isnan(slope):
        return np.full_like(y, np.nan)
    known = ~np.isnan(y)
    line: Vector = y[known].mean() + slope * (x - x[known].mean())
    return line
