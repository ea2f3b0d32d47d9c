"""Raters: who they are, how they rate, how far they agree, and which of them stand out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.special import ndtri
from scipy.stats import quantile_test

from analysis.agreement import agreement_with_mode
from analysis.contrasts import clustered_mean, contrast_row, wilson_interval
from analysis.kappa import kappa_from_sums, sum_by_cluster
from analysis.missing import is_missing
from analysis.resampling import Codes, Matrix, cluster_counts, holm, percentile_interval
from analysis.votes import ALL, LIKERT, MEAN, LongVotes, Votes, long_votes, read_votes

FACTORS = ("sex", "age_group", "country")
AGE_EDGES = (25, 30, 40, 50, 60)
AGE_GROUPS = ("under 25", "25-29", "30-39", "40-49", "50-59", "60 and over")


def demographics(
    raters: pd.DataFrame | None, rater_ids: Sequence[str] | pd.Index[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Age, age group, sex and country of these raters, and what is missing about each factor.

    Text is trimmed, and sex is compared without capitals. Words such as "Prefer not to say"
    (:data:`analysis.missing.MISSING_WORDS`) and an age that is no number (or not from 0 to 130)
    count as not stated; nothing is guessed.

    Parameters
    ----------
    raters
        Columns rater and any of age, sex, country; or None.
    rater_ids
        The raters to describe.

    Returns
    -------
    people : DataFrame
        rater, age, age_group, sex, country, in the given order.
    notes : dict
        For each factor (age, age_group, sex, country) what is missing; empty if nothing is.

    Examples
    --------
    >>> raters = pd.DataFrame({"rater": ["a", "b"], "age": ["24", "old"], "sex": ["F ", "m"]})
    >>> people, notes = demographics(raters, ["a", "b"])
    >>> people[["rater", "age", "sex"]]
      rater   age sex
    0     a  24.0   f
    1     b   NaN   m
    >>> notes["age"]
    "1 ages are no number of years (such as 'old')"
    """
    known = pd.DataFrame({"rater": pd.Index(rater_ids)})
    given = raters
    if given is None or "rater" not in given:
        given = pd.DataFrame({"rater": []})
    given = given.drop_duplicates("rater").set_index("rater")
    given = given.reindex(pd.Index(rater_ids))
    notes: dict[str, str] = {}
    for name in ("sex", "country"):
        known[name], notes[name] = _text(given, name)
    known["age"], notes["age"] = _ages(given)
    edges = [-np.inf, *AGE_EDGES, np.inf]
    groups = pd.cut(known["age"], edges, right=False, labels=list(AGE_GROUPS)).astype(object)
    known["age_group"] = groups.where(groups.notna(), None)
    notes["age_group"] = notes["age"]
    return known[["rater", "age", *FACTORS]], notes


def _text(given: pd.DataFrame, name: str) -> tuple[list[str | None], str]:
    if name not in given:
        return [None] * len(given), f"{name} is not in the raters table"
    stated, note = _stated(given[name], name)
    values = [None if value is None else str(value).strip() for value in stated]
    return [value.casefold() if value and name == "sex" else value for value in values], note


def _ages(given: pd.DataFrame) -> tuple[np.ndarray, str]:
    if "age" not in given:
        return np.full(len(given), np.nan), "age is not in the raters table"
    values, note = _stated(given["age"], "age")
    numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
    ages = numbers.to_numpy(np.float64, na_value=np.nan)
    ages = np.where((ages >= 0) & (ages <= 130), ages, np.nan)
    strange = [value for value, age in zip(values, ages, strict=True)
               if value is not None and np.isnan(age)]  # fmt: skip
    if strange:
        text = f"{len(strange)} ages are no number of years (such as {str(strange[0])!r})"
        note = f"{note}; {text}" if note else text
    return ages, note


def _stated(column: pd.Series, name: str) -> tuple[list[object], str]:
    """What raters stated, None for nothing and for words that mean it, and how many did not."""
    worded = [
        str(value).strip()
        for value in column.dropna()
        if is_missing(str(value)) and str(value).strip()
    ]
    values = [None if pd.isna(value) or is_missing(str(value)) else value for value in column]
    note = _missing(sum(value is None for value in values), len(values), name)
    if worded:
        kinds = ", ".join(repr(word) for word in sorted(set(worded))[:3])
        note += f" ({len(worded)} by a word: {kinds})"
    return values, note


def _missing(number: int, of: int, name: str) -> str:
    if not number:
        return ""
    return f"no rater stated {name}" if number == of else f"{number} of {of} without {name}"


MEASURES = ("level", "agreement", "agreement_published")


