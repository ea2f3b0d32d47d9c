"""Each annotator's severity, spread, straight-lining, speed and agreement, and whom to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtr, stdtrit

from analysis.agreement import agreement_with_mode
from analysis.kappa import LIKERT
from analysis.resampling import (
    Matrix,
    cluster_counts,
    coin_quantile,
    holm,
    percentile_interval,
    wilson_interval,
)
from analysis.votes import ALL, MEAN, Votes, read_votes

_HEAD = ["annotator_id", "measure", "n", "estimate", "low", "high", "p", "note"]

Found = tuple[int, float, float, float, float, str]


def annotator_profiles(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Describe how each annotator rates.

    Parameters
    ----------
    ratings
        sample_id, annotator_id, question, rating, optionally submitted_at.

    Returns
    -------
    DataFrame
        annotator_id, measure, n, estimate, low, high, p, note, with the measures

        - ``severity``: mean of the annotator's rating less the mean rating of the others on the
          same sample and question; negative is severe. Interval and p with samples as clusters, p
          adjusted by Holm over annotators.
        - ``spread``: standard deviation of all ratings, interval by a bootstrap over samples.
        - ``straight_lining``: share of samples with three or more answers that are all equal, with
          Wilson's interval (doi:10.1080/01621459.1927.10502953).
        - ``favourite_share``: share of the most used star.
        - ``seconds``: median time from one sample to the next, interval from order statistics.
        - ``agreement``: quadratic kappa against the mode of the others, all questions together.
    """
    votes = read_votes(ratings, categories)
    seconds = _seconds(ratings, votes)
    rows = []
    for number, annotator in enumerate(votes.annotators):
        own = votes.codes[:, number, :]
        measures: dict[str, Found] = {
            "severity": _severity(votes, number),
            "spread": _spread(own, votes.categories, resamples, seed),
            "straight_lining": _straight_lining(own),
            "favourite_share": _favourite(own, len(categories)),
            "seconds": _median(seconds.get(annotator, np.empty(0))),
        }
        rows += [(annotator, name, *found) for name, found in measures.items()]
    profiles = pd.DataFrame(rows, columns=_HEAD)
    severe = profiles["measure"] == "severity"
    profiles.loc[severe, "p"] = holm(profiles.loc[severe, "p"])
    kappas = agreement_with_mode(ratings, categories=categories, resamples=resamples, seed=seed)
    question = ALL if len(votes.questions) > 1 else None
    wanted = (kappas["label"] == "leave_one_out") & (kappas["annotator_id"] != MEAN)
    if question:
        wanted &= kappas["question"] == question
    agreement = kappas[wanted].assign(measure="agreement", p=np.nan)[_HEAD]
    frames = [frame for frame in (profiles, agreement) if len(frame)]
    joined = pd.concat(frames, ignore_index=True) if frames else profiles
    return joined.sort_values("annotator_id", kind="stable", ignore_index=True)


def _severity(votes: Votes, number: int) -> Found:
    given = votes.codes >= 0
    scale = np.append(np.asarray(votes.categories, np.float64), 0.0)
    total, count = scale[votes.codes].sum(1), given.sum(1)
    mine = given[:, number, :]
    others = count - mine
    both = mine & (others > 0)
    own = scale[votes.codes[:, number, :]]
    rest = np.divide(total - own, others, out=np.zeros_like(total), where=others > 0)
    apart = np.where(both, own - rest, 0.0)
    n = int(both.sum())
    if n == 0:
        return 0, np.nan, np.nan, np.nan, np.nan, "no sample was rated by anybody else"
    mean = float(apart.sum() / n)
    clusters = int(both.any(0).sum())
    if clusters < 2:
        return n, mean, np.nan, np.nan, np.nan, "no interval from one sample"
    scores = np.where(both, apart - mean, 0.0).sum(0)
    error = float(np.sqrt(clusters / (clusters - 1) * (scores**2).sum()) / n)
    reach = float(stdtrit(clusters - 1, 0.975)) * error
    p = float(2 * stdtr(clusters - 1, -abs(mean) / error)) if error > 0 else np.nan
    return n, mean, mean - reach, mean + reach, p, ""


def _spread(own: np.ndarray, categories: Sequence[int], resamples: int, seed: int) -> Found:
    given = own >= 0
    n = int(given.sum())
    if n < 2:
        return n, np.nan, np.nan, np.nan, np.nan, "fewer than two ratings"
    values = np.where(given, np.append(np.asarray(categories, np.float64), 0.0)[own], 0.0)
    rated = given.any(0)
    sums = np.stack([given.sum(0), values.sum(0), (values**2).sum(0)], axis=1)[rated]
    estimate = float(_deviation(sums.sum(0)))
    if len(sums) < 2:
        return n, estimate, np.nan, np.nan, np.nan, "no interval from one sample"
    drawn = [_deviation(counts @ sums) for counts in cluster_counts(len(sums), resamples, seed)]
    low, high = percentile_interval(np.concatenate(drawn)[:, None])
    return n, estimate, float(low[0]), float(high[0]), np.nan, ""


