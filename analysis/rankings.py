"""Rankings: positions that people give, orders of groups by their ratings, critical differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from choix import ilsr_pairwise_dense
from numpy.typing import ArrayLike, NDArray
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy.sparse import csgraph
from scipy.special import chdtrc, stdtr, stdtrit
from scipy.stats import rankdata, studentized_range, wilcoxon

from analysis.contrasts import contrast_row, one_mean, permutation_p, wilson_interval
from analysis.incomplete_blocks import incomplete_mean_ranks, skillings_mack
from analysis.ordinal_model import Sandwich, fit_cumulative_logit, sandwich
from analysis.resampling import LEVEL, Codes, Matrix, holm, notes
from analysis.votes import LIKERT, LongVotes, long_votes, mirror_ratings

Flags = NDArray[np.bool_]

ALPHA = 0.05
_RANKED = ["group", "rank", "rank_low", "rank_high", "rank_bradley_terry", "n", "estimate", "low"]
_RANKED += ["high", "groups", "note"]
_RESULT = ("estimate", "low", "high", "mean_correlation", "friedman", "p", "p_permutation")


def mean_positions(rankings: pd.DataFrame) -> pd.DataFrame:
    r"""Mean position of each item of each group.

    .. math:: \bar x \pm t_{m-1} \, s / \sqrt m

    over :math:`m` raters, cut at the first and last position.

    Parameters
    ----------
    rankings
        Columns rater, group, item, position (from 1).

    Returns
    -------
    DataFrame
        group, item, n, estimate, sd, low, high, note; sorted by position within a group.

    Examples
    --------
    >>> rankings = pd.DataFrame({"rater": list("aabb"), "group": "goals", "item": ["x", "y"] * 2})
    >>> mean_positions(rankings.assign(position=[1, 2, 2, 1]))[["item", "n", "estimate"]]
      item  n  estimate
    0    x  2       1.5
    1    y  2       1.5
    """
    rows = []
    for group, part in rankings.dropna(subset=["position"]).groupby("group", sort=True):
        last = float(part["position"].max())
        for item, given in part.groupby("item", sort=True)["position"]:
            row = contrast_row(one_mean(given))
            low, high = np.clip([row["low"], row["high"]], 1, last)
            note = "" if len(given) > 1 else "one rater: no interval"
            if len(given) > 1 and np.ptp(given) == 0:  # everybody agrees
                low = high = float(given.iloc[0])
            sd = float(given.std(ddof=1))
            rows.append((group, item, len(given), row["estimate"], sd, low, high, note))
    head = ["group", "item", "n", "estimate", "sd", "low", "high", "note"]
    frame = pd.DataFrame(rows, columns=head)
    return frame.sort_values(["group", "estimate"], kind="stable", ignore_index=True)


def concordance(rankings: pd.DataFrame, *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """:func:`kendall_w` for each group of a tidy frame.

    Raters who left out an item of a group are left out there, and the note says so.

    Parameters
    ----------
    rankings
        Columns rater, group, item, position.
    resamples, seed
        Of the permutations; see :func:`kendall_w`.

    Returns
    -------
    DataFrame
        A row for each group: group, n (people), items, estimate (W), low, high, mean_correlation,
        friedman, p, p_permutation, note.

    Examples
    --------
    Two people who agree on all three items:

    >>> rankings = pd.DataFrame({"rater": list("aaabbb"), "group": "goals", "item": list("xyzxyz")})
    >>> concordance(rankings.assign(position=[1, 2, 3, 1, 2, 3]))[["group", "n", "estimate"]]
       group  n  estimate
    0  goals  2       1.0
    """
    rows = []
    for group, part in rankings.dropna(subset=["position"]).groupby("group", sort=True):
        wide = _wide(part)
        frame = kendall_w(wide.to_numpy(np.float64), resamples=resamples, seed=seed)
        frame.insert(0, "group", group)
        rows.append(frame)
    head = ["group", "n", "items", *_RESULT, "note"]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=head)


def kendall_w(positions: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    r"""Kendall's coefficient of concordance with Friedman's test.

    .. math::

        W = \frac{12 \sum_i R_i^2 - 3 m^2 k (k+1)^2}{m^2 k (k^2 - 1) - m \sum_j T_j}, \quad
        \chi^2_F = m (k - 1) W, \quad \bar r = \frac{m W - 1}{m - 1}

    for :math:`m` people, :math:`k` items with rank sums :math:`R_i`, and :math:`T_j = \sum (t^3-t)`
    over the ties of a person. :math:`\bar r` is the mean of Spearman's correlation over pairs of
    people (without ties exactly). It is a U-statistic, so leaving out one person at a time gives
    the standard error of :math:`\operatorname{artanh} \bar r`, and from it the interval of W. A
    bootstrap would draw a person twice and find perfect agreement there.

    Parameters
    ----------
    positions
        People in rows, items in columns; people with a missing position are left out.
    resamples
        Random permutations of each person's positions for ``p_permutation``; the chi-squared p is
        rough for few people and items. 0: no permutations.
    seed
        Of the permutations.

    Returns
    -------
    DataFrame
        One row: n (people), items, estimate (W), low, high, mean_correlation, friedman, p,
        p_permutation, note.

    References
    ----------
    Kendall & Babington Smith 1939, doi:10.1214/aoms/1177732186; Friedman 1937,
    doi:10.1080/01621459.1937.10503522

    Examples
    --------
    Rank sums of 4, 5 and 9: W = (12 * 122 - 3 * 9 * 3 * 16) / (9 * 3 * 8) = 168 / 216.

    >>> found = kendall_w([[1, 2, 3], [1, 2, 3], [2, 1, 3]])
    >>> found[["n", "items", "estimate", "mean_correlation", "friedman"]].round(3)
       n  items  estimate  mean_correlation  friedman
    0  3      3     0.778             0.667     4.667
    """
    matrix = np.atleast_2d(np.asarray(positions, np.float64))
    whole = np.isfinite(matrix).all(1)
    remarks = [f"{(~whole).sum()} incomplete rankings left out"] if not whole.all() else []
    matrix = matrix[whole]
    m, k = matrix.shape
    row: dict[str, float] = dict.fromkeys(_RESULT, np.nan)
    if m < 2 or k < 2:
        remarks.append("fewer than two people" if m < 2 else "fewer than two items")
    else:
        ranks = rankdata(matrix, axis=1)
        w = row["estimate"] = float(_w(ranks))
        if np.isnan(w):
            remarks.append("every person puts all items on the same position")
        else:
            row["mean_correlation"] = (m * w - 1) / (m - 1)
            row["friedman"], row["p"] = _friedman(ranks)
            row["low"], row["high"] = _jackknife(ranks, row["mean_correlation"])
            remarks += ["no interval from two people"] if m < 3 else []
            if resamples:
                row["p_permutation"] = permutation_p(
                    list(ranks),
                    lambda *people, axis: _w(np.stack(people, axis=axis - 1)),
                    "pairings",
                    resamples,
                    seed,
                )
    return pd.DataFrame([{"n": m, "items": k, **row, "note": notes(remarks)}])


def position_differences(rankings: pd.DataFrame) -> pd.DataFrame:
    """Compare every two items of a group by Wilcoxon's signed-rank test, adjusted by Holm.

    Parameters
    ----------
    rankings
        Columns rater, group, item, position.

    Returns
    -------
    DataFrame
        group, first, second, n (people who placed both), estimate (mean difference of
        positions; negative: the first stands before the second), p, p_holm, note.

    References
    ----------
    Wilcoxon 1945, doi:10.2307/3001968

    Examples
    --------
    Six people who agree: all signs equal in 2 of 64 cases.

    >>> rankings = pd.DataFrame({"rater": np.repeat(range(6), 2), "group": "goals"})
    >>> rankings = rankings.assign(item=["x", "y"] * 6, position=[1, 2] * 6)
    >>> position_differences(rankings)[["first", "second", "n", "estimate", "p"]]
      first second  n  estimate        p
    0     x      y  6      -1.0  0.03125
    """
    frames = []
    for group, part in rankings.dropna(subset=["position"]).groupby("group", sort=True):
        wide = _wide(part)
        rows = []
        for number, first in enumerate(wide.columns):
            for second in wide.columns[number + 1 :]:
                apart = (wide[first] - wide[second]).dropna().to_numpy(np.float64)
                moved = bool((apart != 0).any())
                p = float(wilcoxon(apart).pvalue) if moved else np.nan
                mean = float(apart.mean()) if len(apart) else np.nan
                note = "" if moved else "nobody tells the two apart"
                rows.append((group, first, second, len(apart), mean, p, note))
        frame = pd.DataFrame(
            rows, columns=["group", "first", "second", "n", "estimate", "p", "note"]
        )
        frame.insert(6, "p_holm", holm(frame["p"]))
        frames.append(frame)
    head = ["group", "first", "second", "n", "estimate", "p", "p_holm", "note"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=head)


def _wide(rankings: pd.DataFrame) -> pd.DataFrame:
    """People in rows, items in columns; a person who places an item twice is an error."""
    return rankings.pivot(index="rater", columns="item", values="position")  # noqa: PD010


def _friedman(ranks: Matrix) -> tuple[float, float]:
    """Friedman's chi-square, corrected for ties, and p, of people x ranks of items.

    As scipy's, which refuses two items; NaN if all items are tied for everybody.
    """
    m, k = ranks.shape
    value = m * (k - 1) * float(_w(ranks))
    return value, float(chdtrc(k - 1, value))


def _w(ranks: Matrix) -> Matrix:
    """W of rank matrices (... x people x items)."""
    m, k = ranks.shape[-2:]
    spread = ((ranks.sum(-2) - m * (k + 1) / 2) ** 2).sum(-1)
    # The spread of a person's ranks is (k^3 - k - T) / 12: ties are in it already.
    largest = m * ((ranks - (k + 1) / 2) ** 2).sum((-1, -2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(spread / np.where(largest > 0, largest, np.nan))


def _jackknife(ranks: Matrix, mean: float) -> tuple[float, float]:
    m = len(ranks)
    if m < 3:
        return np.nan, np.nan
    centred = ranks - (ranks.shape[1] + 1) / 2
    spread = ((centred.sum(0) - centred) ** 2).sum(1)
    own = (centred**2).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # (m - 1) W of all people but one
        parts = (spread / (own.sum() - own) - 1) / (m - 2)
    if not np.isfinite(parts).all():
        return np.nan, np.nan
    limit = 1 - 1e-15  # people who all agree are infinitely far up Fisher's scale
    scale = np.arctanh(np.clip(parts, -limit, limit))
    error = np.sqrt((m - 1) / m * ((scale - scale.mean()) ** 2).sum())
    reach = stdtrit(m - 1, (1 + LEVEL) / 2) * error
    middle = np.arctanh(np.clip(mean, -limit, limit))
    ends = np.tanh([middle - reach, middle + reach])
    low, high = np.clip((1 + (m - 1) * ends) / m, 0, 1)
    return float(low), float(high)


# Groups of units in order of preference


def rank_groups(
    ratings: pd.DataFrame,
    groups: pd.Series,
    directions: Mapping[str, int] | None = None,
    *,
    categories: Sequence[int] = LIKERT,
) -> pd.DataFrame:
    r"""Rank groups of units by all votes, not by aggregated labels.

    The strengths :math:`\lambda`, log odds with mean 0, are those of the proportional-odds model

    .. math:: \operatorname{logit} P(r \le k) = \theta_k - \beta_i - \alpha_r - \lambda_g

    Errors allow for votes that share a unit or a rater. Every two groups are compared, corrected by
    Holm: groups that share a letter in ``groups`` were not told apart, and ``rank_low`` to
    ``rank_high`` are the ranks that the tests leave open. ``rank_bradley_terry`` is the place by
    another model, in which every two votes of a rater on an item are a comparison.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating.
    groups
        The group of each unit, by unit; units without a group are left out.
    directions
        -1 for items on which lower ratings are better.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame
        group, rank, rank_low, rank_high, rank_bradley_terry, n (votes), estimate, low, high,
        groups, note; best first.

    References
    ----------
    McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x; Goldstein & Spiegelhalter 1996,
    doi:10.2307/2983325 (why ranks need intervals); Bradley & Terry 1952,
    doi:10.1093/biomet/39.3-4.324

    Examples
    --------
    Three raters, four units of two groups:

    >>> ratings = pd.DataFrame({"unit": np.repeat(list("stuv"), 3), "rater": list("abc") * 4})
    >>> ratings = ratings.assign(item="trust", rating=[5, 4, 3, 4, 2, 5, 2, 3, 1, 3, 4, 2])
    >>> groups = pd.Series({"s": "new", "t": "new", "u": "old", "v": "old"})
    >>> found = rank_groups(ratings, groups)
    >>> found[["group", "rank", "rank_low", "rank_high", "rank_bradley_terry", "n"]]
      group  rank  rank_low  rank_high  rank_bradley_terry  n
    0   new     1         1          2                 1.0  6
    1   old     2         1          2                 2.0  6
    """
    frame = mirror_ratings(ratings, directions, categories)
    known = groups.reindex(frame["unit"]).notna().to_numpy()
    votes = long_votes(frame[known], categories)
    own = groups.reindex(votes.units).to_numpy(object)[votes.unit]
    group, names = pd.factorize(own, sort=True)
    numbers = np.bincount(group, minlength=len(names))
    frame = pd.DataFrame({"group": names, "n": numbers})
    why = ""
    if len(names) < 2:
        why = "fewer than two groups"
    elif len(np.unique(votes.rating)) < 2:
        why = "all ratings are equal: no order"
    elif len(votes.units) < 2:
        why = "one unit only"
    if why:
        return frame.assign(note=why).reindex(columns=_RANKED)
    note = "one rater: intervals are about units only" if len(votes.raters) == 1 else ""
    wins = _count_wins(votes.rater, votes.item, group, votes.place)
    frame = frame.assign(note=note, rank_bradley_terry=_rank_by_wins(wins))
    return _ranked(frame, *_strengths(votes, group))


def _strengths(votes: LongVotes, group: Codes) -> tuple[Matrix, Sandwich]:
    """Strengths by the proportional-odds model and their sandwich."""
    columns = {"item": votes.item, "rater": votes.rater, "group": group}
    fit = fit_cumulative_logit(votes.rating, pd.DataFrame(columns))
    places = [place for place, (term, _) in enumerate(fit.terms) if term == "group"]
    spread = sandwich(fit, votes.unit, votes.rater)
    estimate = np.concatenate([[0.0], fit.coefficients[places]])

    def padded(matrix: Matrix) -> Matrix:
        """With the reference group, whose coefficient is 0 and certain."""
        return np.pad(matrix[np.ix_(places, places)], ((1, 0), (1, 0)))

    both_ways = None if spread.both is None else padded(spread.both)
    parts = tuple(padded(part) for part in spread.parts)
    return estimate - estimate.mean(), Sandwich(parts, both_ways, spread.df)


def _ranked(frame: pd.DataFrame, estimate: Matrix, spread: Sandwich) -> pd.DataFrame:
    order = np.argsort(-estimate, kind="stable")
    size = len(order)
    reach = float(stdtrit(spread.df, 0.975))
    centred = np.eye(size) - 1 / size
    half = reach * np.sqrt([spread.variance(weights) for weights in centred])
    different = _pairs_by_holm(_pair_p(estimate[order], order, spread))
    runs = _homogeneous_groups(different)
    better = np.array([int(different[place, :place].sum()) for place in range(size)])
    worse = np.array([int(different[place, place + 1 :].sum()) for place in range(size)])
    ranked = frame.assign(estimate=estimate, low=estimate - half, high=estimate + half)
    ranked = ranked.iloc[order].reset_index(drop=True)
    ranked = ranked.assign(
        rank=np.arange(1, size + 1),
        rank_low=better + 1,
        rank_high=size - worse,
        groups=_group_letters(runs, size),
    )
    return ranked[_RANKED]


def _pair_p(estimate: Matrix, order: NDArray[np.intp], spread: Sandwich) -> Matrix:
    size = len(order)
    p = np.full((size, size), np.nan)
    for first, second in combinations(range(size), 2):
        weights = np.zeros(size)
        weights[order[first]], weights[order[second]] = 1.0, -1.0
        variance = spread.variance(weights)
        if variance > 0:
            gap = abs(estimate[first] - estimate[second]) / np.sqrt(variance)
            p[first, second] = p[second, first] = 2 * stdtr(spread.df, -gap)
    return p


def _count_wins(rater: Codes, item: Codes, group: Codes, place: Codes) -> Matrix:
    """Wins of groups (rows) over each other; a tie is half a win of each.

    Within the votes of one rater on one item every two votes are compared, by their places on the
    scale. The comparisons are divided by the number of these votes, so that each vote counts the
    same.
    """
    steps = np.arange(int(place.max()) + 1)
    beats = (np.sign(np.subtract.outer(steps, steps)) + 1) / 2.0
    blocks = pd.factorize(rater * (int(item.max()) + 1) + item)[0]
    counts = np.zeros((int(blocks.max()) + 1, int(group.max()) + 1, len(steps)))
    np.add.at(counts, (blocks, group, place), 1)
    weights = 1 / counts.sum(axis=(1, 2))
    wins = np.einsum("b,bir,rs,bjs->ij", weights, counts, beats, counts, optimize=True)
    np.fill_diagonal(wins, 0)
    return np.asarray(wins)


def rater_means(
    ratings: pd.DataFrame,
    groups: pd.Series,
    directions: Mapping[str, int] | None = None,
    *,
    categories: Sequence[int] = LIKERT,
) -> pd.DataFrame:
    """Mean rating of each rater for each group of units.

    The result is what :func:`critical_difference` and :func:`share_of_favourites` take.

    Parameters
    ----------
    ratings, groups, directions, categories
        As for :func:`rank_groups`.

    Returns
    -------
    DataFrame
        A row for each rater, a column for each group; NaN where there is no rating.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": list("stst"), "rater": list("aabb"), "item": "trust"})
    >>> groups = pd.Series({"s": "new", "t": "old"})
    >>> rater_means(ratings.assign(rating=[5, 3, 4, 4]), groups).rename_axis(index=None)
    group  new  old
    a      5.0  3.0
    b      4.0  4.0
    """
    votes = mirror_ratings(ratings, directions, categories)
    votes = votes.assign(group=groups.reindex(votes["unit"]).to_numpy())
    votes = votes[votes["rating"].notna() & votes["group"].notna()]
    grouped = votes.groupby(["rater", "group"], sort=True)["rating"].mean()
    return grouped.unstack()  # noqa: PD010 - a pivot table would compute the mean a second time


def share_of_favourites(means: pd.DataFrame, top: int) -> pd.DataFrame:
    """How many raters have each item among their best ones.

    Items tied for the last places share them: each counts the same fraction, instead of the one
    whose name comes first. The interval is Wilson's for the share of raters.

    Parameters
    ----------
    means
        A row for each rater, a column for each item, as :func:`rater_means` returns them.
    top
        How many items are among the best.

    Returns
    -------
    DataFrame
        item, n (raters who have a value), count, estimate (share), low, high, note; most frequent
        first.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953

    Examples
    --------
    The second rater likes both the same:

    >>> means = pd.DataFrame({"x": [5, 4], "y": [3, 4]}, index=["a", "b"])
    >>> share_of_favourites(means, top=1)[["item", "n", "count", "estimate"]]
      item  n  count  estimate
    0    x  2    1.5      0.75
    1    y  2    0.5      0.25
    """
    counts = _shares_of_places(means.to_numpy(np.float64), top).sum(axis=0)
    note = "" if means.shape[1] > top else f"there are not more than {top}: all are favourites"
    rows = []
    for item, n, count in zip(means.columns, means.notna().sum(), counts, strict=True):
        low, high = wilson_interval(float(count), int(n))
        row = {"item": item, "n": int(n), "count": float(count)}
        row |= {"estimate": count / n if n else np.nan, "low": low, "high": high, "note": note}
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["item", "n", "count", "estimate", "low", "high", "note"])
    return frame.sort_values(["count", "item"], ascending=[False, True], ignore_index=True)


def _shares_of_places(means: Matrix, top: int) -> Matrix:
    """For each rater (row) and item: 1 if among the best, a share if tied for the end."""
    shares = np.zeros(means.shape)
    for row, values in enumerate(means):
        rated = np.flatnonzero(~np.isnan(values))
        ranks = pd.Series(np.round(values[rated], 9)).rank(method="min", ascending=False).to_numpy()
        for rank in np.unique(ranks):
            tied = rated[ranks == rank]
            shares[row, tied] = np.clip((top - rank + 1) / len(tied), 0, 1)
    return shares


def _rank_by_wins(wins: Matrix) -> Matrix:
    """Places by the strengths of Bradley and Terry's model (choix), 1 for the strongest.

    NaN where there are no finite strengths: each item must beat each other one, directly or
    through others (Ford 1957, doi:10.2307/2308513).

    References
    ----------
    Bradley & Terry 1952, doi:10.1093/biomet/39.3-4.324; Maystre & Grossglauser 2015,
    https://papers.nips.cc/paper/5681 (the algorithm)
    """
    parts, _ = csgraph.connected_components(wins > 0, directed=True, connection="strong")
    if parts > 1:
        return np.full(len(wins), np.nan)
    return np.asarray(rankdata(-ilsr_pairwise_dense(wins, max_iter=1_000), method="ordinal"), float)


def critical_difference(scores: pd.DataFrame) -> pd.DataFrame:
    r"""Mean ranks of items over blocks, Friedman's test and Nemenyi's critical difference.

    .. math:: CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

    with the studentised range :math:`q_\alpha` (infinite degrees of freedom) over :math:`\sqrt 2`.
    Two items whose mean ranks differ by less do not differ significantly.

    Where blocks miss items, each counts with those it has, and the test is
    :func:`analysis.incomplete_blocks.skillings_mack`, which generalises Friedman's. Mean ranks are
    then those that whole blocks would give if items differed in all blocks as they do where they
    meet; two of them are compared by :math:`q_\alpha` times the error of their difference, which
    depends on how often both were ranked. ``critical_difference`` is the median of these over all
    pairs; ``groups`` go by each pair's own.

    Parameters
    ----------
    scores
        A row for each block (rater, image, data set), a column for each item; higher is better.

    Returns
    -------
    DataFrame
        item, n (blocks with at least two items), estimate (mean rank, 1 is best), low, high (half a
        critical difference to each side: items whose intervals overlap are not told apart),
        critical_difference, test (Friedman or Skillings-Mack), chi_square, p, groups (items that
        share a letter are not told apart), note; best first.

    References
    ----------
    Demšar 2006, https://jmlr.org/papers/v7/demsar06a.html; Friedman 1937,
    doi:10.1080/01621459.1937.10503522; Skillings & Mack 1981, doi:10.1080/00401706.1981.10486261

    Examples
    --------
    14 blocks that all agree. The critical difference is 2.569 * sqrt(4 * 5 / (6 * 14)) = 1.25:
    neighbours are not told apart, others are.

    >>> scores = pd.DataFrame([[4, 3, 2, 1]] * 14, columns=list("wxyz"))
    >>> critical_difference(scores)[["item", "estimate", "critical_difference", "groups"]].round(2)
      item  estimate  critical_difference groups
    0    w       1.0                 1.25      a
    1    x       2.0                 1.25     ab
    2    y       3.0                 1.25     bc
    3    z       4.0                 1.25      c
    """
    columns = ["item", "n", "estimate", "low", "high", "critical_difference"]
    columns += ["test", "chi_square", "p", "groups", "note"]
    n = int((scores.notna().sum(axis=1) > 1).sum())
    k = scores.shape[1]
    whole = not scores.isna().any(axis=None)
    why = "fewer than two blocks that have at least two items" if n < 2 or k < 2 else ""
    found = None if why else _compare_blocks(scores, whole)
    if found is None:
        why = why or "some items never meet, not even through others: they have no common order"
        rows = [{"item": item, "n": n, "note": why} for item in scores.columns]
        return pd.DataFrame(rows, columns=columns)
    order = np.argsort(found.mean, kind="stable")
    mean, gaps = found.mean[order], found.gaps[np.ix_(order, order)]
    gap = float(np.median(gaps[np.triu_indices(k, 1)]))
    different = np.abs(np.subtract.outer(mean, mean)) >= gaps
    np.fill_diagonal(different, val=False)
    lost = len(scores) - n
    note = "" if whole else "blocks miss items and count with those they have"
    note += f"; {lost} blocks with fewer than two items left out" if lost else ""
    frame = pd.DataFrame(
        {
            "item": scores.columns[order],
            "n": n,
            "estimate": mean,
            "low": mean - gap / 2,
            "high": mean + gap / 2,
            "critical_difference": gap,
            "test": "Friedman" if whole else "Skillings-Mack",
            "chi_square": found.chi_square,
            "p": found.p,
            "groups": _group_letters(_homogeneous_groups(different), k),
            "note": note if not np.isnan(found.p) else "all items are tied in every block",
        }
    )
    return frame[columns]


class _Compared(NamedTuple):
    """Items over blocks: mean ranks, the critical difference of every two, and the test."""

    mean: Matrix
    gaps: Matrix
    chi_square: float
    p: float


def _compare_blocks(scores: pd.DataFrame, whole: bool) -> _Compared | None:
    """What :func:`critical_difference` says; None if some items never meet."""
    k = scores.shape[1]
    if whole:
        ranked = rankdata(-scores.to_numpy(np.float64), axis=1)
        gaps = np.full((k, k), _critical_gap(k, len(scores)))
        return _Compared(ranked.mean(axis=0), gaps, *_friedman(ranked))
    found = incomplete_mean_ranks(scores)
    if found is None:
        return None
    variance = np.diag(found.covariance)
    variances = variance[:, None] + variance - 2 * found.covariance
    gaps = _quantile(k) * np.sqrt(np.maximum(variances, 0.0))
    test = skillings_mack(scores).iloc[0]
    return _Compared(found.mean, gaps, float(test["estimate"]), float(test["p"]))


def nemenyi(scores: pd.DataFrame) -> pd.DataFrame:
    """Compare every two items by Nemenyi's test after Friedman's (scikit-posthocs).

    Parameters
    ----------
    scores
        As for :func:`critical_difference`.

    Returns
    -------
    DataFrame
        first, second, n (blocks), estimate (difference of mean ranks; negative: the first is
        better), low, high (a critical difference to each side), p, note.

    References
    ----------
    Demšar 2006, https://jmlr.org/papers/v7/demsar06a.html

    Examples
    --------
    >>> scores = pd.DataFrame([[3, 2, 1]] * 10, columns=list("xyz"))
    >>> nemenyi(scores)[["first", "second", "estimate", "low", "high", "p"]].round(2)
      first second  estimate   low  high     p
    0     x      y      -1.0 -2.05  0.05  0.07
    1     x      z      -2.0 -3.05 -0.95  0.00
    2     y      z      -1.0 -2.05  0.05  0.07
    """
    whole = scores.dropna()
    n, k = whole.shape
    mean, p, gap = np.full(k, np.nan), np.full((k, k), np.nan), np.nan
    if n > 1 and k > 1:
        ranked = rankdata(-whole.to_numpy(np.float64), axis=1)
        mean, gap = ranked.mean(axis=0), _critical_gap(k, n)
        p = posthoc_nemenyi_friedman(ranked).to_numpy()
    one, two = np.triu_indices(k, 1)
    apart = mean[one] - mean[two]
    return pd.DataFrame(
        {
            "first": whole.columns[one],
            "second": whole.columns[two],
            "n": n,
            "estimate": apart,
            "low": apart - gap,
            "high": apart + gap,
            "p": p[one, two],
            "note": "" if n > 1 else "fewer than two blocks that have all items",
        }
    )


def _critical_gap(items: int, blocks: int) -> float:
    """Nemenyi's critical difference of mean ranks."""
    return float(_quantile(items) * np.sqrt(items * (items + 1) / (6 * blocks)))


