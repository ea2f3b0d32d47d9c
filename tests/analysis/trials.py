"""Made-up forced-choice studies with known utilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

SESSIONS, TESTS = 3, 7
EXAMPLES: dict[object, float] = {1: 5.0, 2: 10.0, 3: 15.0}


def draw_trials(
    accuracy: Mapping[str, float], people: int, seed: int, *, between: float = 0.08
) -> pd.DataFrame:
    """Trials of so many people a condition, whose chances differ with a standard deviation."""
    rng = np.random.default_rng(seed)
    each = SESSIONS * TESTS
    rows = []
    for condition, level in accuracy.items():
        chance = np.clip(rng.normal(level, between, people), 0.02, 0.98)
        right = rng.random((people, each)) < chance[:, None]
        rows.append(
            pd.DataFrame(
                {
                    "participant": np.repeat([f"{condition}{n}" for n in range(people)], each),
                    "condition": condition,
                    "session": np.tile(np.repeat(np.arange(1, SESSIONS + 1), TESTS), people),
                    "item": np.concatenate([rng.permutation(28)[:each] for _ in range(people)]),
                    "right": right.ravel(),
                }
            )
        )
    return pd.concat(rows, ignore_index=True)
