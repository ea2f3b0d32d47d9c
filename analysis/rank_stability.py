"""How far average ranks can be relied on: other observations, fewer metrics, fewer cells.

Resamples of observations keep the same observations for all methods and metrics of a cell, and for
all cells of a block. A resample matters only through how often each observation was drawn. With the
values of each cell, metric and method sorted once, its median is found from the running sum of
these counts, so that a thousand resamples of half a million values take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import kendalltau

from analysis.metric_ranks import (
    Scores,
    Tensor,
    average_ranks,
    cell_codes,
    cell_columns,
    middle_ranks,
    places,
)
from analysis.rankings import critical_difference
from analysis.resampling import LEVEL, Matrix, percentile_interval

Counts = NDArray[np.int32]

_CHUNK_NUMBERS = 2**22  # at once in memory


class _Resampler:
    """Average ranks (criteria and groups x methods) under counts of observations."""

    def __init__(self, scores: Scores, by: Sequence[str]) -> None:
        self.scores = scores
        direction = scores.metrics["direction"].to_numpy(np.float64)[None, :, None, None]
        self.tables = []  # of each block: cells, sorted values, their order
        for block, size in enumerate(scores.sizes):
            cells = np.flatnonzero(scores.blocks == block)
            values = scores.array[cells][..., :size] * direction
            order = np.argsort(values, axis=-1, kind="stable")  # missing ones last
            sorted_ = np.take_along_axis(values, order, -1)
            order[np.isnan(sorted_)] = size  # an observation that is never drawn
            self.tables.append((cells, sorted_, order))
        # Groups of average ranks: which cells and metrics each of them is the mean of
        about = scores.metrics["criterion"].astype(str).to_numpy(object)
        groups = scores.cells.groupby(list(by), sort=True) if by else [((), scores.cells)]
        self.keys, members = [], []
        for name, part in groups:
            for criterion in dict.fromkeys(about):
                inside = np.zeros(scores.array.shape[:2])
                inside[np.ix_(part.index.to_numpy(), np.flatnonzero(about == criterion))] = 1
                self.keys.append((*(name if isinstance(name, tuple) else (name,)), criterion))
                members.append(inside.ravel())
        self.members = np.array(members)

    def averages(self, counts: Sequence[Counts]) -> Tensor:
        """Resamples x groups x methods, from the counts of each block (resamples x size)."""
        number = len(counts[0])
        numbers = self.scores.array.size + self.scores.array[..., 0].size * 2
        step = max(1, _CHUNK_NUMBERS // max(numbers, 1))
        parts = [
            self._averages([one[start : start + step] for one in counts])
            for start in range(0, number, step)
        ]
        return np.concatenate(parts)

    def _averages(self, counts: Sequence[Counts]) -> Tensor:
        number = len(counts[0])
        medians = np.full((number, *self.scores.array.shape[:3]), np.nan)
        for drawn, (cells, values, order) in zip(counts, self.tables, strict=True):
            for resample in range(number):
                medians[resample, cells] = _weighted_medians(values, order, drawn[resample])
        ranks = middle_ranks(medians).reshape(number, -1, medians.shape[-1])
        known = np.isfinite(ranks)
        sums = self.members @ np.where(known, ranks, 0)
        sizes = self.members @ known
        return np.asarray(np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0))


def _weighted_medians(values: Tensor, order: NDArray[np.intp], counts: Counts) -> Tensor:
    """Medians over the last axis where observation o occurs ``counts[o]`` times."""
    with_none = np.append(counts, 0).astype(np.int32)
    reached = np.cumsum(with_none[order], axis=-1, dtype=np.int32)
    total = reached[..., -1:]
    low = (reached < (total + 1) // 2).sum(-1, keepdims=True)
    high = (reached < total // 2 + 1).sum(-1, keepdims=True)
    last = values.shape[-1] - 1
    both = [np.take_along_axis(values, np.minimum(at, last), -1)[..., 0] for at in (low, high)]
    return np.where(total[..., 0] > 0, (both[0] + both[1]) / 2, np.nan)


def _whole(scores: Scores, by: Sequence[str]) -> tuple[_Resampler, Matrix]:
    """Average ranks from all observations (groups x methods)."""
    resampler = _Resampler(scores, by)
    if not len(scores.sizes):
        return resampler, np.zeros((0, len(scores.methods)))
    ones = [np.ones((1, int(size)), np.int32) for size in scores.sizes]
    return resampler, resampler.averages(ones)[0]


def _least(scores: Scores) -> int:
    """The number of observations of the smallest block."""
    return int(scores.sizes.min()) if len(scores.sizes) else 0


def _draws(
    scores: Scores, resamples: int, seed: int, size: int | None = None, *, again: bool = True
) -> list[Counts]:
    """For each block, how often each observation is drawn (resamples x observations).

    ``size`` observations, None: as many as there are; with replacement if ``again``.
    """
    rng = np.random.default_rng(seed)
    drawn = []
    for own in scores.sizes:
        number = int(own) if size is None else size
        if again:
            counts = rng.multinomial(number, np.full(own, 1 / own), resamples)
        else:
            order = np.argsort(rng.random((resamples, int(own))), axis=1)
            counts = (order < number).astype(int)
        drawn.append(counts.astype(np.int32))
    return drawn


def _frame(resampler: _Resampler, by: Sequence[str], whole: Matrix) -> pd.DataFrame:
    """Names of groups and methods of averages (groups x methods) that are there."""
    rows, methods = np.nonzero(np.isfinite(whole))
    names = pd.DataFrame([resampler.keys[row] for row in rows], columns=[*by, "criterion"])
    return names.assign(method=np.asarray(resampler.scores.methods, object)[methods])


def bootstrap_average_ranks(
    scores: Scores, by: Sequence[str] = (), *, resamples: int = 1_000, seed: int = 0
) -> pd.DataFrame:
    r"""Intervals of average ranks over observations.

    In each resample observations are drawn anew within each block, medians and ranks are taken
    again and averaged. A resample is noisier than the data, which draws the ranks of methods that
    differ little towards the middle. The interval is therefore the wider one, at each end, of two:

    .. math:: [\min\{q_{0.025}, \bar R - z s\},\; \max\{q_{0.975}, \bar R + z s\}]

    with quantiles and standard deviation of the resamples, cut at the first and the last rank. In
    simulations with 6 to 8 methods it covers 91 to 99 % of the true average ranks (quantiles alone
    87 to 98 %, reflected quantiles 73 to 83 %), least for a method that is last by a small gap. It
    is about other observations with the same data sets, models and metrics, and says nothing about
    others of these.

    Parameters
    ----------
    scores
        See :func:`analysis.metric_ranks.read_scores`.
    by
        Columns of cells for which averages are taken one by one.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        by, criterion, method, n (observations of the smallest block), estimate, low, high, place,
        place_low, place_high (quantiles of the places in resamples), first (share of resamples in
        which the method is alone on the first place), note.

    References
    ----------
    Hall & Miller 2009, doi:10.1214/08-AOS699 (why the bootstrap of ranks is no simple matter)

    Examples
    --------
    One method is better in every observation:

    >>> frame = pd.DataFrame({"data": "d", "method": np.repeat(["x", "y"], 5), "metric": "m"})
    >>> frame = frame.assign(observation=[0, 1, 2, 3, 4] * 2, value=range(10))
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [1]})
    >>> from analysis.metric_ranks import read_scores
    >>> found = bootstrap_average_ranks(read_scores(frame, metrics, ["data"]), resamples=100)
    >>> found[["method", "estimate", "low", "high", "first"]]
      method  estimate  low  high  first
    0      y       1.0  1.0   1.0    1.0
    1      x       2.0  2.0   2.0    0.0
    """
    resampler, whole = _whole(scores, by)
    frame = _frame(resampler, by, whole)
    there = np.isfinite(whole)
    n = _least(scores)
    frame = frame.assign(n=n, estimate=whole[there])
    if len(frame) == 0 or n < 2:
        note = "one observation: no interval" if n == 1 else "no rank"
        empty = dict.fromkeys(("low", "high", "place_low", "place_high", "first"), np.nan)
        return frame.assign(**empty, place=places(whole)[there], note=note)[_columns(by)]
    drawn = resampler.averages(_draws(scores, resamples, seed))
    last = there.sum(axis=1, keepdims=True)
    low, high = percentile_interval(drawn.reshape(resamples, -1))
    low, high = (end.reshape(whole.shape) for end in (low, high))
    reach = float(ndtri((1 + LEVEL) / 2)) * drawn.std(axis=0)
    ends = np.stack([np.minimum(low, whole - reach), np.maximum(high, whole + reach)])
    ends = np.clip(ends, 1, last)
    own = places(drawn)
    place_low, place_high = percentile_interval(own.reshape(resamples, -1))
    frame = frame.assign(
        low=ends[0][there],
        high=ends[1][there],
        place=places(whole)[there],
        place_low=place_low.reshape(whole.shape)[there],
        place_high=place_high.reshape(whole.shape)[there],
        first=(own == 1).mean(axis=0)[there],
        note=np.where(np.isfinite(ends[0][there]), "", "too many resamples without a rank"),
    )
    return frame[_columns(by)].sort_values([*by, "criterion", "estimate"], ignore_index=True)


def _columns(by: Sequence[str]) -> list[str]:
    head = [*by, "criterion", "method", "n", "estimate", "low", "high"]
    return [*head, "place", "place_low", "place_high", "first", "note"]


def critical_differences(
    ranks: pd.DataFrame, by: Sequence[str] = (), block: Sequence[str] | None = None
) -> pd.DataFrame:
    """Mean ranks over cells with Friedman's test and Nemenyi's critical difference.

    Each cell is a block: within it the methods are ranked by their average rank over the metrics of
    a criterion. (Metrics of one cell look at the same maps and are no independent blocks.) Methods
    that are not in all blocks of a group are left out, and the note counts them.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    by
        Columns of cells for which the test is done one by one, beside the criterion.
    block
        What makes a block; None: all columns of cells. Data sets are safer where several models
        look at the same images.

    Returns
    -------
    DataFrame
        by, criterion and the columns of :func:`analysis.rankings.critical_difference`.

    Examples
    --------
    >>> ranks = pd.DataFrame({"data": np.repeat(range(9), 2), "criterion": "good", "metric": "m"})
    >>> ranks = ranks.assign(method=["x", "y"] * 9, rank=[1.0, 2] * 9)
    >>> critical_differences(ranks)[["criterion", "item", "n", "estimate"]]
      criterion item  n  estimate
    0      good    x  9       1.0
    1      good    y  9       2.0
    """
    cells = cell_columns(ranks) if block is None else list(block)
    keys = [*by, "criterion"]
    frames = []
    for name, part in ranks.groupby(keys, sort=True):
        here = part.assign(block=cell_codes(part, cells))
        means = here.groupby(["block", "method"], sort=True)["rank"].mean().reset_index()
        wide = means.pivot(index="block", columns="method", values="rank")  # noqa: PD010
        whole = wide.dropna(axis=1)
        found = critical_difference(-whole)
        lost = wide.shape[1] - whole.shape[1]
        if lost:
            note = f"{lost} methods that are not in all blocks left out"
            found["note"] = [f"{one}; {note}" if one else note for one in found["note"]]
        names = pd.DataFrame([name] * len(found), columns=keys)
        frames.append(pd.concat([names, found], axis=1))
    if not frames:
        return pd.DataFrame(columns=keys)
    return pd.concat(frames, ignore_index=True)


def leave_one_out(ranks: pd.DataFrame, column: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """How average ranks move when one metric, or one level of a cell column, is left out.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    column
        "metric", or a column of cells such as the data set.
    by
        Columns of cells for which averages are taken one by one.

    Returns
    -------
    DataFrame
        by, criterion, left_out (column), level, method, n (ranks that stay), estimate (average
        rank without it), change, place, place_change, tau (Kendall's, of the order of all methods
        without it and with it), note. Criteria to which a metric does not belong do not change and
        have no rows for it.

    Examples
    --------
    Without the second metric both methods change places:

    >>> ranks = pd.DataFrame({"data": "d", "criterion": "good", "metric": list("mmkk")})
    >>> ranks = ranks.assign(method=list("xyxy"), rank=[2.0, 1, 1, 4], ranked=4)
    >>> leave_one_out(ranks, "metric")[["level", "method", "estimate", "change", "tau"]]
      level method  estimate  change  tau
    0     k      x       2.0     0.5 -1.0
    1     k      y       1.0    -1.5 -1.0
    2     m      x       1.0    -0.5  1.0
    3     m      y       4.0     1.5  1.0
    """
    keys = [*by, "criterion"]
    full = average_ranks(ranks, by)[[*keys, "method", "estimate", "place"]]
    frames = []
    for level in sorted(ranks[column].unique()):
        touched = ranks.loc[ranks[column] == level, keys].drop_duplicates()
        part = ranks[ranks[column] != level].merge(touched, on=keys)
        columns = [*keys, "method", "n", "estimate", "place"]
        less = average_ranks(part, by)[columns] if len(part) else pd.DataFrame(columns=columns)
        both = full.merge(touched, on=keys).merge(
            less, on=[*keys, "method"], how="left", suffixes=("_all", "")
        )
        frames.append(both.assign(left_out=column, level=level))
    head = [*keys, "left_out", "level", "method", "n", "estimate", "change", "place"]
    head += ["place_change", "tau", "note"]
    if not frames:
        return pd.DataFrame(columns=head)
    table = pd.concat(frames, ignore_index=True)
    table["n"] = table["n"].fillna(0).astype(int)
    table["change"] = table["estimate"] - table["estimate_all"]
    table["place_change"] = table["place"] - table["place_all"]
    table["note"] = np.where(table["estimate"].notna(), "", "nothing is left")
    group = table.groupby([*keys, "level"], sort=False)
    taus = {name: _tau(part["estimate_all"], part["estimate"]) for name, part in group}
    names = table[[*keys, "level"]].itertuples(index=False, name=None)
    table["tau"] = [taus[name] for name in names]
    return table.sort_values([*keys, "level", "method"], ignore_index=True)[head]


def _tau(one: pd.Series, two: pd.Series) -> float:
    known = one.notna() & two.notna()
    if known.sum() < 2:
        return np.nan
    return float(kendalltau(one[known].to_numpy(float), two[known].to_numpy(float)).statistic)


def half_of_observations(
    scores: Scores, by: Sequence[str] = (), *, resamples: int = 200, seed: int = 0
) -> pd.DataFrame:
    """How average ranks move when a random half of the observations is left out.

    Parameters
    ----------
    scores
        See :func:`analysis.metric_ranks.read_scores`.
    by
        Columns of cells for which averages are taken one by one.
    resamples, seed
        How many halves, and the seed of their random numbers.

    Returns
    -------
    DataFrame
        by, criterion, method, n (observations in the half of the smallest block), estimate (mean
        size of the change of the average rank), largest (the largest), place_change (mean size of
        the change of the place), note.

    Examples
    --------
    >>> frame = pd.DataFrame({"data": "d", "method": np.repeat(["x", "y"], 4), "metric": "m"})
    >>> frame = frame.assign(observation=[0, 1, 2, 3] * 2, value=range(8))
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [1]})
    >>> from analysis.metric_ranks import read_scores
    >>> found = half_of_observations(read_scores(frame, metrics, ["data"]))
    >>> found[["method", "n", "estimate", "largest", "place_change"]]
      method  n  estimate  largest  place_change
    0      x  2       0.0      0.0           0.0
    1      y  2       0.0      0.0           0.0
    """
    sizes = scores.sizes
    resampler, whole = _whole(scores, by)
    frame, there = _frame(resampler, by, whole), np.isfinite(whole)
    n = _least(scores) // 2
    columns = [*by, "criterion", "method", "n", "estimate", "largest", "place_change", "note"]
    if n < 1:
        return frame.assign(n=n, note="one observation cannot be halved").reindex(columns=columns)
    rng = np.random.default_rng(seed)
    halves = []
    for size in sizes:
        order = np.argsort(rng.random((resamples, int(size))), axis=1)
        halves.append((order < int(size) // 2).astype(np.int32))
    drawn = resampler.averages(halves)
    change = np.abs(drawn - whole)
    moved = np.abs(places(drawn) - places(whole))
    return frame.assign(
        n=n,
        estimate=change.mean(axis=0)[there],
        largest=change.max(axis=0)[there],
        place_change=moved.mean(axis=0)[there],
        note="",
    )[columns]


def stable_order(
    scores: Scores,
    by: Sequence[str] = (),
    *,
    sizes: Sequence[int] = (2, 4, 8, 16, 32, 64, 128, 256),
    resamples: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Kendall's :math:`\tau_b` between the order from n observations and the order from all.

    n observations are drawn with replacement from those there are, so that n may be larger than
    their number: the data stand for the population then, and what is beyond them is a forecast.

    Parameters
    ----------
    scores
        See :func:`analysis.metric_ranks.read_scores`.
    by
        Columns of cells for which averages are taken one by one.
    sizes
        Numbers of observations to try.
    resamples, seed
        How often to draw, and the seed.

    Returns
    -------
    DataFrame
        by, criterion, methods, n (observations drawn in each block), observations (there are in
        the smallest block), estimate (mean tau), low, high (95 % of the draws), note.

    Examples
    --------
    >>> frame = pd.DataFrame({"data": "d", "method": np.repeat(["x", "y"], 4), "metric": "m"})
    >>> frame = frame.assign(observation=[0, 1, 2, 3] * 2, value=range(8))
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [1]})
    >>> from analysis.metric_ranks import read_scores
    >>> found = stable_order(read_scores(frame, metrics, ["data"]), sizes=[2])
    >>> found[["criterion", "methods", "n", "observations", "estimate"]]
      criterion  methods  n  observations  estimate
    0      good        2  2             4       1.0
    """
    resampler, whole = _whole(scores, by)
    least = _least(scores)
    rows = []
    for number, size in enumerate(sorted(sizes) if least else []):
        drawn = resampler.averages(_draws(scores, resamples, seed + number, size))
        for group, key in enumerate(resampler.keys):
            there = np.isfinite(whole[group])
            row = dict(zip([*by, "criterion"], key, strict=True)) | {"methods": int(there.sum())}
            row |= {"n": size, "observations": least}
            if there.sum() < 2:
                rows.append(row | {"note": "fewer than two methods: no order"})
                continue
            taus = _taus(drawn[:, group, there], whole[group, there])
            low, high = percentile_interval(taus[:, None])
            mean = float(np.nanmean(taus)) if np.isfinite(taus).any() else np.nan
            row |= {"estimate": mean, "low": low[0], "high": high[0]}
            rows.append(row | {"note": "" if size <= least else "more than there are: a forecast"})
    columns = [*by, "criterion", "methods", "n", "observations", "estimate", "low", "high", "note"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values([*by, "criterion", "n"], kind="stable", ignore_index=True)


def _taus(drawn: Matrix, whole: Matrix) -> Matrix:
    """Kendall's tau-b of each row with ``whole``; NaN where all of a row is tied."""
    one, two = np.triu_indices(len(whole), 1)
    signs = np.sign(drawn[:, one] - drawn[:, two])
    own = np.sign(whole[one] - whole[two])
    size = np.sqrt((signs**2).sum(1) * (own**2).sum())
    return np.asarray(np.divide(signs @ own, size, out=np.full(len(drawn), np.nan), where=size > 0))


def observations_needed(
    stability: pd.DataFrame, tau: float = 0.9, by: Sequence[str] = ()
) -> pd.DataFrame:
    """The smallest number of observations tried from which on the order is stable.

    Parameters
    ----------
    stability
        From :func:`stable_order`.
    tau
        What the mean correlation with the order from all observations must reach, there and with
        every larger number.
    by
        As for :func:`stable_order`.

    Returns
    -------
    DataFrame
        by, criterion, methods, observations (there are), tau, n (needed; missing if none that was
        tried is enough), estimate, low, high (at that number), note.

    Examples
    --------
    >>> stability = pd.DataFrame({"criterion": "good", "methods": 5, "n": [2, 4, 8]})
    >>> stability = stability.assign(observations=8, estimate=[0.6, 0.91, 0.97], low=0, high=1)
    >>> observations_needed(stability)[["criterion", "tau", "n", "estimate"]]
      criterion  tau  n  estimate
    0      good  0.9  4      0.91
    """
    keys = [*by, "criterion"]
    rows = []
    for name, part in stability.sort_values("n", kind="stable").groupby(keys, sort=True):
        enough = (part["estimate"] >= tau).to_numpy(bool)
        stays = np.logical_and.accumulate(enough[::-1])[::-1]
        row: dict[str, object] = dict(zip(keys, name, strict=True)) | {"tau": tau, "n": np.nan}
        first = part.iloc[int(np.argmax(stays))] if len(part) else None
        if first is not None:
            row |= {field: first[field] for field in ("methods", "observations")}
        if first is not None and stays.any():
            row |= {field: first[field] for field in ("n", "estimate", "low", "high")}
            more = first["n"] > first["observations"]
            row["note"] = "more than there are: a forecast" if more else ""
        else:
            row["note"] = "no number that was tried is enough"
        rows.append(row)
    columns = [*keys, "methods", "observations", "tau", "n", "estimate", "low", "high", "note"]
    return pd.DataFrame(rows, columns=columns)
