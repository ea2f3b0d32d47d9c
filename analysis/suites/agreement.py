"""Everything about the agreement of annotators, for anybody's ratings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.agreement import (
    agreement_by_kind,
    agreement_summary,
    agreement_with_mode,
    pairwise_agreement,
)
from analysis.annotators import annotator_profiles, annotators_to_look_at
from analysis.kappa import bootstrap_kappa, kappa_from_sums, sum_by_cluster
from analysis.order_effects import order_effects
from analysis.resampling import Matrix, percentile_interval
from analysis.suites.tables import Tables, add_missing, said_missing
from analysis.votes import (
    ALL,
    COLUMNS,
    LIKERT,
    describe_samples,
    modes_without_own,
    read_votes,
)

MOST_PAIRED = 40  # annotators of whom every pair is compared
FEWEST_COMPARED = 4  # an annotator is compared with three others at least
NO_RATINGS = "there are no ratings"
NO_KINDS = "the kind of explanation of the samples is not known"
ONE_KIND = "the rated samples are all of one kind"


def agreement_tables(
    ratings: pd.DataFrame,
    samples: pd.DataFrame | None = None,
    *,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    permutations: int = 2_000,
    seed: int = 0,
) -> Tables:
    """Compute all tables about agreement; what cannot be known is in ``missing``.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating; submitted_at and simulated if known.
        Bad ratings (twice the same, off the scale) raise a ValueError.
    samples
        Columns sample_id and any of kind, dataset, image_id; or None. Where the image of every
        rated sample is known, intervals come from resampling images, else samples.
    categories
        The whole scale in its order.
    resamples, permutations, seed
        Of the bootstrap intervals and the permutation tests.

    Returns
    -------
    dict of DataFrames
        - ``study``: fact, value; ``stars``: question, rating, n, share
        - ``agreement``: every measure per question; ``with_mode``: each annotator against the
          mode; ``pairs``: every two annotators
        - ``kinds``, ``kind_differences``: agreement by kind of explanation
        - ``order``: see :func:`analysis.order_effects.order_effects`
        - ``profiles``, ``look_at``: see :mod:`analysis.annotators`
        - ``missing``: section (a table), why
    """
    votes = described_votes(ratings, samples)
    read_votes(votes, categories)  # refuses what is wrong before anything is computed
    cluster = "image" if len(votes) and votes["image"].notna().all() else "sample_id"
    boot = {"categories": categories, "cluster": cluster, "resamples": resamples, "seed": seed}
    number = votes["annotator_id"].nunique()
    few = number <= MOST_PAIRED
    with_mode = agreement_with_mode(votes, **boot)  # type: ignore[arg-type]
    pairs = pairwise_agreement(votes if few else votes.iloc[:0], **boot)  # type: ignore[arg-type]
    known = {"with_mode": with_mode, "two": pairs if few else None}
    profiles = annotator_profiles(votes, categories=categories, resamples=resamples, seed=seed)
    tables: Tables = {
        "study": study_facts(votes, categories, cluster),
        "stars": stars_used(votes, categories),
        "agreement": agreement_summary(votes, pairs=few, **known, **boot),  # type: ignore[arg-type]
        "with_mode": with_mode,
        "pairs": pairs,
        "kinds": agreement_by_kind(votes, pairs=few, **boot),
        "order": order_effects(votes, categories=categories, permutations=permutations, seed=seed),
        "profiles": profiles,
    }
    lacks = {} if len(votes) else dict.fromkeys([*tables][:6], NO_RATINGS)
    if not few:
        lacks["pairs"] = f"more than {MOST_PAIRED} annotators: not every pair is compared"
    if number == 1:
        alone = "there is only one annotator: nobody to agree with"
        lacks |= dict.fromkeys(("agreement", "with_mode", "pairs", "kinds"), alone)
    if votes["kind"].isna().all():
        lacks["kinds"] = NO_KINDS if len(votes) else NO_RATINGS
    tables = said_missing(tables, lacks)
    # Nobody to look at, and no kinds to compare, are results: nothing is missing there.
    tables["kind_differences"] = kind_agreement_differences(votes, **boot)  # type: ignore[arg-type]
    tables["look_at"] = annotators_to_look_at(profiles)
    more = []
    if number < FEWEST_COMPARED:
        least = f"an annotator is compared with three others at least; there are {number} in all"
        more.append(("look_at", least))
    if "kinds" not in lacks and tables["kind_differences"].empty:
        more.append(("kind_differences", ONE_KIND))
    return add_missing(tables, more)


def study_facts(votes: pd.DataFrame, categories: Sequence[int], cluster: str) -> pd.DataFrame:
    """What was rated by how many: facts and their numbers. ``images`` is missing if not known."""
    each = votes.groupby(["sample_id", "question"], observed=True).size()
    simulated = votes["simulated"].sum() if "simulated" in votes else 0
    facts: dict[str, float] = {
        "votes": len(votes),
        "samples": votes["sample_id"].nunique(),
        "annotators": votes["annotator_id"].nunique(),
        "questions": votes["question"].nunique(),
        "images": votes["image"].nunique() if cluster == "image" else np.nan,
        "fewest_votes": each.min() if len(each) else np.nan,
        "most_votes": each.max() if len(each) else np.nan,
        "mean_votes": each.mean() if len(each) else np.nan,
        "simulated_votes": float(simulated),
        "scale_low": min(categories),
        "scale_high": max(categories),
    }
    return pd.DataFrame({"fact": list(facts), "value": np.array(list(facts.values()), np.float64)})


def stars_used(votes: pd.DataFrame, categories: Sequence[int]) -> pd.DataFrame:
    """How often each step of the scale was used, per question."""
    rows = []
    for question, mine in votes.groupby("question", sort=True):
        counts = mine["rating"].value_counts().reindex(list(categories), fill_value=0)
        rows += [(question, star, int(n), n / len(mine)) for star, n in counts.items()]
    return pd.DataFrame(rows, columns=["question", "rating", "n", "share"])


def described_votes(ratings: pd.DataFrame, samples: pd.DataFrame | None) -> pd.DataFrame:
    """The given ratings with names as text, and the kind and image of their samples."""
    absent = [name for name in COLUMNS if name not in ratings]
    if absent:
        raise ValueError(f"the ratings have no column {', '.join(absent)}")
    optional = [name for name in ("submitted_at", "simulated") if name in ratings]
    votes = ratings.loc[ratings["rating"].notna(), [*COLUMNS, *optional]].reset_index(drop=True)
    if votes[list(COLUMNS[:3])].isna().any(axis=None):
        raise ValueError("a rating without sample, annotator or question")
    votes = votes.astype(dict.fromkeys(COLUMNS[:3], str))
    if samples is None:
        return votes.assign(kind=None, image=None)
    known = describe_samples(samples.assign(sample_id=samples["sample_id"].astype(str)))
    known = known.reindex(votes["sample_id"])
    return votes.assign(kind=known["kind"].to_numpy(object), image=known["image"].to_numpy(object))


def kind_agreement_differences(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "sample_id",
    resamples: int = 2_000,
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
    columns = ["question", "first", "second", "n", "estimate", "low", "high", "note"]
    known = ratings[ratings["kind"].notna() & ratings["rating"].notna()]
    kinds = sorted(known["kind"].astype(str).unique())
    if len(kinds) < 2:
        return pd.DataFrame(columns=columns)
    votes = read_votes(known, categories, cluster)
    of = known.drop_duplicates("sample_id").set_index("sample_id")["kind"].astype(str)
    kind = of.reindex(votes.samples).to_numpy(object)
    others = modes_without_own(votes)
    size = len(votes.annotators)
    parts: list[tuple[object, Matrix]] = []
    for number, question in enumerate(votes.questions):
        own = np.concatenate([np.where(kind == one, votes.codes[number], -1) for one in kinds])
        label = np.tile(others[number], (len(kinds), 1))
        parts.append((question, sum_by_cluster(own, label, votes.clusters)))
    if len(parts) > 1:
        parts.append((ALL, np.sum([sums for _, sums in parts], axis=0)))
    rows: list[tuple[object, ...]] = []
    for question, sums in parts:
        estimates = kappa_from_sums(sums.sum(0))
        drawn = bootstrap_kappa(sums, resamples, seed)
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
            low, high = (float(end[0]) for end in percentile_interval(between[:, None]))
            alone = len(sums) < 2
            note = "kappa is undefined in too many resamples" if np.isnan(low) else ""
            ends = (np.nan, np.nan) if alone else (low, high)
            note = "no interval from fewer than two clusters" if alone else note
            rows.append((*names, float(apart[both].mean()), *ends, note))
    return pd.DataFrame(rows, columns=columns)
