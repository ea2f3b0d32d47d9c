"""Everything about the agreement of annotators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.agreement import (
    agreement_by,
    agreement_differences,
    agreement_summary,
    agreement_with_mode,
    pairwise_agreement,
)
from analysis.order_effects import order_effects
from analysis.raters import rater_profiles, raters_to_look_at
from analysis.tables import Tables, add_missing, list_missing
from analysis.votes import LIKERT, read_votes
from pasta.studies.ratings.analyses.names import (
    describe_samples,
    generic,
    named,
    some_anonymous,
    some_unknown,
    votes_of_people,
)

MOST_PAIRED = 40  # annotators of whom every pair is compared
FEWEST_COMPARED = 4  # an annotator is compared with three others at least
NO_RATINGS = "there are no ratings"
NO_KINDS = "the kinds of the samples are not known"
ONE_KIND = "the rated samples are all of one kind"
COLUMNS = ("sample_id", "annotator_id", "question", "rating")
# Measures that are means over people or pairs of them, and tables about people.
OF_PEOPLE = ("pairwise_kappa", "mode_kappa_as_published", "mode_kappa_leave_one_out")
ABOUT_PEOPLE = ("with_mode", "pairs", "order", "profiles")
ORDER_EFFECTS = {
    "drift": "stars more than the other annotators, per 100 samples",
    "fatigue": "distance from the other annotators in stars, per 100 samples",
    "speed": "share of time more for a sample (logarithm), per 100 samples",
    "same_answer": "share of samples with the same star on all questions, per 100 samples",
    "carry_over": "stars more for each star given too many to the sample before",
}


def agreement_tables(
    ratings: pd.DataFrame,
    samples: pd.DataFrame | None = None,
    *,
    annotators: pd.DataFrame | None = None,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    permutations: int = 2_000,
    seed: int = 0,
) -> Tables:
    """Compute all tables about agreement; what cannot be known is in ``missing``.

    Of anonymous votes only samples can be spoken of (Krippendorff's alpha, Fleiss' kappa, ICC1);
    whatever is said of people or pairs of them is made of the other votes.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating; submitted_at and simulated if known.
        Bad ratings (twice the same, off the scale) raise a ValueError.
    samples
        Columns sample_id and any of kind, dataset, image_id; or None. Where the image of every
        rated sample is known, intervals come from resampling images, else samples.
    annotators
        Columns annotator_id and anonymous (true for what is no person); or None.
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
        - ``profiles``, ``look_at``: see :mod:`analysis.raters`
        - ``missing``: section (a table), why
    """
    votes = described_votes(ratings, samples)
    read_votes(votes, categories)  # refuses what is wrong before anything is computed
    cluster = "image" if len(votes) and votes["image"].notna().all() else "unit"
    boot = {"categories": categories, "cluster": cluster, "resamples": resamples, "seed": seed}
    people = votes_of_people(votes, annotators)
    number = people["rater"].nunique()
    few = number <= MOST_PAIRED
    with_mode = agreement_with_mode(people, **boot)  # type: ignore[arg-type]
    pairs = pairwise_agreement(people if few else people.iloc[:0], **boot)  # type: ignore[arg-type]
    known = {"with_mode": with_mode, "two": pairs if few else None}
    summary = agreement_summary(people, pairs=few, **known, **boot)  # type: ignore[arg-type]
    kinds = agreement_by(people, "kind", pairs=few, **boot)
    anonymous = some_anonymous(votes, people)
    if anonymous:
        summary = _of_all(agreement_summary(votes, pairs=False, **boot), summary)  # type: ignore[arg-type]
        kinds = _of_all(agreement_by(votes, "kind", pairs=False, **boot), kinds)
    profiles = rater_profiles(people, categories=categories, resamples=resamples, seed=seed)
    found: Tables = {
        "study": study_facts(votes, categories, cluster, count_raters=not anonymous),
        "stars": stars_used(votes, categories),
        "agreement": summary,
        "with_mode": with_mode,
        "pairs": pairs,
        "kinds": kinds,
        "order": order_effects(people, categories=categories, permutations=permutations, seed=seed),
        "profiles": profiles,
    }
    tables = {name: named(table) for name, table in found.items()}
    tables["order"].insert(1, "unit", tables["order"]["effect"].map(ORDER_EFFECTS))
    lacks = {} if len(votes) else dict.fromkeys([*tables][:6], NO_RATINGS)
    if not few:
        lacks["pairs"] = f"more than {MOST_PAIRED} annotators: not every pair is compared"
    if len(votes["rater"].unique()) == 1:
        alone = "there is only one annotator: nobody to agree with"
        lacks |= dict.fromkeys(("agreement", "with_mode", "pairs", "kinds"), alone)
    if votes["kind"].isna().all():
        lacks["kinds"] = NO_KINDS if len(votes) else NO_RATINGS
    if anonymous:
        lacks |= dict.fromkeys(ABOUT_PEOPLE, anonymous)
    tables = list_missing(tables, lacks)
    # Nobody to look at, and no kinds to compare, are results: nothing is missing there.
    differences = agreement_differences(people, "kind", **boot)  # type: ignore[arg-type]
    tables["kind_differences"] = named(differences)
    tables["look_at"] = named(raters_to_look_at(profiles))
    more = []
    if anonymous:
        more += [("look_at", anonymous), ("kind_differences", anonymous)]
    elif number < FEWEST_COMPARED:
        least = f"an annotator is compared with three others at least; there are {number} in all"
        more.append(("look_at", least))
    if "kinds" not in lacks and not anonymous and tables["kind_differences"].empty:
        more.append(("kind_differences", ONE_KIND))
    partly = some_unknown(votes.drop_duplicates("unit")["kind"], "kind of explanation")
    more += [("kinds", partly)] if partly else []
    return add_missing(tables, more)


def _of_all(everybody: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Measures of samples from all votes, those that are means over people from theirs."""
    parts = [
        everybody[~everybody["measure"].isin(OF_PEOPLE)],
        people[people["measure"].isin(OF_PEOPLE)],
    ]
    joined = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    by = [name for name in ("kind", "item") if name in joined]
    return joined.sort_values(by, kind="stable", ignore_index=True)


