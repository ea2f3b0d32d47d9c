"""What people prefer: every table about techniques, kinds of explanation and backbones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.contrasts import contrast_row, one_mean
from analysis.groups import group_differences, group_means
from analysis.rankings import (
    concordance,
    critical_difference,
    mean_positions,
    position_differences,
    rank_groups,
    rater_means,
    share_of_favourites,
)
from analysis.resampling import notes
from analysis.tables import Tables, add_missing, list_missing
from analysis.votes import LIKERT, label_units
from pasta.studies.ratings.analyses.names import (
    NO_SAMPLES,
    NO_VOTES,
    describe_samples,
    empty_table,
    generic,
    named,
    some_anonymous,
    some_unknown,
    votes_of_people,
)

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "fidelity": ("Q1",),
    "complexity": ("Q2", "Q3"),
    "objectivity": ("Q4",),
    "robustness": ("Q5", "Q6"),
}
TOP = 12
MARGIN = 0.25  # stars that do not matter
SALIENCY = "saliency"
ORDERS = ("top_techniques", "ranking", "critical_difference")
NO_RANKINGS = "nobody ranked qualities or questions (Q7 to Q9)"
NO_RATINGS = "there are no ratings"
NO_TECHNIQUES = "no rated sample has a known technique (method and backbone)"
NO_KINDS = "no rated sample has a known kind of explanation"
NO_BACKBONES = "no rated saliency explanation has a known backbone"
OVER_IMAGES = "votes are anonymous: images stand for annotators"


_NO_RANKS = empty_table("annotator_id", "question", "item", numbers=["position"])


def preference_tables(
    ratings: pd.DataFrame,
    samples: pd.DataFrame | None,
    rankings: pd.DataFrame | None = None,
    *,
    annotators: pd.DataFrame | None = None,
    directions: Mapping[str, int] | None = None,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    seed: int = 0,
) -> Tables:
    """Compute all tables about preferences; what cannot be known is listed in ``missing``.

    The orders of techniques compare an annotator's votes with each other and leave anonymous ones
    out.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating.
    samples
        Columns sample_id and technique, or method and backbone; kind, dataset and image_id if
        known; or None.
    rankings
        Columns annotator_id, question, item, position (Q7 to Q9); or None.
    annotators
        Columns annotator_id and anonymous (true for what is no person); or None.
    directions
        -1 for questions on which fewer stars are better. Orders of techniques turn them round;
        mean modes are given as the stars were, as in the PASTA papers
        (doi:10.48550/arXiv.2411.02470).
    categories
        The whole scale in its order.

    Returns
    -------
    dict of DataFrames
        - ``technique_scores``: mean mode of each technique and dimension (P1, Table 12)
        - ``kinds``, ``kind_differences``: saliency and concepts per question (P1, Figure 3a)
        - ``backbones``, ``backbone_differences``: saliency methods (P1, Figure 3b)
        - ``top_techniques``: who is how often among an annotator's best twelve (P1, Figure 10);
          where all votes are anonymous, an image's (the ranking likewise), and ``note`` says so
        - ``ranking``: the ordinal model's order with intervals; ``rank_bradley_terry`` is a
          technique's place by that other model
        - ``critical_difference``: mean ranks over annotators (over images where all votes are
          anonymous), the test of Friedman, or of Skillings and Mack where some miss techniques
        - the tables of :func:`ranking_tables`
        - ``missing``: section, why
    """
    votes = ratings[ratings["rating"].notna()] if len(ratings) else NO_VOTES
    shown = NO_SAMPLES if samples is None else samples
    rated = describe_samples(shown).reindex(pd.Index(votes["sample_id"].unique()))
    no_techniques = _lack(votes, rated["technique"], NO_TECHNIQUES)
    no_kinds = _lack(votes, rated["kind"], NO_KINDS)
    saliency = rated[rated["kind"] == SALIENCY]
    no_backbones = _lack(votes, saliency["backbone"], NO_BACKBONES)
    people = votes_of_people(votes, annotators)
    anonymous = some_anonymous(votes, people)
    over_images = people.empty and bool(rated["image"].notna().any())
    judged = votes_by_image(votes, shown, categories) if over_images else people
    nothing, all_of_it = (NO_VOTES, NO_SAMPLES), (votes, shown)
    # Of nothing, the functions make tables without rows that have their columns all the same.
    of_techniques = nothing if no_techniques else all_of_it
    of_kinds, of_backbones = (nothing if lack else all_of_it for lack in (no_kinds, no_backbones))
    backbone: dict[str, Any] = {"by": "backbone", "kind": SALIENCY, "categories": categories}
    tables = {
        "technique_scores": technique_scores(*of_techniques, categories=categories),
        "kinds": scores_by(*of_kinds, categories=categories),
        "kind_differences": score_differences(*of_kinds, categories=categories),
        "backbones": scores_by(*of_backbones, **backbone),
        "backbone_differences": score_differences(*of_backbones, **backbone),
        **technique_orders(
            *(nothing if no_techniques or judged.empty else (judged, shown)),
            directions,
            categories=categories,
        ),
        **ranking_tables(rankings, resamples=resamples, seed=seed),
    }
    lacks = dict.fromkeys(("kinds", "kind_differences"), no_kinds)
    lacks |= dict.fromkeys(("backbones", "backbone_differences"), no_backbones)
    lacks |= dict.fromkeys(ORDERS, no_techniques or anonymous)
    if over_images and not no_techniques:
        for name in ("top_techniques", "ranking"):
            tables[name]["note"] = OVER_IMAGES
            lacks[name] = ""
    lacks["technique_scores"] = no_techniques
    partly = {
        "technique_scores": some_unknown(rated["technique"], "technique"),
        "kinds": some_unknown(rated["kind"], "kind of explanation"),
        "backbones": some_unknown(saliency["backbone"], "backbone"),
    }
    if over_images and not no_techniques:
        partly |= dict.fromkeys(("top_techniques", "ranking"), OVER_IMAGES)
    more = [(name, why) for name, why in partly.items() if why]
    return add_missing(list_missing(tables, lacks), more)


def _lack(votes: pd.DataFrame, known: pd.Series, why: str) -> str:
    if votes.empty:
        return NO_RATINGS
    return why if known.isna().all() else ""


def label_samples(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> pd.DataFrame:
    """The mode of the votes, the smallest star on ties: samples in rows, questions in columns."""
    return label_units(generic(ratings), categories).rename_axis(
        index="sample_id", columns="question"
    )


def votes_by_image(
    ratings: pd.DataFrame, samples: pd.DataFrame, categories: Sequence[int] = LIKERT
) -> pd.DataFrame:
    """Images in the place of annotators, where nobody knows who voted.

    The label of a sample is the vote of its image; samples without a known image are left out.
    """
    labels = label_samples(ratings, categories)
    votes = labels.reset_index().melt("sample_id", var_name="question", value_name="rating")
    votes["annotator_id"] = votes["sample_id"].map(describe_samples(samples)["image"])
    return votes.dropna(subset=["rating", "annotator_id"]).reset_index(drop=True)


def technique_scores(
    ratings: pd.DataFrame, samples: pd.DataFrame, *, categories: Sequence[int] = LIKERT
) -> pd.DataFrame:
    """Mean label of each technique (P1, Table 12), with t intervals over samples.

    A sample's label is the mode of its votes (the smallest star on ties); the questions of a
    dimension are averaged within the sample first, so that samples are the unit.

    Returns
    -------
    DataFrame with technique, method, backbone, kind, dimension, n (samples), estimate, low, high,
    note; sorted by technique
    """
    labels = label_samples(ratings, categories)
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
    categories: Sequence[int] = LIKERT,
) -> pd.DataFrame:
    """Mean label of each group of samples and question (P1, Figures 3 to 5).

    ``by="kind"`` compares saliency with concepts; ``by="backbone", kind="saliency"`` compares the
    backbones of saliency methods. Intervals allow for samples that share an image or, as a claim
    about kinds or backbones is one about further techniques too, a technique (a method when
    backbones are compared).

    Returns
    -------
    DataFrame with question, group, n (samples), estimate, low, high, note
    """
    return named(group_means(*_grouped(ratings, samples, by, kind, categories)))


def score_differences(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    by: str = "kind",
    *,
    kind: str | None = None,
    categories: Sequence[int] = LIKERT,
) -> pd.DataFrame:
    """Differences between every two groups of :func:`scores_by`, per question.

    Returns
    -------
    The columns of :func:`analysis.groups.group_differences`, with question instead of item
    """
    return named(
        group_differences(*_grouped(ratings, samples, by, kind, categories), margin=MARGIN)
    )


def _grouped(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    by: str,
    kind: str | None,
    categories: Sequence[int],
) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Labels, the group of each sample, and what samples share."""
    labels = label_samples(ratings, categories)
    known = describe_samples(samples).reindex(labels.index)
    if kind is not None:
        known = known[known["kind"] == kind]
    return labels, known[by], known[["method" if by == "backbone" else "technique", "image"]]


