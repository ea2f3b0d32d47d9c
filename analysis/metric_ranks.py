"""Ranks of methods by many metrics in many cells, and their averages: rank first, then aggregate.

A cell is one setting in which all methods were measured (a data set and a model, say). In it every
metric ranks the methods by their median over observations; ranks have no units, so that they can be
averaged over metrics and cells where values cannot. Rank 1 is the best.

All functions but :func:`read_scores` and :func:`cell_ranks` take the ranks as a tidy frame, in
which every column that is not one of :data:`RANK_COLUMNS` says what a cell is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from analysis.contrasts import clustered_mean, codes_of, contrast_row
from analysis.resampling import Codes, Matrix, notes

Ties = Literal["middle", "order"]
Flags = NDArray[np.bool_]
Tensor = NDArray[np.float64]

RANK_COLUMNS = ("criterion", "metric", "method", "n", "estimate", "rank", "ranked", "note")
WEIGHTED = "weighted"  # the criterion of a weighted mean over criteria

_NO_VALUE = "no value in this cell: not ranked"
_ALONE = "no other method has a value: not ranked"
_NOT_FINITE = -1e300  # below every value that is ranked


@dataclass(frozen=True)
class Scores:
    """Values of all methods by all metrics in all cells, as arrays.

    Attributes
    ----------
    array
        Cells x metrics x methods x observations; NaN where there is no value.
    applied
        Cells x methods: whether the method was tried in the cell at all.
    cells
        The columns that name a cell, a row for each.
    metrics
        metric, criterion, direction (1: higher is better, -1: lower).
    methods
        Their names; the order decides ties where ``ties`` is "order".
    blocks
        For each cell the number of its block: cells of a block share their observations.
    sizes
        The number of observations of each block.

    Examples
    --------
    >>> frame = pd.DataFrame({"data": "d", "method": list("xxyy"), "metric": "m"})
    >>> frame = frame.assign(observation=[0, 1, 0, 1], value=[1.0, 2, 3, 4])
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [1]})
    >>> read_scores(frame, metrics, ["data"]).array.shape
    (1, 1, 2, 2)
    """

    array: Tensor
    applied: Flags
    cells: pd.DataFrame
    metrics: pd.DataFrame
    methods: tuple[str, ...]
    blocks: Codes
    sizes: Codes


def read_scores(
    frame: pd.DataFrame,
    metrics: pd.DataFrame,
    cells: Sequence[str],
    *,
    blocks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Scores:
    """Arrange a tidy frame of values as arrays.

    Parameters
    ----------
    frame
        method, metric, observation, value and the columns of ``cells``. If there is a column
        status, a row counts only where it is "ok". What is missing or not finite is no value.
    metrics
        metric, criterion, direction (1: higher is better, -1: lower is better).
    cells
        The columns that name a cell, for example data set and model.
    blocks
        Those of them that decide what an observation is: in cells with the same data set
        "observation 3" may be the same image. They are resampled together. None: all columns, so
        that each cell has its own.
    methods
        Their order; None: sorted by name.

    Returns
    -------
    Scores

    Examples
    --------
    >>> frame = pd.DataFrame({"data": "d", "method": list("xxyy"), "metric": list("mkmk")})
    >>> frame = frame.assign(observation=0, value=[0.5, 3, 0.2, float("nan")])
    >>> metrics = pd.DataFrame({"metric": list("mk"), "criterion": "good", "direction": [1, -1]})
    >>> read_scores(frame, metrics, ["data"]).array[0, ..., 0]
    array([[0.5, 0.2],
           [3. , nan]])
    """
    cells = list(cells)
    shared = cells if blocks is None else list(blocks)
    needed = [*cells, "method", "metric", "observation", "value"]
    for name, table, columns in (
        ("the values", frame, needed),
        ("the metrics", metrics, ["metric", "criterion", "direction"]),
    ):
        lacking = [column for column in columns if column not in table]
        if lacking:
            raise ValueError(f"{name} have no column {', '.join(lacking)}")
    if not set(shared) <= set(cells):
        raise ValueError("blocks must be columns of cells")
    if not metrics["direction"].isin([1, -1]).all() or metrics["metric"].duplicated().any():
        raise ValueError("every metric needs one line and the direction 1 or -1")
    about = metrics[["metric", "criterion", "direction"]].reset_index(drop=True)
    strange = sorted(set(frame["metric"].astype(str)) - set(about["metric"].astype(str)))
    if strange:
        raise ValueError(f"metrics without criterion and direction: {', '.join(strange)}")
    keys = [*cells, "method", "metric", "observation"]
    if frame[keys].isna().any(axis=None):
        raise ValueError(f"{', '.join(keys)} must not be missing")
    twice = frame.duplicated(keys)
    if twice.any():
        line = frame.loc[twice, keys].iloc[0].to_dict()
        raise ValueError(f"there are several values of {line}")
    known = tuple(sorted(set(frame["method"]))) if methods is None else tuple(methods)
    if set(frame["method"]) - set(known):
        raise ValueError("methods lacks a method of the values")
    return _arranged(frame, about, cells, shared, known)


def _arranged(
    frame: pd.DataFrame,
    about: pd.DataFrame,
    cells: list[str],
    shared: list[str],
    methods: tuple[str, ...],
) -> Scores:
    table = frame[cells].drop_duplicates().sort_values(cells, ignore_index=True)
    cell = pd.MultiIndex.from_frame(table).get_indexer(pd.MultiIndex.from_frame(frame[cells]))
    block = codes_of(table.groupby(shared, sort=False).ngroup())
    of_row = np.asarray(block[cell], np.intp)
    # Observations are numbered within their block.
    pairs = pd.DataFrame({"block": of_row, "observation": frame["observation"].to_numpy()})
    place = pairs.groupby("block")["observation"].rank(method="dense").to_numpy(np.float64)
    observation = np.asarray(place - 1, np.intp)
    sizes = np.zeros(int(block.max(initial=-1)) + 1, np.intp)
    np.maximum.at(sizes, of_row, observation + 1)
    shape = (len(table), len(about), len(methods), int(sizes.max(initial=0)))
    values = np.full(shape, np.nan)
    applied = np.zeros((len(table), len(methods)), bool)
    metric = pd.Index(about["metric"]).get_indexer(pd.Index(frame["metric"]))
    method = pd.Index(methods).get_indexer(pd.Index(frame["method"]))
    given = frame["value"].to_numpy(np.float64, copy=True)
    given[~np.isfinite(given)] = np.nan
    if "status" in frame:
        given[(frame["status"] != "ok").to_numpy(bool)] = np.nan
    values[cell, metric, method, observation] = given
    applied[cell, method] = True
    return Scores(values, applied, table, about, methods, block, sizes)


def cell_ranks(scores: Scores, *, ties: Ties = "middle") -> pd.DataFrame:
    """Rank the methods of each cell by each metric, by their median over observations.

    A method without any value of a metric is not ranked there, the others are ranked without it,
    and the note says so. With ``ties="order"`` it is done as released benchmark code does it
    (``argsort``, turned round where higher is better): ties go by the order of methods, the other
    way round where higher is better, and a method without a value is the last one, or the first one
    where higher is better. This is there to show what it does, not to be used.

    Parameters
    ----------
    scores
        See :func:`read_scores`.
    ties
        "middle": methods with equal medians share the mean of their ranks. "order": see above.

    Returns
    -------
    DataFrame
        The columns of cells, criterion, metric, method, n (observations with a value), estimate
        (median), rank, ranked (how many methods have a rank there), note. Methods that were not
        tried in a cell have no row there.

    Examples
    --------
    Higher is better; the third method has no value:

    >>> frame = pd.DataFrame({"data": "d", "method": list("xyz"), "metric": "m"})
    >>> frame = frame.assign(observation=0, value=[0.5, 0.7, float("nan")])
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [1]})
    >>> scores = read_scores(frame, metrics, ["data"])
    >>> cell_ranks(scores)[["method", "n", "estimate", "rank", "ranked"]]
      method  n  estimate  rank  ranked
    0      x  1       0.5   2.0       2
    1      y  1       0.7   1.0       2
    2      z  0       NaN   NaN       2
    >>> cell_ranks(scores, ties="order")["rank"].tolist()
    [3.0, 2.0, 1.0]
    """
    medians = _medians(scores.array)
    direction = scores.metrics["direction"].to_numpy(np.float64)[None, :, None]
    if ties == "middle":
        ranks = middle_ranks(medians * direction)
    else:
        ranks = _ranks_by_order(medians, direction, scores.applied)
    known = np.isfinite(scores.array).sum(axis=3)
    return _tidy(scores, medians, ranks, known)


def _tidy(scores: Scores, medians: Tensor, ranks: Tensor, known: NDArray[np.int_]) -> pd.DataFrame:
    """Arrays (cells x metrics x methods) as a frame of the methods that were tried."""
    ranked = np.broadcast_to(np.isfinite(ranks).sum(axis=2, keepdims=True), ranks.shape)
    tried = np.broadcast_to(scores.applied[:, None], ranks.shape)
    cell, metric, method = np.nonzero(tried)
    here = (cell, metric, method)
    frame = scores.cells.iloc[cell].reset_index(drop=True)
    about = scores.metrics.iloc[metric].reset_index(drop=True)
    lone = np.where(known[here] > 0, _ALONE, _NO_VALUE)
    return frame.assign(
        criterion=about["criterion"],
        metric=about["metric"],
        method=np.asarray(scores.methods, object)[method],
        n=known[here],
        estimate=medians[here],
        rank=ranks[here],
        ranked=ranked[here],
        note=np.where(np.isfinite(ranks[here]), "", lone),
    )


def _medians(values: Tensor) -> Tensor:
    """Median over the last axis of what is there; NaN where nothing is."""
    ordered = np.sort(values, axis=-1)  # missing ones last
    n = np.isfinite(values).sum(axis=-1)
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    low = np.take_along_axis(ordered, np.maximum((n - 1) // 2, 0)[..., None], -1)[..., 0]
    high = np.take_along_axis(ordered, np.minimum(n // 2, values.shape[-1] - 1)[..., None], -1)
    both = (low + high[..., 0]) / 2
    return np.where(n > 0, both, np.nan)


def middle_ranks(values: NDArray[np.floating]) -> Tensor:
    """Rank along the last axis, the largest first; ties share the mean of their ranks.

    Parameters
    ----------
    values
        NaN where there is none: it is not ranked, and neither is a value without any other.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> middle_ranks(np.array([[3.0, 1, 3, np.nan], [2, np.nan, np.nan, np.nan]]))
    array([[1.5, 3. , 1.5, nan],
           [nan, nan, nan, nan]])
    """
    known = np.isfinite(values)
    filled = np.where(known, values, _NOT_FINITE)  # missing ones come after all others
    ranks = np.zeros(values.shape)
    for other in range(values.shape[-1]):  # one comparison with all: rankdata is slower by far
        against = filled[..., other, None]
        ranks += (filled < against) + 0.5 * (filled == against)
    enough = known.sum(axis=-1, keepdims=True) > 1
    return np.where(known & enough, ranks + 0.5, np.nan)


def _ranks_by_order(medians: Tensor, direction: Tensor, applied: Flags) -> Tensor:
    ranks = np.full(medians.shape, np.nan)
    for cell in range(len(medians)):
        there = np.flatnonzero(applied[cell])
        for metric in range(medians.shape[1]):
            order = medians[cell, metric, there].argsort(kind="stable")
            if direction[0, metric, 0] > 0:
                order = order[::-1]
            ranks[cell, metric, there[order]] = np.arange(1, len(there) + 1)
    return ranks


def pooled_ranks(scores: Scores, over: str, *, tails: float = 0.025) -> pd.DataFrame:
    r"""Rank over all levels of one cell column at once, as released benchmark code does it.

    In each cell and for each metric all values are cut at two quantiles and brought to [0, 1],

    .. math:: \frac{\min\{\max\{x, q_\alpha\}, q_{1 - \alpha}\} - q_\alpha}
                   {q_{1 - \alpha} - q_\alpha + 10^{-10}},

    then the values of all levels are put together and methods are ranked by their median, ties by
    order. Methods that were tried in one level only are ranked by its values alone, although other
    levels may be harder. To be shown beside :func:`cell_ranks`, not instead of it.

    Parameters
    ----------
    scores
        See :func:`read_scores`.
    over
        The column of cells whose levels are put together.
    tails
        The share that is cut at each end.

    Returns
    -------
    DataFrame
        As from :func:`cell_ranks`, without the column ``over``.

    Examples
    --------
    Two models on different scales:

    >>> frame = pd.DataFrame({"model": list("aaabbb"), "method": list("xyzxyz"), "metric": "m"})
    >>> frame = frame.assign(observation=0, value=[1.0, 2, 3, 100, 300, 250], data="d")
    >>> metrics = pd.DataFrame({"metric": ["m"], "criterion": ["good"], "direction": [1]})
    >>> scores = read_scores(frame, metrics, ["data", "model"])
    >>> pooled_ranks(scores, "model")[["data", "method", "n", "rank"]]
      data method  n  rank
    0    d      x  2   3.0
    1    d      y  2   2.0
    2    d      z  2   1.0
    """
    rest = [column for column in scores.cells if column != over]
    if over not in scores.cells or not rest:
        raise ValueError("over must be one of at least two columns of cells")
    if not len(scores.cells):
        return cell_ranks(scores, ties="order").drop(columns=over)
    flat = scores.array.reshape(*scores.array.shape[:2], -1)
    ends = [np.nan_to_num(_quantile(flat, share))[..., None, None] for share in (tails, 1 - tails)]
    scaled = (np.clip(scores.array, *ends) - ends[0]) / (ends[1] - ends[0] + 1e-10)
    keys = pd.MultiIndex.from_frame(scores.cells[rest])
    table = scores.cells[rest].drop_duplicates().reset_index(drop=True)
    code = pd.MultiIndex.from_frame(table).get_indexer(keys)
    parts, applied = [], []
    for number in range(len(table)):
        mine = np.flatnonzero(code == number)
        parts.append(np.concatenate(list(scaled[mine]), axis=-1))
        applied.append(scores.applied[mine].any(axis=0))
    width = max((part.shape[-1] for part in parts), default=0)
    padded = [
        np.pad(part, ((0, 0), (0, 0), (0, width - part.shape[-1])), constant_values=np.nan)
        for part in parts
    ]
    size = (len(table), *scores.array.shape[1:3], width)
    values = np.stack(padded) if parts else np.zeros(size)
    together = Scores(
        values,
        np.array(applied, bool).reshape(size[0], size[2]),
        table,
        scores.metrics,
        scores.methods,
        np.arange(len(table)),
        np.full(len(table), width),
    )
    return cell_ranks(together, ties="order")


def _quantile(flat: Tensor, share: float) -> Matrix:
    """Quantile over the last axis of what is there, NaN where nothing is."""
    found = np.full(flat.shape[:-1], np.nan)
    for place in np.ndindex(*flat.shape[:-1]):
        there = flat[place][np.isfinite(flat[place])]
        if len(there):
            found[place] = np.quantile(there, share)
    return found


def missing_values(ranks: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Count where a method was tried and a metric has no value for the whole cell.

    Parameters
    ----------
    ranks
        From :func:`cell_ranks`.
    by
        Columns to count by, beside the metric; for example method.

    Returns
    -------
    DataFrame
        by, criterion, metric, n (cells and methods), missing, estimate (share); only where some are
        missing.

    Examples
    --------
    >>> ranks = pd.DataFrame({"criterion": "good", "metric": "m", "method": list("xyz")})
    >>> missing_values(ranks.assign(rank=[1.0, 2.0, float("nan")], n=[5, 5, 0]))
      criterion metric  n  missing  estimate
    0      good      m  3        1  0.333333
    """
    keys = [*by, "criterion", "metric"]
    grouped = ranks.assign(lost=ranks["n"] == 0).groupby(keys, sort=False)["lost"]
    found = grouped.agg(n="size", missing="sum").reset_index()
    found = found.assign(estimate=found["missing"] / found["n"])
    return found[found["missing"] > 0].reset_index(drop=True)


