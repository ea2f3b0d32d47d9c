r"""Straight lines: slopes of clustered rows, tests against a given line and between groups, Deming.

Errors of the coefficients allow for one or two kinds of clusters, such as the unit that was rated
and who rated it (Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136), as statsmodels has
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis.resampling import LEVEL, Matrix, cluster_codes, notes

Vector = NDArray[np.float64]
Clusters = Sequence[ArrayLike]

_COLUMNS = ("estimate", "error", "low", "high", "p")
_FEW = 3  # rows, or clusters of a kind, below which there is no line


def fit_line(x: ArrayLike, y: ArrayLike, *, clusters: Clusters = ()) -> pd.DataFrame:
    r"""Fit :math:`y = a + b x` by least squares, with errors that allow for clusters.

    Parameters
    ----------
    x, y
        One number for each row; rows with a missing one are left out.
    clusters
        None, one or two kinds of clusters, each with one entry for a row. Without, rows are
        independent.

    Returns
    -------
    DataFrame
        Rows ``intercept`` and ``slope``: term, n, estimate, error, low, high, p (of no effect),
        note. t has one degree of freedom less than the smaller number of clusters.

    Examples
    --------
    >>> fit_line([0, 1, 2, 3], [1, 2, 2, 3])[["term", "n", "estimate", "p"]].round(3)
            term  n  estimate      p
    0  intercept  4       1.1  0.053
    1      slope  4       0.6  0.051
    """
    one, other, codes = _complete(x, y, clusters)
    reason = _why_not(one, codes)
    if reason:
        return _no_rows(("intercept", "slope"), len(one), reason)
    result = _fit(other, sm.add_constant(one), codes)
    return _coefficients(result, ("intercept", "slope"), len(one))


def line_test(
    x: ArrayLike,
    y: ArrayLike,
    *,
    slope: float = 1.0,
    intercept: float = 0.0,
    clusters: Clusters = (),
) -> pd.DataFrame:
    r"""Test a fitted line against a given one: both coefficients together, and each alone.

    The joint test is Wald's, an F test of :math:`a = a_0` and :math:`b = b_0`: with one of them
    alone, a line with the right slope in the wrong place would pass.

    Parameters
    ----------
    x, y, clusters
        As of :func:`fit_line`.
    slope, intercept
        Of the given line.

    Returns
    -------
    DataFrame
        Rows ``both``, ``slope`` and ``intercept``: term, n, statistic (F), df, df_rest, p, note.

    Examples
    --------
    >>> line_test([0, 1, 2, 3], [1, 2, 2, 3])[["term", "statistic", "p"]].round(3)
            term  statistic      p
    0       both      9.000  0.100
    1      slope      8.000  0.106
    2  intercept     17.286  0.053
    """
    one, other, codes = _complete(x, y, clusters)
    terms = ("both", "slope", "intercept")
    reason = _why_not(one, codes)
    if reason:
        return _no_tests(terms, len(one), reason)
    result = _fit(other, sm.add_constant(one), codes)
    wanted = {
        "both": (np.eye(2), np.array([intercept, slope])),
        "slope": (np.array([[0.0, 1.0]]), np.array([slope])),
        "intercept": (np.array([[1.0, 0.0]]), np.array([intercept])),
    }
    rows = [_tested(result, *wanted[term]) for term in terms]
    return pd.DataFrame(rows).assign(term=terms, n=len(one), note="")[list(_TESTED)]


def compare_lines(
    x: ArrayLike, y: ArrayLike, groups: ArrayLike, *, clusters: Clusters = ()
) -> pd.DataFrame:
    r"""Test whether groups of rows have lines of the same slope, and the same line.

    The homogeneity of slopes of an analysis of covariance: :math:`y = a_g + b_g x`, an F test of
    equal :math:`b_g`; and of equal :math:`a_g` and :math:`b_g` together.

    Parameters
    ----------
    x, y, clusters
        As of :func:`fit_line`.
    groups
        The group of each row.

    Returns
    -------
    DataFrame
        Rows ``slopes`` and ``lines``: term, n, statistic (F), df, df_rest, p, note.

    Examples
    --------
    >>> x, y = [0, 1, 2, 3] * 2, [0, 1, 2, 3.1, 3, 2, 1.1, 0]
    >>> compare_lines(x, y, list("aaaabbbb"))[["term", "df", "p"]].round(4)
         term   df    p
    0  slopes  1.0  0.0
    1   lines  2.0  0.0
    """
    named = np.asarray(groups)
    used = ~pd.isna(named)
    one, other, codes = _complete(x, y, [*clusters, named], used)
    labels = codes.pop()
    count = int(labels.max(initial=-1)) + 1
    reason = _why_not(one, codes) or ("fewer than two groups" if count < 2 else "")
    for group in range(count if not reason else 0):
        reason = reason or _why_not(one[labels == group], [])
    if reason:
        return _no_tests(("slopes", "lines"), len(one), reason)
    dummies = np.eye(count)[labels][:, 1:]
    design = np.column_stack([np.ones(len(one)), one, dummies, dummies * one[:, None]])
    result = _fit(other, design, codes)
    more = count - 1
    equal = np.eye(2 + 2 * more)[2:]
    rows = [
        _tested(result, equal[more:], np.zeros(more)),
        _tested(result, equal, np.zeros(2 * more)),
    ]
    terms = ("slopes", "lines")
    return pd.DataFrame(rows).assign(term=terms, n=len(one), note="")[list(_TESTED)]


def deming(
    x: ArrayLike, y: ArrayLike, *, ratio: float = 1.0, clusters: ArrayLike | None = None
) -> pd.DataFrame:
    r"""Fit a line where both variables are measured with error.

    Least squares takes x as exact and so makes the slope too flat. With :math:`\lambda` the
    variance of the errors of y over that of the errors of x,

    .. math:: b = \frac{s_{yy} - \lambda s_{xx}
                        + \sqrt{(s_{yy} - \lambda s_{xx})^2 + 4 \lambda s_{xy}^2}}{2 s_{xy}}

    The interval is that of a jackknife over clusters.

    Parameters
    ----------
    x, y
        One number for each row; rows with a missing one are left out.
    ratio
        :math:`\lambda`; with 1 the distance to the line counts.
    clusters
        One entry for each row; None: rows are left out one by one.

    Returns
    -------
    DataFrame
        Rows ``intercept`` and ``slope``: term, n, estimate, error, low, high, p (of no effect),
        note.

    References
    ----------
    Linnet 1993, doi:10.1093/clinchem/39.3.424

    Examples
    --------
    >>> deming([0, 1, 2, 3], [1, 2, 2, 3])[["term", "estimate"]].round(3)
            term  estimate
    0  intercept     1.073
    1      slope     0.618
    """
    one, other, codes = _complete(x, y, [] if clusters is None else [clusters])
    terms = ("intercept", "slope")
    reason = _why_not(one, codes)
    if not reason and abs(np.cov(one, other)[0, 1]) == 0:
        reason = "the variables do not go together: no line"
    if reason:
        return _no_rows(terms, len(one), reason)
    groups = codes[0] if codes else np.arange(len(one))
    count = int(groups.max()) + 1
    found = _deming(one, other, ratio)
    without = np.array(
        [_deming(one[groups != group], other[groups != group], ratio) for group in range(count)]
    )
    spread = without - without.mean(0)
    error = np.sqrt((count - 1) / count * (spread**2).sum(0))
    reach = stdtrit(count - 1, (1 + LEVEL) / 2) * error
    rows = pd.DataFrame({"term": terms, "n": len(one), "estimate": found, "error": error})
    rows["low"], rows["high"], rows["p"], rows["note"] = found - reach, found + reach, np.nan, ""
    return rows


def split_and_interaction(
    x: ArrayLike, y: ArrayLike, moderator: ArrayLike, *, clusters: Clusters = ()
) -> pd.DataFrame:
    r"""Say how a slope changes with a moderator: split at its median, and as a continuous change.

    A split throws away how far a row is from the median and calls its two halves groups; the
    interaction :math:`y = a + b x + c z + d x z` keeps it (z in standard deviations).

    Parameters
    ----------
    x, y, clusters
        As of :func:`fit_line`.
    moderator
        One number for each row; the upper half is what is above its median.

    Returns
    -------
    DataFrame
        Rows ``slope below``, ``slope above``, ``difference`` (of the split) and ``interaction``
        (the change of the slope for a standard deviation of the moderator): term, n, estimate,
        error, low, high, p, note.

    References
    ----------
    MacCallum et al. 2002, doi:10.1037/1082-989X.7.1.19

    Examples
    --------
    >>> x, z = [0, 1, 2, 3] * 2, [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = split_and_interaction(x, [0, 1, 2, 3.1, 0, 2, 4.1, 6], z)
    >>> found[["term", "n", "estimate"]].round(2)
              term  n  estimate
    0  slope below  4      1.03
    1  slope above  4      2.01
    2   difference  8      0.98
    3  interaction  8      0.52
    """
    third = np.asarray(moderator, np.float64)
    one, other, codes = _complete(x, y, clusters, np.isfinite(third))
    used = (
        np.isfinite(third) & np.isfinite(np.asarray(x, float)) & np.isfinite(np.asarray(y, float))
    )
    third = third[used]
    terms = ("slope below", "slope above", "difference", "interaction")
    reason = _why_not(one, codes) or _why_not(third, [])
    if reason:
        return _no_rows(terms, len(one), reason)
    above = third > np.median(third)
    parts = [_part(one, other, codes, half) for half in (~above, above)]
    sizes = [int((~above).sum()), int(above.sum())]
    ones = np.ones(len(one))
    split = np.column_stack([ones, one, above, above * one])
    standard = (third - third.mean()) / third.std(ddof=1)
    smooth = np.column_stack([ones, one, standard, standard * one])
    for design in (split, smooth):
        if len(one) <= 4 or np.linalg.matrix_rank(design) < 4:
            parts.append(dict.fromkeys(_COLUMNS, np.nan))
        else:
            result = _fit(other, design, codes)
            last = _coefficients(result, ("", "", "", "last"), 0).iloc[-1]
            parts.append({name: float(last[name]) for name in _COLUMNS})
    rows = pd.DataFrame([dict(part) for part in parts], columns=list(_COLUMNS))
    why = ["" if np.isfinite(value) else "too few rows" for value in rows["estimate"]]
    return rows.assign(term=terms, n=[*sizes, len(one), len(one)], note=why)[
        ["term", "n", *_COLUMNS, "note"]
    ]


def fit_plane(
    values: pd.DataFrame,
    y: ArrayLike,
    *,
    compare: tuple[str, str] | None = None,
    clusters: Clusters = (),
) -> pd.DataFrame:
    r"""Fit :math:`y = a + \sum_k b_k z_k` with every column in standard deviations.

    Parameters
    ----------
    values
        The columns; rows with a missing number are left out.
    y
        One number for each row.
    compare
        Two columns whose slopes are subtracted: first minus second.
    clusters
        As of :func:`fit_line`.

    Returns
    -------
    DataFrame
        A row for each column, and ``difference``: term, n, estimate, error, low, high, p, note.

    Examples
    --------
    >>> frame = pd.DataFrame({"one": [0, 1, 2, 3, 4, 5], "other": [1, -1, 1, -1, 1, -1]})
    >>> found = fit_plane(frame, [1, 1, 3, 3, 5, 5.1], compare=("one", "other"))
    >>> found[["term", "n", "estimate"]].round(2)
             term  n  estimate
    0         one  6      1.89
    1       other  6      0.54
    2  difference  6      1.36
    """
    other = np.asarray(y, np.float64)
    whole = values.to_numpy(np.float64)
    used = np.isfinite(whole).all(1) & np.isfinite(other)
    whole, other = whole[used], other[used]
    names = [str(name) for name in values.columns]
    terms = [*names, *(["difference"] if compare is not None else [])]
    codes = [cluster_codes(np.asarray(kind)[used], len(other)) for kind in clusters]
    reason = "fewer rows than columns" if len(other) < whole.shape[1] + _FEW else ""
    for column in whole.T if not reason else ():
        reason = reason or _why_not(column, codes)
    if reason:
        return _no_rows(terms, len(other), reason)
    standard = (whole - whole.mean(0)) / whole.std(0, ddof=1)
    if np.linalg.matrix_rank(standard) < standard.shape[1]:
        return _no_rows(terms, len(other), "the columns say the same")
    result = _fit(other, sm.add_constant(standard), codes)
    rows = _coefficients(result, ["", *names], len(other)).iloc[1:]
    if compare is not None:
        weights = np.zeros(len(names) + 1)
        weights[1 + names.index(compare[0])], weights[1 + names.index(compare[1])] = 1, -1
        test = result.t_test(weights)
        limits = np.asarray(test.conf_int(1 - LEVEL))[0]
        row = {
            "term": "difference",
            "n": len(other),
            "estimate": float(np.squeeze(test.effect)),
            "error": float(np.squeeze(test.sd)),
            "low": limits[0],
            "high": limits[1],
            "p": float(np.squeeze(test.pvalue)),
            "note": "",
        }
        rows = pd.concat([rows, pd.DataFrame([row])])
    return rows.reset_index(drop=True)


_TESTED = ("term", "n", "statistic", "df", "df_rest", "p", "note")


def _complete(
    x: ArrayLike, y: ArrayLike, clusters: Clusters, more: NDArray[np.bool_] | None = None
) -> tuple[Vector, Vector, list[np.ndarray]]:
    """Rows that have everything, and their clusters numbered from 0."""
    one, other = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError("x and y must have one number for each row")
    used = np.isfinite(one) & np.isfinite(other)
    if more is not None:
        used &= more
    codes = [cluster_codes(np.asarray(kind)[used], int(used.sum())) for kind in clusters]
    return one[used], other[used], codes


def _why_not(x: Vector, codes: Sequence[np.ndarray]) -> str:
    if len(x) < _FEW:
        return "fewer than three rows"
    if any(int(kind.max()) + 1 < _FEW for kind in codes):
        return "fewer than three clusters"
    return "one of the variables is constant" if x.min() == x.max() else ""


def _fit(y: Vector, design: Matrix, codes: Sequence[np.ndarray]) -> Any:
    model = sm.OLS(y, design)
    if not codes:
        return model.fit()
    groups = codes[0] if len(codes) == 1 else np.column_stack(codes[:2])
    return model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)


def _coefficients(result: Any, terms: Sequence[str], n: int) -> pd.DataFrame:
    with np.errstate(invalid="ignore"):  # a variance below zero has no root: the note says why
        errors = np.asarray(result.bse)
        limits, p = np.asarray(result.conf_int(1 - LEVEL)), np.asarray(result.pvalues)
    rows = pd.DataFrame(
        {
            "term": list(terms),
            "n": n,
            "estimate": np.asarray(result.params),
            "error": errors,
            "low": limits[:, 0],
            "high": limits[:, 1],
            "p": p,
        }
    )
    # Two kinds of clusters may give a variance below zero where there are few of them.
    why = ["" if np.isfinite(error) else "too few clusters: no error" for error in errors]
    return rows.assign(note=why)


def _tested(result: Any, matrix: Matrix, values: Vector) -> dict[str, float]:
    found = result.f_test((matrix, values))
    return {
        "statistic": float(np.squeeze(found.fvalue)),
        "df": float(found.df_num),
        "df_rest": float(found.df_denom),
        "p": float(np.squeeze(found.pvalue)),
    }


def _part(
    x: Vector, y: Vector, codes: Sequence[np.ndarray], rows: NDArray[np.bool_]
) -> dict[str, float]:
    kinds = [cluster_codes(kind[rows], int(rows.sum())) for kind in codes]
    if _why_not(x[rows], kinds):
        return dict.fromkeys(_COLUMNS, np.nan)
    result = _fit(y[rows], sm.add_constant(x[rows]), kinds)
    found = _coefficients(result, ("intercept", "slope"), 0).iloc[1]
    return {name: float(found[name]) for name in _COLUMNS}


def _deming(x: Vector, y: Vector, ratio: float) -> Vector:
    covariance = np.cov(x, y)
    apart = covariance[1, 1] - ratio * covariance[0, 0]
    joint = covariance[0, 1]
    slope = (apart + np.sqrt(apart**2 + 4 * ratio * joint**2)) / (2 * joint)
    return np.array([y.mean() - slope * x.mean(), slope])


def _no_rows(terms: Sequence[str], n: int, why: str) -> pd.DataFrame:
    rows = [{"term": term, "n": n, **dict.fromkeys(_COLUMNS, np.nan)} for term in terms]
    return pd.DataFrame(rows).assign(note=notes([why]))


def _no_tests(terms: Sequence[str], n: int, why: str) -> pd.DataFrame:
    names = ("statistic", "df", "df_rest", "p")
    rows = [{"term": term, "n": n, **dict.fromkeys(names, np.nan)} for term in terms]
    return pd.DataFrame(rows).assign(note=notes([why]))
