"""Planted effects are covered by the 95 % intervals in at least 90 % of 50 studies."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.bias import group_tests
from analysis.order_effects import order_effects
from analysis.ordinal_model import ordinal_model
from analysis.technique_ranking import rank_techniques
from tests.analysis.rows import one
from tests.analysis.simulated import BRIDGE, Study, expected_stars, simulate

STUDIES = 50
COVERED = 0.90


def _covers(row: dict[str, Any], truth: float) -> bool:
    return bool(row["low"] <= truth <= row["high"])


def test_planted_effects_on_log_odds_are_covered() -> None:
    study = Study(sex=-0.6, age=0.2, kind=0.5, preference=0.3)
    truths = {"age": BRIDGE * study.age, "kind": BRIDGE * study.kind}
    covered: dict[str, list[bool]] = {name: [] for name in ("sex", *truths)}
    for seed in range(STUDIES):
        model = ordinal_model(*simulate(study, seed))
        sex = one(model, term="sex")
        sign = 1 if sex["level"] == "female" else -1
        covered["sex"].append(_covers(sex, sign * BRIDGE * study.sex))
        for name, truth in truths.items():
            covered[name].append(_covers(one(model, term=name), truth))
    for name, hits in covered.items():
        assert np.mean(hits) >= COVERED, name


def test_planted_difference_in_stars_is_covered() -> None:
    study = Study(sex=0.6, questions=1)
    truth = expected_stars(study.sex, study) - expected_stars(0.0, study)
    hits = []
    for seed in range(STUDIES):
        ratings, people, _ = simulate(study, seed)
        tests = group_tests(ratings, people[["annotator_id", "sex"]], permutations=99)
        row = one(tests, measure="level", question="all", factor="sex")
        hits.append(_covers(row, truth))
    assert np.mean(hits) >= COVERED


def test_planted_drift_is_covered() -> None:
    """The planted log odds in stars, by the slope of the expected stars over the range used."""
    study = Study(drift=1.0, samples=200, questions=1, leniency=0.0)
    per_log_odds = (expected_stars(0.25, study) - expected_stars(0.0, study)) / 0.25
    hits = []
    for seed in range(STUDIES):
        effects = order_effects(simulate(study, seed)[0], permutations=99)
        hits.append(_covers(one(effects, effect="drift"), per_log_odds * study.drift))
    assert np.mean(hits) >= COVERED


def test_planted_order_of_techniques_is_covered_and_found() -> None:
    study = Study(technique=0.4, questions=1)
    truth = BRIDGE * study.technique * (np.arange(study.techniques) - (study.techniques - 1) / 2)
    covered: list[bool] = []
    best: list[bool] = []
    for seed in range(STUDIES):
        ratings, _, shown = simulate(study, seed)
        ranking = rank_techniques(ratings, shown)
        for number, value in enumerate(truth):
            row = one(ranking, technique=f"m{number}/resnet")
            covered.append(_covers(row, value))
        best.append(row["rank_low"] == 1)
    assert np.mean(covered) >= COVERED and np.mean(best) >= 0.95
