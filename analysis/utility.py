r"""How much better people predict a model with an explanation than without one.

People learn from K examples, then say what a model answers to new inputs. With the share of right
answers :math:`a` of a condition and of the baseline condition,

.. math:: U_K = a_K / a^0_K, \qquad
          U = \frac{1}{K_n - K_1} \sum_{i=2}^{n} \frac{U_{K_{i-1}} + U_{K_i}}{2} (K_i - K_{i-1})

The area is divided by its width, so that 1 always means "as the baseline". A person is the unit:
intervals resample the people of a condition and, apart from them, those of the baseline.

Trials are frames with the columns participant, condition, item, right (0 or 1, or truth values)
and, if there are any, session (numbered) and seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from analysis.contrasts import POWER, contrast_row, one_mean, welch, wilson_interval
from analysis.resampling import LEVEL, Matrix, cluster_counts, holm, percentile_interval

Vector = NDArray[np.float64]

LEAST = 2  # people in a condition, below which nothing is resampled
_MOST = 10_000_000  # people in a condition; more are asked by nobody


class Shares(NamedTuple):
    """Shares of right answers by person and session.

    Attributes
    ----------
    people
        The participants, in the order of the rows.
    conditions
        The condition of each.
    sessions
        The sessions, in the order of the columns.
    right
        People x sessions, NaN where somebody gave no answer.

    Examples
    --------
    >>> Shares(["ann"], np.array(["map"]), [1], np.array([[0.5]])).right
    array([[0.5]])
    """

    people: list[object]
    conditions: NDArray[np.object_]
    sessions: list[object]
    right: Matrix


def right_shares(trials: pd.DataFrame) -> Shares:
    """Take the share of right answers of each person in each session.

    Parameters
    ----------
    trials
        Columns participant, condition, right and perhaps session; without sessions there is one.

    Returns
    -------
    Shares

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {
    ...         "participant": ["ann", "ann", "bob", "bob"],
    ...         "condition": ["map", "map", "none", "none"],
    ...         "right": [1, 1, 0, 1],
    ...     }
    ... )
    >>> right_shares(trials).right
    array([[1. ],
           [0.5]])
    """
    _require_one_condition(trials)
    known = trials.dropna(subset=["participant", "condition", "right"])
    sessions = known["session"] if "session" in known else pd.Series(1, index=known.index)
    person, people = pd.factorize(known["participant"], sort=True)
    column, names = pd.factorize(sessions, sort=True)
    size = (len(people), len(names))
    cell = person * size[1] + column
    right = np.bincount(cell, known["right"].to_numpy(np.float64), size[0] * size[1])
    number = np.bincount(cell, minlength=size[0] * size[1])
    values = np.divide(right, number, out=np.full(len(right), np.nan), where=number > 0)
    first = known.drop_duplicates("participant").set_index("participant")["condition"]
    conditions = first.reindex(people).to_numpy(object)
    return Shares(list(people), conditions, list(names), values.reshape(size))


def _require_one_condition(trials: pd.DataFrame) -> None:
    pairs = trials[["participant", "condition"]].drop_duplicates()
    twice = pairs.loc[pairs["participant"].duplicated(), "participant"]
    if len(twice):
        raise ValueError(f"the participant {twice.iloc[0]!r} is in more than one condition")


def session_means(values: Matrix, counts: Matrix) -> Matrix:
    """Weighted means over people, for each session.

    Parameters
    ----------
    values
        People x sessions, NaN where somebody gave no answer.
    counts
        Resamples x people: how often each person counts.

    Returns
    -------
    ndarray
        Resamples x sessions; NaN where nobody answered.

    Examples
    --------
    >>> session_means(np.array([[1.0], [0.5]]), np.array([[1.0, 1.0], [2.0, 0.0]]))
    array([[0.75],
           [1.  ]])
    """
    known = np.isfinite(values)
    sums = counts @ np.where(known, values, 0.0)
    weights = counts @ known.astype(np.float64)
    out: Matrix = np.full(sums.shape, np.nan)
    return np.asarray(np.divide(sums, weights, out=out, where=weights > 0), np.float64)


def utility_area(curve: Matrix, examples: ArrayLike) -> Vector:
    """Area under curves by the trapezoid, divided by their width.

    Parameters
    ----------
    curve
        Curves x points.
    examples
        Where the points are, ascending; a single point is its own area.

    Returns
    -------
    ndarray
        One number for each curve.

    Examples
    --------
    Points 5 and 10 and 15 examples: (1.0 + 1.2) / 2 and (1.2 + 1.4) / 2.

    >>> utility_area(np.array([[1.0, 1.2, 1.4]]), [5, 10, 15]).round(3)
    array([1.2])
    """
    places = np.asarray(examples, np.float64)
    if len(places) == 1:
        return np.asarray(curve[:, 0], np.float64)
    return np.asarray(np.trapezoid(curve, places, axis=1) / (places[-1] - places[0]), np.float64)


def utility_table(
    trials: pd.DataFrame,
    baseline: str,
    *,
    examples: Mapping[object, float] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Utility-K of every condition after each session, and Utility, with intervals.

    Parameters
    ----------
    trials
        See the head of this module.
    baseline
        The condition without explanations.
    examples
        How many examples people have seen, by session; None counts sessions from 1.
    resamples, seed
        Of the bootstrap over people; the people of the baseline are resampled as well.

    Returns
    -------
    DataFrame
        condition, k (empty for the area), n (people), accuracy, estimate, low, high, note. The
        baseline is among them, its Utility is 1. Each condition has draws of its own, and that of
        the baseline serves all.

    References
    ----------
    Fel, Colin, Cadene & Serre 2021, https://hal.science/hal-03473101

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {
    ...         "participant": list("aabbccdd"),
    ...         "condition": ["map"] * 4 + ["none"] * 4,
    ...         "right": [1, 1, 1, 0, 1, 0, 0, 1],
    ...     }
    ... )
    >>> found = utility_table(trials, "none", resamples=200)
    >>> found[["condition", "k", "n", "accuracy", "estimate"]]
      condition    k  n  accuracy  estimate
    0       map  1.0  2      0.75       1.5
    1       map  NaN  2      0.75       1.5
    2      none  1.0  2      0.50       1.0
    3      none  NaN  2      0.50       1.0
    """
    columns = ["condition", "k", "n", "accuracy", "estimate", "low", "high", "note"]
    shares = right_shares(trials)
    places = _places(shares.sessions, examples)
    base = shares.right[shares.conditions == baseline]
    rows: list[dict[str, object]] = []
    names = sorted(set(shares.conditions.tolist()), key=str)
    drawn = _draw(base, resamples, seed, 0) if len(base) else np.empty((0, len(places)))
    for number, name in enumerate(names, start=1):
        own = shares.right[shares.conditions == name]
        means = session_means(own, np.ones((1, len(own))))
        note = "" if len(base) else f"nobody is in the baseline condition {baseline!r}"
        few = min(len(own), len(base)) < LEAST and not note
        ratio = np.full((1, len(places)), np.nan)
        low, high = np.full(len(places) + 1, np.nan), np.full(len(places) + 1, np.nan)
        if len(base):
            ratio = _ratio(means, session_means(base, np.ones((1, len(base)))))
        if len(base) and not few and name != baseline:
            curves = _ratio(_draw(own, resamples, seed, number), drawn)
            both = np.column_stack([curves, utility_area(curves, places)])
            low, high = percentile_interval(both)
        estimates = np.append(ratio[0], utility_area(ratio, places))
        levels = np.append(means[0], utility_area(means, places))
        said = "one person in a condition: no interval" if few else note
        for place, k in enumerate([*places, np.nan]):
            row = (name, k, len(own), levels[place], estimates[place], low[place], high[place])
            rows.append(dict(zip(columns, (*row, said), strict=True)))
    return pd.DataFrame(rows, columns=columns)


