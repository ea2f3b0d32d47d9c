"""The law of random ranks against enumeration, and both tests under random ranks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.rank_variance import (
    _released_p,
    agreement_shares,
    agreement_tests,
    rank_variance_law,
)
from tests.analysis.simulated import one


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3, 3), (4, 4, 4, 4), (2, 5, 3), (1, 6), (9, 2, 2)])
def test_the_law_equals_the_enumeration_of_all_ranks(sizes: tuple[int, ...]) -> None:
    everything = list(product(*(range(1, size + 1) for size in sizes)))
    expected = pd.Series(np.var(everything, axis=1, ddof=1)).round(9).value_counts().sort_index()
    values, probabilities = rank_variance_law(sizes)
    assert values == pytest.approx(expected.index.to_numpy(float))
    assert probabilities == pytest.approx(expected.to_numpy() / len(everything))


def test_the_mean_variance_is_the_analytic_one() -> None:
    for n, k in ((14, 10), (17, 7), (14, 3)):
        values, probabilities = rank_variance_law([n] * k)
        assert probabilities.sum() == pytest.approx(1)
        assert values @ probabilities == pytest.approx((n**2 - 1) / 12)


def test_a_law_that_would_take_too_long_is_drawn() -> None:
    values, probabilities = rank_variance_law([300] * 8)
    assert probabilities.sum() == pytest.approx(1)
    assert values @ probabilities == pytest.approx((300**2 - 1) / 12, rel=0.01)


def test_a_single_rank_has_no_law() -> None:
    with pytest.raises(ValueError, match="at least two ranks"):
        rank_variance_law([5])


def test_the_released_p_is_that_of_scipy_with_a_random_sample() -> None:
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 15, 999_999)
    for k in (3, 7, 10):
        own = rng.integers(1, 15, k).astype(float)
        peer = stats.levene(reference, own, center="median").pvalue
        assert _released_p(own, 14) == pytest.approx(peer, abs=2e-3)


def random_ranks(k: int, n: int, cells: int, seed: int = 0) -> pd.DataFrame:
    """Ranks of one method in many cells by k metrics that know nothing."""
    drawn = np.random.default_rng(seed).integers(1, n + 1, (cells, k)).astype(float)
    cell, metric = np.indices(drawn.shape)
    names = {"cell": cell.ravel(), "criterion": "good", "metric": metric.ravel(), "method": "x"}
    return pd.DataFrame({**names, "rank": drawn.ravel(), "ranked": n})


@pytest.mark.parametrize(
    ("k", "size", "released"), [(10, 0.101, 0.22), (7, 0.097, 0.21), (3, 0.083, 0.344)]
)
def test_random_ranks_are_significant_at_the_level_only_with_the_exact_reference(
    k: int, size: float, released: float
) -> None:
    """The exact reference keeps 10 %; the released one, 0 to 14 and two-sided, takes 21 to 34 %."""
    ranks = random_ranks(k, 14, 600, seed=k)
    exact = agreement_tests(ranks)
    assert exact["size"].iloc[0] <= 0.1
    share = one(agreement_shares(exact), criterion="good")
    assert share["random"] == pytest.approx(size, abs=0.004)
    error = np.sqrt(0.1 * 0.9 / 600)
    assert abs(share["estimate"] - share["random"]) < 3 * error
    as_released = agreement_tests(ranks, reference="released")["significant"].mean()
    assert as_released == pytest.approx(released, abs=0.05)
    assert as_released > 0.1 + 6 * error


def test_with_three_metrics_the_released_verdict_is_a_matter_of_its_random_sample() -> None:
    """Ranks 1, 1, 6 and others lie at the threshold: a tenth of all cases falls on either side."""
    own = np.array([1.0, 1, 6])
    found = [
        stats.levene(np.random.default_rng(seed).integers(0, 15, 999_999), own, center="median")
        for seed in (0, 3)
    ]
    assert found[0].pvalue < 0.1 < found[1].pvalue
    assert _released_p(own, 14) == pytest.approx(0.09975, abs=1e-5)


def test_metrics_that_agree_are_found_and_contradicting_ones_are_not() -> None:
    ranks = random_ranks(7, 14, 30)
    agreeing = agreement_tests(ranks.assign(rank=4.0 + (ranks["metric"] % 2)))
    assert agreeing["significant"].all()
    assert (agreeing["p"] < 1e-4).all()
    apart = agreement_tests(ranks.assign(rank=np.where(ranks["metric"] % 2, 1.0, 14.0)))
    assert not apart["significant"].any()
    assert (apart["p"] > 0.99).all()
    far = agreement_tests(
        ranks.assign(rank=np.where(ranks["metric"] % 2, 1.0, 14.0)), reference="released"
    )
    assert (far["p"] == 1).all()


def test_one_metric_has_a_note_and_no_number() -> None:
    tests = agreement_tests(random_ranks(1, 14, 3))
    assert tests[["estimate", "p"]].isna().all(axis=None)
    assert (tests["note"] == "fewer than two metrics: no variance").all()
    share = one(agreement_shares(tests), criterion="good")
    assert (share["n"], share["note"]) == (0, "nothing could be tested")
    assert np.isnan(share["estimate"])


def test_shares_are_weighted_by_numbers_of_metrics() -> None:
    tests = pd.DataFrame({"criterion": list("aab"), "method": "x", "n": [3, 3, 1], "p": 0.05})
    tests = tests.assign(significant=[True, False, True], size=0.1)
    assert one(agreement_shares(tests), criterion="weighted")["estimate"] == (3 * 0.5 + 1) / 4