def cell_columns(ranks: pd.DataFrame) -> list[str]:
    """The columns of a frame of ranks that say what a cell is.

    Parameters
    ----------
    ranks
        From :func:`cell_ranks`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> cell_columns(pd.DataFrame(columns=["data", "model", "criterion", "metric", "rank"]))
    ['data', 'model']
    """
    return [str(column) for column in ranks if column not in RANK_COLUMNS]


def cell_codes(ranks: pd.DataFrame, columns: Sequence[str] | None = None) -> Codes:
    """Number the cells of a frame of ranks, for clustered errors.

    Parameters
    ----------
    ranks
        From :func:`cell_ranks`.
    columns
        What makes a cell; None: all columns of cells.

    Returns
    -------
    ndarray
        A number for each row.

    Examples
    --------
    >>> cell_codes(pd.DataFrame({"data": list("ddee"), "model": list("ffff"), "rank": 1.0}))
    array([0, 0, 1, 1])
    """
    keys = cell_columns(ranks) if columns is None else list(columns)
    if not keys:
        return np.zeros(len(ranks), np.intp)
    return np.asarray(ranks.groupby(keys, sort=False).ngroup(), np.intp)


def average_ranks(
    ranks: pd.DataFrame,
    by: Sequence[str] = (),
    *,
    weights: Mapping[str, float] | None = None,
    ddof: int = 1,
) -> pd.DataFrame:
    r"""Mean rank of each method over metrics and cells, for each criterion.

    .. math:: \bar R_f = \frac{\sum_{c} w_c \sum_{a} R_{c, a, f}}{\sum_c w_c \sum_a 1}

    over metrics :math:`c` and cells :math:`a` in which the method has a rank. Beside it the spread
    between the metrics of a cell, averaged over cells (:func:`rank_spread`): an average in the
    middle may come from metrics that agree or from metrics that contradict each other.

    Parameters
    ----------
    ranks
        From :func:`cell_ranks` or :func:`pooled_ranks`.
    by
        Columns of cells for which averages are taken one by one.
    weights
        Of the metrics by name, for example from :func:`analysis.rank_comparisons.distance_weights`;
        None: all count the same.
    ddof
        Of the spread: 1 makes criteria with few and with many metrics comparable, 0 is what
        ``numpy.std`` gives.

    Returns
    -------
    DataFrame
        by, criterion, method, n (ranks), missing (metrics without a value in a cell), cells,
        metrics, estimate, error (of the mean, all ranks taken as independent), sd, expected (mean
        of random ranks), place (rank of the average), place_rounded (rank of the average rounded
        to a whole number), note; best first.

    Examples
    --------
    >>> ranks = pd.DataFrame({"data": "d", "criterion": "good", "metric": list("mmkk")})
    >>> ranks = ranks.assign(method=list("xyxy"), rank=[1.0, 2, 1, 2], ranked=2)
    >>> average_ranks(ranks)[["method", "n", "estimate", "sd", "expected", "place"]]
      method  n  estimate   sd  expected  place
    0      x  2       1.0  0.0       1.5    1.0
    1      y  2       2.0  0.0       1.5    2.0
    """
    keys = [*by, "criterion", "method"]
    frame = ranks.assign(cell=cell_codes(ranks), lost=ranks["rank"].isna())
    frame["weight"] = 1.0 if weights is None else frame["metric"].map(weights).astype(float)
    if frame["weight"].isna().any():
        raise ValueError("weights lacks a metric")
    known = frame[~frame["lost"]]
    weight = known["weight"].to_numpy(np.float64)
    given = known["rank"].to_numpy(np.float64)
    middle = (known["ranked"].to_numpy(np.float64) + 1) / 2
    parts = known[keys].assign(rank=given * weight, weight=weight, expected=middle * weight)
    sums = parts.groupby(keys, sort=True)[["rank", "weight", "expected"]].sum()
    grouped = known.groupby(keys, sort=True)
    table = pd.DataFrame(
        {
            "n": grouped["rank"].size(),
            "cells": grouped["cell"].nunique(),
            "metrics": grouped["metric"].nunique(),
            "estimate": sums["rank"] / sums["weight"],
            "error": grouped["rank"].sem(),
            "expected": sums["expected"] / sums["weight"],
        }
    )
    everybody = frame.groupby(keys, sort=True)["lost"].sum().rename("missing")
    table = table.join(everybody, how="right")
    inner = known.groupby([*keys, "cell"], sort=True)["rank"].std(ddof=ddof)
    table = table.join(inner.groupby(keys, sort=True).mean().rename("sd")).reset_index()
    table["n"] = table["n"].fillna(0).astype(int)
    table["note"] = [_average_note(row) for row in table.to_dict("records")]
    group = ["criterion", *by]
    rounded = table.assign(estimate=np.round(table["estimate"]))
    table["place"] = table.groupby(group)["estimate"].rank()
    table["place_rounded"] = rounded.groupby(group)["estimate"].rank()
    columns = ["n", "missing", "cells", "metrics", "estimate", "error", "sd", "expected"]
    columns += ["place", "place_rounded", "note"]
    table = table[[*keys, *columns]]
    return table.sort_values([*by, "criterion", "estimate", "method"], ignore_index=True)


