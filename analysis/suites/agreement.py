"""Everything about agreement and bias of annotators, for anybody's ratings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.agreement import (
    agreement_by,
    agreement_summary,
    agreement_with_mode,
    pairwise_agreement,
)
from analysis.kappa import LIKERT
from analysis.samples import describe_samples
from analysis.spread import Runner, named, one_by_one
from analysis.suites.annotators import annotator_tables, annotator_work
from analysis.suites.bias import Lazy, bias_tables, bias_work
from analysis.suites.kinds import kind_agreement_differences
from analysis.suites.tables import MISSING, Tables, said_missing
from analysis.votes import COLUMNS, read_votes

MOST_PAIRED = 40  # annotators of whom every pair is compared
NO_RATINGS = "there are no ratings"
NO_KINDS = "the kind of explanation of the samples is not known"
ONE_KIND = "the rated samples are all of one kind"


def agreement_tables(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None = None,
    samples: pd.DataFrame | None = None,
    descriptions: pd.DataFrame | None = None,
    sentences: Lazy = None,
    boxes: pd.DataFrame | None = None,
    box_values: Lazy = None,
    *,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    permutations: int = 2_000,
    seed: int = 0,
    run: Runner = one_by_one,
) -> Tables:
    """Compute all tables of the report on agreement; what cannot be known is in ``missing``.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating; submitted_at and simulated if known.
        Bad ratings (twice the same, off the scale) raise a ValueError.
    annotators
        Columns annotator_id and any of age, sex, country; or None.
    samples
        Columns sample_id and any of kind, dataset, image_id; or None. Where the image of every
        rated sample is known, intervals come from resampling images, else samples.
    descriptions, sentences
        Q0.1: sample_id, annotator_id, text; and what the concept explanations say: sample_id,
        sentence; or a function that makes that table.
    boxes, box_values
        Q0.2: the boxes; and what :func:`analysis.box_bias.box_measures` says of them: sample_id,
        annotator_id and its measures, or a function that makes that table.
    categories
        The whole scale in its order.
    resamples, permutations, seed
        Of the bootstrap intervals and the permutation tests.

    run
        How the pieces of work are done, see :mod:`analysis.spread`.

    Returns
    -------
    dict of DataFrames
        - ``study``: fact, value; ``stars``: question, rating, n, share
        - ``agreement``: every measure per question; ``with_mode``: each annotator against the
          mode; ``pairs``: every two annotators
        - ``kinds``, ``kind_differences``: agreement by kind of explanation
        - the tables of :func:`analysis.suites.bias.bias_tables` and
          :func:`analysis.suites.annotators.annotator_tables`
        - ``missing``: section (a table, or sex, age, country), why
    """
    votes = _votes(ratings, samples)
    read_votes(votes, categories)  # refuses what is wrong before anything is computed
    cluster = "image" if len(votes) and votes["image"].notna().all() else "sample_id"
    boot = {"categories": categories, "cluster": cluster, "resamples": resamples, "seed": seed}
    number = votes["annotator_id"].nunique()
    few = number <= MOST_PAIRED
    paired = votes if few else votes.iloc[:0]
    work = bias_work(
        votes,
        annotators,
        descriptions,
        sentences,
        boxes,
        box_values,
        categories=categories,
        permutations=permutations,
        seed=seed,
    )
    work |= annotator_work(
        votes, categories=categories, resamples=resamples, permutations=permutations, seed=seed
    )
    work |= {
        "overall": lambda: _overall(votes, paired, few, boot),
        "kinds": lambda: _by_kind(votes, few, boot),
        "kind_differences": lambda: kind_agreement_differences(votes, **boot),  # type: ignore[arg-type]
    }
    done = named(work, run)
    tables: Tables = {
        "study": study_facts(votes, categories, cluster),
        "stars": stars_used(votes, categories),
        **done["overall"],
        "kinds": done["kinds"],
    }
    lacks = {} if len(votes) else dict.fromkeys(tables, NO_RATINGS)
    if not few:
        lacks["pairs"] = f"more than {MOST_PAIRED} annotators: not every pair is compared"
    if number == 1:
        alone = "there is only one annotator: nobody to agree with"
        lacks |= dict.fromkeys(("agreement", "with_mode", "pairs", "kinds"), alone)
    if votes["kind"].isna().all():
        lacks["kinds"] = NO_KINDS if len(votes) else NO_RATINGS
    bias, missing = bias_tables(votes, done)
    people, alone_too = annotator_tables(votes, done)
    look_at = people.pop("look_at")  # nobody to look at is a result, nothing is missing there
    tables = said_missing(tables | bias | people, lacks | missing | alone_too)
    tables["kind_differences"] = done["kind_differences"]
    tables["look_at"] = look_at
    more = [("look_at", alone_too["look_at"])] if "look_at" in alone_too else []
    if "kinds" not in lacks and tables["kind_differences"].empty:
        more.append(("kind_differences", ONE_KIND))
    more += [(factor, missing[factor]) for factor in ("sex", "age", "country") if missing[factor]]
    said = pd.DataFrame(more, columns=["section", "why"])
    tables[MISSING] = pd.concat([tables[MISSING], said], ignore_index=True)
    return tables


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


def _votes(ratings: pd.DataFrame, samples: pd.DataFrame | None) -> pd.DataFrame:
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


def _overall(
    votes: pd.DataFrame, paired: pd.DataFrame, pairs: bool, boot: dict[str, object]
) -> Tables:
    """Agreement per question; its means over annotators and pairs come from their own tables."""
    with_mode = agreement_with_mode(votes, **boot)  # type: ignore[arg-type]
    two = pairwise_agreement(paired, **boot)  # type: ignore[arg-type]
    known = {"with_mode": with_mode, "two": two if pairs else None}
    summary = agreement_summary(votes, pairs=pairs, **known, **boot)  # type: ignore[arg-type]
    return {"agreement": summary, "with_mode": with_mode, "pairs": two}


def _by_kind(votes: pd.DataFrame, pairs: bool, boot: dict[str, object]) -> pd.DataFrame:
    if votes["kind"].notna().any():
        return agreement_by(votes, "kind", pairs=pairs, **boot)
    empty = agreement_summary(votes.iloc[:0], pairs=pairs, **boot)  # type: ignore[arg-type]
    empty.insert(0, "kind", pd.Series(dtype=object))
    return empty
