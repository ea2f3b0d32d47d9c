"""Does a weighted committee of predictors predict what people said of items it has not seen?

Rows are items that have a cluster (the image), a group (the technique that made the item), values
of predictors and outcomes. Images as well as techniques are samples, so that every interval allows
for both. Predictors are replaced by their ranks, without looking at an outcome: their units mean
nothing.

A committee is judged on items that it has not seen:

- ``within groups``: ranks within each group; trained on other clusters.
- ``across groups``: ranks over all items; trained on other clusters, of the same groups, so that
  it may know a group by its values. What it finds need not hold for another group.
- ``held-out groups``: trained on other groups and other clusters. Judged over all items, within
  groups, and by the means of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import stdtrit
from scipy.stats import rankdata, spearmanr

from analysis.contrasts import crossed
from analysis.correlation import two_way_correlation
from analysis.predictors import correlate_means
from analysis.resampling import (
    LEVEL,
    Codes,
    Matrix,
    cluster_counts,
    cluster_sums,
    notes,
    percentile_interval,
)

Vector = NDArray[np.float64]
Kind = Literal["best", "mean", "nonnegative", "ridge"]

KINDS: tuple[Kind, ...] = ("best", "mean", "nonnegative", "ridge")
WITHIN, ACROSS, HELD_OUT = "within groups", "across groups", "held-out groups"
SCOPES = (WITHIN, ACROSS, HELD_OUT)
ITEMS, INSIDE, MEANS = "items", "items within groups", "means of groups"
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)  # times the variance of a predictor

_COMPARED = {WITHIN: (INSIDE,), ACROSS: (ITEMS,), HELD_OUT: (ITEMS, INSIDE, MEANS)}
_COVERAGE = 0.9  # share of items that a predictor must have to sit on a committee
_FEWEST = 10  # items


class _Items(NamedTuple):
    """Complete items: ranks of predictors (in [-1/2, 1/2]), and who they belong to."""

    x: Matrix
    cluster: Codes
    group: Codes
    fold: Codes  # of the cluster
    block: Codes  # group x fold
    signs: Vector  # 1, -1 or 0 (unknown) of each predictor


class _Moments(NamedTuple):
    """What a solver needs: centred products of predictors, and of predictors and outcome."""

    cross: Matrix
    both: Vector
    signs: Vector


Solver = Callable[[_Moments], Vector]


class _Fold(NamedTuple):
    """Sums over the blocks of training sets, by stratum; everything that needs no outcome.

    ``seen`` is sets x blocks and ``seen_by`` sets x strata x blocks.
    """

    seen: Matrix
    seen_by: NDArray[np.float64]
    n: Matrix  # sets x strata
    mean_x: NDArray[np.float64]  # sets x strata x predictors
    cross: NDArray[np.float64]  # sets x predictors x predictors


class _Plan(NamedTuple):
    """What is trained on what, prepared for many outcomes of the same items."""

    items: _Items
    stratum: Codes  # of each item
    test: Codes  # of each item: the training set that has not seen it
    outer: _Fold
    inner: _Fold  # training sets less a part, one after the other
    parts: int  # how many parts each training set has
    left: _Fold  # the parts that were taken away
    inverse: NDArray[np.float64]  # inner sets x penalties x predictors x predictors


class _Outcome(NamedTuple):
    """Sums of an outcome in each block: y, x y, and y squared."""

    y: Vector
    xy: Matrix
    yy: Vector


def evaluate_committees(
    predictors: pd.DataFrame,
    outcomes: pd.DataFrame,
    clusters: ArrayLike,
    groups: ArrayLike,
    *,
    directions: Mapping[str, int] | None = None,
    kinds: Sequence[Kind] = KINDS,
    scopes: Sequence[str] = SCOPES,
    folds: int = 5,
    resamples: int = 1_000,
    permutations: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    r"""How well committees, and single predictors, predict outcomes of items they have not seen.

    A committee is :math:`\hat y = a + \sum_j \beta_j x_j` with the ranks :math:`x_j`:

    - ``best``: the predictor with the largest correlation among the items seen.
    - ``mean``: all with the same weight and their direction; nothing but scale and origin is
      fitted.
    - ``nonnegative``: least squares, no weight against the direction of its predictor.
    - ``ridge``: least squares with a penalty on squared weights, chosen on parts of the items seen.

    Without ``directions`` a predictor has the sign of its correlation among the items seen.

    Beside them every predictor alone (``single``). The estimate is Spearman's correlation between
    prediction and outcome, with the interval of
    :func:`analysis.correlation.two_way_correlation` (that of the means of groups: of independent
    groups). :math:`R^2 = 1 - \sum e^2 / \sum (y - \bar y)^2` (within groups: around their means) is
    below 0 where the mean predicts better; its interval is made of the same three bootstraps.
    Intervals take the predictions as given: they are about other items, not about other training.

    ``p_permutation`` is one-sided and includes the training: outcomes change places between
    clusters that have the same groups and, but for ``within groups``, between groups that have the
    same clusters, all items of a cluster or a group together. Effects of images and techniques that
    have nothing to do with predictors stay as they are.

    Parameters
    ----------
    predictors, outcomes
        Frames with the same rows. A predictor that fewer than 90 % of the items have, or that does
        not vary, is left out; then items without a value are.
    clusters, groups
        The cluster and the group of each row.
    directions
        1 or -1 by predictor: whether more should mean a higher outcome.
    kinds, scopes
        Committees to judge, and on what: see above and the module.
    folds
        Parts into which clusters are divided.
    resamples, permutations, seed
        Of the bootstraps and of the test. permutations=0: no test.

    Returns
    -------
    DataFrame
        outcome, scope, compared, kind, predictor ("" for a committee), n, clusters, groups,
        predictors (how many take part), estimate, low, high, p, p_permutation, r2, r2_low, r2_high,
        note.

    References
    ----------
    Lawson & Hanson 1995, doi:10.1137/1.9781611971217 (non-negative least squares); Hoerl & Kennard
    1970, doi:10.1080/00401706.1970.10488634 (ridge)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> image, method = np.divmod(np.arange(200), 5)
    >>> predictors = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    >>> outcomes = pd.DataFrame({"trust": predictors["a"] + predictors["b"]})
    >>> found = evaluate_committees(predictors, outcomes, image, method, kinds=["mean", "ridge"])
    >>> found = found[(found["compared"] == "items") & (found["kind"] != "single")]
    >>> found[["scope", "kind", "n", "estimate"]].round(2).reset_index(drop=True)
                 scope   kind    n  estimate
    0    across groups   mean  200      0.81
    1    across groups  ridge  200      0.99
    2  held-out groups   mean  200      0.81
    3  held-out groups  ridge  200      0.99
    """
    numbers = (folds, resamples, permutations, seed)
    belong = (np.asarray(clusters), np.asarray(groups))
    table: list[dict[str, object]] = []
    for outcome in outcomes:
        y = outcomes[outcome].to_numpy(np.float64)
        judged = _judge(predictors, y, *belong, directions or {}, tuple(kinds), scopes, *numbers)
        table += [{"outcome": outcome} | row for row in judged]
    columns = ["outcome", "scope", "compared", "kind", "predictor", "n", "clusters", "groups"]
    columns += ["predictors", "estimate", "low", "high", "p", "p_permutation", "r2", "r2_low"]
    return pd.DataFrame(table, columns=[*columns, "r2_high", "note"])


def _judge(
    predictors: pd.DataFrame,
    y: Vector,
    clusters: NDArray[np.generic],
    groups: NDArray[np.generic],
    directions: Mapping[str, int],
    kinds: tuple[Kind, ...],
    scopes: Sequence[str],
    folds: int,
    resamples: int,
    permutations: int,
    seed: int,
) -> list[dict[str, object]]:
    used, rows, note = _usable(predictors, y)
    y = y[rows]
    cluster, group = (np.unique(one[rows], return_inverse=True)[1] for one in (clusters, groups))
    counts = {"n": len(y), "clusters": _count(cluster), "groups": _count(group)}
    counts["predictors"] = len(used)
    sizes: dict[str, object] = {**counts}
    found: list[dict[str, object]] = []
    for scope in scopes:
        why = _why_not(scope, y, counts, folds)
        if why:
            row = {"scope": scope, "kind": "", "predictor": "", "note": notes([why, note])}
            found += [sizes | row | {"compared": compared} for compared in _COMPARED[scope]]
            continue
        strata = group if scope == WITHIN else np.zeros(len(y), np.intp)
        chosen = predictors.iloc[rows][used].to_numpy(np.float64)
        signs = np.array([directions.get(name, 0) for name in used], np.float64)
        items = _items(chosen, cluster, group, strata, signs, folds, seed)
        plan = _plan(scope, items, strata)
        solvers: list[tuple[str, str, Solver]] = [(kind, "", _SOLVERS[kind]) for kind in kinds]
        solvers += [("single", name, _alone(j)) for j, name in enumerate(used)]
        both = [_predict(plan, y, solver, kind) for kind, _, solver in solvers]
        scores, predictions = (np.stack(parts, axis=1) for parts in zip(*both, strict=True))
        p = _permuted_p(scope, plan, y, kinds, scores, permutations, seed)
        untested = "no permutation test: too few clusters have the same groups"
        untested = untested if permutations and not p else ""
        for compared in _COMPARED[scope]:
            scored = _scored(items, y, scores, predictions, compared, resamples, seed)
            for number, (kind, name, _) in enumerate(solvers):
                row = {"scope": scope, "compared": compared, "kind": kind, "predictor": name}
                tested = p.get((kind, compared), np.nan) if kind != "single" else np.nan
                own = scored[number]
                remarks = [note, untested] if kind != "single" else []
                row["note"] = notes([str(own.pop("note")), *remarks])
                found.append(sizes | own | row | {"p_permutation": tested})
    return found


def _usable(predictors: pd.DataFrame, y: Vector) -> tuple[list[str], Codes, str]:
    """Predictors that take part, complete rows, and what a reader has to know."""
    known = np.isfinite(y)
    values = predictors.to_numpy(np.float64)
    used, lost = [], []
    for j, name in enumerate(predictors.columns):
        there = known & np.isfinite(values[:, j])
        few = not known.any() or there.sum() < _COVERAGE * known.sum()
        if few or np.ptp(values[there, j]) == 0:
            lost.append(str(name))
        else:
            used.append(j)
    rows = np.flatnonzero(known & np.isfinite(values[:, used]).all(axis=1))
    without = int(known.sum()) - len(rows)
    remarks = [f"left out: {', '.join(lost)}"] if lost else []
    remarks += [f"{without} items without all predictors"] if without else []
    return [str(predictors.columns[j]) for j in used], rows, notes(remarks)


def _why_not(scope: str, y: Vector, sizes: Mapping[str, int], folds: int) -> str:
    """Why nothing can be judged; empty if it can."""
    clusters = sizes["clusters"]
    reasons = [
        (not sizes["predictors"], "no predictor that varies and that nearly all items have"),
        (len(y) < _FEWEST, f"fewer than {_FEWEST} items"),
        (len(y) > 0 and np.ptp(y) == 0, "the outcome is constant"),
        (min(clusters, folds) < 2, "one part of clusters only: nothing to train on"),
        (clusters < folds, f"fewer than {folds} clusters"),
        (
            scope == HELD_OUT and sizes["groups"] < 3,
            "fewer than three groups: none can be held out",
        ),
    ]
    return next((why for there, why in reasons if there), "")


def _count(codes: Codes) -> int:
    return int(codes.max(initial=-1)) + 1


def _items(
    values: Matrix,
    cluster: Codes,
    group: Codes,
    strata: Codes,
    signs: Vector,
    folds: int,
    seed: int,
) -> _Items:
    x = np.empty(values.shape)
    for stratum in range(_count(strata)):
        here = np.flatnonzero(strata == stratum)
        x[here] = (rankdata(values[here], axis=0) - 0.5) / len(here) - 0.5
    order = np.random.default_rng([seed, 1]).permutation(_count(cluster))
    fold = (order % folds)[cluster]
    return _Items(x, cluster, group, fold, group * folds + fold, signs)


def _plan(scope: str, items: _Items, strata: Codes) -> _Plan:
    folds, groups = _count(items.fold), _count(items.group)
    of_group, of_fold = np.divmod(np.arange(groups * folds), folds)
    seen, inner = [], []
    for fold in range(folds):
        for group in range(groups if scope == HELD_OUT else 1):
            own = of_fold != fold
            if scope == HELD_OUT:
                own &= of_group != group
            seen.append(own)
            other = of_group % folds if scope == HELD_OUT else of_fold
            inner += [own & (other == part) for part in range(folds)]
    test = items.fold * groups + items.group if scope == HELD_OUT else items.fold
    by_group = _count(strata) > 1
    layers = np.eye(groups)[of_group] if by_group else np.ones((groups * folds, 1))
    sums = _block_sums(items)
    outer = _fold(np.array(seen, np.float64), layers, sums)
    away = np.array(inner, np.float64)
    rest = _fold(np.repeat(outer.seen, folds, axis=0) - away, layers, sums)
    width = np.eye(items.x.shape[1])
    scale = np.trace(rest.cross, axis1=1, axis2=2)[:, None, None, None] / len(width)
    penalties = np.array(PENALTIES)[:, None, None] * np.maximum(scale, 1e-12) * width
    inverse = np.linalg.inv(rest.cross[:, None] + penalties)
    stratum = items.group if by_group else np.zeros_like(items.group)
    return _Plan(items, stratum, test, outer, rest, folds, _fold(away, layers, sums), inverse)


def _block_sums(items: _Items) -> tuple[Vector, Matrix, NDArray[np.float64]]:
    """Of each block n, and the sums of predictors and of their products."""
    blocks, width = _count(items.group) * _count(items.fold), items.x.shape[1]
    n = np.bincount(items.block, minlength=blocks).astype(np.float64)
    x, xx = np.zeros((blocks, width)), np.zeros((blocks, width, width))
    for block in np.flatnonzero(n):
        here = items.x[items.block == block]
        x[block], xx[block] = here.sum(axis=0), here.T @ here
    return n, x, xx


def _fold(seen: Matrix, layers: Matrix, sums: tuple[Vector, Matrix, NDArray[np.float64]]) -> _Fold:
    """Sums of sets of blocks (sets x blocks); ``layers`` says in which stratum a block is."""
    n, x, xx = sums
    seen_by = np.einsum("tb,bs->tsb", seen, layers)
    number, total = seen_by @ n, seen_by @ x
    mean = total * _inverse(number)[..., None]
    cross = (seen @ xx.reshape(len(n), -1)).reshape(len(seen), *xx.shape[1:])
    cross = cross - np.einsum("tsi,tsj->tij", total, mean)
    return _Fold(seen, seen_by, number, mean, cross)


def _inverse(number: Matrix) -> Matrix:
    return np.divide(1.0, number, out=np.zeros_like(number), where=number > 0)


def _outcome(items: _Items, y: Vector) -> _Outcome:
    blocks = _count(items.group) * _count(items.fold)
    one, two, xy = np.zeros(blocks), np.zeros(blocks), np.zeros((blocks, items.x.shape[1]))
    for whole, parts in ((one, y), (two, y**2), (xy, items.x * y[:, None])):
        np.add.at(whole, items.block, parts)
    return _Outcome(one, xy, two)


def _with_outcome(fold: _Fold, outcome: _Outcome) -> tuple[Matrix, Matrix]:
    """Means of the outcome (sets x strata), and its centred products with predictors."""
    total = fold.seen_by @ outcome.y
    both = fold.seen @ outcome.xy - np.einsum("tsi,ts->ti", fold.mean_x, total)
    return total * _inverse(fold.n), both


def _predict(plan: _Plan, y: Vector, solver: Solver, kind: str) -> tuple[Vector, Vector]:
    """Scores and predictions of all items by solvers that have not seen them.

    The prediction has an origin, the mean of the items seen. Where a group is held out that mean is
    the smaller the larger the group's own: correlations would be drawn below 0. They are therefore
    taken of the scores, which have no origin.
    """
    items, outer = plan.items, plan.outer
    outcome = _outcome(items, y)
    mean_y, both = _with_outcome(outer, outcome)
    penalty = _penalties(plan, outcome) if kind == "ridge" else np.zeros(len(both))
    width = np.eye(items.x.shape[1])
    weights = np.zeros(both.shape)
    for number, cross in enumerate(outer.cross):
        extra = penalty[number] * np.diag(cross).mean() * width
        signs = np.where(items.signs != 0, items.signs, np.sign(both[number]))
        weights[number] = solver(_Moments(cross + extra, both[number], signs))
    scores = np.einsum("ni,ni->n", items.x, weights[plan.test])
    origin = mean_y - np.einsum("tsi,ti->ts", outer.mean_x, weights)
    number = outer.n.sum(axis=1)
    overall = (outer.seen @ outcome.y) / np.maximum(number, 1)
    scores[number[plan.test] < 2] = np.nan  # nothing to train on
    origin = np.where(outer.n > 0, origin, overall[:, None])
    # Sums of ranks are often equal: rounding must not put one before the other.
    return np.round(scores, 10), origin[plan.test, plan.stratum] + scores


def _penalties(plan: _Plan, outcome: _Outcome) -> Vector:
    """For each training set the penalty with the smallest squared error on parts left out."""
    mean_y, both = _with_outcome(plan.inner, outcome)
    weights = np.einsum("tpij,tj->tpi", plan.inverse, both)
    left, mean_x = plan.left, plan.inner.mean_x
    # Sums of squares of the parts around the training means, stratum by stratum
    apart = left.mean_x - mean_x
    here = (left.n > 0) & (plan.inner.n > 0)
    n = np.where(here, left.n, 0)
    own = left.seen_by @ outcome.y * _inverse(left.n) - mean_y
    xx = left.cross + np.einsum("ts,tsi,tsj->tij", n, apart, apart)
    _, inner_both = _with_outcome(left, outcome)
    xy = inner_both + np.einsum("ts,tsi,ts->ti", n, apart, own)
    fitted = np.einsum("tpi,tij,tpj->tp", weights, xx, weights, optimize=True)
    errors = fitted - 2 * np.einsum("tpi,ti->tp", weights, xy)  # but for a constant
    errors[plan.inner.n.sum(axis=1) < 2] = 0
    total = errors.reshape(-1, plan.parts, len(PENALTIES)).sum(axis=1)
    return np.asarray(np.array(PENALTIES)[total.argmin(axis=1)])


def _alone(place: int) -> Solver:
    def solve(given: _Moments) -> Vector:
        weights = np.zeros(len(given.both))
        if given.cross[place, place] > 0:
            size = abs(given.both[place]) / given.cross[place, place]
            weights[place] = size * given.signs[place]
        return weights

    return solve


def _best(given: _Moments) -> Vector:
    spread = np.sqrt(np.maximum(np.diag(given.cross), 0))
    size = np.divide(given.both, spread, out=np.zeros_like(spread), where=spread > 0)
    own = given._replace(signs=np.sign(given.both))
    return _alone(int(np.argmax(np.abs(size))))(own)


def _mean(given: _Moments) -> Vector:
    length = float(given.signs @ given.cross @ given.signs)
    size = abs(float(given.signs @ given.both)) / length if length > 0 else 0.0
    return np.asarray(given.signs * size)


def _nonnegative(given: _Moments) -> Vector:
    turned = given.cross * np.outer(given.signs, given.signs)
    upper = np.asarray(cholesky(turned + _little(turned)))
    target = solve_triangular(upper, given.both * given.signs, trans="T")
    return np.asarray(nnls(upper, target)[0] * given.signs, np.float64)


def _ridge(given: _Moments) -> Vector:
    return np.asarray(np.linalg.solve(given.cross + _little(given.cross), given.both))


def _little(cross: Matrix) -> Matrix:
    """What makes products invertible where one predictor is a sum of others."""
    return np.asarray(1e-9 * max(float(np.diag(cross).mean()), 1e-9) * np.eye(len(cross)))


_SOLVERS: Mapping[Kind, Solver] = {
    "best": _best,
    "mean": _mean,
    "nonnegative": _nonnegative,
    "ridge": _ridge,
}


def _compared(items: _Items, y: Vector, prediction: Vector, compared: str) -> float:
    """Spearman's correlation of prediction and outcome; NaN where nothing varies."""
    known = np.isfinite(prediction)
    one, two, group = prediction[known], y[known], items.group[known]
    if compared == MEANS:
        sizes = np.maximum(np.bincount(group), 1)
        there = np.bincount(group) > 0
        one, two = (np.bincount(group, part)[there] / sizes[there] for part in (one, two))
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return np.nan
    if compared == INSIDE:
        ranks = [rankdata(part) for part in (one, two)]
        size = np.bincount(group)
        left = [part - (np.bincount(group, part) / np.maximum(size, 1))[group] for part in ranks]
        length = float(np.sqrt((left[0] ** 2).sum() * (left[1] ** 2).sum()))
        return float(left[0] @ left[1]) / length if length > 1e-9 else np.nan
    return float(spearmanr(one, two).statistic)