def _average_note(row: Mapping[object, object]) -> str:
    if not row["n"]:
        return "no rank"
    remarks = [f"{row['missing']} without a value"] if row["missing"] else []
    remarks += ["one metric: no spread"] if row["metrics"] == 1 else []
    return notes(remarks)


def rank_spread(ranks: pd.DataFrame, by: Sequence[str] = (), *, ddof: int = 1) -> pd.DataFrame:
    r"""Standard deviation between the ranks that the metrics of a criterion give, averaged.

    .. math:: \bar\sigma = \frac{1}{|A||F|} \sum_{a, f} \sigma_c(R_{c, a, f})

    over cells :math:`a` and methods :math:`f`; with a column of cells or ``method`` in ``by`` over
    the others only. The error allows for values of the same cell and of the same method. The last
    rows are the mean over criteria, weighted by their numbers of metrics.

    Parameters
    ----------
    ranks
        From :func:`cell_ranks`.
    by
        Columns of cells, or method.
    ddof
        1: variance without bias, so that criteria with few and many metrics compare; 0: as
        ``numpy.std``.

    Returns
    -------
    DataFrame
        by, criterion, n (standard deviations), metrics, estimate, low, high, note.

    Examples
    --------
    Two metrics agree on one method and contradict each other on the other:

    >>> ranks = pd.DataFrame({"data": "d", "criterion": "good", "metric": list("mmkk")})
    >>> ranks = ranks.assign(method=list("xyxy"), rank=[1.0, 2, 1, 4])
    >>> rank_spread(ranks, ["method"], ddof=0)[["method", "criterion", "n", "estimate"]]
      method criterion  n  estimate
    0      x      good  1       0.0
    1      x  weighted  1       0.0
    2      y      good  1       1.0
    3      y  weighted  1       1.0
    """
    keys = [*by, "criterion"]
    frame = ranks[ranks["rank"].notna()]
    frame = frame.assign(cell=cell_codes(frame))
    extra = [column for column in by if column != "method"]
    units = frame.groupby(["cell", "criterion", "method", *extra], sort=True)["rank"]
    spread = pd.DataFrame({"sd": units.std(ddof=ddof), "k": units.size()}).reset_index()
    spread.loc[spread["k"] < 2, "sd"] = np.nan
    rows = []
    for name, part in spread.groupby(keys, sort=True):
        whole = part.dropna(subset=["sd"])
        sds = whole["sd"].to_numpy(np.float64)
        clusters = [codes_of(whole[column]) for column in ("cell", "method")]
        row = contrast_row(clustered_mean(sds, *clusters))
        note = row["note"] if len(sds) else "fewer than two metrics: no spread"
        kept = {field: row[field] for field in ("n", "estimate", "low", "high")}
        rows.append(_named(keys, name) | kept | {"metrics": int(part["k"].max()), "note": note})
    columns = [*keys, "n", "metrics", "estimate", "low", "high", "note"]
    return weighted_over_criteria(pd.DataFrame(rows, columns=columns), by)


