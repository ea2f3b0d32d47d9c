"""How each annotator rates, whether the order matters, and whom to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.annotators import annotator_profiles, annotators_to_look_at
from analysis.kappa import LIKERT
from analysis.order_effects import order_effects
from analysis.spread import Work
from analysis.suites.tables import Tables

FEWEST_COMPARED = 4  # an annotator is compared with three others at least


def annotator_work(
    votes: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    resamples: int = 2_000,
    permutations: int = 2_000,
    seed: int = 0,
) -> dict[str, Work]:
    """The pieces of work for the tables on single annotators."""
    return {
        "profiles": lambda: annotator_profiles(
            votes, categories=categories, resamples=resamples, seed=seed
        ),
        "order": lambda: order_effects(
            votes, categories=categories, permutations=permutations, seed=seed
        ),
    }


def annotator_tables(votes: pd.DataFrame, done: Mapping[str, Any]) -> tuple[Tables, dict[str, str]]:
    """The tables on single annotators, and what is missing, by table.

    ``done`` has the results of :func:`annotator_work`.

    Returns
    -------
    - ``order``: see :func:`analysis.order_effects.order_effects`
    - ``profiles``, ``look_at``: see :mod:`analysis.annotators`
    """
    tables: Tables = {
        "order": done["order"],
        "profiles": done["profiles"],
        "look_at": annotators_to_look_at(done["profiles"]),
    }
    lacks = {}
    number = votes["annotator_id"].nunique()
    if number < FEWEST_COMPARED:
        lacks["look_at"] = (
            f"an annotator is compared with three others at least; there are {number} in all"
        )
    return tables, lacks
