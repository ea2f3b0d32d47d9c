"""Pearson's and Spearman's correlation with intervals that know about clusters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.correlation_bootstrap import bootstrap_correlations, correlations
from analysis.correlation_intervals import clustered_interval, fisher_interval, p_value
from analysis.mixed_model import explained_beyond
from analysis.resampling import Codes, Matrix, cluster_codes, holm

__all__ = [
    "correlation_table",
    "explained_beyond",
    "holm",
    "pearson",
    "question_correlations",
    "spearman",
]

Method = Literal["pearson", "spearman"]
METHODS: tuple[Method, ...] = ("pearson", "spearman")

_NUMBERS = ("low", "high", "fisher_low", "fisher_high", "p", "p_clustered")


def pearson(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Pearson's correlation of two columns: one row of :func:`correlation_table`."""
    return _one(x, y, "pearson", clusters, strata, resamples, level, seed)


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Spearman's correlation of two columns: one row of :func:`correlation_table`."""
    return _one(x, y, "spearman", clusters, strata, resamples, level, seed)


def correlation_table(
    values: pd.DataFrame,
    ratings: pd.DataFrame,
    *,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    methods: Sequence[Method] = METHODS,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Correlate every column of one frame with every column of another, row by row.

    .. math:: r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}
                       {\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    of the values (Pearson) or of their middle ranks (Spearman). With ``strata`` the means are those
    of each stratum: the partial correlation given the stratum.

    Three answers to "how sure": ``fisher_low``, ``fisher_high`` and ``p`` take all rows as
    independent, as published tables usually do: :math:`\tanh(\operatorname{artanh} r \pm z s)` with
    :math:`s^2 = 1 / (n - 3)` for Pearson and :math:`(1 + r^2 / 2) / (n - 3)` for Spearman (each
    stratum beyond the first costs one row). ``low``, ``high`` and ``p_clustered`` resample whole
    clusters: the standard deviation of :math:`\operatorname{artanh} r` over the resamples and the t
    distribution with one degree of freedom less than clusters. Ranks and strata means are taken
    anew in each resample.

    Parameters
    ----------
    values, ratings
        Frames with the same number of rows; a pair of columns uses the rows that both have.
    clusters
        One entry for each row, for example its image; none: rows are resampled.
    strata
        One entry for each row, for example its technique.

    Returns
    -------
    DataFrame
        value, rating, method, n, clusters, estimate, low, high, fisher_low, fisher_high, p,
        p_clustered, note. With fewer than three rows or a constant column the estimate is missing
        and the note says why.

    References
    ----------
    Fisher 1921; for Spearman: Bonett & Wright 2000, doi:10.1007/BF02294183; resampling clusters:
    Field & Welsh 2007, doi:10.1111/j.1467-9868.2007.00593.x
    """
    if len(values) != len(ratings):
        raise ValueError("values and ratings must have the same rows")
    groups = cluster_codes(clusters, len(values))
    layers = None if strata is None else cluster_codes(strata, len(values))
    x, y = values.to_numpy(np.float64), ratings.to_numpy(np.float64)
    options = (resamples, level, seed)
    found: dict[tuple[int, int, Method], dict[str, object]] = {}
    for rows, left, right in _blocks(np.isfinite(x), np.isfinite(y)):
        parts = (x[rows][:, left], y[rows][:, right], groups[rows])
        inner = None if layers is None else layers[rows]
        for method in methods:
            block = _block(*parts, inner, method, *options)
            for i, column in enumerate(left):
                for j, other in enumerate(right):
                    found[column, other, method] = block[i][j]
    keys = [
        (i, j, method) for i in range(x.shape[1]) for j in range(y.shape[1]) for method in methods
    ]
    lines = [
        {"value": values.columns[i], "rating": ratings.columns[j], "method": method}
        | found[i, j, method]
        for i, j, method in keys
    ]
    head = ["value", "rating", "method", "n", "clusters", "estimate", *_NUMBERS, "note"]
    return pd.DataFrame(lines, columns=head)


def question_correlations(
    labels: pd.DataFrame,
    *,
    clusters: ArrayLike | None = None,
    methods: Sequence[Method] = METHODS,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate the questions with each other.

    ``labels`` has one row for each sample and one column for each question (as
    :func:`analysis.votes.wide_labels` makes it).

    Returns
    -------
    DataFrame
        first, second and the columns of :func:`correlation_table`, one row for each pair and method
    """
    table = correlation_table(
        labels,
        labels,
        clusters=clusters,
        methods=methods,
        resamples=resamples,
        level=level,
        seed=seed,
    ).rename(columns={"value": "first", "rating": "second"})
    pairs = pd.MultiIndex.from_tuples(
        list(combinations(labels.columns, 2)), names=["first", "second"]
    )
    wanted = pd.MultiIndex.from_frame(table[["first", "second"]]).isin(pairs)
    return table[wanted].reset_index(drop=True)


def _one(
    x: ArrayLike,
    y: ArrayLike,
    method: Method,
    clusters: ArrayLike | None,
    strata: ArrayLike | None,
    resamples: int,
    level: float,
    seed: int,
) -> pd.DataFrame:
    table = correlation_table(
        pd.DataFrame({"x": np.asarray(x, np.float64)}),
        pd.DataFrame({"y": np.asarray(y, np.float64)}),
        clusters=clusters,
        strata=strata,
        methods=(method,),
        resamples=resamples,
        level=level,
        seed=seed,
    )
    return table.drop(columns=["value", "rating"])


def _blocks(x: np.ndarray, y: np.ndarray) -> list[tuple[Codes, list[int], list[int]]]:
    """Pairs of columns that have the same rows are done together: (rows, left, right)."""
    alike: list[dict[bytes, list[int]]] = []
    for there in (x, y):
        columns: dict[bytes, list[int]] = {}
        for number, column in enumerate(there.T):
            columns.setdefault(np.packbits(column).tobytes(), []).append(number)
        alike.append(columns)
    return [
        (np.flatnonzero(x[:, left[0]] & y[:, right[0]]), left, right)
        for left in alike[0].values()
        for right in alike[1].values()
    ]


def _block(
    x: Matrix,
    y: Matrix,
    clusters: Codes,
    strata: Codes | None,
    method: Method,
    resamples: int,
    level: float,
    seed: int,
) -> list[list[dict[str, object]]]:
    """The rows of the table for all pairs of columns of complete ``x`` and ``y``."""
    n = len(x)
    clusters = np.unique(clusters, return_inverse=True)[1]
    n_clusters = int(clusters.max(initial=-1)) + 1
    strata = None if strata is None else np.unique(strata, return_inverse=True)[1]
    lost = 0 if strata is None else int(strata.max(initial=0))
    shape = (x.shape[1], y.shape[1])
    numbers = {name: np.full(shape, np.nan) for name in ("estimate", *_NUMBERS)}
    if n - lost >= 3:
        ranks = method == "spearman"
        r = correlations(x, y, ranks=ranks, strata=strata)
        numbers |= {"estimate": r, "p": p_value(r, n - 2 - lost)}
        numbers["fisher_low"], numbers["fisher_high"] = fisher_interval(
            r, n - 3 - lost, ranks, level
        )
        if n_clusters >= 2 and resamples:
            drawn = bootstrap_correlations(
                x, y, clusters, ranks=ranks, strata=strata, resamples=resamples, seed=seed
            )
            clustered = clustered_interval(r, drawn, n_clusters, level)
            numbers |= dict(zip(("low", "high", "p_clustered"), clustered, strict=True))
    still = [_constant(part, strata) for part in (x, y)]
    return [
        [
            {"n": n, "clusters": n_clusters}
            | {name: float(value[i, j]) for name, value in numbers.items()}
            | {"note": _note(n - lost, lost, still[0][i], still[1][j], n_clusters)}
            for j in range(shape[1])
        ]
        for i in range(shape[0])
    ]


def _constant(values: Matrix, strata: Codes | None) -> np.ndarray:
    """Columns without any spread, within strata if there are any."""
    if not len(values):
        return np.zeros(values.shape[1], bool)
    if strata is None:
        return np.asarray(values.min(0) == values.max(0))
    groups = pd.DataFrame(values).groupby(strata)
    return np.asarray((groups.max() == groups.min()).all().to_numpy())


def _note(free: int, lost: int, value: bool, rating: bool, n_clusters: int) -> str:
    if free < 3:
        return "fewer than 3 samples" + (f" beyond {lost + 1} strata" if lost else "")
    where = " within every stratum" if lost else ""
    if value:
        return f"the value is constant{where}"
    if rating:
        return f"the rating is constant{where}"
    return "no clustered interval from one cluster" if n_clusters < 2 else ""
