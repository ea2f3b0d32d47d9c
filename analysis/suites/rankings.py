"""Rankings of qualities and questions (Q7 to Q9): every table about them."""

from __future__ import annotations

import pandas as pd

from analysis.rankings import concordance, mean_positions, position_differences
from analysis.suites.tables import Tables, said_missing

NO_RANKINGS = "nobody ranked qualities or questions (Q7 to Q9)"
_NO_RANKS = pd.DataFrame(
    {
        "annotator_id": pd.Series(dtype=object),
        "question": pd.Series(dtype=object),
        "item": pd.Series(dtype=object),
        "position": pd.Series(dtype=float),
    }
)


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
