"""Sparseness, entropy and effective complexity."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pasta.metrics.api import evaluate
from tests.metrics.known import Floats, random_maps


def algorithm_2(one: Floats) -> float:
    """The Gini index line by line."""
    array = np.sort(np.abs(one.ravel()))
    index = np.arange(1, array.shape[0] + 1)
    n = array.shape[0]
    return float(np.sum((2 * index - n - 1) * array) / (n * np.sum(array)))


def test_sparseness_equals_the_algorithm_line_by_line_and_ignores_signs() -> None:
    maps = random_maps(4) - 0.5
    found = evaluate("sparseness", maps=maps)
    np.testing.assert_allclose(found, [algorithm_2(one) for one in maps.double().numpy()])
    np.testing.assert_allclose(found, evaluate("sparseness", maps=-3 * maps))


@pytest.mark.parametrize("size", [2, 7, 224])
def test_one_pixel_of_n_has_sparseness_one_minus_one_over_n_and_a_flat_map_none(size: int) -> None:
    maps = torch.zeros(2, size, size)
    maps[0, 1, 0] = -0.3
    maps[1] = 0.3
    one_hot, flat = evaluate("sparseness", maps=maps)
    assert one_hot == pytest.approx(1 - 1 / size**2)
    assert flat == pytest.approx(0, abs=1e-9)


def test_entropy_is_that_of_the_shares_and_zero_or_ln_n_at_its_ends() -> None:
    maps = torch.cat([random_maps(1) - 0.5, torch.zeros(1, 16, 16), torch.ones(1, 16, 16)])
    maps[1, 3, 3] = 2
    shares = np.abs(maps[0].double().numpy()) / np.abs(maps[0].double().numpy()).sum()
    expected = [-np.sum(shares * np.log(shares)), 0, np.log(256)]
    np.testing.assert_allclose(evaluate("entropy", maps=maps), expected, atol=1e-6)


def test_effective_complexity_counts_pixels_above_a_part_of_the_largest() -> None:
    maps = torch.zeros(1, 4, 4)
    maps[0, 0] = torch.tensor([-10.0, 1.01, 1.0, 0.5])
    assert evaluate("effective_complexity", maps=maps).tolist() == [4]
    assert evaluate("effective_complexity", maps=maps, tolerance=0.1).tolist() == [2]
