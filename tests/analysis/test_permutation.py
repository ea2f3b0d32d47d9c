"""Permutation tests of annotators."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from analysis.permutation import flip_signs, permute_groups, permute_slope

VALUES = np.array([3.1, 2.9, 3.6, 3.3, 2.7, 3.0, 3.4, 2.2, 2.8, 2.5])
GROUPS = np.array(["f"] * 6 + ["m"] * 4)


def _mean_difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.abs(a.mean(axis=axis) - b.mean(axis=axis)))


def test_two_groups_agree_with_scipys_exact_test() -> None:
    """The two-sided test of the absolute difference, all 210 arrangements tried."""
    found = permute_groups(VALUES, GROUPS).iloc[0]
    first, second = VALUES[GROUPS == "f"], VALUES[GROUPS == "m"]
    peer = stats.permutation_test(
        (first, second), _mean_difference, vectorized=True, alternative="greater", n_resamples=9999
    )
    assert found["exact"] and found["permutations"] == 210
    assert found["p"] == pytest.approx(peer.pvalue)


def test_exact_p_counts_arrangements_by_hand() -> None:
    """1, 2 | 9, 10: of six arrangements only this one and its mirror are as extreme."""
    found = permute_groups([1.0, 2.0, 9.0, 10.0], ["a", "a", "b", "b"]).iloc[0]
    assert found["p"] == pytest.approx(2 / 6)


def test_many_groups_use_random_arrangements_and_p_is_never_zero() -> None:
    values = np.repeat([1.0, 5.0, 9.0], 12) + np.linspace(0, 0.1, 36)
    found = permute_groups(values, np.repeat(list("abc"), 12), permutations=999).iloc[0]
    assert not found["exact"]
    assert found["p"] == pytest.approx(1 / 1000)
    assert found["estimate"] > 0.99


def test_slope_agrees_with_scipys_p_for_many_annotators() -> None:
    rng = np.random.default_rng(4)
    age = rng.normal(30, 5, 80)
    values = 0.02 * age + rng.normal(0, 0.4, 80)
    found = permute_slope(values, age, permutations=20_000)["p"].iloc[0]
    assert found == pytest.approx(stats.pearsonr(values, age).pvalue, abs=0.01)


def test_signs_agree_with_all_flips_written_out() -> None:
    values = np.array([0.5, -0.1, 0.4, 0.3])
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((-1, 1), repeat=4)
    ]
    expected = np.mean(np.array(sums) >= abs(values.sum()) - 1e-12)
    found = flip_signs(values).iloc[0]
    assert found["p"] == pytest.approx(expected)
    assert found["estimate"] == pytest.approx(0.275)


def test_order_of_annotators_and_names_of_groups_do_not_matter() -> None:
    order = np.random.default_rng(0).permutation(len(VALUES))
    renamed = np.where(GROUPS == "f", "z", "y")
    base = permute_groups(VALUES, GROUPS)["p"].iloc[0]
    assert permute_groups(VALUES[order], GROUPS[order])["p"].iloc[0] == pytest.approx(base)
    assert permute_groups(VALUES, renamed)["p"].iloc[0] == pytest.approx(base)


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([], []),
        ([1.0], ["a"]),
        ([1.0, 2.0, 3.0], ["a", "a", "a"]),
        ([2.0, 2.0, 2.0], ["a", "b", "a"]),
        ([1.0, np.nan, 3.0], ["a", "b", None]),
    ],
)
def test_nothing_to_compare_gives_a_note_and_no_number(
    values: list[float], groups: list[str | None]
) -> None:
    found = permute_groups(values, np.array(groups, object)).iloc[0]
    assert np.isnan(found["p"]) and found["note"]
    assert np.isnan(permute_slope(values, np.ones(len(values)))["p"].iloc[0])


def test_random_p_is_uniform_when_there_is_no_difference() -> None:
    rng = np.random.default_rng(1)
    groups = np.arange(12) % 2
    found = [permute_groups(rng.normal(size=12), groups)["p"].iloc[0] for _ in range(400)]
    assert np.mean(np.array(found) <= 0.05) <= 0.08
