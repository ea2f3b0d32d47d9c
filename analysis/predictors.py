"""Which predictors follow an outcome, and which groups rank high for both.

Rows are items that have a cluster (the image) and a group (the technique that made the item).
Images as well as techniques are samples, so that intervals allow for both.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.contrasts import codes_of, permutation_p
from analysis.correlation import correlation_table, two_way_correlation
from analysis.metric_ranks import places
from analysis.resampling import (
    Codes,
    Matrix,
    cluster_counts,
    holm,
    percentile_interval,
)
from analysis.tables import Tables

WITHIN, ACROSS, BETWEEN = "within groups", "across groups", "between groups"


def compare_predictors(
    predictors: pd.DataFrame,
    outcomes: pd.DataFrame,
    clusters: ArrayLike,
    groups: ArrayLike,
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Spearman's correlation of each predictor with each outcome, in three scopes.

    ``across groups``: over all items. ``within groups``: the partial correlation given the group.
    ``between groups``: of the means of groups, in which a group counts once. Intervals of the first
    two are those of :func:`analysis.correlation.two_way_correlation`, of the last one those of
    independent groups.

    Parameters
    ----------
    predictors, outcomes
        Frames with the same rows; a pair uses the rows that both have.
    clusters, groups
        The cluster and the group of each row.
    resamples, seed
        Of the bootstraps.

    Returns
    -------
    DataFrame
        predictor, outcome, scope, n (items, or groups), clusters, groups, estimate, low, high, p,
        p_holm (among all predictors of an outcome and scope), note.

    Examples
    --------
    >>> items = pd.DataFrame({"image": np.arange(24) // 4, "method": np.arange(24) % 4})
    >>> predictors = pd.DataFrame({"size": items["image"] + 10 * items["method"]})
    >>> outcomes = pd.DataFrame({"trust": -items["image"] + 10.0 * items["method"]})
    >>> found = compare_predictors(predictors, outcomes, items["image"], items["method"])
    >>> found[["scope", "n", "estimate"]].round(2)
                scope   n  estimate
    0   across groups  24      0.88
    1   within groups  24     -1.00
    2  between groups   4      1.00
    """
    kinds = [codes_of(np.asarray(one)) for one in (clusters, groups)]
    rename = {"value": "predictor", "rating": "outcome", "first": "clusters", "second": "groups"}
    frames = []
    for scope, strata in ((ACROSS, None), (WITHIN, kinds[1])):
        found = two_way_correlation(
            predictors, outcomes, *kinds, strata=strata, resamples=resamples, seed=seed
        )
        frames.append(found.rename(columns=rename).assign(scope=scope))
    between = []
    for outcome in outcomes:
        for predictor in predictors:
            x = predictors[predictor].rank().to_numpy(np.float64)
            y = outcomes[outcome].rank().to_numpy(np.float64)
            whole = np.isfinite(x) & np.isfinite(y)
            n = len(np.unique(kinds[1][whole]))
            row: dict[str, object] = {"predictor": predictor, "outcome": outcome, "n": n}
            row |= {"clusters": len(np.unique(kinds[0][whole])), "groups": n}
            between.append(row | correlate_means(x, y, kinds[1]))
    frames.append(pd.DataFrame(between).assign(scope=BETWEEN))
    table = pd.concat(frames, ignore_index=True)
    table["p_holm"] = np.nan
    for _, part in table.groupby(["outcome", "scope"]):
        table.loc[part.index, "p_holm"] = holm(part["p"].to_numpy(np.float64))
    columns = ["predictor", "outcome", "scope", "n", "clusters", "groups", "estimate", "low"]
    return table[[*columns, "high", "p", "p_holm", "note"]]


