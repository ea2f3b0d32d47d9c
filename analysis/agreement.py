"""How well raters agree: with the mode, with each other, per item and group of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.kappa import bootstrap_kappa, draw_once, kappa_from_sums, sum_by_cluster
from analysis.reliability import fleiss_kappa, icc, krippendorff_alpha
from analysis.resampling import Matrix, percentile_interval
from analysis.votes import ALL, LIKERT, MEAN, Votes, modes, modes_without_own, read_votes

Sides = tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]
_NAMES_AT_ONCE = 32  # of many pairs and millions of votes all at once would fill the memory


def agreement_with_mode(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "unit",
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Quadratic kappa of each rater against the mode of the votes, per item and over all.

    Two labels are compared with. ``as_published``: the mode of all votes, the rater's own among
    them, as published studies often do; with five votes the rater pulls the label along.
    ``leave_one_out``: the mode of the others' votes, the fair ceiling of a score that has not seen
    the rater. Ties go to the smallest category; units with a single vote do not count.

    The interval is a percentile bootstrap over clusters; all rows see the same resamples. The row
    of the rater "mean" is the mean over raters with its interval for these raters.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating, and that of the clusters.
    categories
        The whole scale in its order.
    cluster
        The column whose values are resampled as a whole.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        item ("all": votes of all items together), rater, label, n, estimate, low,
        high, note.

    References
    ----------
    Cohen 1968, doi:10.1037/h0026256

    Examples
    --------
    Three raters agree, the fourth sees everything the other way round:

    >>> ratings = pd.DataFrame({"unit": list("stuv") * 4, "rater": np.repeat(list("abcd"), 4)})
    >>> ratings = ratings.assign(item="trust", rating=[1, 2, 4, 5] * 3 + [5, 4, 2, 1])
    >>> found = agreement_with_mode(ratings)
    >>> found[found["label"] == "leave_one_out"][["item", "rater", "n", "estimate"]]
        item rater   n  estimate
    5  trust     a   4       1.0
    6  trust     b   4       1.0
    7  trust     c   4       1.0
    8  trust     d   4      -1.0
    9  trust  mean  16       0.5
    """
    votes = read_votes(ratings, categories, cluster)
    others = modes_without_own(votes)
    # A single vote is its own mode: comparing the two would say nothing about agreement.
    labels = {
        "as_published": np.where(others >= 0, modes(votes)[:, None].astype(others.dtype), others),
        "leave_one_out": others,
    }
    options = (resamples, seed)
    frames = [
        _kappas(votes, _rows(votes.codes, other), votes.raters.tolist(), "rater", options)
        .assign(label=name)
        .pipe(_reorder, ["item", "rater", "label"])
        for name, other in labels.items()
    ]
    return pd.concat(frames, ignore_index=True)