def _quantile(items: int) -> float:
    """Of the studentised range with infinite degrees of freedom, over the root of 2."""
    return float(studentized_range.ppf(1 - ALPHA, items, np.inf) / np.sqrt(2))


def _pairs_by_holm(p: ArrayLike) -> Flags:
    """Which pairs differ, from a symmetric matrix of p-values corrected together by Holm."""
    matrix = np.asarray(p, np.float64)
    upper = np.triu_indices(len(matrix), 1)
    adjusted = holm(matrix[upper])
    different = np.zeros(matrix.shape, bool)
    different[upper] = adjusted < ALPHA  # a missing p is no difference
    return different | different.T


def _homogeneous_groups(different: Flags) -> list[tuple[int, int]]:
    """Longest runs of items, given in order, in which no two are different (first, last).

    These are the bars of a critical-difference picture; an item that differs from both neighbours
    has a run of its own, which is not drawn and not returned.
    """
    runs: list[tuple[int, int]] = []
    size = len(different)
    for first in range(size):
        last = first
        while last + 1 < size and not different[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def _group_letters(runs: Sequence[tuple[int, int]], size: int) -> list[str]:
    """For each item the letters of its runs: items that share a letter were not told apart."""
    letters = [""] * size
    for number, (first, last) in enumerate(runs):
        for place in range(first, last + 1):
            letters[place] += _letter(number)
    return letters


def _letter(number: int) -> str:
    """a, b, ..., z, then two letters in brackets, so that they can still be read one by one."""
    name = chr(ord("a") + number % 26)
    return name if number < 26 else f"({name}{number // 26})"
