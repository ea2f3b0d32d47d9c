"""Annotators: who they are, how they rate, how far they agree, and whom to look at."""

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
from analysis.resampling import Codes, Matrix, cluster_counts, holm, percentile_interval
from analysis.votes import ALL, LIKERT, MEAN, LongVotes, Votes, long_votes, read_votes

FACTORS = ("sex", "age_group", "country")
AGE_EDGES = (25, 30, 40, 50, 60)
AGE_GROUPS = ("under 25", "25-29", "30-39", "40-49", "50-59", "60 and over")


def demographics(
    annotators: pd.DataFrame | None, annotator_ids: Sequence[str] | pd.Index[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Age, age group, sex and country of these annotators, and what is missing about each factor.

    Text is trimmed, and sex is compared without capitals. An age that is no number (or not from 0
    to 130) counts as not stated. Nobody is guessed.

    Returns
    -------
    A frame with annotator_id, age, age_group, sex, country, in the given order; and for each
    factor (age, age_group, sex, country) a note, empty if nothing is missing.
    """
    known = pd.DataFrame({"annotator_id": pd.Index(annotator_ids)})
    given = annotators
    if given is None or "annotator_id" not in given:
        given = pd.DataFrame({"annotator_id": []})
    given = given.drop_duplicates("annotator_id").set_index("annotator_id")
    given = given.reindex(pd.Index(annotator_ids))
    notes: dict[str, str] = {}
    for name in ("sex", "country"):
        known[name], notes[name] = _text(given, name)
    known["age"], notes["age"] = _ages(given)
    edges = [-np.inf, *AGE_EDGES, np.inf]
    groups = pd.cut(known["age"], edges, right=False, labels=list(AGE_GROUPS)).astype(object)
    known["age_group"] = groups.where(groups.notna(), None)
    notes["age_group"] = notes["age"]
    return known[["annotator_id", "age", *FACTORS]], notes


def _text(given: pd.DataFrame, name: str) -> tuple[list[str | None], str]:
    if name not in given:
        return [None] * len(given), f"{name} is not in the annotators table"
    tidy = [None if pd.isna(value) else str(value).strip() for value in given[name]]
    values = [(value.casefold() if name == "sex" else value) if value else None for value in tidy]
    return values, _missing(sum(value is None for value in values), len(values), name)


def _ages(given: pd.DataFrame) -> tuple[np.ndarray, str]:
    if "age" not in given:
        return np.full(len(given), np.nan), "age is not in the annotators table"
    numbers = pd.to_numeric(given["age"].astype(object), errors="coerce")
    ages = numbers.to_numpy(np.float64, na_value=np.nan)
    ages = np.where((ages >= 0) & (ages <= 130), ages, np.nan)
    stated = given["age"].notna().to_numpy()
    strange = stated & np.isnan(ages)
    note = _missing(int((~stated).sum()), len(ages), "age")
    if strange.any():
        example = given["age"].to_numpy(object)[strange][0]
        text = f"{strange.sum()} ages are no number of years (such as {str(example)!r})"
        note = f"{note}; {text}" if note else text
    return ages, note


def _missing(number: int, of: int, name: str) -> str:
    if not number:
        return ""
    return f"no annotator stated {name}" if number == of else f"{number} of {of} without {name}"


MEASURES = ("level", "agreement", "agreement_published")


def annotator_values(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> pd.DataFrame:
    r"""Level and agreement of every annotator, per question and over all questions.

    ``level`` is the annotator's mean rating, adjusted for which samples were seen: the
    least-squares effect :math:`\alpha_a` of

    .. math:: r_{ascq} = \mu_{sq} + \alpha_a + \epsilon

    plus the mean of all votes. Without shared samples that link all annotators it is the plain
    mean, and the note says so. ``agreement`` is the quadratic kappa with the mode of the *other*
    annotators' votes (the smallest star on ties), ``agreement_published`` with the mode that
    contains the annotator's own vote, as in doi:10.48550/arXiv.2411.02470.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame with annotator_id, question (or "all"), measure, n (votes), estimate, note
    """
    votes = long_votes(ratings, categories)
    frames = [_levels(votes)] + [_agreements(votes, measure) for measure in MEASURES[1:]]
    columns = ["annotator_id", "question", "measure", "n", "estimate", "note"]
    return pd.concat(frames, ignore_index=True)[columns]


def adjusted_levels(cell: Codes, annotator: Codes, rating: Codes, n: int) -> tuple[Matrix, str]:
    """Adjusted mean rating of each of ``n`` annotators (missing if without vote), and a note."""
    plain = np.full(n, np.nan)
    number = np.bincount(annotator, minlength=n)
    seen = number > 0
    plain[seen] = np.bincount(annotator, rating, n)[seen] / number[seen]
    cells = pd.factorize(cell)[0]
    size = np.bincount(cells)
    if not len(size):
        return plain, "no votes"
    shape = (len(size), n)
    share = 1 / np.sqrt(size[cells])  # so that the product divides by the votes of the cell
    shown = sparse.csr_array((share, (cells, annotator)), shape=shape)
    overlap = np.asarray((shown.T @ shown).todense())
    parts, labels = csgraph.connected_components(sparse.csr_array(overlap), directed=False)
    if parts > 1 and len(np.unique(labels[seen])) > 1:
        return plain, "no samples in common that link all annotators: plain means"
    means = np.bincount(cells, rating) / size
    right = np.bincount(annotator, rating - means[cells], n)
    effects = np.linalg.lstsq(np.diag(number) - overlap, right, rcond=None)[0]
    effects -= effects[seen].mean()
    levels = np.full(n, np.nan)
    # rounded, or equal annotators would differ by the last bit, and that spread be tested
    levels[seen] = np.round(effects[seen] + (rating - effects[annotator]).mean(), 12)
    return levels, ""


def _levels(votes: LongVotes) -> pd.DataFrame:
    frames = []
    for number, name in [*enumerate(votes.questions), (-1, ALL)]:
        here = (votes.question == number) | (number < 0)
        levels, note = adjusted_levels(
            votes.cell[here], votes.annotator[here], votes.rating[here], len(votes.annotators)
        )
        frame = _frame(votes, name, "level", here, levels)
        frames.append(frame.assign(note=note))
    return pd.concat(frames, ignore_index=True)


def _agreements(votes: LongVotes, measure: str) -> pd.DataFrame:
    label = votes.others if measure == "agreement" else votes.mode
    compared = votes.others >= 0  # a vote that is alone agrees with nobody
    size = len(votes.annotators)
    frames = []
    for number, name in [*enumerate(votes.questions), (-1, ALL)]:
        here = compared & ((votes.question == number) | (number < 0))
        who, there = votes.annotator[here], np.unique(votes.annotator[here])
        kappas = np.full(size, np.nan)
        pair = votes.place[here][None], label[here][None]
        sums = sum_by_cluster(*pair, np.searchsorted(there, who))
        kappas[there] = kappa_from_sums(sums)[:, 0]
        frames.append(_frame(votes, name, measure, here, kappas))
    frame = pd.concat(frames, ignore_index=True)
    why = "no other votes on the same samples, or one star only: no kappa"
    return frame.assign(note=np.where(frame["estimate"].isna(), why, ""))


def _frame(
    votes: LongVotes, question: str, measure: str, here: NDArray[np.bool_], estimate: Matrix
) -> pd.DataFrame:
    columns = {
        "annotator_id": votes.annotators,
        "question": question,
        "measure": measure,
        "n": np.bincount(votes.annotator[here], minlength=len(votes.annotators)),
        "estimate": estimate,
    }
    return pd.DataFrame(columns)


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
    wanted = (kappas["label"] == "leave_one_out") & (kappas["annotator_id"] != MEAN)
    if len(votes.questions) > 1:
        wanted &= kappas["question"] == ALL
    agreement = kappas[wanted].assign(measure="agreement", p=np.nan)[_HEAD]
    frames = [frame for frame in (profiles, agreement) if len(frame)]
    joined = pd.concat(frames, ignore_index=True) if frames else profiles
    return joined.sort_values("annotator_id", kind="stable", ignore_index=True)


def _severity(votes: Votes, number: int) -> Found:
    given = votes.codes >= 0
    scale = np.append(np.asarray(votes.categories, np.float64), 0.0)
    own = scale[votes.codes[:, number, :]]
    others = given.sum(1) - given[:, number, :]
    _, sample = both = np.nonzero(given[:, number, :] & (others > 0))
    if not len(sample):
        return 0, np.nan, np.nan, np.nan, np.nan, "no sample was rated by anybody else"
    apart = own[both] - (scale[votes.codes].sum(1) - own)[both] / others[both]
    row = contrast_row(clustered_mean(apart, sample))
    note = "" if np.ptp(sample) else "no interval from one sample"
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
    ends: Any = quantile_test(gaps, p=0.5).confidence_interval()
    note = "too few samples for an interval" if np.isnan(ends.low) else ""
    return n, float(np.median(gaps)), float(ends.low), float(ends.high), np.nan, note


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
