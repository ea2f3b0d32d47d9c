"""Different measures of the same things side by side: places, and which measure predicts which.

Measures are columns, and higher is better in each of them (turn a column round where it is not).
Things are either groups (methods, say), of which there are a handful, or items that have a cluster
(the image) and a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.choices import exact_correlations
from analysis.correlation import two_way_correlation
from analysis.correlation_difference import correlation_difference
from analysis.metric_ranks import places
from analysis.resampling import holm

ALL, WITHIN_CLUSTERS, GIVEN_GROUPS = "all items", "within clusters", "given the group"
FEW = 10  # clusters, below which resampling says too little for an interval


def group_places(means: pd.DataFrame) -> pd.DataFrame:
    """Places of groups under each measure; 1 is the best, ties share the middle.

    Parameters
    ----------
    means
        A row for each group, a column for each measure; a group may lack some.

    Returns
    -------
    DataFrame
        group, measure, n (groups with that measure), value, place.

    Examples
    --------
    >>> means = pd.DataFrame({"trust": [3.0, 4, 2], "speed": [1.0, np.nan, 5]}, index=list("abc"))
    >>> group_places(means)
      group measure  n  value  place
    0     b   trust  3    4.0    1.0
    1     a   trust  3    3.0    2.0
    2     c   trust  3    2.0    3.0
    3     c   speed  2    5.0    1.0
    4     a   speed  2    1.0    2.0
    """
    frames = []
    for measure in means:
        known = means[measure].dropna().astype(float)
        own = pd.DataFrame({"group": known.index, "measure": str(measure), "n": len(known)})
        own["value"] = known.to_numpy()
        own["place"] = places(-np.asarray(known, np.float64)[None])[0]
        frames.append(own.sort_values(["place", "group"], kind="stable"))
    columns = ["group", "measure", "n", "value", "place"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def correlate_groups(
    means: pd.DataFrame, *, permutations: int = 50_000, seed: int = 0
) -> pd.DataFrame:
    """Correlation of each pair of measures over the means of groups, with exact tests.

    Parameters
    ----------
    means
        A row for each group, a column for each measure.
    permutations, seed
        See :func:`analysis.choices.exact_correlations`.

    Returns
    -------
    DataFrame
        first, second, method (pearson, spearman), n (groups with both), estimate, low, high, p,
        exact, p_holm (among all pairs of a method), note.

    Examples
    --------
    >>> means = pd.DataFrame({"trust": [3.0, 4, 2, 1], "speed": [3.0, 5, 2, 1]})
    >>> found = correlate_groups(means)
    >>> found[["first", "second", "method", "n", "estimate", "p"]].round(3)
       first second    method  n  estimate      p
    0  trust  speed   pearson  4     0.983  0.083
    1  trust  speed  spearman  4     1.000  0.083
    """
    frames = []
    for first, second in _pairs(list(means.columns)):
        x, y = (means[one].to_numpy(np.float64) for one in (first, second))
        found = exact_correlations(x, y, permutations=permutations, seed=seed)
        found.insert(0, "second", str(second))
        found.insert(0, "first", str(first))
        frames.append(found)
    head = ["first", "second", "method", "n", "estimate", "low", "high", "p", "exact", "note"]
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=head)
    table.insert(9, "p_holm", np.nan)
    for _, part in table.groupby("method"):
        table.loc[part.index, "p_holm"] = holm(part["p"].to_numpy(np.float64))
    return table


def correlate_items(
    measures: pd.DataFrame,
    clusters: ArrayLike,
    groups: ArrayLike,
    *,
    against: Sequence[str] | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Spearman's correlation of each pair of measures over items, in three scopes.

    ``all items`` mixes what differs between clusters, between groups and within them. ``within
    clusters`` is the partial correlation given the cluster: of the explanations of one image, say,
    is the one that is better under one measure also better under the other? ``given the group`` is
    the partial correlation given the group: does a measure tell more than which method it was?

    Parameters
    ----------
    measures
        A row for each item, a column for each measure.
    clusters, groups
        The cluster and the group of each row; intervals allow for both.
    against
        Measures that every other one is compared with; None compares all pairs.
    resamples, seed
        Of the bootstraps, see :func:`analysis.correlation.two_way_correlation`.

    Returns
    -------
    DataFrame
        first, second, scope, n, clusters, groups, estimate, low, high, p, p_holm (among all pairs
        of a scope), note.

    Examples
    --------
    >>> items = pd.DataFrame({"image": np.arange(24) // 4, "method": np.arange(24) % 4})
    >>> measures = pd.DataFrame({"trust": 9.0 * items["image"] + items["method"]})
    >>> measures["speed"] = items["method"] - 9.0 * items["image"]
    >>> found = correlate_items(measures, items["image"], items["method"])
    >>> found[["scope", "n", "estimate"]].round(2)
                 scope   n  estimate
    0        all items  24     -0.95
    1  within clusters  24      1.00
    2  given the group  24     -1.00
    """
    keys = [np.asarray(one) for one in (clusters, groups)]
    rename = {"value": "first", "rating": "second", "first": "clusters", "second": "groups"}
    names = list(measures.columns)
    second = names if against is None else list(against)
    place = {name: number for number, name in enumerate([*second, *names])}
    frames = []
    for scope, strata in ((ALL, None), (WITHIN_CLUSTERS, keys[0]), (GIVEN_GROUPS, keys[1])):
        found = two_way_correlation(
            measures, measures[second], *keys, strata=strata, resamples=resamples, seed=seed
        ).rename(columns=rename)
        both = found["first"].isin(second)
        earlier = found["first"].map(place) < found["second"].map(place)
        own = found[(found["first"] != found["second"]) & (~both | earlier)]
        if len(own):
            frames.append(own.assign(scope=scope, p_holm=holm(own["p"].to_numpy(np.float64))))
    head = ["first", "second", "scope", "n", "clusters", "groups", "estimate", "low", "high", "p"]
    columns = [*head, "p_holm", "note"]
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)[columns]


