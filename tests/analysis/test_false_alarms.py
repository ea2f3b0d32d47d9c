"""With nothing planted, at most 8 % of 50 studies raise a false alarm."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.bias import group_tests
from analysis.order_effects import order_effects
from analysis.ordinal_model import ordinal_model
from analysis.preference import score_differences
from analysis.similarity import correlate_similarity
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate

STUDIES = 50
ALARMS = 0.08


def test_nothing_planted_raises_few_alarms() -> None:
    alarms: dict[str, list[bool]] = {}
    for seed in range(STUDIES):
        ratings, people, shown = simulate(Study(), 100 + seed)
        model = ordinal_model(ratings, people, shown).set_index("term")["p"]
        found = {f"model {name}": model[name] for name in ("sex", "age", "kind")}
        tests = group_tests(ratings, people, permutations=199)
        tests = tests[(tests["question"] == "all") & tests["factor"].isin(["sex", "age"])]
        for row in tests.itertuples():
            found[f"{row.measure} {row.factor}"] = row.p
        order = order_effects(ratings, permutations=199).set_index("effect")["p"]
        found |= {f"order {name}": p for name, p in order.items()}
        found["kind in stars"] = score_differences(ratings, shown)["p"].iloc[0]
        found |= _similarity(ratings, seed)
        for name, p in found.items():
            alarms.setdefault(name, []).append(bool(p < 0.05))
    families = pd.Series({name: np.mean(hits) for name, hits in alarms.items()})
    kinds = families.groupby(families.index.str.split().str[0]).mean()
    assert (kinds <= ALARMS).all(), kinds.to_dict()
    assert (families <= 2 * ALARMS).all(), families.to_dict()  # 50 studies: 16 % is 3.6 errors off


def test_techniques_that_differ_by_chance_are_no_preference_for_a_kind() -> None:
    """Votes of one technique are alike: taking samples as the unit would cry wolf."""
    study = Study(samples=240, techniques=20, technique_spread=1.0, questions=1)
    stars: list[bool] = []
    naive: list[bool] = []
    for seed in range(STUDIES):
        ratings, people, shown = simulate(study, seed)
        stars.append(score_differences(ratings, shown)["p"].iloc[0] < 0.05)
        naive.append(one(ordinal_model(ratings, people, shown), term="kind")["p"] < 0.05)
    assert np.mean(stars) <= ALARMS
    assert np.mean(naive) > 2 * ALARMS  # the model speaks of these techniques, not of further ones


def _similarity(ratings: pd.DataFrame, seed: int) -> dict[str, float]:
    """A property that varies by sample, by annotator and by chance, and has no effect."""
    rng = np.random.default_rng(seed)
    pairs = ratings[["sample_id", "annotator_id"]].drop_duplicates(ignore_index=True)
    value = rng.normal(size=len(pairs))
    for name in pairs:
        codes, names = pd.factorize(pairs[name])
        value = value + rng.normal(size=len(names))[codes]
    found = correlate_similarity(pairs.assign(value=value), ratings, ["value"])
    here = found[found["question"] == "Q1"]
    return {f"similarity {row.scope} {row.method}": float(str(row.p)) for row in here.itertuples()}
