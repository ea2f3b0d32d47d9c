"""What people prefer: every table about techniques, kinds of explanation and backbones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from analysis.preference import (
    annotator_means,
    score_differences,
    scores_by,
    technique_scores,
    top_techniques,
)
from analysis.rankings import concordance, mean_positions, position_differences
from analysis.suites.tables import Tables, said_missing
from analysis.technique_ranking import critical_difference, rank_techniques
from analysis.votes import COLUMNS, describe_samples

SALIENCY = "saliency"
NO_RANKINGS = "nobody ranked qualities or questions (Q7 to Q9)"
NO_RATINGS = "there are no ratings"
NO_TECHNIQUES = "no rated sample has a known technique (method and backbone)"
NO_KINDS = "no rated sample has a known kind of explanation"
NO_BACKBONES = "no rated saliency explanation has a known backbone"


def _empty(*names: str, number: str) -> pd.DataFrame:
    columns = {name: pd.Series(dtype=object) for name in names}
    return pd.DataFrame(columns | {number: pd.Series(dtype=float)})


_NO_VOTES = _empty(*COLUMNS[:3], number="rating")
_NO_RANKS = _empty("annotator_id", "question", "item", number="position")
_NO_SAMPLES = pd.DataFrame({"sample_id": pd.Series(dtype=object)})


def preference_tables(
    ratings: pd.DataFrame,
    samples: pd.DataFrame | None,
    rankings: pd.DataFrame | None = None,
    *,
    directions: Mapping[str, int] | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> Tables:
    """Compute all tables about preferences; what cannot be known is listed in ``missing``.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating.
    samples
        Columns sample_id and technique, or method and backbone; kind, dataset and image_id if
        known; or None.
    rankings
        Columns annotator_id, question, item, position (Q7 to Q9); or None.
    directions
        -1 for questions on which fewer stars are better. Orders of techniques turn them round;
        mean modes are given as the stars were, as in the PASTA papers
        (doi:10.48550/arXiv.2411.02470).

    Returns
    -------
    dict of DataFrames
        - ``technique_scores``: mean mode of each technique and dimension (P1, Table 12)
        - ``kinds``, ``kind_differences``: saliency and concepts per question (P1, Figure 3a)
        - ``backbones``, ``backbone_differences``: saliency methods (P1, Figure 3b)
        - ``top_techniques``: who is how often among an annotator's best twelve (P1, Figure 10)
        - ``ranking``: the ordinal model's order with intervals; ``rank_bradley_terry`` is a
          technique's place by that other model
        - ``critical_difference``: mean ranks over annotators, Friedman, Nemenyi
        - the tables of :func:`ranking_tables`
        - ``missing``: section, why
    """
    votes = ratings[ratings["rating"].notna()] if len(ratings) else _NO_VOTES
    shown = _NO_SAMPLES if samples is None else samples
    rated = describe_samples(shown).reindex(pd.Index(votes["sample_id"].unique()))
    saliency = rated[rated["kind"] == SALIENCY]
    no_techniques = _lack(votes, rated["technique"], NO_TECHNIQUES)
    no_kinds = _lack(votes, rated["kind"], NO_KINDS)
    no_backbones = _lack(votes, saliency["backbone"], NO_BACKBONES)
    backbones = {"by": "backbone", "kind": SALIENCY}
    toward = {"directions": directions}
    parts: dict[str, tuple[str, Callable[..., pd.DataFrame], dict[str, Any]]] = {
        "technique_scores": (no_techniques, technique_scores, {}),
        "kinds": (no_kinds, scores_by, {}),
        "kind_differences": (no_kinds, score_differences, {}),
        "backbones": (no_backbones, scores_by, backbones),
        "backbone_differences": (no_backbones, score_differences, backbones),
        "top_techniques": (no_techniques, top_techniques, toward),
        "ranking": (no_techniques, rank_techniques, toward),
        "critical_difference": (no_techniques, _mean_ranks, toward),
    }

    # Of nothing, the functions make tables without rows that have their columns all the same.
    nothing, all_of_it = (_NO_VOTES, _NO_SAMPLES), (votes, shown)
    tables = {
        name: make(*(nothing if lack else all_of_it), **options)
        for name, (lack, make, options) in parts.items()
    }
    tables |= ranking_tables(rankings, resamples=resamples, seed=seed)
    return said_missing(tables, {name: part[0] for name, part in parts.items()})


def _lack(votes: pd.DataFrame, known: pd.Series, why: str) -> str:
    if votes.empty:
        return NO_RATINGS
    return why if known.isna().all() else ""


def _mean_ranks(
    votes: pd.DataFrame, shown: pd.DataFrame, directions: Mapping[str, int] | None
) -> pd.DataFrame:
    return critical_difference(annotator_means(votes, shown, directions=directions))


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
    tables = {
        "positions": mean_positions(given),
        "concordance": concordance(given, resamples=resamples, seed=seed),
        "position_differences": position_differences(given),
    }
    return said_missing(tables, {} if there else dict.fromkeys(tables, NO_RANKINGS))