def correlate_rivals(
    measures: pd.DataFrame,
    champion: str,
    rivals: Mapping[str, Sequence[str]],
    targets: Sequence[str],
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Tell whether a measure foretells others better than its rivals do.

    Parameters
    ----------
    measures
        A row for each item or group, a column for each measure.
    champion
        The measure that is held against the rivals.
    rivals
        Measures by the name of their kind. Of each kind the one with the strongest correlation with
        the target competes, turned round if that is negative: chosen on the same rows, it has a
        head start where there are several.
    targets
        The measures to foretell.
    clusters, resamples, seed
        See :func:`analysis.correlation_difference.correlation_difference`. With fewer than ten
        clusters there is an estimate without an interval.

    Returns
    -------
    DataFrame
        target, kind, rival, n, clusters, champion and rival_estimate (Pearson's correlations with
        the target), estimate (their difference), low, high, p, note.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> measures = pd.DataFrame({"stars": rng.normal(size=200)})
    >>> measures["near"] = measures["stars"] + rng.normal(size=200)
    >>> measures["far"] = 3 * rng.normal(size=200) - measures["stars"]
    >>> found = correlate_rivals(measures, "near", {"other": ["far"]}, ["stars"])
    >>> found[["target", "rival", "n", "champion", "rival_estimate", "estimate"]].round(2)
      target rival    n  champion  rival_estimate  estimate
    0  stars   far  200      0.66            0.25      0.41
    """
    rows: list[dict[str, object]] = []
    for target in targets:
        for kind, names in rivals.items():
            strength = measures[list(names)].corrwith(measures[target]).dropna()
            if strength.empty:
                continue
            rival = str(strength.abs().idxmax())
            found = correlation_difference(
                measures[champion],
                measures[rival] * np.sign(strength[rival]),
                measures[target],
                clusters=clusters,
                resamples=resamples,
                seed=seed,
            ).set_index("quantity")
            row = {str(name): value for name, value in found.loc["difference"].items()}
            if not row["note"] and row["clusters"] < FEW:
                row |= dict.fromkeys(("low", "high", "p"), np.nan)
                row["note"] = "fewer than ten clusters: no interval"
            both = found["estimate"]
            row |= {"champion": both["first"], "rival_estimate": both["second"]}
            rows.append({"target": target, "kind": kind, "rival": rival, **row})
    head = ["target", "kind", "rival", "n", "clusters", "champion", "rival_estimate", "estimate"]
    return pd.DataFrame(rows, columns=[*head, "low", "high", "p", "note"])


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            yield first, second
