"""Q7-Q9: orders of qualities and questions, by Plackett and Luce (doi:10.2307/2346567).

An annotator's utility for an item is the one of P1's raters, recovered from their mean positions
(P1, Tables 13 and 14), plus a personal deviation. The first item of an order is drawn with
probabilities proportional to exp(utility), the second among the rest, and so on; sorting utilities
plus Gumbel noise does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pasta import tables
from pasta.seeds import generator
from pasta.studies.ratings.settings import SimulationParams

# P1's mean positions. Position 1 comes first in the order that a question asks for: it is the most
# important quality (Q7), the least important question (Q8), the most difficult question (Q9).
POSITIONS: Mapping[str, Mapping[str, float]] = {
    "Q7": {
        "Expectedness": 3.20,
        "Trustworthy": 2.47,
        "Complexity": 2.53,
        "Robustness": 2.97,
        "Objectivity": 3.77,
    },
    "Q8": {"Q1": 4.10, "Q2": 3.90, "Q3": 4.03, "Q4": 3.13, "Q5": 2.63, "Q6": 3.00},
    "Q9": {"Q1": 4.00, "Q2": 4.23, "Q3": 4.53, "Q4": 3.67, "Q5": 1.80, "Q6": 2.54},
}


def draw_rankings(
    annotators: Iterable[str],
    items: Mapping[str, tuple[str, ...]],
    params: SimulationParams,
    seed: int,
) -> pd.DataFrame:
    """The ``rankings`` table: for each annotator and question, every item at one position."""
    rows = []
    for name in sorted(set(annotators)):
        for question, choices in items.items():
            random = generator(seed, "simulation", "rankings", name, question)
            own = params.ranking_sd * random.standard_normal(len(choices))
            mean = params.ranking_strength * utilities(question, choices)
            order = np.argsort(-(mean + own + random.gumbel(size=len(choices))))
            places = np.empty(len(choices), dtype=np.int64)
            places[order] = np.arange(1, len(choices) + 1)
            rows += [
                {
                    "annotator_id": name,
                    "question": question,
                    "item": item,
                    "position": int(place),
                    "simulated": True,
                }
                for item, place in zip(choices, places, strict=True)
            ]
    frame = tables.RANKED.frame(rows)
    return frame.sort_values(list(tables.RANKED.key), ignore_index=True)


def utilities(
    question: str, items: tuple[str, ...]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Utilities whose Plackett-Luce orders have about P1's mean positions; 0 for other items.

    With two items the log odds of their places would be exact; for more, the logit of the share of
    the other items that come later is a good first approximation.
    """
    known = POSITIONS.get(question, {})
    middle = (len(items) + 1) / 2
    places = np.array([known.get(item, middle) for item in items])
    later = np.clip((len(items) - places) / max(len(items) - 1, 1), 0.01, 0.99)
    result: np.ndarray[tuple[int], np.dtype[np.float64]] = np.log(later / (1 - later))
    return result
