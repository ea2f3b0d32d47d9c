"""Means of groups of units and differences between them, with errors that allow for clusters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.contrasts import clustered_difference, clustered_mean, codes_of, contrast_row
from analysis.resampling import Codes, holm

_Part = tuple[str, NDArray[np.float64], NDArray[np.object_], list[NDArray[np.object_]]]


def group_means(
    values: pd.DataFrame, groups: pd.Series, clusters: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Mean of each group of units for each item.

    Parameters
    ----------
    values
        Units in rows, items in columns, NaN where there is no value.
    groups
        The group of each unit, by unit; units without a group are left out.
    clusters
        By unit, one or two columns of what units share (an image, a method); a column with a
        missing entry is not used. None: units are independent.

    Returns
    -------
    DataFrame
        item, group, n (units), estimate, low, high, note; an item without any unit has one row
        without a group.

    Examples
    --------
    >>> values = pd.DataFrame({"trust": [4.0, 5, 1, 2]}, index=list("stuv"))
    >>> groups = pd.Series({"s": "new", "t": "new", "u": "old", "v": "old"})
    >>> group_means(values, groups)[["item", "group", "n", "estimate"]]
        item group  n  estimate
    0  trust   new  2       4.5
    1  trust   old  2       1.5
    """
    columns = ["item", "group", "n", "estimate", "low", "high", "note"]
    rows = []
    for item, y, labels, shared in _parts(values, groups, clusters):
        if not len(y):
            rows.append({"item": item, "n": 0, "note": _unknown(groups)})
        for group in sorted(set(labels)):
            here = labels == group
            row = contrast_row(clustered_mean(y[here], *_codes(shared, here)))
            rows.append({"item": item, "group": group} | {name: row[name] for name in columns[2:]})
    return pd.DataFrame(rows, columns=columns)


def group_differences(
    values: pd.DataFrame,
    groups: pd.Series,
    clusters: pd.DataFrame | None = None,
    *,
    margin: float = np.nan,
) -> pd.DataFrame:
    """Differences between every two groups of :func:`group_means`, for each item.

    See :func:`analysis.contrasts.clustered_difference` for the interval: a few clusters in one
    group limit what is known. ``p_holm`` corrects among all rows.

    Parameters
    ----------
    values, groups, clusters
        As for :func:`group_means`.
    margin
        The largest difference that does not matter, for ``p_equivalence``.

    Returns
    -------
    DataFrame
        item, comparison, n, estimate, low, high, p, p_holm, margin, p_equivalence,
        smallest_effect, note.

    Examples
    --------
    >>> values = pd.DataFrame({"trust": [4.0, 5, 1, 2]}, index=list("stuv"))
    >>> groups = pd.Series({"s": "new", "t": "new", "u": "old", "v": "old"})
    >>> group_differences(values, groups)[["item", "comparison", "n", "estimate", "p"]].round(3)
        item comparison  n  estimate      p
    0  trust  new - old  4       3.0  0.035
    """
    rows = []
    for item, y, labels, shared in _parts(values, groups, clusters):
        names = sorted(set(labels))
        if len(names) < 2:
            alone = f"only one group ({names[0]}): nothing to compare" if names else ""
            rows.append({"item": item, "n": len(y), "note": alone or _unknown(groups)})
        for first, second in combinations(names, 2):
            here = (labels == first) | (labels == second)
            marked = labels[here] == first
            found = clustered_difference(y[here], marked, *_codes(shared, here))
            row = contrast_row(found, margin)
            rows.append({"item": item, "comparison": f"{first} - {second}"} | row)
    columns = ["item", "comparison", "n", "estimate", "low", "high", "p"]
    columns += ["margin", "p_equivalence", "smallest_effect", "note"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.insert(7, "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def _parts(
    values: pd.DataFrame, groups: pd.Series, clusters: pd.DataFrame | None
) -> Iterator[_Part]:
    """Item, values, groups and clusters of the units that have a value and a group."""
    known = groups.reindex(values.index)
    known = known[known.notna()]
    for item in values.columns:
        y = values.loc[known.index, item].to_numpy(np.float64)
        here = known.index[~np.isnan(y)]
        shared = []
        if clusters is not None:
            found = [clusters[name].reindex(here).to_numpy(object) for name in clusters]
            shared = [codes for codes in found if len(codes) and not pd.isna(codes).any()]
        labels = known[here].to_numpy(object).astype(str).astype(object)
        yield str(item), y[~np.isnan(y)], labels, shared or [here.to_numpy(object)]


def _unknown(groups: pd.Series) -> str:
    return f"no unit has a known {'group' if groups.name is None else groups.name}"


def _codes(clusters: list[NDArray[np.object_]], here: NDArray[np.bool_]) -> list[Codes]:
    return [codes_of(cluster[here]) for cluster in clusters]
