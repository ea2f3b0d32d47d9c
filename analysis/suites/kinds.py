"""Do annotators agree more on one kind of explanation than on another?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.kappa import LIKERT
from analysis.kappa_bootstrap import bootstrap_sums, kappa_features, kappa_of_sums
from analysis.resampling import Matrix, cluster_sums, percentile_interval
from analysis.votes import ALL, modes_without_own, read_votes

_COLUMNS = ["question", "first", "second", "n", "estimate", "low", "high", "note"]


def kind_agreement_differences(
    ratings: pd.DataFrame,
    column: str = "kind",
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "sample_id",
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Difference between two kinds in the mean kappa with the mode of the others.

    Annotators are their own comparison: the estimate is the mean, over annotators who have a
    quadratic kappa on both kinds, of the difference of the two. The interval is a percentile
    bootstrap over clusters; explanations of both kinds of one image are drawn together.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating, and the kind of the sample.

    Returns
    -------
    DataFrame with question ("all": all questions together), first, second, n (annotators),
    estimate, low, high, note; a row for every two kinds
    """
    known = ratings[ratings[column].notna() & ratings["rating"].notna()]
    kinds = sorted(known[column].astype(str).unique())
    if len(kinds) < 2:
        return pd.DataFrame(columns=_COLUMNS)
    votes, k = read_votes(known, categories, cluster), len(categories)
    of = known.drop_duplicates("sample_id").set_index("sample_id")[column].astype(str)
    kind = of.reindex(votes.samples).to_numpy(object)
    others = modes_without_own(votes)
    size = len(votes.annotators)
    parts: list[tuple[object, Matrix]] = []
    for number, question in enumerate(votes.questions):
        own = np.concatenate([np.where(kind == one, votes.codes[number], -1) for one in kinds])
        label = np.tile(others[number], (len(kinds), 1))
        features = kappa_features(own.T, label.T, k, "quadratic")
        parts.append((question, cluster_sums(features, votes.clusters)))
    if len(parts) > 1:
        parts.append((ALL, np.sum([sums for _, sums in parts], axis=0)))
    rows: list[tuple[object, ...]] = []
    for question, sums in parts:
        estimates = kappa_of_sums(sums.sum(0), k, "quadratic")
        drawn = bootstrap_sums(sums, k, "quadratic", resamples, seed)
        for one, two in combinations(range(len(kinds)), 2):
            first, second = (slice(place * size, (place + 1) * size) for place in (one, two))
            apart = estimates[first] - estimates[second]
            both = np.isfinite(apart)
            names = (question, kinds[one], kinds[two], int(both.sum()))
            if not both.any():
                none = "no annotator has a kappa on both kinds"
                rows.append((*names, np.nan, np.nan, np.nan, none))
                continue
            between = (drawn[:, first] - drawn[:, second])[:, both].mean(1)
            low, high = (float(end[0]) for end in percentile_interval(between[:, None], level))
            alone = len(sums) < 2
            note = "kappa is undefined in too many resamples" if np.isnan(low) else ""
            ends = (np.nan, np.nan) if alone else (low, high)
            note = "no interval from fewer than two clusters" if alone else note
            rows.append((*names, float(apart[both].mean()), *ends, note))
    return pd.DataFrame(rows, columns=_COLUMNS)