def correlate_means(values: ArrayLike, ratings: ArrayLike, groups: ArrayLike) -> dict[str, object]:
    """Spearman's correlation between the means of groups, in which every group counts once.

    Parameters
    ----------
    values, ratings
        One entry for each item; items without one of them are left out.
    groups
        The group of each item.

    Returns
    -------
    dict
        estimate, low, high (Bonett and Wright's interval for independent groups), p, note.

    References
    ----------
    Bonett & Wright 2000, doi:10.1007/BF02294183

    Examples
    --------
    >>> found = correlate_means([1, 3, 2, 4, 5, 9], [1, 1, 2, 2, 5, 5], list("aabbcc"))
    >>> found["estimate"], found["note"]
    (1.0, '')
    """
    frame = pd.DataFrame(
        {"x": np.asarray(values, np.float64), "y": np.asarray(ratings, np.float64)}
    )
    whole = frame.notna().all(axis=1).to_numpy(bool)
    means = frame[whole].groupby(np.asarray(groups)[whole]).mean()
    alone = np.zeros(len(means))  # one cluster: no bootstrap
    table = correlation_table(means[["x"]], means[["y"]], clusters=alone)
    row = table[table["method"] == "spearman"].iloc[0]
    found: dict[str, object] = {"estimate": float(row["estimate"]), "low": float(row["fisher_low"])}
    found |= {"high": float(row["fisher_high"]), "p": float(row["p"])}
    note = str(row["note"]).replace("3 units", "three groups")
    return found | {"note": "" if "clustered" in note else note}


def compare_orders(
    predictors: pd.DataFrame,
    outcomes: pd.DataFrame,
    clusters: ArrayLike,
    groups: ArrayLike,
    *,
    resamples: int = 1_000,
    permutations: int = 10_000,
    seed: int = 0,
) -> Tables:
    r"""Set the orders of groups by predictors beside their orders by outcomes.

    A column is averaged over the items of each group; higher is better everywhere (turn a column
    round where it is not). Each pair of columns uses its own items, the table of groups all items
    that a column has. Intervals are over clusters, which are resampled for all columns together;
    groups are those that there are. Whether two orders agree more than chance is tested by giving
    the places of one order to groups at random.

    Parameters
    ----------
    predictors, outcomes
        Frames with the same rows.
    clusters, groups
        The cluster and the group of each row.
    resamples, permutations, seed
        Of the bootstrap and of the test; all arrangements are tried if there are no more.

    Returns
    -------
    dict of DataFrame
        ``groups``: kind (predictor or outcome), column, group, n, estimate (mean), low, high, place
        (1 is the highest), place_low, place_high, note. ``agreement``: predictor, outcome, n
        (groups), estimate (Kendall's :math:`\tau_b`), low, high (over clusters), p (permutation,
        two-sided), p_holm (among the predictors of an outcome), note.

    References
    ----------
    Kendall 1945, doi:10.1093/biomet/33.3.239

    Examples
    --------
    >>> items = pd.DataFrame({"image": np.arange(12) // 4, "method": list("wxyz") * 3})
    >>> predictors = pd.DataFrame({"size": [1.0, 2, 3, 4] * 3})
    >>> outcomes = pd.DataFrame({"trust": [1.0, 2, 4, 3] * 3})
    >>> tables = compare_orders(predictors, outcomes, items["image"], items["method"])
    >>> tables["agreement"][["predictor", "outcome", "n", "estimate", "p"]].round(3)
      predictor outcome  n  estimate      p
    0      size   trust  4     0.667  0.333
    >>> tables["groups"].query("kind == 'outcome'")[["group", "n", "estimate", "place"]]
      group  n  estimate  place
    4     w  3       1.0    4.0
    5     x  3       2.0    3.0
    6     y  3       4.0    1.0
    7     z  3       3.0    2.0
    """
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    cluster = codes_of(np.asarray(clusters))
    number = int(cluster.max(initial=-1)) + 1
    columns = [(kind, str(name), part[name].to_numpy(np.float64))
               for kind, part in (("predictor", predictors), ("outcome", outcomes))
               for name in part]  # fmt: skip
    draws = np.concatenate(
        [np.ones((1, number)), *(cluster_counts(number, resamples, seed) if number > 1 else [])]
    )
    rows: list[dict[str, object]] = []
    for kind, name, values in columns:
        means, sizes = _group_means(values, cluster, group, len(names), draws)
        own = places(-means)
        low, high = percentile_interval(means[1:])
        first, last = percentile_interval(own[1:])
        for code, label in enumerate(names.tolist()):
            if not sizes[code]:
                continue
            row: dict[str, object] = {"kind": kind, "column": name, "group": label}
            row |= {"n": int(sizes[code]), "estimate": means[0, code], "low": low[code]}
            row |= {"high": high[code], "place": own[0, code], "place_low": first[code]}
            note = "one cluster: no interval" if number < 2 else ""
            note = note or ("" if np.isfinite(low[code]) else "too few clusters: no interval")
            rows.append(row | {"place_high": last[code], "note": note})
    pairs: list[dict[str, object]] = []
    for predictor in predictors:
        for outcome in outcomes:
            x = predictors[predictor].to_numpy(np.float64)
            y = outcomes[outcome].to_numpy(np.float64)
            both = np.isfinite(x) & np.isfinite(y)
            one, two = (
                _group_means(np.where(both, side, np.nan), cluster, group, len(names), draws)[0]
                for side in (x, y)
            )
            pair: dict[str, object] = {"predictor": str(predictor), "outcome": str(outcome)}
            pairs.append(pair | _agreement(one, two, permutations, seed))
    head = ["kind", "column", "group", "n", "estimate", "low", "high", "place", "place_low"]
    agreement = pd.DataFrame(
        pairs, columns=["predictor", "outcome", "n", "estimate", "low", "high", "p", "note"]
    )
    agreement.insert(7, "p_holm", np.nan)
    for _, part in agreement.groupby("outcome"):
        agreement.loc[part.index, "p_holm"] = holm(part["p"].to_numpy(np.float64))
    frame = pd.DataFrame(rows, columns=[*head, "place_high", "note"])
    return {"groups": frame, "agreement": agreement}