def _scored(
    items: _Items,
    y: Vector,
    scores: Matrix,
    predictions: Matrix,
    compared: str,
    resamples: int,
    seed: int,
) -> list[dict[str, object]]:
    """Correlation of each column of scores, and R2 of each column of predictions."""
    names = [str(j) for j in range(scores.shape[1])]
    frame, outcome = pd.DataFrame(scores, columns=names), pd.DataFrame({"y": y})
    if compared == MEANS:
        empty: dict[str, object] = dict.fromkeys(("r2", "r2_low", "r2_high"), np.nan)
        found = [correlate_means(one, y, items.group) for one in scores.T]
        return [row | empty for row in found]
    strata = items.group if compared == INSIDE else None
    table = two_way_correlation(
        frame, outcome, items.cluster, items.group, strata=strata, resamples=resamples, seed=seed
    )
    own = y - (
        y.mean() if strata is None else (np.bincount(strata, y) / np.bincount(strata))[strata]
    )
    shifted = predictions
    if strata is not None:  # the level of a group is no matter of what is within it
        sizes = np.bincount(strata)
        wrong = np.stack([np.bincount(strata, y - one) / sizes for one in predictions.T], axis=1)
        shifted = predictions + wrong[strata]
    r2 = _explained(y[:, None] - shifted, own, items, resamples, seed)
    rows = []
    for number, line in enumerate(table.to_dict("records")):
        row: dict[str, object] = {name: line[name] for name in ("estimate", "low", "high", "p")}
        row |= {"note": str(line["note"]).replace("the value", "the prediction")}
        row |= dict(zip(("r2", "r2_low", "r2_high"), r2[:, number], strict=True))
        rows.append(row)
    return rows


