"""Correlations of many columns with many others over many resamples of clusters at once.

A resample gives each row a weight, and a correlation needs only weighted sums:

    sum w x y - sum_t (sum_t w x) (sum_t w y) / (sum_t w)

with one stratum ``t`` for the plain correlation and several for the partial one. For Pearson the
sums of each cluster are taken once and all resamples are matrix products. For Spearman the ranks
belong to the resample (ranks taken once would hide their own uncertainty): they are weighted
middle ranks, for all resamples of a chunk together. Columns of few distinct values, such as
ratings, are ranked value by value instead of row by row; where there are few clusters as well, the
sums of ranks are quadratic forms (:mod:`analysis.spearman_forms`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.resampling import Codes, Matrix, cluster_counts, cluster_sums
from analysis.spearman_forms import NUMBERS, Forms, worth_it

Tensor = NDArray[np.float64]

_CHUNK_NUMBERS = 2**20
_FEW_LEVELS = 8  # distinct values of a column, on average, up to which ranking by value pays


def correlations(x: Matrix, y: Matrix, *, ranks: bool, strata: Codes | None = None) -> Matrix:
    """Correlations (columns of x x columns of y) of rows without missing values.

    With ``strata`` (numbered from 0 without a gap) the columns or their ranks are centred within
    each stratum: the partial correlation given the stratum.
    """
    layers = _layers(strata, len(x))
    once = np.zeros(len(x), np.intp)
    if not ranks:
        return np.asarray(_Sums(x, y, once, layers).correlations(np.ones((1, 1)))[0])
    order = np.argsort(layers, kind="stable")
    first, second = _rankers(x[order]), _ranked(y[order], once, layers[order])
    weights = np.ones((len(x), 1))
    return np.asarray(_spearman(first, second, np.ones((1, 1)), weights, layers[order])[0])


def bootstrap_correlations(
    x: Matrix,
    y: Matrix,
    clusters: Codes,
    *,
    ranks: bool,
    strata: Codes | None = None,
    resamples: int,
    seed: int,
) -> Tensor:
    """:func:`correlations` of each resample of clusters, resamples x columns x columns."""
    layers = _layers(strata, len(x))
    draws = cluster_counts(int(clusters.max()) + 1, resamples, seed)
    if not ranks:
        sums = _Sums(x, y, clusters, layers)
        return np.concatenate([sums.correlations(counts) for counts in draws])
    order = np.argsort(layers, kind="stable")  # strata are then stretches of rows
    clusters, layers = clusters[order], layers[order]
    first, second = _rankers(x[order]), _ranked(y[order], clusters, layers)
    found = []
    if isinstance(second, _Levels) and worth_it(len(x), second.clusters, sum(second.shape)):
        forms = second.forms(clusters, layers)
        step = max(1, NUMBERS // len(forms.pairs[0]))
        for draw in draws:
            for start in range(0, len(draw), step):
                counts = np.asarray(draw[start : start + step], np.float64)
                found.append(_spearman_by_forms(first, second, counts, forms))
        return np.concatenate(found)
    step = max(1, _CHUNK_NUMBERS // (len(x) * (y.shape[1] + 2)))
    for draw in draws:
        for start in range(0, len(draw), step):
            counts = np.asarray(draw[start : start + step], np.float64)
            weights = np.ascontiguousarray(counts.T)[clusters]
            found.append(_spearman(first, second, counts, weights, layers))
    return np.concatenate(found)


def _rankers(columns: Matrix) -> list[Ranker]:
    return [Ranker(column) for column in columns.T]


class _Sums:
    """The sums over each cluster that Pearson's correlation needs."""

    def __init__(self, x: Matrix, y: Matrix, clusters: Codes, layers: Codes) -> None:
        self.width = (x.shape[1], y.shape[1])
        joint = _standard(np.column_stack([x, y]), layers)
        x, y = joint[:, : x.shape[1]], joint[:, x.shape[1] :]
        cross = (x[:, :, None] * y[:, None, :]).reshape(len(x), -1)
        self.products = cluster_sums(np.column_stack([cross, joint**2]), clusters)
        # Sums within each cell of cluster and stratum, as a matrix clusters x (strata, columns)
        n_layers = int(layers.max()) + 1
        cells = clusters * n_layers + layers
        ones = np.ones((len(x), 1))
        self.sums = np.zeros(((int(clusters.max()) + 1) * n_layers, joint.shape[1] + 1))
        np.add.at(self.sums, cells, np.column_stack([joint, ones]))
        self.sums = self.sums.reshape(-1, n_layers * (joint.shape[1] + 1))

    def correlations(self, counts: NDArray[np.floating]) -> Tensor:
        m, q = self.width
        step = max(1, _CHUNK_NUMBERS * 4 // self.sums.shape[1])
        found = []
        for start in range(0, len(counts), step):
            part = np.asarray(counts[start : start + step], np.float64)
            products = part @ self.products
            sums = (part @ self.sums).reshape(len(part), -1, m + q + 1)
            cross = products[:, : m * q].reshape(-1, m, q)
            squares = products[:, m * q :]
            found.append(_ratio(cross, squares[:, :m], squares[:, m:], sums[..., :m],
                                sums[..., m:-1], sums[..., -1]))  # fmt: skip
        return np.concatenate(found)


def _spearman(
    x: list[Ranker], y: _Rows | _Levels, counts: Matrix, weights: Matrix, layers: Codes
) -> Tensor:
    """Spearman of rows with weights (rows x resamples); rows are sorted by stratum.

    ``counts`` (resamples x clusters) are the draws that the weights come from.
    """
    starts = np.flatnonzero(np.diff(layers, prepend=-1))
    totals = np.add.reduceat(weights, starts, axis=0).T
    squares_y, sums_y = y.prepare(counts, weights)
    found = np.empty((weights.shape[1], len(x), y.width))
    for number, ranker in enumerate(x):
        first = ranker.centred(weights)
        own = first * weights
        cross = y.cross(own)[:, None, :]
        squares = np.einsum("nr,nr->r", own, first)[:, None]
        sums_x = np.add.reduceat(own, starts, axis=0).T[..., None]
        found[:, number : number + 1] = _ratio(cross, squares, squares_y, sums_x, sums_y, totals)
    return found


def _spearman_by_forms(x: list[Ranker], y: _Levels, counts: Matrix, forms: Forms) -> Tensor:
    """The same without a look at the rows, see :mod:`analysis.spearman_forms`."""
    squares_y, sums_y = y.prepare(counts, counts)
    drawn = (counts @ y.table).reshape(len(counts), *y.shape)[..., : y.ends[1]]
    totals = drawn.sum(2)  # every row has one value of the first column
    weight, features = totals.sum(1), forms.features(counts)
    found = np.empty((len(counts), len(x), y.width))
    for some in forms.batches(len(x)):
        levels = [ranker.level for ranker in x[some]]
        sums = forms.sums(levels, features, weight)
        by_value, sums_x = sums[:, : y.shape[1]] * y.ranks.T, sums[:, y.shape[1] :]
        cross = np.add.reduceat(by_value, y.ends[:-1], axis=1).transpose(2, 0, 1)
        squares = np.column_stack([forms.squares(level, counts, weight) for level in levels])
        inner = np.ascontiguousarray(sums_x.transpose(2, 1, 0))
        found[:, some] = _ratio(cross, squares, squares_y, inner, sums_y, totals)
    return found


def _ranked(y: Matrix, clusters: Codes, layers: Codes) -> _Rows | _Levels:
    """The columns that all others are correlated with; rows are sorted by stratum."""
    levels = [np.unique(column, return_inverse=True) for column in y.T]
    if sum(len(values) for values, _ in levels) > _FEW_LEVELS * len(levels):
        return _Rows(y, layers)
    return _Levels([code for _, code in levels], clusters, layers)


class _Rows:
    """Ranks of columns row by row."""

    def __init__(self, y: Matrix, layers: Codes) -> None:
        self.rankers = _rankers(y)
        self.width = len(self.rankers)
        self.starts = np.flatnonzero(np.diff(layers, prepend=-1))
        self.ranks = np.empty(0)

    def prepare(self, counts: Matrix, weights: Matrix) -> tuple[Matrix, Tensor]:  # noqa: ARG002
        """Rank under these weights; the sums of squares and of ranks in each stratum."""
        self.ranks = np.stack([ranker.centred(weights) for ranker in self.rankers])
        weighted = self.ranks * weights
        sums = np.add.reduceat(weighted, self.starts, axis=1).transpose(2, 1, 0)
        return np.asarray(np.einsum("qnr,qnr->rq", weighted, self.ranks)), np.asarray(sums)

    def cross(self, own: Matrix) -> Matrix:
        """Sums of products of each column's ranks with weighted ranks (rows x resamples)."""
        return np.asarray(np.einsum("nr,qnr->rq", own, self.ranks))


class _Levels:
    """Ranks of columns of few values: how often each value is drawn is all that matters."""

    def __init__(self, codes: list[Codes], clusters: Codes, layers: Codes) -> None:
        self.width = len(codes)
        sizes = [int(code.max()) + 1 for code in codes]
        self.ends = np.cumsum([0, *sizes])
        self.value = np.column_stack(codes) + self.ends[:-1]
        levels, strata = int(self.ends[-1]), int(layers.max()) + 1
        self.shape = (strata, levels)
        self.indicator = np.zeros((levels, len(clusters)))
        self.indicator[self.value.T, np.arange(len(clusters))] = 1
        cells = (clusters * strata + layers)[:, None] * levels + self.value
        self.clusters = int(clusters.max()) + 1
        room = self.clusters * strata * levels
        self.table = np.bincount(cells.ravel(), minlength=room).astype(np.float64)
        self.table = self.table.reshape(-1, strata * levels)
        self.ranks = np.empty(0)

    def prepare(self, counts: Matrix, weights: Matrix) -> tuple[Matrix, Tensor]:  # noqa: ARG002
        """Rank under these draws; the sums of squares and of ranks in each stratum."""
        drawn = (counts @ self.table).reshape(len(counts), *self.shape)
        sizes = drawn.sum(1)
        self.ranks = np.empty_like(sizes)
        for start, end in zip(self.ends, self.ends[1:], strict=False):
            part = sizes[:, start:end]
            middle = part.cumsum(1)
            total = middle[:, -1:].copy()
            self.ranks[:, start:end] = (middle - (part + total) / 2) / total
        squares = np.add.reduceat(sizes * self.ranks**2, self.ends[:-1], axis=1)
        sums = np.add.reduceat(drawn * self.ranks[:, None], self.ends[:-1], axis=2)
        return np.asarray(squares), np.asarray(sums)

    def forms(self, clusters: Codes, layers: Codes) -> Forms:
        """For the sums of another column's ranks over each value, then over each stratum."""
        sets = np.column_stack([self.value, layers + self.shape[1]])
        return Forms(sets, sum(self.shape), clusters)

    def cross(self, own: Matrix) -> Matrix:
        """Sums of products of each column's ranks with weighted ranks (rows x resamples)."""
        by_value = (self.indicator @ own).T
        return np.asarray(np.add.reduceat(by_value * self.ranks, self.ends[:-1], axis=1))


class Ranker:
    """Ranks of one column under any weights; what does not depend on them is done once."""

    def __init__(self, values: Matrix) -> None:
        levels, self.level = np.unique(values, return_inverse=True)
        self.order = np.argsort(self.level, kind="stable")
        self.starts = np.searchsorted(self.level[self.order], np.arange(len(levels)))

    def centred(self, weights: Matrix) -> Matrix:
        """Middle ranks less their mean, as shares of the rows (rows x resamples)."""
        sizes = weights[self.order]
        if len(self.starts) < len(sizes):
            sizes = np.add.reduceat(sizes, self.starts, axis=0)
        middle = sizes.cumsum(0)
        total = middle[-1].copy()
        middle -= (sizes + total) / 2
        middle /= total
        return np.asarray(middle[self.level])


def _ratio(
    cross: Tensor,
    squares_x: Matrix,
    squares_y: Matrix,
    sums_x: Tensor,
    sums_y: Tensor,
    totals: Matrix,
) -> Tensor:
    """Correlations from sums; NaN where nothing varies.

    Shapes: cross resamples x m x q, squares resamples x m (q), sums resamples x strata x m (q),
    totals resamples x strata.
    """
    inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)[..., None]
    scaled = sums_x * inverse
    cross = cross - scaled.transpose(0, 2, 1) @ sums_y
    spread_x = squares_x - (scaled * sums_x).sum(1)
    spread_y = squares_y - (sums_y**2 * inverse).sum(1)
    # The columns have a spread of about one: what is below this is rounding.
    floor = 1e-10 * totals.sum(1, keepdims=True)
    size_x = np.sqrt(np.where(spread_x > floor, spread_x, np.nan))
    size_y = np.sqrt(np.where(spread_y > floor, spread_y, np.nan))
    return np.asarray(np.clip(cross / (size_x[:, :, None] * size_y[:, None, :]), -1, 1))


def _standard(joint: Matrix, layers: Codes) -> Matrix:
    """Columns centred in each stratum and with unit spread, so that the sums lose no digits."""
    sums = np.zeros((int(layers.max()) + 1, joint.shape[1]))
    np.add.at(sums, layers, joint)
    inner = joint - (sums / np.bincount(layers)[:, None])[layers]
    size = np.abs(joint - joint.mean(0)).max(0)
    inner[np.abs(inner) < 1e-12 * size] = 0  # rounding of a column that is constant in its stratum
    spread = np.sqrt((inner**2).mean(0))
    return np.asarray(inner / np.where(spread > 0, spread, 1.0))


def _layers(strata: Codes | None, size: int) -> Codes:
    return np.zeros(size, np.intp) if strata is None else strata
