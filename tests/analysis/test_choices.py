"""Models of trials, and correlations of a few things."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from analysis.choices import exact_correlations, trial_model
from tests.analysis.trials import draw_trials


def test_the_model_finds_the_planted_odds() -> None:
    trials = draw_trials({"none": 0.5, "map": 0.75}, 150, 0, between=0.0)
    found = trial_model(trials, "none")
    row = found[found["term"] == "condition"].iloc[0]
    assert row["low"] < np.log(3) < row["high"]
    assert row["p"] < 1e-6 and not row["note"]
    assert found[found["term"] == "all interactions"]["p"].iloc[0] > 0.001


def test_items_that_differ_between_conditions_have_no_coefficients() -> None:
    trials = draw_trials({"none": 0.5, "map": 0.7}, 20, 1)
    nested = trials.assign(item=trials["condition"] + trials["item"].astype(str))
    found = trial_model(nested, "none")
    assert "differ between conditions" in found["note"].iloc[0]
    assert np.isfinite(found["estimate"].iloc[0])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: one[one["condition"] == "map"], "nobody is in the baseline"),
        (lambda one: one[one["condition"] == "none"], "one condition only"),
        (lambda one: one.assign(right=one["right"] | (one["condition"] == "map")), "are right"),
    ],
)
def test_what_cannot_be_fitted_has_a_reason_and_no_number(change, why) -> None:  # type: ignore[no-untyped-def]
    found = trial_model(change(draw_trials({"none": 0.5, "map": 0.7}, 6, 2)), "none")
    assert why in found["note"].iloc[0]
    assert found["estimate"].isna().all()


def test_the_exact_p_counts_all_pairings() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=6), rng.normal(size=6)
    found = exact_correlations(x, y).set_index("method")
    for method, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        seen = float(abs(of(x, y).statistic))
        every = [float(abs(of(np.array(order), y).statistic)) for order in permutations(x)]
        share = np.mean([one >= seen - 1e-9 for one in every])
        assert found.loc[method, "p"] == pytest.approx(share)
        assert found.loc[method, "estimate"] == pytest.approx(of(x, y).statistic)
        assert found.loc[method, "exact"] and found.loc[method, "n"] == 6


def test_fewer_than_three_things_have_no_correlation() -> None:
    found = exact_correlations([1.0, 2.0], [2.0, 1.0])
    assert found["estimate"].isna().all() and found["p"].isna().all()
