"""Sparseness, entropy and effective complexity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pasta.metrics.api import evaluate
from tests.metrics.known import Floats, random_maps
from tests.metrics.rooms import MODALITIES, SHAPES


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


def latec(name: str, one: Floats, tolerance: float) -> float:
    """As LATEC's released code has it, line by line, for a map divided by its largest value."""
    values = np.sort(one.ravel() / (one.max() + 1e-13))
    count = len(values)
    if name == "sparseness":
        values = values + 1e-9
        weights = 2 * np.arange(1, count + 1) - count - 1
        return float((weights * values).sum() / (count * values.sum()))
    if name == "entropy":
        shares = values[values > 0] / values.sum()
        return float(-(shares * np.log(shares)).sum())
    return float((values > tolerance).sum())


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("name", ["sparseness", "entropy", "effective_complexity"])
def test_they_are_those_of_latec_in_one_two_and_three_dimensions(
    name: str, entries: bool, kind: str
) -> None:
    """So that there is one reading only; what differs is 1e-9 for each feature."""
    shape = SHAPES[kind] if entries else SHAPES[kind][1:]
    maps = torch.rand(4, *shape, generator=torch.Generator().manual_seed(3)).sub(0.4).clamp_min(0)
    maps[3] = 0
    maps[3].view(-1)[5] = 0.2
    options: Any = {"tolerance": 0.01} if name == "effective_complexity" else {}
    found = evaluate(name, maps=maps, modality=MODALITIES[kind], **options)
    expected = [latec(name, one, 0.01) for one in maps.double().numpy()]
    np.testing.assert_allclose(found, expected, atol=1e-9 * maps[0].numel(), rtol=1e-6)


@pytest.mark.parametrize("name", ["sparseness", "entropy", "effective_complexity"])
def test_one_entry_and_equal_entries_are_the_ends(name: str) -> None:
    maps = torch.zeros(2, 3, 8, 8)
    maps[0, 1, 2, 3] = 0.5
    maps[1] = 0.5
    found = evaluate(name, maps=maps)
    ends = {"sparseness": [1 - 1 / 192, 0], "entropy": [0, np.log(192)]}
    np.testing.assert_allclose(found, ends.get(name, [1, 192]), atol=1e-9)


def test_a_zero_map_is_not_the_simplest_of_all() -> None:
    """The released code puts 1e-10 into a corner, which makes it a map of one pixel."""
    corner = np.zeros((1, 8, 8))
    corner[0, 0, 0] = 1e-10
    for name in ("sparseness", "entropy", "effective_complexity"):
        values, statuses = evaluate(name, maps=torch.zeros(1, 8, 8), return_status=True)
        assert statuses == ["zero"] and np.isnan(values).all()
        assert np.isfinite(evaluate(name, maps=corner)).all()