def _places(sessions: Sequence[object], examples: Mapping[object, float] | None) -> list[float]:
    if examples is None:
        return [float(number) for number in range(1, len(sessions) + 1)]
    unknown = [name for name in sessions if name not in examples]
    if unknown:
        raise ValueError(f"examples has no number for the session {unknown[0]!r}")
    places = [float(examples[name]) for name in sessions]
    if any(second <= first for first, second in pairwise(places)):
        raise ValueError("the numbers of examples must ascend with the sessions")
    return places


def _draw(values: Matrix, resamples: int, seed: int, number: int) -> Matrix:
    """Means of resamples of people; every condition has its own stream of random numbers."""
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    parts = cluster_counts(len(values), resamples, own)
    return np.concatenate([session_means(values, np.asarray(one, np.float64)) for one in parts])


def _ratio(above: Matrix, below: Matrix) -> Matrix:
    shape = np.broadcast_shapes(above.shape, below.shape)
    known = np.broadcast_to(below > 0, shape)
    out: Matrix = np.full(shape, np.nan)
    return np.asarray(np.divide(above, below, out=out, where=known), np.float64)


def person_utility(
    trials: pd.DataFrame, baseline: str, examples: Mapping[object, float] | None = None
) -> pd.DataFrame:
    """Utility of each person: the area of their shares over that of the baseline's mean.

    What a variance analysis takes; without anybody in the baseline it is the area itself.

    Parameters
    ----------
    trials, baseline, examples
        As for :func:`utility_table`.

    Returns
    -------
    DataFrame
        participant, condition, accuracy, utility; somebody without an answer in some session has
        neither.

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {"participant": list("aabb"), "condition": ["map"] * 2 + ["none"] * 2,
    ...      "right": [1, 1, 1, 0]}
    ... )
    >>> person_utility(trials, "none")
      participant condition  accuracy  utility
    0           a       map       1.0      2.0
    1           b      none       0.5      1.0
    """
    shares = right_shares(trials)
    places = _places(shares.sessions, examples)
    base = shares.right[shares.conditions == baseline]
    level = session_means(base, np.ones((1, len(base)))) if len(base) else np.ones((1, len(places)))
    return pd.DataFrame(
        {
            "participant": shares.people,
            "condition": shares.conditions,
            "accuracy": utility_area(shares.right, places),
            "utility": utility_area(_ratio(shares.right, level), places),
        }
    )


