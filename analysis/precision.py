"""How many people a study needs until the order of what they judge can be relied on.

A person gives values to some items (each to one, or each to several). What differs between items
is signal, what differs between people who judge the same item is noise, and the mean over more
people has less of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.contrasts import Vector
from analysis.resampling import Codes, Matrix, cluster_counts, percentile_interval

GOAL = 0.9  # reliability that is enough to speak of an order


def people_needed(
    values: ArrayLike,
    people: ArrayLike,
    items: ArrayLike,
    *,
    goal: float = GOAL,
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Reliability of the means of items, and how many people bring it to a goal.

    Values of one person on one item are averaged first. With :math:`\sigma_b^2` the variance of the
    true means of items and :math:`\sigma_w^2` that of people on the same item, the mean over k
    people has the reliability

    .. math:: \rho_k = \frac{\sigma_b^2}{\sigma_b^2 + \sigma_w^2 / k},
        \qquad k(\rho) = \frac{\rho}{1 - \rho} \, \frac{\sigma_w^2}{\sigma_b^2}

    Where every person judges several items, a person's own level is no noise: it is taken out, and
    one person serves all items. Otherwise each item needs people of its own. The variances are the
    estimates of a one-way (or two-way) analysis of variance without interaction.

    Parameters
    ----------
    values, people, items
        One entry for each answer; answers without a value are left out.
    goal
        The reliability that is asked for, between 0 and 1.
    resamples, seed
        Of the bootstrap over people.

    Returns
    -------
    DataFrame
        A row for ``reliability`` (of the means that there are) and one for ``people`` (needed for
        the goal, over all items): quantity, n (people), items, paired (whether people judge several
        items), estimate, low, high, note.

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; Spearman 1910,
    doi:10.1111/j.2044-8295.1910.tb00206.x

    Examples
    --------
    >>> people, items = np.repeat(np.arange(20), 3), np.tile([0, 1, 2], 20)
    >>> noise = np.random.default_rng(0).normal(size=60)
    >>> found = people_needed(items + noise, people, items)
    >>> found[["quantity", "n", "items", "paired", "estimate"]].round(2)
          quantity   n  items  paired  estimate
    0  reliability  20      3    True      0.97
    1       people  20      3    True      5.59
    """
    frame = pd.DataFrame({"value": np.asarray(values, np.float64)})
    frame["person"], frame["item"] = _codes(np.asarray(people)), _codes(np.asarray(items))
    frame = frame.dropna().groupby(["person", "item"])[["value"]].mean().reset_index()
    person, item = _codes(frame["person"].to_numpy()), _codes(frame["item"].to_numpy())
    n, number = int(person.max(initial=-1)) + 1, int(item.max(initial=-1)) + 1
    paired = bool(len(frame) and np.bincount(person).min(initial=2) > 1)
    head = {"n": n, "items": number, "paired": paired}
    nothing = dict.fromkeys(("estimate", "low", "high"), np.nan)
    note = _why_not(n, number, item)
    if note:
        rows = [
            {"quantity": one, **head, **nothing, "note": note} for one in ("reliability", "people")
        ]
        return pd.DataFrame(rows)
    own = frame["value"].to_numpy(np.float64)
    whole = np.ones((1, n))
    draws = np.concatenate([whole, *cluster_counts(n, resamples, seed)])
    signal, noise, per_item = _variances(own, person, item, draws, paired)
    with np.errstate(divide="ignore", invalid="ignore"):
        reliability = signal / (signal + noise / per_item)
        needed = goal / (1 - goal) * noise / signal * (1 if paired else number)
    needed[signal <= 0] = np.inf
    rows = []
    for name, found in (("reliability", reliability), ("people", needed)):
        ordered = np.where(np.isfinite(found), found, np.inf)
        low, high = percentile_interval(_bounded(ordered[1:, None]))
        row = {"quantity": name, **head, "estimate": found[0]}
        row |= {"low": _unbounded(low[0]), "high": _unbounded(high[0])}
        no_signal = name == "people" and not np.isfinite(found[0])
        rows.append(row | {"note": "items do not differ more than by chance" if no_signal else ""})
    return pd.DataFrame(rows)


def _codes(labels: NDArray[Any]) -> Codes:
    """Numbers by the order of labels, not of rows: the same people are drawn however rows stand."""
    return np.unique(labels, return_inverse=True)[1]


_LARGE = 1e12  # stands for infinity where quantiles are interpolated


def _bounded(values: Matrix) -> Matrix:
    return np.where(np.isfinite(values), values, _LARGE)


def _unbounded(value: float) -> float:
    return float("inf") if value >= _LARGE / 2 else float(value)


def _why_not(people: int, items: int, item: Codes) -> str:
    if items < 2:
        return "fewer than two items"
    if people < 3 or np.bincount(item).min() < 2:
        return "fewer than two people on an item"
    return ""


def _variances(
    values: Vector, person: Codes, item: Codes, draws: Matrix, paired: bool
) -> tuple[Vector, Vector, Vector]:
    """Variance between items and of people on one item, and people per item, for each draw.

    Drawn people count as often as they were drawn. Method of moments: the mean squares of the
    analysis of variance are set equal to what they are expected to be.
    """
    number = int(item.max()) + 1
    weights = draws[:, person]
    if paired:
        totals = _sums(weights * values, person, int(person.max()) + 1)
        counts = np.maximum(_sums(weights, person, int(person.max()) + 1), 1e-12)
        values = values - (totals / counts)[:, person]
    sizes = _sums(weights, item, number)
    means = _sums(weights * values, item, number) / np.maximum(sizes, 1e-12)
    left = np.square(values - means[:, item])
    rows = weights.sum(1)
    lost = (draws > 0).sum(1) - 1 if paired else 0
    free = np.maximum(rows - number - lost, 1)
    noise = (weights * left).sum(1) / free
    per_item = rows / number
    # Means of items around their mean: signal plus noise of a mean.
    grand = means.mean(axis=1, keepdims=True)
    signal = np.square(means - grand).sum(1) / (number - 1) - noise / per_item
    return np.maximum(signal, 0.0), noise, per_item


def _sums(values: Matrix, codes: Codes, number: int) -> Matrix:
    rows = np.atleast_2d(values)
    indicator = np.zeros((len(codes), number))
    indicator[np.arange(len(codes)), codes] = 1.0
    return np.asarray(rows @ indicator)