def _explained(residuals: Matrix, own: Vector, items: _Items, resamples: int, seed: int) -> Matrix:
    """R2 with its interval from three bootstraps (rows r2, low, high)."""
    features = np.column_stack([residuals**2, own**2])
    total = features.sum(axis=0)
    r2 = 1 - total[:-1] / total[-1]
    variances = []
    for number, codes in enumerate(
        (items.cluster, items.group, crossed(items.cluster, items.group))
    ):
        sums = cluster_sums(features, codes)
        drawn = np.concatenate(
            [counts @ sums for counts in cluster_counts(len(sums), resamples, seed + number)]
        )
        # Of few items, a resample may have none that varies: then there is no interval.
        with np.errstate(divide="ignore", invalid="ignore"):
            variances.append((1 - drawn[:, :-1] / drawn[:, -1:]).var(axis=0, ddof=1))
    one, two, both = variances
    error = np.sqrt(np.maximum(one + two - both, np.maximum(one, two)))
    free = min(_count(items.cluster), _count(items.group)) - 1
    reach = stdtrit(free, (1 + LEVEL) / 2) * error if free > 0 else np.full_like(error, np.nan)
    return np.stack([r2, r2 - reach, np.minimum(r2 + reach, 1)])


def _exchangeable(one: Codes, other: Codes) -> list[Codes]:
    """Sets of codes that occur with the same codes of the other kind, each pair once."""
    table = pd.crosstab(one, other).to_numpy()
    if (table > 1).any():
        return []
    alike: dict[bytes, list[int]] = {}
    for number, row in enumerate(table):
        alike.setdefault(row.tobytes(), []).append(number)
    return [np.array(numbers) for numbers in alike.values() if len(numbers) > 1]