def ratio_of_means(first: ArrayLike, second: ArrayLike, margin: float) -> dict[str, object]:
    r"""Ratio of two means with Fieller's interval, and whether it is about 1 (TOST).

    For a ratio :math:`\theta`, :math:`t(\theta) = (\bar x - \theta \bar y) / s(\theta)` with
    :math:`s^2 = s_x^2 / n_x + \theta^2 s_y^2 / n_y` and Welch's degrees of freedom. The interval
    holds every :math:`\theta` that is not rejected; equivalence rejects both
    :math:`\theta \le 1 - \Delta` and :math:`\theta \ge 1 + \Delta`.

    Parameters
    ----------
    first, second
        Values of independent people; the means of the second must be above 0.
    margin
        The largest departure from 1 that does not matter.

    Returns
    -------
    dict
        n, estimate, low, high, p (that the ratio is 1), margin, p_equivalence, note.

    References
    ----------
    Hauschke, Kieser, Diletti & Burke 1999,
    doi:10.1002/(SICI)1097-0258(19990115)18:1<93::AID-SIM992>3.0.CO;2-8

    Examples
    --------
    >>> found = ratio_of_means([0.6, 0.7, 0.8, 0.7, 0.7], [0.6, 0.7, 0.7, 0.8, 0.7], margin=0.2)
    >>> found["estimate"], bool(found["p_equivalence"] < 0.05)
    (1.0, True)
    """
    x, y = (np.asarray(one, np.float64) for one in (first, second))
    x, y = x[np.isfinite(x)], y[np.isfinite(y)]
    row: dict[str, object] = {"n": len(x) + len(y)}
    row |= dict.fromkeys(("estimate", "low", "high", "p"), np.nan)
    row |= {"margin": margin, "p_equivalence": np.nan}
    if min(len(x), len(y)) < LEAST or y.mean() <= 0:
        return row | {"note": "fewer than two people in a condition, or none of them is right"}
    row["estimate"] = ratio = float(x.mean() / y.mean())
    parts = float(x.var(ddof=1) / len(x)), float(y.var(ddof=1) / len(y))
    if not sum(parts):
        return row | {"note": "no spread between people: no interval"}

    def test(theta: float) -> tuple[float, float]:
        """t and its degrees of freedom under a ratio."""
        a, b = parts[0], theta**2 * parts[1]
        apart = x.mean() - theta * y.mean()
        if not a + b:  # the first mean has no spread, and none is left of the second
            return (float(np.copysign(np.inf, apart)) if apart else 0.0), len(y) - 1.0
        df = (a + b) ** 2 / (a**2 / (len(x) - 1) + b**2 / (len(y) - 1))
        return float(apart / np.sqrt(a + b)), float(df)

    def beyond(theta: float, tail: float) -> float:
        t, df = test(theta)
        return t - tail * float(stats.t.ppf((1 + LEVEL) / 2, df))

    t, df = test(1.0)
    row["p"] = float(2 * stats.t.sf(abs(t), df))
    above, below = test(1 - margin), test(1 + margin)
    row["p_equivalence"] = float(max(stats.t.sf(*above), stats.t.cdf(*below)))
    # Far from the ratio t goes to that of the second mean alone: only beyond its own limit is
    # there an end.
    limit = float(stats.t.ppf((1 + LEVEL) / 2, len(y) - 1))
    if y.mean() <= limit * np.sqrt(parts[1]):
        return row | {"note": "the baseline is hardly above 0: no interval"}
    for name, tail in (("low", 1.0), ("high", -1.0)):
        reach = max(ratio, 1.0)
        while tail * beyond(ratio - tail * reach, tail) <= 0:
            reach *= 2
        one, other = sorted((ratio - tail * reach, ratio))
        row[name] = float(optimize.brentq(beyond, one, other, args=(tail,)))
    return row | {"note": ""}


