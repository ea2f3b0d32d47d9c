"""Comparisons of ranks: between metrics, between levels of a cell, between methods and groups.

All functions take the tidy frame of :func:`analysis.metric_ranks.cell_ranks`, in which every column
that it does not name itself says what a cell is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from analysis.contrasts import (
    clustered_difference,
    clustered_mean,
    codes_of,
    contrast_row,
    permutation_p,
)
from analysis.correlation import correlate_columns
from analysis.metric_ranks import cell_codes, cell_columns
from analysis.resampling import Matrix, holm

_KEPT = ("n", "estimate", "low", "high")


def _parts(
    frame: pd.DataFrame, keys: Sequence[str]
) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    """Groups of a frame with their names by column; the whole frame without keys."""
    if not keys:
        yield {}, frame
        return
    for name, part in frame.groupby(list(keys), sort=True):
        yield dict(zip(keys, name, strict=True)), part


def _mean_row(values: Matrix, *clusters: pd.Series, test: bool = False) -> dict[str, object]:
    row = contrast_row(clustered_mean(values, *(codes_of(one) for one in clusters)))
    names = (*_KEPT, "p", "note") if test else (*_KEPT, "note")
    return {name: row[name] for name in names}


def random_distance(first: int, second: int) -> float:
    r"""Expected distance of two independent random ranks, :math:`E|X - Y|`.

    Parameters
    ----------
    first, second
        How many methods each of them ranks: uniform on 1 to these numbers.

    Returns
    -------
    float

    Examples
    --------
    With equal numbers it is :math:`(n^2 - 1) / (3 n)`:

    >>> random_distance(14, 14), (14**2 - 1) / (3 * 14)
    (4.642857142857143, 4.642857142857143)
    """
    apart = np.subtract.outer(np.arange(1, first + 1), np.arange(1, second + 1))
    return float(np.abs(apart).mean())


def metric_distances(
    ranks: pd.DataFrame, by: Sequence[str] = (), *, within_criterion: bool = True
) -> pd.DataFrame:
    r"""Mean distance between the ranks that two metrics give to the same method.

    .. math:: \bar\delta_{c c'} = \frac{1}{|A||F|} \sum_{a, f} |R_{c, a, f} - R_{c', a, f}|

    over cells and methods that both rank. The error allows for values of the same cell and of the
    same method.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    by
        Columns of cells for which distances are taken one by one.
    within_criterion
        Whether to compare metrics of the same criterion only.

    Returns
    -------
    DataFrame
        by, criterion (of the first), first, second, n (cells and methods), estimate, low, high,
        random (mean distance of random ranks), note.

    Examples
    --------
    >>> ranks = pd.DataFrame({"data": "d", "criterion": "good", "metric": list("mmkk")})
    >>> ranks = ranks.assign(method=list("xyxy"), rank=[1.0, 2, 2, 1], ranked=2)
    >>> metric_distances(ranks)[["first", "second", "n", "estimate", "random"]]
      first second  n  estimate  random
    0     m      k  2       1.0     0.5
    """
    cells = cell_columns(ranks)
    criterion = ranks.drop_duplicates("metric").set_index("metric")["criterion"]
    rows = []
    for name, part in _parts(ranks, by):
        known = part.assign(cell=cell_codes(part, cells))
        wide = known.pivot(index=["cell", "method"], columns="metric", values="rank")  # noqa: PD010
        number = known.pivot(index=["cell", "method"], columns="metric", values="ranked")  # noqa: PD010
        for first, second in combinations(criterion.index, 2):
            if within_criterion and criterion[first] != criterion[second]:
                continue
            row = name | {"criterion": criterion[first], "first": first, "second": second}
            if not {first, second} <= set(wide.columns):
                rows.append(row | {"n": 0, "note": "one of the two metrics ranks nothing"})
                continue
            there = wide[[first, second]].dropna()
            apart = (there[first] - there[second]).abs().to_numpy(np.float64)
            index = there.index.to_frame(index=False)
            row |= _mean_row(apart, index["cell"], index["method"])
            sizes = number.loc[there.index, [first, second]].value_counts()
            chances = [random_distance(int(a), int(b)) for a, b in sizes.index]
            row["random"] = float(np.average(chances, weights=sizes)) if len(there) else np.nan
            rows.append(row)
    columns = [*by, "criterion", "first", "second", *_KEPT, "random", "note"]
    return pd.DataFrame(rows, columns=columns)


def distance_weights(distances: pd.DataFrame) -> pd.DataFrame:
    r"""Weights of metrics that are the smaller the closer others of their criterion rank.

    .. math:: w_c = \frac{\bar\delta_c}{\sum_{c'} \bar\delta_{c'}}, \qquad
        \bar\delta_c = \frac{1}{k - 1} \sum_{c' \ne c} \bar\delta_{c c'}

    so that two metrics that say the same do not count twice.

    Parameters
    ----------
    distances
        From :func:`metric_distances`, without ``by``.

    Returns
    -------
    DataFrame
        criterion, metric, n (other metrics), distance (mean to the others), estimate (weight; the
        weights of a criterion add up to 1), note.

    Examples
    --------
    The third metric is far from two that are close:

    >>> distances = pd.DataFrame({"criterion": "good", "first": list("aab"), "second": list("bcc")})
    >>> distance_weights(distances.assign(estimate=[1.0, 4, 4]))[["metric", "estimate"]].round(3)
      metric  estimate
    0      a     0.278
    1      b     0.278
    2      c     0.444
    """
    rows = []
    for criterion, part in distances.groupby("criterion", sort=False):
        metrics = list(dict.fromkeys([*part["first"], *part["second"]]))
        own: list[dict[str, object]] = []
        for metric in metrics:
            mine = part[(part["first"] == metric) | (part["second"] == metric)]["estimate"].dropna()
            mean = float(mine.mean()) if len(mine) else np.nan
            own.append({"criterion": criterion, "metric": metric, "n": len(mine), "distance": mean})
        means = np.array([row["distance"] for row in own], np.float64)
        total = np.nansum(means)
        for row, mean in zip(own, means, strict=True):
            known = np.isfinite(mean) and total > 0
            row["estimate"] = mean / total if known else np.nan
            row["note"] = "" if known else "no distance to another metric: no weight"
        rows += own
    return pd.DataFrame(rows, columns=["criterion", "metric", "n", "distance", "estimate", "note"])


def level_distances(
    ranks: pd.DataFrame, column: str, by: Sequence[str] = (), *, common: bool = True
) -> pd.DataFrame:
    r"""Mean distance between the ranks of a method at two levels of a cell column.

    .. math:: \bar\delta_{f, i j} = \frac{1}{|D||C|} \sum_{d, c} |R_{c, d, i, f} - R_{c, d, j, f}|

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    column
        The column of cells whose levels are compared (the model, say).
    by
        Other columns of cells, or criterion, for which distances are taken one by one.
    common
        Rank the methods that both levels have among themselves first: where one level has more
        methods, its ranks are longer and distances grow with that alone.

    Returns
    -------
    DataFrame
        by, method, first, second, n (metrics and cells), estimate, low, high (clusters: metrics and
        the other columns of cells), random (distance of random ranks), note.

    Examples
    --------
    >>> ranks = pd.DataFrame({"model": list("aabb"), "criterion": "good", "metric": "m"})
    >>> ranks = ranks.assign(method=list("xyxy"), rank=[1.0, 2, 2, 1], ranked=2)
    >>> level_distances(ranks, "model")[["method", "first", "second", "n", "estimate"]]
      method first second  n  estimate
    0      x     a      b  1       1.0
    1      y     a      b  1       1.0
    """
    rest = [name for name in cell_columns(ranks) if name != column]
    rows = []
    for first, second, wide in _levels(ranks, column, rest, common):
        for name, part in _parts(wide, [*by, "method"]):
            apart = (part["one"] - part["two"]).abs().to_numpy(np.float64)
            row = name | {"first": first, "second": second}
            row |= _mean_row(apart, part["metric"], pd.Series(cell_codes(part, rest)))
            pairs = zip(part["ranked_one"], part["ranked_two"], strict=True)
            row["random"] = float(np.mean([random_distance(int(a), int(b)) for a, b in pairs]))
            rows.append(row)
    columns = [*by, "method", "first", "second", *_KEPT, "random", "note"]
    return pd.DataFrame(rows, columns=columns)


def _levels(
    ranks: pd.DataFrame, column: str, rest: list[str], common: bool
) -> Iterator[tuple[object, object, pd.DataFrame]]:
    """For every two levels the ranks of both, side by side, of what both rank."""
    keys = [*rest, "criterion", "metric", "method"]
    known = ranks[ranks["rank"].notna()]
    for first, second in combinations(sorted(known[column].unique()), 2):
        sides = [known[known[column] == level] for level in (first, second)]
        one, two = (side[[*keys, "rank", "ranked"]] for side in sides)
        wide = one.rename(columns={"rank": "one", "ranked": "ranked_one"}).merge(
            two.rename(columns={"rank": "two", "ranked": "ranked_two"}), on=keys
        )
        if common and len(wide):
            inner = wide.groupby(keys[:-1], sort=False)
            wide["one"], wide["two"] = inner["one"].rank(), inner["two"].rank()
            wide["ranked_one"] = wide["ranked_two"] = inner["method"].transform("size")
        yield first, second, wide


def level_agreement(ranks: pd.DataFrame, column: str, by: Sequence[str] = ()) -> pd.DataFrame:
    r"""Kendall's :math:`\tau_b` between the orders of methods at two levels of a cell column.

    It is taken for each metric and each combination of the other columns of cells, over the methods
    that both levels have, and averaged.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    column
        The column of cells whose levels are compared.
    by
        Other columns of cells for which averages are taken one by one, beside the criterion.

    Returns
    -------
    DataFrame
        by, criterion, first, second, n (correlations), estimate, low, high, p (of a mean of 0;
        clusters: metrics and the other columns of cells), note.

    References
    ----------
    Kendall 1945, doi:10.1093/biomet/33.3.239

    Examples
    --------
    >>> ranks = pd.DataFrame({"model": list("aaabbb"), "criterion": "good", "metric": "m"})
    >>> ranks = ranks.assign(method=list("xyzxyz"), rank=[1.0, 2, 3, 1, 3, 2], ranked=3)
    >>> level_agreement(ranks, "model")[["criterion", "first", "second", "n", "estimate"]].round(3)
      criterion first second  n  estimate
    0      good     a      b  1     0.333
    """
    rest = [name for name in cell_columns(ranks) if name != column]
    rows = []
    for first, second, wide in _levels(ranks, column, rest, common=False):
        keys = [*rest, "criterion", "metric"]
        found = [
            name | {"tau": _tau(part["one"], part["two"])} for name, part in _parts(wide, keys)
        ]
        taus = pd.DataFrame(found, columns=[*keys, "tau"]).dropna(subset=["tau"])
        for name, part in _parts(taus, [*by, "criterion"]):
            values = part["tau"].to_numpy(np.float64)
            other = pd.Series(cell_codes(part, rest))
            row = _mean_row(values, part["metric"], other, test=True)
            rows.append(name | {"first": first, "second": second} | row)
    columns = [*by, "criterion", "first", "second", *_KEPT, "p", "note"]
    return pd.DataFrame(rows, columns=columns)


def order_agreement(ranks: pd.DataFrame, column: str) -> pd.DataFrame:
    r"""Kendall's :math:`\tau_b` between the orders of average ranks at two levels of a cell column.

    Where the levels share no other columns of cells (kinds of data, each with its own models and
    datasets), ranks are averaged over all cells of a level first.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    column
        The column of cells whose levels are compared.

    Returns
    -------
    DataFrame
        criterion, first, second, n (methods that both levels have), estimate, p (exact, two-sided,
        of no association), note.

    References
    ----------
    Kendall 1945, doi:10.1093/biomet/33.3.239

    Examples
    --------
    >>> ranks = pd.DataFrame({"kind": list("aaabbb"), "criterion": "good", "metric": "m"})
    >>> ranks = ranks.assign(method=list("xyzxyz"), rank=[1.0, 2, 3, 1, 3, 2])
    >>> order_agreement(ranks, "kind")[["criterion", "first", "second", "n", "estimate"]].round(3)
      criterion first second  n  estimate
    0      good     a      b  3     0.333
    """
    means = ranks.groupby([column, "criterion", "method"], sort=False)["rank"].mean()
    wide = means.unstack(column)  # noqa: PD010
    rows = []
    for criterion, (first, second) in product(
        dict.fromkeys(ranks["criterion"]), combinations(dict.fromkeys(ranks[column]), 2)
    ):
        both = wide.loc[criterion, [first, second]].dropna()
        row = {"criterion": criterion, "first": first, "second": second, "n": len(both)}
        row |= {"estimate": _tau(both[first], both[second]), "p": np.nan, "note": ""}
        if np.isfinite(float(str(row["estimate"]))):
            row["p"] = float(kendalltau(both[first], both[second]).pvalue)
        else:
            row["note"] = "fewer than two methods with different ranks"
        rows.append(row)
    columns = ["criterion", "first", "second", "n", "estimate", "p", "note"]
    return pd.DataFrame(rows, columns=columns)


def _tau(one: pd.Series, two: pd.Series) -> float:
    """Kendall's tau-b; NaN if one side has a single method or ties only."""
    if len(one) < 2 or one.nunique() < 2 or two.nunique() < 2:
        return np.nan
    return float(kendalltau(one.to_numpy(np.float64), two.to_numpy(np.float64)).statistic)


