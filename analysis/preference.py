"""What people prefer: techniques, kinds of explanation and backbones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.contrasts import (
    clustered_difference,
    clustered_mean,
    codes_of,
    contrast_row,
    one_mean,
    wilson_interval,
)
from analysis.resampling import holm, notes
from analysis.votes import describe_samples, label_samples, turned

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "fidelity": ("Q1",),
    "complexity": ("Q2", "Q3"),
    "objectivity": ("Q4",),
    "robustness": ("Q5", "Q6"),
}
TOP = 12
MARGIN = 0.25  # stars that do not matter


def technique_scores(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
) -> pd.DataFrame:
    """Mean label of each technique (Table 12), with t intervals over samples.

    A sample's label is the mode of its votes (the smallest star on ties); the questions of a
    dimension are averaged within the sample first, so that samples are the unit.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating.
    samples
        Columns sample_id and technique, or method and backbone; kind if known.

    Returns
    -------
    DataFrame with technique, method, backbone, kind, dimension, n (samples), estimate, low, high,
    note; sorted by technique
    """
    labels = label_samples(ratings)
    known = describe_samples(samples).reindex(labels.index)
    rows = []
    for technique, here in known.groupby("technique", sort=True):
        first = here.iloc[0]
        head = {"technique": technique} | {
            name: first[name] for name in ("method", "backbone", "kind")
        }
        for dimension, questions in DIMENSIONS.items():
            asked = [name for name in questions if name in labels]
            values = labels.loc[here.index, asked].mean(axis=1).to_numpy(np.float64)
            row = contrast_row(one_mean(values))
            absent = "" if asked else f"no votes on {', '.join(questions)}"
            kept = {name: row[name] for name in ("n", "estimate", "low", "high")}
            note = absent or notes([str(row["note"])])
            rows.append(head | {"dimension": dimension} | kept | {"note": note})
    columns = ["technique", "method", "backbone", "kind", "dimension"]
    return pd.DataFrame(rows, columns=[*columns, "n", "estimate", "low", "high", "note"])


def scores_by(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    by: str = "kind",
    *,
    kind: str | None = None,
) -> pd.DataFrame:
    """Mean label of each group of samples and question (Figures 3 to 5).

    ``by="kind"`` compares saliency with concepts; ``by="backbone", kind="saliency"`` compares the
    backbones of saliency methods. Intervals allow for samples that share an image or, as a claim
    about kinds or backbones is one about further techniques too, a technique (a method when
    backbones are compared).

    Returns
    -------
    DataFrame with question, group, n (samples), estimate, low, high, note
    """
    rows = []
    for question, values, groups, clusters, absent in _grouped(ratings, samples, by, kind):
        if absent:
            rows.append({"question": question, "n": 0, "note": absent})
        for group in sorted(set(groups)):
            here = groups == group
            codes = [codes_of(cluster[here]) for cluster in clusters]
            row = contrast_row(clustered_mean(values[here], *codes))
            kept = {name: row[name] for name in ("n", "estimate", "low", "high", "note")}
            rows.append({"question": question, "group": group} | kept)
    return pd.DataFrame(rows, columns=["question", "group", "n", "estimate", "low", "high", "note"])


def score_differences(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    by: str = "kind",
    *,
    kind: str | None = None,
) -> pd.DataFrame:
    """Differences between the groups of :func:`scores_by`, each two, per question.

    See :func:`analysis.contrasts.clustered_difference` for the interval: a few concept techniques
    against many saliency techniques limit what is known. ``p_holm`` corrects among all rows.

    Returns
    -------
    DataFrame with question, comparison, n, estimate, low, high, p, p_holm, margin, p_equivalence,
    smallest_effect, note
    """
    rows = []
    for question, values, groups, clusters, absent in _grouped(ratings, samples, by, kind):
        names = sorted(set(groups))
        if len(names) < 2:
            alone = f"only one group ({names[0]}): nothing to compare" if names else ""
            rows.append({"question": question, "n": len(values), "note": absent or alone})
        for first, second in combinations(names, 2):
            here = (groups == first) | (groups == second)
            codes = [codes_of(cluster[here]) for cluster in clusters]
            found = clustered_difference(values[here], groups[here] == first, *codes)
            row = contrast_row(found, MARGIN)
            rows.append({"question": question, "comparison": f"{first} - {second}"} | row)
    columns = ["question", "comparison", "n", "estimate", "low", "high", "p"]
    columns += ["margin", "p_equivalence", "smallest_effect", "note"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.insert(7, "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def top_techniques(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    directions: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    r"""How many annotators have each technique among their favourites (Figure 10).

    An annotator's favourites are the twelve best techniques by the mean of their own stars.
    Techniques tied for the last places share them: each counts the same fraction, instead of the
    one whose name comes first. The interval is Wilson's for the share of annotators.

    Parameters
    ----------
    directions
        -1 for questions on which fewer stars are better.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953

    Returns
    -------
    DataFrame with technique, kind, n (annotators who rated it), count, estimate (share), low,
    high, note; most frequent first
    """
    means = annotator_means(ratings, samples, directions=directions)
    known = describe_samples(samples)
    kinds = known.dropna(subset="technique").drop_duplicates("technique").set_index("technique")
    counts = _shares_of_places(means.to_numpy(np.float64)).sum(axis=0)
    rated = means.notna().sum().to_numpy()
    rows = []
    for technique, n, count in zip(means.columns, rated, counts, strict=True):
        low, high = wilson_interval(float(count), int(n))
        note = "" if means.shape[1] > TOP else f"not more than {TOP} techniques: all are favourites"
        share = count / n if n else np.nan
        row = {"technique": technique, "kind": kinds["kind"].get(technique), "n": int(n)}
        row |= {"count": float(count), "estimate": share, "low": low, "high": high, "note": note}
        rows.append(row)
    columns = ["technique", "kind", "n", "count", "estimate", "low", "high", "note"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values(["count", "technique"], ascending=[False, True], ignore_index=True)


def annotator_means(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    directions: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Mean stars of each annotator (row) for each technique (column), NaN where there are none.

    Also the blocks for :func:`analysis.technique_ranking.critical_difference`.
    """
    votes = turned(ratings, directions)
    technique = describe_samples(samples)["technique"].reindex(votes["sample_id"]).to_numpy()
    votes = votes.assign(technique=technique)
    votes = votes[votes["rating"].notna() & votes["technique"].notna()]
    grouped = votes.groupby(["annotator_id", "technique"], sort=True)["rating"].mean()
    return grouped.unstack()  # noqa: PD010 - a pivot table would compute the mean a second time