def _permuted_p(
    scope: str,
    plan: _Plan,
    y: Vector,
    kinds: tuple[Kind, ...],
    scores: Matrix,
    permutations: int,
    seed: int,
) -> dict[tuple[str, str], float]:
    """p of each committee and comparison, training included; nothing if too few change places."""
    if not permutations or not kinds:
        return {}
    items = plan.items
    clusters = _exchangeable(items.cluster, items.group)
    groups = _exchangeable(items.group, items.cluster) if scope != WITHIN else []
    if sum(len(one) for one in clusters) < _count(items.cluster) / 2:
        return {}
    compared = _COMPARED[scope]
    observed = {
        (kind, one): _compared(items, y, scores[:, number], one)
        for number, kind in enumerate(kinds)
        for one in compared
    }
    table = np.full((_count(items.cluster), _count(items.group)), np.nan)
    table[items.cluster, items.group] = y
    rng = np.random.default_rng([seed, 2])
    as_large = dict.fromkeys(observed, 1)
    for _ in range(permutations):
        rows, columns = np.arange(table.shape[0]), np.arange(table.shape[1])
        for some in clusters:
            rows[some] = rng.permutation(some)
        for some in groups:
            columns[some] = rng.permutation(some)
        mixed = table[rows[items.cluster], columns[items.group]]
        for kind in kinds:
            guess = _predict(plan, mixed, _SOLVERS[kind], kind)[0]
            for one in compared:
                value = _compared(items, mixed, guess, one)
                as_large[kind, one] += not value < observed[kind, one] - 1e-12
    return {
        key: number / (1 + permutations) if np.isfinite(observed[key]) else np.nan
        for key, number in as_large.items()
    }