def outside_correlation(
    ranks: pd.DataFrame,
    outside: pd.DataFrame,
    column: str,
    by: Sequence[str] = (),
    *,
    permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Correlate average ranks with a number that belongs to the cell, over levels of one column.

    .. math:: \overline{r} = \frac{1}{|D||F|} \sum_{d, f} r_a(\bar R_{d, a, f}, x_{d, a})

    Pearson's correlation over the levels :math:`a` (models, and :math:`x` their accuracy, say) for
    each method and each combination :math:`d` of the other columns of cells, averaged. With three
    levels one such correlation is next to nothing: all methods share the same three numbers. The
    test therefore permutes the numbers between the levels within each :math:`d`, for all methods at
    once.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    outside
        The columns of cells that decide the number, and value.
    column
        The column of cells over whose levels correlations are taken.
    by
        Other columns of cells for which averages are taken one by one, beside the criterion.
    permutations, seed
        Of the test.

    Returns
    -------
    DataFrame
        by, criterion, n (correlations), units (combinations of the other columns), levels,
        estimate, low, high (over those combinations), p (permutation, two-sided), note. Methods
        with a value at fewer than three levels are left out.

    Examples
    --------
    The better the model, the smaller the rank of both methods:

    >>> ranks = pd.DataFrame({"model": list("aabbcc"), "criterion": "good", "metric": "m"})
    >>> ranks = ranks.assign(method=list("xy") * 3, rank=[3.0, 3, 2, 2, 1, 1], ranked=3)
    >>> outside = pd.DataFrame({"model": list("abc"), "value": [0.7, 0.8, 0.9]})
    >>> outside_correlation(ranks, outside, "model")[["criterion", "n", "levels", "estimate"]]
      criterion  n  levels  estimate
    0      good  2       3      -1.0
    """
    cells = cell_columns(ranks)
    rest = [name for name in cells if name != column]
    shared = [name for name in outside if name in cells]
    means = ranks[ranks["rank"].notna()].groupby([*cells, "criterion", "method"], sort=True)
    table = means["rank"].mean().reset_index().merge(outside[[*shared, "value"]], on=shared)
    rows = []
    for name, part in _parts(table, [*by, "criterion"]):
        found = [
            _correlate_levels(one, column, permutations, seed + number)
            for number, (_, one) in enumerate(_parts(part, rest))
        ]
        there = [one for one in found if one.size]
        row: dict[str, object] = dict.fromkeys((*_KEPT, "p", "note"), np.nan)
        row |= {"n": 0, "units": len(there), "levels": part[column].nunique()}
        if there:
            values = np.concatenate([one[:, 0] for one in there])
            unit = np.repeat(np.arange(len(there)), [len(one) for one in there])
            row |= _mean_row(values, pd.Series(unit))
            sums = np.sum([one.sum(axis=0) for one in there], axis=0) / len(values)
            large = np.abs(sums[1:]) >= abs(sums[0]) - 1e-12
            row["p"] = (1 + int(large.sum())) / (1 + permutations)
            if row["levels"] == 3:
                row["note"] = "three levels: each correlation is of three pairs"
        else:
            row["note"] = "fewer than three levels with different values"
        rows.append(name | row)
    columns = [*by, "criterion", "n", "units", "levels", *_KEPT[1:], "p", "note"]
    return pd.DataFrame(rows, columns=columns)


def _correlate_levels(part: pd.DataFrame, column: str, permutations: int, seed: int) -> Matrix:
    """Correlations (methods x (1 + permutations)) over levels; the first column is observed."""
    wide = part.pivot(index="method", columns=column, values="rank")  # noqa: PD010
    wide = wide.dropna(axis=1, how="all")
    numbers = part.drop_duplicates(column).set_index(column)["value"].reindex(wide.columns)
    values = numbers.to_numpy(np.float64)
    wide = wide.loc[:, np.isfinite(values)].dropna()  # methods that every level has
    values = values[np.isfinite(values)]
    given = wide.to_numpy(np.float64)
    if given.shape[1] < 3 or np.ptp(values) == 0:
        return np.zeros((0, 1 + permutations))
    given = given[np.ptp(given, axis=1) > 0]
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(values, (permutations, 1)), axis=1)
    columns = np.vstack([values, drawn]).T
    found = _standard(given) @ _standard(columns.T).T / given.shape[1]
    return np.asarray(found, np.float64)


def _standard(rows: Matrix) -> Matrix:
    return np.asarray((rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True))


def method_correlations(
    ranks: pd.DataFrame, *, resamples: int = 1_000, seed: int = 0
) -> pd.DataFrame:
    """Pearson's correlation between methods of their average ranks in cells and criteria.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    resamples, seed
        Of the bootstrap over cells.

    Returns
    -------
    DataFrame
        first, second, n (cells and criteria in which both have ranks), clusters (cells), estimate,
        low, high, p (of the clustered interval), p_holm, note.

    Examples
    --------
    >>> ranks = pd.DataFrame({"data": list("ddeeffgg"), "criterion": "good", "metric": "m"})
    >>> ranks = ranks.assign(method=list("xy") * 4, rank=[1.0, 4, 2, 3, 3, 2, 4, 1])
    >>> method_correlations(ranks, resamples=100)[["first", "second", "n", "estimate"]].round(3)
      first second  n  estimate
    0     x      y  4      -1.0
    """
    known = ranks[ranks["rank"].notna()].assign(cell=cell_codes(ranks[ranks["rank"].notna()]))
    means = known.groupby(["cell", "criterion", "method"], sort=True)["rank"].mean().reset_index()
    wide = means.pivot(index=["cell", "criterion"], columns="method", values="rank")  # noqa: PD010
    cells = wide.index.get_level_values("cell").to_numpy()
    table = correlate_columns(
        wide.reset_index(drop=True), clusters=cells, resamples=resamples, seed=seed
    )
    table = table[table["method"] == "pearson"].reset_index(drop=True)
    table = table.drop(columns="p").rename(columns={"p_clustered": "p"})
    table["p_holm"] = holm(table["p"].to_numpy(np.float64))
    columns = ["first", "second", "n", "clusters", "estimate", "low", "high", "p", "p_holm", "note"]
    return table[columns]


def compare_method_groups(
    ranks: pd.DataFrame,
    groups: Mapping[str, str],
    by: Sequence[str] = (),
    *,
    permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare average ranks, and the spread between metrics, of groups of methods.

    Cells that only one of the groups has tell nothing about the difference and are left out. The
    interval allows for ranks of the same cell and of the same method; a group of few methods has
    few degrees of freedom. The permutation test gives methods to groups at random.

    Parameters
    ----------
    ranks
        From :func:`analysis.metric_ranks.cell_ranks`.
    groups
        The group of each method; methods without one are left out.
    by
        Columns of cells for which groups are compared one by one, beside the criterion.
    permutations, seed
        Of the test; all arrangements are tried if there are no more.

    Returns
    -------
    DataFrame
        by, criterion, quantity ("average rank" or "spread", with n - 1), comparison, n (cells and
        methods), methods, estimate (difference), low, high, p, p_permutation, note.

    Examples
    --------
    >>> ranks = pd.DataFrame({"data": "d", "criterion": "good", "metric": np.repeat(["m", "k"], 4)})
    >>> ranks = ranks.assign(method=list("wxyz") * 2, rank=[1.0, 2, 3, 4, 2, 1, 3, 4])
    >>> found = compare_method_groups(ranks, dict(zip("wxyz", "aabb")))
    >>> found[["quantity", "comparison", "n", "estimate", "p_permutation"]].round(3)
           quantity comparison  n  estimate  p_permutation
    0  average rank      a - b  4    -2.000          0.333
    1        spread      a - b  4     0.707          0.333
    """
    known = ranks[ranks["rank"].notna()]
    known = known.assign(cell=cell_codes(known), group=known["method"].map(groups))
    known = known[known["group"].notna()]
    units = known.groupby([*by, "criterion", "cell", "method", "group"], sort=True)["rank"]
    wide = pd.DataFrame({"average rank": units.mean(), "spread": units.std(ddof=1)}).reset_index()
    rows = []
    for name, part in _parts(wide, [*by, "criterion"]):
        for first, second in combinations(sorted(part["group"].unique()), 2):
            pair = part[part["group"].isin([first, second])]
            both = pair.groupby("cell")["group"].transform("nunique") == 2
            for quantity in ("average rank", "spread"):
                there = pair[both].dropna(subset=[quantity])
                row = name | {"quantity": quantity, "comparison": f"{first} - {second}"}
                rows.append(row | _group_row(there, quantity, first, permutations, seed))
    columns = [*by, "criterion", "quantity", "comparison", "n", "methods", "estimate"]
    columns += ["low", "high", "p", "p_permutation", "note"]
    return pd.DataFrame(rows, columns=columns)


def _group_row(
    there: pd.DataFrame, quantity: str, first: str, permutations: int, seed: int
) -> dict[str, object]:
    values = there[quantity].to_numpy(np.float64)
    marked = (there["group"] == first).to_numpy(bool)
    clusters = [codes_of(there[column]) for column in ("cell", "method")]
    found = contrast_row(clustered_difference(values, marked, *clusters))
    row = {field: found[field] for field in (*_KEPT, "p", "note")}
    means = there.groupby(["group", "method"])[quantity].mean().reset_index()
    samples = [
        means.loc[(means["group"] == first) == own, quantity].to_numpy(np.float64)
        for own in (True, False)
    ]
    p = np.nan
    if min(len(sample) for sample in samples) > 1:
        p = permutation_p(samples, _gap, "independent", permutations, seed)
    elif len(means) > 1 and not row["note"]:
        row["note"] = "a group of one method: no permutation test"
    return row | {"methods": sum(len(sample) for sample in samples), "p_permutation": p}


def _gap(first: Matrix, second: Matrix, axis: int) -> Matrix:
    return np.asarray(np.abs(first.mean(axis) - second.mean(axis)))
