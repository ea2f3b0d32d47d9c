"""What is planted in simulated raters comes back on the scale of the estimates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasta.studies.ratings.analyses.planted import compare_planted, estimate_effects
from pasta.studies.ratings.settings import RaterParams, SimulationParams
from pasta.studies.ratings.simulation import expected as module
from pasta.studies.ratings.simulation.expected import expected_effects, standard_properties
from pasta.studies.ratings.simulation.quality import qualities
from pasta.studies.ratings.simulation.raters import (
    annotators_table,
    draw_rankings,
    draw_raters,
    rate,
)
from tests.analysis.simulated import one

ITEMS = {"Q7": ("Expectedness", "Trustworthy", "Complexity")}
PLANTED = SimulationParams(
    raters=RaterParams(sex_leniency=0.6, age_noise=0.3, leniency_sd=0.1, unstated=0.0)
)
NOTHING = PLANTED.model_copy(
    update={
        "raters": RaterParams(sex_leniency=0.0, age_noise=0.0, leniency_sd=0.1, unstated=0.0),
        "saliency_preference": 0.0,
    }
)


def _study() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Measured properties, samples and a plan: 24 annotators, 96 explanations of 12 images."""
    rng = np.random.default_rng(0)
    methods = {f"m{n}": "saliency" for n in range(4)} | {f"c{n}": "concept" for n in range(4)}
    rows = [
        (f"d/{image}/{method}/net", "d", str(image), method, kind)
        for image in range(12)
        for method, kind in methods.items()
    ]
    head = ["sample_id", "dataset", "image_id", "method", "kind"]
    samples = pd.DataFrame(rows, columns=head).assign(backbone="net")
    properties = samples.assign(status="ok", correct=(rng.random(96) < 0.7).astype(float))
    for name in ("overlap", "spread", "light", "strong"):
        properties[name] = rng.random(96)
    plan = pd.DataFrame(
        [
            (sample, f"a{(place * 7 + vote * 5) % 24:02d}", place)
            for place, sample in enumerate(samples["sample_id"])
            for vote in range(6)
        ],
        columns=["sample_id", "annotator_id", "position"],
    )
    return properties, samples, plan


@pytest.fixture(autouse=True)
def _few_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 12)


def test_what_is_planted_is_expected_with_its_sign_and_what_is_not_is_nothing() -> None:
    properties, samples, plan = _study()
    there = expected_effects(properties, samples, plan, PLANTED, ITEMS, 0)
    sex = one(there, effect="sex, level")
    assert (sex["parameter"], sex["planted"]) == ("raters.sex_leniency", 0.6)
    assert 0.3 < sex["expected"] < 0.8 and sex["power"] > 0.8
    assert one(there, effect="age, agreement")["expected"] < 0
    assert one(there, effect="kind", item="Q1")["expected"] > 0.2
    assert one(there, effect="overlap", item="Q1")["expected"] == pytest.approx(0.7, abs=0.15)
    assert one(there, effect="spread", item="Q3")["planted"] == -0.7
    without = expected_effects(properties, samples, plan, NOTHING, ITEMS, 0)
    for effect in ("sex, level", "sex, agreement", "age, level", "age, agreement"):
        row = one(without, effect=effect)
        assert abs(row["expected"]) < 4 * row["error"] and row["power"] < 0.3
    again = expected_effects(properties, samples, plan, PLANTED, ITEMS, 0)
    pd.testing.assert_frame_equal(there, again)


def test_intervals_of_a_study_cover_what_is_planted_in_it() -> None:
    properties, samples, plan = _study()
    expected = expected_effects(properties, samples, plan, PLANTED, ITEMS, 0)
    covered = []
    for seed in range(1, 6):
        raters = draw_raters(plan["annotator_id"], PLANTED.raters, seed)
        votes = rate(qualities(properties, PLANTED, seed), raters, plan, PLANTED, seed)
        rankings = draw_rankings(raters["annotator_id"], ITEMS, PLANTED, seed)
        scores = standard_properties(properties)
        found = estimate_effects(votes, annotators_table(raters), samples, scores, rankings)
        parts = [compare_planted(expected, found, part) for part in
                 ("bias", "preference", "correlation")]  # fmt: skip
        assert sum(map(len, parts)) == len(expected)
        covered += [part["covers"].mean() for part in parts]
    assert np.mean(covered) > 0.85


def test_a_position_is_found_if_it_is_not_the_middle_one() -> None:
    head = pd.DataFrame({"effect": "position", "item": ["Q7: a", "Q7: b"]})
    expected = head.assign(
        planted=0.5, parameter="ranking_strength", expected=[1.5, 2.0], error=0.0, power=0.9
    )
    found = head.assign(null=2.0, n=9, estimate=[1.4, 2.4], low=[1.1, 1.9], high=[1.7, 2.9])
    table = compare_planted(expected, found, "preference")
    assert table["found"].tolist() == [True, False] and table["covers"].all()
    assert compare_planted(expected, found, "bias").empty