def equivalence_power(people: int, variation: float, margin: float) -> float:
    r"""Chance that two conditions that are equal are shown to be (two one-sided tests of a ratio).

    With :math:`n` people in each condition whose shares have the coefficient of variation
    :math:`v`, the tests of :math:`1 \pm \Delta` have noncentral t distributions with
    :math:`2n - 2` degrees of freedom and the parameters
    :math:`\Delta / (v \sqrt{(1 + (1 \pm \Delta)^2) / n})`. The chance is the sum of both powers
    less 1 (at least one of the tests rejects nearly always).

    Parameters
    ----------
    people
        In each condition.
    variation
        Standard deviation between people over the mean.
    margin
        The largest departure from 1 that does not matter.

    Returns
    -------
    float

    References
    ----------
    Hauschke, Kieser, Diletti & Burke 1999,
    doi:10.1002/(SICI)1097-0258(19990115)18:1<93::AID-SIM992>3.0.CO;2-8

    Examples
    --------
    >>> round(equivalence_power(30, 0.15, 0.1), 2), round(equivalence_power(60, 0.15, 0.1), 2)
    (0.63, 0.95)
    """
    df = 2 * people - 2
    tail = float(stats.t.ppf(LEVEL, df))
    each = [
        float(stats.nct.sf(tail, df, margin / (variation * np.sqrt((1 + end**2) / people))))
        for end in (1 - margin, 1 + margin)
    ]
    return max(0.0, sum(each) - 1)


def people_for_equivalence(variation: float, margin: float, power: float = POWER) -> float:
    """People in each condition who show that two equal conditions are equal.

    Parameters
    ----------
    variation, margin
        As for :func:`equivalence_power`.
    power
        The chance to show it.

    Returns
    -------
    float
        A whole number; NaN if the variation is not known.

    Examples
    --------
    >>> people_for_equivalence(0.15, 0.1), people_for_equivalence(0.3, 0.1)
    (40.0, 156.0)
    """
    if not np.isfinite(variation) or not variation > 0:
        return float("nan")
    enough = LEAST
    while equivalence_power(enough, variation, margin) < power:
        if enough > _MOST:
            return float("inf")
        enough *= 2
    low, high = enough // 2, enough
    while high - low > 1:
        middle = (low + high) // 2
        if equivalence_power(middle, variation, margin) < power:
            low = middle
        else:
            high = middle
    return float(high)


