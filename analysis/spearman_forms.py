r"""Sums of ranks over resamples of few clusters, as quadratic forms.

With the weights :math:`w` of rows the middle rank of a row, less its mean and as a share of all, is
:math:`r_n = \sum_m w_m \operatorname{sgn}(x_n - x_m) / 2 W` with :math:`W = \sum w`. A weight is
how often the row's cluster is drawn, so that the sum of ranks over any fixed set of rows is a
quadratic form in these counts. Its matrix is the same for all resamples: with the products of
counts as features, all resamples are one matrix product, however many rows there are. The squares
need no more than the sizes :math:`s` of ties:
:math:`\sum w_n r_n^2 = (W^3 - \sum_l s_l^3) / 12 W^2`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from analysis.resampling import Codes, Matrix

_WORTH = 150  # how many products of counts take as long as a row that is ranked and summed
NUMBERS = 2**22  # of products of counts, and of matrices, at once


def worth_it(rows: int, clusters: int, sets: int) -> bool:
    """Whether sums over this many sets are quicker by forms than row by row."""
    return clusters * (clusters + 1) // 2 * sets < _WORTH * rows


class Forms:
    """Sums of ranks over sets of rows; ``sets`` (rows x any) says to which sets a row belongs."""

    def __init__(self, sets: Codes, number: int, clusters: Codes) -> None:
        self.clusters, self.number = clusters, number
        self.n_clusters = int(clusters.max()) + 1
        self.pairs = np.triu_indices(self.n_clusters)
        cells = sets * self.n_clusters + clusters[:, None]
        rows = np.broadcast_to(np.arange(len(sets))[:, None], sets.shape)
        shape = (number * self.n_clusters, len(sets))
        self.cells = csr_array((np.ones(sets.size), (cells.ravel(), rows.ravel())), shape)

    def features(self, counts: Matrix) -> Matrix:
        """Products of how often two clusters are drawn (pairs x resamples)."""
        drawn = np.ascontiguousarray(counts.T)
        first, second = self.pairs
        return np.asarray(drawn[first] * drawn[second])

    def batches(self, columns: int) -> list[slice]:
        """Columns whose matrices are held in memory together."""
        step = max(1, NUMBERS // (len(self.pairs[0]) * self.number))
        return [slice(start, start + step) for start in range(0, columns, step)]

    def sums(self, levels: Sequence[Codes], features: Matrix, totals: Matrix) -> Matrix:
        """Sums of weight times rank over each set, columns x sets x resamples.

        ``levels`` are columns of numbered values; ``totals`` the weight of each resample.
        """
        forms = np.concatenate([self._form(level) for level in levels])
        sums = (forms @ features) / totals
        return np.asarray(sums.reshape(len(levels), self.number, -1))

    def squares(self, level: Codes, counts: Matrix, totals: Matrix) -> Matrix:
        """Sums of weight times squared rank (resamples)."""
        table = self._table(level)
        shared = (table > 0).sum(1) > 1  # ties of rows of one cluster are drawn together
        ties = counts**3 @ (table[~shared] ** 3).sum(0) + ((counts @ table[shared].T) ** 3).sum(1)
        return np.asarray((totals - ties / totals**2) / 12)

    def _form(self, level: Codes) -> Matrix:
        """The matrix of each set (sets x pairs)."""
        table = self._table(level)
        below = table.cumsum(0)
        ranks = (below - table / 2 - below[-1] / 2)[level]  # of each row among each cluster's rows
        form = (self.cells @ ranks).reshape(self.number, self.n_clusters, self.n_clusters)
        first, second = self.pairs
        both = form[:, first, second] + form[:, second, first]
        both[:, first == second] /= 2
        return np.asarray(both)

    def _table(self, level: Codes) -> Matrix:
        """How many rows of each level each cluster has."""
        room = (int(level.max()) + 1) * self.n_clusters
        counted = np.bincount(level * self.n_clusters + self.clusters, minlength=room)
        return counted.reshape(-1, self.n_clusters).astype(np.float64)