def _named(keys: Sequence[str], name: object) -> dict[str, object]:
    """The names of a group as ``groupby`` gives them, by column."""
    values = name if isinstance(name, tuple) else (name,)
    return dict(zip(keys, values, strict=True))


def weighted_over_criteria(
    table: pd.DataFrame, by: Sequence[str] = (), *, weights: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Add rows with the mean of the estimates over criteria, weighted by numbers of metrics.

    Parameters
    ----------
    table
        by, criterion, metrics, estimate, and perhaps n; a criterion without an estimate makes the
        mean missing, for it would be that of other criteria.
    by
        Columns for which a mean is taken one by one.
    weights
        Of the criteria; None: their numbers of metrics.

    Returns
    -------
    DataFrame
        The table with rows of the criterion "weighted".

    Examples
    --------
    >>> table = pd.DataFrame({"criterion": ["good", "small"], "metrics": [3, 1]})
    >>> weighted_over_criteria(table.assign(estimate=[2.0, 6.0]))
      criterion  metrics  estimate
    0      good        3       2.0
    1     small        1       6.0
    2  weighted        4       3.0
    """
    rows = []
    groups = table.groupby(list(by), sort=True) if by else [((), table)]
    for name, part in groups:
        found = part["estimate"].to_numpy(np.float64)
        weight = part["metrics"].to_numpy(np.float64)
        if weights is not None:
            weight = part["criterion"].map(weights).to_numpy(np.float64)
        row = _named(by, name) if by else {}
        row |= {"criterion": WEIGHTED, "metrics": int(part["metrics"].sum())}
        total = weight.sum()
        mean = float(found @ weight / total) if total > 0 else np.nan
        row["estimate"] = mean
        if "n" in table:
            row["n"] = int(part["n"].sum())
        if "note" in table:
            row["note"] = "" if np.isfinite(mean) else "a criterion has no estimate"
        rows.append(row)
    frame = pd.concat([table, pd.DataFrame(rows)], ignore_index=True) if len(table) else table
    if by and len(table):
        frame = frame.sort_values(list(by), kind="stable", ignore_index=True)
    return frame[list(table)]


def places(averages: Matrix) -> Matrix:
    """Rank averages along the last axis, the smallest first, ties in the middle.

    Parameters
    ----------
    averages
        NaN where there is none, which stays so.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> places(np.array([[2.5, 1.0, np.nan, 2.5]]))
    array([[2.5, 1. , nan, 2.5]])
    """
    return np.asarray(rankdata(averages, axis=-1, nan_policy="omit"), np.float64)
