"""Fleiss' kappa, Krippendorff's alpha and intraclass correlations: agreement of many raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import fdtrc, fdtri, ndtr

from analysis.kappa import LIKERT, category_codes
from analysis.resampling import (
    Matrix,
    cluster_codes,
    cluster_counts,
    cluster_sums,
    notes,
    percentile_interval,
)


def fleiss_kappa(
    ratings: ArrayLike,
    categories: Sequence[int] = LIKERT,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Fleiss' kappa with a bootstrap interval over subjects.

    .. math::

        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        \bar P = \frac{1}{N} \sum_i \frac{\sum_j n_{ij} (n_{ij} - 1)}{n_i (n_i - 1)}, \quad
        \bar P_e = \sum_j \Big( \frac{1}{N} \sum_i \frac{n_{ij}}{n_i} \Big)^2

    With the same number of ratings for every subject this is Fleiss' formula; with different
    numbers every subject counts the same. Subjects with fewer than two ratings are left out.

    Parameters
    ----------
    ratings
        Subjects in rows, raters in columns, NaN for a missing rating.
    categories
        The whole scale. The order does not matter and unused categories change nothing.
    clusters
        What is resampled as a whole, one entry for each subject.

    Returns
    -------
    DataFrame
        One row: n (subjects), estimate, low, high, z, p, note. z and p test "no agreement beyond
        chance" and need the same number of ratings for every subject.

    References
    ----------
    Fleiss 1971, doi:10.1037/h0031619; the test: Fleiss, Nee & Landis 1979,
    doi:10.1037/0033-2909.86.5.974
    """
    codes = category_codes(np.atleast_2d(np.asarray(ratings, np.float64)), categories)
    counts = (codes[:, :, None] == np.arange(len(categories))).sum(1).astype(np.float64)
    groups = cluster_codes(clusters, len(counts))
    rated = counts.sum(1)
    used = rated >= 2
    left_out = f"{(~used).sum()} subjects with fewer than two ratings left out"
    remarks = [] if used.all() else [left_out]
    counts, rated = counts[used], rated[used]
    row = dict.fromkeys(("estimate", "low", "high", "z", "p"), np.nan)
    if not len(counts):
        remarks.append("no subject has two ratings")
    else:
        alike = (counts * (counts - 1)).sum(1) / (rated * (rated - 1))
        features = np.column_stack([np.ones(len(counts)), alike, counts / rated[:, None]])
        row["estimate"] = float(_kappa(features.sum(0)))
        if np.isnan(row["estimate"]):
            remarks.append("all ratings are in one category")
        elif len(np.unique(groups[used])) < 2:
            remarks.append("no interval from fewer than two clusters")
        else:
            sums = cluster_sums(features, np.unique(groups[used], return_inverse=True)[1])
            draws = [_kappa(drawn @ sums) for drawn in cluster_counts(len(sums), resamples, seed)]
            low, high = percentile_interval(np.concatenate(draws)[:, None], level)
            row["low"], row["high"] = float(low[0]), float(high[0])
        if len(np.unique(rated)) == 1:
            row["z"], row["p"] = _test(row["estimate"], counts, rated[0])
        else:
            remarks.append("no test: the subjects have different numbers of ratings")
    return pd.DataFrame([{"n": len(counts), **row, "note": notes(remarks)}])


def _kappa(sums: Matrix) -> Matrix:
    """Kappa from the summed columns: subjects, agreement, share of each category."""
    n = sums[..., 0]
    chance = ((sums[..., 2:] / n[..., None]) ** 2).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        room = np.where(np.isclose(chance, 1, rtol=0, atol=1e-12), np.nan, 1 - chance)
        return np.asarray((sums[..., 1] / n - chance) / room)