def committee_weights(
    predictors: pd.DataFrame,
    outcomes: pd.DataFrame,
    clusters: ArrayLike,
    groups: ArrayLike,
    *,
    kind: Kind = "nonnegative",
    directions: Mapping[str, int] | None = None,
    within: bool = False,
    resamples: int = 500,
    seed: int = 0,
) -> pd.DataFrame:
    """Weights of a committee that has seen all items, with intervals over images and techniques.

    Each resample draws clusters and groups at once, which is rather too wide than too narrow, and
    trains again on the same ranks. The penalty of a ridge is the smallest one.

    Parameters
    ----------
    predictors, outcomes, clusters, groups, directions
        As for :func:`evaluate_committees`.
    kind
        The committee.
    within
        Take ranks and differences within groups.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        outcome, predictor, n (items), estimate (weight: change of the outcome from the lowest to
        the highest rank), low, high, share (of the sum of all sizes), chosen (share of resamples in
        which the weight is not 0), note.

    References
    ----------
    Owen 2007, doi:10.1214/07-AOAS122

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> image, method = np.divmod(np.arange(200), 5)
    >>> predictors = pd.DataFrame(rng.normal(size=(200, 2)), columns=list("ab"))
    >>> outcomes = pd.DataFrame({"trust": predictors["a"].rank() / 200})
    >>> committee_weights(predictors, outcomes, image, method)[["predictor", "estimate"]].round(2)
      predictor  estimate
    0         a       1.0
    1         b       0.0
    """
    belong = [np.asarray(one) for one in (clusters, groups)]
    lines: list[dict[str, object]] = []
    for outcome in outcomes:
        y = outcomes[outcome].to_numpy(np.float64)
        used, rows, note = _usable(predictors, y)
        y = y[rows]
        if not used or len(y) < _FEWEST or np.ptp(y) == 0:
            why = "nothing to train on"
            lines += [
                {"outcome": outcome, "predictor": name, "n": len(y), "note": notes([why, note])}
                for name in predictors
            ]
            continue
        cluster, group = (np.unique(one[rows], return_inverse=True)[1] for one in belong)
        strata = group if within else np.zeros(len(y), np.intp)
        chosen = predictors.iloc[rows][used].to_numpy(np.float64)
        signs = np.array([(directions or {}).get(name, 0) for name in used], np.float64)
        x = _items(chosen, cluster, group, strata, signs, 1, seed).x
        weights = _trained(x, y, np.ones(len(y)), strata, signs, kind)
        drawn = _drawn_weights(x, y, (cluster, group), strata, signs, kind, resamples, seed)
        low, high = percentile_interval(drawn)
        total = float(np.abs(weights).sum())
        for j, name in enumerate(used):
            row = {"outcome": outcome, "predictor": name, "n": len(y), "estimate": weights[j]}
            row |= {"low": low[j], "high": high[j], "chosen": float((drawn[:, j] != 0).mean())}
            lines.append(
                row | {"share": abs(weights[j]) / total if total else np.nan, "note": note}
            )
    columns = ["outcome", "predictor", "n", "estimate", "low", "high", "share", "chosen", "note"]
    return pd.DataFrame(lines, columns=columns)