Group = tuple[
    str, NDArray[np.float64], NDArray[np.object_], list[NDArray[np.object_]], str
]  # question, labels, groups, clusters, what is missing


def _grouped(
    ratings: pd.DataFrame, samples: pd.DataFrame, by: str, kind: str | None
) -> list[Group]:
    labels = label_samples(ratings)
    known = describe_samples(samples).reindex(labels.index)
    if kind is not None:
        known = known[known["kind"] == kind]
    absent = f"no sample has a known {by}" if known[by].isna().all() else ""
    known = known[known[by].notna()]
    found: list[Group] = []
    for question in labels.columns:
        values = labels[question].reindex(known.index).to_numpy(np.float64)
        here = ~np.isnan(values)
        shared = ["method" if by == "backbone" else "technique", "image"]
        clusters = [known[name].to_numpy(object)[here] for name in shared]
        clusters = [codes for codes in clusters if len(codes) and not pd.isna(codes).any()]
        if not clusters:
            clusters = [known.index.to_numpy(object)[here]]
        groups = known[by].to_numpy(object)[here].astype(str).astype(object)
        found.append((str(question), values[here], groups, clusters, absent))
    return found


def _shares_of_places(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each annotator (row) and technique: 1 if among the best, a share if tied for the end."""
    shares = np.zeros(means.shape)
    for row, values in enumerate(means):
        rated = np.flatnonzero(~np.isnan(values))
        ranks = pd.Series(np.round(values[rated], 9)).rank(method="min", ascending=False).to_numpy()
        for rank in np.unique(ranks):
            tied = rated[ranks == rank]
            shares[row, tied] = np.clip((TOP - rank + 1) / len(tied), 0, 1)
    return shares