def pairwise_agreement(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "unit",
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Quadratic kappa of every two raters on the units both rated, per item and over all.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating, and that of the clusters.
    categories
        The whole scale in its order.
    cluster
        The column whose values are resampled as a whole.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        item, first, second, n, estimate, low, high, note; the row with "mean" in first and
        second is the mean over pairs (Light's kappa).

    References
    ----------
    Light 1971, doi:10.1037/h0031643

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": list("stuv") * 3, "rater": np.repeat(list("abc"), 4)})
    >>> ratings = ratings.assign(item="trust", rating=[1, 2, 4, 5] * 2 + [5, 4, 2, 1])
    >>> pairwise_agreement(ratings)[["first", "second", "n", "estimate"]].round(3)
      first second   n  estimate
    0     a      b   4     1.000
    1     a      c   4    -1.000
    2     b      c   4    -1.000
    3  mean   mean  12    -0.333
    """
    votes = read_votes(ratings, categories, cluster)
    pairs = list(combinations(range(len(votes.raters)), 2))
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    names = [(votes.raters[one], votes.raters[two]) for one, two in pairs]
    options = (resamples, seed)

    def two(item: int, where: slice) -> Sides:
        return votes.codes[item][first[where]], votes.codes[item][second[where]]

    frame = _kappas(votes, two, names, "pair", options)
    frame["first"] = [MEAN if pair == MEAN else pair[0] for pair in frame["pair"]]
    frame["second"] = [MEAN if pair == MEAN else pair[1] for pair in frame["pair"]]
    return _reorder(frame.drop(columns="pair"), ["item", "first", "second"])


def agreement_summary(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "unit",
    resamples: int = 2_000,
    seed: int = 0,
    pairs: bool = True,
    with_mode: pd.DataFrame | None = None,
    two: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Every measure of agreement for each item.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating, and that of the clusters.
    categories
        The whole scale in its order.
    cluster
        The column whose values are resampled as a whole.
    resamples, seed
        Of the bootstrap.
    pairs
        False leaves pairwise_kappa out: its cost grows with the square of the raters.
    with_mode, two
        The tables of :func:`agreement_with_mode` and :func:`pairwise_agreement` of the same
        ratings and options, if they are there already.

    Returns
    -------
    DataFrame
        item, measure (krippendorff_ordinal, fleiss, icc1, icc1k, pairwise_kappa,
        mode_kappa_as_published, mode_kappa_leave_one_out; the kappas are quadratic and the mean
        over pairs or raters), n, estimate, low, high, p, note. n counts units for the first
        four measures, pairs of ratings for the others.

    Examples
    --------
    Three raters agree, the fourth sees everything the other way round: on each unit half of the
    pairs of raters agree, where chance gives a quarter.

    >>> ratings = pd.DataFrame({"unit": list("stuv") * 4, "rater": np.repeat(list("abcd"), 4)})
    >>> ratings = ratings.assign(item="trust", rating=[1, 2, 4, 5] * 3 + [5, 4, 2, 1])
    >>> agreement_summary(ratings)[["measure", "n", "estimate"]].round(3)
                        measure   n  estimate
    0      krippendorff_ordinal   4     0.062
    1                    fleiss   4     0.333
    2                      icc1   4     0.077
    3                     icc1k   4     0.250
    4            pairwise_kappa  24     0.000
    5   mode_kappa_as_published  16     0.500
    6  mode_kappa_leave_one_out  16     0.500
    """
    votes = read_votes(ratings, categories, cluster)
    boot = {"resamples": resamples, "seed": seed}
    rows: list[dict[str, object]] = []
    for number, item in enumerate(votes.items):
        matrix = votes.ratings(number).T
        forms = icc(matrix).set_index("form")
        found = {
            "krippendorff_ordinal": krippendorff_alpha(
                matrix, categories, clusters=votes.clusters, **boot
            ).iloc[0],
            "fleiss": fleiss_kappa(matrix, categories, clusters=votes.clusters, **boot).iloc[0],
            "icc1": forms.loc["ICC1"],
            "icc1k": forms.loc["ICC1k"],
        }
        for measure, row in found.items():
            kept = {name: row[name] for name in ("n", "estimate", "low", "high", "note")}
            rows.append({"item": item, "measure": measure, **kept, "p": row.get("p")})
    shared = {"categories": categories, "cluster": cluster, **boot}
    if with_mode is None:
        with_mode = agreement_with_mode(ratings, **shared)  # type: ignore[arg-type]
    with_mode = with_mode[with_mode["rater"] == MEAN]
    with_mode = with_mode.assign(measure="mode_kappa_" + with_mode["label"])
    means = [with_mode]
    if pairs:
        if two is None:
            two = pairwise_agreement(ratings, **shared)  # type: ignore[arg-type]
        means.insert(0, two[two["first"] == MEAN].assign(measure="pairwise_kappa"))
    columns = ["item", "measure", "n", "estimate", "low", "high", "p", "note"]
    frames = [pd.DataFrame(rows, columns=columns)]
    frames += [frame.reindex(columns=columns) for frame in means]
    joined = pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)
    joined["p"] = joined["p"].astype(np.float64)
    return joined.sort_values(["item"], kind="stable", ignore_index=True)


def agreement_by(ratings: pd.DataFrame, column: str, **options: object) -> pd.DataFrame:
    """:func:`agreement_summary` of each group of units.

    Parameters
    ----------
    ratings
        As there.
    column
        The column that names the group of the unit; rows without one are left out.
    **options
        As there.

    Returns
    -------
    DataFrame
        The group, then the columns of :func:`agreement_summary`.

    Examples
    --------
    Two raters agree on maps and differ on texts:

    >>> ratings = pd.DataFrame({"unit": list("stuv") * 2, "rater": np.repeat(["a", "b"], 4)})
    >>> ratings = ratings.assign(item="trust", rating=[1, 5, 1, 5, 1, 5, 5, 1])
    >>> ratings["kind"] = ["map", "map", "text", "text"] * 2
    >>> found = agreement_by(ratings, "kind")
    >>> found[found["measure"] == "pairwise_kappa"][["kind", "measure", "n", "estimate"]]
        kind         measure  n  estimate
    4    map  pairwise_kappa  2       1.0
    11  text  pairwise_kappa  2      -1.0
    """
    frames = []
    for group, part in ratings.dropna(subset=[column]).groupby(column, sort=True):
        frame = agreement_summary(part, **options)  # type: ignore[arg-type]
        frame.insert(0, column, group)
        frames.append(frame)
    if frames:
        return pd.concat(frames, ignore_index=True)
    empty = agreement_summary(ratings.iloc[:0], **options)  # type: ignore[arg-type]
    empty.insert(0, column, pd.Series(dtype=object))
    return empty


def agreement_differences(
    ratings: pd.DataFrame,
    column: str,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "unit",
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Difference between two groups of units in the mean kappa with the mode of the others.

    Raters are their own comparison: the estimate is the mean, over raters who have a quadratic
    kappa on both groups, of the difference of the two. The interval is a percentile bootstrap over
    clusters, which may have units of both groups.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating, that of the clusters, and the next.
    column
        The column that names the group of the unit.
    categories
        The whole scale in its order.
    cluster
        The column whose values are resampled as a whole.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        item ("all": all items together), first, second, n (raters), estimate, low, high, note; a
        row for every two groups.

    Examples
    --------
    Two raters agree on maps (kappa 1) and differ on texts (-1):

    >>> ratings = pd.DataFrame({"unit": list("stuv") * 2, "rater": np.repeat(["a", "b"], 4)})
    >>> ratings = ratings.assign(item="trust", rating=[1, 5, 1, 5, 1, 5, 5, 1])
    >>> ratings["kind"] = ["map", "map", "text", "text"] * 2
    >>> agreement_differences(ratings, "kind")[["item", "first", "second", "n", "estimate"]]
        item first second  n  estimate
    0  trust   map   text  2       2.0
    """
    columns = ["item", "first", "second", "n", "estimate", "low", "high", "note"]
    known = ratings[ratings[column].notna() & ratings["rating"].notna()]
    groups = sorted(known[column].astype(str).unique())
    if len(groups) < 2:
        return pd.DataFrame(columns=columns)
    votes = read_votes(known, categories, cluster)
    of = known.drop_duplicates("unit").set_index("unit")[column].astype(str)
    group = of.reindex(votes.units).to_numpy(object)
    others = modes_without_own(votes)
    size = len(votes.raters)
    parts: list[tuple[object, Matrix]] = []
    for number, item in enumerate(votes.items):
        own = np.concatenate([np.where(group == one, votes.codes[number], -1) for one in groups])
        label = np.tile(others[number], (len(groups), 1))
        parts.append((item, sum_by_cluster(own, label, votes.clusters)))
    if len(parts) > 1:
        parts.append((ALL, np.sum([sums for _, sums in parts], axis=0)))
    rows: list[tuple[object, ...]] = []
    for item, sums in parts:
        estimates = kappa_from_sums(sums.sum(0))
        drawn = bootstrap_kappa(sums, resamples, seed)
        for one, two in combinations(range(len(groups)), 2):
            first, second = (slice(place * size, (place + 1) * size) for place in (one, two))
            apart = estimates[first] - estimates[second]
            both = np.isfinite(apart)
            names = (item, groups[one], groups[two], int(both.sum()))
            if not both.any():
                none = "no rater has a kappa on both groups"
                rows.append((*names, np.nan, np.nan, np.nan, none))
                continue
            between = (drawn[:, first] - drawn[:, second])[:, both].mean(1)
            low, high = (float(end[0]) for end in percentile_interval(between[:, None]))
            alone = len(sums) < 2
            note = "kappa is undefined in too many resamples" if np.isnan(low) else ""
            ends = (np.nan, np.nan) if alone else (low, high)
            note = "no interval from fewer than two clusters" if alone else note
            rows.append((*names, float(apart[both].mean()), *ends, note))
    return pd.DataFrame(rows, columns=columns)


def _rows(a: NDArray[np.signedinteger], b: NDArray[np.signedinteger]) -> Callable[..., Sides]:
    """Both sides, items x names x units, some names at a time."""
    return lambda item, where: (a[item, where], b[item, where])


def _kappas(
    votes: Votes,
    sides: Callable[[int, slice], Sides],
    names: Sequence[object],
    column: str,
    options: tuple[int, int],
) -> pd.DataFrame:
    """Kappa of two sides with intervals and their means.

    ``sides`` gives both for some of the names on an item, names x units.
    """
    blocks = [slice(at, at + _NAMES_AT_ONCE) for at in range(0, len(names), _NAMES_AT_ONCE)]
    head = ["item", column, "n", "estimate", "low", "high", "note"]
    resamples, seed = options
    rows: list[tuple[object, ...]] = []
    together: Matrix | None = None
    draws = draw_once(int(votes.clusters.max(initial=-1)) + 1, resamples, seed)

    def add(item: object, sums: Matrix) -> None:
        """The rows of one item; the seed gives each item the same resamples."""
        total = sums.sum(0)
        estimates = kappa_from_sums(total)
        drawn = bootstrap_kappa(sums, resamples, seed, draws)
        drawn[:, np.isnan(estimates)] = np.nan
        if len(sums) < 2:
            drawn[:] = np.nan
        low, high = percentile_interval(drawn)
        middle = percentile_interval(_mean(drawn)[:, None])
        n = total[:, 0]
        lines = [*zip(names, n, estimates, low, high, strict=True)]
        lines.append((MEAN, n.sum(), _mean(estimates), middle[0][0], middle[1][0]))
        for name, count, *found in lines:
            numbers = [float(value) for value in found]
            rows.append((item, name, int(count), *numbers, _note(count, numbers, len(sums))))

    for number, item in enumerate(votes.items if names else []):
        parts = [sum_by_cluster(*sides(number, block), votes.clusters) for block in blocks]
        sums = np.concatenate(parts, axis=1)
        add(item, sums)
        together = sums if together is None else together + sums
    if together is not None and len(votes.items) > 1:
        add(ALL, together)
    return pd.DataFrame(rows, columns=head)


def _mean(values: Matrix) -> Matrix:
    """Mean over the last axis without what is missing."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(there, values, 0.0).sum(-1) / there.sum(-1))


def _note(n: float, numbers: Sequence[float], clusters: int) -> str:
    if n == 0:
        return "no pair of ratings"
    if np.isnan(numbers[0]):
        return "both used one and the same category only"
    if clusters < 2:
        return "no interval from fewer than two clusters"
    return "kappa is undefined in too many resamples" if np.isnan(sum(numbers)) else ""


def _reorder(frame: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    return frame[[*first, *(name for name in frame.columns if name not in first)]]