def _trained(
    x: Matrix, y: Vector, weight: Vector, strata: Codes, signs: Vector, kind: Kind
) -> Vector:
    """Weights from rows that occur ``weight`` times."""
    joint = np.column_stack([x, y])
    sums = np.zeros((_count(strata), joint.shape[1]))
    np.add.at(sums, strata, joint * weight[:, None])
    inverse = _inverse(np.bincount(strata, weight).astype(np.float64))
    products = joint.T @ (joint * weight[:, None]) - (sums * inverse[:, None]).T @ sums
    cross, both = products[:-1, :-1], products[:-1, -1]
    if kind == "ridge":
        cross = cross + PENALTIES[0] * np.diag(cross).mean() * np.eye(len(both))
    own = np.where(signs != 0, signs, np.sign(both))
    return _SOLVERS[kind](_Moments(cross, both, own))


def _drawn_weights(
    x: Matrix,
    y: Vector,
    clusters: tuple[Codes, Codes],
    strata: Codes,
    signs: Vector,
    kind: Kind,
    resamples: int,
    seed: int,
) -> Matrix:
    """Weights of resamples of both kinds of clusters at once; NaN where there is only one."""
    drawn = np.full((resamples, x.shape[1]), np.nan)
    sizes = [_count(one) for one in clusters]
    if min(sizes) < 2 or not resamples:
        return drawn
    counts = [
        np.concatenate(list(cluster_counts(size, resamples, seed + place)))
        for place, size in enumerate(sizes)
    ]
    for number in range(resamples):
        weight = counts[0][number][clusters[0]] * counts[1][number][clusters[1]]
        if np.count_nonzero(weight) > x.shape[1]:
            drawn[number] = _trained(x, y, weight, strata, signs, kind)
    return drawn