def _group_means(
    values: Matrix, cluster: Codes, group: Codes, number: int, draws: Matrix
) -> tuple[Matrix, Matrix]:
    """Means of groups (draws x groups), NaN where a draw has none, and numbers of items."""
    known = np.isfinite(values)
    sums, sizes = np.zeros((draws.shape[1], number)), np.zeros((draws.shape[1], number))
    np.add.at(sums, (cluster[known], group[known]), values[known])
    np.add.at(sizes, (cluster[known], group[known]), 1.0)
    total, count = draws @ sums, draws @ sizes
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return np.asarray(np.round(means, 12), np.float64), sizes.sum(axis=0)


def _agreement(x: Matrix, y: Matrix, permutations: int, seed: int) -> dict[str, object]:
    """Kendall's tau of the first rows, its interval from the others, and p."""
    there = np.isfinite(x[0]) & np.isfinite(y[0])
    row: dict[str, object] = {"n": int(there.sum())}
    row |= dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    one, two = x[:, there], y[:, there]
    if there.sum() < 3:
        return row | {"note": "fewer than three groups"}
    if np.ptp(one[0]) == 0 or np.ptp(two[0]) == 0:
        return row | {"note": "all groups are equal in one of the two"}
    taus = _taus(one, two)
    low, high = percentile_interval(taus[1:, None])
    row |= {"estimate": float(taus[0]), "low": float(low[0]), "high": float(high[0])}
    fixed = two[0]

    def size(drawn: Matrix, axis: int) -> Matrix:
        return np.abs(_taus(np.moveaxis(np.atleast_2d(drawn), axis, -1), fixed))

    row["p"] = permutation_p([one[0]], size, "pairings", permutations, seed)
    return row | {"note": "" if len(taus) > 1 else "one cluster: no interval"}


def _taus(one: Matrix, two: Matrix) -> Matrix:
    """Kendall's tau-b of the rows of two matrices; NaN where one of them is all tied."""
    left, right = np.triu_indices(one.shape[-1], 1)
    signs = [np.sign(part[..., left] - part[..., right]) for part in (one, two)]
    size = np.sqrt((signs[0] ** 2).sum(-1) * (signs[1] ** 2).sum(-1))
    shared = (signs[0] * signs[1]).sum(-1)
    return np.asarray(np.divide(shared, size, out=np.full(shared.shape, np.nan), where=size > 0))