def equivalence_table(
    trials: pd.DataFrame,
    baseline: str,
    margin: float = 0.1,
    examples: Mapping[object, float] | None = None,
) -> pd.DataFrame:
    """Hold every condition against the baseline: different, equivalent, or unknown.

    Parameters
    ----------
    trials, baseline, examples
        As for :func:`utility_table`.
    margin
        The largest departure of Utility from 1 that does not matter.

    Returns
    -------
    DataFrame
        condition, n, estimate, low, high (Fieller's), p, p_holm, margin, p_equivalence, verdict
        (``better``, ``worse``, ``equivalent``, ``unknown``), note, people (in the smaller of both
        conditions), needed (in each, to show with a chance of 80 % that conditions are equal if
        they are, at the spread that is found). The verdict looks at p_holm for a difference and at
        p_equivalence below 0.05.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> trials = pd.DataFrame(
    ...     {"participant": np.repeat(np.arange(80), 20),
    ...      "condition": np.repeat(["none", "map"], 800),
    ...      "right": rng.random(1600) < np.repeat([0.5, 0.7], 800)}
    ... )
    >>> equivalence_table(trials, "none")[["condition", "verdict"]]
      condition verdict
    0       map  better
    """
    people = person_utility(trials, baseline, examples)
    base = people.loc[people["condition"] == baseline, "accuracy"]
    rows = []
    for name, own in people[people["condition"] != baseline].groupby("condition", sort=True):
        row = {"condition": name} | ratio_of_means(own["accuracy"], base, margin)
        values = [one.dropna().to_numpy(np.float64) for one in (own["accuracy"], base)]
        row["people"] = min(map(len, values))
        row["needed"] = people_for_equivalence(_variation(*values), margin)
        rows.append(row)
    columns = ["condition", "n", "estimate", "low", "high", "p", "margin", "p_equivalence", "note"]
    columns += ["people", "needed"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.insert(6, "p_holm", holm(frame["p"].to_numpy(np.float64)))
    different = frame["p_holm"] < 1 - LEVEL
    verdict = np.where(frame["p_equivalence"] < 1 - LEVEL, "equivalent", "unknown")
    frame["verdict"] = np.where(
        different, np.where(frame["estimate"] > 1, "better", "worse"), verdict
    )
    return frame[[*columns[:6], "p_holm", *columns[6:8], "verdict", *columns[8:]]]


def _variation(first: Vector, second: Vector) -> float:
    """The standard deviation within two groups over the mean of the second."""
    free = len(first) + len(second) - 2
    if free < 1 or not len(second) or not second.mean() > 0:
        return float("nan")
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in (first, second) if len(one))
    return float(np.sqrt(squares / free) / second.mean())