def study_facts(
    votes: pd.DataFrame, categories: Sequence[int], cluster: str, count_raters: bool = True
) -> pd.DataFrame:
    """What was rated by how many: facts and their numbers; images and annotators if known."""
    each = votes.groupby(["unit", "item"], observed=True).size()
    simulated = votes["simulated"].sum() if "simulated" in votes else 0
    facts: dict[str, float] = {
        "votes": len(votes),
        "samples": votes["unit"].nunique(),
        "annotators": votes["rater"].nunique() if count_raters else np.nan,
        "questions": votes["item"].nunique(),
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
    for question, mine in votes.groupby("item", sort=True):
        counts = mine["rating"].value_counts().reindex(list(categories), fill_value=0)
        rows += [(question, star, int(n), n / len(mine)) for star, n in counts.items()]
    return pd.DataFrame(rows, columns=["question", "rating", "n", "share"])


def described_votes(ratings: pd.DataFrame, samples: pd.DataFrame | None) -> pd.DataFrame:
    """Ratings as :mod:`analysis` reads them, names as text, with kind and image of the samples."""
    absent = [name for name in COLUMNS if name not in ratings]
    if absent:
        raise ValueError(f"the ratings have no column {', '.join(absent)}")
    optional = [name for name in ("submitted_at", "simulated") if name in ratings]
    votes = ratings.loc[ratings["rating"].notna(), [*COLUMNS, *optional]].reset_index(drop=True)
    if votes[list(COLUMNS[:3])].isna().any(axis=None):
        raise ValueError("a rating without sample, annotator or question")
    votes = votes.astype(dict.fromkeys(COLUMNS[:3], str))
    if samples is None:
        return generic(votes.assign(kind=None, image=None))
    known = describe_samples(samples.assign(sample_id=samples["sample_id"].astype(str)))
    known = known.reindex(votes["sample_id"])
    votes["kind"], votes["image"] = (known[name].to_numpy(object) for name in ("kind", "image"))
    return generic(votes)