def _test(kappa: float, counts: Matrix, raters: float) -> tuple[float, float]:
    if np.isnan(kappa):
        return np.nan, np.nan
    share = counts.sum(0) / counts.sum()
    rest = share * (1 - share)
    total = rest.sum()
    variance = 2 * (total**2 - (rest * (1 - 2 * share)).sum())
    variance /= total**2 * len(counts) * raters * (raters - 1)
    z = kappa / np.sqrt(variance)
    return float(z), float(2 * ndtr(-abs(z)))


Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(
    ratings: ArrayLike,
    level: Level = "ordinal",
    categories: Sequence[float] | None = None,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Krippendorff's alpha with a bootstrap interval over units.

    .. math::

        \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck}\, \delta^2_{ck}}
                                  {\sum_{ck} n_c n_k\, \delta^2_{ck}}, \quad
        o_{ck} = \sum_u \frac{n_{uc} (n_{uk} - [c = k])}{m_u - 1}

    For ordinal data :math:`\delta_{ck}` counts the ratings between two categories, from the
    ratings at hand; in a resample, from those of the resample. Categories that nobody used change
    nothing. Units with fewer than two ratings are left out.

    Parameters
    ----------
    ratings
        Raters in rows, units in columns, NaN for a missing rating.
    level
        "nominal", "ordinal", "interval" or "ratio" (ratio: no negative ratings).
    categories
        The scale, if ratings outside of it are an error.
    clusters
        What is resampled as a whole, one entry for each unit.

    Returns
    -------
    DataFrame
        One row: level, n (units with two ratings or more), ratings, estimate, low, high, note.

    References
    ----------
    Hayes & Krippendorff 2007, doi:10.1080/19312450709336664; the bootstrap over units: Zapf,
    Castell, Morawietz & Karch 2016, doi:10.1186/s12874-016-0200-9
    """
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}, not {level!r}")
    matrix = np.atleast_2d(np.asarray(ratings, np.float64))
    scale = np.unique(matrix[np.isfinite(matrix)]) if categories is None else np.array(categories)
    codes = category_codes(matrix, scale.tolist())
    counts = (codes[:, :, None] == np.arange(len(scale))).sum(0).astype(np.float64)
    groups = cluster_codes(clusters, len(counts))
    used = counts.sum(1) >= 2
    left_out = f"{(~used).sum()} units with fewer than two ratings left out"
    remarks = [] if used.all() else [left_out]
    counts = counts[used]
    estimate = low = high = np.nan
    if not len(counts):
        remarks.append("no unit has two ratings")
    else:
        pairs = _coincidences(counts)
        estimate = float(_alpha(pairs.sum(0), scale, level))
        if np.isnan(estimate):
            remarks.append("all ratings are equal")
        elif len(np.unique(groups[used])) < 2:
            remarks.append("no interval from fewer than two clusters")
        else:
            sums = cluster_sums(pairs, np.unique(groups[used], return_inverse=True)[1])
            draws = [
                _alpha(drawn @ sums, scale, level)
                for drawn in cluster_counts(len(sums), resamples, seed)
            ]
            limits = percentile_interval(np.concatenate(draws)[:, None], confidence)
            low, high = (float(limit[0]) for limit in limits)
    row = {
        "level": level,
        "n": len(counts),
        "ratings": int(counts.sum()),
        "estimate": estimate,
        "low": low,
        "high": high,
        "note": notes(remarks),
    }
    return pd.DataFrame([row])


def _coincidences(counts: Matrix) -> Matrix:
    """The coincidence matrix of each unit, flattened."""
    k = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, np.arange(k), np.arange(k)] -= counts
    pairs /= (counts.sum(1) - 1)[:, None, None]
    return pairs.reshape(len(counts), k * k)


def _alpha(pairs: Matrix, scale: Matrix, level: Level) -> Matrix:
    """Alpha of one or many summed coincidence matrices."""
    k = len(scale)
    observed = pairs.reshape(*pairs.shape[:-1], k, k)
    margin = observed.sum(-1)
    distance = _distance(margin, scale, level)
    chance = (margin[..., :, None] * margin[..., None, :] * distance).sum((-1, -2))
    found = (observed * distance).sum((-1, -2))
    n = margin.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (n - 1) * found / np.where(chance > 0, chance, np.nan))


def _distance(margin: Matrix, scale: Matrix, level: Level) -> Matrix:
    """Squared distances between categories; only the ordinal ones depend on the ratings."""
    apart = np.subtract.outer(scale, scale).astype(np.float64)
    match level:
        case "nominal":
            return np.asarray(apart != 0, np.float64)
        case "interval":
            return np.asarray(apart**2, np.float64)
        case "ratio":
            total = np.add.outer(scale, scale).astype(np.float64)
            ratio = np.divide(apart, total, out=np.zeros_like(apart), where=total != 0)
            return np.asarray(ratio**2)
        case "ordinal":
            # The ratings from one category to another, half of those in the two themselves, are
            # the difference of the middle ranks.
            middle = margin.cumsum(-1) - margin / 2
            return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)


FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")


def icc(ratings: ArrayLike, *, level: float = 0.95) -> pd.DataFrame:
    r"""The six intraclass correlations with F-tests and exact or approximate intervals.

    With the mean squares of targets (B), raters (J), residual (E) and within targets (W), for
    :math:`n` targets and :math:`k` raters,

    .. math::

        ICC_1 = \frac{B - W}{B + (k-1) W}, \quad
        ICC_2 = \frac{B - E}{B + (k-1) E + k (J - E) / n}, \quad
        ICC_3 = \frac{B - E}{B + (k-1) E}

    and the same for the mean of :math:`k` raters: :math:`(B-W)/B`,
    :math:`(B-E)/(B+(J-E)/n)`, :math:`(B-E)/B`.

    ICC1: every target has its own raters. ICC2: the same raters, a sample of all raters; a severe
    rater lowers it. ICC3: exactly these raters, only their order of the targets counts.

    When ratings are missing, ICC1 uses all targets with two ratings or more and the average number
    of ratings of Donner (its interval is approximate then); ICC2 and ICC3 use the targets that all
    raters rated, if there are any.

    Parameters
    ----------
    ratings
        Targets in rows, raters in columns, NaN for a missing rating.

    Returns
    -------
    DataFrame
        One row for each form: form, n (targets), raters, estimate, low, high, f, df1, df2, p, note.

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; unequal numbers of ratings: Donner 1986,
    doi:10.2307/1403259
    """
    matrix = np.atleast_2d(np.asarray(ratings, np.float64))
    tail = (1 + level) / 2
    some = matrix[np.isfinite(matrix).sum(1) >= 2]
    every = matrix[np.isfinite(matrix).all(1)] if matrix.shape[1] >= 2 else matrix[:0]
    one_way = _one_way(some, tail)
    two_way = _two_way(every, tail, len(matrix) - len(every))
    rows = {row["form"]: row for row in (*one_way, *two_way)}
    return pd.DataFrame([rows[form] for form in FORMS])


class _Form(NamedTuple):
    """A form for one rater; that for the mean of raters is a transformation of it."""

    name: str
    n: int
    raters: float
    estimate: float
    low: float
    high: float
    f: float
    df1: float
    df2: float
    note: str

    def rows(self) -> list[dict[str, object]]:
        p = float(fdtrc(self.df1, self.df2, self.f)) if np.isfinite(self.f) else np.nan
        shared = {"f": self.f, "df1": self.df1, "df2": self.df2, "p": p, "note": self.note}
        head = {"n": self.n, "raters": self.raters}
        single = (self.estimate, self.low, self.high)
        mean = tuple(_of_the_mean(value, self.raters) for value in single)
        return [
            {"form": name, **head, "estimate": value[0], "low": value[1], "high": value[2]} | shared
            for name, value in ((self.name, single), (f"{self.name}k", mean))
        ]


def _of_the_mean(single: float, raters: float) -> float:
    """Spearman and Brown: the reliability of the mean of several raters."""
    below = 1 + (raters - 1) * single
    return raters * single / below if below > 0 else np.nan


def _missing(names: tuple[str, ...], n: int, raters: float, why: str) -> list[dict[str, object]]:
    nan = np.nan
    lost = _Form("", n, raters, nan, nan, nan, nan, nan, nan, why)
    return [row for name in names for row in lost._replace(name=name).rows()]


def _one_way(matrix: Matrix, tail: float) -> list[dict[str, object]]:
    present = np.isfinite(matrix)
    each = present.sum(1)
    n, total = len(matrix), int(each.sum())
    if n < 2:
        return _missing(("ICC1",), n, np.nan, "fewer than two targets have two ratings")
    filled = np.where(present, matrix, 0.0)
    means = filled.sum(1) / each
    within = (np.where(present, matrix - means[:, None], 0.0) ** 2).sum() / (total - n)
    between = (each * (means - filled.sum() / total) ** 2).sum() / (n - 1)
    k = float((total - (each**2).sum() / total) / (n - 1))
    if within + between == 0:
        return _missing(("ICC1",), n, k, "all ratings are equal")
    note = "" if (each == each[0]).all() else f"unequal numbers of ratings, {k:.2f} on average"
    df1, df2 = n - 1, total - n
    with np.errstate(divide="ignore"):
        f = float(np.divide(between, within))
    low = _from_f(f / float(fdtri(df1, df2, tail)), k)
    high = _from_f(f * float(fdtri(df2, df1, tail)), k)
    return _Form("ICC1", n, k, _from_f(f, k), low, high, f, df1, df2, note).rows()


def _from_f(f: float, k: float) -> float:
    return 1.0 if np.isinf(f) else (f - 1) / (f + k - 1)


def _two_way(matrix: Matrix, tail: float, lost: int) -> list[dict[str, object]]:
    n, k = matrix.shape
    note = f"{lost} targets without a rating of every rater left out" if lost else ""
    if n < 2:
        why = "fewer than two targets have a rating of every rater"
        return _missing(("ICC2", "ICC3"), n, k, why)
    grand = matrix.mean()
    rows, columns = matrix.mean(1), matrix.mean(0)
    between = k * ((rows - grand) ** 2).sum() / (n - 1)
    judges = n * ((columns - grand) ** 2).sum() / (k - 1)
    df1, df2 = n - 1, (n - 1) * (k - 1)
    error = ((matrix - rows[:, None] - columns + grand) ** 2).sum() / df2
    if np.isclose(between + error, 0, atol=1e-12):
        return _missing(("ICC2", "ICC3"), n, k, "every rater gives all targets the same rating")
    with np.errstate(divide="ignore"):
        f = float(np.divide(between, error)) if error > 1e-12 * between else np.inf
    third = _Form(
        "ICC3",
        n,
        k,
        _from_f(f, k),
        _from_f(f / float(fdtri(df1, df2, tail)), k),
        _from_f(f * float(fdtri(df2, df1, tail)), k),
        f,
        df1,
        df2,
        note,
    )
    estimate = (between - error) / (between + (k - 1) * error + k * (judges - error) / n)
    low, high = _limits_of_icc2(estimate, between, judges, error, n, k, tail)
    second = third._replace(name="ICC2", estimate=float(estimate), low=low, high=high)
    return second.rows() + third.rows()


def _limits_of_icc2(
    estimate: float, between: float, judges: float, error: float, n: int, k: int, tail: float
) -> tuple[float, float]:
    """Shrout and Fleiss' interval with Satterthwaite's degrees of freedom."""
    if error <= 1e-12 * between:  # the raters differ by a constant at most: no approximation holds
        return np.nan, np.nan
    ratio = judges / error
    shift = n * (1 + (k - 1) * estimate) - k * estimate
    above = (k - 1) * (n - 1) * (k * estimate * ratio + shift) ** 2
    below = (n - 1) * k**2 * estimate**2 * ratio**2 + shift**2
    freedom = above / below
    upper, lower = fdtri(n - 1, freedom, tail), fdtri(freedom, n - 1, tail)
    spread = k * judges + (k * n - k - n) * error
    low = n * (between - upper * error) / (upper * spread + n * between)
    high = n * (lower * between - error) / (spread + n * lower * between)
    return float(low), float(high)