def learning_table(trials: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Shares of right answers by session, and what people gain from one to the next.

    Parameters
    ----------
    trials, baseline
        As for :func:`utility_table`; sessions are numbers.

    Returns
    -------
    DataFrame
        condition, quantity (``session N``: the share; ``slope``: the gain of a session, the mean of
        people's least-squares slopes; ``slope - baseline``), n, estimate, low, high, p (that a
        slope is 0), note.

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {"participant": list("aabb"), "condition": "map", "session": [1, 2, 1, 2],
    ...      "right": [0, 1, 1, 1]}
    ... )
    >>> learning_table(trials, "none")[["quantity", "n", "estimate"]]
        quantity  n  estimate
    0  session 1  2       0.5
    1  session 2  2       1.0
    2      slope  2       0.5
    """
    columns = ["condition", "quantity", "n", "estimate", "low", "high", "p", "note"]
    shares = right_shares(trials)
    at = np.asarray(shares.sessions, np.float64)
    centred = at - at.mean()
    whole = float((centred**2).sum())
    slopes = (shares.right @ centred) / whole if whole else np.full(len(shares.people), np.nan)
    base = slopes[shares.conditions == baseline]
    rows: list[dict[str, object]] = []

    def add(condition: object, quantity: str, found: dict[str, object], test: bool) -> None:
        kept = {key: found[key] for key in ("n", "estimate", "low", "high", "note")}
        p = found["p"] if test else np.nan
        rows.append({"condition": condition, "quantity": quantity, **kept, "p": p})

    for name in sorted(set(shares.conditions.tolist()), key=str):
        here = shares.conditions == name
        for column, session in enumerate(shares.sessions):
            found = contrast_row(one_mean(shares.right[here, column]))
            add(name, f"session {session}", found, False)
        if len(at) > 1:
            add(name, "slope", contrast_row(one_mean(slopes[here])), True)
            if name != baseline and len(base):
                add(name, "slope - baseline", contrast_row(welch(slopes[here], base)), True)
    return pd.DataFrame(rows, columns=columns)


def item_table(trials: pd.DataFrame) -> pd.DataFrame:
    """How hard each item is, and whether it tells people who are often right from others.

    Parameters
    ----------
    trials
        See the head of this module.

    Returns
    -------
    DataFrame
        item, n (answers), estimate (share of right ones), low, high (Wilson's), discrimination
        (Pearson's correlation of the item with the share of the person's other answers), least and
        most (the lowest and highest share of a condition with five answers or more); the hardest
        first.

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {"participant": list("aabb"), "condition": "map", "item": list("xyxy"),
    ...      "right": [1, 0, 1, 1]}
    ... )
    >>> item_table(trials)[["item", "n", "estimate"]]
      item  n  estimate
    0    y  2       0.5
    1    x  2       1.0
    """
    known = trials.dropna(subset=["item", "right"]).assign(
        right=lambda one: one["right"].astype(np.float64)
    )
    totals = known.groupby("participant")["right"].agg(["sum", "count"])
    own = totals.reindex(known["participant"])
    rest = (own["sum"].to_numpy() - known["right"].to_numpy()) / np.maximum(own["count"] - 1, 1)
    rows = []
    known = known.assign(rest=rest.to_numpy(np.float64))
    for item, part in known.groupby("item", sort=True):
        n, right = len(part), float(part["right"].sum())
        low, high = wilson_interval(right, n)
        varies = n > 2 and np.ptp(part["right"]) > 0 and np.ptp(part["rest"]) > 0
        cells = part.groupby("condition")["right"].agg(["mean", "count"])
        cells = cells[cells["count"] >= 5]
        rows.append(
            {
                "item": item,
                "n": n,
                "estimate": right / n,
                "low": low,
                "high": high,
                "discrimination": float(np.corrcoef(part["right"], part["rest"])[0, 1])
                if varies
                else np.nan,
                "least": cells["mean"].min() if len(cells) else np.nan,
                "most": cells["mean"].max() if len(cells) else np.nan,
            }
        )
    columns = ["item", "n", "estimate", "low", "high", "discrimination", "least", "most"]
    return pd.DataFrame(rows, columns=columns).sort_values("estimate", ignore_index=True)


def time_table(trials: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Seconds that an answer takes, by condition and beside the baseline.

    A person's value is the mean of the logarithms of their seconds, so that one long break does
    not decide.

    Parameters
    ----------
    trials
        With the column seconds; answers without a time, or of no seconds, are left out.
    baseline
        The condition without explanations.

    Returns
    -------
    DataFrame
        condition, quantity (``seconds``: the geometric mean; ``ratio``: over the baseline's), n,
        estimate, low, high, p, note.

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {"participant": list("abcd"), "condition": ["map"] * 2 + ["none"] * 2, "right": 1,
    ...      "seconds": [4.0, 4, 2, 2]}
    ... )
    >>> time_table(trials, "none")[["condition", "quantity", "n", "estimate"]].round(3)
      condition quantity  n  estimate
    0       map  seconds  2       4.0
    1       map    ratio  4       2.0
    2      none  seconds  2       2.0
    """
    columns = ["condition", "quantity", "n", "estimate", "low", "high", "p", "note"]
    known = trials[trials["seconds"] > 0] if "seconds" in trials else trials.iloc[:0]
    if known.empty:
        return pd.DataFrame(columns=columns)
    logs = np.log(known["seconds"].to_numpy(np.float64))
    people = known.assign(log=logs).groupby(["condition", "participant"])["log"].mean()
    base = people[people.index.get_level_values(0) == baseline].to_numpy(np.float64)
    rows = []
    for name, values in people.groupby(level=0, sort=True):
        own = values.to_numpy(np.float64)
        compared = [("seconds", contrast_row(one_mean(own)))]
        if name != baseline and len(base):
            compared.append(("ratio", contrast_row(welch(own, base))))
        for quantity, found in compared:
            ends = {key: np.exp(float(str(found[key]))) for key in ("estimate", "low", "high")}
            p = found["p"] if quantity == "ratio" else np.nan
            row = {"condition": name, "quantity": quantity, "n": found["n"], "p": p}
            rows.append(row | ends | {"note": found["note"]})
    return pd.DataFrame(rows, columns=columns)
