"""How each annotator rates, whether the order matters, and whom to look at."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.annotators import annotator_profiles, annotators_to_look_at
from analysis.kappa import LIKERT
from analysis.order_effects import order_effects
from analysis.suites.tables import Tables

FEWEST_COMPARED = 4  # an annotator is compared with three others at least


def annotator_tables(
    votes: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    permutations: int = 2_000,
    seed: int = 0,
) -> tuple[Tables, dict[str, str]]:
    """The tables on single annotators, and what is missing, by table.

    Returns
    -------
    - ``order``: see :func:`analysis.order_effects.order_effects`
    - ``profiles``, ``look_at``: see :mod:`analysis.annotators`
    """
    profiles = annotator_profiles(votes, categories=categories, resamples=resamples, seed=seed)
    tables: Tables = {
        "order": order_effects(votes, categories=categories, permutations=permutations, seed=seed),
        "profiles": profiles,
        "look_at": annotators_to_look_at(profiles),
    }
    lacks = {}
    number = votes["annotator_id"].nunique()
    if number < FEWEST_COMPARED:
        lacks["look_at"] = (
            f"an annotator is compared with three others at least; there are {number} in all"
        )
    return tables, lacks
