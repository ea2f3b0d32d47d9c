"""Pearson's and Spearman's correlation with intervals that allow for clusters.

A resample of clusters gives each row a weight: how often its cluster was drawn. A correlation needs
only weighted sums,

    sum w x y - sum_t (sum_t w x) (sum_t w y) / (sum_t w)

with one stratum ``t`` for the plain correlation and several for the partial one. Spearman's takes
them of middle ranks under the same weights: ranks taken once for all resamples would hide their
own uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr, stdtrit

from analysis.resampling import (
    ENOUGH_RESAMPLES,
    LEVEL,
    Codes,
    Matrix,
    cluster_codes,
    cluster_counts,
    cluster_sums,
)

Method = Literal["pearson", "spearman"]
METHODS: tuple[Method, ...] = ("pearson", "spearman")
Tensor = NDArray[np.float64]

_LARGEST = 1 - 1e-12  # a resample of few distinct rows may correlate perfectly
_CHUNK_NUMBERS = 2**20  # at once in memory

_NUMBERS = ("low", "high", "fisher_low", "fisher_high", "p", "p_clustered")


def correlation_table(
    values: pd.DataFrame,
    ratings: pd.DataFrame,
    *,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Correlate every column of one frame with every column of another, row by row.

    .. math:: r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}
                       {\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    of the values (Pearson) or of their middle ranks (Spearman). With ``strata`` the means are those
    of each stratum: the partial correlation given the stratum.

    Two kinds of interval and test: ``fisher_low``, ``fisher_high`` and ``p`` take all rows as
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
        One entry for each row, for example its image; None: rows are resampled.
    strata
        One entry for each row, for example the group it belongs to.
    resamples, seed
        Of the bootstrap over clusters.

    Returns
    -------
    DataFrame
        value, rating, method, n, clusters, estimate, low, high, fisher_low, fisher_high, p,
        p_clustered, note. With fewer than three rows or a constant column the estimate is missing
        and the note says why.

    References
    ----------
    Fisher 1921, doi:10.2307/2331838; for Spearman: Bonett & Wright 2000, doi:10.1007/BF02294183;
    resampling clusters: Field & Welsh 2007, doi:10.1111/j.1467-9868.2007.00593.x

    Examples
    --------
    Squared differences of ranks of 0, 1, 1, 1 and 1: Spearman's is 1 - 6 * 4 / (5 * 24).

    >>> values = pd.DataFrame({"size": [0.1, 0.2, 0.3, 0.4, 0.9]})
    >>> ratings = pd.DataFrame({"trust": [1, 3, 2, 5, 4]})
    >>> correlation_table(values, ratings)[["value", "rating", "method", "n", "estimate"]].round(3)
      value rating    method  n  estimate
    0  size  trust   pearson  5     0.609
    1  size  trust  spearman  5     0.800
    """
    if len(values) != len(ratings):
        raise ValueError("values and ratings must have the same rows")
    groups = cluster_codes(clusters, len(values))
    layers = None if strata is None else cluster_codes(strata, len(values))
    x, y = values.to_numpy(np.float64), ratings.to_numpy(np.float64)
    options = (resamples, seed)
    found: dict[tuple[int, int, Method], dict[str, object]] = {}
    for rows, left, right in _blocks(np.isfinite(x), np.isfinite(y)):
        parts = (x[rows][:, left], y[rows][:, right], groups[rows])
        inner = None if layers is None else layers[rows]
        for method in METHODS:
            block = _block(*parts, inner, method, *options)
            for i, column in enumerate(left):
                for j, other in enumerate(right):
                    found[column, other, method] = block[i][j]
    keys = [
        (i, j, method) for i in range(x.shape[1]) for j in range(y.shape[1]) for method in METHODS
    ]
    lines = [
        {"value": values.columns[i], "rating": ratings.columns[j], "method": method}
        | found[i, j, method]
        for i, j, method in keys
    ]
    head = ["value", "rating", "method", "n", "clusters", "estimate", *_NUMBERS, "note"]
    return pd.DataFrame(lines, columns=head)


