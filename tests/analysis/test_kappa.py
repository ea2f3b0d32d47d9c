"""Cohen's kappa against SAS, R, statsmodels and scikit-learn, and its bootstrap against a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from analysis.agreement import cohen_kappa
from analysis.kappa import Weights, contingency
from analysis.kappa_bootstrap import bootstrap_kappa
from analysis.resampling import cluster_counts
from tests.analysis.golden import ANXIETY, SAS_TABLE, SKIN, pairs_of

FIRST, SECOND = ANXIETY[0], ANXIETY[1]
WEIGHTS: tuple[Weights, ...] = (None, "linear", "quadratic")


def noisy(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(1, 6, n)
    return a, np.clip(a + rng.integers(-1, 2, n), 1, 5)


def test_skin_condition_equals_the_sas_manual() -> None:
    row = cohen_kappa(*pairs_of(SKIN), categories=(1, 2, 3, 4)).iloc[0]
    found = row[["estimate", "standard_error", "low", "high"]].astype(float)
    assert found.tolist() == pytest.approx([0.3449, 0.0724, 0.2030, 0.4868], abs=5e-5)
    assert row["n"] == 88


@pytest.mark.parametrize(
    ("weights", "printed"),
    [
        (None, [0.4842, 0.1380, 0.2137, 0.7547, 0.0011]),
        ("linear", [0.4701, 0.1457, 0.1845, 0.7558, 0.0010]),
    ],
)
def test_sas_printout_with_error_interval_and_test(weights: Weights, printed: list[float]) -> None:
    row = cohen_kappa(*pairs_of(SAS_TABLE), weights, (1, 2, 3)).iloc[0]
    found = row[["estimate", "standard_error", "low", "high", "p"]].astype(float)
    assert found.tolist() == pytest.approx(printed, abs=6e-5)


@pytest.mark.parametrize(
    ("weights", "kappa", "p"),
    [
        (None, -0.006289308, 0.9518317),
        ("linear", 0.1459075, 0.1996772),
        ("quadratic", 0.2520325, 0.1505898),
    ],
)
def test_r_irr_kappa2_drops_the_unused_category(weights: Weights, kappa: float, p: float) -> None:
    row = cohen_kappa(FIRST, SECOND, weights, (1, 2, 3, 4, 6)).iloc[0]
    assert (row["estimate"], row["p"]) == pytest.approx((kappa, p), abs=1e-6)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_leaving_out_an_unused_category_changes_a_weighted_kappa(weights: Weights) -> None:
    whole = cohen_kappa(FIRST, SECOND, weights, (1, 2, 3, 4, 5, 6))["estimate"][0]
    observed = cohen_kappa(FIRST, SECOND, weights, (1, 2, 3, 4, 6))["estimate"][0]
    trapped = cohen_kappa_score(FIRST, SECOND, weights=weights)
    labelled = cohen_kappa_score(FIRST, SECOND, weights=weights, labels=[1, 2, 3, 4, 5, 6])
    assert observed == pytest.approx(trapped)
    assert whole == pytest.approx(labelled)
    assert abs(whole - observed) > 0.01
    assert cohen_kappa(FIRST, SECOND, None, (1, 2, 3, 4, 5, 6))["estimate"][0] == pytest.approx(
        cohen_kappa(FIRST, SECOND, None, (1, 2, 3, 4, 6))["estimate"][0]
    )


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(3))
def test_estimate_error_and_p_equal_statsmodels(weights: Weights, seed: int) -> None:
    a, b = noisy(seed=seed)
    table = contingency(a - 1, b - 1, 5)
    peer = cohens_kappa(table, wt=weights)
    row = cohen_kappa(a, b, weights).iloc[0]
    assert row["estimate"] == pytest.approx(peer.kappa)
    assert row["standard_error"] == pytest.approx(peer.std_kappa)
    assert row["p"] == pytest.approx(peer.pvalue_two_sided)
    assert (row["low"], row["high"]) == pytest.approx((peer.kappa_low, peer.kappa_upp))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_resample_equals_scikit_learn_on_the_drawn_rows(weights: Weights) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, (60, 3)), rng.integers(0, 5, (60, 3))
    clusters = np.repeat(np.arange(20), 3)
    fast = bootstrap_kappa(a, b, clusters, 5, weights, resamples=7, seed=4)
    counts = np.concatenate(list(cluster_counts(20, 7, 4))).astype(int)
    for resample, times in enumerate(counts):
        rows = np.repeat(np.arange(60), times[clusters])
        slow = [
            cohen_kappa_score(a[rows, j], b[rows, j], weights=weights, labels=list(range(5)))
            for j in range(3)
        ]
        assert fast[resample] == pytest.approx(slow, abs=1e-12)


def test_bootstrap_and_asymptotic_intervals_agree_for_many_pairs() -> None:
    a, b = noisy(2_000)
    asymptotic = cohen_kappa(a, b, "quadratic").iloc[0]
    bootstrap = cohen_kappa(a, b, "quadratic", interval="bootstrap", resamples=4_000).iloc[0]
    assert bootstrap["low"] == pytest.approx(asymptotic["low"], abs=0.004)
    assert bootstrap["high"] == pytest.approx(asymptotic["high"], abs=0.004)


def test_a_clustered_interval_is_wider_when_pairs_of_a_cluster_are_alike() -> None:
    a, b = noisy(60)
    many_a, many_b = np.repeat(a, 10), np.repeat(b, 10)
    clusters = np.repeat(np.arange(60), 10)
    naive = cohen_kappa(many_a, many_b, "quadratic", interval="bootstrap").iloc[0]
    honest = cohen_kappa(many_a, many_b, "quadratic", clusters=clusters).iloc[0]
    single = cohen_kappa(a, b, "quadratic", interval="bootstrap").iloc[0]
    assert honest["high"] - honest["low"] > 2.5 * (naive["high"] - naive["low"])
    assert (honest["low"], honest["high"]) == pytest.approx((single["low"], single["high"]))


def test_the_interval_is_the_same_each_time_and_differs_with_the_seed() -> None:
    a, b = noisy()
    once, again, other = (
        cohen_kappa(a, b, "quadratic", interval="bootstrap", resamples=500, seed=seed)
        for seed in (0, 0, 1)
    )
    assert once.equals(again)
    assert once["low"][0] != other["low"][0]


ratings = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


@settings(max_examples=60, deadline=None)
@given(ratings, st.sampled_from(WEIGHTS))
def test_kappa_is_symmetric_blind_to_order_and_to_reversing_the_scale(
    pairs: list[tuple[int, int]], weights: Weights
) -> None:
    a, b = np.array(pairs).T
    plain = cohen_kappa(a, b, weights)["estimate"][0]
    turned = cohen_kappa(b[::-1], a[::-1], weights)["estimate"][0]
    reversed_ = cohen_kappa(6 - a, 6 - b, weights)["estimate"][0]
    assert [turned, reversed_] == pytest.approx([plain, plain], nan_ok=True)
    assert np.isnan(plain) or plain <= 1 + 1e-12
    assert np.isnan(plain) == (len({*a, *b}) == 1)


def test_perfect_agreement_is_one_and_opposite_ratings_are_minus_one() -> None:
    up = np.array([1, 1, 5, 5])
    assert cohen_kappa(up, up, "quadratic")["estimate"][0] == 1
    assert cohen_kappa(up, 6 - up, "quadratic")["estimate"][0] == pytest.approx(-1)


@pytest.mark.parametrize("interval", ["asymptotic", "bootstrap"])
def test_one_category_only_has_no_kappa_but_a_reason(interval: str) -> None:
    row = cohen_kappa([3, 3, 3], [3, 3, 3], "quadratic", interval=interval).iloc[0]  # type: ignore[arg-type]
    assert np.isnan(row[["estimate", "low", "high", "p"]].astype(float)).all()
    assert "one and the same category" in row["note"]
    assert row["n"] == 3


def test_missing_ratings_are_left_out_and_counted() -> None:
    row = cohen_kappa([1, 2, np.nan, 4], [1, 3, 2, np.nan], "linear").iloc[0]
    assert row["n"] == 2
    assert row["note"] == "2 pairs with a missing rating left out"
    empty = cohen_kappa([np.nan], [1.0]).iloc[0]
    assert empty["n"] == 0
    assert "no pair of ratings" in empty["note"]


def test_a_rating_outside_of_the_scale_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="7"):
        cohen_kappa([1, 7], [1, 2])
    with pytest.raises(ValueError, match="same length"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(ValueError, match="no clusters"):
        cohen_kappa([1, 2], [1, 2], interval="asymptotic", clusters=[0, 0])