def rater_values(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> pd.DataFrame:
    r"""Level and agreement of every rater, per item and over all items.

    ``level`` is the rater's mean rating, adjusted for which units were seen: the
    least-squares effect :math:`\alpha_a` of

    .. math:: r_{ascq} = \mu_{sq} + \alpha_a + \epsilon

    plus the mean of all votes. Without shared units that link all raters it is the plain
    mean, and the note says so. ``agreement`` is the quadratic kappa with the mode of the *other*
    raters' votes (the smallest category on ties), ``agreement_published`` with the mode that
    contains the rater's own vote, as in some published studies.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame
        rater, item (or "all"), measure, n (votes), estimate, note.

    Examples
    --------
    The first rater saw the good unit and the second the bad one. The third saw both and agrees:
    nobody is more lenient.

    >>> ratings = pd.DataFrame({"unit": ["good", "bad", "good", "bad"], "rater": list("abcc")})
    >>> found = rater_values(ratings.assign(item="trust", rating=[5, 1, 5, 1]))
    >>> found[["rater", "item", "measure", "n", "estimate"]].head(3)
      rater   item measure  n  estimate
    0     a  trust   level  1       3.0
    1     b  trust   level  1       3.0
    2     c  trust   level  2       3.0
    """
    votes = long_votes(ratings, categories)
    frames = [_levels(votes)] + [_agreements(votes, measure) for measure in MEASURES[1:]]
    columns = ["rater", "item", "measure", "n", "estimate", "note"]
    return pd.concat(frames, ignore_index=True)[columns]


def _adjusted_levels(cell: Codes, rater: Codes, rating: Codes, n: int) -> tuple[Matrix, str]:
    """Adjusted mean rating of each of ``n`` raters (missing if without vote), and a note."""
    plain = np.full(n, np.nan)
    number = np.bincount(rater, minlength=n)
    seen = number > 0
    plain[seen] = np.bincount(rater, rating, n)[seen] / number[seen]
    cells = pd.factorize(cell)[0]
    size = np.bincount(cells)
    if not len(size):
        return plain, "no votes"
    shape = (len(size), n)
    share = 1 / np.sqrt(size[cells])  # so that the product divides by the votes of the cell
    shown = sparse.csr_array((share, (cells, rater)), shape=shape)
    overlap = np.asarray((shown.T @ shown).todense())
    parts, labels = csgraph.connected_components(sparse.csr_array(overlap), directed=False)
    if parts > 1 and len(np.unique(labels[seen])) > 1:
        return plain, "no units in common that link all raters: plain means"
    means = np.bincount(cells, rating) / size
    right = np.bincount(rater, rating - means[cells], n)
    effects = np.linalg.lstsq(np.diag(number) - overlap, right, rcond=None)[0]
    effects -= effects[seen].mean()
    levels = np.full(n, np.nan)
    # rounded, or equal raters would differ by the last bit, and that spread be tested
    levels[seen] = np.round(effects[seen] + (rating - effects[rater]).mean(), 12)
    return levels, ""


def _levels(votes: LongVotes) -> pd.DataFrame:
    frames = []
    for number, name in [*enumerate(votes.items), (-1, ALL)]:
        here = (votes.item == number) | (number < 0)
        levels, note = _adjusted_levels(
            votes.cell[here], votes.rater[here], votes.rating[here], len(votes.raters)
        )
        frame = _frame(votes, name, "level", here, levels)
        frames.append(frame.assign(note=note))
    return pd.concat(frames, ignore_index=True)


def _agreements(votes: LongVotes, measure: str) -> pd.DataFrame:
    label = votes.others if measure == "agreement" else votes.mode
    compared = votes.others >= 0  # a single vote on a unit cannot be compared
    size = len(votes.raters)
    frames = []
    for number, name in [*enumerate(votes.items), (-1, ALL)]:
        here = compared & ((votes.item == number) | (number < 0))
        who, there = votes.rater[here], np.unique(votes.rater[here])
        kappas = np.full(size, np.nan)
        pair = votes.place[here][None], label[here][None]
        sums = sum_by_cluster(*pair, np.searchsorted(there, who))
        kappas[there] = kappa_from_sums(sums)[:, 0]
        frames.append(_frame(votes, name, measure, here, kappas))
    frame = pd.concat(frames, ignore_index=True)
    why = "no other votes on the same units, or one rating only: no kappa"
    return frame.assign(note=np.where(frame["estimate"].isna(), why, ""))


def _frame(
    votes: LongVotes, item: str, measure: str, here: NDArray[np.bool_], estimate: Matrix
) -> pd.DataFrame:
    columns = {
        "rater": votes.raters,
        "item": item,
        "measure": measure,
        "n": np.bincount(votes.rater[here], minlength=len(votes.raters)),
        "estimate": estimate,
    }
    return pd.DataFrame(columns)


_HEAD = ["rater", "measure", "n", "estimate", "low", "high", "p", "note"]

Found = tuple[int, float, float, float, float, str]


def rater_profiles(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Describe how each rater rates.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating, optionally submitted_at.
    categories
        The whole scale in its order.
    resamples, seed
        Of the bootstraps.

    Returns
    -------
    DataFrame
        rater, measure, n, estimate, low, high, p, note, with the measures

        - ``severity``: mean of the rater's rating less the mean rating of the others on the
          same unit and item; negative is severe. Interval and p with units as clusters, p
          adjusted by Holm over raters.
        - ``spread``: standard deviation of all ratings, interval by a bootstrap over units.
        - ``straight_lining``: share of units with three or more answers that are all equal, with
          Wilson's interval (doi:10.1080/01621459.1927.10502953).
        - ``favourite_share``: share of the most used category.
        - ``seconds``: median time from one unit to the next, interval from order statistics.
        - ``agreement``: quadratic kappa against the mode of the others, all items together.

    Examples
    --------
    The third rater gives one step less than the others:

    >>> ratings = pd.DataFrame({"unit": list("stuv") * 3, "rater": np.repeat(list("abc"), 4)})
    >>> ratings = ratings.assign(item="trust", rating=[3, 4, 5, 5] * 2 + [2, 3, 4, 4])
    >>> found = rater_profiles(ratings)
    >>> found[found["measure"] == "severity"][["rater", "measure", "n", "estimate"]]
       rater   measure  n  estimate
    0      a  severity  4       0.5
    6      b  severity  4       0.5
    12     c  severity  4      -1.0
    """
    votes = read_votes(ratings, categories)
    seconds = _seconds(ratings, votes)
    rows = []
    for number, rater in enumerate(votes.raters):
        own = votes.codes[:, number, :]
        measures: dict[str, Found] = {
            "severity": _severity(votes, number),
            "spread": _spread(own, votes.categories, resamples, seed),
            "straight_lining": _straight_lining(own),
            "favourite_share": _favourite(own, len(categories)),
            "seconds": _median(seconds.get(rater, np.empty(0))),
        }
        rows += [(rater, name, *found) for name, found in measures.items()]
    profiles = pd.DataFrame(rows, columns=_HEAD)
    severe = profiles["measure"] == "severity"
    profiles.loc[severe, "p"] = holm(profiles.loc[severe, "p"])
    kappas = agreement_with_mode(ratings, categories=categories, resamples=resamples, seed=seed)
    wanted = (kappas["label"] == "leave_one_out") & (kappas["rater"] != MEAN)
    if len(votes.items) > 1:
        wanted &= kappas["item"] == ALL
    agreement = kappas[wanted].assign(measure="agreement", p=np.nan)[_HEAD]
    frames = [frame for frame in (profiles, agreement) if len(frame)]
    joined = pd.concat(frames, ignore_index=True) if frames else profiles
    return joined.sort_values("rater", kind="stable", ignore_index=True)


def _severity(votes: Votes, number: int) -> Found:
    given = votes.codes >= 0
    scale = np.append(np.asarray(votes.categories, np.float64), 0.0)
    own = scale[votes.codes[:, number, :]]
    others = given.sum(1) - given[:, number, :]
    _, unit = both = np.nonzero(given[:, number, :] & (others > 0))
    if not len(unit):
        return 0, np.nan, np.nan, np.nan, np.nan, "no unit was rated by anybody else"
    apart = own[both] - (scale[votes.codes].sum(1) - own)[both] / others[both]
    row = contrast_row(clustered_mean(apart, unit))
    note = "" if np.ptp(unit) else "no interval from one unit"
    numbers = [float(str(row[name])) for name in ("estimate", "low", "high", "p")]
    return len(apart), numbers[0], numbers[1], numbers[2], numbers[3], note


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
        return n, estimate, np.nan, np.nan, np.nan, "no interval from one unit"
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
        return 0, np.nan, np.nan, np.nan, np.nan, "no unit with three answers"
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
    """Seconds from each unit to the next, in the order of submission."""
    if "submitted_at" not in ratings:
        return {}
    timed = ratings.dropna(subset=["submitted_at", "rating"])
    when = pd.to_datetime(timed["submitted_at"], utc=True, errors="coerce")
    last = timed.assign(when=when).dropna(subset=["when"])
    ends = last.groupby(["rater", "unit"])["when"].max()
    known = set(votes.raters)
    return {
        rater: np.diff(np.sort(times.to_numpy("datetime64[us]"))).astype(np.float64) / 1e6
        for rater, times in ends.groupby(level=0)
        if rater in known
    }


def _median(gaps: Matrix) -> Found:
    n = len(gaps)
    if n == 0:
        return 0, np.nan, np.nan, np.nan, np.nan, "no times of two units"
    ends: Any = quantile_test(gaps, p=0.5).confidence_interval()
    note = "too few units for an interval" if np.isnan(ends.low) else ""
    return n, float(np.median(gaps)), float(ends.low), float(ends.high), np.nan, note


@dataclass(frozen=True)
class _Rule:
    """Stands out if away from the others by 3.5 robust standard deviations and by ``least``."""

    measure: str
    side: int  # -1 below, 1 above, 0 either
    least: float
    text: Callable[[float, float], str]


_RULES = (
    _Rule("severity", 0, 0.5, lambda own, _: f"rates {abs(own):.2f} steps "
          f"{'lower' if own < 0 else 'higher'} than others on the same units"),
    _Rule("spread", -1, 0.25, lambda own, usual:
          f"hardly varies: standard deviation {own:.2f} against {usual:.2f}"),
    _Rule("straight_lining", 1, 0.2, lambda own, usual:
          f"gives all items the same rating on {own:.0%} of units against {usual:.0%}"),
    _Rule("favourite_share", 1, 0.2, lambda own, usual:
          f"gives one and the same rating in {own:.0%} of cases against {usual:.0%}"),
    _Rule("agreement", -1, 0.15, lambda own, usual:
          f"agrees less with the mode of the others: kappa {own:.2f} against {usual:.2f}"),
)  # fmt: skip


def raters_to_look_at(profiles: pd.DataFrame) -> pd.DataFrame:
    """Name the raters whose profile stands out, with the reason.

    A rater with at least ten ratings is compared with the median of the others (at least three of
    them, with as many): more than 3.5
    robust standard deviations away (1.4826 times the median absolute deviation; Leys et al. 2013,
    doi:10.1016/j.jesp.2013.03.013) and far enough to matter. Twice as fast as the median of the
    others is too fast (Leiner 2019, doi:10.18148/srm/2019.v13i3.7403). An agreement whose interval
    contains 0, from 30 ratings or more, is named if that of most raters does not: where hardly
    anybody agrees, that is a finding about the study and not about single raters. To be named is a
    reason to look, not to exclude.

    Parameters
    ----------
    profiles
        The result of :func:`rater_profiles`.

    Returns
    -------
    DataFrame
        rater, measure, n, estimate, usual (median of the others), reason.

    Examples
    --------
    >>> profiles = pd.DataFrame({"rater": list("abcd"), "measure": "severity", "n": 40})
    >>> profiles = profiles.assign(estimate=[0.0, 0.1, -0.1, -2.0], low=float("nan"))
    >>> raters_to_look_at(profiles)["reason"].item()
    'rates 2.00 steps lower than others on the same units'
    """
    rows = [row for rule in _RULES for row in _outliers(profiles, rule)]
    rows += [*_fast(profiles), *_by_chance(profiles)]
    frame = pd.DataFrame(rows, columns=["rater", "measure", "n", "estimate", "usual", "reason"])
    return frame.sort_values(["rater", "measure"], kind="stable", ignore_index=True)


FEWEST_TO_NAME = 10  # ratings; in fewer anybody may seem strange
Named = tuple[object, str, int, float, float, str]


def _with_usual(
    profiles: pd.DataFrame, measure: str
) -> Iterator[tuple[object, int, float, Matrix]]:
    """Each rater's value of a measure and those of the others."""
    part = profiles[(profiles["measure"] == measure) & profiles["estimate"].notna()]
    part = part[part["n"] >= FEWEST_TO_NAME]
    values = part["estimate"].to_numpy(np.float64)
    for number, (name, n) in enumerate(zip(part["rater"], part["n"], strict=True)):
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
            reason = f"takes {own:.1f} s for a unit against {usual:.1f} s"
            yield name, "seconds", n, own, usual, reason


def _by_chance(profiles: pd.DataFrame) -> Iterator[Named]:
    enough = profiles[(profiles["measure"] == "agreement") & (profiles["n"] >= 30)]
    part = enough[enough["low"] <= 0]
    if 2 * len(part) > len(enough):
        return
    for name, n, own in zip(part["rater"], part["n"], part["estimate"], strict=True):
        reason = f"is not shown to agree with others beyond chance: kappa {own:.2f}"
        yield name, "agreement", int(n), float(own), np.nan, reason