def _deviation(sums: Matrix) -> Matrix:
    n = sums[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (sums[..., 2] - sums[..., 1] ** 2 / n) / (n - 1)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _straight_lining(own: np.ndarray) -> Found:
    given = own >= 0
    long = given.sum(0) >= 3
    n = int(long.sum())
    if n == 0:
        return 0, np.nan, np.nan, np.nan, np.nan, "no sample with three answers"
    top = own.max(0)
    flat = long & ((own == top) | ~given).all(0)
    low, high = wilson_interval(int(flat.sum()), n)
    return n, float(flat.sum() / n), low, high, np.nan, ""


def _favourite(own: np.ndarray, k: int) -> Found:
    used = np.bincount(own[own >= 0], minlength=k)
    n = int(used.sum())
    share = float(used.max() / n) if n else np.nan
    return n, share, np.nan, np.nan, np.nan, "" if n else "no rating"


def _seconds(ratings: pd.DataFrame, votes: Votes) -> dict[object, Matrix]:
    """Seconds from each sample to the next, in the order of submission."""
    if "submitted_at" not in ratings:
        return {}
    timed = ratings.dropna(subset=["submitted_at", "rating"])
    when = pd.to_datetime(timed["submitted_at"], utc=True, errors="coerce")
    last = timed.assign(when=when).dropna(subset=["when"])
    ends = last.groupby(["annotator_id", "sample_id"])["when"].max()
    known = set(votes.annotators)
    return {
        annotator: np.diff(np.sort(times.to_numpy("datetime64[us]"))).astype(np.float64) / 1e6
        for annotator, times in ends.groupby(level=0)
        if annotator in known
    }


def _median(gaps: Matrix) -> Found:
    n = len(gaps)
    if n == 0:
        return 0, np.nan, np.nan, np.nan, np.nan, "no times of two samples"
    ordered = np.sort(gaps)
    middle = float(np.median(ordered))
    # The number of gaps below the true median is binomial with one half.
    below = coin_quantile(0.025, n) - 1
    if below < 0:
        return n, middle, np.nan, np.nan, np.nan, "too few samples for an interval"
    return n, middle, float(ordered[below]), float(ordered[n - 1 - below]), np.nan, ""


@dataclass(frozen=True)
class _Rule:
    """Stands out if away from the others by 3.5 robust standard deviations and by ``least``."""

    measure: str
    side: int  # -1 below, 1 above, 0 either
    least: float
    text: Callable[[float, float], str]


_RULES = (
    _Rule("severity", 0, 0.5, lambda own, _: f"rates {abs(own):.2f} stars "
          f"{'lower' if own < 0 else 'higher'} than others on the same samples"),
    _Rule("spread", -1, 0.25, lambda own, usual:
          f"hardly varies: standard deviation {own:.2f} against {usual:.2f}"),
    _Rule("straight_lining", 1, 0.2, lambda own, usual:
          f"gives all questions the same star on {own:.0%} of samples against {usual:.0%}"),
    _Rule("favourite_share", 1, 0.2, lambda own, usual:
          f"gives one star in {own:.0%} of ratings against {usual:.0%}"),
    _Rule("agreement", -1, 0.15, lambda own, usual:
          f"agrees less with the mode of the others: kappa {own:.2f} against {usual:.2f}"),
)  # fmt: skip


def annotators_to_look_at(profiles: pd.DataFrame) -> pd.DataFrame:
    """Name the annotators whose profile stands out, with the reason.

    An annotator is compared with the median of the others (at least three of them): more than 3.5
    robust standard deviations away (1.4826 times the median absolute deviation; Leys et al. 2013,
    doi:10.1016/j.jesp.2013.03.013) and far enough to matter. Twice as fast as the median of the
    others is too fast (Leiner 2019, doi:10.18148/srm/2019.v13i3.7403). An agreement whose interval
    contains 0, from 30 ratings or more, is named whatever the others do. To be named is a reason to
    look, not to exclude.

    Parameters
    ----------
    profiles
        The result of :func:`annotator_profiles`.

    Returns
    -------
    DataFrame
        annotator_id, measure, n, estimate, usual (median of the others), reason
    """
    rows = [row for rule in _RULES for row in _outliers(profiles, rule)]
    rows += [*_fast(profiles), *_by_chance(profiles)]
    frame = pd.DataFrame(
        rows, columns=["annotator_id", "measure", "n", "estimate", "usual", "reason"]
    )
    return frame.sort_values(["annotator_id", "measure"], kind="stable", ignore_index=True)


Named = tuple[object, str, int, float, float, str]


def _with_usual(
    profiles: pd.DataFrame, measure: str
) -> Iterator[tuple[object, int, float, Matrix]]:
    """Each annotator's value of a measure and those of the others."""
    part = profiles[(profiles["measure"] == measure) & profiles["estimate"].notna()]
    values = part["estimate"].to_numpy(np.float64)
    for number, (name, n) in enumerate(zip(part["annotator_id"], part["n"], strict=True)):
        others = np.delete(values, number)
        if len(others) >= 3:
            yield name, int(n), float(values[number]), others


def _outliers(profiles: pd.DataFrame, rule: _Rule) -> Iterator[Named]:
    for name, n, own, others in _with_usual(profiles, rule.measure):
        usual = float(np.median(others))
        scale = float(np.median(np.abs(others - usual)) / ndtri(0.75))
        away = own - usual
        wrong_side = rule.side != 0 and np.sign(away) != rule.side
        if not wrong_side and abs(away) > max(3.5 * scale, rule.least):
            yield name, rule.measure, n, own, usual, rule.text(own, usual)


def _fast(profiles: pd.DataFrame) -> Iterator[Named]:
    for name, n, own, others in _with_usual(profiles, "seconds"):
        usual = float(np.median(others))
        if own * 2 <= usual:
            reason = f"takes {own:.1f} s for a sample against {usual:.1f} s"
            yield name, "seconds", n, own, usual, reason


def _by_chance(profiles: pd.DataFrame) -> Iterator[Named]:
    part = profiles[(profiles["measure"] == "agreement") & (profiles["n"] >= 30)]
    part = part[part["low"] <= 0]
    for name, n, own in zip(part["annotator_id"], part["n"], part["estimate"], strict=True):
        reason = f"is not shown to agree with others beyond chance: kappa {own:.2f}"
        yield name, "agreement", int(n), float(own), np.nan, reason
