"""Permutation tests of annotators."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from analysis.bias import permute_groups, permute_slope
from analysis.order_effects import flip_signs

VALUES = np.array([3.1, 2.9, 3.6, 3.3, 2.7, 3.0, 3.4, 2.2, 2.8, 2.5])
GROUPS = np.array(["f"] * 6 + ["m"] * 4)


def test_two_groups_agree_with_all_arrangements_written_out() -> None:
    """The two-sided test of the absolute difference."""
    gaps = []
    for chosen in combinations(range(10), 6):
        inside = np.isin(np.arange(10), chosen)
        gaps.append(abs(VALUES[inside].mean() - VALUES[~inside].mean()))
    observed = abs(VALUES[GROUPS == "f"].mean() - VALUES[GROUPS == "m"].mean())
    expected = np.mean(np.array(gaps) >= observed - 1e-12)
    assert len(gaps) == 210
    assert permute_groups(VALUES, GROUPS, permutations=99) == pytest.approx(expected)


def test_a_group_of_one_is_compared_with_every_other_choice_of_one() -> None:
    """The distances of 1, 2, 3, 10 from their mean are 3, 2, 1, 6; one of three may be single."""
    assert permute_groups([1.0, 2, 3, 10], ["a", "a", "a", "b"]) == pytest.approx(1 / 4)
    assert permute_groups([1.0, 2, 3, 10], ["b", "a", "a", "a"]) == pytest.approx(2 / 4)
    values, groups = [1.0, 1.1, 1.2, 5, 5.1, 5.2, 9], list("aaabbbc")
    assert permute_groups(values, groups, permutations=2_000) < 0.05


def test_exact_p_counts_arrangements_by_hand() -> None:
    """1, 2 | 9, 10: of six arrangements only this one and its mirror are as extreme."""
    assert permute_groups([1.0, 2.0, 9.0, 10.0], ["a", "a", "b", "b"]) == pytest.approx(2 / 6)


def test_many_groups_use_random_arrangements_and_p_is_never_zero() -> None:
    values = np.repeat([1.0, 5.0, 9.0], 12) + np.linspace(0, 0.1, 36)
    found = permute_groups(values, np.repeat(list("abc"), 12), permutations=999)
    assert found == pytest.approx(1 / 1000)


def test_slope_agrees_with_scipys_p_for_many_annotators() -> None:
    rng = np.random.default_rng(4)
    age = rng.normal(30, 5, 80)
    values = 0.02 * age + rng.normal(0, 0.4, 80)
    found = permute_slope(values, age, permutations=20_000)
    assert found == pytest.approx(stats.pearsonr(values, age).pvalue, abs=0.01)


def test_signs_agree_with_all_flips_written_out() -> None:
    values = np.array([0.5, -0.1, 0.4, 0.3])
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((-1, 1), repeat=4)
    ]
    expected = np.mean(np.array(sums) >= abs(values.sum()) - 1e-12)
    assert flip_signs(values, permutations=9) == pytest.approx(expected)


def test_order_of_annotators_and_names_of_groups_do_not_matter() -> None:
    order = np.random.default_rng(0).permutation(len(VALUES))
    renamed = np.where(GROUPS == "f", "z", "y")
    base = permute_groups(VALUES, GROUPS)
    assert permute_groups(VALUES[order], GROUPS[order]) == pytest.approx(base)
    assert permute_groups(VALUES, renamed) == pytest.approx(base)


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
def test_nothing_to_compare_gives_no_number(values: list[float], groups: list[str | None]) -> None:
    assert np.isnan(permute_groups(values, np.array(groups, object)))
    assert np.isnan(permute_slope(values, np.ones(len(values))))
    assert np.isnan(flip_signs([0.5])) and np.isnan(flip_signs([0.0, 0.0]))


def test_random_p_is_uniform_when_there_is_no_difference() -> None:
    rng = np.random.default_rng(1)
    groups = np.arange(12) % 2
    found = [permute_groups(rng.normal(size=12), groups) for _ in range(400)]
    assert np.mean(np.array(found) <= 0.05) <= 0.08