def correlate_columns(
    frame: pd.DataFrame,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate the columns of a frame with each other, as :func:`correlation_table` does.

    Parameters
    ----------
    frame
        Units in rows, items in columns.
    clusters
        One entry for each row; None: rows are resampled.
    resamples, seed
        Of the bootstrap over clusters.

    Returns
    -------
    DataFrame
        One row for each pair and method: first, second, and method, n, clusters, estimate, low,
        high, fisher_low, fisher_high, p, p_clustered, note as in :func:`correlation_table`.

    Examples
    --------
    >>> items = pd.DataFrame({"trust": [1, 2, 3, 4], "use": [2, 4, 6, 8], "effort": [4, 3, 2, 1]})
    >>> found = correlate_columns(items)
    >>> found[found["method"] == "pearson"][["first", "second", "estimate"]].round(3)
       first  second  estimate
    0  trust     use       1.0
    2  trust  effort      -1.0
    4    use  effort      -1.0
    """
    table = correlation_table(
        frame, frame, clusters=clusters, resamples=resamples, seed=seed
    ).rename(columns={"value": "first", "rating": "second"})
    pairs = pd.MultiIndex.from_tuples(
        list(combinations(frame.columns, 2)), names=["first", "second"]
    )
    wanted = pd.MultiIndex.from_frame(table[["first", "second"]]).isin(pairs)
    return table[wanted].reset_index(drop=True)


def closest_columns(
    values: pd.DataFrame,
    ratings: pd.DataFrame,
    *,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Test which columns may be the one that follows a rating most closely.

    The largest of many correlations is a matter of luck: with a few rows more it is another one.
    For each column this tests that no other has a larger absolute Spearman correlation in the
    population. With :math:`z = \operatorname{artanh} |r|` and the same resamples of clusters for
    all columns the statistic is

    .. math:: T_k = \max_{j \ne k} (z_j - z_k) / s_{jk},

    :math:`s_{jk}` the standard deviation of :math:`z_j - z_k` over resamples, and p the share of
    resamples whose :math:`T_k`, with differences taken around those observed, is as large (the
    observed one is first brought from the t distribution to the normal one: few clusters). The
    columns with a p of at least 0.05 are a set that contains the closest one with a confidence of
    95 %, whichever it is (multiple comparisons with the best).

    Parameters
    ----------
    values, ratings, clusters, strata, resamples, seed
        As for :func:`correlation_table`.

    Returns
    -------
    DataFrame
        value, rating, estimate, p_closest; missing for a column without a correlation or if there
        are fewer than two clusters.

    References
    ----------
    Hsu 1981, doi:10.1214/aos/1176345582; Romano & Wolf 2005, doi:10.1198/016214504000000539

    Examples
    --------
    One column hardly follows the rating; the other may be the closest.

    >>> ratings = pd.DataFrame({"trust": range(30)})
    >>> mixed = ratings["trust"] * 7 % 30
    >>> values = pd.DataFrame({"near": ratings["trust"] + mixed, "far": mixed})
    >>> closest_columns(values, ratings).round(3)
      value rating  estimate  p_closest
    0  near  trust     0.738      1.000
    1   far  trust     0.119      0.001
    """
    groups = cluster_codes(clusters, len(values))
    layers = None if strata is None else cluster_codes(strata, len(values))
    x, y = values.to_numpy(np.float64), ratings.to_numpy(np.float64)
    found = np.full((1 + resamples, x.shape[1], y.shape[1]), np.nan)
    number = int(groups.max(initial=-1)) + 1
    if number >= 2:
        draws = np.concatenate(list(cluster_counts(number, resamples, seed)))
        counts = np.concatenate([np.ones((1, number)), draws])  # all rows once, then resamples
        for rows, left, right in _blocks(np.isfinite(x), np.isfinite(y)):
            if len(rows) >= 3:
                inner = None
                if layers is not None:
                    inner = np.asarray(np.unique(layers[rows], return_inverse=True)[1], np.intp)
                parts = (x[rows][:, left], y[rows][:, right], groups[rows], inner)
                found[:, np.array(left)[:, None], right] = _spearman(*parts, counts)
    p = [_p_closest(found[..., place], number) for place in range(y.shape[1])]
    lines = [
        (value, rating, found[0, i, j], p[j][i])
        for i, value in enumerate(values.columns)
        for j, rating in enumerate(ratings.columns)
    ]
    return pd.DataFrame(lines, columns=["value", "rating", "estimate", "p_closest"])


def two_way_correlation(
    values: pd.DataFrame,
    ratings: pd.DataFrame,
    first: ArrayLike,
    second: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Spearman's correlation of columns where rows share two kinds of clusters at once.

    Rows are images times methods, say, and images as well as methods are a sample. On Fisher's
    scale the variances of three bootstraps, over clusters of the first kind, of the second, and
    over their crossings, are combined as for any estimate with two kinds of clusters,

    .. math:: s^2 = \max\{s_1^2 + s_2^2 - s_{12}^2,\; s_1^2,\; s_2^2\}

    with the t distribution of one degree of freedom less than the kind with fewer clusters has. A
    bootstrap that draws both kinds at once would count the noise of single rows three times.

    Parameters
    ----------
    values, ratings
        Frames with the same number of rows; a pair of columns uses the rows that both have.
    first, second
        For each row its cluster of either kind.
    strata
        One entry for each row: the partial correlation given the stratum. None: the plain one.
    resamples, seed
        Of each bootstrap.

    Returns
    -------
    DataFrame
        value, rating, n, first, second (numbers of clusters), estimate, low, high, p, note.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136; Owen 2007,
    doi:10.1214/07-AOAS122 (on drawing both kinds at once)

    Examples
    --------
    >>> images, methods = np.divmod(np.arange(30), 5)
    >>> values = pd.DataFrame({"size": images * 2 + methods})
    >>> ratings = pd.DataFrame({"trust": images * 2 + methods * 3 % 7})
    >>> found = two_way_correlation(values, ratings, images, methods)
    >>> found[["value", "rating", "n", "first", "second", "estimate"]].round(2)
      value rating   n  first  second  estimate
    0  size  trust  30      6       5      0.91
    """
    kinds = [cluster_codes(one, len(values)) for one in (first, second)]
    crossing = pd.DataFrame({"first": kinds[0], "second": kinds[1]})
    both = np.asarray(crossing.groupby(["first", "second"], sort=False).ngroup(), np.intp)
    layers = None if strata is None else cluster_codes(strata, len(values))
    x, y = values.to_numpy(np.float64), ratings.to_numpy(np.float64)
    found: dict[tuple[int, int], dict[str, object]] = {}
    for rows, left, right in _blocks(np.isfinite(x), np.isfinite(y)):
        inner = None
        if layers is not None:
            inner = np.asarray(np.unique(layers[rows], return_inverse=True)[1], np.intp)
        codes = [np.unique(one[rows], return_inverse=True)[1] for one in (*kinds, both)]
        parts = x[rows][:, left], y[rows][:, right]
        block = _two_way_block(*parts, codes, inner, resamples, seed)
        for i, column in enumerate(left):
            for j, other in enumerate(right):
                found[column, other] = block[i][j]
    lines = [
        {"value": value, "rating": rating} | found[i, j]
        for i, value in enumerate(values.columns)
        for j, rating in enumerate(ratings.columns)
    ]
    head = ["value", "rating", "n", "first", "second", "estimate", "low", "high", "p", "note"]
    return pd.DataFrame(lines, columns=head)


def _two_way_block(
    x: Matrix,
    y: Matrix,
    codes: list[Codes],
    strata: Codes | None,
    resamples: int,
    seed: int,
) -> list[list[dict[str, object]]]:
    n, shape = len(x), (x.shape[1], y.shape[1])
    lost = 0 if strata is None else int(strata.max(initial=0))
    sizes = [int(one.max(initial=-1)) + 1 for one in codes[:2]]
    r, p = np.full(shape, np.nan), np.full(shape, np.nan)
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    if n - lost >= 3:
        r = _correlations(x, y, ranks=True, strata=strata)
        if min(sizes) >= 2:
            errors = []
            for number, clusters in enumerate(codes):
                drawn = _bootstrap_correlations(
                    x, y, clusters, ranks=True, strata=strata, resamples=resamples,
                    seed=seed + number,
                )  # fmt: skip
                errors.append(_scale_error(drawn))
            one, two, crossed = (error**2 for error in errors)
            variance = np.maximum(one + two - crossed, np.maximum(one, two))
            low, high, p = _scale_interval(r, np.sqrt(variance), min(sizes))
    still = [_constant(part, strata) for part in (x, y)]
    numbers = {"estimate": r, "low": low, "high": high, "p": p}
    return [
        [
            {"n": n, "first": sizes[0], "second": sizes[1]}
            | {name: float(value[i, j]) for name, value in numbers.items()}
            | {"note": _note(n - lost, lost, still[0][i], still[1][j], min(sizes))}
            for j in range(shape[1])
        ]
        for i in range(shape[0])
    ]


def _p_closest(correlations: Matrix, n_clusters: int) -> Matrix:
    """p of each column being the closest, from correlations of all rows and of resamples."""
    p = np.full(correlations.shape[1], np.nan)
    known = np.flatnonzero(np.isfinite(correlations).mean(0) >= ENOUGH_RESAMPLES)
    known = known[np.isfinite(correlations[0, known])]
    # Signs are those of all rows: the size of a resampled correlation near 0 would be folded.
    z = np.arctanh(np.clip(correlations[:, known], -_LARGEST, _LARGEST)) * np.sign(
        correlations[0, known]
    )
    z = z[np.isfinite(z).all(1)]
    for place, column in enumerate(known):
        ahead = np.delete(z, place, axis=1) - z[:, [place]]
        observed, drawn = ahead[0], ahead[1:]
        error = drawn.std(0)
        other = error > 1e-9  # two names of one column do not differ
        if not other.any():
            p[column] = 1.0
            continue
        largest = float((observed[other] / error[other]).max())
        largest = float(ndtri(stdtr(n_clusters - 1, largest)))  # error is estimated from clusters
        centred = ((drawn - observed)[:, other] / error[other]).max(1)
        p[column] = (1 + (centred >= largest).sum()) / (1 + len(centred))
    return p


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
        r = _correlations(x, y, ranks=ranks, strata=strata)
        numbers |= {"estimate": r, "p": _p_value(r, n - 2 - lost)}
        numbers["fisher_low"], numbers["fisher_high"] = _fisher_interval(r, n - 3 - lost, ranks)
        if n_clusters >= 2:
            drawn = _bootstrap_correlations(
                x, y, clusters, ranks=ranks, strata=strata, resamples=resamples, seed=seed
            )
            clustered = _clustered_interval(r, drawn, n_clusters)
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
        return "fewer than 3 units" + (f" beyond {lost + 1} strata" if lost else "")
    where = " within every stratum" if lost else ""
    if value:
        return f"the value is constant{where}"
    if rating:
        return f"the rating is constant{where}"
    return "no clustered interval from one cluster" if n_clusters < 2 else ""


# Correlations of resamples


def _correlations(x: Matrix, y: Matrix, *, ranks: bool, strata: Codes | None = None) -> Matrix:
    """Correlations (columns of x x columns of y) of rows without missing values.

    With ``strata`` (numbered from 0 without a gap) the columns or their ranks are centred within
    each stratum: the partial correlation given the stratum.
    """
    once = np.zeros(len(x), np.intp)
    resampled = _spearman if ranks else _pearson
    return np.asarray(resampled(x, y, once, strata, np.ones((1, 1)))[0])


def _bootstrap_correlations(
    x: Matrix,
    y: Matrix,
    clusters: Codes,
    *,
    ranks: bool,
    strata: Codes | None = None,
    resamples: int,
    seed: int,
) -> Tensor:
    """:func:`_correlations` of each resample of clusters, resamples x columns x columns."""
    resampled = _spearman if ranks else _pearson
    draws = cluster_counts(int(clusters.max()) + 1, resamples, seed)
    return np.concatenate([resampled(x, y, clusters, strata, counts) for counts in draws])


def _pearson(
    x: Matrix, y: Matrix, clusters: Codes, strata: Codes | None, counts: NDArray[np.floating]
) -> Tensor:
    """Pearson under counts (resamples x clusters): products with the sums of each cluster."""
    layers = np.zeros(len(x), np.intp) if strata is None else strata
    m, q, n_layers = x.shape[1], y.shape[1], int(layers.max()) + 1
    joint = _standard(np.column_stack([x, y]), layers)
    cross = (joint[:, :m, None] * joint[:, None, m:]).reshape(len(x), -1)
    products = cluster_sums(np.column_stack([cross, joint**2]), clusters)
    # Sums within each cell of cluster and stratum, as a matrix clusters x (strata, columns)
    cells = np.zeros((len(products) * n_layers, m + q + 1))
    np.add.at(cells, clusters * n_layers + layers, np.column_stack([joint, np.ones(len(x))]))
    cells = cells.reshape(len(products), -1)
    found = []
    for part in _chunks(counts, cells.shape[1]):
        whole = part @ products
        sums = (part @ cells).reshape(len(part), n_layers, -1)
        found.append(
            _ratio(
                whole[:, : m * q].reshape(-1, m, q),
                (whole[:, m * q : m * q + m], whole[:, m * q + m :]),
                (sums[..., :m], sums[..., m:-1]),
                sums[..., -1],
            )
        )
    return np.concatenate(found)


def _spearman(
    x: Matrix, y: Matrix, clusters: Codes, strata: Codes | None, counts: NDArray[np.floating]
) -> Tensor:
    """Spearman under counts (resamples x clusters): all rows are ranked in each resample."""
    layers = np.zeros(len(x), np.intp) if strata is None else strata
    order = np.argsort(layers, kind="stable")  # strata are then stretches of rows
    starts = np.flatnonzero(np.diff(layers[order], prepend=-1))
    left, right = ([_ranker(column) for column in some[order].T] for some in (x, y))
    found = []
    for part in _chunks(counts, len(x) * (len(right) + 2)):
        weights = np.ascontiguousarray(part.T)[clusters[order]]
        totals = np.add.reduceat(weights, starts, axis=0).T
        second = np.stack([ranks(weights) for ranks in right])
        own = second * weights
        squares_y = np.einsum("qnr,qnr->rq", own, second)
        sums_y = np.add.reduceat(own, starts, axis=1).transpose(2, 1, 0)
        block = np.empty((len(part), len(left), len(right)))
        for number, ranks in enumerate(left):
            first = ranks(weights)
            mine = first * weights
            block[:, [number]] = _ratio(
                np.einsum("nr,qnr->rq", mine, second)[:, None],
                (np.einsum("nr,nr->r", mine, first)[:, None], squares_y),
                (np.add.reduceat(mine, starts, axis=0).T[..., None], sums_y),
                totals,
            )
        found.append(block)
    return np.concatenate(found)


def _ranker(column: Matrix) -> Callable[[Matrix], Matrix]:
    """A function from weights (rows x resamples) to middle ranks less their mean, over all rows."""
    levels, level = np.unique(column, return_inverse=True)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(len(levels)))

    def ranks(weights: Matrix) -> Matrix:
        sizes = weights[order]
        if len(starts) < len(sizes):
            sizes = np.add.reduceat(sizes, starts, axis=0)
        middle = sizes.cumsum(0)
        total = middle[-1].copy()
        sizes += total
        sizes /= 2
        middle -= sizes
        middle /= total
        return np.asarray(middle[level])

    return ranks


def _chunks(counts: NDArray[np.floating], numbers: int) -> Iterator[Matrix]:
    """Some resamples at a time, each of which takes this many numbers."""
    step = max(1, _CHUNK_NUMBERS // numbers)
    for start in range(0, len(counts), step):
        yield np.asarray(counts[start : start + step], np.float64)


def _ratio(
    cross: Tensor, squares: tuple[Matrix, Matrix], sums: tuple[Tensor, Tensor], totals: Matrix
) -> Tensor:
    """Correlations from sums; NaN where nothing varies.

    Shapes: cross resamples x m x q, squares resamples x m (q), sums resamples x strata x m (q),
    totals resamples x strata.
    """
    inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)[..., None]
    cross = cross - (sums[0] * inverse).transpose(0, 2, 1) @ sums[1]
    # The columns have a spread of about one: what is below this is rounding.
    floor = 1e-10 * totals.sum(1, keepdims=True)
    spreads = [own - (part**2 * inverse).sum(1) for own, part in zip(squares, sums, strict=True)]
    sizes = [np.sqrt(np.where(spread > floor, spread, np.nan)) for spread in spreads]
    return np.asarray(np.clip(cross / (sizes[0][:, :, None] * sizes[1][:, None]), -1, 1))


def _standard(joint: Matrix, layers: Codes) -> Matrix:
    """Columns centred in each stratum and with unit spread, so that the sums lose no digits."""
    sums = np.zeros((int(layers.max()) + 1, joint.shape[1]))
    np.add.at(sums, layers, joint)
    inner = joint - (sums / np.bincount(layers)[:, None])[layers]
    size = np.abs(joint - joint.mean(0)).max(0)
    inner[np.abs(inner) < 1e-12 * size] = 0  # rounding of a column that is constant in its stratum
    spread = np.sqrt((inner**2).mean(0))
    return np.asarray(inner / np.where(spread > 0, spread, 1.0))


# Intervals and tests on Fisher's scale


def _p_value(r: Matrix, freedom: int) -> Matrix:
    """Two-sided p of the t-test of no correlation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt(freedom / ((1 - r) * (1 + r)))
        return np.asarray(2 * stdtr(freedom, -t))


def _fisher_interval(r: Matrix, freedom: int, ranks: bool) -> tuple[Matrix, Matrix]:
    """Fisher's interval; ``freedom`` is the inverse of the variance on his scale."""
    if freedom < 1:
        return np.full(r.shape, np.nan), np.full(r.shape, np.nan)
    error = np.sqrt((1 + (r**2 / 2 if ranks else 0)) / freedom)
    reach = ndtri((1 + LEVEL) / 2) * error
    with np.errstate(divide="ignore"):
        return np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach)


def _clustered_interval(r: Matrix, drawn: Tensor, n_clusters: int) -> tuple[Matrix, Matrix, Matrix]:
    """Interval and p from the spread of the resamples on Fisher's scale."""
    return _scale_interval(r, _scale_error(drawn), n_clusters)


def _scale_error(drawn: Tensor) -> Matrix:
    """Standard deviation of resampled correlations on Fisher's scale."""
    defined = np.isfinite(drawn)
    scale = np.arctanh(np.clip(np.where(defined, drawn, 0.0), -_LARGEST, _LARGEST))
    number = np.where(defined.mean(0) >= ENOUGH_RESAMPLES, defined.sum(0), np.nan)
    mean = np.where(defined, scale, 0).sum(0) / number
    error = np.sqrt((np.where(defined, scale - mean, 0) ** 2).sum(0) / (number - 1))
    return np.asarray(error)


def _scale_interval(r: Matrix, error: Matrix, n_clusters: int) -> tuple[Matrix, Matrix, Matrix]:
    middle = np.arctanh(np.clip(r, -_LARGEST, _LARGEST))
    reach = stdtrit(n_clusters - 1, (1 + LEVEL) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(n_clusters - 1, -np.abs(middle / error))
    return np.tanh(middle - reach), np.tanh(middle + reach), np.asarray(p)