def technique_orders(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    directions: Mapping[str, int] | None = None,
    *,
    categories: Sequence[int] = LIKERT,
) -> Tables:
    """Techniques in order: favourites, the ordinal model, mean ranks with critical differences."""
    votes, known = generic(ratings), describe_samples(samples)
    technique = known["technique"]
    kinds = known.dropna(subset="technique").drop_duplicates("technique")
    kind = kinds.set_index("technique")["kind"]
    means = rater_means(votes, technique, directions, categories=categories)
    top = share_of_favourites(means, TOP).rename(columns={"item": "technique"})
    ranking = rank_groups(votes, technique, directions, categories=categories)
    ranking = ranking.rename(columns={"group": "technique"})
    for table in (top, ranking):
        table.insert(1, "kind", table["technique"].map(kind))
    return dict(zip(ORDERS, (top, named(ranking), critical_difference(means)), strict=True))


def ranking_tables(
    rankings: pd.DataFrame | None, *, resamples: int = 2_000, seed: int = 0
) -> Tables:
    """Compute mean positions, agreement on them and differences between items.

    Parameters
    ----------
    rankings
        Columns annotator_id, question, item, position (from 1); or None.

    Returns
    -------
    dict of DataFrames
        - ``positions``: mean position of each item (P1, Tables 13 and 14)
        - ``concordance``: Kendall's W and Friedman's test for each question
        - ``position_differences``: every two items of a question
        - ``missing``: section, why
    """
    there = rankings is not None and bool(rankings["position"].notna().any())
    given = rankings if rankings is not None and there else _NO_RANKS
    given = given.rename(columns={"annotator_id": "rater", "question": "group"})
    found = {
        "positions": mean_positions(given),
        "concordance": concordance(given, resamples=resamples, seed=seed),
        "position_differences": position_differences(given),
    }
    tables = {name: table.rename(columns={"group": "question"}) for name, table in found.items()}
    return list_missing(tables, {} if there else dict.fromkeys(tables, NO_RANKINGS))
